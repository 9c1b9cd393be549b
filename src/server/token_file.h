// The tokens of an HTTP listener. Only their SHA-256 hashes are kept.
//
// TokenHashes is an immutable list. TokenFile reads one from a file (http.tokens_file) and reads it again when the file
// changes; an invalid file is logged and refused, and the last good tokens stay. A token file has one token on a line:
//
//   # hash of the token (`weir token hash`)                           name      roles
//   5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8  gateway   check
//   ef797c8118f02dfb649607dd5d3f8c7623048c9c063d532cc95c5ed7a898a64f  billing
//
// Name and roles are optional; a token without roles has all of them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/http/token_guard.h"
#include "observe/log.h"
#include "rules/read/file_watch.h"
#include "server/last_rejection.h"
#include "weir/result.h"

namespace weir::server {

// 64 hexadecimal digits.
std::string token_hash_text(std::string_view token);

class TokenHashes final : public http::Tokens {
 public:
  static constexpr std::size_t kMaxTokens = 1'000;
  static constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

  // `roles` are those that a line may name. The failure names file and line and repeats nothing of a line's first word,
  // which may be a token by mistake.
  static Result<TokenHashes> parse(std::string_view text, std::string_view file_name,
                                   std::span<const std::string_view> roles);
  // Tokens as they are, each with all roles.
  static TokenHashes of(std::span<const std::string> tokens);

  // Compares with every hash, whichever matches.
  http::TokenVerdict check(std::string_view token, std::string_view role) const override;
  // The name on its line, else the first digits of its hash; empty: it is none of these.
  std::string name_of(std::string_view token) const;
  std::size_t size() const { return entries_.size(); }

 private:
  using Hash = std::array<std::uint8_t, 32>;
  struct Entry {
    Hash hash{};
    std::string name;
    std::vector<std::string> roles;  // empty: all
  };

  static Hash hash_of(std::string_view token);
  const Entry* find(const Hash& given) const;
  static Result<Entry> parse_line(std::string_view line, std::span<const std::string_view> roles);

  std::vector<Entry> entries_;
};

// load() first; poll() from one thread; the rest from any. Borrows the log and `roles`.
class TokenFile final : public http::Tokens {
 public:
  TokenFile(std::filesystem::path file, std::span<const std::string_view> roles, observe::Log& log)
      : file_(std::move(file)), roles_(roles), log_(log), watch_(file_) {}

  // A failure here is final: there are no tokens to fall back to.
  Status load();
  // The result is logged in any case.
  Status reload() { return read_again(/*asked=*/true); }
  // Reloads if the file has changed.
  void poll();

  http::TokenVerdict check(std::string_view token, std::string_view role) const override;
  std::string name_of(std::string_view token) const { return current()->name_of(token); }
  // What is wrong with the file, if the last reload failed.
  std::string last_error() const;

 private:
  Status read_again(bool asked);
  Status read();
  std::shared_ptr<const TokenHashes> current() const;

  const std::filesystem::path file_;
  const std::span<const std::string_view> roles_;
  observe::Log& log_;
  rules::FileWatch watch_;  // of the thread that polls
  LastRejection last_rejection_;

  mutable std::mutex mutex_;
  std::shared_ptr<const TokenHashes> current_;  // guarded by mutex_
  std::string last_error_;                      // guarded by mutex_
};

}  // namespace weir::server
