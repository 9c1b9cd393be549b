#include "admin/token_access.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "base/ip_address.h"

namespace weir::admin {
namespace {

using control::Actor;
using control::Role;

constexpr std::string_view kConsoleField = "x-weir-console";
constexpr std::string_view kChallenge = "WWW-Authenticate: Bearer realm=\"weir\"\r\n";

std::string from_of(const transport::Peer& peer) { return peer.address.empty() ? "unix" : peer.address; }

bool only_reads(const http::HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

std::string_view field_text(const http::HttpRequest& request, std::string_view name) {
  const http::HttpField* const field = request.find(name);
  return field == nullptr ? std::string_view() : field->value;
}

// Empty if there is none.
std::string_view cookie_of(const http::HttpRequest& request) {
  for (const http::HttpField& field : request.fields) {
    if (!base::same_ignoring_case(field.name, "cookie")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::string_view each = base::trimmed(rest.substr(0, rest.find(';')));
      rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
      const std::size_t equals = each.find('=');
      if (equals != std::string_view::npos && each.substr(0, equals) == Sessions::kCookie)
        return each.substr(equals + 1);
    }
  }
  return {};
}

// "http://127.0.0.1:8082" has the same host and port as the field Host.
bool is_own_origin(std::string_view origin, std::string_view host) {
  const std::size_t slashes = origin.find("://");
  return slashes != std::string_view::npos && base::same_ignoring_case(origin.substr(slashes + 3), host);
}

// An address, "localhost", or a name without a dot: none of these can be given to this machine by an attacker's DNS.
bool is_private_name(std::string_view host) {
  if (host.starts_with('[')) return true;
  host = host.substr(0, host.find(':'));
  if (host.find('.') == std::string_view::npos || host.ends_with(".localhost")) return true;
  return base::parse_ip(host).has_value();
}

}  // namespace

// The tokens of the settings and those of the database.
class TokenAccess::AcceptedTokens final : public http::Tokens {
 public:
  struct Owner {
    std::string name;
    Role role = Role::reader;
    std::string token;  // its id; empty: of the settings
  };

  AcceptedTokens(const std::vector<std::string>& settings, std::shared_ptr<control::TokenTable> tokens,
                 std::shared_ptr<Clock> clock)
      : tokens_(std::move(tokens)), clock_(std::move(clock)) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      settings_.emplace(control::hash_of_token(settings[i]), "settings-" + std::to_string(i + 1));
    }
  }

  std::optional<Owner> owner_of(std::string_view token) const {
    if (const auto found = settings_.find(control::hash_of_token(token)); found != settings_.end()) {
      return Owner{found->second, Role::admin, {}};
    }
    const std::optional<control::Token> known = tokens_->find(token, clock_->wall());
    if (!known) return std::nullopt;
    return Owner{known->name, known->role, known->id};
  }

  http::TokenVerdict check(std::string_view token, std::string_view role) const override {
    const std::optional<Owner> owner = owner_of(token);
    if (!owner) return http::TokenVerdict::rejected;
    const Role needed = control::role_from_name(role).value_or(Role::reader);
    return owner->role >= needed ? http::TokenVerdict::accepted : http::TokenVerdict::lacks_role;
  }

 private:
  std::unordered_map<std::string, std::string> settings_;  // by hash; constant after construction
  const std::shared_ptr<control::TokenTable> tokens_;
  const std::shared_ptr<Clock> clock_;
};

TokenAccess::TokenAccess(Options options)
    : options_(std::move(options)),
      accepted_(std::make_shared<AcceptedTokens>(options_.settings_tokens, options_.tokens, options_.clock)),
      guard_("admin", accepted_, options_.logins) {}

TokenAccess::~TokenAccess() = default;

bool TokenAccess::is_open() const {
  return options_.may_be_open && options_.settings_tokens.empty() && options_.certificates.empty() &&
         options_.tokens->empty();
}

bool TokenAccess::has_credentials() const {
  return !options_.settings_tokens.empty() || !options_.certificates.empty() ||
         options_.tokens->has_active(options_.clock->wall());
}

bool TokenAccess::is_shown(const http::HttpRequest& request, const transport::Peer& peer) const {
  return guard_.is_shown(request) || !cookie_of(request).empty() || options_.certificates.contains(peer.certificate);
}

std::optional<Sessions::Session> TokenAccess::session_of(const http::HttpRequest& request) const {
  const std::string_view cookie = cookie_of(request);
  if (cookie.empty()) return std::nullopt;
  const TimePoint now = options_.clock->wall();
  std::optional<Sessions::Session> session = sessions_.find(cookie, now);
  if (session && !session->token.empty() && !options_.tokens->is_active(session->token, now)) return std::nullopt;
  return session;
}

std::optional<Actor> TokenAccess::actor_of(const http::HttpRequest& request, const transport::Peer& peer) const {
  if (const std::string_view token = guard_.token_of(request); !token.empty()) {
    const std::optional<AcceptedTokens::Owner> owner = accepted_->owner_of(token);
    if (owner) return Actor{owner->name, owner->role, from_of(peer)};
    if (!is_open()) return std::nullopt;
  }
  if (const auto session = session_of(request)) return Actor{session->actor, session->role, from_of(peer)};
  if (const auto found = options_.certificates.find(peer.certificate);
      found != options_.certificates.end() && !peer.certificate.empty()) {
    return Actor{"cert:" + peer.certificate, found->second, from_of(peer)};
  }
  if (is_open()) return Actor{"anonymous", Role::admin, from_of(peer)};
  return std::nullopt;
}

std::optional<std::string> TokenAccess::site_fault(const http::HttpRequest& request) const {
  const std::string_view host = field_text(request, "host");
  const std::string_view origin = field_text(request, "origin");
  if (is_open() && !is_private_name(host)) {
    return "without a token this listener is for this machine only: call it as 127.0.0.1 or localhost, or make a token";
  }
  if (only_reads(request)) return std::nullopt;
  if (!origin.empty() && !is_own_origin(origin, host)) return "the request comes from another site";
  if (!cookie_of(request).empty() && field_text(request, kConsoleField) != "1") {
    return "with a session, a change needs the header X-Weir-Console: 1";
  }
  return std::nullopt;
}

bool TokenAccess::admit(const http::HttpRequest& request, std::string_view role, http::ResponseWriter& writer) {
  if (guard_.is_shown(request) && !is_open()) return guard_.admit(request, role, writer);
  const std::optional<Actor> actor = actor_of(request, writer.peer());
  if (!actor) return guard_.admit(request, role, writer);  // says that a token is needed
  if (const std::optional<std::string> fault = site_fault(request)) {
    writer.send_problem(403, *fault, {}, "other_site");
    return false;
  }
  const Role needed = control::role_from_name(role).value_or(Role::reader);
  if (actor->may(needed)) return true;
  writer.send_problem(403,
                      "this needs the role " + std::string(role) + ", and " + actor->name + " has the role " +
                          std::string(control::role_name(actor->role)),
                      {}, http::kRoleMissing);
  return false;
}

std::optional<std::string> TokenAccess::log_in(std::string_view token, http::ResponseWriter& writer) {
  const std::string& address = writer.peer().address;
  using transport::LoginGuard;
  using transport::LoginKind;
  const LoginGuard::Turn turn = options_.logins->ask("admin", LoginKind::token, address);
  if (turn.refused) {
    writer.send_problem(429, "too many wrong tokens from this address; try again later",
                        "Retry-After: " + std::to_string(ceil_seconds(LoginGuard::kLongestWait)) + "\r\n",
                        http::kTooManyAttempts);
    return std::nullopt;
  }
  if (turn.wait > Duration(0)) writer.hold(turn.wait);
  const std::optional<AcceptedTokens::Owner> owner = accepted_->owner_of(token);
  if (!owner) {
    options_.logins->failed({.listener = "admin", .kind = LoginKind::token, .address = address});
    writer.send_problem(401, "the token is not accepted", kChallenge, http::kTokenInvalid);
    return std::nullopt;
  }
  options_.logins->succeeded(LoginKind::token, address);
  return sessions_.begin({.actor = owner->name, .role = owner->role, .token = owner->token}, options_.clock->wall());
}

void TokenAccess::log_out(const http::HttpRequest& request) { sessions_.end(cookie_of(request)); }

}  // namespace weir::admin
