// API keys are hashed when they arrive: the attribute's value is "k_" and 32 hexadecimal digits of a
// keyed 128-bit hash. The key itself appears in no bucket, log, metric or message.
//
// Revoked keys are listed in a file, one per line, either as the key itself or as its hash ("k_…"); empty lines and
// lines beginning with '#' do not count. During a rotation of the hash key, hashes made under the previous one still
// count.
//
// Immutable after load, so thread-safe; reloading means loading again and replacing the object.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "keys/key_ring.h"
#include "weir/bucket_key.h"
#include "weir/request.h"
#include "weir/result.h"

namespace weir::identity {

class ApiKeys {
 public:
  static constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMaxKeyBytes = kMaxAttributeValue;

  // With nothing revoked.
  explicit ApiKeys(const keys::KeyRing& ring) : ring_(ring) {}
  // An empty path revokes nothing.
  static Result<ApiKeys> load(const keys::KeyRing& ring, const std::filesystem::path& revoked_file);

  BucketKey hash(std::string_view key) const { return hash_under(ring_.current, key); }
  // Under the key before the current one, while that one still counts.
  std::optional<BucketKey> previous_hash(std::string_view key) const;
  // The attribute's value for a hash.
  static constexpr std::size_t kTextBytes = 34;
  static std::string text(const BucketKey& hash);
  static void write_text(char* out, const BucketKey& hash);  // kTextBytes

  bool is_revoked(std::string_view key) const { return is_revoked(key, hash(key)); }
  // Saves hashing again. Precondition: `hash` is hash(key).
  bool is_revoked(std::string_view key, const BucketKey& hash) const;

  std::size_t revoked_count() const { return revoked_.size(); }

 private:
  // The hashes are keyed already, so a part of one is as good as any hash.
  struct LowHalf {
    std::size_t operator()(const BucketKey& key) const { return static_cast<std::size_t>(key.low); }
  };

  static BucketKey hash_under(const HashKey& secret, std::string_view key);

  keys::KeyRing ring_;
  std::unordered_set<BucketKey, LowHalf> revoked_;
};

}  // namespace weir::identity
