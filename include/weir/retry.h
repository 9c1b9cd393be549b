// Retry: how a client retries after "not now", without adding to an overload. Std only; no need to link anything.
//
//   weir::RetryBudget budget;          // one per service that is called, shared by all threads
//
//   weir::Retry retry(budget);         // one per call
//   for (;;) {
//     Answer answer = send(request);
//     const weir::RetryAdvice advice = retry.next({answer.status, answer.header("Retry-After"), answer.code});
//     if (!advice.retry) return answer;
//     std::this_thread::sleep_for(advice.wait);
//   }
//
// - Retry-After is a promise: the wait is never shorter. What is added to it, or replaces it, is drawn evenly
//   between zero and a bound that doubles (full jitter), so that clients do not return together.
// - What a retry cannot fix is not retried: wrong requests, and a cost that can never fit (code "cost_too_large").
// - The budget keeps retries to a share of the requests: while a service is down, clients do not multiply its load.
//
// RetryBudget is thread-safe. A Retry belongs to one call and one thread, and refers to its budget.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

namespace weir {

struct RetryPolicy {
  int max_attempts = 4;                               // the first one counts
  std::chrono::milliseconds first_backoff{100};       // bound of the first draw; doubles with each attempt
  std::chrono::milliseconds max_backoff{10'000};      // bound of every draw
  std::chrono::milliseconds max_retry_after{60'000};  // an answer that asks for more is given to the caller
  std::chrono::milliseconds max_total_wait{120'000};  // of one call
  bool idempotent = true;  // false: only answers that say "not carried out" (429, 503) are retried

  // Replaceable for tests. Default: the machine's clock (only a date in Retry-After needs it), a random seed per call.
  std::function<std::chrono::system_clock::time_point()> now;
  std::function<std::uint64_t()> random;
};

// What came back. `status` 0: nothing did (refused, reset, timed out).
struct RetryAnswer {
  int status = 0;
  std::string_view retry_after;  // the header's value, empty: none
  std::string_view code;         // member "code" of a problem+json body, empty: none
};

struct RetryAdvice {
  bool retry = false;
  std::chrono::milliseconds wait{0};
  std::string_view reason;  // "retry", or why not: done, not_retryable, cost_too_large, attempts, wait_too_long, budget
};

// Tokens: each request brings `percent` hundredths of one, each retry takes a whole one, and at most `reserve` are
// kept. So over any time, retries <= reserve + percent / 100 * requests.
class RetryBudget {
 public:
  explicit RetryBudget(int percent = 10, int reserve = 10)
      : percent_(std::clamp(percent, 0, 100)), most_(std::int64_t{std::max(reserve, 0)} * kToken), held_(most_) {}

  void on_request() {
    std::int64_t held = held_.load(std::memory_order_relaxed);
    while (held < most_ &&
           !held_.compare_exchange_weak(held, std::min(most_, held + percent_), std::memory_order_relaxed)) {
    }
  }
  // False when the budget is spent.
  bool take_retry() {
    std::int64_t held = held_.load(std::memory_order_relaxed);
    while (held >= kToken) {
      if (held_.compare_exchange_weak(held, held - kToken, std::memory_order_relaxed)) return true;
    }
    return false;
  }

 private:
  static constexpr std::int64_t kToken = 100;

  const std::int64_t percent_;
  const std::int64_t most_;
  std::atomic<std::int64_t> held_;
};

namespace retry_detail {

inline constexpr std::int64_t kMaxSeconds = 1'000'000'000;  // beyond every bound, far from overflow

// The decimal number that `text` is from its first to its last character, or nothing.
inline std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && text.front() != '-';
  return whole ? std::optional(value) : std::nullopt;
}

inline std::optional<unsigned> month(std::string_view name) {
  static constexpr std::string_view kNames = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = name.size() == 3 ? kNames.find(name) : std::string_view::npos;
  return at == std::string_view::npos || at % 3 != 0 ? std::nullopt : std::optional(static_cast<unsigned>(at / 3 + 1));
}

// "08:49:37"
inline std::optional<std::chrono::seconds> time_of_day(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hour = number(text.substr(0, 2));
  const auto minute = number(text.substr(3, 2));
  const auto second = number(text.substr(6, 2));
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

// The three forms of RFC 9110, section 5.6.7, brought to the words day, month, year, time.
inline std::optional<std::array<std::string_view, 4>> date_words(std::string_view text) {
  std::array<std::string_view, 6> words;
  std::size_t count = 0;
  while (!text.empty() && count < words.size()) {
    const std::size_t length = std::min(text.find_first_of(" -"), text.size());
    if (length > 0) words[count++] = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  if (!text.empty() || count < 5) return std::nullopt;
  const bool gmt = count == 6 && words[5] == "GMT" && words[0].ends_with(',');
  if (gmt) return std::array{words[1], words[2], words[3], words[4]};         // Sun, 06 Nov 1994 08:49:37 GMT
  if (count == 5) return std::array{words[2], words[1], words[4], words[3]};  // Sun Nov  6 08:49:37 1994
  return std::nullopt;
}

// A year of two digits (RFC 850) is the one that lies at most 50 years ahead.
inline int whole_year(int year, std::chrono::system_clock::time_point now) {
  const std::chrono::year_month_day today(std::chrono::floor<std::chrono::days>(now));
  const int this_year = static_cast<int>(today.year());
  const int guess = this_year - this_year % 100 + year;
  return guess > this_year + 50 ? guess - 100 : guess;
}

// In whole seconds: nanoseconds would not reach the year 9999.
inline std::optional<std::chrono::sys_seconds> http_date(std::string_view text,
                                                         std::chrono::system_clock::time_point now) {
  const auto words = date_words(text);
  if (!words) return std::nullopt;
  const auto day = number((*words)[0]);
  const auto month_number = month((*words)[1]);
  const auto year = number((*words)[2]);
  const auto time = time_of_day((*words)[3]);
  if (!day || !month_number || !year || !time || *year > 9999) return std::nullopt;
  const int full_year = (*words)[2].size() == 2 ? whole_year(*year, now) : *year;
  const std::chrono::year_month_day date{std::chrono::year(full_year), std::chrono::month(*month_number),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + *time;
}

}  // namespace retry_detail

// How long a Retry-After asks to wait: whole seconds or a date. Nothing if it is neither; a date that is past is 0.
inline std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view text,
                                                                  std::chrono::system_clock::time_point now) {
  using std::chrono::milliseconds;
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc{}) seconds = retry_detail::kMaxSeconds;  // more digits than a number holds
    return milliseconds(std::min(seconds, retry_detail::kMaxSeconds) * 1000);
  }
  const auto date = retry_detail::http_date(text, now);
  if (!date) return std::nullopt;
  const auto seconds = *date - std::chrono::floor<std::chrono::seconds>(now);
  return milliseconds(std::clamp<std::int64_t>(seconds.count(), 0, retry_detail::kMaxSeconds) * 1000);
}

class Retry {
 public:
  // Counts the call as a request of the budget, which must outlive this.
  explicit Retry(RetryBudget& budget, RetryPolicy policy = {}) : budget_(budget), policy_(std::move(policy)) {
    budget_.on_request();
  }

  // Call it with each answer; wait and send again while it says so.
  RetryAdvice next(const RetryAnswer& answer) {
    if (answer.status >= 200 && answer.status < 400) return {.reason = "done"};
    if (answer.code == "cost_too_large") return {.reason = "cost_too_large"};
    if (!retryable(answer.status)) return {.reason = "not_retryable"};
    if (++attempts_ >= policy_.max_attempts) return {.reason = "attempts"};
    const std::chrono::milliseconds asked = asked_wait(answer.retry_after);
    if (asked > policy_.max_retry_after) return {.reason = "wait_too_long"};
    const std::chrono::milliseconds wait = asked + draw();
    if (waited_ + wait > policy_.max_total_wait) return {.reason = "wait_too_long"};
    if (!budget_.take_retry()) return {.reason = "budget"};
    waited_ += wait;
    return {.retry = true, .wait = wait, .reason = "retry"};
  }

 private:
  // 429 and 503 say that nothing was done; after the others, and after silence, it may have been.
  bool retryable(int status) const {
    if (status == 429 || status == 503) return true;
    return policy_.idempotent && (status == 0 || status == 408 || status == 502 || status == 504);
  }

  std::chrono::milliseconds asked_wait(std::string_view retry_after) const {
    const auto now = policy_.now ? policy_.now() : std::chrono::system_clock::now();
    return parse_retry_after(retry_after, now).value_or(std::chrono::milliseconds(0));
  }

  // Evenly from zero to the bound of this attempt.
  std::chrono::milliseconds draw() {
    const std::int64_t most =
        std::clamp<std::int64_t>(policy_.max_backoff.count(), 0, retry_detail::kMaxSeconds * 1000);
    std::int64_t bound = std::clamp<std::int64_t>(policy_.first_backoff.count(), 0, most);
    for (int i = 1; i < attempts_ && bound < most; ++i) bound = std::min(bound * 2, most);
    return std::chrono::milliseconds(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound + 1)));
  }

  std::uint64_t random() {
    if (policy_.random) return policy_.random();
    std::random_device device;  // a retry is rare: no generator is kept for it
    return std::uint64_t{device()} << 32 | device();
  }

  RetryBudget& budget_;
  const RetryPolicy policy_;
  int attempts_ = 0;  // answers that asked for another attempt
  std::chrono::milliseconds waited_{0};
};

}  // namespace weir
