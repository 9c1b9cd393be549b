#include "frontends/http/recorded_answer.h"

namespace weir::http {
namespace {

constexpr char kAnswerVersion = 1;
constexpr std::size_t kAnswerHead = 9;

void put_number(std::string& out, std::size_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::size_t read_number(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

// Whole lines, none of them empty: an empty one would end the header.
bool are_fields(std::string_view fields) {
  while (!fields.empty()) {
    const std::size_t end = fields.find("\r\n");
    if (end == std::string_view::npos || end == 0) return false;
    if (fields.substr(0, end).find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return false;
    fields.remove_prefix(end + 2);
  }
  return true;
}

}  // namespace

std::string encode_answer(const RecordedAnswer& answer) {
  std::string bytes(1, kAnswerVersion);
  put_number(bytes, static_cast<std::size_t>(answer.status), 2);
  put_number(bytes, answer.content_type.size(), 2);
  put_number(bytes, answer.fields.size(), 4);
  bytes += answer.content_type;
  bytes += answer.fields;
  bytes += answer.body;
  return bytes;
}

std::optional<RecordedAnswer> decode_answer(std::string_view bytes) {
  if (bytes.size() < kAnswerHead || bytes[0] != kAnswerVersion) return std::nullopt;
  RecordedAnswer answer;
  answer.status = static_cast<int>(read_number(bytes.substr(1, 2)));
  const std::size_t type = read_number(bytes.substr(3, 2));
  const std::size_t fields = read_number(bytes.substr(5, 4));
  bytes.remove_prefix(kAnswerHead);
  if (answer.status < 200 || answer.status > 599 || type > bytes.size() || fields > bytes.size() - type) {
    return std::nullopt;
  }
  answer.content_type = bytes.substr(0, type);
  answer.fields = bytes.substr(type, fields);
  answer.body = bytes.substr(type + fields);
  const bool is_type = answer.content_type.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
  if (!is_type || !are_fields(answer.fields)) return std::nullopt;
  return answer;
}

}  // namespace weir::http
