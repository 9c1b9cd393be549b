// How API keys are made and stored: a key is 32 random bytes, shown once as "wk_…"; the database has its HMAC-SHA256
// under a secret that all nodes share. So a copy of the table alone does not even tell whether a key is in it.
//
// KeySecret is that secret as this node knows it, a topic of the ChangeWatch. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "control/change_watch.h"
#include "database/session.h"
#include "weir/bucket_key.h"
#include "weir/result.h"

namespace weir::control {

inline constexpr std::string_view kKeySecretTopic = "key_secret";
inline constexpr std::size_t kKeyPrefix = 10;  // characters that are shown: "wk_3Jf…"

std::string make_api_key();

// HMAC-SHA256 with its pads prepared. Immutable, so thread-safe.
class KeyHasher {
 public:
  explicit KeyHasher(std::string_view secret);
  ~KeyHasher();
  KeyHasher(const KeyHasher&) = delete;
  KeyHasher& operator=(const KeyHasher&) = delete;

  // 64 hexadecimal digits.
  std::string hash(std::string_view key) const;
  // The first 16 bytes of it, to look a key up.
  BucketKey short_hash(std::string_view key) const;
  // The same of a hash that was stored; nothing: it is damaged.
  static std::optional<BucketKey> short_of(std::string_view stored);

 private:
  struct Pads;
  void digest(std::string_view key, unsigned char* out) const;
  const std::unique_ptr<const Pads> pads_;
};

// Makes the secret if there is none yet. In a transaction that writes.
Result<std::string> ensure_key_secret(database::Session& session);

class KeySecret final : public Topic {
 public:
  Result<std::string> read(database::Session& session) override;
  Status apply(std::string_view text) override;

  // Null: there is none, and so no key.
  std::shared_ptr<const KeyHasher> hasher() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const KeyHasher> hasher_;  // guarded by mutex_
};

}  // namespace weir::control
