// The verbs from the words of a command line to output and exit code, in this process.
#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/exit_code.h"
#include "server/config.h"

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
                             "defaults: {on_store_failure: allow}\n"
                             "rules:\n"
                             "  - {id: per-tenant, per: [tenant], algorithm: token-bucket, limit: 3, window: 1h}\n"
                             "  - {id: search, match: {action: search}, per: [tenant], algorithm: gcra, limit: 120,\n"
                             "     window: 60s, burst: 200, plans: {free: {limit: 60}}}\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  int run(std::vector<std::string> words) {
    out_.str("");
    err_.str("");
    return cli::run(std::move(words), Terminal{out_, err_, coloured_, live_});
  }

  fs::path folder_;
  std::string rules_;
  std::ostringstream out_;
  std::ostringstream err_;
  bool coloured_ = false;
  bool live_ = false;
};

TEST_F(ProgramTest, CheckDecidesLocally) {
  EXPECT_EQ(run({"check", "tenant=acme", "--local", rules_}), kExitAllowed);
  EXPECT_THAT(
      out_.str(),
      StartsWith("allowed by per-tenant\n  allowed  per-tenant  token-bucket  2 of 3 left (limit 3 per 1 h)  "));
  EXPECT_EQ(run({"check", "tenant=acme", "--local", rules_, "--cost", "4"}), kExitDenied);
  EXPECT_THAT(out_.str(), StartsWith("denied by per-tenant (cost_too_large), it will never fit"));
  EXPECT_EQ(run({"check", "user=joe", "--local", rules_}), kExitAllowed);
  EXPECT_THAT(out_.str(), StartsWith("allowed (no_rule)"));
}

TEST_F(ProgramTest, ABurstIsNotMistakenForTheLimit) {
  EXPECT_EQ(run({"check", "tenant=acme", "action=search", "--local", rules_}), kExitAllowed);
  EXPECT_THAT(out_.str(),
              HasSubstr("\n  allowed  per-tenant  token-bucket  2 of 3 left (limit 3 per 1 h)                  "
                        "  full again in 20 min  subject "));
  EXPECT_THAT(out_.str(),
              HasSubstr("\n  allowed  search      gcra          199 of 200 left (limit 120 per 60 s, burst 200)"
                        "  full again in 500 ms  subject "));
}

TEST_F(ProgramTest, AnUnknownVerbIsNamedWithTheNearestOne) {
  EXPECT_EQ(run({"chek", "tenant=acme"}), kExitBadInput);
  EXPECT_EQ(err_.str(), "weir: 'chek' is not a verb; did you mean `weir check`? (`weir --help` lists the verbs)\n");
  EXPECT_EQ(run({"rules", "vaildate", rules_}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("'vaildate' is not a verb; did you mean `weir rules validate`?"));
  EXPECT_EQ(run({"validate", rules_}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean `weir rules validate`?"));
  EXPECT_EQ(run({"dance"}), kExitBadInput);
  EXPECT_EQ(err_.str(), "weir: 'dance' is not a verb; `weir --help` lists the verbs\n");
  EXPECT_EQ(run({"rules"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("weir rules: a verb is missing"));
}

TEST_F(ProgramTest, AnUnknownOptionIsNamedWithTheOneThatWasMeant) {
  const std::vector<std::tuple<std::vector<std::string>, std::string, std::string>> cases = {
      {{"serve", "--port", "8080"}, "--port", "--listen-http ADDRESS"},
      {{"serve", "--port=8080"}, "--port", "--listen-http ADDRESS"},
      {{"serve", "--listen-htpp", "127.0.0.1:1"}, "--listen-htpp", "--listen-http ADDRESS"},
      {{"serve", "--http-listen", "127.0.0.1:1"}, "--http-listen", "--listen-http ADDRESS"},
      {{"serve", "--snapshot", "x"}, "--snapshot", "--memory-snapshot PATH"},
      {{"serve", "--redis", "x"}, "--redis", "--store NAME"},
      {{"check", "a=b", "--port", "1"}, "--port", "--server URL"},
      {{"check", "a=b", "--jsn"}, "--jsn", "--json"},
      {{"check", "a=b", "--token", "x"}, "--token", "--token-file PATH"},
      {{"bench", "a=b", "--qps", "1"}, "--qps", "--rate N"},
      {{"rules", "validate", "--jsno"}, "--jsno", "--json"}};
  for (const auto& [words, typed, meant] : cases) {
    EXPECT_EQ(run(words), kExitBadInput) << typed;
    EXPECT_THAT(err_.str(), HasSubstr("unknown option " + typed + "; did you mean " + meant + "? (weir ")) << typed;
  }
  EXPECT_EQ(run({"check", "--tenant", "acme"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("unknown option --tenant; attributes are written name=value, as in tenant=acme"));
  EXPECT_EQ(run({"--nonsense"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("unknown option --nonsense; weir --help lists all options"));
}

TEST_F(ProgramTest, AValueWithoutItsFlagIsExplained) {
  EXPECT_EQ(run({"serve", "8080"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("unexpected argument 8080; did you mean --listen-http 127.0.0.1:8080?"));
  EXPECT_EQ(run({"serve", "rules.yaml"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("unexpected argument rules.yaml; did you mean --rules rules.yaml?"));
  EXPECT_EQ(run({"version", "now"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("unexpected argument now; weir version --help"));
  EXPECT_EQ(run({"check", "a=b", "--cost"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("weir check: --cost: a value is missing"));
  EXPECT_EQ(run({"check", "a=b", "--cost", "x"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("weir check: --cost: is 'x', expected a number from 0 to 1000000000000"));
}

TEST_F(ProgramTest, WithJsonAnErrorIsAnObject) {
  EXPECT_EQ(run({"check", "a=b", "--prot", "--json"}), kExitBadInput);
  EXPECT_THAT(out_.str(), StartsWith("{\"error\":{\"code\":\"invalid_argument\",\"message\":\"unknown option --prot\","
                                     "\"hint\":\""));
  EXPECT_EQ(run({"chek", "--json"}), kExitBadInput);
  EXPECT_THAT(out_.str(), HasSubstr("\"message\":\"'chek' is not a verb\",\"hint\":"));
  EXPECT_EQ(run({"check", "tenant", "--json"}), kExitBadInput);
  EXPECT_EQ(out_.str(),
            "{\"error\":{\"code\":\"invalid_argument\",\"message\":\"'tenant' is not an attribute, expected "
            "name=value, as in tenant=acme\"}}\n");
  for (const char* verb : {"check", "refund", "reset", "bench"}) {
    EXPECT_EQ(run({verb, "a=b", "--json", "--server", "http://127.0.0.1:1"}), kExitFailed) << verb;
    EXPECT_THAT(out_.str(), StartsWith("{\"error\":{\"code\":\"unavailable\",\"message\":\"")) << verb;
    EXPECT_THAT(out_.str(), HasSubstr("cannot reach http://127.0.0.1:1: Connection refused\",\"hint\":\"")) << verb;
    EXPECT_EQ(err_.str(), "") << verb;
  }
}

TEST_F(ProgramTest, VerbsOfTheAdminApiNameItsOptionWhenTheyCannotReachIt) {
  const std::vector<std::vector<std::string>> verbs = {{"status"},
                                                       {"why", "a=b"},
                                                       {"tail"},
                                                       {"audit"},
                                                       {"block", "list"},
                                                       {"key", "list"},
                                                       {"override", "list"},
                                                       {"tenant", "list"},
                                                       {"token", "list"},
                                                       {"rules", "explain", "a=b", "--server"}};
  for (std::vector<std::string> words : verbs) {
    words.insert(words.end(), {"--admin", "http://127.0.0.1:1"});
    EXPECT_EQ(run(words), kExitFailed) << words[0];
    EXPECT_THAT(err_.str(), HasSubstr("--admin or WEIR_ADMIN names")) << words[0];
    EXPECT_THAT(err_.str(), Not(HasSubstr("WEIR_SERVER"))) << words[0];
    words.push_back("--json");
    EXPECT_EQ(run(words), kExitFailed) << words[0];
    EXPECT_THAT(out_.str(), HasSubstr("\"hint\":\"`weir serve` starts a server; --admin or WEIR_ADMIN names"))
        << words[0];
  }
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
  EXPECT_EQ(run({"check", "a=b", "--server", "ftp://weir:443"}), kExitBadInput);
  EXPECT_EQ(run({"check", "a=b", "--server", "http://weir:80", "--ca", "x"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("--ca, --cert and --key need a server with https://"));
  EXPECT_EQ(run({"check", "a=b", "--server", "https://127.0.0.1:1", "--ca", rules_}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("--ca " + rules_ + ": "));
  EXPECT_EQ(run({"check", "a=b", "--token-file", rules_}), kExitBadInput) << "rules are not a token";
  EXPECT_THAT(err_.str(), Not(HasSubstr("version: 1")));
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

TEST_F(ProgramTest, ValidateSaysOnceWhichRulesDoNotChooseAPolicy) {
  std::ofstream(rules_) << "version: 1\nrules:\n  - {id: a, per: ip, limit: 1, window: 1s, on_store_failure: deny}\n"
                           "  - {id: b, per: ip, limit: 1, window: 1s}\n  - {id: c, per: ip, limit: 1, window: 1s}\n";
  EXPECT_EQ(run({"rules", "validate", rules_}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr(rules_ + ":4:5: rules[1].on_store_failure: is not set, nor for c: the default is "
                                             "allow, so requests pass without being counted"));
  EXPECT_THAT(out_.str(), HasSubstr("3 rules, 1 warning\n"));
}

TEST_F(ProgramTest, CheckShowsTheMessageOfTheRuleThatDenied) {
  std::ofstream(rules_) << "version: 1\nrules:\n  - {id: a, match: {action: export}, limit: 0, window: 1s, message: "
                           "Exports are switched off.}\n";
  EXPECT_EQ(run({"check", "action=export", "--local", rules_}), kExitDenied);
  EXPECT_THAT(out_.str(), HasSubstr("denied by a (limit_exceeded)\n  message: Exports are switched off.\n"));
}

TEST_F(ProgramTest, ExplainTellsWhichRulesApplyAndWhyNotTheOthers) {
  EXPECT_EQ(run({"rules", "explain", rules_, "tenant=acme", "action=search", "plan=free", "--cost", "2"}),
            kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("per-tenant  applies: 3 per 1h, from rule, cost 2, counted by tenant\n"));
  EXPECT_THAT(out_.str(), HasSubstr("search      applies: 60 per 1m, burst "));
  EXPECT_THAT(out_.str(), HasSubstr("from plan free"));
  EXPECT_THAT(out_.str(), HasSubstr("2 of 2 rules apply\n"));
  EXPECT_EQ(run({"rules", "explain", rules_, "tenant=acme", "action=buy"}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("search      does not apply: match: action"));
  EXPECT_EQ(run({"rules", "explain", rules_, "user=joe", "--json"}), kExitAllowed);
  EXPECT_THAT(out_.str(), StartsWith("{\"rules\":[{\"rule\":\"per-tenant\",\"applies\":false,\"why_not\":\""));
}

TEST_F(ProgramTest, ExplainShowsAConcurrencyRuleAsSlotsAndNotAsARate) {
  std::ofstream(rules_) << "version: 1\ndefaults: {on_store_failure: allow}\nrules:\n"
                           "  - {id: exports, per: [tenant], algorithm: concurrency, limit: 3, lease: 30s}\n";
  EXPECT_EQ(run({"rules", "explain", rules_, "tenant=acme"}), kExitAllowed);
  EXPECT_THAT(out_.str(), StartsWith("exports  applies: 3 at a time, lease 30s, from rule, cost 1"));
  EXPECT_EQ(run({"rules", "explain", rules_, "tenant=acme", "--json"}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr(R"("algorithm":"concurrency","limit":3,"lease_ms":30000,"cost":1)"));
}

TEST_F(ProgramTest, BenchMeasuresInProcess) {
  EXPECT_EQ(run({"bench", "--local", rules_, "tenant=t{}", "--keys", "10", "--duration", "0.05", "--json"}),
            kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("\"ns_per_check\":"));
  EXPECT_THAT(out_.str(), HasSubstr("\"allowed\":30,")) << "three for each of ten keys";
  for (const char* mix : {"random", "hot"}) {
    EXPECT_EQ(run({"bench", "--local", rules_, "tenant=t{}", "--keys", "10", "--duration", "50ms", "--mix", mix}),
              kExitAllowed);
    EXPECT_THAT(out_.str(), HasSubstr("     30 allowed, ")) << mix;
  }
  EXPECT_EQ(run({"bench", "--local", rules_, "--duration", "5x"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("--duration: is '5x', expected 10ms to 24h"));
  EXPECT_EQ(run({"bench", "--local", rules_, "--mix", "odd"}), kExitBadInput);
  EXPECT_EQ(run({"bench", "--local", rules_, "--rate", "5"}), kExitBadInput);
}

TEST_F(ProgramTest, ABenchmarkInWhichEveryCallFailedHasNoFigures) {
  EXPECT_EQ(run({"bench", "--server", "http://127.0.0.1:1", "--connections", "2", "a=b"}), kExitFailed);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), StartsWith("weir bench: all 20 calls failed: cannot reach http://127.0.0.1:1"));
}

TEST_F(ProgramTest, ProgressIsShownOnlyOnATerminal) {
  const std::vector<std::string> words = {"bench", "--local", rules_, "tenant=a", "--duration", "300ms"};
  run(words);
  EXPECT_EQ(err_.str(), "");
  live_ = true;
  run(words);
  EXPECT_THAT(err_.str(), HasSubstr(" of 0.3 s, "));
  EXPECT_TRUE(err_.str().ends_with("\r\x1b[K")) << "the line is cleared in the end";
}

TEST_F(ProgramTest, TheHelpOfServeIsShortAndTheFullOneIsGrouped) {
  EXPECT_EQ(run({"serve", "--help"}), kExitAllowed);
  const std::string brief = out_.str();
  EXPECT_THAT(brief, HasSubstr("\n  --listen-http ADDRESS         Address of the HTTP API"));
  EXPECT_THAT(brief, Not(HasSubstr("--redis-deadline TIME")));
  EXPECT_THAT(brief, HasSubstr("\n  Redis         --redis-deadline "));
  EXPECT_EQ(run({"serve", "--help-all"}), kExitAllowed);
  for (const char* group : {"Listeners", "TLS", "Store", "Rules", "Redis", "Time", "Limits", "Logging", "Identity"}) {
    EXPECT_THAT(out_.str(), HasSubstr("\n\n" + std::string(group) + ":\n  --")) << group;
    EXPECT_THAT(brief, HasSubstr("\n  " + std::string(group) + " ")) << group;
  }
  EXPECT_THAT(out_.str(), HasSubstr("\n  --redis-deadline TIME "));
  EXPECT_THAT(out_.str(), HasSubstr("Examples:\n"));
  for (const server::ConfigField& field : server::config_fields()) {
    EXPECT_THAT(brief, HasSubstr(server::flag_of(field)));
    EXPECT_THAT(out_.str(), HasSubstr("\n  " + server::flag_of(field) + " "));
  }
}

TEST_F(ProgramTest, EveryVerbHelpsWithExamples) {
  const std::vector<std::vector<std::string>> verbs = {{"serve"},
                                                       {"check"},
                                                       {"rules", "validate"},
                                                       {"rules", "explain"},
                                                       {"refund"},
                                                       {"reset"},
                                                       {"rules", "import"},
                                                       {"bench"},
                                                       {"version"},
                                                       {"completion"},
                                                       {"lease", "run"},
                                                       {"lease", "list"},
                                                       {"lease", "release"},
                                                       {"reserve", "take"},
                                                       {"reserve", "commit"},
                                                       {"reserve", "release"},
                                                       {"reserve", "extend"},
                                                       {"reserve", "list"}};
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

TEST_F(ProgramTest, ServeRefusesInvalidSettings) {
  EXPECT_EQ(run({"serve", "--loops", "many"}), kExitBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("weir serve: --loops: is 'many'"));
  EXPECT_EQ(run({"serve", "--store", "postgres://localhost"}), kExitBadInput);
  EXPECT_EQ(run({"serve", "--config", rules_ + ".none"}), kExitBadInput);
  EXPECT_EQ(run({"serve", "--print-config"}), kExitAllowed);
  EXPECT_THAT(out_.str(), HasSubstr("listen:\n"));
}

TEST_F(ProgramTest, CompletionCoversVerbsAndOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(run({"completion", shell}), kExitAllowed);
    for (const char* word :
         {"serve", "validate", "explain", "refund", "reset", "listen-http", "help-all", "rate", "ca"}) {
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
