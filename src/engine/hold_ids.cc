#include "engine/hold_ids.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/paged_id.h"
#include "weir/hold.h"

namespace weir::engine {
namespace {

constexpr std::uint64_t kNamedIdVersion = 0x683177;  // "w1h"
constexpr std::uint64_t kOnceIdVersion = 0x6f3177;   // "w1o"
constexpr std::uint64_t kLearnedVersion = 0x653177;  // "w1e"

std::uint64_t random_word() {
  std::uint64_t word = 0;
  const HashKey bytes = keys::random_hash_key();
  std::memcpy(&word, bytes.data(), 8);
  return word;
}

}  // namespace

HoldIds::HoldIds(const HashKey& key) : key_(key), sealer_(key), random_seed_(random_word()) {}

// A sequence that begins anywhere: no two of one process are the same, and those of two processes hardly ever. Each
// thread takes a page of it at a time, so that threads do not meet in the table that keeps the pages of reservations.
BucketKey HoldIds::random() {
  struct OwnPage {
    std::uint64_t seed;
    std::uint64_t next;  // a multiple of the page's size: the page is used up, or there is none yet
  };
  constexpr std::size_t kOwnPages = 4;  // of limiters that a thread uses in turn
  static constinit thread_local OwnPage pages[kOwnPages]{};
  OwnPage& page = pages[random_seed_ % kOwnPages];
  if (page.seed != random_seed_ || page.next % base::kPlacesPerPage == 0) {
    page = {random_seed_, pages_.fetch_add(1, std::memory_order_relaxed) * base::kPlacesPerPage};
  }
  return base::paged_id_at(random_seed_, page.next++);
}

BucketKey HoldIds::of(HoldHandle::Use use, const Once& once) {
  if (!once) return random();
  keys::SipHash hash(key_);
  hash.add_word(kOnceIdVersion | static_cast<std::uint64_t>(use) << 32);
  hash.add_word(once.id.high);
  hash.add_word(once.id.low);
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

std::string HoldIds::seal(const HoldHandle& handle) {
  char room[kMaxEncodedHandle];
  const std::string_view bytes = encode_handle(handle, room);
  std::string text = sealer_.seal(bytes);
  recent_.keep(text, handle);
  return text;
}

// Apart, for the room that it needs on the stack.
[[gnu::noinline]] bool HoldIds::open_sealed(std::string_view half, HandleBytes& bytes, HoldHandle& handle) const {
  char room[keys::Sealer::room_for(kMaxHandle)];
  const std::optional<std::string_view> opened = sealer_.open(half, room);
  return opened && decode_handle(bytes.keep(*opened), handle);
}

bool HoldIds::open(std::string_view text, HoldHandle::Use use, HandleBytes& bytes, HoldHandle& handle) {
  if (recent_.find(text, handle) && handle.use == use) return true;
  handle = HoldHandle();
  if (text.size() > kMaxHandle) text = {};
  while (!text.empty()) {
    const std::string_view half = text.substr(0, text.find(kSeparator));
    text.remove_prefix(std::min(half.size() + 1, text.size()));
    if (open_sealed(half, bytes, handle) && handle.use == use) return true;
    handle = HoldHandle();
  }
  forged_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace weir::engine
