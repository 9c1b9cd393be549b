#include "frontends/transport/login_guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace weir::transport {
namespace {

constexpr std::string_view kNames[kLoginKindCount] = {"password", "token", "no_token", "client_certificate"};
constexpr std::string_view kThrottled = "throttled";
constexpr std::size_t kPrefixBytes = 8;  // of an IPv6 address: a household or a machine has a /64

}  // namespace

std::string_view login_kind_name(LoginKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string LoginGuard::key_of(LoginKind kind, std::string_view address) {
  std::string key(1, static_cast<char>('0' + static_cast<int>(kind)));
  key += address;
  in6_addr v6{};
  if (address.find(':') == std::string_view::npos || inet_pton(AF_INET6, key.c_str() + 1, &v6) != 1) return key;
  key.resize(1);
  key.append(reinterpret_cast<const char*>(v6.s6_addr), kPrefixBytes);
  return key;
}

Duration LoginGuard::delay_after(int failures) {
  if (failures <= kFreeFailures) return Duration(0);
  const int doublings = std::min(failures - kFreeFailures - 1, 16);
  return std::min(kLongestDelay, kFirstDelay * (1 << doublings));
}

LoginGuard::Turn LoginGuard::ask(std::string_view listener, LoginKind kind, std::string_view address) {
  if (sources() == 0) return {};
  const std::string key = key_of(kind, address);
  const TimePoint now = clock_->now();
  const std::lock_guard lock(mutex_);
  forget_old(now);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return {};
  Source& source = *found->second;
  const Duration delay = delay_after(source.failures);
  if (delay == Duration(0)) return {};
  const TimePoint mine = std::max(now, source.free_at);
  if (mine - now > kLongestWait) {
    count(listener, kThrottled);
    return {.wait = Duration(0), .refused = true};
  }
  source.free_at = mine + delay;
  return {.wait = mine - now, .refused = false};
}

void LoginGuard::failed(FailedLogin login) {
  const TimePoint now = clock_->now();
  {
    const std::lock_guard lock(mutex_);
    count(login.listener, login_kind_name(login.kind));
    forget_old(now);
    std::string key = key_of(login.kind, login.address);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      if (by_age_.size() >= kMaxSources) forget(by_age_.begin());
      by_age_.push_back({.key = std::move(key), .failures = 0, .last_failure = now, .free_at = now});
      by_key_.emplace(by_age_.back().key, std::prev(by_age_.end()));
    } else {
      by_age_.splice(by_age_.end(), by_age_, found->second);
    }
    Source& source = by_age_.back();
    source.last_failure = now;
    source.failures = std::min(source.failures + 1, 1'000'000);
    login.failures = source.failures;
    login.delay = delay_after(source.failures);
    source.free_at = std::max(source.free_at, now + login.delay);
    sources_.store(by_age_.size(), std::memory_order_relaxed);
  }
  if (report_) report_(login);
}

void LoginGuard::missing(FailedLogin login) {
  {
    const std::lock_guard lock(mutex_);
    count(login.listener, login_kind_name(login.kind));
  }
  if (report_) report_(login);
}

void LoginGuard::succeeded(LoginKind kind, std::string_view address) {
  if (sources() == 0) return;
  const std::string key = key_of(kind, address);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) forget(found->second);
}

void LoginGuard::forget_old(TimePoint now) {
  while (!by_age_.empty() && now - by_age_.front().last_failure > kForgetAfter) forget(by_age_.begin());
}

void LoginGuard::forget(Place place) {
  by_key_.erase(place->key);
  by_age_.erase(place);
  sources_.store(by_age_.size(), std::memory_order_relaxed);
}

void LoginGuard::count(std::string_view listener, std::string_view kind) { ++counts_[{std::string(listener), kind}]; }

std::vector<LoginGuard::Count> LoginGuard::counts() const {
  std::vector<Count> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [what, count] : counts_) all.push_back({what.first, what.second, count});
  return all;
}

}  // namespace weir::transport
