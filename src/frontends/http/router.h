// Router: which handler answers which method and path. ResponseWriter and LaterResponse: how it answers.
//
//   router.add({.method = "GET", .path = "/metrics", .handler = [&](const HttpRequest&, ResponseWriter& writer) {
//     writer.send({.content_type = "text/plain; version=0.0.4", .body = metrics.text()});
//   }});
//
// A router is filled before the first connection and then only read. Handlers run on their connection's loop; a router
// that several loops share needs handlers that several threads may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/http/http_message.h"
#include "frontends/http/response.h"
#include "frontends/transport/protocol.h"

namespace weir::http {

class HttpProtocol;

// An answer that comes after its handler has returned. Copies stand for the same answer. Keeps the connection alive.
class LaterResponse {
 public:
  LaterResponse(std::shared_ptr<transport::Link> link, HttpProtocol& protocol, std::uint64_t number)
      : link_(std::move(link)), protocol_(&protocol), number_(number) {}

  transport::Link& link() const { return *link_; }

  // Once, on the link's loop. Does nothing if the client has left.
  void send(const Response& response) const;
  // The same as application/problem+json.
  void send_problem(int status, std::string_view detail) const;
  // The same as send() after a delay.
  void send_after(Duration delay, const Response& response) const;

 private:
  std::shared_ptr<transport::Link> link_;
  HttpProtocol* protocol_;  // alive while link_ is
  std::uint64_t number_;
};

// The answer to the request being handled. A handler calls send() or defer(), once.
class ResponseWriter {
 public:
  ResponseWriter(HttpProtocol& protocol, const ResponseForm& form) : protocol_(protocol), form_(form) {}

  void send(const Response& response);
  // application/problem+json.
  void send_problem(int status, std::string_view detail, std::string_view fields = {});
  LaterResponse defer();

  const transport::Peer& peer() const;
  bool used() const { return used_; }

 private:
  HttpProtocol& protocol_;
  const ResponseForm form_;
  bool used_ = false;
};

using Handler = std::function<void(const HttpRequest&, ResponseWriter&)>;

struct Route {
  std::string method{};        // "GET" answers HEAD too; empty: any
  std::string path{};          // exact
  std::size_t body_bytes = 0;  // the largest body; 0: HttpLimits::body_bytes
  Handler handler{};
};

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }

  // Null if there is none; `allow` then lists the methods that the path does have, empty for an unknown path.
  const Route* find(std::string_view method, std::string_view path, std::string& allow) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace weir::http
