#include "advise/advice.h"

#include <algorithm>
#include <array>

#include "advise/rule_bound.h"
#include "rules/compile/fault_list.h"
#include "rules/read/rule_summary.h"
#include "rules/read/rules_text.h"
#include "weir/rule.h"
#include "weir/rules_file.h"

namespace weir::advise {
namespace {

constexpr std::int64_t kMostLogged = 1'000;  // entries that a sliding log should keep for a subject
constexpr std::int64_t kManySubjects = 1'000'000;

// The number of sub-buckets, from window/12 to window/6, that divides the window; 0: none does.
std::int64_t sub_buckets(Duration window, bool tight) {
  constexpr std::array<std::int64_t, 7> kFine = {12, 10, 8, 6, 9, 11, 7};
  constexpr std::array<std::int64_t, 7> kCoarse = {6, 8, 10, 12, 7, 9, 11};
  for (const std::int64_t count : tight ? kCoarse : kFine) {
    if (window.count() % count == 0) return count;
  }
  return 0;
}

class Adviser {
 public:
  explicit Adviser(const Answers& answers) : answers_(answers) {}

  Result<Advice> run() {
    rule_.id = answers_.id;
    if (!answers_.action.empty()) rule_.match = {{"action", {answers_.action}}};
    rule_.per = answers_.per;
    rule_.allowance = {.limit = answers_.limit, .window = answers_.window};
    is("purpose", "quota")   ? choose_for_quota()
    : is("purpose", "abuse") ? choose_for_abuse()
                             : choose_for_infrastructure();
    add_cost();
    add_subjects();
    add_outage();
    add_consistency();
    return finish();
  }

 private:
  bool is(std::string_view question, std::string_view choice) const { return answers_.to(question) == choice; }
  void reason(std::string text) { advice_.reasons.push_back(std::move(text)); }
  void note(std::string text) { advice_.notes.push_back(std::move(text)); }
  void use(Algorithm algorithm, std::string why) {
    rule_.allowance.algorithm = algorithm;
    reason(std::string(algorithm_name(algorithm)) + ": " + std::move(why));
  }

  void use_bucketed(std::string why) {
    const std::int64_t count = sub_buckets(answers_.window, is("memory", "tight"));
    if (count == 0) {
      use(Algorithm::gcra,
          "no number of sub-buckets from 6 to 12 divides the window; this needs one number for each subject and is "
          "exact in its own way");
      return;
    }
    use(Algorithm::bucketed_window, std::move(why));
    rule_.allowance.buckets = count;
    reason("sub-buckets of window/" + std::to_string(count) +
           ": in any window at most what one of them holds passes beyond the limit");
  }

  void use_for_burst() {
    if (is("burst", "queue")) {
      use(Algorithm::leaky_bucket,
          "requests that come too fast wait their turn (delay_ms) instead of being denied, and the backend sees an "
          "even rate");
      rule_.allowance.queue = std::max<std::int64_t>(1, answers_.limit / 4);
    } else if (is("burst", "none")) {
      use(Algorithm::gcra, "spaces requests evenly, with no burst to absorb");
      rule_.allowance.burst = std::max<std::int64_t>(1, answers_.limit / 20);
    } else {
      use(Algorithm::token_bucket,
          "bounds the rate in the long run and lets short bursts pass, with one number for each subject");
    }
  }

  void choose_for_infrastructure() {
    reason("the purpose is to protect a backend: the rate matters, not who used how much in which window");
    use_for_burst();
  }

  void choose_for_abuse() {
    reason("the purpose is to stop abuse: no boundary of a window may let twice the limit pass");
    if (is("burst", "queue")) return use_for_burst();
    if (is("exactness", "exact")) {
      if (answers_.limit <= kMostLogged && !is("memory", "tight")) {
        return use(Algorithm::sliding_log, "counts exactly, for the price of 16 bytes for each request in the window");
      }
      return use_bucketed("a log of " + std::to_string(answers_.limit) +
                          " entries for each subject is too much; this is within one sub-bucket of exact");
    }
    if (is("memory", "tight")) {
      return use(Algorithm::sliding_counter,
                 "two counters for each subject; right on average, though an adversary who knows it can reach almost "
                 "twice the limit");
    }
    use_bucketed("a few counters for each subject, and the error is at most one sub-bucket");
  }

  void choose_for_quota() {
    quota_ = true;
    advice_.algorithm = "quota";
    reason(
        "quota: what is paid for is counted in a calendar period and kept in the database, not in a store that may "
        "forget");
    reason(is("exactness", "exact")
               ? "strict: the database commits before the answer, so every admitted unit is billed once"
               : "leased: each node takes slices from the database and answers from memory; near the end a slice too "
                 "early");
  }

  void add_cost() {
    if (is("cost", "varies")) {
      rule_.cost = {.kind = CostModel::Kind::attribute, .units = 1, .attribute = "cost", .table = {}};
      rule_.on_bad_cost = BadCostPolicy::deny;
      reason("the cost is in the attribute `cost`; a value that is not a number is denied, not guessed");
    } else if (is("cost", "after")) {
      note(
          "the cost is known only after the work: reserve an estimate before it and commit the actual "
          "(docs/reservations.md)");
    }
  }

  void add_subjects() {
    if (is("subjects", "unbounded") && !quota_) {
      rule_.max_subjects = kManySubjects;
      reason("max_subjects: beyond a million subjects, new ones share one bucket, so inventing names gains nothing");
      note("add a rule that counts by ip as well: names can be invented, addresses less easily");
    } else if (is("subjects", "many")) {
      note("`weir rules estimate` says how much memory so many subjects take");
    }
  }

  void add_outage() {
    FailurePolicy policy = is("outage", "deny")     ? FailurePolicy::deny
                           : is("outage", "local")  ? FailurePolicy::local
                           : is("outage", "static") ? FailurePolicy::static_limit
                                                    : FailurePolicy::allow;
    if (quota_ && policy != FailurePolicy::deny) {
      note("a paid quota is not given away while the database is unavailable: on_store_failure is deny");
      policy = FailurePolicy::deny;
    }
    rule_.on_store_failure = policy;
    if (policy == FailurePolicy::static_limit) rule_.static_limit = std::max<std::int64_t>(1, answers_.limit / 2);
    reason("on_store_failure: " + std::string(failure_policy_name(policy)) + ", as you said");
  }

  void add_consistency() {
    if (is("consistency", "node")) {
      note("store: memory. Each node counts for itself: with N nodes up to N times the limit passes");
    } else if (is("consistency", "shared")) {
      note("store: redis://… All nodes share the buckets, exactly");
    } else {
      note(
          "one Redis for each region, and the limit divided between the regions: with one Redis for all, every "
          "decision would wait for a distant region");
    }
    if (!is("atomic", "yes")) return;
    if (!is("consistency", "node") && std::find(rule_.per.begin(), rule_.per.end(), "tenant") != rule_.per.end() &&
        !quota_) {
      rule_.hash_tag = HashTag::tenant;
      reason(
          "hash_tag: tenant keeps the buckets of one tenant in one slot of a Redis Cluster, so that all rules of a "
          "decision are charged in one atomic step");
    } else {
      reason("all rules of a decision are charged together or not at all");
    }
  }

  // The quota's fields are written as text, so that they are checked by the reader like any other rules file.
  std::string quota_yaml() const {
    std::string text = "version: 1\nrules:\n  - id: " + rule_.id + "\n";
    if (!answers_.action.empty()) text += "    match: {action: " + answers_.action + "}\n";
    text += "    per: [";
    for (std::size_t i = 0; i < rule_.per.size(); ++i) text += (i == 0 ? "" : ", ") + rule_.per[i];
    text += "]\n    algorithm: quota\n    limit: " + std::to_string(answers_.limit) + "\n    period: month\n";
    if (rule_.cost.kind == CostModel::Kind::attribute) text += "    cost: {attribute: cost}\n    on_bad_cost: deny\n";
    text += std::string("    enforcement: ") + (is("exactness", "exact") ? "strict" : "leased") + "\n";
    return text + "    notify: [80%, 100%]\n    on_store_failure: deny\n";
  }

  Result<Advice> finish() {
    if (quota_) {
      advice_.yaml = quota_yaml();
      if (parse_rules(advice_.yaml, "advice").ok()) {
        advice_.bound = "never more than " + std::to_string(answers_.limit) + " in a calendar month";
        return advice_;
      }
      // A build without the ledger: the closest that a store can do.
      rule_.allowance.algorithm = Algorithm::fixed_window;
      advice_.algorithm = algorithm_name(Algorithm::fixed_window);
      note("this build has no quota rules: a fixed window is what a store can count, and a store may forget");
    } else {
      advice_.algorithm = algorithm_name(rule_.allowance.algorithm);
    }
    const Result<Allowance> allowance = make_allowance(rule_.allowance);
    if (!allowance.ok()) return allowance.failure();
    advice_.bound = bound_of(allowance.value()).text;
    advice_.yaml = rules::write_rules(Rules{.rules = {rule_}});
    const Result<RulesFile> read = parse_rules(advice_.yaml, "advice");
    if (!read.ok()) return Failure{Code::invalid_argument, read.failure().message};
    return advice_;
  }

  const Answers& answers_;
  Rule rule_;
  Advice advice_;
  bool quota_ = false;
};

}  // namespace

const std::vector<Question>& questions() {
  static const std::vector<Question> kQuestions = {
      {"purpose",
       "What is the limit for?",
       {{"infrastructure", "protect a backend from overload"},
        {"abuse", "stop guessing, scraping and other abuse"},
        {"quota", "enforce what a customer has paid for"}}},
      {"exactness",
       "How exact must it be?",
       {{"approximate", "a few per cent more do not matter"}, {"exact", "not one more than the limit"}}},
      {"burst",
       "What about requests that come in a burst?",
       {{"some", "let short bursts pass"}, {"none", "spread them evenly"}, {"queue", "make them wait their turn"}}},
      {"cost",
       "What does a request cost?",
       {{"one", "every request the same"},
        {"varies", "it is known before the work"},
        {"after", "it is known only after the work"}}},
      {"subjects",
       "How many subjects are counted?",
       {{"few", "up to some thousands"},
        {"many", "up to millions, all known"},
        {"unbounded", "callers can invent new ones"}}},
      {"memory",
       "How much memory is there?",
       {{"normal", "some hundred bytes for each subject"}, {"tight", "as little as possible"}}},
      {"outage",
       "What happens when the store does not answer?",
       {{"allow", "let requests pass"},
        {"deny", "refuse them"},
        {"local", "each node counts for itself"},
        {"static", "each node admits a fixed part"}}},
      {"consistency",
       "Where does the limit hold?",
       {{"shared", "over all nodes"}, {"node", "on each node by itself"}, {"global", "over several regions"}}},
      {"atomic",
       "Must it be charged together with other rules, all or none?",
       {{"yes", "a request that one rule denies costs nothing under the others"}, {"no", "this rule stands alone"}}}};
  return kQuestions;
}

std::string_view Answers::to(std::string_view question) const {
  for (std::size_t i = 0; i < questions().size(); ++i) {
    if (questions()[i].name != question) continue;
    return i < choices.size() && !choices[i].empty() ? std::string_view(choices[i])
                                                     : questions()[i].choices.front().name;
  }
  return {};
}

Status Answers::set(std::string_view question, std::string_view choice) {
  for (std::size_t i = 0; i < questions().size(); ++i) {
    const Question& each = questions()[i];
    if (each.name != question) continue;
    std::vector<std::string_view> names;
    for (const Choice& one : each.choices) names.push_back(one.name);
    if (std::find(names.begin(), names.end(), choice) == names.end()) {
      return Failure{Code::invalid_argument, std::string(question) + ": is " + rules::in_quotes(choice) +
                                                 rules::suggestion(choice, names) + ", expected " +
                                                 rules::joined_choices(names)};
    }
    choices.resize(questions().size());
    choices[i] = choice;
    return success();
  }
  return Failure{Code::invalid_argument, std::string(question) + ": there is no such question"};
}

Result<Advice> advise(const Answers& answers) { return Adviser(answers).run(); }

}  // namespace weir::advise
