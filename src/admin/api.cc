#include "admin/api.h"

#include <utility>

#include "admin/json_writer.h"

namespace weir::admin {
namespace {

http::Handler handler_of(std::shared_ptr<const Environment> environment, bool needs_match, CallHandler handler) {
  return [environment = std::move(environment), needs_match, handler = std::move(handler)](
             const http::HttpRequest& request, http::ResponseWriter& writer) {
    std::optional<control::Actor> actor = environment->access->actor_of(request, writer.peer());
    // The guard has let the request through, so the token was revoked a moment ago.
    if (!actor) return writer.send(token_not_accepted().response());
    Call call(*environment, request, writer, *std::move(actor));
    if (needs_match && call.preconditions().empty()) return call.answer(precondition_required());
    handler(call);
  };
}

}  // namespace

void Api::add(std::string_view method, std::string_view path, control::Role role, CallHandler handler,
              bool needs_match) {
  const bool changes_one = method == "PUT" || method == "PATCH" || method == "DELETE";
  http::Handler made = handler_of(environment_, needs_match && changes_one, std::move(handler));
  if (method == "POST") made = http::once(environment_->once, std::move(made));
  router_.add({.method = std::string(method),
               .path = std::string(kAdminPrefix) + std::string(path),
               .body_bytes = environment_->body_bytes,
               .handler = std::move(made),
               .role = std::string(control::role_name(role)),
               .guard = environment_->access});
}

void add_index_route(http::Router& router) {
  router.add({.method = "GET",
              .path = std::string(kAdminPrefix),
              .handler =
                  [&router](const http::HttpRequest&, http::ResponseWriter& writer) {
                    JsonWriter out;
                    out.begin_object();
                    out.begin_array("routes");
                    for (const http::Route& route : router.routes()) {
                      if (!route.path.starts_with(kAdminPrefix)) continue;
                      out.begin_object();
                      out.member("method", route.method);
                      out.member("path", route.path);
                      out.member("role", route.open ? std::optional<std::string>() : route.role);
                      out.end_object();
                    }
                    out.end_array();
                    out.end_object();
                    writer.send(json_answer(out.take()).response());
                  },
              .role = std::string(control::role_name(control::Role::reader))});
}

}  // namespace weir::admin
