#include "frontends/spop/notify.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "weir/allowance.h"

namespace weir::frontends::spop {
namespace {

// Enough for any number and any address.
constexpr std::size_t kMaxRendered = INET6_ADDRSTRLEN;
constexpr char kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\xff', '\xff'};

bool is_signed(ValueType type) { return type == ValueType::int32 || type == ValueType::int64; }

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

}  // namespace

NotifyReader::Found NotifyReader::read(std::string_view payload, Request& request) {
  count_ = 0;
  rendered_.clear();
  rendered_.reserve(kMaxAttributes * kMaxRendered);
  request = {};
  bool acceptable = true;
  Cursor cursor(payload);
  while (!cursor.at_end()) {
    std::string_view message;
    std::uint8_t arguments = 0;
    if (!cursor.string(message) || !cursor.byte(arguments)) return Found::malformed;
    for (int i = 0; i < arguments; ++i) {
      std::string_view name;
      Value value;
      if (!cursor.string(name) || !cursor.value(value)) return Found::malformed;
      acceptable = acceptable && take(name, value, request);
    }
  }
  request.attributes = {attributes_.data(), count_};
  return acceptable ? Found::request : Found::unacceptable;
}

// False: the argument cannot be part of a request.
bool NotifyReader::take(std::string_view name, const Value& value, Request& request) {
  if (value.type == ValueType::null) return true;
  if (name == "cost") {
    const std::optional<std::int64_t> cost = cost_of(value);
    if (cost) request.cost.units = *cost;
    return cost.has_value();
  }
  if (name == "peek") {
    request.peek = is_true(value);
    return true;
  }
  if (name.empty() || name.size() > kMaxAttributeName || count_ == kMaxAttributes) return false;
  const std::string_view text = text_of(value);
  if (text.size() > kMaxAttributeValue) return false;
  attributes_[count_++] = {name == "src" ? std::string_view("ip") : name, text};
  return true;
}

std::string_view NotifyReader::text_of(const Value& value) {
  if (value.is_text()) return value.bytes;
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

}  // namespace weir::frontends::spop
