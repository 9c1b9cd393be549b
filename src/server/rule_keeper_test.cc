#include "server/rule_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "tests/support/log_file.h"

namespace weir::server {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string rules_with(const std::string& id) {
  return "version: 1\nrules:\n  - {id: " + id + ", per: [tenant], algorithm: gcra, limit: 5, window: 1h}\n";
}

// Every way in which a rules file changes in practice, and what happens when the new one is bad.
class RuleKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weir-rules-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::trunc) << text; }
  std::string active(const RuleKeeper& keeper) {
    const auto rules = keeper.book()->current();
    return rules->rules().size() == 1 ? std::string(rules->rules()[0].name.id) : "other";
  }
  int events(const std::string& name) const {
    const std::string text = log_.text();
    const std::string event = "\"event\":\"" + name + "\"";
    int count = 0;
    for (std::size_t at = 0; (at = text.find(event, at)) != std::string::npos; ++at) ++count;
    return count;
  }
  int refusals() const { return events("rules_rejected"); }
  // A change is taken up when it has come to rest.
  void poll_enough(RuleKeeper& keeper) {
    for (int i = 0; i <= rules::FileWatch::kQuietLooks; ++i) keeper.poll();
  }

  fs::path folder_;
  ManualClock clock_;
  LogFile log_{clock_};
};

TEST_F(RuleKeeperTest, TakesUpAnInPlaceWriteARenameAndASymlinkSwap) {
  const fs::path file = folder_ / "rules.yaml";
  write(folder_ / "v1.yaml", rules_with("linked-one"));
  write(folder_ / "v2.yaml", rules_with("linked-two"));
  write(file, rules_with("first"));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  EXPECT_EQ(active(keeper), "first");

  write(file, rules_with("written-in-place"));
  poll_enough(keeper);
  EXPECT_EQ(active(keeper), "written-in-place");

  write(folder_ / "fresh", rules_with("renamed-over"));
  fs::rename(folder_ / "fresh", file);
  poll_enough(keeper);
  EXPECT_EQ(active(keeper), "renamed-over");

  for (const char* version : {"v1.yaml", "v2.yaml"}) {
    fs::create_symlink(version, folder_ / "link");
    fs::rename(folder_ / "link", file);
    poll_enough(keeper);
  }
  EXPECT_EQ(active(keeper), "linked-two");
  EXPECT_EQ(keeper.book()->successes(), 5u);
}

TEST_F(RuleKeeperTest, BadRulesAreLoggedAndTheLastGoodOnesStay) {
  const fs::path file = folder_ / "rules.yaml";
  write(file, rules_with("good"));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  write(file, "version: 1\nrules:\n  - {id: bad, limt: 5}\n");
  poll_enough(keeper);
  EXPECT_EQ(active(keeper), "good");
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"rules_rejected\""));
  EXPECT_THAT(log_.text(), HasSubstr("limt"));
  EXPECT_FALSE(keeper.reload().ok()) << "SIGHUP does not make it better";
  fs::remove(file);
  poll_enough(keeper);
  EXPECT_EQ(active(keeper), "good");
  write(file, rules_with("good-again"));
  poll_enough(keeper);
  EXPECT_EQ(active(keeper), "good-again");
  EXPECT_EQ(keeper.book()->failures(), 3u);
}

TEST_F(RuleKeeperTest, TheWatchDoesNotRepeatWhatWasSaidAndARequestIsAlwaysAnswered) {
  const fs::path file = folder_ / "rules.yaml";
  const std::string bad = "version: 1\nrules:\n  - {id: bad, limt: 5}\n";
  write(file, rules_with("good"));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());

  write(file, bad);
  EXPECT_FALSE(keeper.reload().ok());
  EXPECT_EQ(refusals(), 1) << "SIGHUP is answered";
  poll_enough(keeper);
  EXPECT_EQ(refusals(), 1) << "and the watch, which sees the same edit, has nothing to add";
  EXPECT_FALSE(keeper.reload().ok());
  EXPECT_EQ(refusals(), 2) << "who asks again is answered again";
  write(folder_ / "again", bad);
  fs::rename(folder_ / "again", file);
  poll_enough(keeper);
  EXPECT_EQ(refusals(), 2) << "the same text once more is no news";
  write(file, bad + "# another edit\n");
  poll_enough(keeper);
  EXPECT_EQ(refusals(), 3) << "other text is, with the same fault too";
  EXPECT_EQ(keeper.book()->failures(), 5u) << "every attempt is counted";

  write(file, rules_with("good-again"));
  poll_enough(keeper);
  write(file, bad + "# another edit\n");
  poll_enough(keeper);
  EXPECT_EQ(refusals(), 4) << "good rules in between make the old fault new";
  EXPECT_THAT(log_.text(), HasSubstr("the last good ones stay"));
}

TEST_F(RuleKeeperTest, AGoodEditIsLoadedOnceWhoeverSeesItFirst) {
  const fs::path file = folder_ / "rules.yaml";
  write(file, rules_with("first"));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  write(file, rules_with("signal-first"));
  EXPECT_TRUE(keeper.reload().ok());
  poll_enough(keeper);
  EXPECT_EQ(events("rules_loaded"), 2) << "the watch has nothing to add";
  write(file, rules_with("watch-first"));
  poll_enough(keeper);
  EXPECT_EQ(events("rules_unchanged"), 0);
  EXPECT_TRUE(keeper.reload().ok());
  EXPECT_EQ(events("rules_loaded"), 3);
  EXPECT_EQ(events("rules_unchanged"), 1) << "who asks is answered";
  EXPECT_EQ(active(keeper), "watch-first");
  EXPECT_EQ(keeper.book()->successes(), 3u);
}

// No descriptor can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST_F(RuleKeeperTest, AReadErrorThatMayPassIsTriedAgainAtGrowingIntervals) {
  const fs::path file = folder_ / "rules.yaml";
  write(file, rules_with("first"));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  write(file, rules_with("second"));
  {
    const NoDescriptors limited;
    poll_enough(keeper);
    EXPECT_EQ(keeper.book()->failures(), 1u);
    EXPECT_TRUE(keeper.retrying());
    keeper.poll();
    EXPECT_EQ(keeper.book()->failures(), 1u) << "not before its time";
    Duration wait = RuleKeeper::kFirstRetry;
    for (std::uint64_t failures = 2; failures < 12; ++failures) {
      clock_.advance(wait - Duration(1));
      keeper.poll();
      EXPECT_EQ(keeper.book()->failures(), failures - 1);
      clock_.advance(Duration(1));
      keeper.poll();
      EXPECT_EQ(keeper.book()->failures(), failures);
      wait = std::min(2 * wait, RuleKeeper::kLastRetry);
    }
    EXPECT_EQ(wait, RuleKeeper::kLastRetry);
    EXPECT_EQ(refusals(), 1) << "logged once";
    EXPECT_THAT(log_.text(), HasSubstr("trying again"));
    EXPECT_THAT(keeper.book()->last_error(), HasSubstr("Too many open files"));
  }
  EXPECT_EQ(active(keeper), "first");
  clock_.advance(RuleKeeper::kLastRetry);
  keeper.poll();
  EXPECT_EQ(active(keeper), "second");
  EXPECT_FALSE(keeper.retrying());
  EXPECT_EQ(keeper.book()->last_error(), "");
  clock_.advance(std::chrono::hours(1));
  poll_enough(keeper);
  EXPECT_EQ(keeper.book()->successes() + keeper.book()->unchanged(), 2u) << "that was all";
}

TEST_F(RuleKeeperTest, AnotherEditOrASignalEndsTheWaitAndMistakesAreNotTriedAgain) {
  const fs::path file = folder_ / "rules.yaml";
  write(file, rules_with("first"));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  write(file, rules_with("second"));
  {
    const NoDescriptors limited;
    poll_enough(keeper);
    clock_.advance(RuleKeeper::kFirstRetry);
    keeper.poll();
  }
  write(file, rules_with("third"));
  poll_enough(keeper);
  EXPECT_EQ(active(keeper), "third") << "the clock has not moved";
  {
    const NoDescriptors limited;
    EXPECT_FALSE(keeper.reload().ok());
    EXPECT_TRUE(keeper.retrying());
  }
  EXPECT_TRUE(keeper.reload().ok());
  EXPECT_FALSE(keeper.retrying());

  write(file, "version: 1\nrules:\n  - {id: bad, limt: 5}\n");
  poll_enough(keeper);
  EXPECT_FALSE(keeper.retrying());
  fs::remove(file);
  poll_enough(keeper);
  EXPECT_FALSE(keeper.retrying()) << "the watch sees when it is back";
}

TEST_F(RuleKeeperTest, LabelsFollowTheRulesAndTooManyAreTold) {
  const fs::path file = folder_ / "rules.yaml";
  const auto many = [](int first, int count) {
    std::string text = "version: 1\nrules:\n  - {id: idle, mode: off, limit: 5, window: 1h}\n";
    for (int i = first; i < first + count; ++i) {
      text += "  - {id: r" + std::to_string(i) + ", per: [tenant], limit: 5, window: 1h}\n";
    }
    return text;
  };
  write(file, many(0, 1'003));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  EXPECT_EQ(keeper.labels()->table()->without_label, 3u) << "a rule that is off needs none";
  EXPECT_EQ(events("rules_without_label"), 1);
  write(file, many(2'000, 1'000));
  ASSERT_TRUE(keeper.reload().ok());
  EXPECT_EQ(keeper.labels()->table()->without_label, 0u) << "those before them have given theirs back";
  EXPECT_EQ(events("rules_without_label"), 1);
}

TEST_F(RuleKeeperTest, RulesThatAreBadAtTheStartAreFinal) {
  RuleKeeper keeper(folder_ / "none.yaml", clock_, log_.log());
  EXPECT_FALSE(keeper.load().ok());
}

TEST_F(RuleKeeperTest, WithoutAPathTheQuickstartRulesAreInForce) {
  RuleKeeper keeper({}, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok()) << log_.text();
  EXPECT_EQ(keeper.book()->current()->rules().size(), 2u);
  EXPECT_TRUE(keeper.reload().ok());
  keeper.poll();
  EXPECT_EQ(keeper.book()->successes(), 1u);
}

TEST_F(RuleKeeperTest, LogsTheWarningsOfEachLoadOnce) {
  const fs::path file = folder_ / "rules.yaml";
  write(file, "version: 1\nrules: [{id: a, per: [tennant], limit: 1, window: 1s, on_store_failure: deny}]\n");
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  EXPECT_EQ(events("rules_warning"), 1);
  EXPECT_NE(log_.text().find("rules.yaml:2:23: rules[0].per[0]: the attribute"), std::string::npos);
  ASSERT_TRUE(keeper.reload().ok());
  EXPECT_EQ(events("rules_warning"), 1) << "the file is the same";
  write(file, "version: 1\nrules: [{id: a, per: [tennant], limit: 2, window: 1s, on_store_failure: deny}]\n");
  ASSERT_TRUE(keeper.reload().ok());
  EXPECT_EQ(events("rules_warning"), 2);
}

}  // namespace
}  // namespace weir::server
