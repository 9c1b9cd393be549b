#include "server/rule_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/log_file_test_support.h"

namespace weir::server {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string rules_with(const std::string& id) {
  return "version: 1\nrules:\n  - {id: " + id + ", per: [tenant], algorithm: gcra, limit: 5, window: 1h}\n";
}

// R31: every way in which a rules file changes in practice, and what happens when the new one is bad.
class RuleKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weir-rules-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::trunc) << text; }
  std::string in_force(const RuleKeeper& keeper) {
    const auto rules = keeper.book()->current();
    return rules->rules().size() == 1 ? std::string(rules->rules()[0].name.id) : "other";
  }
  int refusals() const {
    const std::string text = log_.text();
    int count = 0;
    for (std::size_t at = 0; (at = text.find("\"event\":\"rules_rejected\"", at)) != std::string::npos; ++at) ++count;
    return count;
  }
  // A change is taken up at the second look that sees it unchanged.
  void poll_twice(RuleKeeper& keeper) {
    keeper.poll();
    keeper.poll();
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
  EXPECT_EQ(in_force(keeper), "first");

  write(file, rules_with("written-in-place"));
  poll_twice(keeper);
  EXPECT_EQ(in_force(keeper), "written-in-place");

  write(folder_ / "fresh", rules_with("renamed-over"));
  fs::rename(folder_ / "fresh", file);
  poll_twice(keeper);
  EXPECT_EQ(in_force(keeper), "renamed-over");

  for (const char* version : {"v1.yaml", "v2.yaml"}) {
    fs::create_symlink(version, folder_ / "link");
    fs::rename(folder_ / "link", file);
    poll_twice(keeper);
  }
  EXPECT_EQ(in_force(keeper), "linked-two");
  EXPECT_EQ(keeper.book()->successes(), 5u);
}

TEST_F(RuleKeeperTest, BadRulesAreLoggedAndTheLastGoodOnesStay) {
  const fs::path file = folder_ / "rules.yaml";
  write(file, rules_with("good"));
  RuleKeeper keeper(file, clock_, log_.log());
  ASSERT_TRUE(keeper.load().ok());
  write(file, "version: 1\nrules:\n  - {id: bad, limt: 5}\n");
  poll_twice(keeper);
  EXPECT_EQ(in_force(keeper), "good");
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"rules_rejected\""));
  EXPECT_THAT(log_.text(), HasSubstr("limt"));
  EXPECT_FALSE(keeper.reload().ok()) << "SIGHUP does not make it better";
  fs::remove(file);
  poll_twice(keeper);
  EXPECT_EQ(in_force(keeper), "good");
  write(file, rules_with("good-again"));
  poll_twice(keeper);
  EXPECT_EQ(in_force(keeper), "good-again");
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
  poll_twice(keeper);
  EXPECT_EQ(refusals(), 1) << "and the watch, which sees the same edit, has nothing to add";
  EXPECT_FALSE(keeper.reload().ok());
  EXPECT_EQ(refusals(), 2) << "whoever asks again is answered again";
  write(folder_ / "again", bad);
  fs::rename(folder_ / "again", file);
  poll_twice(keeper);
  EXPECT_EQ(refusals(), 2) << "the same text once more is no news";
  write(file, bad + "# another edit\n");
  poll_twice(keeper);
  EXPECT_EQ(refusals(), 3) << "other text is, with the same fault too";
  EXPECT_EQ(keeper.book()->failures(), 5u) << "every attempt is counted";

  write(file, rules_with("good-again"));
  poll_twice(keeper);
  write(file, bad + "# another edit\n");
  poll_twice(keeper);
  EXPECT_EQ(refusals(), 4) << "good rules in between make the old fault new";
  EXPECT_THAT(log_.text(), HasSubstr("the last good ones stay"));
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

}  // namespace
}  // namespace weir::server
