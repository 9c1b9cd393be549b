#include "observe/traceparent.h"

#include <algorithm>
#include <span>

#include "base/ascii.h"

namespace weir::observe {
namespace {

constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kParentAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kWholeSize = 55;
constexpr std::int64_t kWhole = 1'000'000;

// Capital letters are not allowed.
int small_hex_digit(char c) { return c >= 'A' && c <= 'F' ? -1 : base::hex_digit(c); }

bool read_hex(std::string_view digits, std::span<std::uint8_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = small_hex_digit(digits[2 * i]);
    const int low = small_hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

bool is_zero(std::span<const std::uint8_t> id) {
  return std::all_of(id.begin(), id.end(), [](std::uint8_t byte) { return byte == 0; });
}

void write_bytes(std::span<std::uint8_t> out, std::uint64_t value) {
  for (std::uint8_t& byte : out) {
    byte = static_cast<std::uint8_t>(value);
    value >>= 8;
  }
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < kWholeSize || text[kTraceAt - 1] != '-' || text[kParentAt - 1] != '-' ||
      text[kFlagsAt - 1] != '-') {
    return std::nullopt;
  }
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  TraceContext context;
  const bool read = read_hex(text, version) && read_hex(text.substr(kTraceAt), context.trace) &&
                    read_hex(text.substr(kParentAt), context.parent) && read_hex(text.substr(kFlagsAt), flags);
  if (!read || version[0] == 0xff || is_zero(context.trace) || is_zero(context.parent)) return std::nullopt;
  const bool longer = text.size() > kWholeSize;
  if (longer && (version[0] == 0 || text[kWholeSize] != '-')) return std::nullopt;
  context.sampled = (flags[0] & 1U) != 0;
  return context;
}

std::string trace_id_text(const TraceId& id) {
  std::string text;
  for (const std::uint8_t byte : id) base::append_hex(text, byte);
  return text;
}

std::uint64_t TraceRandom::next() {
  state_ += 0x9E3779B97F4A7C15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
  return mixed ^ mixed >> 31;
}

SpanId TraceRandom::span() {
  SpanId id{};
  while (is_zero(id)) write_bytes(id, next());
  return id;
}

TraceId TraceRandom::trace() {
  TraceId id{};
  while (is_zero(id)) {
    write_bytes(std::span(id).first(8), next());
    write_bytes(std::span(id).last(8), next());
  }
  return id;
}

const TraceContext* TraceChoice::begin(std::string_view traceparent) {
  if (!traceparent.empty()) {
    if (const std::optional<TraceContext> given = parse_traceparent(traceparent)) {
      current_ = *given;
      return &current_;
    }
  }
  if (sample_ == 0 || static_cast<std::int64_t>(random_.next() % kWhole) >= sample_) return nullptr;
  current_ = {.trace = random_.trace(), .parent = {}, .sampled = true};
  return &current_;
}

}  // namespace weir::observe
