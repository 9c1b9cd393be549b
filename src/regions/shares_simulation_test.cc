// Regions that share a token bucket, simulated by seed on one thread: nodes with clocks of their own, a coordinator,
// and messages that are lost, doubled, late and out of order; nodes that crash, a coordinator that cannot be reached or
// has lost its rows. An exact bucket judges what all of them admit together.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

#include "algorithms/bucket.h"
#include "regions/scaled_bucket.h"
#include "regions/shares.h"
#include "tests/sim/seeds.h"

namespace weir::regions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum class ShareFault : std::uint8_t {
  none,
  arrives_full,        // what a share has grown by is there at once
  given_before_lapse,  // what others may still use is given away
};

// What a token bucket of all regions together would have admitted.
class ExactBucket {
 public:
  explicit ExactBucket(const Allowance& allowance) : allowance_(allowance) {}

  // Units that it would not have.
  std::int64_t take(TimePoint now, std::int64_t units) {
    const std::int64_t room = algorithms::evaluate(allowance_, words(), now, 0).remaining;
    const std::int64_t fits = std::min(room, units);
    if (fits > 0) algorithms::charge(allowance_, words(), now, fits);
    return units - fits;
  }

 private:
  algorithms::BucketWords words() { return {algorithms::Head(head_), {}}; }

  const Allowance allowance_;
  std::int64_t head_[algorithms::kHeadWords] = {};
};

// The bucket that the nodes of one region share: it is what their Redis holds.
class RegionBucket {
 public:
  bool take(const Allowance& rule, Ppm share, TimePoint now, std::int64_t units) {
    const ScaledBucket scaled = ScaledBucket::of(rule, share);
    const std::int64_t cost = scaled.cost(units);
    if (!algorithms::evaluate(scaled.allowance, words(), now, cost).admitted) return false;
    algorithms::charge(scaled.allowance, words(), now, cost);
    return true;
  }
  std::int64_t remaining(const Allowance& rule, TimePoint now) {
    return algorithms::evaluate(ScaledBucket::of(rule, kWhole).allowance, words(), now, 0).remaining;
  }
  void grow(const Allowance& rule, const HeldShare::Growth& growth, std::int64_t seen, TimePoint now) {
    ScaledBucket scaled = ScaledBucket::of(rule, growth.to);
    scaled.allowance.overdraft = kMaxUnits;
    algorithms::charge_beyond(scaled.allowance, words(), now, growth_charge(scaled, seen, growth.from));
  }
  void fill(const Allowance& rule, const HeldShare::Growth& growth, TimePoint now) {
    const ScaledBucket scaled = ScaledBucket::of(rule, growth.to);
    const std::int64_t more = rule.burst * (growth.to - growth.from) / kWhole;
    algorithms::refund(scaled.allowance, words(), now, scaled.cost(more));
  }

 private:
  algorithms::BucketWords words() { return {algorithms::Head(head_), {}}; }

  std::int64_t head_[algorithms::kHeadWords] = {};
};

struct Message {
  TimePoint arrives;
  bool is_answer = false;
  std::size_t node = 0;
  int life = 0;  // of the node when it sent the request
  ShareRequest request;
  ShareAnswer answer;
  TimePoint sent;  // the request, by the node's clock
};

struct SimulatedNode {
  std::size_t region = 0;
  int life = 1;
  Duration ahead{0};  // of its clock
  std::unique_ptr<HeldShare> held;
  TimePoint asked{};
  std::int64_t wanted = 0;  // units since the last request
  // The growth that it is about to tell the bucket of.
  std::optional<HeldShare::Growth> growing;
  std::int64_t seen = 0;
  TimePoint seen_at{};
};

struct ShareRun {
  std::int64_t over = 0;
  std::int64_t admitted = 0;
  std::int64_t grown = 0;
};

class ShareWorld {
 public:
  ShareWorld(std::uint64_t seed, ShareFault fault)
      : random_(seed), fault_(fault), rule_(make_rule(seed)), exact_(rule_) {
    regions_ = 2 + below(3);
    buckets_.resize(regions_);
    demand_.assign(regions_, 0);
    const std::size_t count = regions_ * (1 + below(2));
    for (std::size_t i = 0; i < count; ++i) {
      SimulatedNode& node = nodes_.emplace_back();
      node.region = i % regions_;
      node.ahead = milliseconds(static_cast<int>(below(20'000)));
      node.held = std::make_unique<HeldShare>(floor_share(regions_));
    }
    now_ = from_micros(1'800'000'000'000'000);
  }

  ShareRun run() {
    const TimePoint end = now_ + seconds(20);
    TimePoint next_move = now_;
    while (now_ < end) {
      if (now_ >= next_move) {
        for (std::int64_t& each : demand_) each = next_demand();
        next_move = now_ + milliseconds(1'000 + static_cast<int>(below(3'000)));
        reachable_ = below(8) != 0;
      }
      if (below(4'000) == 0) lose_rows();
      for (std::size_t i = 0; i < nodes_.size(); ++i) step(i);
      deliver();
      now_ += milliseconds(5);
    }
    return result_;
  }

 private:
  // A small burst shows rates that add up to too much, a large one levels that do.
  static Allowance make_rule(std::uint64_t seed) {
    constexpr std::int64_t kBursts[] = {500, 4'000, 20'000};
    AllowanceSpec spec;
    spec.algorithm = Algorithm::token_bucket;
    spec.limit = 1'000;
    spec.window = seconds(1);
    spec.burst = kBursts[seed % 3];
    return make_allowance(spec).value();
  }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  // Units in 100 steps: none, a little, or more than there is.
  std::int64_t next_demand() {
    const std::uint64_t kind = below(3);
    return static_cast<std::int64_t>(kind == 0 ? 0 : kind == 1 ? below(50) : below(4'000));
  }

  void lose_rows() {
    rows_.clear();
    learning_until_ = now_ + kLease;
  }

  void step(std::size_t i) {
    SimulatedNode& node = nodes_[i];
    const TimePoint clock = now_ + node.ahead;
    if (below(3'000) == 0) {
      node.held = std::make_unique<HeldShare>(floor_share(regions_));
      node.growing.reset();
      ++node.life;
    }
    const auto part = static_cast<std::int64_t>(below(100));
    for (std::int64_t left = (demand_[node.region] + part) / 100; left > 0; --left) {
      node.wanted += 1;
      if (!buckets_[node.region].take(rule_, node.held->at(clock), now_, 1)) continue;
      result_.admitted += 1;
      result_.over += exact_.take(now_, 1);
    }
    grow(node, clock);
    if (clock - node.asked >= kLease / 2 || (node.wanted > 0 && below(40) == 0)) ask(i, clock);
  }

  void grow(SimulatedNode& node, TimePoint clock) {
    RegionBucket& bucket = buckets_[node.region];
    if (node.growing) {
      if (below(4) != 0 && clock - node.seen_at < kGrowthTime) return;  // the call is under way
      if (clock - node.seen_at <= kGrowthTime && node.held->at(clock) == node.growing->from) {
        bucket.grow(rule_, *node.growing, node.seen, now_);
        node.held->grown(*node.growing, clock);
        ++result_.grown;
      }
      node.growing.reset();
      return;
    }
    const std::optional<HeldShare::Growth> growth = node.held->growth(clock);
    if (!growth) return;
    if (fault_ == ShareFault::arrives_full) {
      bucket.fill(rule_, *growth, now_);
      return node.held->grown(*growth, clock);
    }
    node.growing = growth;
    node.seen = bucket.remaining(rule_, now_);
    node.seen_at = clock;
  }

  void ask(std::size_t i, TimePoint clock) {
    SimulatedNode& node = nodes_[i];
    Message message;
    message.node = i;
    message.life = node.life;
    message.sent = clock;
    message.request.region = node.region;
    message.request.node = std::to_string(i) + "/" + std::to_string(node.life);
    const std::int64_t since = std::max<std::int64_t>((clock - node.asked).count(), 1'000);
    message.request.demand = std::min<Ppm>(node.wanted * 1'000'000 / since * 1'000, kMaxDemand);
    message.request.share = node.held->at(clock);
    message.request.epoch = node.held->epoch();
    node.asked = clock;
    node.wanted = 0;
    send(message);
  }

  void send(Message message) {
    if (!reachable_ || below(10) == 0) return;
    const int copies = below(10) == 0 ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      message.arrives = now_ + milliseconds(static_cast<int>(below(10) == 0 ? below(3'000) : below(120)));
      messages_.push_back(message);
    }
  }

  void deliver() {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (messages_[i].arrives > now_) continue;
      Message message = messages_[i];
      messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
      --i;
      message.is_answer ? to_node(message) : to_coordinator(message);
    }
  }

  void to_coordinator(Message message) {
    if (fault_ == ShareFault::given_before_lapse) {
      for (ShareRow& row : rows_) {
        if (row.region != message.request.region) row.ends = row.held_until = TimePoint{};
      }
    }
    const ShareTerms terms{.regions = regions_, .lease = kLease, .learning = now_ < learning_until_};
    message.answer = decide_share(rows_, message.request, now_, terms);
    if (message.answer.rows_lost) learning_until_ = now_ + kLease;
    message.is_answer = true;
    send(message);
  }

  void to_node(const Message& message) {
    SimulatedNode& node = nodes_[message.node];
    if (node.life != message.life) return;
    node.held->answered(message.answer, message.sent, now_ + node.ahead);
  }

  static constexpr Duration kLease = seconds(2);

  std::mt19937_64 random_;
  ShareFault fault_;
  const Allowance rule_;
  ExactBucket exact_;
  std::size_t regions_ = 2;
  std::vector<RegionBucket> buckets_;
  std::vector<std::int64_t> demand_;
  std::vector<SimulatedNode> nodes_;
  std::vector<ShareRow> rows_;
  std::deque<Message> messages_;
  TimePoint now_;
  TimePoint learning_until_{};
  bool reachable_ = true;
  ShareRun result_;
};

bool is_caught(ShareFault fault) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    if (ShareWorld(seed, fault).run().over > 0) return true;
  }
  return false;
}

TEST(RegionShares, AdmitNoMoreThanOneBucketWhateverHappens) {
  std::int64_t admitted = 0;
  std::int64_t grown = 0;
  std::int64_t runs = 0;
  sim::for_each_seed(60, [&](std::uint64_t seed) {
    const ShareRun run = ShareWorld(seed, ShareFault::none).run();
    ASSERT_EQ(run.over, 0) << sim::how_to_repeat(seed);
    admitted += run.admitted;
    grown += run.grown;
    ++runs;
  });
  EXPECT_GT(admitted, 0);
  EXPECT_GT(grown, runs) << "shares hardly grew: nothing was tested";
}

TEST(RegionShares, AShareThatArrivesFullIsCaught) { EXPECT_TRUE(is_caught(ShareFault::arrives_full)); }

TEST(RegionShares, AShareGivenBeforeTheOldLapsedIsCaught) { EXPECT_TRUE(is_caught(ShareFault::given_before_lapse)); }

}  // namespace
}  // namespace weir::regions
