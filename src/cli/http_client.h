// HttpClient: one blocking connection to a Weir server, kept open between requests.
//
// Speaks the HTTP/1.1 that our server answers with (Content-Length, no chunks); refuses anything else. Every wait and
// every buffer is bounded. Not thread-safe. Failures: unavailable (nobody answers), invalid_argument (the address is
// no address), internal (the answer is not HTTP).
#pragma once

#include <string>
#include <string_view>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::cli {

// http://host:port, host:port, or unix:/path
struct ServerAddress {
  std::string host;
  std::string port;
  std::string path;  // of a Unix socket; then host and port are empty
  std::string text;  // as given

  static Result<ServerAddress> parse(std::string_view text);
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

class HttpClient {
 public:
  static constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20;

  HttpClient(ServerAddress server, Duration timeout) : server_(std::move(server)), timeout_(timeout) {}
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // A kept connection that the server has closed meanwhile is opened again, once.
  Result<HttpAnswer> post(std::string_view target, std::string_view body);

 private:
  Status connect();
  Status connect_tcp();
  Status connect_local();
  Status open(int family, const void* address, unsigned length, int protocol);
  Result<HttpAnswer> exchange(std::string_view request);
  Failure failed(std::string_view what) const;
  void close();

  const ServerAddress server_;
  const Duration timeout_;
  int fd_ = -1;
  bool answered_ = false;  // bytes of the current answer have arrived
};

}  // namespace weir::cli
