#include "server/token_file.h"

#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/bounded_file.h"
#include "rules/compile/fault_list.h"

namespace weir::server {
namespace {

constexpr std::size_t kMaxName = 128;

Failure invalid_tokens(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// The next word of `rest`, which goes on behind it; empty at the end.
std::string_view take_word(std::string_view& rest) {
  rest = base::trimmed(rest);
  const std::string_view word = rest.substr(0, std::min(rest.find_first_of(" \t"), rest.size()));
  rest.remove_prefix(word.size());
  return word;
}

}  // namespace

TokenHashes::Hash TokenHashes::hash_of(std::string_view token) {
  Hash hash{};
  static_assert(std::tuple_size_v<Hash> == SHA256_DIGEST_LENGTH);
  ::SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

std::string token_hash_text(std::string_view token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  ::SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  std::string text;
  for (const unsigned char byte : hash) base::append_hex(text, byte);
  return text;
}

Result<TokenHashes::Entry> TokenHashes::parse_line(std::string_view line, std::span<const std::string_view> roles) {
  Entry entry;
  const std::string_view digits = take_word(line);
  if (digits.size() != 2 * entry.hash.size()) {
    return invalid_tokens(
        "begins with " + std::to_string(digits.size()) +
        " characters, expected the 64 hexadecimal digits of a token's SHA-256: `weir token hash` makes them");
  }
  for (std::size_t i = 0; i < entry.hash.size(); ++i) {
    const int high = base::hex_digit(digits[2 * i]);
    const int low = base::hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return invalid_tokens("has a character that is not a hexadecimal digit in its hash");
    entry.hash[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  entry.name = take_word(line);
  if (entry.name.size() > kMaxName) return invalid_tokens("has a name of more than 128 bytes");
  std::string_view listed = take_word(line);
  while (!listed.empty()) {
    const std::string_view role = listed.substr(0, std::min(listed.find(','), listed.size()));
    if (std::find(roles.begin(), roles.end(), role) == roles.end()) {
      return invalid_tokens("has the role " + rules::in_quotes(role) + rules::suggestion(role, roles) + ", expected " +
                            rules::joined_choices(roles));
    }
    entry.roles.emplace_back(role);
    listed.remove_prefix(std::min(role.size() + 1, listed.size()));
  }
  if (!base::trimmed(line).empty())
    return invalid_tokens("has more than a hash, a name and roles such as check,refund");
  return entry;
}

Result<TokenHashes> TokenHashes::parse(std::string_view text, std::string_view file_name,
                                       std::span<const std::string_view> roles) {
  TokenHashes hashes;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = base::trimmed(line);
    if (line.empty() || line.starts_with('#')) continue;
    Result<Entry> entry = parse_line(line, roles);
    const std::string place = std::string(file_name) + ":" + std::to_string(number) + ": ";
    if (!entry.ok()) return invalid_tokens(place + entry.failure().message);
    if (hashes.entries_.size() == kMaxTokens) return invalid_tokens(place + "has more than 1000 tokens");
    static_assert(kMaxTokens == 1'000);
    hashes.entries_.push_back(std::move(entry).value());
  }
  return hashes;
}

TokenHashes TokenHashes::of(std::span<const std::string> tokens) {
  TokenHashes hashes;
  for (const std::string& token : tokens) hashes.entries_.push_back({.hash = hash_of(token), .name = {}, .roles = {}});
  return hashes;
}

const TokenHashes::Entry* TokenHashes::find(const Hash& given) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    std::uint8_t difference = 0;
    for (std::size_t i = 0; i < given.size(); ++i) difference |= static_cast<std::uint8_t>(given[i] ^ entry.hash[i]);
    found = difference == 0 ? &entry : found;
  }
  return found;
}

http::TokenVerdict TokenHashes::check(std::string_view token, std::string_view role) const {
  const Entry* found = find(hash_of(token));
  if (found == nullptr) return http::TokenVerdict::rejected;
  const std::vector<std::string>& roles = found->roles;
  const bool has_role = role.empty() || roles.empty() || std::find(roles.begin(), roles.end(), role) != roles.end();
  return has_role ? http::TokenVerdict::accepted : http::TokenVerdict::lacks_role;
}

std::string TokenHashes::name_of(std::string_view token) const {
  constexpr std::size_t kShownDigits = 12;
  const Entry* found = find(hash_of(token));
  if (found == nullptr) return {};
  return found->name.empty() ? "token-" + token_hash_text(token).substr(0, kShownDigits) : found->name;
}

Status TokenFile::load() {
  Status status = read();
  if (!status.ok()) return Failure{status.failure().code, "http.tokens_file: " + status.failure().message};
  return status;
}

void TokenFile::poll() {
  // A failure is logged; the next change is the next attempt.
  if (watch_.changed()) static_cast<void>(read_again(/*asked=*/false));
}

Status TokenFile::read_again(bool asked) {
  // Before the file is read: if it changes in between, the watch finds other contents and logs them.
  const std::uint64_t contents = hash_of_contents(std::span(&file_, 1));
  Status status = read();
  if (status.ok()) {
    last_rejection_.forget();
  } else if (last_rejection_.is_news(status.failure().message, contents) || asked) {
    log_.error("tokens_rejected", "invalid token file; the last good tokens stay in use",
               {{"file", file_.string()}, {"error", status.failure().message}});
  }
  return status;
}

Status TokenFile::read() {
  const Result<std::string> text = base::read_bounded_file(file_, TokenHashes::kMaxFileBytes);
  Result<TokenHashes> parsed =
      text.ok() ? TokenHashes::parse(text.value(), file_.string(), roles_) : Result<TokenHashes>(text.failure());
  {
    const std::lock_guard lock(mutex_);
    last_error_ = parsed.ok() ? "" : parsed.failure().message;
    if (!parsed.ok()) return parsed.failure();
    current_ = std::make_shared<const TokenHashes>(std::move(parsed).value());
  }
  const std::size_t count = current()->size();
  log_.info("tokens_loaded", "tokens loaded", {{"file", file_.string()}, {"tokens", count}});
  if (count == 0) {
    log_.warn("tokens_none", "the token file has no token: every request that needs one is refused",
              {{"file", file_.string()}});
  }
  return success();
}

std::shared_ptr<const TokenHashes> TokenFile::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

http::TokenVerdict TokenFile::check(std::string_view token, std::string_view role) const {
  return current()->check(token, role);
}

std::string TokenFile::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace weir::server
