#include "server/key_directory.h"

#include <bit>
#include <utility>
#include <vector>

namespace weir::server {
namespace {

// Open addressing over the first bytes of the hashes: 24 bytes a slot, at most half of them used.
class KeyTable final : public identity::KnownKeys {
 public:
  KeyTable(LiveKeys::Records records, std::shared_ptr<const control::KeyHasher> hasher)
      : records_(std::move(records)), hasher_(std::move(hasher)), slots_(std::bit_ceil(records_->size() * 2 + 1)) {
    for (std::size_t i = 0; i < records_->size(); ++i) {
      const auto hash = control::KeyHasher::short_of((*records_)[i].hash);
      if (!hash) continue;
      std::size_t at = hash->low & (slots_.size() - 1);
      while (slots_[at].record != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {*hash, static_cast<std::uint32_t>(i + 1)};
    }
  }

  std::optional<identity::KnownKey> find(std::string_view key) const override {
    const BucketKey hash = hasher_->short_hash(key);
    for (std::size_t at = hash.low & (slots_.size() - 1); slots_[at].record != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash) return known((*records_)[slots_[at].record - 1]);
    }
    return std::nullopt;
  }

 private:
  struct Slot {
    BucketKey hash;
    std::uint32_t record = 0;  // its place and one; 0: free
  };

  static identity::KnownKey known(const control::KeyRecord& record) {
    return {.tenant = record.tenant,
            .plan = record.plan,
            .attributes = record.attributes,
            .revoked = record.revoked.has_value(),
            .expires = record.expires,
            .use = record.use.get()};
  }

  const LiveKeys::Records records_;
  const std::shared_ptr<const control::KeyHasher> hasher_;
  std::vector<Slot> slots_;
};

}  // namespace

void LiveKeys::set(Records records, std::shared_ptr<const control::KeyHasher> hasher) {
  std::shared_ptr<const identity::KnownKeys> made;
  if (hasher != nullptr && !records->empty()) made = std::make_shared<KeyTable>(std::move(records), std::move(hasher));
  const std::lock_guard lock(mutex_);
  current_.swap(made);
}

std::shared_ptr<const identity::KnownKeys> LiveKeys::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace weir::server
