#include "frontends/spop/frame.h"

#include <algorithm>
#include <optional>

namespace weir::spop {
namespace {

constexpr std::string_view kVersion = "2.0";
constexpr std::string_view kMajor = "2.";
constexpr std::string_view kPipelining = "pipelining";

// Takes the next item of a comma-separated list, without the spaces around it.
std::string_view next_item(std::string_view& list) {
  const std::size_t comma = std::min(list.find(','), list.size());
  std::string_view item = list.substr(0, comma);
  list.remove_prefix(std::min(list.size(), comma + 1));
  while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
  while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
  return item;
}

template <typename Fits>
bool any_item(std::string_view list, Fits fits) {
  while (!list.empty()) {
    if (fits(next_item(list))) return true;
  }
  return false;
}

}  // namespace

std::string_view farewell_text(Farewell code) {
  switch (code) {
    case Farewell::normal:
      return "normal";
    case Farewell::timeout:
      return "a timeout occurred";
    case Farewell::too_big:
      return "frame is too big";
    case Farewell::invalid:
      return "invalid frame received";
    case Farewell::no_version:
      return "version value not found";
    case Farewell::no_max_frame_size:
      return "max-frame-size value not found";
    case Farewell::no_capabilities:
      return "capabilities value not found";
    case Farewell::unsupported_version:
      return "unsupported version, expected 2.0";
    case Farewell::bad_max_frame_size:
      return "max-frame-size too big or too small";
    case Farewell::fragmentation_not_supported:
      return "fragmentation not supported";
  }
  return "unknown error";
}

bool read_frame(std::string_view bytes, Frame& frame) {
  Cursor cursor(bytes);
  std::uint8_t type = 0;
  if (!cursor.byte(type) || !cursor.uint32(frame.flags) || !cursor.varint(frame.stream) || !cursor.varint(frame.id)) {
    return false;
  }
  frame.type = static_cast<FrameType>(type);
  frame.payload = cursor.rest();
  return true;
}

std::size_t begin_frame(std::string& out, FrameType type, std::uint64_t stream, std::uint64_t id) {
  const std::size_t begun = out.size();
  out.append(kLengthBytes, '\0');
  out += static_cast<char>(type);
  put_uint32(out, kFinal);
  put_varint(out, stream);
  put_varint(out, id);
  return begun;
}

void end_frame(std::string& out, std::size_t begun) {
  const auto size = static_cast<std::uint32_t>(out.size() - begun - kLengthBytes);
  for (std::size_t i = 0; i < kLengthBytes; ++i) out[begun + i] = static_cast<char>(size >> (24 - 8 * i) & 0xff);
}

Farewell read_hello(const Frame& frame, std::uint32_t most, Hello& hello) {
  std::optional<std::string_view> versions;
  std::optional<std::string_view> capabilities;
  std::optional<std::uint64_t> max_frame_bytes;
  if (frame.stream != 0 || frame.id != 0) return Farewell::invalid;
  Cursor cursor(frame.payload);
  while (!cursor.at_end()) {
    std::string_view name;
    Value value;
    if (!cursor.string(name) || !cursor.value(value)) return Farewell::invalid;
    if (name == "supported-versions" && value.type == ValueType::text) versions = value.bytes;
    if (name == "capabilities" && value.type == ValueType::text) capabilities = value.bytes;
    if (name == "max-frame-size" && value.type == ValueType::uint32) max_frame_bytes = value.number;
    if (name == "healthcheck" && value.type == ValueType::boolean) hello.healthcheck = value.number == 1;
  }
  if (!versions) return Farewell::no_version;
  if (!any_item(*versions, [](std::string_view version) { return version.starts_with(kMajor); })) {
    return Farewell::unsupported_version;
  }
  if (!max_frame_bytes) return Farewell::no_max_frame_size;
  if (*max_frame_bytes < kMinFrameBytes) return Farewell::bad_max_frame_size;
  if (!capabilities) return Farewell::no_capabilities;
  hello.max_frame_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(*max_frame_bytes, most));
  hello.pipelining = any_item(*capabilities, [](std::string_view item) { return item == kPipelining; });
  return Farewell::normal;
}

void write_hello(std::string& out, const Hello& hello) {
  const std::size_t begun = begin_frame(out, FrameType::agent_hello, 0, 0);
  put_string(out, "version");
  put_text_value(out, kVersion);
  put_string(out, "max-frame-size");
  put_uint32_value(out, hello.max_frame_bytes);
  put_string(out, "capabilities");
  put_text_value(out, hello.pipelining ? kPipelining : std::string_view());
  end_frame(out, begun);
}

void write_disconnect(std::string& out, Farewell code) {
  const std::size_t begun = begin_frame(out, FrameType::agent_disconnect, 0, 0);
  put_string(out, "status-code");
  put_uint32_value(out, static_cast<std::uint32_t>(code));
  put_string(out, "message");
  put_text_value(out, farewell_text(code));
  end_frame(out, begun);
}

}  // namespace weir::spop
