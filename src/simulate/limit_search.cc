#include "simulate/limit_search.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "stores/memory/memory_store.h"

namespace weir::simulate {
namespace {

// Answers at once, so nothing waits for it.
class TapeCall final : public StoreCall {
 public:
  void complete() override {}
};

// One rule's search: the smallest limit in (denies_too_many, denies_few_enough] is looked for.
struct Search {
  std::optional<Allowance> allowance;  // of this round; none: found
  std::int64_t too_small = 0;
  std::int64_t enough = 0;  // 0: none found yet
  std::int64_t tried = 0;
  std::uint64_t total = 0;     // requests of the rule
  std::uint64_t requests = 0;  // of this round
  std::uint64_t denied = 0;
  double enough_share = 0;
  double own_share = 0;
};

constexpr int kMaxRounds = 64;

double share_of(const Search& search) {
  return search.requests == 0 ? 0 : static_cast<double>(search.denied) / static_cast<double>(search.requests);
}

void propose(Search& search, const AllowanceSpec& spec, std::int64_t limit) {
  search.tried = limit;
  search.requests = search.denied = 0;
  const Result<Allowance> made = make_allowance(with_limit(spec, limit));
  search.allowance = made.ok() ? std::optional(made.value()) : std::nullopt;
}

// Plays the tape once for all searches that go on.
Status play_round(ChargeTape& tape, std::vector<Search>& searches, std::size_t max_bytes) {
  memory::MemoryStore store(MemoryOptions{.max_bytes = max_bytes});
  TapeCall call;
  return tape.play([&](const TapeRecord& record) {
    Search& search = searches[record.rule()];
    if (!search.allowance) return;
    Charge charge;
    charge.key = record.key();
    charge.allowance = &*search.allowance;
    charge.cost = record.cost();
    ChargeOutcome outcome;
    call.action = Action::take;
    call.now = record.time();
    call.charges = std::span(&charge, 1);
    call.outcomes = std::span(&outcome, 1);
    call.status = Code::ok;
    static_cast<void>(store.begin(call));
    ++search.requests;
    if (call.status == Code::ok && outcome.status == Code::ok && !outcome.admitted) ++search.denied;
  });
}

// What to try next after a round; none: the search is over.
std::optional<std::int64_t> next_limit(const Search& search, std::int64_t most) {
  if (search.enough == 0) {
    if (search.too_small >= most) return std::nullopt;
    return std::min(most, std::max<std::int64_t>(1, search.too_small * 4));
  }
  // Within one percent is close enough: the traffic of another day differs by more.
  if (search.enough - search.too_small <= std::max<std::int64_t>(1, search.enough / 100)) return std::nullopt;
  return search.too_small + (search.enough - search.too_small) / 2;
}

}  // namespace

AllowanceSpec with_limit(const AllowanceSpec& spec, std::int64_t limit) {
  const auto in_proportion = [&](std::int64_t units) {
    const double ratio = static_cast<double>(units) / static_cast<double>(std::max<std::int64_t>(1, spec.limit));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(limit) * ratio + 0.5), 1, kMaxUnits);
  };
  AllowanceSpec changed = spec;
  changed.limit = limit;
  if (spec.burst) changed.burst = in_proportion(*spec.burst);
  if (spec.queue && *spec.queue > 0) changed.queue = in_proportion(*spec.queue);
  return changed;
}

Result<std::vector<Suggestion>> search_limits(ChargeTape& tape, const std::vector<SearchedRule>& rules, double target,
                                              std::size_t max_bytes) {
  std::vector<Search> searches(rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) propose(searches[i], rules[i].spec, rules[i].spec.limit);
  for (int round = 0; round < kMaxRounds; ++round) {
    if (Status played = play_round(tape, searches, max_bytes); !played.ok()) return played.failure();
    bool goes_on = false;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      Search& search = searches[i];
      if (!search.allowance) continue;
      if (round == 0) {
        search.own_share = share_of(search);
        search.total = search.requests;
      }
      if (share_of(search) <= target) {
        search.enough = search.tried;
        search.enough_share = share_of(search);
      } else {
        search.too_small = search.tried;
      }
      const std::int64_t most = rules[i].spec.algorithm == Algorithm::sliding_log ? kMaxLogLimit : kMaxUnits;
      const std::optional<std::int64_t> next = search.requests == 0 ? std::nullopt : next_limit(search, most);
      if (next) {
        propose(search, rules[i].spec, *next);
      } else {
        search.allowance.reset();
      }
      goes_on = goes_on || search.allowance.has_value();
    }
    if (!goes_on) break;
  }
  std::vector<Suggestion> suggestions;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Search& search = searches[i];
    if (search.total == 0) continue;
    suggestions.push_back({.rule = rules[i].rule,
                           .limit = rules[i].spec.limit,
                           .share = search.own_share,
                           .suggested = search.enough,
                           .suggested_share = search.enough_share,
                           .reached = search.enough > 0,
                           .cut_off = tape.full()});
  }
  return suggestions;
}

}  // namespace weir::simulate
