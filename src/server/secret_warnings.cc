#include "server/secret_warnings.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/bounded_file.h"
#include "server/secrets.h"

namespace weir::server {
namespace {

constexpr mode_t kOfOthers = S_IRWXO;
constexpr mode_t kPermissions = 07777;
constexpr std::size_t kMaxJwks = std::size_t{1} << 20;

std::string octal(mode_t mode) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3) text += static_cast<char>('0' + (mode >> shift & 7));
  return text;
}

// Links are followed. A file that cannot be examined is reported by the code that reads it.
void warn_if_exposed(std::string_view setting, const std::filesystem::path& file, observe::Log& log) {
  struct stat info {};
  if (file.empty() || ::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  if ((info.st_mode & kOfOthers) == 0) return;
  log.warn("secret_file_exposed", "every user of this machine may read or change this secret; run: chmod 600 FILE",
           {{"setting", setting}, {"file", file.string()}, {"mode", octal(info.st_mode & kPermissions)}});
}

void warn_if_short(std::string_view setting, std::string_view secret, observe::Log& log) {
  if (secret.empty() || secret.size() >= kShortestSecret) return;
  log.warn("secret_too_short",
           "this secret can be guessed; use at least 16 random characters, such as from: openssl rand -hex 16",
           {{"setting", setting}});
}

// Public keys are no secret; a JWKS is one if it has a symmetric key.
bool has_symmetric_key(const std::filesystem::path& jwks) {
  if (jwks.empty()) return false;
  const Result<std::string> text = base::read_bounded_file(jwks, kMaxJwks);
  return text.ok() && text.value().find("\"oct\"") != std::string::npos;
}

// "weir.yaml:3:9" without line and column; nothing if a setting came from elsewhere.
std::string_view file_of(std::string_view place) {
  for (int part = 0; part < 2; ++part) {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == place.size()) return {};
    const std::string_view number = place.substr(colon + 1);
    if (number.find_first_not_of("0123456789") != std::string_view::npos) return {};
    place = place.substr(0, colon);
  }
  return place;
}

bool has_password(std::string_view store) { return store.find('@') != std::string_view::npos; }

void warn_about_configuration(const Config& config, observe::Log& log) {
  const std::string_view tokens = config.admin_tokens.empty() ? "" : file_of(place_of(config, "admin.tokens"));
  const std::string_view store = has_password(config.store) ? file_of(place_of(config, "store")) : "";
  const std::string_view database = has_password(config.database) ? file_of(place_of(config, "database")) : "";
  const std::string_view coordinator =
      has_password(config.region_coordinator) ? file_of(place_of(config, "region.coordinator")) : "";
  if (!tokens.empty()) return warn_if_exposed("admin.tokens", std::filesystem::path(tokens), log);
  if (!store.empty()) return warn_if_exposed("store", std::filesystem::path(store), log);
  if (!database.empty()) return warn_if_exposed("database", std::filesystem::path(database), log);
  if (!coordinator.empty()) warn_if_exposed("region.coordinator", std::filesystem::path(coordinator), log);
}

}  // namespace

void warn_about_identity_files(const Config& config, observe::Log& log) {
  warn_if_exposed("identity.jwt_secret_file", config.identity_jwt_secret_file, log);
  if (has_symmetric_key(config.identity_jwt_jwks_file)) {
    warn_if_exposed("identity.jwt_jwks_file", config.identity_jwt_jwks_file, log);
  }
}

void warn_about_secrets(const Config& config, observe::Log& log) {
  warn_about_identity_files(config, log);
  warn_if_exposed("resp.password_file", config.resp_password_file, log);
  warn_if_exposed("hash_key_file", config.hash_key_file, log);
  warn_if_exposed("tls.key", config.tls_key, log);
  warn_if_exposed("redis.tls_key", config.redis_tls_key, log);
  if (config.hash_key_file.empty() && !config.memory_snapshot.empty()) {
    warn_if_exposed("memory.snapshot", config.memory_snapshot.string() + ".key", log);
  }
  if (config.hash_key_file.empty() && config.memory_snapshot.empty() && config.database != kOff) {
    warn_if_exposed("data_dir", config.data_dir / kHashKeyName, log);
  }
  warn_about_configuration(config, log);
  for (const std::string& token : config.admin_tokens) warn_if_short("admin.tokens", token, log);
  if (const Result<std::string> password = read_resp_password(config); password.ok()) {
    warn_if_short("resp.password_file", password.value(), log);
  }
}

}  // namespace weir::server
