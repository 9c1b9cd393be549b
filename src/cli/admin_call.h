// Calling the admin API of a Weir server: the options that every verb with it has, and calls that answer with JSON.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/json.h"
#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/http_client.h"
#include "cli/server_call.h"
#include "cli/terminal.h"
#include "weir/result.h"

namespace weir::cli {

// Adds --admin and the options of a server's connection.
Option add_admin_options(Command& verb, ServerOptions& options);
// As server_target(), with WEIR_ADMIN and the usual address of the admin listener.
Result<ServerTarget> admin_target(ServerOptions options, const Terminal& terminal);

// An answer of the admin API. Members that are not there read as empty texts, 0, false and no items.
class JsonView {
 public:
  explicit JsonView(const admin::Json* json) : json_(json) {}

  JsonView operator[](std::string_view name) const;
  bool exists() const { return json_ != nullptr && !json_->is_null(); }
  std::string text() const;  // made safe to show
  double number() const;
  std::int64_t whole() const { return static_cast<std::int64_t>(number()); }
  bool boolean() const;
  std::vector<JsonView> items() const;
  std::vector<std::pair<std::string, JsonView>> members() const;

 private:
  const admin::Json* json_;
};

struct AdminAnswer {
  std::string text;  // as the server sent it
  admin::Json json;

  JsonView view() const { return JsonView(&json); }
};

// For what a server shows; admin_client.h is for the verbs that change something.
class TrafficClient {
 public:
  explicit TrafficClient(ServerTarget target) : client_(std::move(target)) {}

  // `path` begins behind /admin/v1. Failures as ask() has them; what the server says is part of the message.
  Result<AdminAnswer> get(std::string_view path) { return call("GET", path, {}); }
  Result<AdminAnswer> post(std::string_view path, std::string_view body) { return call("POST", path, body); }
  // Server-sent events: see(event, data) for each, until it returns false.
  Status follow(std::string_view path, const std::function<bool(std::string_view, std::string_view)>& see);

 private:
  Result<AdminAnswer> call(std::string_view method, std::string_view path, std::string_view body);

  HttpClient client_;
};

// "&attribute.tenant=acme", one for each.
std::string attribute_query(const std::vector<Attribute>& attributes);
// Percent-encoded for a query.
std::string query_text(std::string_view text);
// {"tenant":"acme"}
std::string attributes_json(const std::vector<Attribute>& attributes);

// "14:03", "14:03:20" (today, or yesterday if that is still to come, in the local time zone), "10m" (ago), or RFC 3339;
// in seconds since the epoch. `now` likewise.
Result<std::int64_t> parse_moment(std::string_view text, std::int64_t now);
// "2026-11-18T04:31:12Z"
std::string rfc3339_seconds(std::int64_t seconds);
// "14:03:20", in the local time zone, from RFC 3339; the text itself if it is none.
std::string local_time(std::string_view rfc3339);

}  // namespace weir::cli
