// LoginGuard: counts and reports logins that fail, and makes further attempts from the same
// address wait, longer with each failure, so that guessing is slow however many connections guess.
//
//   const LoginGuard::Turn turn = guard.ask("resp", LoginKind::password, peer.address);
//   if (turn.refused) …                     // too many are waiting: close, without checking the credentials
//   … after turn.wait, on a timer: …
//   right ? guard.succeeded(LoginKind::password, peer.address)
//         : guard.failed({.listener = "resp", .kind = LoginKind::password, .address = peer.address});
//
// Attempts from one address take turns: each that must wait gets a time of its own, `delay` behind the one before. The
// first kFreeFailures cost nothing, a success forgets the failures, and so does kForgetAfter without another one. An
// IPv6 address counts as its /64, peers of Unix sockets as one. Kinds are apart: what is known of one says nothing of
// another. At most kMaxSources are remembered; the one whose last failure is the oldest makes room.
//
// Thread-safe. Nothing here waits, and ask() takes no lock while no login has failed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/time.h"

namespace weir::transport {

enum class LoginKind : std::uint8_t { password, token, no_token, client_certificate };
inline constexpr int kLoginKindCount = 4;
std::string_view login_kind_name(LoginKind kind);

struct FailedLogin {
  std::string_view listener;
  LoginKind kind = LoginKind::password;
  std::string_view address;  // empty: a Unix socket's peer
  std::string_view cause{};  // what was wrong, where more is known than the kind; never what was shown
  int failures = 0;          // in a row, this one included; filled by the guard
  Duration delay{0};         // between further attempts; filled by the guard
};

class LoginGuard {
 public:
  static constexpr int kFreeFailures = 3;
  static constexpr Duration kFirstDelay = std::chrono::milliseconds(100);
  static constexpr Duration kLongestDelay = std::chrono::seconds(2);
  static constexpr Duration kLongestWait = std::chrono::seconds(5);
  static constexpr Duration kForgetAfter = std::chrono::minutes(1);
  static constexpr std::size_t kMaxSources = 4096;

  struct Turn {
    Duration wait{0};
    bool refused = false;  // the wait would be longer than kLongestWait
  };
  struct Count {
    std::string listener;
    std::string_view kind;  // a kind's name, or "throttled" for attempts that were not checked
    std::uint64_t count = 0;
  };
  using Report = std::function<void(const FailedLogin&)>;

  // `report` is called on the thread of the failure, without a lock.
  explicit LoginGuard(std::shared_ptr<Clock> clock, Report report = {})
      : clock_(std::move(clock)), report_(std::move(report)) {}

  // Before the credentials are checked.
  Turn ask(std::string_view listener, LoginKind kind, std::string_view address);
  void failed(FailedLogin login);
  // Counted and reported without a delay: nothing was guessed.
  void missing(FailedLogin login);
  void succeeded(LoginKind kind, std::string_view address);

  std::vector<Count> counts() const;
  std::size_t sources() const { return sources_.load(std::memory_order_relaxed); }

 private:
  struct Source {
    std::string key;
    int failures = 0;
    TimePoint last_failure;
    TimePoint free_at;  // when the next attempt may be checked
  };
  using Place = std::list<Source>::iterator;

  static std::string key_of(LoginKind kind, std::string_view address);
  static Duration delay_after(int failures);
  void forget_old(TimePoint now);
  void forget(Place place);
  void count(std::string_view listener, std::string_view kind);

  const std::shared_ptr<Clock> clock_;
  const Report report_;
  std::atomic<std::size_t> sources_{0};

  mutable std::mutex mutex_;
  std::list<Source> by_age_;                            // guarded by mutex_; oldest failure first
  std::unordered_map<std::string_view, Place> by_key_;  // guarded by mutex_; keys are the sources' own
  std::map<std::pair<std::string, std::string_view>, std::uint64_t> counts_;  // guarded by mutex_
};

}  // namespace weir::transport
