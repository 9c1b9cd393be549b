// PeerBucket: one limiter with a manual clock, asked as the published tests of other rate limiters ask theirs.
//
//   PeerBucket bucket(per_second(10, /*burst=*/3));
//   bucket.at(100ms);
//   EXPECT_TRUE(bucket.take(2).allowed);
//
// Every rule applies to every request unless one is named, so a bucket with several rules represents a peer's bucket
// with several limits. take() may be called from any thread; everything else from one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/limiter.h"

namespace weir::peers {

using namespace std::chrono_literals;

// What a caller sees. Of several rules: the least that remains, the longest reset.
struct Answer {
  bool allowed = true;
  bool never_fits = false;
  std::int64_t remaining = 0;
  Duration retry_after{0};
  Duration reset_after{0};

  friend bool operator==(const Answer&, const Answer&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Answer& answer) {
    out << (answer.allowed ? "allowed" : answer.never_fits ? "never fits" : "denied") << ", " << answer.remaining;
    return out << " left, retry in " << answer.retry_after.count() << " us, full in " << answer.reset_after.count()
               << " us";
  }
};

inline Answer allowed(std::int64_t remaining, Duration reset_after) {
  return {true, false, remaining, 0us, reset_after};
}
inline Answer denied(std::int64_t remaining, Duration retry_after, Duration reset_after) {
  return {false, false, remaining, retry_after, reset_after};
}
inline Answer never_fits(std::int64_t remaining, Duration reset_after) {
  return {false, true, remaining, 0us, reset_after};
}

inline AllowanceSpec limit_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  return {.algorithm = algorithm, .limit = limit, .window = window};
}
inline AllowanceSpec tokens(std::int64_t limit, Duration window) {
  return limit_of(Algorithm::token_bucket, limit, window);
}
inline AllowanceSpec tokens(std::int64_t limit, Duration window, std::int64_t burst) {
  return {.algorithm = Algorithm::token_bucket, .limit = limit, .window = window, .burst = burst};
}

class PeerBucket {
 public:
  static constexpr std::string_view kSubject = "account:1234";

  explicit PeerBucket(const AllowanceSpec& spec) : PeerBucket(std::vector{spec}) {}
  explicit PeerBucket(const std::vector<AllowanceSpec>& specs, bool count_denied = false)
      : count_denied_(count_denied) {
    LimiterOptions options;
    options.clock = clock_;
    Result<std::unique_ptr<Limiter>> made = Limiter::create(rules_of(specs), options);
    if (!made.ok()) throw std::invalid_argument(made.failure().message);
    limiter_ = std::move(made).value();
  }

  // Other numbers for the same bucket.
  void change(const AllowanceSpec& spec) { ASSERT_TRUE(limiter_->replace(rules_of({spec})).ok()); }

  // The time since the beginning; may go back.
  void at(Duration since_start) { clock_->set(start_ + since_start); }
  void advance(Duration by) { clock_->advance(by); }

  Answer take(std::int64_t cost, std::string_view subject = kSubject) { return ask(cost, subject, "all", false); }
  Answer peek(std::int64_t cost, std::string_view subject = kSubject) { return ask(cost, subject, "all", true); }
  std::int64_t remaining(std::string_view subject = kSubject) { return peek(0, subject).remaining; }

  // Uses up part of rule `index` alone: a peer's bucket that does not begin full.
  void spend(std::size_t index, std::int64_t cost) {
    EXPECT_TRUE(ask(cost, kSubject, std::to_string(index), false).allowed);
  }

  std::int64_t refund(std::int64_t cost) {
    return answer_of(limiter_->refund(Request(attributes(kSubject, "all"), {cost}))).remaining;
  }
  void reset(std::string_view subject = kSubject) { limiter_->reset(Request(attributes(subject, "all"))); }

  // Many threads at once, each of which takes one.
  int admitted_of(int threads, std::string_view subject = kSubject) {
    std::atomic<int> admitted = 0;
    std::vector<std::thread> callers;
    callers.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([&] { admitted += take(1, subject).allowed ? 1 : 0; });
    }
    for (std::thread& caller : callers) caller.join();
    return admitted;
  }

  Limiter& limiter() { return *limiter_; }

 private:
  // Refers to its arguments, and holds until the next call of this thread.
  static std::span<const Attribute> attributes(std::string_view subject, std::string_view which) {
    thread_local std::array<Attribute, 2> made;
    made = {Attribute{"subject", subject}, Attribute{"rules", which}};
    return made;
  }

  static Answer answer_of(const Decision& decision) {
    Answer answer{decision.allowed, decision.reason == Reason::cost_too_large, kMaxUnits, decision.retry_after, 0us};
    for (const RuleOutcome& rule : decision.rules) {
      answer.remaining = std::min(answer.remaining, rule.remaining);
      answer.reset_after = std::max(answer.reset_after, rule.reset_after);
    }
    return answer;
  }

  Answer ask(std::int64_t cost, std::string_view subject, std::string_view which, bool peek) {
    Request request(attributes(subject, which), {cost});
    request.peek = peek;
    return answer_of(limiter_->check(request));
  }

  Rules rules_of(const std::vector<AllowanceSpec>& specs) const {
    Rules rules;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      Rule rule;
      rule.id = "limit-" + std::to_string(i);
      rule.match = {{"rules", {"all", std::to_string(i)}}};
      rule.per = {"subject"};
      rule.allowance = specs[i];
      rule.count_denied = count_denied_;
      rules.rules.push_back(rule);
    }
    return rules;
  }

  bool count_denied_ = false;
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  TimePoint start_ = clock_->now();
  std::unique_ptr<Limiter> limiter_;
};

// Part of a sequence of which only the verdict was published.
struct Verdict {
  Duration at;
  std::int64_t cost;
  bool allowed;
};

inline void expect_verdicts(PeerBucket& bucket, const std::vector<Verdict>& verdicts) {
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    bucket.at(verdicts[i].at);
    EXPECT_EQ(bucket.take(verdicts[i].cost).allowed, verdicts[i].allowed) << "step " << i;
  }
}

// Why a limit cannot be loaded, or an empty text.
inline std::string load_error(const AllowanceSpec& spec) {
  const Result<Allowance> made = make_allowance(spec);
  return made.ok() ? "" : made.failure().message;
}

}  // namespace weir::peers
