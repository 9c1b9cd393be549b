#include "frontends/http/json_fault.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir::http {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool take_digits(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0')) {
    text.remove_prefix(1);
  } else if (!take_digits(text)) {
    return false;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<JsonFault> run() {
    while (!fault_ && !done_) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      step(at_ < text_.size() ? text_[at_] : '\0');
    }
    return fault_;
  }

 private:
  enum class Next { value, value_or_end, name, name_or_end, colon, more_or_end };

  void step(char c) {
    switch (next_) {
      case Next::value:
        return value(c);
      case Next::value_or_end:
        return c == ']' ? close() : value(c);
      case Next::name:
        if (c == '}') return fail(at_, "a name: remove the comma before '}'");
        return name(c, "a name in double quotes");
      case Next::name_or_end:
        return c == '}' ? close() : name(c, "a name in double quotes, or '}'");
      case Next::colon:
        if (c != ':') return fail(at_, "':' after the name");
        ++at_;
        next_ = Next::value;
        return;
      case Next::more_or_end:
        return more(c);
    }
  }

  void value(char c) {
    if (c == '{' || c == '[') {
      open_ += c;
      ++at_;
      next_ = c == '{' ? Next::name_or_end : Next::value_or_end;
      return;
    }
    next_ = Next::more_or_end;
    if (c == '"') return string();
    if (c == '\'') return fail(at_, "a value: strings need double quotes");
    if (c == ']' && open_.ends_with('[')) return fail(at_, "a value: remove the comma before ']'");
    word();
  }

  void name(char c, std::string_view expected) {
    if (c != '"') return fail(at_, expected);
    next_ = Next::colon;
    string();
  }

  void more(char c) {
    if (open_.empty()) {
      done_ = at_ == text_.size();
      if (!done_) fail(at_, "nothing more");
      return;
    }
    const bool in_object = open_.back() == '{';
    if (c == (in_object ? '}' : ']')) return close();
    if (c != ',') return fail(at_, in_object ? "',' or '}'" : "',' or ']'");
    ++at_;
    next_ = in_object ? Next::name : Next::value;
  }

  void close() {
    open_.pop_back();
    ++at_;
    next_ = Next::more_or_end;
  }

  // true, false, null or a number.
  void word() {
    constexpr std::string_view kEnds = " \t\r\n,:[]{}\"";
    const std::size_t end = std::min(text_.find_first_of(kEnds, at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    if (word != "true" && word != "false" && word != "null" && !is_number(word)) return fail(at_, "a value");
    at_ = end;
  }

  void string() {
    const std::size_t begin = at_++;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      if (static_cast<unsigned char>(c) < 0x20)
        return fail(at_, "an escape such as \\n in place of a control character");
      if (c == '\\' && !escape()) return fail(at_, "an escape such as \\n or \\u00e9");
    }
    fail(begin, "a closing quote for the string that begins here");
  }

  // From the backslash; leaves off at the last character.
  bool escape() {
    constexpr std::string_view kShort = "\"\\/bfnrt";
    const std::string_view rest = text_.substr(at_ + 1);
    if (rest.empty()) return true;  // the missing end of the string is reported
    if (kShort.find(rest.front()) != std::string_view::npos) {
      ++at_;
      return true;
    }
    if (rest.front() != 'u' || rest.size() < 5) return false;
    for (std::size_t i = 1; i < 5; ++i) {
      if (base::hex_digit(rest[i]) < 0) return false;
    }
    at_ += 5;
    return true;
  }

  void fail(std::size_t offset, std::string_view expected) {
    fault_ = JsonFault{offset, std::string(expected)};
    if (offset == text_.size()) fault_->expected += ", but the text ends here";
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  Next next_ = Next::value;
  std::string open_;  // the brackets that are open, '{' or '['
  bool done_ = false;
  std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text) { return Scanner(text).run(); }

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none: npos + 1
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const auto columns = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_begin), before.end(),
                                     [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(columns + 1);
}

}  // namespace weir::http
