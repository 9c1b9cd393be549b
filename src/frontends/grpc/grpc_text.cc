#include "frontends/grpc/grpc_text.h"

#include <array>
#include <cstdint>

namespace weir::grpc {
namespace {

constexpr std::size_t kMaxTimeoutDigits = 8;
constexpr std::string_view kGrpcContentType = "application/grpc";

}  // namespace

std::optional<Duration> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kMaxTimeoutDigits + 1) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  switch (text.back()) {
    case 'H':
      return std::chrono::hours(value);
    case 'M':
      return std::chrono::minutes(value);
    case 'S':
      return std::chrono::seconds(value);
    case 'm':
      return std::chrono::milliseconds(value);
    case 'u':
      return Duration(value);
    case 'n':
      return Duration((value + 999) / 1000);
    default:
      return std::nullopt;
  }
}

bool is_grpc_content_type(std::string_view text) {
  if (!text.starts_with(kGrpcContentType)) return false;
  text.remove_prefix(kGrpcContentType.size());
  if (text.starts_with("+proto")) text.remove_prefix(6);
  return text.empty() || text.front() == ';';
}

std::string_view status_text(Code code) {
  static constexpr std::array<std::string_view, 17> kTexts = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
                                                              "9", "10", "11", "12", "13", "14", "15", "16"};
  return kTexts[static_cast<std::size_t>(code)];
}

void append_percent_encoded(std::string& out, std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text.substr(0, kMaxStatusMessage)) {
    if (c >= 0x20 && c < 0x7f && c != '%') {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

}  // namespace weir::grpc
