#include "server/secrets.h"

#include "base/bounded_file.h"
#include "keys/key_encoder.h"
#include "server/data_folder.h"
#include "server/hash_key.h"
#include "server/redis_settings.h"
#include "stores/redis/shared_hash_key.h"

namespace weir::server {
namespace {

constexpr std::size_t kMaxPasswordFile = 4096;
// How long a start waits for the hash key from Redis.
constexpr Duration kHashKeyPatience = std::chrono::seconds(3);

}  // namespace

Result<keys::KeyRing> choose_keys(const Config& config) {
  if (!config.hash_key_file.empty()) return load_or_make_key_ring(config.hash_key_file);
  if (uses_redis(config)) {
    const Result<redis::RedisOptions> options = redis_options(config);
    if (!options.ok()) return options.failure();
    const Result<HashKey> agreed = redis::agree_on_hash_key(options.value(), keys::random_hash_key(), kHashKeyPatience,
                                                            "or set hash_key_file so that Weir can start without it");
    if (!agreed.ok()) return agreed.failure();
    return keys::KeyRing{.current = agreed.value(), .previous = {}};
  }
  // Without the key its buckets were hashed with, a snapshot would be worthless.
  if (!config.memory_snapshot.empty()) return load_or_make_key_ring(config.memory_snapshot.string() + ".key");
  // What the database has of reservations and buckets is found again only with the same key.
  if (config.database != kOff && !config.data_dir.empty() && DataFolder::make(config.data_dir).ok()) {
    Result<keys::KeyRing> kept = load_or_make_key_ring(config.data_dir / kHashKeyName);
    // A folder that cannot be written is reported with the database.
    if (kept.ok() || kept.failure().code != Code::unavailable) return kept;
  }
  return keys::KeyRing{.current = keys::random_hash_key(), .previous = {}};
}

Result<std::string> read_resp_password(const Config& config) {
  const std::filesystem::path& file = config.resp_password_file;
  if (file.empty()) return std::string();
  Result<std::string> text = base::read_bounded_file(file, kMaxPasswordFile);
  if (!text.ok()) return Failure{text.failure().code, "resp.password_file: " + text.failure().message};
  std::string password = text.value().substr(0, text.value().find_first_of("\r\n"));
  if (password.empty()) return Failure{Code::invalid_argument, "resp.password_file: " + file.string() + " is empty"};
  return password;
}

}  // namespace weir::server
