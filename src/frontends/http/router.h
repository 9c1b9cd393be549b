// Router: which handler answers which method and path, and which guard it is behind. ResponseWriter and LaterResponse:
// how a handler answers.
//
//   router.add({.method = "GET", .path = "/v1/tenants/{tenant}", .role = "read",
//               .handler = [&](const HttpRequest& request, ResponseWriter& writer) {
//     writer.send({.body = describe(request.parameter("tenant"))});
//   }});
//
// A segment in braces is a parameter: it matches one segment that is not empty. A path that a route spells out is
// never matched by a pattern; of several patterns that match, the one added first counts.
//
// A router is filled before the first connection and then only read. Handlers run on their connection's loop; a router
// that several loops share needs handlers that several threads may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/http/http_message.h"
#include "frontends/http/response.h"
#include "frontends/transport/protocol.h"

namespace weir::http {

class HttpProtocol;

// An answer that comes after its handler has returned. Copies mean the same answer. Keeps the connection alive.
class LaterResponse {
 public:
  LaterResponse(std::shared_ptr<transport::Link> link, HttpProtocol& protocol, std::uint64_t number)
      : link_(std::move(link)), protocol_(&protocol), number_(number) {}

  transport::Link& link() const { return *link_; }
  HttpProtocol& protocol() const { return *protocol_; }
  void set_recorder(std::shared_ptr<ResponseRecorder> recorder) { recorder_ = std::move(recorder); }

  // Once, on the link's loop. Does nothing if the client has disconnected.
  void send(const Response& response) const;
  // The same as application/problem+json.
  void send_problem(int status, std::string_view detail) const;
  // The same as send() after a delay.
  void send_after(Duration delay, const Response& response) const;

 private:
  std::shared_ptr<transport::Link> link_;
  HttpProtocol* protocol_;  // alive while link_ is
  std::uint64_t number_;
  std::shared_ptr<ResponseRecorder> recorder_;  // usually null
};

// Where a StreamSource writes. Valid as long as the source is.
class StreamWriter {
 public:
  StreamWriter(transport::Link& link, HttpProtocol& protocol, std::uint64_t number)
      : link_(&link), protocol_(&protocol), number_(number) {}

  // True: the client has not taken what was written. What is written now would wait in memory, so a source skips it.
  bool congested() const;
  void write(std::string_view bytes) const;
  // Releases the source.
  void end() const;
  // Runs `task` on the loop after `delay`, unless the connection is closed by then. The task must not hold the source.
  void after(Duration delay, std::function<void()> task) const { link_->after(delay, std::move(task)); }

 private:
  transport::Link* link_;
  HttpProtocol* protocol_;
  std::uint64_t number_;
};

// The body of an answer that has no end of its own, such as server-sent events. On its connection's loop, which holds
// it until the client leaves, the server drains, or it ends itself.
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  // Once, when the head of the answer has been written.
  virtual void start(const StreamWriter& writer) = 0;
};

// The answer to the request being handled. A handler calls send(), defer() or stream(), once.
class ResponseWriter {
 public:
  ResponseWriter(HttpProtocol& protocol, const ResponseForm& form) : protocol_(protocol), form_(form) {}
  // For an answer that was deferred before. Precondition: its connection is open.
  explicit ResponseWriter(LaterResponse later) : protocol_(later.protocol()), later_(std::move(later)) {}

  void send(const Response& response);
  // application/problem+json.
  // `code` is for programs; empty: the problem has none.
  void send_problem(int status, std::string_view detail, std::string_view fields = {}, std::string_view code = {});
  LaterResponse defer();
  // Answers with the head of `response`, then with what the source writes. The connection ends with it.
  void stream(const Response& response, std::shared_ptr<StreamSource> source);
  // The answer, whenever it is ready, is written this much later. Before send() and defer().
  void hold(Duration delay) { form_.hold = delay; }
  // Shows the answer to `recorder` when it is ready. Before send() and defer().
  void record(std::shared_ptr<ResponseRecorder> recorder) { recorder_ = std::move(recorder); }

  const transport::Peer& peer() const;
  bool used() const { return used_; }

 private:
  HttpProtocol& protocol_;
  ResponseForm form_;
  std::shared_ptr<ResponseRecorder> recorder_;  // usually null
  std::optional<LaterResponse> later_;          // usually none
  bool used_ = false;
};

using Handler = std::function<void(const HttpRequest&, ResponseWriter&)>;

// Decides whether a request reaches its handler.
class Guard {
 public:
  virtual ~Guard() = default;

  // False: it has answered the request itself. `role` is the route's.
  virtual bool admit(const HttpRequest& request, std::string_view role, ResponseWriter& writer) = 0;
};

struct Route {
  std::string method{};        // "GET" answers HEAD too; empty: any
  std::string path{};          // "/v1/check", "/v1/tenants/{tenant}"
  std::size_t body_bytes = 0;  // the largest body; 0: HttpLimits::body_bytes
  Handler handler{};
  std::string role{};              // what the guard asks for; empty: no role
  bool open = false;               // behind no guard
  std::shared_ptr<Guard> guard{};  // null: the router's

  bool has_parameters() const { return path.find('{') != std::string::npos; }
};

class Router {
 public:
  void add(Route route);
  // The guard of every route that is not open and has none of its own. Null: all are open.
  void set_guard(std::shared_ptr<Guard> guard) { guard_ = std::move(guard); }

  const std::vector<Route>& routes() const { return routes_; }
  // Null if there is none; `allow` then lists the methods that the path does have, empty for an unknown path.
  const Route* find(std::string_view method, std::string_view path, std::string& allow) const;
  // Null: anyone may call the route.
  Guard* guard_of(const Route& route) const;

 private:
  std::vector<Route> routes_;
  std::shared_ptr<Guard> guard_;
};

// The parameters of a path that find() has matched with the route. False: one has an invalid percent escape, or is not
// UTF-8 without NUL once decoded.
bool read_parameters(const Route& route, std::string_view path, std::vector<PathParameter>& parameters);

}  // namespace weir::http
