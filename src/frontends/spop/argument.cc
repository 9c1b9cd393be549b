#include "frontends/spop/argument.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>

#include "weir/allowance.h"

namespace weir::spop {
namespace {

// Enough for any number and any address.
constexpr std::size_t kMaxRendered = INET6_ADDRSTRLEN;
constexpr char kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\xff', '\xff'};

bool is_signed(ValueType type) { return type == ValueType::int32 || type == ValueType::int64; }

}  // namespace

std::optional<std::int64_t> cost_of(const Value& value) {
  std::int64_t cost = -1;
  if (value.is_number()) {
    cost = static_cast<std::int64_t>(value.number);  // an unsigned one beyond our range turns negative: refused
  } else if (value.is_text()) {
    const char* const end = value.bytes.data() + value.bytes.size();
    const auto [stop, error] = std::from_chars(value.bytes.data(), end, cost);
    if (error != std::errc() || stop != end) return std::nullopt;
  }
  if (cost < 0 || cost > kMaxUnits) return std::nullopt;
  return cost;
}

bool is_true(const Value& value) {
  if (value.is_text()) return value.bytes == "1" || value.bytes == "true";
  return value.number != 0;
}

void ArgumentTexts::clear(std::size_t most) {
  rendered_.clear();
  rendered_.reserve(most * kMaxRendered);
}

std::string_view ArgumentTexts::of(const Value& value) {
  if (value.is_text() || value.type == ValueType::null) return value.bytes;
  if (value.type == ValueType::boolean) return value.number != 0 ? "true" : "false";
  char text[kMaxRendered];
  std::size_t size = 0;
  if (value.is_number()) {
    char* const end = text + sizeof text;
    char* const stop = is_signed(value.type) ? std::to_chars(text, end, static_cast<std::int64_t>(value.number)).ptr
                                             : std::to_chars(text, end, value.number).ptr;
    size = static_cast<std::size_t>(stop - text);
  } else {
    const bool mapped =
        value.type == ValueType::ipv6 && std::memcmp(value.bytes.data(), kMappedPrefix, sizeof kMappedPrefix) == 0;
    const std::string_view bytes = mapped ? value.bytes.substr(sizeof kMappedPrefix) : value.bytes;
    inet_ntop(bytes.size() == sizeof(in_addr) ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
    size = std::strlen(text);
  }
  const std::size_t start = rendered_.size();
  rendered_.append(text, size);
  return std::string_view(rendered_).substr(start);
}

}  // namespace weir::spop
