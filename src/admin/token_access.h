// TokenAccess: access by bearer token, by session cookie, by client certificate, or, on loopback as long as there is no
// token at all, by anyone.
//
// A token is checked by http::TokenGuard, which slows down guessing. A browser sends a session's cookie also for other
// sites, so what changes something needs the header X-Weir-Console too, which no other site can send, and an Origin, if
// there is one, that is the listener's own. An open listener refuses requests that a browser sends for another site, or
// under a name of the public DNS, which may have been pointed at this machine.
//
// Thread-safe. Borrows nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/access.h"
#include "admin/sessions.h"
#include "control/tokens.h"
#include "frontends/http/token_guard.h"
#include "frontends/transport/login_guard.h"
#include "weir/time.h"

namespace weir::admin {

class TokenAccess final : public Access {
 public:
  struct Options {
    std::vector<std::string> settings_tokens{};           // of the role admin
    std::map<std::string, control::Role> certificates{};  // by common name
    bool may_be_open = false;                             // the listener is on loopback
    std::shared_ptr<control::TokenTable> tokens{};        // of the database; never null
    std::shared_ptr<transport::LoginGuard> logins{};
    std::shared_ptr<Clock> clock{};
  };

  explicit TokenAccess(Options options);
  ~TokenAccess() override;

  bool admit(const http::HttpRequest& request, std::string_view role, http::ResponseWriter& writer) override;
  std::optional<control::Actor> actor_of(const http::HttpRequest& request, const transport::Peer& peer) const override;

  // No token is needed, because there is none.
  bool is_open() const;
  // Something can be shown that is accepted.
  bool has_credentials() const;
  // Whether the request claims to be someone's.
  bool is_shown(const http::HttpRequest& request, const transport::Peer& peer) const;

  // The session of a request; nothing if it has none.
  std::optional<Sessions::Session> session_of(const http::HttpRequest& request) const;
  // A session for the owner of a token, checked as admit() does; nothing: it has answered the request.
  std::optional<std::string> log_in(std::string_view token, http::ResponseWriter& writer);
  void log_out(const http::HttpRequest& request);

 private:
  class AcceptedTokens;

  // Nothing: may pass. What else is wrong with a request without a token.
  std::optional<std::string> site_fault(const http::HttpRequest& request) const;

  const Options options_;
  const std::shared_ptr<AcceptedTokens> accepted_;
  http::TokenGuard guard_;
  Sessions sessions_;
};

}  // namespace weir::admin
