// Reservations at random against the sequential model (tests/models/reservation_model.h): nothing lost, nothing counted
// twice, the bucket's bound never exceeded.
#include <random>

#include "tests/contract/reservation_contract.h"
#include "tests/models/reservation_model.h"

namespace weir::contract {
namespace {

constexpr int kRounds = 6;
constexpr int kSteps = 250;
constexpr std::uint64_t kIds = 12;

std::string describe(int step, const models::Answer& answer) {
  return "step " + std::to_string(step) + ", remaining " + std::to_string(answer.remaining);
}

}  // namespace

// In steps of whole seconds every debt is whole, and the store answers as the model does.
TEST_P(ReservationContract, AnswersAsIfTheActualHadBeenChargedAtTheBeginning) {
  std::mt19937_64 random(20'261'118);
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  std::uint64_t next_id = 1;
  for (int round = 0; round < kRounds; ++round) {
    Charge charge = bucket(static_cast<std::uint64_t>(100 + round));
    allowance_.overdraft = below(15);
    allowance_.charges_lapsed = round % 3 == 2;
    models::ReservationModel model(allowance_);
    std::vector<std::uint64_t> open;
    const auto any_id = [&] {
      return open.empty() ? 0 : open[static_cast<std::size_t>(below(static_cast<std::int64_t>(open.size())))];
    };
    for (int step = 0; step < kSteps; ++step) {
      now_ += seconds(below(4) == 0 ? below(8) : 0);
      const std::uint64_t id = any_id();
      const std::int64_t units = below(12);
      std::erase_if(open, [&](std::uint64_t each) { return !model.is_open(static_cast<int>(each), now_); });
      const bool is_open = std::find(open.begin(), open.end(), id) != open.end();
      HoldStep hold;
      hold.id = reservation_id(id);
      switch (below(7)) {
        case 0:
        case 1: {
          if (open.size() == kIds) break;
          hold.id = reservation_id(next_id);
          hold.amount = units;
          hold.ttl = seconds(1 + below(30));
          hold.partial = below(3) == 0;
          const auto granted = model.reserve(static_cast<int>(next_id), now_, units, hold.ttl, hold.partial);
          const Result made = run(Action::take, {charge}, hold);
          ASSERT_EQ(made.taken(), granted.has_value()) << describe(step, model.peek(now_, 0));
          if (granted) {
            ASSERT_EQ(made.hold.granted, *granted);
            open.push_back(next_id);
          }
          ++next_id;
          break;
        }
        case 2: {
          ASSERT_EQ(plain(Action::take, charge, units).admitted, model.take(now_, units)) << "step " << step;
          break;
        }
        case 3: {
          if (!is_open) break;
          hold.amount = units;
          hold.ttl = seconds(below(2) * (1 + below(20)));
          hold.partial = below(3) == 0;
          const auto granted = model.extend(static_cast<int>(id), now_, units, hold.ttl, hold.partial);
          ASSERT_EQ(run(Action::renew, {charge}, hold).hold.state == HoldState::live, granted.has_value()) << step;
          break;
        }
        case 4: {
          if (!is_open) break;
          hold.actual = below(2) == 0 ? units : 2 * units;
          const auto expected = model.commit(static_cast<int>(id), now_, hold.actual);
          const Result settled = run(Action::settle, {charge}, hold);
          ASSERT_EQ(settled.hold.state, HoldState::ended) << step;
          ASSERT_EQ(settled.hold.debt, expected.debt) << describe(step, model.peek(now_, 0));
          ASSERT_EQ(settled.hold.uncharged, expected.uncharged) << step;
          break;
        }
        case 5: {
          if (!is_open) break;
          hold.closing = ReservationState::released;
          model.release(static_cast<int>(id), now_);
          ASSERT_EQ(run(Action::settle, {charge}, hold).hold.state, HoldState::ended) << step;
          break;
        }
        default:
          if (id != 0 && !is_open) {
            ASSERT_EQ(run(Action::settle, {charge}, hold).hold.state, HoldState::gone) << step;
          }
          break;
      }
      const std::int64_t asked = below(3);
      const models::Answer expected = model.peek(now_, asked);
      const ChargeOutcome answer = plain(Action::peek, charge, asked);
      ASSERT_EQ(answer.admitted, expected.admitted) << describe(step, expected);
      ASSERT_EQ(answer.retry_after, expected.retry_after) << describe(step, expected);
      if (asked == 0) {
        ASSERT_EQ(answer.remaining, expected.remaining) << "step " << step;
      }
    }
    now_ += std::chrono::hours(1);
  }
}

// At any time: what is returned is rounded down to whole units, so a bucket may have up to one unit for each settlement
// less than the model, and never more.
TEST_P(ReservationContract, NeverHasMoreLeftThanTheModelAtAnyTime) {
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  models::ReservationModel model(allowance_);
  std::vector<std::uint64_t> open;
  for (std::uint64_t step = 1; step < 600; ++step) {
    now_ += microseconds(below(3'000'000));
    std::erase_if(open, [&](std::uint64_t each) { return !model.is_open(static_cast<int>(each), now_); });
    HoldStep hold;
    if (below(2) == 0 && open.size() < kIds) {
      hold.id = reservation_id(step);
      hold.amount = 1 + below(4);
      hold.ttl = seconds(1 + below(20));
      // What the store admits the model must admit.
      if (!run(Action::take, {}, hold).taken()) continue;
      ASSERT_TRUE(model.reserve(static_cast<int>(step), now_, hold.amount, hold.ttl)) << step;
      open.push_back(step);
    } else if (!open.empty()) {
      hold.id = reservation_id(open.back());
      hold.actual = below(5);
      const auto expected = model.commit(static_cast<int>(open.back()), now_, hold.actual);
      const Result settled = run(Action::settle, {}, hold);
      ASSERT_EQ(settled.hold.state, HoldState::ended);
      ASSERT_LE(settled.hold.debt, expected.debt);
      open.pop_back();
    }
    const std::int64_t remaining = left();
    ASSERT_LE(remaining, model.peek(now_, 0).remaining) << step;
  }
}

}  // namespace weir::contract
