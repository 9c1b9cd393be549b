// What a store owes to a rule that gets windows of other lengths while it is used: reloads, plans and overrides.
#include <random>

#include "rules/compile/window_lengths.h"
#include "tests/contract/store_contract.h"

namespace weir::contract {
namespace {

// A rule's numbers and the lengths that it counts in, from one reload to the next.
class ChangingRule {
 public:
  void load(std::vector<Allowance> allowances, TimePoint now) {
    rules::WindowLengths lengths = loaded_ ? lengths_.as_former(now) : rules::WindowLengths();
    loaded_ = true;
    for (const Allowance& each : allowances) lengths.add(each);
    lengths.settle([&](auto use) {
      for (const Allowance& each : allowances) use(each);
    });
    allowances_ = std::move(allowances);
    lengths_ = std::move(lengths);
  }

  const std::vector<Allowance>& allowances() const { return allowances_; }

  // What the engine asks of the store for a request under `allowance`: `charge` has the subject's key and the cost.
  std::vector<Charge> charges(const Allowance& allowance, Charge charge, TimePoint now) const {
    const BucketKey subject = charge.key;
    const std::size_t own = lengths_.index_of(allowance);
    charge.allowance = &allowance;
    if (lengths_.several()) charge.key = lengths_.key(subject, own);
    std::vector<Charge> charges = {charge};
    const Allowance* const bounds = lengths_.several() ? lengths_.bounds(allowance, now) : nullptr;
    for (std::size_t i = 0; i < lengths_.counting(now); ++i) {
      if (i == own) continue;
      charge.key = lengths_.key(subject, i);
      charge.allowance = bounds != nullptr ? &bounds[i] : &lengths_.recording()[i];
      charge.binding = bounds != nullptr;
      charges.push_back(charge);
    }
    return charges;
  }

 private:
  std::vector<Allowance> allowances_;
  rules::WindowLengths lengths_;
  bool loaded_ = false;
};

bool is_admitted(const std::vector<Charge>& charges, const std::vector<ChargeOutcome>& outcomes) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].binding && !outcomes[i].admitted) return false;
  }
  return true;
}

}  // namespace

// Windows of 6 s and multiples of it come and go. Whatever their order, at every admission all that passed in the
// current 6 s (of a sliding log: in the last) is within the limit that was asked for.
TEST_P(StoreContract, AWindowThatIsNewToARuleGivesNothingAgain) {
  if (!rules::counts_windows(algorithm())) return;
  constexpr std::int64_t kShortest = 6'000'000;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t bound) { return static_cast<std::int64_t>(random() % bound); };
    const auto some_allowances = [&] {
      std::vector<Allowance> some;
      for (std::int64_t count = 1 + below(3); count > 0; --count) {
        some.push_back(allowance_of(algorithm(), 10 + below(60), seconds(6) * (1 + below(4))));
      }
      return some;
    };
    ChangingRule rule;
    rule.load(some_allowances(), now_);
    std::vector<std::pair<std::int64_t, std::int64_t>> passed;
    for (int step = 0; step < 150; ++step) {
      if (below(12) == 0) rule.load(some_allowances(), now_);
      const Allowance& allowance =
          rule.allowances()[static_cast<std::size_t>(below(static_cast<std::uint32_t>(rule.allowances().size())))];
      const std::vector<Charge> charges = rule.charges(allowance, charge(seed, 1 + below(8)), now_);
      const std::int64_t now = micros(now_);
      if (is_admitted(charges, run(Action::take, charges))) {
        passed.emplace_back(now, charges[0].cost);
        std::int64_t sum = 0;
        for (const auto& [time, units] : passed) {
          const bool counts =
              algorithm() == Algorithm::sliding_log ? time > now - kShortest : time / kShortest == now / kShortest;
          if (counts) sum += units;
        }
        ASSERT_LE(sum, allowance.limit) << "step " << step;
      }
      now_ += microseconds(below(step % 10 == 0 ? 4'000'000 : 300'000));
    }
  }
}

}  // namespace weir::contract
