// A generated log, whose answer the reference models compute: every denial, by rule, by subject and by time.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "simulate/replay.h"
#include "tests/models/reference_models.h"
#include "weir/rules_file.h"

namespace weir::simulate {
namespace {

// Without optimization, a tenth is enough to wait for.
#ifdef __OPTIMIZE__
constexpr int kGoldenLines = 1'000'000;
#else
constexpr int kGoldenLines = 100'000;
#endif
constexpr std::uint32_t kGoldenSeed = 20'261'118;

constexpr const char* kGoldenRules = R"(version: 1
rules:
  - {id: fixed, match: {path: /fixed}, per: [ip], algorithm: fixed-window, limit: 4, window: 10s, on_store_failure: allow}
  - {id: bucketed, match: {path: /bucketed}, per: [ip], algorithm: bucketed-window, limit: 5, window: 20s, buckets: 10, on_store_failure: allow}
  - {id: log, match: {path: /log}, per: [ip], algorithm: sliding-log, limit: 6, window: 15s, on_store_failure: allow}
  - {id: counter, match: {path: /counter}, per: [ip], algorithm: sliding-counter, limit: 5, window: 12s, on_store_failure: allow}
  - {id: token, match: {path: /token}, per: [ip], algorithm: token-bucket, limit: 7, window: 30s, burst: 9, on_store_failure: allow}
  - {id: gcra, match: {path: /gcra}, per: [ip], algorithm: gcra, limit: 3, window: 7s, burst: 2, on_store_failure: allow}
  - {id: leaky, match: {path: /leaky}, per: [ip], algorithm: leaky-bucket, limit: 4, window: 9s, queue: 3, on_store_failure: allow}
)";
constexpr const char* kGoldenPaths[] = {"/fixed", "/bucketed", "/log", "/counter", "/token", "/gcra", "/leaky"};

struct GoldenAnswer {
  std::uint64_t denied = 0;
  TimePoint first{};
  TimePoint last{};
};

// Writes the log and, at the same time, asks a model for each subject of each rule.
class GoldenLog {
 public:
  explicit GoldenLog(const Rules& rules) : rules_(rules) {
    std::mt19937 random(kGoldenSeed);
    std::geometric_distribution<int> caller(0.05);  // a few ask much, many ask little
    std::int64_t milliseconds = 1'735'689'600'000;
    text.reserve(std::size_t{kGoldenLines} * 90);
    for (int i = 0; i < kGoldenLines; ++i) {
      milliseconds += random() % 24;
      add(milliseconds / 1'000, random() % std::size(kGoldenPaths), caller(random));
    }
  }

  std::string text;
  std::map<std::pair<std::string, std::string>, GoldenAnswer> answers;  // by rule and subject
  std::uint64_t denied = 0;

 private:
  void add(std::int64_t second, std::size_t which, int caller) {
    const std::string address = "10.1." + std::to_string(caller / 250) + "." + std::to_string(caller % 250);
    const std::int64_t in_day = second % 86'400;
    const auto day = static_cast<int>((second - 1'735'689'600) / 86'400) + 1;
    char line[160];
    std::snprintf(line, sizeof line, "%s - - [%02d/Jan/2025:%02d:%02d:%02d +0000] \"GET %s?n=%d HTTP/1.1\" 200 5\n",
                  address.c_str(), day, static_cast<int>(in_day / 3'600), static_cast<int>(in_day / 60 % 60),
                  static_cast<int>(in_day % 60), kGoldenPaths[which], caller);
    text += line;
    const Rule& rule = rules_.rules[which];
    std::unique_ptr<models::ReferenceModel>& model = models_[{which, caller}];
    if (model == nullptr) model = models::make_reference_model(make_allowance(rule.allowance).value());
    const TimePoint now = from_micros(second * 1'000'000);
    if (model->admit(now, 1)) return;
    ++denied;
    GoldenAnswer& answer = answers[{rule.id, "ip=" + address}];
    if (answer.denied++ == 0) answer.first = now;
    answer.last = now;
  }

  const Rules& rules_;
  std::map<std::pair<std::size_t, int>, std::unique_ptr<models::ReferenceModel>> models_;
};

TEST(Golden, AReplayedLogDeniesWhatTheReferenceModelsDeny) {
  const Rules rules = parse_rules(kGoldenRules, "golden").value().rules;
  const GoldenLog golden(rules);
  ReplayOptions options;
  options.sets = {{"golden", rules}};
  options.top = SubjectTable::kMaxSubjects;
  std::unique_ptr<Replay> replay = std::move(Replay::create(std::move(options))).value();
  MergedLogs logs = std::move(MergedLogs::from_text(golden.text, {})).value();
  while (logs.next()) replay->add(logs.record(), logs.current());
  const Report report = replay->finish(&logs).value();

  EXPECT_EQ(report.requests, static_cast<std::uint64_t>(kGoldenLines)) << "seed " << kGoldenSeed;
  EXPECT_EQ(report.unparsed + report.refused + report.out_of_order, 0U);
  EXPECT_GT(golden.denied, static_cast<std::uint64_t>(kGoldenLines) / 100);
  EXPECT_EQ(report.now().denied, golden.denied);
  EXPECT_EQ(report.now().allowed, kGoldenLines - golden.denied);
  ASSERT_EQ(report.top_denied.size(), golden.answers.size());
  std::map<std::string, std::uint64_t> by_rule;
  for (const SubjectCounts& each : report.top_denied) {
    const auto found = golden.answers.find({each.rule, each.text});
    ASSERT_NE(found, golden.answers.end()) << each.rule << ' ' << each.text;
    EXPECT_EQ(each.denied[0], found->second.denied) << each.rule << ' ' << each.text;
    EXPECT_EQ(each.first_denied, found->second.first) << each.rule << ' ' << each.text;
    EXPECT_EQ(each.last_denied, found->second.last) << each.rule << ' ' << each.text;
    by_rule[each.rule] += each.denied[0];
  }
  EXPECT_EQ(by_rule.size(), std::size(kGoldenPaths));
  std::uint64_t in_series = 0;
  for (const StepCounts& step : report.series) in_series += step.denied[0];
  EXPECT_EQ(in_series, golden.denied);
  for (const RuleSummary& rule : report.rules) EXPECT_EQ(rule.denied[0], by_rule[rule.rule]) << rule.rule;
}

}  // namespace
}  // namespace weir::simulate
