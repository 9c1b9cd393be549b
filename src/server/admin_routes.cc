#include "server/admin_routes.h"

#include <cstdint>
#include <utility>

namespace weir::server {
namespace {

// Takes the same time wherever the difference is.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<std::uint8_t>(a[i] ^ b[i]);
  return difference == 0;
}

bool is_admitted(const http::HttpRequest& request, const std::vector<std::string>& tokens) {
  if (tokens.empty()) return true;
  constexpr std::string_view kScheme = "bearer ";
  const http::HttpField* field = request.find("authorization");
  if (field == nullptr || field->value.size() < kScheme.size()) return false;
  if (!http::equal_ignoring_case(field->value.substr(0, kScheme.size()), kScheme)) return false;
  const std::string_view given = field->value.substr(kScheme.size());
  bool admitted = false;
  for (const std::string& token : tokens) admitted |= same_secret(given, token);
  return admitted;
}

}  // namespace

std::shared_ptr<http::Router> make_admin_router(AdminOptions options) {
  auto router = std::make_shared<http::Router>();
  const observe::Metrics& metrics = options.metrics;
  router->add({.method = "GET",
               .path = "/metrics",
               .body_bytes = 0,
               .handler = [&metrics, tokens = std::move(options.tokens)](const http::HttpRequest& request,
                                                                         http::ResponseWriter& writer) {
                 if (!is_admitted(request, tokens)) {
                   writer.send_problem(401, "this needs a token: Authorization: Bearer …",
                                       "WWW-Authenticate: Bearer realm=\"weir\"\r\n");
                   return;
                 }
                 const std::string text = metrics.text();
                 writer.send(
                     {.status = 200, .content_type = observe::Metrics::kContentType, .fields = {}, .body = text});
               }});
  http::add_health_routes(*router, std::move(options.health));
  return router;
}

}  // namespace weir::server
