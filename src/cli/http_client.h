// HttpClient: one blocking connection to a Weir server, kept open between requests.
//
// Speaks the HTTP/1.1 that our server answers with (Content-Length or a stream, no chunks), with or without TLS;
// refuses anything else. Every wait and every buffer is bounded. Not thread-safe. Failures: unavailable (no answer),
// invalid_argument (not an address), internal (the answer is not HTTP), and those of tls_stream.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::cli {

class ClientTls;
class TlsStream;

// http://host:port, https://host[:port], host:port, or unix:/path
struct ServerAddress {
  bool tls = false;
  std::string host;
  std::string port;
  std::string path;  // of a Unix socket; then host and port are empty
  std::string text;  // as given

  static Result<ServerAddress> parse(std::string_view text);
};

// The server, and how to call it.
struct ServerTarget {
  ServerAddress address;
  Duration timeout{};
  std::shared_ptr<const ClientTls> tls;  // set if address.tls
  std::string token;                     // sent as a bearer token; empty: none
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

class HttpClient {
 public:
  static constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20;

  explicit HttpClient(ServerTarget target);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // A kept connection that the server has closed meanwhile is opened again, once.
  // `fields` are further header fields, each "Name: value\r\n".
  Result<HttpAnswer> request(std::string_view method, std::string_view target, std::string_view body = {},
                             std::string_view fields = {});
  Result<HttpAnswer> post(std::string_view target, std::string_view body) { return request("POST", target, body); }
  // GETs an answer that ends with its connection, and shows what comes until `see` returns false. Another answer than
  // 200 is returned as usual. The server's silence is bounded by the timeout.
  Result<HttpAnswer> stream(std::string_view target, const std::function<bool(std::string_view)>& see);

 private:
  Status connect();
  Status connect_tcp();
  Status connect_local();
  Status send(std::string_view bytes);
  // At least one byte, or 0 at the end of the connection.
  Result<std::size_t> receive(char* buffer, std::size_t size);
  Status open(int family, const void* address, unsigned length, int protocol);
  Result<HttpAnswer> exchange(std::string_view request);
  std::string head_of(std::string_view method, std::string_view target, std::size_t body_bytes) const;
  Failure failed(std::string_view what) const;
  void close();

  const ServerTarget target_;
  const ServerAddress& server_ = target_.address;
  int fd_ = -1;
  std::unique_ptr<TlsStream> tls_;  // null: the bytes go over the socket as they are
  bool answered_ = false;           // bytes of the current answer have arrived
};

}  // namespace weir::cli
