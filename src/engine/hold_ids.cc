#include "engine/hold_ids.h"

#include <algorithm>
#include <array>

#include "weir/hold.h"

namespace weir::engine {
namespace {

constexpr std::uint64_t kNamedIdVersion = 0x683177;  // "w1h"
constexpr std::uint64_t kLearnedVersion = 0x653177;  // "w1e"

}  // namespace

HoldIds::HoldIds(const HashKey& key) : key_(key), sealer_(key), random_seed_(keys::random_hash_key()) {}

BucketKey HoldIds::random() {
  keys::SipHash hash = random_seed_;
  hash.add_word(made_.fetch_add(1, std::memory_order_relaxed));
  return hash.finish();
}

BucketKey HoldIds::named(HoldHandle::Use use, std::string_view caller, std::string_view id,
                         std::span<const Attribute> attributes) const {
  std::array<const Attribute*, kMaxAttributes> sorted{};
  const std::size_t count = std::min(attributes.size(), sorted.size());
  for (std::size_t i = 0; i < count; ++i) sorted[i] = &attributes[i];
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Attribute* a, const Attribute* b) {
              return a->name != b->name ? a->name < b->name : a->value < b->value;
            });
  keys::SipHash hash(key_);
  hash.add_word(kNamedIdVersion | static_cast<std::uint64_t>(use) << 32);
  hash.add_framed(caller);
  hash.add_framed(id);
  for (std::size_t i = 0; i < count; ++i) {
    hash.add_framed(sorted[i]->name);
    hash.add_framed(sorted[i]->value);
  }
  return hash.finish();
}

Estimates::Subject HoldIds::learned_by(std::string_view rule, std::string_view value) const {
  keys::SipHash hash(key_);
  hash.add_word(kLearnedVersion);
  hash.add_framed(rule);
  keys::SipHash with_value = hash;
  with_value.add_framed(value);
  return {with_value.finish(), hash.finish()};
}

std::optional<HoldHandle> HoldIds::open(std::string_view text, HoldHandle::Use use, std::string& bytes) {
  if (text.size() > kMaxHandle) text = {};
  while (!text.empty()) {
    const std::string_view half = text.substr(0, text.find(kSeparator));
    text.remove_prefix(std::min(half.size() + 1, text.size()));
    std::optional<std::string> opened = sealer_.open(half);
    if (!opened) continue;
    bytes = std::move(*opened);
    std::optional<HoldHandle> handle = decode_handle(bytes);
    if (handle && handle->use == use) return handle;
  }
  forged_.fetch_add(1, std::memory_order_relaxed);
  return std::nullopt;
}

}  // namespace weir::engine
