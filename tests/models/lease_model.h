// LeaseModel: the leases of one concurrency rule and subject, as a sequential model with two ordinary maps. What real
// stores are compared with.
//
// live = {id : expires > now}; admit if the sum of live units + cost <= limit; release is idempotent; renew only while
// live, or when the bucket has lost all it knew of that time and has room. An id made by a client is known for one ttl
// after its end. Fencing token = max(previous + 1, now). Nothing is known any more from the moment at which nothing
// that was given would still matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "tests/models/model.h"
#include "weir/store.h"

namespace weir::models {

class LeaseModel {
 public:
  using Id = std::pair<std::uint64_t, std::uint64_t>;
  static Id id_of(const BucketKey& key) { return {key.high, key.low}; }

  struct Lease {
    std::int64_t units = 0;
    std::int64_t expires = 0;
    std::uint64_t token = 0;
    std::int64_t known_for = 0;  // after its end; 0: not at all
  };

  void advance(std::int64_t now) {
    if (until_ <= now) *this = LeaseModel();
    for (auto at = live_.begin(); at != live_.end();) {
      if (at->second.expires > now) {
        ++at;
        continue;
      }
      const Lease lapsed = at->second;
      if (lapsed.known_for > 0) ended_[at->first] = lapsed.expires + lapsed.known_for;
      at = live_.erase(at);
    }
    std::erase_if(ended_, [now](const auto& each) { return each.second <= now; });
  }

  std::int64_t held() const {
    std::int64_t sum = 0;
    for (const auto& [id, lease] : live_) sum += lease.units;
    return sum;
  }
  const std::map<Id, Lease>& live() const { return live_; }
  bool has_ended(const Id& id) const { return ended_.contains(id); }
  std::uint64_t last_token() const { return token_; }
  // The bucket has no record of anything before this time.
  bool is_younger_than(std::uint64_t token) const { return since_ == 0 || since_ > static_cast<std::int64_t>(token); }

  Answer answer(std::int64_t limit, std::int64_t cost, bool takes, std::int64_t now) const {
    Answer answer;
    const bool admitted = cost == 0 || held() + cost <= limit;
    answer.too_large = cost > limit;
    answer.admitted = admitted && !answer.too_large;
    answer.remaining = std::max<std::int64_t>(0, limit - held() - (takes && answer.admitted ? cost : 0));
    if (!answer.admitted && !answer.too_large) {
      std::int64_t next = now + 1'000'000;
      for (const auto& [id, lease] : live_) next = std::min(next, lease.expires);
      answer.retry_after = Duration{next - now};
    }
    if (held() > 0) answer.reset_after = Duration{last_ - now};
    return answer;
  }

  void add(const Id& id, const Lease& lease, std::int64_t now) {
    ended_.erase(id);
    live_[id] = lease;
    if (since_ == 0) since_ = now;
    token_ = std::max(token_, lease.token);
    note(lease);
  }
  void renew(const Id& id, std::int64_t expires, std::int64_t ttl, std::uint64_t token) {
    Lease& lease = live_.at(id);
    lease.expires = expires;
    lease.token = std::max(lease.token, token);
    token_ = std::max(token_, lease.token);
    if (lease.known_for > 0) lease.known_for = ttl;
    note(lease);
  }
  bool end(const Id& id, std::int64_t now) {
    const auto at = live_.find(id);
    if (at == live_.end()) return false;
    const std::int64_t known_until = now + at->second.known_for;
    if (known_until > now) {
      ended_[id] = known_until;
      until_ = std::max(until_, known_until);
    }
    live_.erase(at);
    return true;
  }

 private:
  void note(const Lease& lease) {
    last_ = std::max(last_, lease.expires);
    until_ = std::max({until_, lease.expires + lease.known_for, static_cast<std::int64_t>(token_)});
  }

  std::map<Id, Lease> live_;
  std::map<Id, std::int64_t> ended_;  // ids that are not to be taken again before a moment
  std::uint64_t token_ = 0;
  std::int64_t since_ = 0;
  std::int64_t last_ = 0;
  std::int64_t until_ = 0;
};

}  // namespace weir::models
