// The tokens of the admin API: functions on the database, and TokenTable, what a node knows of them.
//
// A token is 32 random bytes, shown once as "weir_…". Only its SHA-256 is stored: guessing a hash of so much randomness
// is as hard as guessing the token, so nothing slower is needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "control/actor.h"
#include "control/change_watch.h"
#include "database/session.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::control {

inline constexpr std::string_view kTokensTopic = "tokens";
inline constexpr std::size_t kMaxTokenName = 64;
inline constexpr std::int64_t kMaxTokens = 10'000;

struct Token {
  std::string id;
  std::string name;
  Role role = Role::reader;
  std::string hash;  // of the token, in hexadecimal
  TimePoint created{};
  std::optional<TimePoint> expires;
  std::optional<TimePoint> revoked;
  std::optional<TimePoint> last_used;
  std::string actor;  // who made it

  bool is_active(TimePoint now) const { return !revoked && (!expires || now < *expires); }
};

// "weir_" and 43 characters. From the system's source of randomness.
std::string make_token_text();
// "PREFIX_" and 12 random characters: an id that people can copy.
std::string make_id(std::string_view prefix);
// 64 hexadecimal digits.
std::string hash_of_token(std::string_view token);
// What is wrong with a name; nothing: it is 1 to 64 letters, digits and ". _ - @ :".
std::optional<std::string> token_name_fault(std::string_view name);

// Failure: already_exists (an active token has the name), resource_exhausted (too many).
Status add_token(database::Session& session, const Token& token);
// All, the newest first, revoked and expired ones too.
Result<std::vector<Token>> read_tokens(database::Session& session);
Result<std::optional<Token>> find_token(database::Session& session, const std::string& id);
Status revoke_token(database::Session& session, const std::string& id, TimePoint now);
Status set_last_used(database::Session& session, const std::string& id, TimePoint used);

// Thread-safe.
class TokenTable final : public Topic {
 public:
  Result<std::string> read(database::Session& session) override;
  Status apply(std::string_view text) override;

  // The active token with this text, whose use is then noted; nothing: there is none.
  std::optional<Token> find(std::string_view token, TimePoint now) const;
  // Whether the token with this id is active.
  bool is_active(const std::string& id, TimePoint now) const;
  // Whether there is or was any token. A server whose tokens have all expired is not open.
  bool empty() const;
  bool has_active(TimePoint now) const;
  // Whether one that was not revoked has expired after one time and until another.
  bool has_expired(TimePoint after, TimePoint until) const;

  // What was used since the last call, and when.
  std::map<std::string, TimePoint> take_used();

 private:
  struct Snapshot {
    std::vector<Token> tokens;
    std::unordered_map<std::string_view, const Token*> by_hash;
    std::unordered_map<std::string_view, const Token*> by_id;
  };
  std::shared_ptr<const Snapshot> snapshot() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_ = std::make_shared<Snapshot>();  // guarded by mutex_
  mutable std::map<std::string, TimePoint> used_;                            // guarded by mutex_; by id
};

}  // namespace weir::control
