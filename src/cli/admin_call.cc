#include "cli/admin_call.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/json_text.h"
#include "server/config_value.h"

namespace weir::cli {
namespace {

constexpr std::string_view kAdminBase = "/admin/v1";
constexpr std::int64_t kDay = 24 * 3600;

// What a problem says, or nothing.
std::string detail_of(std::string_view body) {
  const Result<admin::Json> json = admin::Json::parse_object(body);
  return json.ok() ? JsonView(&json.value())["detail"].text() : "";
}

Failure traffic_refusal(const HttpAnswer& answer, const std::string& call) {
  const std::string detail = detail_of(answer.body);
  const std::string with = detail.empty() ? "" : ": " + detail;
  switch (answer.status) {
    case 400:
    case 409:
    case 412:
    case 428:
      return {Code::invalid_argument, detail.empty() ? "the server cannot read the request" : detail};
    case 401:
      return {Code::unauthenticated, "the server requires a valid token" + with};
    case 403:
      return {Code::permission_denied, "the server does not allow this call" + with};
    case 404:
    case 405:
      return {Code::not_found, detail.empty() ? "the server has no " + call + "; is it an older version?" : detail};
    default:
      return {Code::unavailable, "the server answered with status " + std::to_string(answer.status) + with};
  }
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

Result<ServerTarget> admin_target(ServerOptions options, const Terminal& terminal) {
  if (options.server.empty()) {
    const char* const variable = std::getenv("WEIR_ADMIN");
    options.server = variable != nullptr && *variable != '\0' ? variable : "http://127.0.0.1:8082";
  }
  return server_target(options, terminal);
}

JsonView JsonView::operator[](std::string_view name) const {
  if (json_ == nullptr || json_->object() == nullptr) return JsonView(nullptr);
  for (const auto& [key, value] : *json_->object()) {
    if (key == name) return JsonView(&value);
  }
  return JsonView(nullptr);
}

std::string JsonView::text() const {
  if (json_ == nullptr) return {};
  if (const std::string* const found = json_->text()) return shown(*found);
  if (const std::int64_t* const whole = json_->whole()) return std::to_string(*whole);
  return {};
}

double JsonView::number() const {
  if (json_ == nullptr) return 0;
  if (const std::int64_t* const whole = json_->whole()) return static_cast<double>(*whole);
  const double* const fraction = json_->fraction();
  return fraction != nullptr ? *fraction : 0;
}

bool JsonView::boolean() const {
  const bool* const found = json_ != nullptr ? json_->boolean() : nullptr;
  return found != nullptr && *found;
}

std::vector<JsonView> JsonView::items() const {
  std::vector<JsonView> all;
  if (json_ == nullptr || json_->array() == nullptr) return all;
  for (const admin::Json& each : *json_->array()) all.emplace_back(&each);
  return all;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  std::vector<std::pair<std::string, JsonView>> all;
  if (json_ == nullptr || json_->object() == nullptr) return all;
  for (const auto& [name, value] : *json_->object()) all.emplace_back(shown(name), JsonView(&value));
  return all;
}

Result<AdminAnswer> TrafficClient::call(std::string_view method, std::string_view path, std::string_view body) {
  const std::string target = std::string(kAdminBase) + std::string(path);
  Result<HttpAnswer> answer = client_.request(method, target, body);
  if (!answer.ok()) return answer.failure();
  const std::string asked = std::string(method) + " " + target.substr(0, target.find('?'));
  if (answer.value().status >= 300) return traffic_refusal(answer.value(), asked);
  AdminAnswer made;
  made.text = std::move(answer.value().body);
  if (made.text.empty()) return made;
  Result<admin::Json> json = admin::Json::parse_object(made.text);
  if (!json.ok()) return Failure{Code::internal, "the answer to " + asked + " is not JSON"};
  made.json = std::move(json).value();
  return made;
}

Status TrafficClient::follow(std::string_view path,
                             const std::function<bool(std::string_view, std::string_view)>& see) {
  std::string rest;
  const Result<HttpAnswer> ended =
      client_.stream(std::string(kAdminBase) + std::string(path), [&](std::string_view bytes) {
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
  if (ended.value().status != 200) return traffic_refusal(ended.value(), "GET " + std::string(path));
  return success();
}

std::string query_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned char>(c));
      out += escape;
    }
  }
  return out;
}

std::string attribute_query(const std::vector<Attribute>& attributes) {
  std::string out;
  for (const Attribute& each : attributes) {
    out += "&attribute." + query_text(each.name) + "=" + query_text(each.value);
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

Result<std::int64_t> parse_moment(std::string_view text, std::int64_t now) {
  const std::string given(text);
  std::tm time{};
  const std::time_t today = now;
  localtime_r(&today, &time);
  int used = 0;
  time.tm_sec = 0;
  const bool seconds =
      std::sscanf(given.c_str(), "%2d:%2d:%2d%n", &time.tm_hour, &time.tm_min, &time.tm_sec, &used) == 3;
  const bool minutes = !seconds && std::sscanf(given.c_str(), "%2d:%2d%n", &time.tm_hour, &time.tm_min, &used) == 2;
  if ((seconds || minutes) && static_cast<std::size_t>(used) == given.size() && time.tm_hour < 24 && time.tm_min < 60 &&
      time.tm_sec < 61) {
    if (minutes) time.tm_sec = 0;
    time.tm_isdst = -1;
    const std::int64_t moment = std::mktime(&time);
    return moment > now ? moment - kDay : moment;
  }
  std::tm utc{};
  if (const char* const end = ::strptime(given.c_str(), "%Y-%m-%dT%H:%M:%S", &utc); end != nullptr) {
    std::string_view tail = end;
    if (tail.starts_with('.')) {
      tail.remove_prefix(std::min(tail.find_first_not_of("0123456789", 1), tail.size()));
    }
    if (tail == "Z") return static_cast<std::int64_t>(timegm(&utc));
  }
  if (const Result<Duration> ago = server::parse_duration(given, Duration(0), std::chrono::hours(24 * 366)); ago.ok()) {
    return now - ago.value().count() / 1'000'000;
  }
  return Failure{Code::invalid_argument, "'" + shown(text) +
                                             "' is no time, expected 14:03, 14:03:20, 10m (ago) or "
                                             "2026-11-18T14:03:20Z"};
}

std::string rfc3339_seconds(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string local_time(std::string_view rfc3339) {
  std::tm utc{};
  const std::string given(rfc3339);
  if (::strptime(given.c_str(), "%Y-%m-%dT%H:%M:%S", &utc) == nullptr) return shown(rfc3339);
  const std::time_t time = timegm(&utc);
  std::tm local{};
  localtime_r(&time, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

}  // namespace weir::cli
