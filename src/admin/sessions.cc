#include "admin/sessions.h"

#include <algorithm>

#include "control/tokens.h"

namespace weir::admin {

std::string Sessions::begin(Session session, TimePoint now) {
  const std::string cookie = control::make_token_text();
  session.expires = now + kLifetime;
  const std::lock_guard lock(mutex_);
  std::erase_if(by_hash_, [&](const auto& each) { return each.second.expires <= now; });
  if (by_hash_.size() >= kMaxSessions) {
    by_hash_.erase(std::min_element(by_hash_.begin(), by_hash_.end(),
                                    [](const auto& a, const auto& b) { return a.second.expires < b.second.expires; }));
  }
  by_hash_[control::hash_of_token(cookie)] = std::move(session);
  return cookie;
}

std::optional<Sessions::Session> Sessions::find(std::string_view cookie, TimePoint now) const {
  const std::string hash = control::hash_of_token(cookie);
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || found->second.expires <= now) return std::nullopt;
  return found->second;
}

void Sessions::end(std::string_view cookie) {
  const std::lock_guard lock(mutex_);
  by_hash_.erase(control::hash_of_token(cookie));
}

std::size_t Sessions::size() const {
  const std::lock_guard lock(mutex_);
  return by_hash_.size();
}

}  // namespace weir::admin
