// HttpRequest and HttpLimits: one parsed request, and how large one may be.
//
// A request only refers to the connection's buffer (and to its parser, for a chunked body): valid until the handler
// returns.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weir/request.h"

namespace weir::http {

struct HttpLimits {
  std::size_t request_line_bytes = 8192;
  std::size_t header_bytes = std::size_t{16} << 10;  // request line and fields together
  std::size_t header_count = 100;
  std::size_t body_bytes = std::size_t{64} << 10;  // where a route does not say otherwise
};

// Bytes that chunked coding may add to a body: size lines, extensions, line ends and trailers.
inline constexpr std::size_t kMaxChunkOverhead = std::size_t{64} << 10;
inline constexpr std::size_t kMaxChunkLine = 256;
inline constexpr std::size_t kMaxTrailerBytes = 4096;
inline constexpr std::size_t kMaxMethodBytes = 32;

// A message above this size asks for memory before its body is read (Link::reserve).
inline constexpr std::size_t kSmallMessage = std::size_t{16} << 10;

struct HttpField {
  std::string_view name;
  std::string_view value;
};

// A part of the path that a route names: "acme" for {tenant}.
struct PathParameter {
  std::string_view name;
  std::string value;  // percent-decoded
};

struct HttpRequest {
  std::string_view method;
  std::string_view path;   // as sent, not percent-decoded
  std::string_view query;  // without the question mark
  std::span<const HttpField> fields;
  std::string_view body;
  int minor_version = 1;
  bool keep_alive = true;
  std::span<const PathParameter> parameters{};
  std::string_view once_name{};  // of a request with an Idempotency-Key: a hash of the caller and the key
  Once once{};                   // of an Idempotency-Key that several nodes share (once.h)

  // Empty if the route has no parameter of this name.
  std::string_view parameter(std::string_view name) const {
    for (const PathParameter& each : parameters) {
      if (each.name == name) return each.value;
    }
    return {};
  }

  // The first field of this name, compared without regard to case; null if there is none.
  const HttpField* find(std::string_view name) const;
};

}  // namespace weir::http
