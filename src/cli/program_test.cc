// The verbs from the words of a command line to output and exit code, in this process.
#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/exit_code.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weir-cli-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    rules_ = (folder_ / "rules.yaml").string();
    std::ofstream(rules_) << "version: 1\n"
                             "rules:\n"
                             "  - {id: per-tenant, per: [tenant], algorithm: token-bucket, limit: 3, window: 1h}\n"
                             "  - {id: search, match: {action: search}, per: [tenant], algorithm: gcra, limit: 120,\n"
                             "     window: 60s, burst: 200, plans: {free: {limit: 60}}}\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  int run(std::vector<std::string> words) {
    out_.str("");
    err_.str("");
    return cli::run(std::move(words), Terminal{out_, err_, coloured_});
  }

  fs::path folder_;
  std::string rules_;
  std::ostringstream out_;
  std::ostringstream err_;
  bool coloured_ = false;
};

TEST_F(ProgramTest, CheckDecidesLocally) {
  EXPECT_EQ(run({"check", "tenant=acme", "--local", rules_}), kExitAllowed);
  EXPECT_THAT(out_.str(), StartsWith("allowed by per-tenant\n  allowed  per-tenant (token-bucket): 2 of 3 left"));
  EXPECT_EQ(run({"check", "tenant=acme", "--local", rules_, "--cost", "4"}), kExitDenied);
  EXPECT_THAT(out_.str(), StartsWith("denied by per-tenant (cost_too_large), no wait can help"));
  EXPECT_EQ(run({"check", "user=joe", "--local", rules_}), kExitAllowed);
  EXPECT_THAT(out_.str(), StartsWith("allowed (no_rule)"));
}

TEST_F(ProgramTest, AWordThatIsNoVerbIsNamed) {
  EXPECT_EQ(run({"chek", "tenant=acme"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("'chek' is not a verb"));
  EXPECT_EQ(run({"rules", "chek", rules_}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("'chek' is not a verb"));
  EXPECT_EQ(run({"rules"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("subcommand is required"));
}

TEST_F(ProgramTest, TheVersionIsAlsoAFlag) {
  EXPECT_EQ(run({"--version"}), kExitAllowed);
  EXPECT_THAT(out_.str(), MatchesRegex("weir [0-9.]+\n"));
}

TEST_F(ProgramTest, CheckPrintsTheJsonOfTheApi) {
  EXPECT_EQ(run({"check", "tenant=acme", "--local", rules_, "--json"}), kExitAllowed);
  EXPECT_THAT(out_.str(), StartsWith("{\"allowed\":true,\"reason\":\"ok\",\"rule\":\"per-tenant\""));
  EXPECT_EQ(run({"check", "tenant=acme", "--local", rules_, "--json", "--cost", "4"}), kExitDenied);
  EXPECT_THAT(out_.str(), HasSubstr("\"reason\":\"cost_too_large\""));
}

TEST_F(ProgramTest, ColoursAppearOnlyWhereTheyAreWanted) {
  run({"check", "tenant=acme", "--local", rules_});
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  coloured_ = true;
  run({"check", "tenant=acme", "--local", rules_});
  EXPECT_THAT(out_.str(), StartsWith("\x1b[32mallowed\x1b[0m"));
}

TEST_F(ProgramTest, ABadAttributeABadFileAndAMissingServerHaveTheirOwnExitCodes) {
  EXPECT_EQ(run({"check", "tenant", "--local", rules_}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("'tenant' is not an attribute, expected name=value"));
  EXPECT_EQ(run({"check", "=x", "--local", rules_}), kExitBadInput);
  EXPECT_EQ(run({"check", "a=" + std::string(4097, 'x'), "--local", rules_}), kExitBadInput);
  EXPECT_EQ(run({"check", "a=b", "--local", rules_ + ".none"}), kExitBadInput);
  EXPECT_EQ(run({"check", "a=b", "--cost", "-1"}), kExitBadInput);
  EXPECT_EQ(run({"check", "a=b", "--server", "https://weir:443"}), kExitBadInput);
  EXPECT_EQ(run({"check", "a=b", "--server", "http://127.0.0.1:1"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("cannot reach http://127.0.0.1:1: Connection refused"));
  EXPECT_EQ(run({"check", "a=b", "--server", "unix:" + (folder_ / "none.sock").string()}), kExitFailed);
}

TEST_F(ProgramTest, ValidateCountsRulesOrListsFaults) {
  EXPECT_EQ(run({"rules", "validate", rules_}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("OK  " + rules_ + ": 2 rules, 0 warnings\n"));
  EXPECT_EQ(run({"rules", "validate", rules_, "--json"}), kExitAllowed);
  EXPECT_EQ(out_.str(), "{\"valid\":true,\"rules\":2,\"warnings\":[]}\n");

  std::ofstream(rules_) << "version: 1\nrules:\n  - {id: a, limt: 1, algorithm: gcra, window: 1s}\n"
                           "  - {id: b, algorithm: nope, limit: 1, window: 1s}\n";
  EXPECT_EQ(run({"rules", "validate", rules_}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr(rules_ + ":3:"));
  EXPECT_THAT(err_.str(), HasSubstr(rules_ + ":4:")) << "all faults, not the first only";
  EXPECT_TRUE(out_.str().empty());
  EXPECT_EQ(run({"rules", "validate", rules_, "--json"}), kExitBadInput);
  EXPECT_THAT(out_.str(), StartsWith("{\"valid\":false,\"errors\":[\""));
}

TEST_F(ProgramTest, ExplainTellsWhichRulesApplyAndWhyNotTheOthers) {
  EXPECT_EQ(run({"rules", "explain", rules_, "tenant=acme", "action=search", "plan=free", "--cost", "2"}),
            kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("per-tenant  applies: 3 per 1h, from rule, cost 2\n"));
  EXPECT_THAT(out_.str(), HasSubstr("search      applies: 60 per 1m, burst "));
  EXPECT_THAT(out_.str(), HasSubstr("from plan free"));
  EXPECT_THAT(out_.str(), HasSubstr("2 of 2 rules apply\n"));
  EXPECT_EQ(run({"rules", "explain", rules_, "tenant=acme", "action=buy"}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("search      does not apply: match: action"));
  EXPECT_EQ(run({"rules", "explain", rules_, "user=joe", "--json"}), kExitAllowed);
  EXPECT_THAT(out_.str(), StartsWith("{\"rules\":[{\"rule\":\"per-tenant\",\"applies\":false,\"why_not\":\""));
}

TEST_F(ProgramTest, BenchMeasuresInProcess) {
  EXPECT_EQ(run({"bench", "--local", rules_, "tenant=t{}", "--keys", "10", "--duration", "0.05", "--json"}),
            kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("\"ns_per_check\":"));
  EXPECT_THAT(out_.str(), HasSubstr("\"allowed\":30,")) << "three for each of ten keys";
  EXPECT_EQ(run({"bench", "--server", "http://127.0.0.1:1", "--duration", "0.05", "a=b"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("cannot reach"));
}

TEST_F(ProgramTest, EveryVerbHelpsWithExamples) {
  const std::vector<std::vector<std::string>> verbs = {
      {"serve"},           {"check"}, {"rules", "validate"}, {"rules", "explain"},
      {"rules", "import"}, {"bench"}, {"version"},           {"completion"}};
  for (std::vector<std::string> verb : verbs) {
    verb.emplace_back("--help");
    EXPECT_EQ(run(verb), kExitAllowed) << verb[0];
    EXPECT_THAT(out_.str(), HasSubstr("Example"));
    EXPECT_THAT(out_.str(), HasSubstr("  weir ")) << verb[0];
  }
  EXPECT_EQ(run({"--help"}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes: 0 allowed or done, 1 denied, 2 wrong usage"));
}

TEST_F(ProgramTest, WrongUsageSaysSo) {
  EXPECT_EQ(run({}), kExitBadInput);
  EXPECT_EQ(run({"nonsense"}), kExitBadInput);
  EXPECT_EQ(run({"rules"}), kExitBadInput);
  EXPECT_EQ(run({"check", "--nonsense"}), kExitBadInput);
  EXPECT_FALSE(err_.str().empty());
  EXPECT_EQ(run({"completion", "tcsh"}), kExitBadInput);
}

TEST_F(ProgramTest, ServeRefusesSettingsThatDoNotHoldUp) {
  EXPECT_EQ(run({"serve", "--loops", "many"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("weir serve: --loops: is 'many'"));
  EXPECT_EQ(run({"serve", "--store", "postgres://localhost"}), kExitBadInput);
  EXPECT_EQ(run({"serve", "--config", rules_ + ".none"}), kExitBadInput);
  EXPECT_EQ(run({"serve", "--print-config"}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("listen:\n"));
}

TEST_F(ProgramTest, CompletionKnowsVerbsAndOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(run({"completion", shell}), kExitAllowed);
    for (const char* word : {"serve", "validate", "explain", "listen-http", "connections"}) {
      EXPECT_THAT(out_.str(), HasSubstr(word)) << shell;
    }
  }
}

TEST_F(ProgramTest, VersionIsReadableByMachines) {
  EXPECT_EQ(run({"version", "--json"}), kExitAllowed);
  EXPECT_THAT(out_.str(), testing::MatchesRegex("\\{\"version\":\"[0-9.]+\"\\}\n"));
}

}  // namespace
}  // namespace weir::cli
