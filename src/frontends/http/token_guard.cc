#include "frontends/http/token_guard.h"

#include "base/ascii.h"

namespace weir::http {
namespace {

using transport::LoginGuard;
using transport::LoginKind;

constexpr std::string_view kOwnField = "x-weir-token";
constexpr std::string_view kChallenge = "WWW-Authenticate: Bearer realm=\"weir\"\r\n";
constexpr std::string_view kInvalid = "WWW-Authenticate: Bearer realm=\"weir\", error=\"invalid_token\"\r\n";
constexpr std::string_view kLacksRole = "WWW-Authenticate: Bearer realm=\"weir\", error=\"insufficient_scope\"\r\n";

}  // namespace

bool TokenGuard::admit(const HttpRequest& request, std::string_view role, ResponseWriter& writer) {
  const std::string& address = writer.peer().address;
  const Shown given = shown(request);
  if (given.token.empty()) {
    refuse_missing(given, address, writer);
    return false;
  }
  const LoginGuard::Turn turn =
      logins_ != nullptr ? logins_->ask(listener_, LoginKind::token, address) : LoginGuard::Turn{};
  if (turn.refused) {
    writer.send_problem(429, "too many wrong tokens from this address; try again later",
                        "Retry-After: " + std::to_string(ceil_seconds(LoginGuard::kLongestWait)) + "\r\n",
                        kTooManyAttempts);
    return false;
  }
  if (turn.wait > Duration(0)) writer.hold(turn.wait);
  const TokenVerdict verdict = tokens_->check(given.token, role);
  if (verdict == TokenVerdict::rejected) {
    if (logins_ != nullptr) logins_->failed({.listener = listener_, .kind = LoginKind::token, .address = address});
    writer.send_problem(401, "the token is not accepted", kInvalid, kTokenInvalid);
    return false;
  }
  if (logins_ != nullptr) logins_->succeeded(LoginKind::token, address);
  if (verdict == TokenVerdict::accepted) return true;
  writer.send_problem(403, "the token is accepted, but does not have the role " + std::string(role), kLacksRole,
                      kRoleMissing);
  return false;
}

bool TokenGuard::is_shown(const HttpRequest& request) const { return !shown(request).token.empty(); }

TokenGuard::Shown TokenGuard::shown(const HttpRequest& request) const {
  constexpr std::string_view kScheme = "bearer ";
  if (const HttpField* own = request.find(kOwnField)) return {base::trimmed(own->value)};
  const HttpField* field = from_ == From::both ? request.find("authorization") : nullptr;
  if (field == nullptr) return {};
  if (!base::same_ignoring_case(field->value.substr(0, kScheme.size()), kScheme)) {
    return {.token = {}, .other_scheme = !base::same_ignoring_case(field->value, "bearer")};
  }
  return {base::trimmed(field->value.substr(kScheme.size()))};
}

void TokenGuard::refuse_missing(const Shown& given, const std::string& address, ResponseWriter& writer) const {
  if (logins_ != nullptr) {
    logins_->missing({.listener = listener_, .kind = LoginKind::no_token, .address = address});
  }
  if (from_ == From::own_field) {
    return writer.send_problem(401, "a token is needed: send X-Weir-Token: TOKEN", kChallenge, kTokenMissing);
  }
  writer.send_problem(401,
                      given.other_scheme ? "Authorization has another scheme; a token is needed: send Authorization: "
                                           "Bearer TOKEN"
                                         : "a token is needed: send Authorization: Bearer TOKEN",
                      kChallenge, kTokenMissing);
}

}  // namespace weir::http
