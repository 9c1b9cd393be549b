#include "algorithms/penalty.h"

#include <algorithm>

#include "algorithms/arithmetic.h"

namespace weir::algorithms {
namespace {

struct State {
  std::int64_t until = 0;
  std::int64_t first = 0;
  std::int64_t strikes = 0;
  std::int64_t step = 0;
};

constexpr std::int64_t kStepRange = 256;

State read(const Penalty& penalty, ConstHead words) {
  State state;
  state.until = clamp_tick(words[0]);
  state.first = clamp_tick(words[1]);
  state.strikes = bounded(words[2] / kStepRange, penalty.after);
  state.step = bounded(words[2] % kStepRange, kMaxPenaltySteps);
  return state;
}

void write(Head words, const State& state) {
  words[0] = state.until;
  words[1] = state.first;
  words[2] = state.strikes * kStepRange + state.step;
}

std::int64_t quiet_since(const State& state) { return std::max(state.until, state.first); }

// Time never runs backward here: what is written later than `now` counts as now.
State at(const Penalty& penalty, ConstHead words, std::int64_t now_us) {
  State state = read(penalty, words);
  const std::int64_t quiet = now_us - quiet_since(state);
  if (quiet > 0) state.step = std::max<std::int64_t>(0, state.step - quiet / penalty.decay.count());
  if (now_us - state.first >= penalty.within.count()) state.strikes = state.first = 0;
  return state;
}

}  // namespace

Duration penalty_length(const Penalty& penalty, std::int64_t step) {
  const std::int64_t most = longest_penalty(penalty).count();
  std::int64_t length = penalty.block.count();
  for (std::int64_t i = 1; i < step && length < most; ++i) length = bounded_multiply(length, penalty.factor);
  return Duration(std::min(length, most));
}

PenaltyStanding penalty_standing(const Penalty& penalty, ConstHead words, std::int64_t now_us) {
  const State state = read(penalty, words);
  PenaltyStanding standing;
  if (state.until <= now_us) return standing;
  standing.penalized = true;
  standing.challenge = state.step <= penalty.challenges;
  standing.wait = Duration(state.until - now_us);
  return standing;
}

void penalty_strike(const Penalty& penalty, Head words, std::int64_t now_us) {
  State state = at(penalty, words, now_us);
  if (state.strikes == 0) state.first = now_us;
  if (++state.strikes >= penalty.after) {
    state.step = std::min<std::int64_t>(state.step + 1, kMaxPenaltySteps);
    state.until = now_us + penalty_length(penalty, state.step).count();
    state.strikes = state.first = 0;
  }
  write(words, state);
}

void penalty_success(const Penalty& penalty, Head words, std::int64_t now_us) {
  State state = at(penalty, words, now_us);
  const PenaltyStanding standing = penalty_standing(penalty, words, now_us);
  if (standing.challenge) state.until = now_us;
  state.strikes = state.first = 0;
  // Steps are counted from here on: what has been taken back stays so.
  if (!standing.penalized || standing.challenge) state.until = state.step == 0 ? 0 : now_us;
  write(words, state);
}

std::int64_t penalty_idle_from(const Penalty& penalty, ConstHead words) {
  const State state = read(penalty, words);
  const std::int64_t strikes_end = state.strikes == 0 ? 0 : state.first + penalty.within.count();
  const std::int64_t steps_end =
      state.step == 0 ? 0 : quiet_since(state) + bounded_multiply(state.step, penalty.decay.count());
  return std::max({state.until, strikes_end, steps_end});
}

void penalty_move_back(Head words, std::int64_t by_us) {
  for (const std::size_t word : {std::size_t{0}, std::size_t{1}}) {
    if (words[word] != 0) words[word] = clamp_tick(clamp_tick(words[word]) - by_us);
  }
}

}  // namespace weir::algorithms
