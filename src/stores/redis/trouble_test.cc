#include "stores/redis/trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace weir::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FailureKind kind_of_text(std::string_view text) { return kind_of({ReplyKind::error, 0, text}); }

// As Redis 7 words them, outside and inside a script, and as servers before it do inside.
TEST(KindOf, TellsErrorsOfTheServerFromThoseOfOneBucket) {
  const std::string inside = " script: 6f1ed002ab5595859014ebf0951522d9, on @user_script:12.";
  EXPECT_EQ(kind_of_text("LOADING Redis is loading the dataset in memory"), FailureKind::loading);
  EXPECT_EQ(kind_of_text("MASTERDOWN Link with MASTER is down"), FailureKind::loading);
  EXPECT_EQ(kind_of_text("BUSY Redis is busy running a script."), FailureKind::loading);
  EXPECT_EQ(kind_of_text("READONLY You can't write against a read only replica." + inside), FailureKind::read_only);
  EXPECT_EQ(kind_of_text("NOREPLICAS Not enough good replicas to write."), FailureKind::read_only);
  EXPECT_EQ(kind_of_text("OOM command not allowed when used memory > 'maxmemory'." + inside), FailureKind::memory);
  EXPECT_EQ(kind_of_text("CLUSTERDOWN The cluster is down"), FailureKind::cluster);
  EXPECT_EQ(kind_of_text("NOPERM this user has no permissions to run the 'evalsha' command"), FailureKind::permission);
  EXPECT_EQ(kind_of_text("ERR The user executing the script can't run this command or subcommand" + inside),
            FailureKind::permission);
  EXPECT_EQ(kind_of_text("NOAUTH Authentication required."), FailureKind::permission);
  EXPECT_EQ(kind_of_text("MISCONF Redis is configured to save RDB snapshots, but it's currently unable" + inside),
            FailureKind::other);
  EXPECT_EQ(kind_of_text("ERR unknown command 'EVALSHA', with args beginning with: 'x'"), FailureKind::other);

  EXPECT_EQ(kind_of_text("WRONGTYPE Operation against a key holding the wrong kind of value" + inside),
            FailureKind::bucket);
  EXPECT_EQ(kind_of_text("WRONGTYPE Operation against a key holding the wrong kind of value"), FailureKind::bucket);
  EXPECT_EQ(kind_of_text("ERR user_script:31: attempt to compare nil with number" + inside), FailureKind::bucket);
  EXPECT_EQ(kind_of_text("BADSTATE a key of Weir holds a value that Weir did not write" + inside), FailureKind::bucket);

  const std::string before = "ERR Error running script (call to f_6f1e): @user_script:12: ";
  EXPECT_EQ(kind_of_text(before + "WRONGTYPE Operation against a key"), FailureKind::bucket);
  EXPECT_EQ(kind_of_text(before + "-READONLY You can't write against a read only replica."), FailureKind::read_only);
  EXPECT_EQ(kind_of_text(before + "-OOM command not allowed"), FailureKind::memory);
}

TEST(KindOf, OnlyErrorsOfTheServerCountAgainstIt) {
  for (std::size_t i = 0; i < kFailureKindCount; ++i) {
    const auto kind = static_cast<FailureKind>(i);
    const bool about_one_call = kind == FailureKind::refused || kind == FailureKind::overload ||
                                kind == FailureKind::late || kind == FailureKind::bucket;
    EXPECT_EQ(counts_against_server(kind), !about_one_call) << failure_kind_name(kind);
  }
}

TEST(FailureKindNames, AreDifferent) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kFailureKindCount; ++i) names.insert(failure_kind_name(static_cast<FailureKind>(i)));
  EXPECT_EQ(names.size(), kFailureKindCount);
}

TEST(CauseWords, AreDifferentAndFitTheKinds) {
  std::set<std::string> words;
  for (int i = 0; i <= static_cast<int>(Cause::other); ++i) words.insert(cause_word(static_cast<Cause>(i)));
  EXPECT_EQ(words.size(), static_cast<std::size_t>(Cause::other) + 1);
  EXPECT_EQ(cause_of(FailureKind::connect), Cause::unreachable);
  EXPECT_EQ(cause_of(FailureKind::timeout), Cause::no_reply);
  EXPECT_EQ(cause_of(FailureKind::lost), Cause::lost);
  for (const FailureKind kind : {FailureKind::loading, FailureKind::read_only, FailureKind::memory,
                                 FailureKind::cluster, FailureKind::permission, FailureKind::other}) {
    EXPECT_STREQ(cause_word(cause_of(kind)), failure_kind_name(kind));
  }
}

TEST(TroubleOf, NamesTheCauseAndSaysWhatWasSaid) {
  const Trouble trouble = trouble_of({ReplyKind::error, 0, "NOPERM this user has no permissions"});
  EXPECT_EQ(trouble.cause, Cause::permission);
  EXPECT_EQ(trouble.said, "NOPERM this user has no permissions");
  EXPECT_EQ(trouble_of({ReplyKind::error, 0, "NOAUTH Authentication required."}).cause, Cause::auth);
  EXPECT_EQ(trouble_of({ReplyKind::error, 0, "WRONGPASS invalid"}).cause, Cause::auth);
  EXPECT_EQ(trouble_of(FailureKind::cluster, "redirected too often").cause, Cause::cluster);
}

TEST(Shown, IsBounded) {
  EXPECT_EQ(shown(std::string(10'000, 'x')).size(), 200U);
  EXPECT_EQ(shown("short"), "short");
}

TEST(ShownWithout, NeverShowsWhatWasSentToLogIn) {
  EXPECT_EQ(shown_without("WRONGPASS invalid username-password pair or user is disabled.", "hunter2"),
            "WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_EQ(shown_without("ERR unknown command 'AUTH', with args beginning with: 'hunter2' ", "hunter2"),
            "ERR unknown command 'AUTH'");
  EXPECT_EQ(shown_without("ERR no such user: hunter2", "hunter2"), "ERR");
  EXPECT_THAT(shown_without("hunter2 is wrong", "hunter2"), Not(HasSubstr("hunter2")));
  EXPECT_EQ(shown_without("ERR anything", ""), "ERR anything");
  // A server that cuts long arguments off repeats only a part of the password.
  const std::string secret(300, 's');
  EXPECT_EQ(shown_without("ERR unknown command 'AUTH', with args beginning with: '" + secret.substr(0, 128), secret),
            "ERR unknown command 'AUTH'");
}

}  // namespace
}  // namespace weir::redis
