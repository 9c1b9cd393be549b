#include "frontends/http/router.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/percent.h"
#include "base/utf8.h"
#include "frontends/http/http_protocol.h"

namespace weir::http {

namespace {

// The first segment of `rest`, which begins with a slash; `rest` goes on behind it.
std::string_view take_segment(std::string_view& rest) {
  rest.remove_prefix(1);
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view segment = rest.substr(0, end);
  rest.remove_prefix(end);
  return segment;
}

bool is_parameter(std::string_view segment) { return segment.starts_with('{') && segment.ends_with('}'); }

// Calls `parameter(name, text)` for each parameter on the way.
template <typename Parameter>
bool matches(std::string_view pattern, std::string_view path, Parameter parameter) {
  while (!pattern.empty() && path.starts_with('/')) {
    const std::string_view wanted = take_segment(pattern);
    const std::string_view given = take_segment(path);
    if (!is_parameter(wanted)) {
      if (wanted != given) return false;
    } else {
      if (given.empty()) return false;
      parameter(wanted.substr(1, wanted.size() - 2), given);
    }
  }
  return pattern.empty() && path.empty();
}

}  // namespace

void Router::add(Route route) {
  assert(route.path.starts_with('/'));
  routes_.push_back(std::move(route));
}

const Route* Router::find(std::string_view method, std::string_view path, std::string& allow) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const auto has_method = [&](const Route& route) { return route.method.empty() || route.method == wanted; };
  bool spelled_out = false;
  for (const Route& route : routes_) {
    if (route.path != path) continue;
    if (has_method(route)) return &route;
    spelled_out = true;
  }
  allow.clear();
  for (const Route& route : routes_) {
    const bool same =
        spelled_out ? route.path == path : route.has_parameters() && matches(route.path, path, [](auto, auto) {});
    if (!same) continue;
    if (has_method(route)) return &route;
    if (!allow.empty()) allow += ", ";
    allow += route.method == "GET" ? "GET, HEAD" : route.method;
  }
  return nullptr;
}

Guard* Router::guard_of(const Route& route) const {
  if (route.open) return nullptr;
  return route.guard != nullptr ? route.guard.get() : guard_.get();
}

bool read_parameters(const Route& route, std::string_view path, std::vector<PathParameter>& parameters) {
  parameters.clear();
  bool good = true;
  const bool matched = matches(route.path, path, [&](std::string_view name, std::string_view text) {
    std::string value;
    good = good && base::decode_percent(text, value) && base::valid_text_prefix(value) == value.size();
    parameters.push_back({name, std::move(value)});
  });
  return matched && good;
}

void ResponseWriter::send(const Response& response) {
  assert(!used_);
  used_ = true;
  if (recorder_ != nullptr) recorder_->record(response);
  if (!later_) return protocol_.answer(response, form_);
  if (form_.hold > Duration(0)) return later_->send_after(form_.hold, response);
  later_->send(response);
}

void ResponseWriter::send_problem(int status, std::string_view detail, std::string_view fields, std::string_view code) {
  std::string body;
  append_problem(body, status, detail, code);
  send({.status = status, .content_type = kProblemJson, .fields = fields, .body = body});
}

const transport::Peer& ResponseWriter::peer() const { return protocol_.peer(); }

void ResponseWriter::stream(const Response& response, std::shared_ptr<StreamSource> source) {
  assert(!used_);
  used_ = true;
  protocol_.stream(response, form_, std::move(source));
}

bool StreamWriter::congested() const { return protocol_->stream_congested(number_); }
void StreamWriter::write(std::string_view bytes) const { protocol_->write_stream(number_, bytes); }
void StreamWriter::end() const { protocol_->end_stream(number_); }

LaterResponse ResponseWriter::defer() {
  assert(!used_);
  used_ = true;
  LaterResponse later = later_ ? *later_ : protocol_.defer(form_);
  if (recorder_ != nullptr) later.set_recorder(std::move(recorder_));
  return later;
}

void LaterResponse::send(const Response& response) const {
  if (recorder_ != nullptr) recorder_->record(response);
  if (!link_->closed()) protocol_->finish(number_, response);
}

void LaterResponse::send_problem(int status, std::string_view detail) const {
  std::string body;
  append_problem(body, status, detail);
  send({.status = status, .content_type = kProblemJson, .fields = {}, .body = body});
}

void LaterResponse::send_after(Duration delay, const Response& response) const {
  if (recorder_ != nullptr) recorder_->record(response);
  // The task runs only while the connection lives, and must not itself keep it alive: it has no need to hold the link.
  link_->after(delay, [protocol = protocol_, number = number_, status = response.status,
                       type = std::string(response.content_type), fields = std::string(response.fields),
                       body = std::string(response.body)] {
    protocol->finish(number, {.status = status, .content_type = type, .fields = fields, .body = body});
  });
}

}  // namespace weir::http
