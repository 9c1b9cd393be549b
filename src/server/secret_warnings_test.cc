#include "server/secret_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/log_file.h"

namespace weir::server {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class SecretWarnings : public testing::Test {
 protected:
  SecretWarnings() { fs::create_directories(folder_); }
  ~SecretWarnings() override { fs::remove_all(folder_); }

  fs::path file(const char* name, mode_t mode, const std::string& text = "a secret of more than sixteen characters\n") {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  // What is logged about this configuration.
  std::string told(const Config& config) {
    ManualClock clock;
    LogFile log(clock);
    warn_about_secrets(config, log.log());
    return log.text();
  }

  const fs::path folder_ = fs::temp_directory_path() / ("weir-secrets-" + std::to_string(::getpid()));
};

TEST_F(SecretWarnings, AFileThatOthersMayUseIsToldWithItsModeAndWhatToDo) {
  for (const mode_t mode : {0644, 0604, 0602, 0601, 0777}) {
    Config config;
    config.resp_password_file = file("password", mode);
    const std::string text = told(config);
    EXPECT_THAT(text, HasSubstr("secret_file_exposed")) << std::oct << mode;
    EXPECT_THAT(text, HasSubstr(config.resp_password_file.string()));
    EXPECT_THAT(text, HasSubstr("chmod 600"));
  }
  Config config;
  config.resp_password_file = file("password", 0644);
  EXPECT_THAT(told(config), HasSubstr("\"mode\":\"0644\""));
  for (const mode_t mode : {0600, 0400, 0640, 0660}) {
    config.resp_password_file = file("password", mode);
    EXPECT_EQ(told(config), "") << std::oct << mode;
  }
}

TEST_F(SecretWarnings, EveryKindOfSecretIsLookedAt) {
  const fs::path open = file("open", 0644);
  const std::vector<std::pair<const char*, fs::path Config::*>> settings = {
      {"resp.password_file", &Config::resp_password_file},
      {"hash_key_file", &Config::hash_key_file},
      {"tls.key", &Config::tls_key},
      {"redis.tls_key", &Config::redis_tls_key},
      {"identity.jwt_secret_file", &Config::identity_jwt_secret_file}};
  for (const auto& [name, member] : settings) {
    Config config;
    config.*member = open;
    EXPECT_THAT(told(config), HasSubstr("\"setting\":\"" + std::string(name) + "\""));
  }
  Config snapshot;
  file("buckets.key", 0644);
  snapshot.memory_snapshot = folder_ / "buckets";
  EXPECT_THAT(told(snapshot), HasSubstr("buckets.key"));
}

TEST_F(SecretWarnings, PublicKeysAreNoSecret) {
  Config config;
  config.tls_cert = file("cert", 0644);
  config.identity_jwt_pem_file = file("pem", 0644);
  config.identity_jwt_jwks_file = file("public", 0644, R"({"keys":[{"kty":"RSA"}]})");
  EXPECT_EQ(told(config), "");
  config.identity_jwt_jwks_file = file("private", 0644, R"({"keys":[{"kty":"oct"}]})");
  EXPECT_THAT(told(config), HasSubstr("identity.jwt_jwks_file"));
}

TEST_F(SecretWarnings, TheConfigurationFileIsASecretIfItHoldsOne) {
  const std::string yaml = file("weir.yaml", 0644).string();
  Config config;
  config.places = {{"admin.tokens", yaml + ":3:9"}, {"store", yaml + ":1:8"}};
  EXPECT_EQ(told(config), "") << "no token, and no password in the store";
  config.store = "redis://127.0.0.1:6379";
  EXPECT_EQ(told(config), "");
  config.store = "redis://user:password@127.0.0.1:6379";
  EXPECT_THAT(told(config), HasSubstr("\"setting\":\"store\""));
  config.admin_tokens = {"a token that is long enough"};
  EXPECT_THAT(told(config), HasSubstr("\"setting\":\"admin.tokens\""));
  config.places = {{"admin.tokens", "--admin-tokens"}, {"store", "WEIR_STORE"}};
  EXPECT_EQ(told(config), "");
}

TEST_F(SecretWarnings, ShortSecretsAreToldAndNothingOfThemIs) {
  Config config;
  config.admin_tokens = {"x9", std::string(16, 'a')};
  const std::string text = told(config);
  EXPECT_THAT(text, HasSubstr("secret_too_short"));
  EXPECT_THAT(text, HasSubstr("at least 16"));
  EXPECT_THAT(text, Not(HasSubstr("x9")));
  EXPECT_EQ(text.find("secret_too_short"), text.rfind("secret_too_short")) << "the longer one is fine";
  config.admin_tokens = {std::string(15, 'a')};
  EXPECT_THAT(told(config), HasSubstr("secret_too_short"));
  Config resp;
  resp.resp_password_file = file("password", 0600, "hunter2\n");
  EXPECT_THAT(told(resp), HasSubstr("\"setting\":\"resp.password_file\""));
  EXPECT_THAT(told(resp), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace weir::server
