#include "ledger/replay.h"

#include <charconv>

namespace weir::ledger {
namespace {

std::string counted(std::int64_t is, std::int64_t expected) {
  return std::to_string(is) + " instead of " + std::to_string(expected);
}

}  // namespace

std::int64_t Replay::sum(std::string_view kind) const {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? 0 : found->second;
}

void Replay::add(const Line& line, const Report& report) {
  const std::string entry = "entry " + std::to_string(line.version) + " ";
  if (line.version != version_ + 1) report("I5", entry + "follows entry " + std::to_string(version_));
  version_ = line.version;
  const std::optional<EntryKind> kind = parse_kind(line.kind);
  if (!kind) {
    report("I1", entry + "is of the unknown kind " + line.kind);
  } else if (bucket_name(movement_of(*kind).from) != line.from || bucket_name(movement_of(*kind).to) != line.to) {
    report("I1", entry + "of kind " + line.kind + " moves from " + line.from + " to " + line.to);
  }
  buckets_[line.from] -= line.amount;
  buckets_[line.to] += line.amount;
  kinds_[line.kind] += line.amount;
  if (line.from != "issue" && buckets_[line.from] < 0) {
    report("I3", entry + "leaves " + std::to_string(buckets_[line.from]) + " in " + line.from);
  }
  check_limits(line, report);
}

// Limits are named in the entries that apply them.
void Replay::check_limits(const Line& line, const Report& report) const {
  const bool sets_limit = line.kind == "allowance" || line.kind == "raise" || line.kind == "lower";
  if (!sets_limit && line.kind != "grace") return;
  std::int64_t stated = -1;
  std::from_chars(line.about.data(), line.about.data() + line.about.size(), stated);
  const std::string entry = "entry " + std::to_string(line.version) + " ";
  if (line.kind == "grace") {
    const std::int64_t grace = sum("grace") - sum("ungrace");
    if (grace > stated) report("I8", entry + "makes the grace " + counted(grace, stated));
    return;
  }
  const std::int64_t allowance = sum("allowance") + sum("raise") - sum("lower") - sum("withdrawal");
  if (line.kind != "lower" && allowance > stated)
    report("I8", entry + "makes the allowance " + counted(allowance, stated));
  if (line.kind == "lower" && allowance < stated)
    report("I8", entry + "makes the allowance " + counted(allowance, stated));
}

void Replay::compare(const Account& account, const Report& report) const {
  const auto bucket = [this](std::string_view name) {
    const auto found = buckets_.find(name);
    return found == buckets_.end() ? 0 : found->second;
  };
  const auto same = [&](const char* what, std::int64_t is, std::int64_t expected) {
    if (is != expected) report("I1", std::string(what) + " is " + counted(is, expected));
  };
  same("issued", account.issued, -bucket("issue"));
  same("available", account.available, bucket("available"));
  same("held", account.held, bucket("held"));
  same("used", account.used, bucket("used"));
  same("expired", account.expired, bucket("expired"));
  same("granted", account.granted, sum("grant") + sum("carry_in") - sum("carry_out"));
  same("grace", account.grace_used, sum("grace") - sum("ungrace"));
  same("overage", account.overage, sum("overage") - sum("unoverage"));
  if (account.version != version_) report("I5", "version is " + counted(account.version, version_));
}

}  // namespace weir::ledger
