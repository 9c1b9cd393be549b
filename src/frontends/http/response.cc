#include "frontends/http/response.h"

#include "base/ascii.h"
#include "base/json_text.h"

namespace weir::http {

std::string_view status_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

namespace {

void append_status_and_type(std::string& out, const Response& response) {
  out += "HTTP/1.1 ";
  base::append_number(out, response.status);
  out += ' ';
  out += status_phrase(response.status);
  if (!response.content_type.empty()) {
    out += "\r\nContent-Type: ";
    out += response.content_type;
  }
}

}  // namespace

void append_stream_head(std::string& out, const Response& response, std::string_view date) {
  append_status_and_type(out, response);
  out += "\r\nCache-Control: no-store\r\n";
  out += date;
  out += response.fields;
  out += "Connection: close\r\n\r\n";
}

void append_response(std::string& out, const Response& response, const ResponseForm& form, std::string_view date) {
  append_status_and_type(out, response);
  // These have no content, and so no length (RFC 9110, section 8.6).
  if (response.status != 204 && response.status != 304) {
    out += "\r\nContent-Length: ";
    base::append_number(out, static_cast<std::int64_t>(response.body.size()));
  }
  out += "\r\nCache-Control: ";
  out += response.cache_control;
  out += "\r\n";
  out += date;
  out += response.fields;
  if (!form.keep_alive) {
    out += "Connection: close\r\n";
  } else if (form.minor_version == 0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  if (!form.head_only) out += response.body;
}

void append_problem(std::string& out, int status, std::string_view detail, std::string_view code) {
  out += R"({"type":"about:blank","title":)";
  base::append_json_string(out, status_phrase(status));
  out += R"(,"status":)";
  base::append_number(out, status);
  out += R"(,"detail":)";
  base::append_json_string(out, detail);
  if (!code.empty()) {
    out += R"(,"code":)";
    base::append_json_string(out, code);
  }
  out += '}';
}

}  // namespace weir::http
