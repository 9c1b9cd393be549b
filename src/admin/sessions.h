// Sessions: people who have logged in to the console with a token. They are kept in memory only, so a restart ends
// them, and so does the end of the token. A session is a cookie of 32 random bytes; only its hash is kept.
//
// Thread-safe. Bounded: with kMaxSessions, a new one replaces the one that would end first.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "control/actor.h"
#include "weir/time.h"

namespace weir::admin {

class Sessions {
 public:
  static constexpr std::size_t kMaxSessions = 1000;
  static constexpr Duration kLifetime = std::chrono::hours(12);
  static constexpr std::string_view kCookie = "weir_session";

  struct Session {
    std::string actor;
    control::Role role = control::Role::reader;
    std::string token;  // its id; empty: a token of the settings
    TimePoint expires{};
  };

  // Returns the value of the cookie.
  std::string begin(Session session, TimePoint now);
  // Nothing: there is none, or it is over.
  std::optional<Session> find(std::string_view cookie, TimePoint now) const;
  void end(std::string_view cookie);
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Session> by_hash_;  // guarded by mutex_
};

}  // namespace weir::admin
