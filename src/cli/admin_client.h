// Calling the admin API of a Weir server: the options that its verbs share, calls, and lists for people.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/http_client.h"
#include "cli/json_view.h"
#include "cli/server_call.h"
#include "cli/terminal.h"
#include "weir/result.h"

namespace weir::cli {

struct AdminOptions {
  ServerOptions server;
  bool json = false;
};

// Adds --admin, --json and what is needed to connect.
void add_admin_options(Command& verb, AdminOptions& options);
// The same without --json.
Option add_admin_options(Command& verb, ServerOptions& options);
// As server_target(), with WEIR_ADMIN and the usual address of the admin listener.
Result<ServerTarget> admin_target(ServerOptions options, const Terminal& terminal);

// Makes the text of a JSON object.
class JsonObject {
 public:
  void text(std::string_view name, std::string_view value);
  void raw(std::string_view name, std::string_view json);
  // Nothing if the value is empty.
  void text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  std::string take() { return "{" + std::move(members_) + "}"; }

 private:
  std::string members_;
};

// ["a","b"]
std::string json_list(const std::vector<std::string>& texts);
// "name=value" words as an object; a name that repeats has a list. The failure names the word that is wrong.
Result<std::string> json_of_words(const std::vector<std::string>& words);
// For a part of a path or a query.
std::string percent_encoded(std::string_view text);
// "&attribute.tenant=acme", one for each.
std::string attribute_query(const std::vector<Attribute>& attributes);
// {"tenant":"acme"}
std::string attributes_json(const std::vector<Attribute>& attributes);

// Paths begin behind /admin/v1. Failures, besides those of HttpClient: invalid_argument, unauthenticated,
// permission_denied, not_found, failed_precondition (it was changed meanwhile, or must not be changed), unavailable.
class AdminClient {
 public:
  explicit AdminClient(ServerTarget target) : client_(std::make_unique<HttpClient>(std::move(target))) {}
  static Result<AdminClient> connect(const AdminOptions& options, const Terminal& terminal);

  Result<std::string> get(const std::string& path) { return call("GET", path, {}, {}); }
  // With a key, the server does it once, however often it is sent.
  Result<std::string> post(const std::string& path, const std::string& body, const std::string& key = {});
  // Replaces what is there; `etag` is that of what was seen, and empty for what does not exist yet.
  Result<std::string> put(const std::string& path, const std::string& body, const std::string& etag);
  // Looks the thing up, and removes it as it was then.
  Result<std::string> remove(const std::string& path, const std::string& reason);
  // The items of all pages, as JSON texts.
  Result<std::vector<std::string>> list(const std::string& path);

  // The same, read.
  Result<AdminAnswer> look(const std::string& path) { return parsed(get(path), path); }
  Result<AdminAnswer> ask(const std::string& path, const std::string& body) { return parsed(post(path, body), path); }
  // Server-sent events: see(event, data) for each, until it returns false.
  Status follow(std::string_view path, const std::function<bool(std::string_view, std::string_view)>& see);

 private:
  static Result<AdminAnswer> parsed(Result<std::string> answer, const std::string& path);
  Result<std::string> call(std::string_view method, const std::string& path, std::string_view body,
                           const std::string& fields);

  std::unique_ptr<HttpClient> client_;
};

// `items` of a page, as JSON texts; empty if there are none.
std::vector<std::string> items_of(const std::string& json);
// A member of a JSON object for people: texts as they are, lists and objects as JSON, null and absent ones empty.
std::string member_text(const std::string& json, std::string_view name);

struct Column {
  std::string title;
  std::function<std::string(const std::string& item)> value;
};
// A table, or with --json {"items": […]}.
void show_items(const Terminal& terminal, bool json, const std::vector<std::string>& items,
                const std::vector<Column>& columns, std::string_view none);

// Runs the call and prints what it returns, or reports the failure. Returns the exit code.
int run_admin(const Terminal& terminal, std::string_view verb, const AdminOptions& options,
              const std::function<Result<std::string>(AdminClient&)>& call,
              const std::function<void(const std::string& answer)>& show);

}  // namespace weir::cli
