#include "observe/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/log_sink.h"

namespace weir::observe {
namespace {

class LogTest : public testing::Test {
 protected:
  Log make(Log::Format format, Level level = Level::info, std::int64_t repeats = 20) {
    return Log({.format = format, .level = level, .fd = sink_.fd(), .colour = false, .repeats_per_second = repeats},
               clock_);
  }
  Sink sink_;
  ManualClock clock_{from_micros(1'782'907'200'123'456)};
};

TEST_F(LogTest, LinesBearTheWallClocksTimeAlsoAfterItWasSetBack) {
  clock_.set_ahead(std::chrono::hours(2));
  Log log = make(Log::Format::text);
  log.info("e", "m");
  EXPECT_EQ(sink_.lines().at(0).substr(0, 24), "2026-07-01T10:00:00.123Z");
}

TEST_F(LogTest, JsonIsOneObjectPerLine) {
  Log log = make(Log::Format::json);
  log.info("rules_loaded", "rules \"loaded\"",
           {{"path", "a\nb"}, {"rules", 12}, {"ok", true}, {"big", -9'000'000'000}});
  EXPECT_EQ(sink_.lines(), std::vector<std::string>{
                               R"({"ts":"2026-07-01T12:00:00.123Z","level":"info","event":"rules_loaded",)"
                               R"("msg":"rules \"loaded\"","path":"a\nb","rules":12,"ok":true,"big":-9000000000})"});
}

TEST_F(LogTest, TextIsForPeopleAndCannotBeForged) {
  Log log = make(Log::Format::text);
  log.warn("x", "bad key\n2026 error forged",
           {{"path", "rules.yaml"}, {"why", "no such\x1b[31m file"}, {"n", 3}, {"none", ""}});
  EXPECT_EQ(sink_.lines(),
            std::vector<std::string>{R"(2026-07-01T12:00:00.123Z warn  bad key\n2026 error forged path=rules.yaml )"
                                     R"(why="no such\u001b[31m file" n=3 none="")"});
}

TEST_F(LogTest, LevelsBelowTheChosenOneAreSilent) {
  Log log = make(Log::Format::text, Level::warn);
  log.debug("a", "a");
  log.info("b", "b");
  EXPECT_TRUE(sink_.lines().empty());
  log.error("c", "c");
  EXPECT_EQ(sink_.lines().size(), 1u);
}

TEST_F(LogTest, OnlyTheLevelIsColouredAndOnlyOnDemand) {
  Log log({.format = Log::Format::text, .level = Level::debug, .fd = sink_.fd(), .colour = true}, clock_);
  log.debug("a", "m");
  log.info("b", "m");
  log.warn("c", "m");
  log.error("d", "m");
  const std::string time = "2026-07-01T12:00:00.123Z ";
  EXPECT_EQ(sink_.lines(),
            (std::vector<std::string>{time + "\x1b[2mdebug\x1b[0m m", time + "\x1b[32minfo\x1b[0m  m",
                                      time + "\x1b[33mwarn\x1b[0m  m", time + "\x1b[31merror\x1b[0m m"}));
}

TEST_F(LogTest, EveryLevelIsWrittenUnderItsName) {
  Log log = make(Log::Format::json, Level::debug);
  log.debug("a", "m", {{"k", "v"}});
  log.info("b", "m", {{"k", "v"}});
  log.warn("c", "m", {{"k", "v"}});
  log.error("d", "m", {{"k", "v"}});
  const std::vector<std::string> lines = sink_.lines();
  ASSERT_EQ(lines.size(), 4u);
  const char* const levels[] = {"debug", "info", "warn", "error"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(lines[i], testing::HasSubstr("\"level\":\"" + std::string(levels[i]) + "\""));
    EXPECT_THAT(lines[i], testing::HasSubstr(R"("k":"v")"));
  }
}

TEST_F(LogTest, AHugeMessageAndManyFieldsStayInOnePipeWrite) {
  const std::string huge(100'000, '\x01');
  for (const Log::Format format : {Log::Format::json, Log::Format::text}) {
    Log log = make(format);
    log.info("huge", huge, {{"a", huge}, {"b", huge}, {huge, huge}, {"c", 1}});
    const std::vector<std::string> lines = sink_.lines();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_LT(lines[0].size(), Log::kMaxLine);
    EXPECT_EQ(lines[0].back() == '}', format == Log::Format::json);
  }
}

TEST_F(LogTest, ARepeatedLineIsHeldBackAndCounted) {
  Log log = make(Log::Format::json, Level::info, 3);
  for (int i = 0; i < 10; ++i) log.warn("refused", "connection refused");
  log.warn("other_event", "has its own allowance");
  EXPECT_EQ(sink_.lines().size(), 4u);
  EXPECT_EQ(log.suppressed(), 7);
  clock_.advance(std::chrono::seconds(1));
  log.warn("refused", "connection refused");
  log.warn("refused", "connection refused");
  const std::vector<std::string> lines = sink_.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find(R"("suppressed":7)"), std::string::npos);
  EXPECT_EQ(lines[1].find("suppressed"), std::string::npos);
}

TEST_F(LogTest, LinesOfManyThreadsNeverMix) {
  Log log = make(Log::Format::json, Level::info, 1'000'000);
  std::vector<std::thread> threads;
  const std::string filler(200, 'x');
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) log.info("e", filler, {{"t", t}, {"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> lines = sink_.lines();
  EXPECT_EQ(lines.size(), 800u);
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.starts_with("{\"ts\"") && line.ends_with("}") && line.find('{', 1) == std::string::npos) << line;
  }
}

TEST(Rfc3339, KnowsLeapDaysAndTheEpoch) {
  EXPECT_EQ(rfc3339(from_micros(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(from_micros(1'709'251'199'999'999)), "2024-02-29T23:59:59.999Z");
}

}  // namespace
}  // namespace weir::observe
