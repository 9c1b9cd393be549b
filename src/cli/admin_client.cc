#include "cli/admin_client.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "base/json_text.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"

namespace weir::cli {
namespace {

using simdjson::dom::element;

constexpr const char* kDefaultAdmin = "http://127.0.0.1:8082";
constexpr std::string_view kAdminBase = "/admin/v1";

Failure unreadable_answer() { return {Code::internal, "the answer is not from the admin listener of a Weir server"}; }

// What a refusal means. The server's own sentence is the best there is.
Failure admin_refusal(const HttpAnswer& answer, const std::string& call) {
  const std::string detail = member_text(answer.body, "detail");
  const std::string said =
      detail.empty() ? "the server answered " + std::to_string(answer.status) + " to " + call : shown(detail);
  switch (answer.status) {
    case 400:
    case 413:
    case 422:
      return {Code::invalid_argument, said};
    case 401:
      return {Code::unauthenticated, said};
    case 403:
      return {Code::permission_denied, said};
    case 404:
    case 405:
      return {Code::not_found, detail.empty() ? "the server has no " + call + "; is it an older version?" : said};
    case 409:
    case 412:
    case 428:
      return {Code::failed_precondition, said};
    default:
      return {Code::unavailable, said};
  }
}

std::string text_of_element(const element& value) {
  std::string_view text;
  if (!value.get_string().get(text)) return std::string(text);
  if (value.is_null()) return {};
  return simdjson::minify(value);
}

}  // namespace

Option add_admin_options(Command& verb, ServerOptions& options) {
  Option admin = verb.text("--admin", options.server,
                           "The admin listener of the server: http://host:port, https://host:port or unix:/path "
                           "(variable WEIR_ADMIN) [http://127.0.0.1:8082]")
                     .value("URL")
                     .group("Server");
  add_connection_options(verb, options);
  return admin;
}

void add_admin_options(Command& verb, AdminOptions& options) {
  verb.flag("--json", options.json, "Print the server's JSON answer, and errors as {\"error\":{…}}");
  add_admin_options(verb, options.server);
}

Result<ServerTarget> admin_target(ServerOptions options, const Terminal& terminal) {
  if (options.server.empty()) {
    const char* const set = std::getenv("WEIR_ADMIN");
    options.server = set == nullptr || *set == '\0' ? kDefaultAdmin : set;
  }
  return server_target(options, terminal);
}

void JsonObject::raw(std::string_view name, std::string_view json) {
  if (!members_.empty()) members_ += ',';
  base::append_json_string(members_, name);
  members_.append(":").append(json);
}

void JsonObject::text(std::string_view name, std::string_view value) {
  std::string quoted;
  base::append_json_string(quoted, value);
  raw(name, quoted);
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    base::append_json_string(out, text);
  }
  return out + "]";
}

Result<std::string> json_of_words(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Failure{Code::invalid_argument, "\"" + shown(word) + "\" is not name=value"};
    }
    const std::string name = word.substr(0, equals);
    auto found = std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.first == name; });
    if (found == values.end()) found = values.insert(values.end(), {name, {}});
    found->second.push_back(word.substr(equals + 1));
  }
  JsonObject object;
  for (const auto& [name, texts] : values) {
    if (texts.size() == 1) {
      object.text(name, texts.front());
    } else {
      object.raw(name, json_list(texts));
    }
  }
  return object.take();
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += "0123456789ABCDEF"[byte >> 4U];
    out += "0123456789ABCDEF"[byte & 15U];
  }
  return out;
}

std::string attribute_query(const std::vector<Attribute>& attributes) {
  std::string out;
  for (const Attribute& each : attributes) {
    out += "&attribute." + percent_encoded(each.name) + "=" + percent_encoded(each.value);
  }
  return out;
}

std::string attributes_json(const std::vector<Attribute>& attributes) {
  std::string json = "{";
  for (const Attribute& each : attributes) {
    if (json.size() > 1) json += ',';
    base::append_json_string(json, each.name);
    json += ':';
    base::append_json_string(json, each.value);
  }
  return json + "}";
}

Result<AdminClient> AdminClient::connect(const AdminOptions& options, const Terminal& terminal) {
  Result<ServerTarget> target = admin_target(options.server, terminal);
  if (!target.ok()) return target.failure();
  return AdminClient(std::move(target).value());
}

Result<AdminAnswer> AdminClient::parsed(Result<std::string> answer, const std::string& path) {
  if (!answer.ok()) return answer.failure();
  AdminAnswer made;
  made.text = std::move(answer).value();
  if (made.text.empty()) return made;
  Result<admin::Json> json = admin::Json::parse_object(made.text);
  if (!json.ok()) return Failure{Code::internal, "the answer to " + path + " is not JSON"};
  made.json = std::move(json).value();
  return made;
}

Status AdminClient::follow(std::string_view path, const std::function<bool(std::string_view, std::string_view)>& see) {
  std::string rest;
  const Result<HttpAnswer> ended =
      client_->stream(std::string(kAdminBase) + std::string(path), [&](std::string_view bytes) {
        rest += bytes;
        for (std::size_t end = rest.find("\n\n"); end != std::string::npos; end = rest.find("\n\n")) {
          const std::string_view block = std::string_view(rest).substr(0, end);
          constexpr std::string_view kEvent = "event: ";
          constexpr std::string_view kData = "\ndata: ";
          const std::size_t data = block.find(kData);
          const bool goes_on =
              !block.starts_with(kEvent) || data == std::string_view::npos ||
              see(block.substr(kEvent.size(), data - kEvent.size()), block.substr(data + kData.size()));
          if (!goes_on) return false;
          rest.erase(0, end + 2);
        }
        return rest.size() < HttpClient::kMaxAnswerBytes;
      });
  if (!ended.ok()) return ended.failure();
  if (ended.value().status != 200) return admin_refusal(ended.value(), "GET " + std::string(path));
  return success();
}

Result<std::string> AdminClient::call(std::string_view method, const std::string& path, std::string_view body,
                                      const std::string& fields) {
  Result<HttpAnswer> answer = client_->request(method, std::string(kAdminBase) + path, body, fields);
  if (!answer.ok()) return answer.failure();
  if (answer.value().status / 100 != 2)
    return admin_refusal(answer.value(), std::string(method) + " " + path.substr(0, path.find('?')));
  return std::move(answer).value().body;
}

Result<std::string> AdminClient::post(const std::string& path, const std::string& body, const std::string& key) {
  return call("POST", path, body, key.empty() ? "" : "Idempotency-Key: \"" + key + "\"\r\n");
}

Result<std::string> AdminClient::put(const std::string& path, const std::string& body, const std::string& etag) {
  return call("PUT", path, body, etag.empty() ? "If-None-Match: *\r\n" : "If-Match: \"" + etag + "\"\r\n");
}

Result<std::string> AdminClient::remove(const std::string& path, const std::string& reason) {
  const Result<std::string> found = get(path);
  if (!found.ok()) return found.failure();
  const std::string etag = member_text(found.value(), "etag");
  return call("DELETE", path + "?reason=" + percent_encoded(reason), {}, "If-Match: \"" + etag + "\"\r\n");
}

Result<std::vector<std::string>> AdminClient::list(const std::string& path) {
  std::vector<std::string> items;
  std::string cursor;
  do {
    const std::string separator = path.find('?') == std::string::npos ? "?" : "&";
    const std::string page =
        path + separator + "limit=1000" + (cursor.empty() ? "" : "&cursor=" + percent_encoded(cursor));
    const Result<std::string> answer = get(page);
    if (!answer.ok()) return answer.failure();
    simdjson::dom::parser parser;
    element root;
    simdjson::dom::array found;
    if (parser.parse(answer.value()).get(root) || root["items"].get_array().get(found)) return unreadable_answer();
    for (const element item : found) items.push_back(simdjson::minify(item));
    cursor = member_text(answer.value(), "next");
  } while (!cursor.empty());
  return items;
}

std::vector<std::string> items_of(const std::string& json) {
  std::vector<std::string> items;
  simdjson::dom::parser parser;
  element root;
  simdjson::dom::array found;
  if (parser.parse(json).get(root) || root["items"].get_array().get(found)) return items;
  for (const element item : found) items.push_back(simdjson::minify(item));
  return items;
}

std::string member_text(const std::string& json, std::string_view name) {
  simdjson::dom::parser parser;
  element root;
  element value;
  if (parser.parse(json).get(root) || root[name].get(value)) return {};
  return text_of_element(value);
}

void show_items(const Terminal& terminal, bool json, const std::vector<std::string>& items,
                const std::vector<Column>& columns, std::string_view none) {
  if (json) {
    terminal.out << "{\"items\":[";
    for (std::size_t i = 0; i < items.size(); ++i) terminal.out << (i == 0 ? "" : ",") << items[i];
    terminal.out << "]}\n";
    return;
  }
  if (items.empty()) {
    terminal.out << none << '\n';
    return;
  }
  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : columns) rows.front().push_back(column.title);
  for (const std::string& item : items) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const Column& column : columns) row.push_back(shown(column.value(item)));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::size_t widest = 0;
      for (const std::vector<std::string>& row : rows) widest = std::max(widest, columns_of(row[c]));
      line += c + 1 == columns.size() ? rows[r][c] : padded(rows[r][c], widest + 2);
    }
    terminal.out << (r == 0 ? terminal.paint(Colour::faint, line) : line) << '\n';
  }
}

int run_admin(const Terminal& terminal, std::string_view verb, const AdminOptions& options,
              const std::function<Result<std::string>(AdminClient&)>& call,
              const std::function<void(const std::string& answer)>& show) {
  Result<AdminClient> client = AdminClient::connect(options, terminal);
  Result<std::string> answer = client.ok() ? call(client.value()) : Result<std::string>(client.failure());
  if (!answer.ok())
    return report_failure(terminal, verb, options.json, answer.failure(), admin_hint_for(answer.failure()));
  if (options.json) {
    terminal.out << (answer.value().empty() ? "{}" : answer.value()) << '\n';
  } else {
    show(answer.value());
  }
  return kExitAllowed;
}

}  // namespace weir::cli
