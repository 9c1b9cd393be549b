#include "base/text_template.h"

#include <algorithm>

namespace weir::base {
namespace {

// One piece at a time.
class TemplateReader {
 public:
  explicit TemplateReader(std::string_view text) : rest_(text) {}

  enum class Piece { text, placeholder, open, close, end };  // open, close: a brace without its counterpart

  Piece next() {
    if (rest_.empty()) return Piece::end;
    if (rest_.starts_with("{{") || rest_.starts_with("}}")) return take(1, 2, Piece::text);
    if (rest_.front() == '}') return Piece::close;
    if (rest_.front() != '{') {
      const std::size_t length = std::min(rest_.find_first_of("{}"), rest_.size());
      return take(length, length, Piece::text);
    }
    const std::size_t end = rest_.find_first_of("{}", 1);
    if (end == std::string_view::npos || rest_[end] == '{') return Piece::open;
    rest_.remove_prefix(1);
    return take(end - 1, end, Piece::placeholder);
  }
  // The text, or the placeholder's name.
  std::string_view value() const { return value_; }

 private:
  Piece take(std::size_t value, std::size_t length, Piece piece) {
    value_ = rest_.substr(0, value);
    rest_.remove_prefix(length);
    return piece;
  }

  std::string_view rest_;
  std::string_view value_;
};

std::string in_braces(std::string_view name) {
  constexpr std::size_t kMaxShown = 32;
  if (name.size() <= kMaxShown) return "{" + std::string(name) + "}";
  std::size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // not inside a character
  return "{" + std::string(name.substr(0, end)) + "…}";
}

// "{limit}, {window} or {wait}"
std::string all_of(std::span<const std::string_view> names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += in_braces(names[i]);
  }
  return out;
}

}  // namespace

std::optional<std::string> template_fault(std::string_view text, std::span<const std::string_view> names) {
  using Piece = TemplateReader::Piece;
  TemplateReader reader(text);
  for (Piece piece = reader.next(); piece != Piece::end; piece = reader.next()) {
    if (piece == Piece::open)
      return "has a { without its }, expected " + all_of(names) + ", or {{ for the brace itself";
    if (piece == Piece::close) return "has a } without its {, expected }} for the brace itself";
    if (piece == Piece::placeholder && std::find(names.begin(), names.end(), reader.value()) == names.end()) {
      return "has the unknown placeholder " + in_braces(reader.value()) + ", expected " + all_of(names);
    }
  }
  return std::nullopt;
}

bool has_placeholder(std::string_view text, std::string_view name) {
  using Piece = TemplateReader::Piece;
  TemplateReader reader(text);
  for (Piece piece = reader.next(); piece == Piece::text || piece == Piece::placeholder; piece = reader.next()) {
    if (piece == Piece::placeholder && reader.value() == name) return true;
  }
  return false;
}

void append_filled(std::string& out, std::string_view text, std::span<const TemplateValue> values) {
  using Piece = TemplateReader::Piece;
  TemplateReader reader(text);
  for (Piece piece = reader.next(); piece == Piece::text || piece == Piece::placeholder; piece = reader.next()) {
    if (piece == Piece::text) {
      out += reader.value();
      continue;
    }
    const auto value = std::find_if(values.begin(), values.end(),
                                    [&](const TemplateValue& each) { return each.first == reader.value(); });
    if (value != values.end()) out += value->second;
  }
}

}  // namespace weir::base
