#include "simulate/replay.h"

#include <gtest/gtest.h>

#include <string>

#include "weir/rules_file.h"

namespace weir::simulate {
namespace {

constexpr const char* kPerAddress = R"(version: 1
rules:
  - {id: per-ip, per: [ip], algorithm: fixed-window, limit: 2, window: 60s, on_store_failure: allow}
)";

NamedRules named(const std::string& name, const std::string& yaml) {
  const Result<RulesFile> read = parse_rules(yaml, name);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.failure().message);
  return {name, read.value().rules};
}

std::string request_line(int second, const std::string& address, const std::string& path = "/", int status = 200) {
  char time[40];
  std::snprintf(time, sizeof time, "[01/Jan/2025:00:%02d:%02d +0000]", second / 60, second % 60);
  return address + " - - " + time + " \"GET " + path + " HTTP/1.1\" " + std::to_string(status) + " 5\n";
}

Report report_of(ReplayOptions options, const std::string& log, LogOptions reading = {}) {
  reading.mappings = options.mappings;
  Result<std::unique_ptr<Replay>> replay = Replay::create(std::move(options));
  EXPECT_TRUE(replay.ok()) << (replay.ok() ? "" : replay.failure().message);
  Result<MergedLogs> logs = MergedLogs::from_text(log, reading);
  EXPECT_TRUE(logs.ok());
  while (logs.value().next()) replay.value()->add(logs.value().record(), logs.value().current());
  return replay.value()->finish(&logs.value()).value();
}

TEST(Replay, TellsWhoWouldHaveBeenDeniedWhenAndByWhichRule) {
  std::string log;
  for (const int second : {0, 1, 2, 3, 61, 62}) log += request_line(second, "192.0.2.1");
  log += request_line(63, "192.0.2.2");
  ReplayOptions options;
  options.sets = {named("rules", kPerAddress)};
  const Report report = report_of(std::move(options), log);
  EXPECT_EQ(report.requests, 7U);
  EXPECT_EQ(report.now().allowed, 5U);
  EXPECT_EQ(report.now().denied, 2U);
  ASSERT_EQ(report.rules.size(), 1U);
  EXPECT_EQ(report.rules[0].subjects, 2U);
  ASSERT_EQ(report.top_denied.size(), 1U);
  EXPECT_EQ(report.top_denied[0].text, "ip=192.0.2.1");
  EXPECT_EQ(report.top_denied[0].rule, "per-ip");
  EXPECT_EQ(report.top_denied[0].denied[0], 2U);
  EXPECT_EQ(report.top_denied[0].peak, 4U);
  const TimePoint start = from_micros(1'735'689'600'000'000);
  EXPECT_EQ(report.top_denied[0].first_denied, start + std::chrono::seconds(2));
  EXPECT_EQ(report.rules[0].last_denied, start + std::chrono::seconds(3));
  EXPECT_EQ(report.peak_minute.requests, 4U);
  EXPECT_EQ(report.peak_minute.at, start);
}

TEST(Replay, TellsWhatChangesBetweenTwoSets) {
  std::string log;
  for (int second = 0; second < 4; ++second) log += request_line(second, "192.0.2.1");
  log += request_line(5, "192.0.2.2", "/login") + request_line(6, "192.0.2.2", "/login");
  ReplayOptions options;
  options.sets = {named("now", kPerAddress), named("then", R"(version: 1
rules:
  - {id: per-ip, per: [ip], algorithm: fixed-window, limit: 3, window: 60s, on_store_failure: allow}
  - {id: login, match: {path: /login}, per: [ip], algorithm: fixed-window, limit: 1, window: 60s, on_store_failure: deny}
)")};
  const Report report = report_of(std::move(options), log);
  EXPECT_EQ(report.now().denied, 2U);
  EXPECT_EQ(report.then().denied, 2U);
  EXPECT_EQ(report.newly_denied, 1U);
  EXPECT_EQ(report.newly_allowed, 1U);
  ASSERT_EQ(report.changed.size(), 2U);
  EXPECT_EQ(report.changed[0].rule, "login");
  EXPECT_EQ(report.changed[1].rule, "per-ip");
  EXPECT_EQ(report.rules.size(), 2U);
}

TEST(Replay, MakesAttributesByIdentityAndByMappings) {
  ReplayOptions options;
  options.identity.ipv4_prefix = 24;
  options.identity.routes = {{"GET", "/v1/items/{id}", "item.read", 3}};
  options.mappings = {{"user", "tenant"}};
  options.sets = {named("rules", R"(version: 1
rules:
  - {id: network, per: [ip], algorithm: fixed-window, limit: 100, window: 60s, on_store_failure: allow}
  - {id: items, match: {action: item.read}, per: [tenant], algorithm: fixed-window, limit: 6, window: 60s, on_store_failure: allow}
)")};
  std::string log;
  for (int i = 1; i <= 3; ++i) {
    log += "192.0.2." + std::to_string(i) + " - acme [01/Jan/2025:00:00:00 +0000] \"GET /v1/items/9 HTTP/1.1\" 200 5\n";
  }
  const Report report = report_of(std::move(options), log);
  EXPECT_EQ(report.now().denied, 1U);  // 3 times a cost of 3 against 6
  ASSERT_EQ(report.top_denied.size(), 1U);
  EXPECT_EQ(report.top_denied[0].text, "tenant=acme");
  EXPECT_EQ(report.rules[1].subjects, 1U);  // one network
}

TEST(Replay, CountsWhatIdentityWouldRefuseAndNamesTheFirst) {
  ReplayOptions options;
  options.sets = {named("rules", kPerAddress)};
  const Report report =
      report_of(std::move(options), request_line(0, "192.0.2.1") + request_line(1, "192.0.2.1", "/a/../b"));
  EXPECT_EQ(report.requests, 1U);
  EXPECT_EQ(report.refused, 1U);
  ASSERT_TRUE(report.first_refused);
  EXPECT_EQ(report.first_refused->number, 2U);
  EXPECT_NE(report.first_refused->text.find("/a/../b"), std::string::npos);
}

TEST(Replay, NeverShowsTheValueOfASecret) {
  ReplayOptions options;
  options.mappings = {{"user", "api_key"}};
  options.sets = {named("rules", R"(version: 1
rules:
  - {id: key, per: [api_key], algorithm: fixed-window, limit: 0, window: 60s, on_store_failure: allow}
)")};
  const Report report =
      report_of(std::move(options), "192.0.2.1 - hunter2 [01/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
  ASSERT_EQ(report.top_denied.size(), 1U);
  EXPECT_EQ(report.top_denied[0].text.find("hunter2"), std::string::npos);
  EXPECT_TRUE(report.top_denied[0].text.starts_with("api_key=#"));
}

TEST(Replay, CountsLinesThatAreOutOfOrderAtTheLatestTime) {
  ReplayOptions options;
  options.sets = {named("rules", kPerAddress)};
  const Report report =
      report_of(std::move(options), request_line(59, "192.0.2.1") + request_line(60, "192.0.2.1") +
                                        request_line(59, "192.0.2.1") + request_line(59, "192.0.2.1"));
  EXPECT_EQ(report.out_of_order, 2U);
  EXPECT_EQ(report.now().denied, 1U);
}

TEST(Replay, SuggestsTheSmallestLimitThatDeniesTheTargetShare) {
  std::string log;
  // One caller with 50 requests in a minute, 50 callers with 1: a limit of 48 denies 2 of 100.
  for (int i = 0; i < 50; ++i) log += request_line(1, "192.0.2.1") + request_line(1, "198.51.100." + std::to_string(i));
  ReplayOptions options;
  options.target = 0.02;
  options.sets = {named("rules", kPerAddress)};
  const Report report = report_of(std::move(options), log);
  ASSERT_EQ(report.suggestions.size(), 1U);
  EXPECT_EQ(report.suggestions[0].limit, 2);
  EXPECT_DOUBLE_EQ(report.suggestions[0].share, 0.48);
  EXPECT_EQ(report.suggestions[0].suggested, 48);
  EXPECT_DOUBLE_EQ(report.suggestions[0].suggested_share, 0.02);
}

TEST(Replay, LeavesQuotasOutAndSaysSo) {
  const NamedRules rules = named("rules",
                                 "version: 1\nrules:\n"
                                 "  - {id: month, per: [tenant], algorithm: quota, limit: 1, period: month}\n"
                                 "  - {id: minute, per: [tenant], algorithm: fixed-window, limit: 2, window: 1m}\n");
  ReplayOptions options;
  options.sets = {rules};
  auto replay = Replay::create(std::move(options));
  ASSERT_TRUE(replay.ok());
  for (int i = 0; i < 3; ++i) replay.value()->add(from_micros(1'800'000'000'000'000), {{"tenant", "acme"}});
  const Report report = replay.value()->finish(nullptr).value();
  ASSERT_EQ(report.rules.size(), 1U);
  EXPECT_EQ(report.rules[0].rule, "minute");
  ASSERT_FALSE(report.notes.empty());
  EXPECT_EQ(report.notes[0], "quota rules are not simulated; a log does not say what was used before it began");
}

TEST(Replay, RefusesRulesThatAreNotValid) {
  Rules rules;
  rules.rules.emplace_back().id = "no numbers";
  ReplayOptions options;
  options.sets = {{"rules", rules}};
  EXPECT_EQ(Replay::create(std::move(options)).failure().code, Code::invalid_argument);
}

TEST(SubjectTable, KeepsThoseThatAskMostWhenThereAreTooMany) {
  SubjectTable table;
  bool made = false;
  const auto ask = [&](std::uint64_t who) {
    SubjectCounts& counts = table.of({who * 0x9e3779b97f4a7c15ULL, who}, made);
    ++counts.requests[0];
    counts.text = std::to_string(who);
  };
  for (std::uint64_t i = 1; i <= 3 * SubjectTable::kMaxSubjects; ++i) {
    ask(i);
    if (i % 100 == 0) ask(1'000'000'000);
  }
  EXPECT_LE(table.size(), SubjectTable::kMaxSubjects);
  EXPECT_GT(table.given_up(), 0U);
  const auto top = table.top(1, [](const SubjectCounts& each) { return each.requests[0]; });
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].text, "1000000000");
  EXPECT_EQ(top[0].requests[0], 3'000U);
}

TEST(TimeSeries, KeepsItsLengthWhateverTimeItCovers) {
  TimeSeries series;
  const TimePoint start = from_micros(1'735'689'600'000'000);
  std::uint64_t added = 0;
  for (int hour = 0; hour < 5'000; ++hour, ++added) series.add(start + std::chrono::hours(hour), {.requests = 1});
  EXPECT_LE(series.steps().size(), TimeSeries::kMaxSteps);
  std::uint64_t sum = 0;
  for (const StepCounts& step : series.steps()) sum += step.requests;
  EXPECT_EQ(sum, added);
  EXPECT_LE(series.start(), start);
}

}  // namespace
}  // namespace weir::simulate
