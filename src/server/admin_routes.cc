#include "server/admin_routes.h"

#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/secret_compare.h"

namespace weir::server {
namespace {

constexpr std::string_view kListener = "admin";
constexpr std::string_view kChallenge = "WWW-Authenticate: Bearer realm=\"weir\"\r\n";

// What the request shows as its token; nothing if it shows none.
std::optional<std::string_view> shown_token(const http::HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";
  const http::HttpField* field = request.find("authorization");
  if (field == nullptr || field->value.size() < kScheme.size()) return std::nullopt;
  if (!base::same_ignoring_case(field->value.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return field->value.substr(kScheme.size());
}

// Lets requests with one of the tokens through to `answer`. The answer to a token, right or wrong, waits for the turn
// of its sender; it is worked out before, and nobody sees it earlier.
class TokenGate {
 public:
  TokenGate(std::vector<std::string> tokens, std::shared_ptr<transport::LoginGuard> logins)
      : tokens_(std::move(tokens)), logins_(std::move(logins)) {}

  // Some token is needed.
  bool is_closed() const { return !tokens_.empty(); }

  template <typename Answer>
  void pass(const http::HttpRequest& request, http::ResponseWriter& writer, Answer answer) const {
    if (tokens_.empty()) return writer.send(answer());
    const std::string& address = writer.peer().address;
    const std::optional<std::string_view> token = shown_token(request);
    if (!token) {
      if (logins_ != nullptr) {
        logins_->missing({.listener = kListener, .kind = LoginKind::no_token, .address = address});
      }
      return writer.send_problem(401, "this needs a token: Authorization: Bearer …", kChallenge);
    }
    const LoginGuard::Turn turn =
        logins_ != nullptr ? logins_->ask(kListener, LoginKind::token, address) : LoginGuard::Turn{};
    if (turn.refused) {
      return writer.send_problem(429, "too many wrong tokens from this address; try again later",
                                 "Retry-After: " + std::to_string(ceil_seconds(LoginGuard::kLongestWait)) + "\r\n");
    }
    if (is_right(*token)) {
      if (logins_ != nullptr) logins_->succeeded(LoginKind::token, address);
      return send_in(turn.wait, writer, answer());
    }
    if (logins_ != nullptr) logins_->failed({.listener = kListener, .kind = LoginKind::token, .address = address});
    std::string body;
    http::append_problem(body, 401, "the token is not accepted");
    send_in(turn.wait, writer, {.status = 401, .content_type = http::kProblemJson, .fields = kChallenge, .body = body});
  }

 private:
  using LoginGuard = transport::LoginGuard;
  using LoginKind = transport::LoginKind;

  bool is_right(std::string_view given) const {
    bool right = false;
    for (const std::string& token : tokens_) right |= base::same_secret(given, token);
    return right;
  }
  static void send_in(Duration wait, http::ResponseWriter& writer, const http::Response& response) {
    if (wait == Duration(0)) return writer.send(response);
    writer.defer().send_after(wait, response);
  }

  const std::vector<std::string> tokens_;
  const std::shared_ptr<transport::LoginGuard> logins_;
};

}  // namespace

void add_admin_routes(http::Router& router, AdminOptions options) {
  const observe::Metrics& metrics = options.metrics;
  const auto gate = std::make_shared<TokenGate>(std::move(options.tokens), std::move(options.logins));
  router.add({.method = "GET",
              .path = "/metrics",
              .body_bytes = 0,
              .handler = [&metrics, gate](const http::HttpRequest& request, http::ResponseWriter& writer) {
                std::string text;
                gate->pass(request, writer, [&] {
                  text = metrics.text();
                  return http::Response{
                      .status = 200, .content_type = observe::Metrics::kContentType, .fields = {}, .body = text};
                });
              }});
  http::add_liveness_route(router);
  router.add({.method = "GET",
              .path = "/readyz",
              .body_bytes = 0,
              .handler = [gate, health = std::move(options.health)](const http::HttpRequest& request,
                                                                    http::ResponseWriter& writer) {
                http::HealthReport report;
                const auto answer = [&](bool with_details) {
                  report = health(with_details);
                  return http::health_response(report);
                };
                if (gate->is_closed() && !shown_token(request)) return writer.send(answer(false));
                gate->pass(request, writer, [&] { return answer(true); });
              }});
}

}  // namespace weir::server
