#include "control/tokens.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "base/ascii.h"
#include "base/base64url.h"

namespace weir::control {
namespace {

using database::Row;
using database::Rows;
using database::Statement;
using database::Value;

const Statement kCountTokens{"SELECT count(*) FROM admin_token"};
const Statement kFindTokenName{"SELECT id FROM admin_token WHERE name = $1 AND revoked_at IS NULL"};
const Statement kAddToken{
    "INSERT INTO admin_token (id, name, role, hash, created_at, expires_at, actor) VALUES ($1, $2, $3, $4, $5, $6, "
    "$7)"};
const Statement kReadTokens{
    "SELECT id, name, role, hash, created_at, expires_at, revoked_at, last_used_at, actor FROM admin_token "
    "ORDER BY created_at DESC, id"};
const Statement kFindToken{
    "SELECT id, name, role, hash, created_at, expires_at, revoked_at, last_used_at, actor FROM admin_token "
    "WHERE id = $1 FOR UPDATE"};
const Statement kRevokeToken{"UPDATE admin_token SET revoked_at = $2 WHERE id = $1"};
const Statement kTouchToken{
    "UPDATE admin_token SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)"};

std::string random_token_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  const int made = ::RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count));
  assert(made == 1);  // the system has no randomness: no token may be made
  static_cast<void>(made);
  return bytes;
}

std::optional<TimePoint> token_time_of(const Value& value) {
  if (database::is_null(value)) return std::nullopt;
  return from_micros(database::number(value));
}

Value token_value_of(const std::optional<TimePoint>& time) {
  if (!time) return std::monostate{};
  return micros(*time);
}

Token token_of(const Row& row) {
  return {.id = database::text(row[0]),
          .name = database::text(row[1]),
          .role = role_from_name(database::text(row[2])).value_or(Role::reader),
          .hash = database::text(row[3]),
          .created = from_micros(database::number(row[4])),
          .expires = token_time_of(row[5]),
          .revoked = token_time_of(row[6]),
          .last_used = token_time_of(row[7]),
          .actor = database::text(row[8])};
}

Status without_rows(const Result<Rows>& rows) {
  if (!rows.ok()) return rows.failure();
  return success();
}

// One token a line, its fields between tabs: id, name, role, hash, when it expires, when it was revoked (0: not). Names
// have neither tabs nor line ends.
std::string token_line_of(const Token& token) {
  const auto number = [](const std::optional<TimePoint>& time) { return std::to_string(time ? micros(*time) : 0); };
  return token.id + "\t" + token.name + "\t" + std::string(role_name(token.role)) + "\t" + token.hash + "\t" +
         number(token.expires) + "\t" + number(token.revoked) + "\n";
}

std::optional<TimePoint> token_time_of(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (value == 0) return std::nullopt;
  return from_micros(value);
}

Result<Token> token_of_line(std::string_view line) {
  std::array<std::string_view, 6> fields;
  for (std::string_view& field : fields) {
    field = line.substr(0, line.find('\t'));
    line.remove_prefix(std::min(field.size() + 1, line.size()));
  }
  const std::optional<Role> role = role_from_name(fields[2]);
  if (!role || fields[3].size() != 2 * SHA256_DIGEST_LENGTH || !line.empty()) {
    return Failure{Code::data_loss, "a line is not a token"};
  }
  return Token{.id = std::string(fields[0]),
               .name = std::string(fields[1]),
               .role = *role,
               .hash = std::string(fields[3]),
               .created = {},
               .expires = token_time_of(fields[4]),
               .revoked = token_time_of(fields[5]),
               .last_used = {},
               .actor = {}};
}

}  // namespace

std::string make_token_text() { return "weir_" + base::encode_base64url(random_token_bytes(32)); }

std::string make_id(std::string_view prefix) {
  std::string id(prefix);
  id += '_';
  constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  for (const char byte : random_token_bytes(12)) id += kAlphabet[static_cast<unsigned char>(byte) % kAlphabet.size()];
  return id;
}

std::string hash_of_token(std::string_view token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  ::SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  std::string text;
  for (const unsigned char byte : hash) base::append_hex(text, byte);
  return text;
}

std::optional<std::string> token_name_fault(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:";
  if (!name.empty() && name.size() <= kMaxTokenName && name.find_first_not_of(kAllowed) == std::string_view::npos) {
    return std::nullopt;
  }
  return "expected 1 to 64 letters, digits and . _ - @ :";
}

Status add_token(database::Session& session, const Token& token) {
  const Result<Rows> count = session.run(kCountTokens);
  if (!count.ok()) return count.failure();
  if (database::number(count.value().front().front()) >= kMaxTokens) {
    return Failure{Code::resource_exhausted, "there are " + std::to_string(kMaxTokens) + " tokens already"};
  }
  const Result<Rows> same = session.run(kFindTokenName, token.name);
  if (!same.ok()) return same.failure();
  if (!same.value().empty()) {
    return Failure{Code::already_exists, "the name '" + token.name + "' is taken by the token " +
                                             database::text(same.value().front().front()) +
                                             "; revoke that one first, or choose another name"};
  }
  return without_rows(session.run(kAddToken, token.id, token.name, std::string(role_name(token.role)), token.hash,
                                  micros(token.created), token_value_of(token.expires), token.actor));
}

Result<std::vector<Token>> read_tokens(database::Session& session) {
  const Result<Rows> rows = session.run(kReadTokens);
  if (!rows.ok()) return rows.failure();
  std::vector<Token> tokens;
  for (const Row& row : rows.value()) tokens.push_back(token_of(row));
  return tokens;
}

Result<std::optional<Token>> find_token(database::Session& session, const std::string& id) {
  const Result<Rows> rows = session.run(kFindToken, id);
  if (!rows.ok()) return rows.failure();
  if (rows.value().empty()) return std::optional<Token>();
  return std::optional<Token>(token_of(rows.value().front()));
}

Status revoke_token(database::Session& session, const std::string& id, TimePoint now) {
  return without_rows(session.run(kRevokeToken, id, micros(now)));
}

Status set_last_used(database::Session& session, const std::string& id, TimePoint used) {
  return without_rows(session.run(kTouchToken, id, micros(used)));
}

Result<std::string> TokenTable::read(database::Session& session) {
  const Result<std::vector<Token>> tokens = read_tokens(session);
  if (!tokens.ok()) return tokens.failure();
  std::string text;
  for (const Token& token : tokens.value()) text += token_line_of(token);
  return text;
}

Status TokenTable::apply(std::string_view text) {
  auto fresh = std::make_shared<Snapshot>();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    Result<Token> token = token_of_line(line);
    if (!token.ok()) return token.failure();
    fresh->tokens.push_back(std::move(token).value());
  }
  for (const Token& token : fresh->tokens) {
    fresh->by_hash[token.hash] = &token;
    fresh->by_id[token.id] = &token;
  }
  const std::lock_guard lock(mutex_);
  snapshot_ = std::move(fresh);
  return success();
}

std::shared_ptr<const TokenTable::Snapshot> TokenTable::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

// The hash is looked up, not compared: how long that takes says nothing of the token.
std::optional<Token> TokenTable::find(std::string_view token, TimePoint now) const {
  const std::shared_ptr<const Snapshot> known = snapshot();
  if (known->tokens.empty()) return std::nullopt;
  const auto found = known->by_hash.find(hash_of_token(token));
  if (found == known->by_hash.end() || !found->second->is_active(now)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  used_[found->second->id] = now;
  return *found->second;
}

bool TokenTable::is_active(const std::string& id, TimePoint now) const {
  const std::shared_ptr<const Snapshot> known = snapshot();
  const auto found = known->by_id.find(id);
  return found != known->by_id.end() && found->second->is_active(now);
}

bool TokenTable::empty() const { return snapshot()->tokens.empty(); }

bool TokenTable::has_active(TimePoint now) const {
  const std::shared_ptr<const Snapshot> known = snapshot();
  return std::any_of(known->tokens.begin(), known->tokens.end(),
                     [&](const Token& token) { return token.is_active(now); });
}

bool TokenTable::has_expired(TimePoint after, TimePoint until) const {
  const std::shared_ptr<const Snapshot> known = snapshot();
  return std::any_of(known->tokens.begin(), known->tokens.end(), [&](const Token& token) {
    return !token.revoked && token.expires && *token.expires > after && *token.expires <= until;
  });
}

std::map<std::string, TimePoint> TokenTable::take_used() {
  const std::lock_guard lock(mutex_);
  return std::exchange(used_, {});
}

}  // namespace weir::control
