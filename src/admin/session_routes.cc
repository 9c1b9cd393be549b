#include "admin/session_routes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "admin/json_writer.h"

namespace weir::admin {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

std::string cookie_field(const std::string& value, Duration lifetime, bool tls) {
  return "Set-Cookie: " + std::string(Sessions::kCookie) + "=" + value + "; Path=/; HttpOnly; SameSite=Strict" +
         (tls ? "; Secure" : "") + "; Max-Age=" + std::to_string(ceil_seconds(lifetime)) + "\r\n";
}

// What a console may offer, by the route that it needs.
struct Feature {
  std::string_view name;
  std::string_view path;
};
constexpr std::array<Feature, 4> kFeatures = {{{"refund", "/refund"},
                                               {"simulate", "/rules/simulate"},
                                               {"candidate", "/rules/{id}/candidate/promote"},
                                               {"accounts", "/accounts"}}};

struct SessionRoutes {
  const http::Router& router;
  std::shared_ptr<TokenAccess> access;
  std::string version;
  std::string node;

  void show(const http::HttpRequest& request, http::ResponseWriter& writer) const {
    if (!access->admit(request, "reader", writer)) return;  // it says what is missing or wrong
    const std::optional<control::Actor> actor = access->actor_of(request, writer.peer());
    if (!actor) return writer.send(token_not_accepted().response());
    const std::optional<Sessions::Session> session = access->session_of(request);
    JsonWriter out;
    out.begin_object();
    out.member("actor", actor->name);
    out.member("role", control::role_name(actor->role));
    out.member("open", access->is_open());
    out.member("expires_at", session ? std::optional<TimePoint>(session->expires) : std::nullopt);
    out.member("version", version);
    out.member("node", node);
    out.begin_array("features");
    for (const Feature& feature : kFeatures) {
      const std::string path = std::string(kAdminPrefix) + std::string(feature.path);
      const auto& routes = router.routes();
      const bool is_there =
          std::any_of(routes.begin(), routes.end(), [&path](const http::Route& route) { return route.path == path; });
      if (is_there) out.value(feature.name);
    }
    out.end_array();
    out.end_object();
    writer.send(json_answer(out.take()).response());
  }

  void log_in(const http::HttpRequest& request, http::ResponseWriter& writer) const {
    Members body = Members::of(request.body);
    const std::string token = body.text("token", {.least = 1, .most = kMaxTokenBytes});
    if (const Status read = body.finish(); !read.ok()) {
      return writer.send(problem_of(read.failure()).response());
    }
    const std::optional<std::string> cookie = access->log_in(token, writer);
    if (!cookie) return;
    Answer answer = no_content();
    answer.fields = cookie_field(*cookie, Sessions::kLifetime, writer.peer().tls);
    writer.send(answer.response());
  }

  void log_out(const http::HttpRequest& request, http::ResponseWriter& writer) const {
    access->log_out(request);
    Answer answer = no_content();
    answer.fields = cookie_field("", Duration(0), writer.peer().tls);
    writer.send(answer.response());
  }
};

}  // namespace

void add_session_routes(Api& api, std::shared_ptr<TokenAccess> access, std::string version) {
  const auto routes = std::make_shared<const SessionRoutes>(
      SessionRoutes{api.router(), std::move(access), std::move(version), api.environment().node});
  const std::string path = std::string(kAdminPrefix) + "/session";
  const auto add = [&](const char* method,
                       void (SessionRoutes::*handle)(const http::HttpRequest&, http::ResponseWriter&) const) {
    api.router().add(
        {.method = method,
         .path = path,
         .handler = [routes, handle](const http::HttpRequest& request,
                                     http::ResponseWriter& writer) { ((*routes).*handle)(request, writer); },
         .open = true});
  };
  add("GET", &SessionRoutes::show);
  add("POST", &SessionRoutes::log_in);
  add("DELETE", &SessionRoutes::log_out);
}

}  // namespace weir::admin
