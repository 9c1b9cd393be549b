// gRPC's own notations in header fields: timeouts, status numbers, percent-encoded messages, content types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::grpc {

// "100m", "5S", …: one to eight digits and a unit. Nanoseconds are rounded up. Empty when it is anything else.
std::optional<Duration> parse_timeout(std::string_view text);

// "application/grpc", also with "+proto" or with parameters.
bool is_grpc_content_type(std::string_view text);

// The decimal number of a code, for grpc-status.
std::string_view status_text(Code code);

// Appends `text` as grpc-message wants it: printable ASCII but for '%', the rest as %XX. Cut at kMaxStatusMessage.
inline constexpr std::size_t kMaxStatusMessage = 1024;
void append_percent_encoded(std::string& out, std::string_view text);

}  // namespace weir::grpc
