#include "server/log_settings.h"

#include <gtest/gtest.h>

namespace weir::server {
namespace {

Result<observe::DecisionLogOptions> log_options_from(std::vector<std::pair<std::string, std::string>> flags) {
  ConfigSources sources;
  sources.flags = std::move(flags);
  const Result<Config> config = load_config(sources);
  if (!config.ok()) return config.failure();
  return decision_log_options(config.value(), keys::KeyRing{.current = HashKey{1}, .previous = {}});
}

TEST(LogSettings, HashByDefaultAndLogEveryLoopsDegradedDecisions) {
  const observe::DecisionLogOptions options = log_options_from({}).value();
  EXPECT_FALSE(options.plain);
  EXPECT_TRUE(options.sample.none());
  EXPECT_EQ(options.degraded_per_second, 5);
  EXPECT_EQ(options.region, "");
}

TEST(LogSettings, TakeTheRegionAndPlainSubjects) {
  const observe::DecisionLogOptions options =
      log_options_from({{"log.subjects", "plain"}, {"region.name", "eu"}}).value();
  EXPECT_TRUE(options.plain);
  EXPECT_EQ(options.region, "eu");
  const auto wrong = log_options_from({{"region.name", "eu west"}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.failure().message,
            "--region-name: region.name: is 'eu west', expected at most 64 letters, digits, '.', '_' and '-'");
}

TEST(LogSettings, WhatIdentityHashesIsASecret) {
  const auto options =
      log_options_from({{"identity.hashed", "phone"},
                        {"identity.apply", "forward-auth,http"},
                        {"identity.names", "api_key=client-key,token=bearer"},
                        {"identity.attributes", "key=header:x-api-key,session=cookie:sid,plan=jwt:token,user=jwt:sub"},
                        {"identity.jwt_header", "x-id-token"}});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  const observe::SecretNames& secrets = options.value().secrets;
  for (const char* name :
       {"api_key", "phone", "client_key", "Bearer", "key", "session", "x-id-token", "authorization"}) {
    EXPECT_TRUE(secrets.contains(name)) << name;
  }
  for (const char* name : {"tenant", "user", "plan", "ip", "action"}) EXPECT_FALSE(secrets.contains(name)) << name;
}

}  // namespace
}  // namespace weir::server
