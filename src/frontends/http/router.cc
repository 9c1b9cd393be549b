#include "frontends/http/router.h"

#include <cassert>

#include "frontends/http/http_protocol.h"

namespace weir::http {

const Route* Router::find(std::string_view method, std::string_view path, std::string& allow) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : routes_) {
    if (route.path == path && (route.method.empty() || route.method == wanted)) return &route;
  }
  allow.clear();
  for (const Route& route : routes_) {
    if (route.path != path) continue;
    if (!allow.empty()) allow += ", ";
    allow += route.method == "GET" ? "GET, HEAD" : route.method;
  }
  return nullptr;
}

void ResponseWriter::send(const Response& response) {
  assert(!used_);
  used_ = true;
  protocol_.answer(response, form_);
}

void ResponseWriter::send_problem(int status, std::string_view detail, std::string_view fields) {
  std::string body;
  append_problem(body, status, detail);
  send({.status = status, .content_type = kProblemJson, .fields = fields, .body = body});
}

const transport::Peer& ResponseWriter::peer() const { return protocol_.peer(); }

LaterResponse ResponseWriter::defer() {
  assert(!used_);
  used_ = true;
  return protocol_.defer(form_);
}

void LaterResponse::send(const Response& response) const {
  if (!link_->closed()) protocol_->finish(number_, response);
}

void LaterResponse::send_problem(int status, std::string_view detail) const {
  std::string body;
  append_problem(body, status, detail);
  send({.status = status, .content_type = kProblemJson, .fields = {}, .body = body});
}

void LaterResponse::send_after(Duration delay, const Response& response) const {
  // The task runs only while the connection lives, and must not itself keep it alive: it has no need to hold the link.
  link_->after(delay, [protocol = protocol_, number = number_, status = response.status,
                       type = std::string(response.content_type), fields = std::string(response.fields),
                       body = std::string(response.body)] {
    protocol->finish(number, {.status = status, .content_type = type, .fields = fields, .body = body});
  });
}

}  // namespace weir::http
