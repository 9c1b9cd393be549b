// HttpPost: posts to a URL, and says whether the receiver took it. One connection for each post. Blocking; not for
// event loops.
//
// Only the status line of the answer is read. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/http_client.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

class HttpPost {
 public:
  // `url` is http:// or https://, with host, port and path. Failure: invalid_argument.
  static Result<std::unique_ptr<HttpPost>> make(const std::string& url, Duration timeout);

  // The status of the answer. `fields` are further header fields, each "Name: value\r\n". Failure: unavailable (no
  // answer), and those of cli/tls_stream.h.
  Result<int> post(std::string_view body, std::string_view content_type, std::string_view fields) const;

  // As it was given, without a password in it.
  const std::string& where() const { return address_.text; }
  // Of the URL; "/" if it has none.
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }

 private:
  HttpPost() = default;
  Result<int> connect() const;

  cli::ServerAddress address_;
  std::string host_;  // as the field Host has it
  std::string path_;
  Duration timeout_{0};
  std::shared_ptr<const cli::ClientTls> tls_;
};

}  // namespace weir::server
