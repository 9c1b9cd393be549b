#include "server/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

namespace weir::server {
namespace {

using http::TokenVerdict;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kRoles[] = {"check", "refund", "reset"};

std::string fault(std::string_view text) {
  const Result<TokenHashes> parsed = TokenHashes::parse(text, "tokens", kRoles);
  return parsed.ok() ? "parsed" : parsed.failure().message;
}

TEST(TokenHashes, AHashIsThatOfSha256) {
  EXPECT_EQ(token_hash_text("password"), "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8");
}

TEST(TokenHashes, LinesHaveAHashAndOptionallyANameAndRoles) {
  const Result<TokenHashes> parsed =
      TokenHashes::parse("# tokens of the gateways\n\n" + token_hash_text("one") + "\r\n  " + token_hash_text("two") +
                             "\tgateway check\n" + token_hash_text("three") + " billing refund,reset",
                         "tokens", kRoles);
  ASSERT_TRUE(parsed.ok()) << parsed.failure().message;
  const TokenHashes& tokens = parsed.value();
  EXPECT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens.check("one", "reset"), TokenVerdict::accepted) << "without roles, a token has all";
  EXPECT_EQ(tokens.check("two", "check"), TokenVerdict::accepted);
  EXPECT_EQ(tokens.check("two", "reset"), TokenVerdict::lacks_role);
  EXPECT_EQ(tokens.check("two", ""), TokenVerdict::accepted);
  EXPECT_EQ(tokens.check("three", "reset"), TokenVerdict::accepted);
  EXPECT_EQ(tokens.check("three", "check"), TokenVerdict::lacks_role);
  EXPECT_EQ(tokens.check("four", ""), TokenVerdict::rejected);
  EXPECT_EQ(tokens.check(token_hash_text("one"), ""), TokenVerdict::rejected) << "a hash is not the token";
}

TEST(TokenHashes, FaultsNameTheLineAndNeverWhatMayBeAToken) {
  EXPECT_THAT(fault("\nmy-secret-token gateway\n"),
              AllOf(HasSubstr("tokens:2: begins with 15 characters"), Not(HasSubstr("my-secret-token"))));
  EXPECT_THAT(fault(std::string(64, 'g')), HasSubstr("is not a hexadecimal digit"));
  EXPECT_THAT(fault(token_hash_text("a") + " name chek"),
              HasSubstr("tokens:1: has the role \"chek\" (did you mean check?), expected check, refund or reset"));
  EXPECT_THAT(fault(token_hash_text("a") + " name check and more"), HasSubstr("has more than a hash"));
  EXPECT_THAT(fault(token_hash_text("a") + " " + std::string(129, 'n')), HasSubstr("128 bytes"));
  std::string many;
  for (std::size_t i = 0; i < TokenHashes::kMaxTokens; ++i) many += token_hash_text("a") + "\n";
  EXPECT_EQ(fault(many), "parsed");
  EXPECT_THAT(fault(many + token_hash_text("a")), HasSubstr("tokens:1001: has more than 1000 tokens"));
}

TEST(TokenFile, AnInvalidFileIsLoggedAndTheLastGoodTokensStay) {
  rules::TemporaryFolder folder;
  ManualClock clock{from_micros(1'782'907'200'123'456)};
  LogFile log{clock};
  const std::filesystem::path file = folder.path() / "tokens";
  std::ofstream(file) << token_hash_text("one") << "\n";
  TokenFile tokens(file, kRoles, log.log());
  ASSERT_TRUE(tokens.load().ok());
  EXPECT_EQ(tokens.check("one", "check"), TokenVerdict::accepted);
  std::ofstream(file) << "not a hash\n";
  EXPECT_FALSE(tokens.reload().ok());
  EXPECT_THAT(tokens.last_error(), HasSubstr(":1: begins with 3 characters"));
  EXPECT_EQ(tokens.check("one", "check"), TokenVerdict::accepted);
  EXPECT_THAT(log.text(), HasSubstr("\"event\":\"tokens_rejected\""));
  std::ofstream(file) << token_hash_text("two") << "\n";
  EXPECT_TRUE(tokens.reload().ok());
  EXPECT_EQ(tokens.last_error(), "");
  EXPECT_EQ(tokens.check("one", "check"), TokenVerdict::rejected);
  EXPECT_EQ(tokens.check("two", "check"), TokenVerdict::accepted);
  std::ofstream(file) << "# none\n";
  EXPECT_TRUE(tokens.reload().ok());
  EXPECT_EQ(tokens.check("two", "check"), TokenVerdict::rejected);
  EXPECT_THAT(log.text(), HasSubstr("\"event\":\"tokens_none\""));
}

}  // namespace
}  // namespace weir::server
