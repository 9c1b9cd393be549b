// TokenGuard: lets requests through that carry an accepted token, `Authorization: Bearer TOKEN` or `X-Weir-Token:
// TOKEN`.
//
// Without a token it answers 401 and says that one is needed; with a wrong one 401 and that it is not accepted; with
// one that lacks the route's role 403. Wrong tokens slow down further attempts from their address
// (transport/login_guard.h): the answer to a token, right or wrong, then waits for its turn, and 429 is the answer when
// too many wait.
//
// Thread-safe if the tokens are. Borrows nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/http/router.h"
#include "frontends/transport/login_guard.h"

namespace weir::http {

// The `code` of problems about tokens.
inline constexpr std::string_view kTokenMissing = "token_missing";
inline constexpr std::string_view kTokenInvalid = "token_invalid";
inline constexpr std::string_view kRoleMissing = "role_missing";
inline constexpr std::string_view kTooManyAttempts = "too_many_attempts";

enum class TokenVerdict : std::uint8_t { rejected, lacks_role, accepted };

// Which tokens there are.
class Tokens {
 public:
  virtual ~Tokens() = default;
  // An empty role: any token will do. Takes the same time for every token of the same length.
  virtual TokenVerdict check(std::string_view token, std::string_view role) const = 0;
};

class TokenGuard final : public Guard {
 public:
  // Where a token may be. Gateways send the client's own Authorization along with their question, so of them only the
  // other field counts.
  enum class From : std::uint8_t { both, own_field };

  // `logins` may be null: then a wrong token has no consequences.
  TokenGuard(std::string listener, std::shared_ptr<const Tokens> tokens, std::shared_ptr<transport::LoginGuard> logins,
             From from = From::both)
      : listener_(std::move(listener)), tokens_(std::move(tokens)), logins_(std::move(logins)), from_(from) {}

  bool admit(const HttpRequest& request, std::string_view role, ResponseWriter& writer) override;

  // Whether the request has something that looks like a token.
  bool is_shown(const HttpRequest& request) const;
  // The token itself; empty if there is none.
  std::string_view token_of(const HttpRequest& request) const { return shown(request).token; }

 private:
  struct Shown {
    std::string_view token;
    bool other_scheme = false;  // Authorization is there, and is not Bearer
  };

  Shown shown(const HttpRequest& request) const;
  void refuse_missing(const Shown& shown, const std::string& address, ResponseWriter& writer) const;

  const std::string listener_;
  const std::shared_ptr<const Tokens> tokens_;
  const std::shared_ptr<transport::LoginGuard> logins_;
  const From from_;
};

}  // namespace weir::http
