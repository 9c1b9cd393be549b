#include "frontends/http/http_protocol.h"

#include <cassert>
#include <utility>

namespace weir::http {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// A stream with more than this to send is congested.
constexpr std::size_t kMaxStreamUnsent = std::size_t{64} << 10;

}  // namespace

HttpProtocol::HttpProtocol(transport::Link& link, std::shared_ptr<const Router> router, const HttpLimits& limits,
                           std::shared_ptr<DateField> date, std::shared_ptr<StatusCounts> counts)
    : link_(link),
      router_(std::move(router)),
      limits_(limits),
      date_(std::move(date)),
      counts_(std::move(counts)),
      parser_(limits) {}

std::size_t HttpProtocol::on_bytes(std::string_view bytes) {
  look_at_clock();
  std::size_t used = 0;
  while (!ending_ && used < bytes.size() && !link_.congested()) {
    if (waiting_.size() >= kMaxInFlight) {
      paused_ = true;
      link_.pause();
      break;
    }
    const std::string_view rest = bytes.substr(used);
    RequestParser::State state = parser_.parse(rest);
    if (state == RequestParser::State::head) state = on_head(rest);
    if (state == RequestParser::State::need_more) {
      wait_for_rest(rest.size());
      break;
    }
    continue_owed_ = continue_said_ = false;
    if (state == RequestParser::State::failed) {
      refuse(parser_.error().status, parser_.error().detail);
      break;
    }
    handle(parser_.request());
    used += parser_.consumed();
    parser_.reset();
    if (std::exchange(reserved_, false)) static_cast<void>(link_.reserve(0, 0));
  }
  return ending_ ? bytes.size() : used;
}

RequestParser::State HttpProtocol::on_head(std::string_view bytes) {
  const HttpRequest& request = parser_.request();
  route_ = router_->find(request.method, request.path, allow_);
  parser_.allow_body(route_ != nullptr && route_->body_bytes > 0 ? route_->body_bytes : limits_.body_bytes);
  return parser_.parse(bytes);
}

void HttpProtocol::wait_for_rest(std::size_t arrived) {
  if (parser_.head_bytes() == 0 || !have_room(arrived)) return;
  // A client that has begun to send its body does not wait for "100 Continue".
  if (!parser_.expects_continue() || continue_said_ || arrived != parser_.head_bytes()) return;
  continue_said_ = true;
  if (waiting_.empty()) {
    say_continue();
  } else {
    continue_owed_ = true;
  }
}

// Memory for all of a large message or for none of it, so that what is begun can be finished. False: there is not
// enough, and nothing more is read until there is.
bool HttpProtocol::have_room(std::size_t arrived) {
  if (reserved_) return true;
  std::size_t input = parser_.head_bytes() + parser_.content_length();
  std::size_t decoded = 0;
  if (parser_.chunked() && arrived > kSmallMessage) {
    // How long it becomes is not known, and chunks are copied out of the received bytes.
    input += parser_.body_limit() + kMaxChunkOverhead;
    decoded = parser_.body_limit();
  }
  if (input <= kSmallMessage) return true;
  reserved_ = link_.reserve(input, decoded);
  if (!reserved_) link_.await_memory();
  return reserved_;
}

void HttpProtocol::say_continue() {
  if (counts_ != nullptr) counts_->count(100);
  link_.output() += kContinue;
}

void HttpProtocol::handle(const HttpRequest& request) {
  ResponseWriter writer(*this, {.head_only = request.method == "HEAD",
                                .keep_alive = request.keep_alive && !draining_,
                                .minor_version = request.minor_version});
  if (route_ != nullptr) {
    handle_routed(request, writer);
    assert(writer.used());
  } else if (allow_.empty()) {
    writer.send_problem(404, "no such path");
  } else {
    writer.send_problem(405, "method not allowed; use " + allow_, "Allow: " + allow_ + "\r\n");
  }
}

void HttpProtocol::handle_routed(const HttpRequest& request, ResponseWriter& writer) {
  Guard* const guard = router_->guard_of(*route_);
  if (guard != nullptr && !guard->admit(request, route_->role, writer)) return;
  if (!route_->has_parameters()) return route_->handler(request, writer);
  if (!read_parameters(*route_, request.path, parameters_)) {
    return writer.send_problem(400, "the path has an invalid percent escape, or text that is not UTF-8");
  }
  HttpRequest with_parameters = request;
  with_parameters.parameters = parameters_;
  route_->handler(with_parameters, writer);
}

void HttpProtocol::refuse(int status, std::string_view detail, std::string_view fields) {
  ResponseWriter(*this, {.head_only = false, .keep_alive = false, .minor_version = 1})
      .send_problem(status, detail, fields);
}

void HttpProtocol::answer(const Response& response, const ResponseForm& form) {
  if (form.hold > Duration(0)) return defer(form).send(response);
  if (waiting_.empty()) {
    write(link_.output(), response, form);
    return end_after(form.keep_alive);
  }
  Waiting& behind = waiting_.emplace_back(Waiting{.form = form, .ready = true, .bytes = {}});
  write(behind.bytes, response, form);
  if (!form.keep_alive) ending_ = true;
}

LaterResponse HttpProtocol::defer(const ResponseForm& form) {
  waiting_.push_back({.form = form, .ready = false, .bytes = {}});
  if (!form.keep_alive) ending_ = true;
  return {link_.hold(), *this, first_number_ + waiting_.size() - 1};
}

void HttpProtocol::finish(std::uint64_t number, const Response& response) {
  look_at_clock();
  assert(number >= first_number_ && number - first_number_ < waiting_.size());
  Waiting& slot = waiting_[static_cast<std::size_t>(number - first_number_)];
  assert(!slot.ready);
  if (const Duration hold = std::exchange(slot.form.hold, Duration(0)); hold > Duration(0)) {
    return LaterResponse(link_.hold(), *this, number).send_after(hold, response);
  }
  slot.ready = true;
  if (number == first_number_) {
    write(link_.output(), response, slot.form);
  } else {
    write(slot.bytes, response, slot.form);
  }
  release_ready();
}

// The last answer of its connection: after it nothing is read.
void HttpProtocol::stream(const Response& response, const ResponseForm& form, std::shared_ptr<StreamSource> source) {
  ResponseForm last = form;
  last.keep_alive = false;
  if (form.head_only || draining_) return answer(response, last);
  ending_ = true;
  waiting_.push_back({.form = last, .ready = false, .bytes = {}, .source = source});
  const std::uint64_t number = first_number_ + waiting_.size() - 1;
  if (counts_ != nullptr) counts_->count(response.status);
  std::string head;
  append_stream_head(head, response, date_ != nullptr ? date_->text() : std::string_view());
  write_stream(number, head);
  source->start(StreamWriter(link_, *this, number));
}

HttpProtocol::Waiting* HttpProtocol::stream_of(std::uint64_t number) {
  if (number < first_number_ || number - first_number_ >= waiting_.size()) return nullptr;
  Waiting& slot = waiting_[static_cast<std::size_t>(number - first_number_)];
  return slot.source != nullptr ? &slot : nullptr;
}

bool HttpProtocol::stream_congested(std::uint64_t number) const {
  return !is_first(number) || link_.congested() || link_.output().size() > kMaxStreamUnsent;
}

void HttpProtocol::write_stream(std::uint64_t number, std::string_view bytes) {
  Waiting* const slot = stream_of(number);
  if (slot == nullptr) return;
  (is_first(number) ? link_.output() : slot->bytes) += bytes;
  if (is_first(number)) link_.flush();
}

void HttpProtocol::end_stream(std::uint64_t number) {
  Waiting* const slot = stream_of(number);
  if (slot == nullptr) return;
  const std::shared_ptr<StreamSource> until_return = std::move(slot->source);
  slot->ready = true;
  release_ready();
}

void HttpProtocol::end_streams() {
  if (!waiting_.empty()) end_stream(first_number_ + waiting_.size() - 1);
}

// Sends what is ready up to the first answer that is not.
void HttpProtocol::release_ready() {
  while (!waiting_.empty() && waiting_.front().ready) {
    link_.output() += waiting_.front().bytes;
    const bool keep_alive = waiting_.front().form.keep_alive;
    waiting_.pop_front();
    ++first_number_;
    end_after(keep_alive);
  }
  // A stream that waited behind other answers continues here.
  if (!waiting_.empty()) link_.output() += std::exchange(waiting_.front().bytes, {});
  if (waiting_.empty() && std::exchange(continue_owed_, false)) say_continue();
  if (paused_ && waiting_.size() < kMaxInFlight) {
    paused_ = false;
    link_.resume();
  }
  link_.flush();
}

void HttpProtocol::write(std::string& out, const Response& response, const ResponseForm& form) {
  if (counts_ != nullptr) counts_->count(response.status);
  append_response(out, response, form, date_ != nullptr ? date_->text() : std::string_view());
}

void HttpProtocol::end_after(bool keep_alive) {
  if (keep_alive) return;
  ending_ = true;
  link_.close();
}

// Every answer is made in on_bytes(), finish() or on_timeout(), and they call this.
void HttpProtocol::look_at_clock() {
  if (date_ != nullptr) date_->refresh();
}

void HttpProtocol::on_timeout() {
  look_at_clock();
  if (waiting_.empty() && parser_.begun()) refuse(408, "the request was not complete in time");
}

void HttpProtocol::on_shortage() {
  look_at_clock();
  if (waiting_.empty()) refuse(503, "the server is short of memory; try again later", "Retry-After: 1\r\n");
}

// What is idle answers one more request, with "Connection: close". Others close without waiting for one.
bool HttpProtocol::on_drain_soon() {
  draining_ = true;
  end_streams();
  return idle();
}

void HttpProtocol::on_drain() {
  draining_ = true;
  end_streams();
  // A message that has begun gets its answer, with "Connection: close", and ends the connection.
  if (parser_.begun()) return;
  ending_ = true;
  if (waiting_.empty()) {
    link_.close();
  } else {
    waiting_.back().form.keep_alive = false;
  }
}

transport::ProtocolFactory http_protocols(std::shared_ptr<const Router> router, const HttpLimits& limits,
                                          std::shared_ptr<Clock> clock, std::shared_ptr<StatusCounts> counts) {
  const auto date = clock != nullptr ? std::make_shared<DateField>(std::move(clock)) : nullptr;
  return [router = std::move(router), limits, date, counts = std::move(counts)](transport::Link& link) {
    return std::make_unique<HttpProtocol>(link, router, limits, date, counts);
  };
}

}  // namespace weir::http
