// JsonBody: a JSON object in a request's body, read strictly with simdjson. For the files that read bodies
// (check_body.cc, hold_body.cc): everyone else includes their headers, which do not need simdjson.
//
// A body that is not valid UTF-8 is read up to the member that has the first wrong byte, so that the message can name
// it. The buffer is kept between bodies. Not thread-safe.
#pragma once

#include <simdjson.h>

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::http {

namespace ondemand = simdjson::ondemand;

inline Failure bad(std::string message) { return {Code::invalid_argument, std::move(message)}; }
// A member's name in a message: a caller's text, so never at full length.
std::string shown(std::string_view name);
// What simdjson found, in our words.
std::string json_fault(simdjson::error_code error);

class JsonBody {
 public:
  // Calls `read_document` with the object, which returns a Status. The failure has line and column if the text is not
  // JSON.
  template <typename Read>
  Status read(std::string_view body, Read read_document) {
    Status status = read_strictly(body, read_document);
    return status.ok() ? status : located(status, body);
  }

  // Whether what has been read up to `end` has bytes that are not UTF-8.
  bool broken_before(const char* end) const { return broken_ != nullptr && broken_ < end; }
  bool broken_in(ondemand::value& value) const {
    if (broken_ == nullptr) return false;
    const std::string_view token = value.raw_json_token();
    return broken_before(token.data() + token.size());
  }

 private:
  simdjson::padded_string_view pad(std::string_view body);
  simdjson::padded_string_view replace_invalid(std::size_t size);
  Status open(std::string_view body, ondemand::document& document, ondemand::object& object);
  Status finish(ondemand::document& document) const;
  static Status located(const Status& status, std::string_view body);

  template <typename Read>
  Status read_strictly(std::string_view body, Read read_document) {
    ondemand::document document;
    ondemand::object object;
    if (Status status = open(body, document, object); !status.ok()) return status;
    if (Status status = read_document(object); !status.ok()) return status;
    return finish(document);
  }

  ondemand::parser parser_;
  std::unique_ptr<char[]> text_;  // the body, with the padding that simdjson wants behind it
  std::size_t capacity_ = 0;
  const char* broken_ = nullptr;  // in `text_`: the first byte of a body that is not UTF-8; null: it is UTF-8
};

// A string without escapes, from behind its opening quote, read in place. False: it has escapes. The first pass
// over the document has already refused control characters, invalid UTF-8 and strings without an end.
inline bool read_plain(const char* begin, std::string_view& text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word; };
  const char* end = begin;
  std::uint64_t found = 0;
  // Eight at a time up to the word that has the end: the padding behind the document may be read.
  for (;; end += 8) {
    std::uint64_t word;
    std::memcpy(&word, end, 8);
    found = (zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\'))) & kHighs;
    if (found != 0) break;
  }
  // The lowest mark is exact, and with little-endian words it is the first character.
  static_assert(std::endian::native == std::endian::little);
  end += std::countr_zero(found) / 8;
  text = {begin, static_cast<std::size_t>(end - begin)};
  return *end == '"';
}

inline simdjson::error_code read_name(simdjson::simdjson_result<ondemand::field>& field, std::string_view& name) {
  ondemand::raw_json_string raw;
  if (auto error = field.key().get(raw)) return error;
  if (read_plain(raw.raw(), name)) return simdjson::SUCCESS;
  return field.unescaped_key().get(name);
}

inline simdjson::error_code read_string(ondemand::value& value, std::string_view& text) {
  const std::string_view token = value.raw_json_token();
  if (token.empty() || token.front() != '"') return simdjson::INCORRECT_TYPE;
  if (!read_plain(token.data() + 1, text)) return value.get_string().get(text);
  return value.get_raw_json_string().error();
}

}  // namespace weir::http
