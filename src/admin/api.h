// Api: adds routes to the admin API, below /admin/v1. START HERE to add one.
//
//   api.get("/tenants/{tenant}", [this](Call& call) { … });                       // readers may look at everything
//   api.ask("/subjects/lookup", [this](Call& call) { … });                        // POST that changes nothing
//   api.post("/tenants", Role::operator_, [this](Call& call) { … });
//   api.put("/tenants/{tenant}", Role::operator_, [this](Call& call) { … });      // 428 without If-Match
//
// What every route gets: the caller's token or session is checked, and its role; writes by a browser's session are
// protected against other sites; bodies are bounded; POST honours Idempotency-Key; PUT, PATCH and DELETE need If-Match
// (or If-None-Match). call.h says how a handler reads the request, uses the database, writes the audit trail and
// answers. Every route belongs in api/openapi.json and docs/admin.md; tests compare them with GET /admin/v1, which
// lists the router's own routes.
//
// Handlers run on the event loops, several at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "admin/call.h"
#include "admin/environment.h"
#include "control/actor.h"
#include "frontends/http/router.h"

namespace weir::admin {

inline constexpr std::string_view kAdminPrefix = "/admin/v1";

using CallHandler = std::function<void(Call&)>;

class Api {
 public:
  // The environment outlives the router's use.
  Api(http::Router& router, std::shared_ptr<const Environment> environment)
      : router_(router), environment_(std::move(environment)) {}

  void get(std::string_view path, CallHandler handler) { add("GET", path, control::Role::reader, std::move(handler)); }
  void ask(std::string_view path, CallHandler handler) { add("POST", path, control::Role::reader, std::move(handler)); }
  void post(std::string_view path, control::Role role, CallHandler handler) {
    add("POST", path, role, std::move(handler));
  }
  void put(std::string_view path, control::Role role, CallHandler handler) {
    add("PUT", path, role, std::move(handler));
  }
  void patch(std::string_view path, control::Role role, CallHandler handler) {
    add("PATCH", path, role, std::move(handler));
  }
  void remove(std::string_view path, control::Role role, CallHandler handler) {
    add("DELETE", path, role, std::move(handler));
  }

  // DELETE of what has no etag, such as a lease: it ends, whatever was seen of it.
  void end(std::string_view path, control::Role role, CallHandler handler) {
    add("DELETE", path, role, std::move(handler), /*needs_match=*/false);
  }

  const Environment& environment() const { return *environment_; }
  http::Router& router() { return router_; }

 private:
  void add(std::string_view method, std::string_view path, control::Role role, CallHandler handler,
           bool needs_match = true);

  http::Router& router_;
  const std::shared_ptr<const Environment> environment_;
};

// GET /admin/v1: the routes of the router, each with its method, path and role.
void add_index_route(http::Router& router);

}  // namespace weir::admin
