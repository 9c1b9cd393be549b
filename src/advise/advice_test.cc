#include "advise/advice.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "weir/rules_file.h"

namespace weir::advise {
namespace {

Answers with(std::initializer_list<std::pair<std::string_view, std::string_view>> choices) {
  Answers answers;
  for (const auto& [question, choice] : choices) EXPECT_TRUE(answers.set(question, choice).ok()) << question;
  return answers;
}

std::string algorithm_for(std::initializer_list<std::pair<std::string_view, std::string_view>> choices) {
  return advise(with(choices)).value().algorithm;
}

TEST(Advice, EveryCombinationOfAnswersGivesARuleThatIsValid) {
  const std::vector<Question>& asked = questions();
  std::vector<std::size_t> at(asked.size(), 0);
  std::set<std::string> algorithms;
  std::map<std::string, std::set<std::string>> taken;  // by question: choices that some advice depends on
  std::size_t combinations = 0;
  while (true) {
    Answers answers;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      ASSERT_TRUE(answers.set(asked[i].name, asked[i].choices[at[i]].name).ok());
      taken[std::string(asked[i].name)].insert(std::string(asked[i].choices[at[i]].name));
    }
    // Limits that a sliding log takes and does not take, in turn.
    answers.limit = combinations % 2 == 0 ? 5 : 5'000;
    const Result<Advice> advice = advise(answers);
    ASSERT_TRUE(advice.ok()) << advice.failure().message;
    EXPECT_TRUE(parse_rules(advice.value().yaml, "advice").ok()) << advice.value().yaml;
    EXPECT_FALSE(advice.value().reasons.empty());
    EXPECT_FALSE(advice.value().bound.empty());
    algorithms.insert(advice.value().algorithm);
    ++combinations;
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == asked[i].choices.size()) at[i++] = 0;
    if (i == at.size()) break;
  }
  EXPECT_EQ(combinations, 3U * 2 * 3 * 3 * 3 * 2 * 4 * 3 * 2);
  for (const char* expected :
       {"bucketed-window", "gcra", "leaky-bucket", "sliding-counter", "sliding-log", "token-bucket"}) {
    EXPECT_TRUE(algorithms.contains(expected)) << expected;
  }
  EXPECT_TRUE(algorithms.contains("quota") || algorithms.contains("fixed-window"));
}

TEST(Advice, FollowsTheDecisionTree) {
  EXPECT_EQ(algorithm_for({{"purpose", "infrastructure"}}), "token-bucket");
  EXPECT_EQ(algorithm_for({{"purpose", "infrastructure"}, {"burst", "none"}}), "gcra");
  EXPECT_EQ(algorithm_for({{"purpose", "infrastructure"}, {"burst", "queue"}}), "leaky-bucket");
  EXPECT_EQ(algorithm_for({{"purpose", "abuse"}, {"exactness", "exact"}}), "sliding-log");
  EXPECT_EQ(algorithm_for({{"purpose", "abuse"}, {"exactness", "exact"}, {"memory", "tight"}}), "bucketed-window");
  EXPECT_EQ(algorithm_for({{"purpose", "abuse"}}), "bucketed-window");
  EXPECT_EQ(algorithm_for({{"purpose", "abuse"}, {"memory", "tight"}}), "sliding-counter");
  EXPECT_EQ(algorithm_for({{"purpose", "abuse"}, {"burst", "queue"}}), "leaky-bucket");
}

TEST(Advice, DividesTheWindowIntoSixToTwelveSubBuckets) {
  for (const bool tight : {false, true}) {
    Answers answers = with({{"purpose", "abuse"}, {"exactness", "exact"}, {"memory", tight ? "tight" : "normal"}});
    answers.limit = 5'000;
    for (const Duration window :
         {Duration(std::chrono::seconds(60)), Duration(std::chrono::seconds(7)), Duration(std::chrono::minutes(11))}) {
      answers.window = window;
      const Rules rules = parse_rules(advise(answers).value().yaml, "advice").value().rules;
      const std::int64_t count = rules.rules[0].allowance.buckets.value();
      EXPECT_TRUE(count >= 6 && count <= 12) << count;
      EXPECT_EQ(window.count() % count, 0);
    }
  }
  Answers odd = with({{"purpose", "abuse"}, {"exactness", "exact"}});
  odd.limit = 5'000;
  odd.window = Duration(1'000'003);  // a prime: nothing divides it
  EXPECT_EQ(advise(odd).value().algorithm, "gcra");
}

TEST(Advice, SetsWhatTheAnswersAskFor) {
  const Rules rules =
      parse_rules(
          advise(with({{"purpose", "abuse"}, {"cost", "varies"}, {"subjects", "unbounded"}, {"outage", "static"}}))
              .value()
              .yaml,
          "advice")
          .value()
          .rules;
  const Rule& rule = rules.rules[0];
  EXPECT_EQ(rule.cost.attribute, "cost");
  EXPECT_EQ(rule.on_bad_cost, BadCostPolicy::deny);
  EXPECT_EQ(rule.max_subjects, 1'000'000);
  EXPECT_EQ(rule.on_store_failure->policy, FailurePolicy::static_limit);
  EXPECT_GT(rule.static_limit, 0);
  EXPECT_EQ(rule.hash_tag, HashTag::tenant);
}

TEST(Advice, NeverGivesAwayWhatIsPaidFor) {
  const Rules rules =
      parse_rules(advise(with({{"purpose", "quota"}, {"outage", "allow"}})).value().yaml, "advice").value().rules;
  EXPECT_EQ(rules.rules[0].on_store_failure->policy, FailurePolicy::deny);
}

TEST(Advice, RefusesAnAnswerThatIsNotAChoice) {
  Answers answers;
  const Status set = answers.set("purpose", "abuze");
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.failure().message,
            "purpose: is \"abuze\" (did you mean abuse?), expected infrastructure, abuse or quota");
  answers.limit = -1;
  EXPECT_FALSE(advise(answers).ok());
}

}  // namespace
}  // namespace weir::advise
