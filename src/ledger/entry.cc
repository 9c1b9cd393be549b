#include "ledger/entry.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace weir::ledger {
namespace {

constexpr std::array<std::string_view, 5> kBuckets = {"issue", "available", "held", "used", "expired"};

struct Kind {
  EntryKind kind;
  std::string_view name;
  Movement movement;
};

// In the order of EntryKind.
constexpr std::array<Kind, 30> kKinds = {{
    {EntryKind::allowance, "allowance", {Bucket::issue, Bucket::available}},
    {EntryKind::raise, "raise", {Bucket::issue, Bucket::available}},
    {EntryKind::lower, "lower", {Bucket::available, Bucket::issue}},
    {EntryKind::grant, "grant", {Bucket::issue, Bucket::available}},
    {EntryKind::carry_out, "carry_out", {Bucket::available, Bucket::issue}},
    {EntryKind::carry_in, "carry_in", {Bucket::issue, Bucket::available}},
    {EntryKind::grant_expiry, "grant_expiry", {Bucket::available, Bucket::expired}},
    {EntryKind::grace, "grace", {Bucket::issue, Bucket::available}},
    {EntryKind::overage, "overage", {Bucket::issue, Bucket::available}},
    {EntryKind::ungrace, "ungrace", {Bucket::available, Bucket::issue}},
    {EntryKind::unoverage, "unoverage", {Bucket::available, Bucket::issue}},
    {EntryKind::withdrawal, "withdrawal", {Bucket::available, Bucket::issue}},
    {EntryKind::take, "take", {Bucket::available, Bucket::used}},
    {EntryKind::usage, "usage", {Bucket::available, Bucket::used}},
    {EntryKind::refund, "refund", {Bucket::used, Bucket::available}},
    {EntryKind::charge, "charge", {Bucket::available, Bucket::used}},
    {EntryKind::credit, "credit", {Bucket::used, Bucket::available}},
    {EntryKind::reversal, "reversal", {Bucket::used, Bucket::available}},
    {EntryKind::slice, "slice", {Bucket::available, Bucket::held}},
    {EntryKind::slice_return, "slice_return", {Bucket::held, Bucket::available}},
    {EntryKind::slice_use, "slice_use", {Bucket::held, Bucket::used}},
    {EntryKind::slice_expiry, "slice_expiry", {Bucket::held, Bucket::expired}},
    {EntryKind::slice_late_use, "slice_late_use", {Bucket::expired, Bucket::used}},
    {EntryKind::reserve, "reserve", {Bucket::available, Bucket::held}},
    {EntryKind::extend, "extend", {Bucket::available, Bucket::held}},
    {EntryKind::commit, "commit", {Bucket::held, Bucket::used}},
    {EntryKind::remainder, "remainder", {Bucket::held, Bucket::available}},
    {EntryKind::excess, "excess", {Bucket::available, Bucket::used}},
    {EntryKind::release, "release", {Bucket::held, Bucket::available}},
    {EntryKind::lapse, "lapse", {Bucket::held, Bucket::available}},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order() && static_cast<std::size_t>(EntryKind::lapse) + 1 == kKinds.size());

const Kind& about(EntryKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view bucket_name(Bucket bucket) { return kBuckets[static_cast<std::size_t>(bucket)]; }

std::optional<Bucket> parse_bucket(std::string_view name) {
  const auto found = std::find(kBuckets.begin(), kBuckets.end(), name);
  if (found == kBuckets.end()) return std::nullopt;
  return static_cast<Bucket>(found - kBuckets.begin());
}

std::string_view kind_name(EntryKind kind) { return about(kind).name; }

std::optional<EntryKind> parse_kind(std::string_view name) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [name](const Kind& each) { return each.name == name; });
  if (found == kKinds.end()) return std::nullopt;
  return found->kind;
}

Movement movement_of(EntryKind kind) { return about(kind).movement; }

bool closes_reservation(EntryKind kind) {
  return kind == EntryKind::commit || kind == EntryKind::release || kind == EntryKind::lapse;
}

}  // namespace weir::ledger
