// A simulated backend behind a concurrency limit, and the rivals of AdaptiveLimit: Gradient2 and Vegas as in Netflix's
// concurrency-limits (with their defaults), AIMD, and a fixed limit. Everything follows from the seed.
//
// The backend has so many workers. Up to that many requests are worked on at full speed; more share the workers, and
// each one beyond makes all a little slower (contention: locks, caches, memory). Requests arrive at random (Poisson)
// and need different amounts of work (an Erlang distribution of order 4, deviation half of the mean). Half-way the
// number of workers is halved. A request that takes longer than its client waits is work for nothing: it is completed,
// and is not goodput.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "engine/adaptive_limit.h"

namespace weir::engine {

// What decides how many may be in progress.
class ConcurrencyPolicy {
 public:
  virtual ~ConcurrencyPolicy() = default;
  virtual std::int64_t limit() const = 0;
  virtual void refused() {}
  // Another one that was in progress for `took` is done; `in_flight` were when it began.
  virtual void completed(double took_s, std::int64_t in_flight, double now_s) = 0;
};

inline constexpr std::int64_t kMinLimit = 5;
inline constexpr std::int64_t kMaxLimit = 400;

class OurPolicy final : public ConcurrencyPolicy {
 public:
  std::int64_t limit() const override { return limit_.limit(); }
  void refused() override { limit_.refused(); }
  void completed(double took_s, std::int64_t, double now_s) override {
    limit_.completed(Duration(static_cast<std::int64_t>(took_s * 1e6)),
                     from_micros(1'800'000'000'000'000 + static_cast<std::int64_t>(now_s * 1e6)));
  }

 private:
  AdaptiveLimit limit_{AutoLimit{kMinLimit, kMaxLimit}};
};

class FixedPolicy final : public ConcurrencyPolicy {
 public:
  explicit FixedPolicy(std::int64_t limit) : limit_(limit) {}
  std::int64_t limit() const override { return limit_; }
  void completed(double, std::int64_t, double) override {}

 private:
  const std::int64_t limit_;
};

// One more while nothing is too slow, a tenth fewer when something is.
class AimdPolicy final : public ConcurrencyPolicy {
 public:
  explicit AimdPolicy(double timeout_s) : timeout_s_(timeout_s) {}
  std::int64_t limit() const override { return static_cast<std::int64_t>(limit_); }
  void completed(double took_s, std::int64_t in_flight, double) override {
    if (took_s > timeout_s_) {
      limit_ *= 0.9;
    } else if (static_cast<double>(in_flight) * 2 >= limit_) {
      limit_ += 1;
    }
    limit_ = std::clamp(limit_, static_cast<double>(kMinLimit), static_cast<double>(kMaxLimit));
  }

 private:
  const double timeout_s_;
  double limit_ = 20;
};

// Samples of a second, at least ten, as their mean (WindowedLimit).
class WindowedPolicy : public ConcurrencyPolicy {
 public:
  std::int64_t limit() const override { return static_cast<std::int64_t>(limit_); }
  void completed(double took_s, std::int64_t in_flight, double now_s) override {
    sum_ += took_s;
    ++count_;
    most_in_flight_ = std::max(most_in_flight_, in_flight);
    if (now_s < window_ends_ || count_ < 10) return;
    update(sum_ / static_cast<double>(count_), most_in_flight_);
    limit_ = std::clamp(limit_, static_cast<double>(kMinLimit), static_cast<double>(kMaxLimit));
    window_ends_ = now_s + 1;
    sum_ = 0;
    count_ = 0;
    most_in_flight_ = 0;
  }

 protected:
  virtual void update(double rtt, std::int64_t in_flight) = 0;
  double limit_ = 20;

 private:
  double sum_ = 0;
  double window_ends_ = 1;
  std::int64_t count_ = 0;
  std::int64_t most_in_flight_ = 0;
};

class Gradient2Policy final : public WindowedPolicy {
 protected:
  void update(double rtt, std::int64_t in_flight) override {
    constexpr double kQueue = 4;
    constexpr double kTolerance = 1.5;
    constexpr double kSmoothing = 0.2;
    constexpr double kLongWindow = 600;
    constexpr int kWarmup = 10;
    if (samples_ < kWarmup) {
      ++samples_;
      long_sum_ += rtt;
      long_rtt_ = long_sum_ / samples_;
    } else {
      long_rtt_ += (rtt - long_rtt_) * 2 / (kLongWindow + 1);
    }
    if (long_rtt_ / rtt > 2) long_rtt_ *= 0.95;
    if (static_cast<double>(in_flight) < limit_ / 2) return;
    const double gradient = std::clamp(kTolerance * long_rtt_ / rtt, 0.5, 1.0);
    limit_ = limit_ * (1 - kSmoothing) + (limit_ * gradient + kQueue) * kSmoothing;
  }

 private:
  int samples_ = 0;
  double long_sum_ = 0;
  double long_rtt_ = 0;
};

class VegasPolicy final : public WindowedPolicy {
 protected:
  void update(double rtt, std::int64_t in_flight) override {
    constexpr int kProbeMultiplier = 30;
    if (++probes_ > kProbeMultiplier * limit_ || no_load_ == 0) {
      probes_ = 0;
      no_load_ = rtt;
      return;
    }
    if (rtt < no_load_) {
      no_load_ = rtt;
      return;
    }
    if (static_cast<double>(in_flight) * 2 < limit_) return;
    const double log = std::max(1.0, std::log10(limit_));
    const double queue = std::ceil(limit_ * (1 - no_load_ / rtt));
    if (queue <= log) {
      limit_ += 6 * log;
    } else if (queue < 3 * log) {
      limit_ += log;
    } else if (queue > 6 * log) {
      limit_ -= log;
    }
  }

 private:
  int probes_ = 0;
  double no_load_ = 0;
};

struct Backend {
  double workers = 50;
  double work_s = 0.1;        // on average, alone
  double contention = 0.004;  // of each request beyond the workers
  double patience_s = 1;      // of clients
  double load = 1;            // of what the workers can do
  double length_s = 120;
  double halved_at_s = 60;
};

struct Simulated {
  double goodput = 0;          // of what the workers could have done, 0 to 1
  double p99_s = 0;            // of what was admitted
  double refused = 0;          // share of the arrivals
  std::vector<double> limits;  // once a second
};

class BackendSimulator {
 public:
  BackendSimulator(const Backend& backend, ConcurrencyPolicy& policy, std::uint64_t seed)
      : backend_(backend), policy_(policy), random_(seed) {}

  Simulated run() {
    const double capacity = backend_.workers / backend_.work_s;
    std::exponential_distribution<double> gap(capacity * backend_.load);
    std::gamma_distribution<double> work(4, backend_.work_s / 4);
    double next_arrival = gap(random_);
    double next_sample = 0;
    Simulated result;
    std::int64_t arrivals = 0;
    std::int64_t refused = 0;
    while (now_ < backend_.length_s) {
      const double next = std::min({next_arrival, next_end(), next_sample});
      advance(std::min(next, backend_.length_s));
      if (next >= backend_.length_s) break;
      if (next == next_sample) {
        result.limits.push_back(static_cast<double>(policy_.limit()));
        next_sample += 1;
      } else if (next == next_arrival) {
        ++arrivals;
        next_arrival += gap(random_);
        const double amount = work(random_);
        if (static_cast<std::int64_t>(jobs_.size()) < policy_.limit()) {
          jobs_.push({done_ + amount, now_, static_cast<std::int64_t>(jobs_.size()) + 1});
        } else {
          ++refused;
          policy_.refused();
        }
      } else {
        end_first();
      }
    }
    const double possible = capacity * (backend_.halved_at_s + (backend_.length_s - backend_.halved_at_s) / 2);
    result.goodput = static_cast<double>(good_) / std::min(possible, static_cast<double>(arrivals));
    result.refused = static_cast<double>(refused) / static_cast<double>(arrivals);
    const auto place = took_.begin() + static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(took_.size()));
    std::nth_element(took_.begin(), place, took_.end());
    result.p99_s = *place;
    return result;
  }

 private:
  struct Job {
    double ends_at;  // in work done for each request
    double began;
    std::int64_t in_flight;
    bool operator<(const Job& other) const { return ends_at > other.ends_at; }
  };

  // How fast the work of each request in progress proceeds.
  double speed() const {
    const auto jobs = static_cast<double>(jobs_.size());
    if (jobs == 0) return 0;
    const double workers = now_ < backend_.halved_at_s ? backend_.workers : backend_.workers / 2;
    const double shared = std::min(1.0, workers / jobs);
    return shared / (1 + backend_.contention * std::max(0.0, jobs - workers));
  }
  double next_end() const {
    if (jobs_.empty()) return backend_.length_s * 2;
    const double end = now_ + (jobs_.top().ends_at - done_) / speed();
    return now_ < backend_.halved_at_s ? std::min(end, std::max(backend_.halved_at_s, now_)) : end;
  }
  void advance(double to) {
    done_ += (to - now_) * speed();
    now_ = to;
  }
  void end_first() {
    if (jobs_.empty() || jobs_.top().ends_at > done_ + 1e-9) return;  // the capacity has changed
    const Job job = jobs_.top();
    jobs_.pop();
    const double took = now_ - job.began;
    took_.push_back(took);
    good_ += took <= backend_.patience_s ? 1 : 0;
    policy_.completed(took, job.in_flight, now_);
  }

  const Backend backend_;
  ConcurrencyPolicy& policy_;
  std::mt19937_64 random_;
  std::priority_queue<Job> jobs_;
  double now_ = 0;
  double done_ = 0;
  std::int64_t good_ = 0;
  std::vector<double> took_;
};

}  // namespace weir::engine
