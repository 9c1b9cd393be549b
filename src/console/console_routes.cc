#include "console/console_routes.h"

#include <string>

#include "base/ascii.h"

namespace weir::console {
namespace {

// Nothing but Weir: no script, style, font or picture from elsewhere, none inside the page, and no frame around it.
constexpr std::string_view kSafety =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n";

// The name of an asset contains a hash of its content. The page has none, and is asked for again each time.
constexpr std::string_view kKeepForever = "public, max-age=31536000, immutable";
constexpr std::string_view kAskAgain = "no-cache";

// How deep the addresses of screens are: /console/rules/{id}, and one more for what may come.
constexpr const char* kPagePaths[] = {"/console", "/console/", "/console/{screen}", "/console/{screen}/{id}",
                                      "/console/{screen}/{id}/{part}"};

bool names(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = base::trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t semicolon = std::min(item.find(';'), item.size());
    std::string_view weight = base::trimmed(item.substr(std::min(semicolon + 1, item.size())));
    item = base::trimmed(item.substr(0, semicolon));
    if (!base::same_ignoring_case(item, wanted)) continue;
    // q=0 refuses it; 0.001 does not.
    return !weight.starts_with("q=0") || weight.find_first_not_of("0.", 2) != std::string_view::npos;
  }
  return false;
}

bool accepts_gzip(const http::HttpRequest& request) {
  const http::HttpField* field = request.find("accept-encoding");
  return field != nullptr && (names(field->value, "gzip") || names(field->value, "*"));
}

bool has_current(const http::HttpRequest& request, std::string_view etag) {
  const http::HttpField* field = request.find("if-none-match");
  if (field == nullptr) return false;
  std::string_view rest = field->value;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view one = base::trimmed(rest.substr(0, comma));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag || one == "*") return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

void send_file(const ConsoleFile& file, const http::HttpRequest& request, http::ResponseWriter& writer) {
  std::string fields(kSafety);
  fields.append("ETag: ").append(file.etag).append("\r\n");
  if (file.compressed) fields += "Vary: Accept-Encoding\r\n";
  const std::string_view cache = file.path.empty() ? kAskAgain : kKeepForever;
  if (has_current(request, file.etag)) {
    return writer.send({.status = 304, .content_type = {}, .fields = fields, .body = {}, .cache_control = cache});
  }
  if (file.compressed && !accepts_gzip(request)) {
    return writer.send_problem(406, "this file is stored compressed; ask with Accept-Encoding: gzip");
  }
  if (file.compressed) fields += "Content-Encoding: gzip\r\n";
  writer.send({.status = 200,
               .content_type = file.content_type,
               .fields = fields,
               .body = file.content,
               .cache_control = cache});
}

void add_pages(http::Router& router, const http::Handler& handler) {
  for (const char* path : kPagePaths) router.add({.method = "GET", .path = path, .handler = handler, .open = true});
}

}  // namespace

void add_console_routes(http::Router& router, std::span<const ConsoleFile> files) {
  if (files.empty()) {
    return add_pages(
        router, [](const http::HttpRequest&, http::ResponseWriter& writer) { writer.send_problem(404, kHowToGet); });
  }
  for (const ConsoleFile& file : files.subspan(1)) {
    router.add({.method = "GET",
                .path = "/console/" + std::string(file.path),
                .handler = [&file](const http::HttpRequest& request,
                                   http::ResponseWriter& writer) { send_file(file, request, writer); },
                .open = true});
  }
  // An asset of another version must not be answered with the page.
  router.add(
      {.method = "GET",
       .path = "/console/assets/{name}",
       .handler = [](const http::HttpRequest&,
                     http::ResponseWriter& writer) { writer.send_problem(404, "no such file; load the page again"); },
       .open = true});
  add_pages(router, [&page = files.front()](const http::HttpRequest& request, http::ResponseWriter& writer) {
    send_file(page, request, writer);
  });
}

}  // namespace weir::console
