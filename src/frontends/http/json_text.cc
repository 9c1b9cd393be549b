#include "frontends/http/json_text.h"

#include "frontends/http/response.h"

namespace weir::http {
namespace {

bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

void append_escaped(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else {
    out += "\\u00";
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
}

// The length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t utf8_sequence(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const int first = at(0);
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) >= 0xa0;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool beyond = first == 0xf4 && at(1) >= 0x90;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(static_cast<unsigned char>(text[plain]))) ++plain;
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    if (c < 0x80) {
      append_escaped(out, c);
      text.remove_prefix(1);
      continue;
    }
    const std::size_t sequence = utf8_sequence(text);
    if (sequence == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      out.append(text.data(), sequence);
      text.remove_prefix(sequence);
    }
  }
  out += '"';
}

void append_problem(std::string& out, int status, std::string_view detail) {
  out += R"({"type":"about:blank","title":)";
  append_json_string(out, status_phrase(status));
  out += R"(,"status":)";
  append_number(out, status);
  out += R"(,"detail":)";
  append_json_string(out, detail);
  out += '}';
}

}  // namespace weir::http
