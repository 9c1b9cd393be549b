#include "rules/compile/fault_list.h"

#include "base/nearest.h"

namespace weir::rules {
namespace {

constexpr std::size_t kMaxShown = 64;

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxShown)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '.' : c;
  }
  // A cut inside a character would make the whole message invalid UTF-8.
  if (text.size() > kMaxShown) {
    while ((static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if ((static_cast<unsigned char>(out.back()) & 0xc0) == 0xc0) out.pop_back();
    out += "…";
  }
  return out + "\"";
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view nearest = base::nearest(name, known);
  return nearest.empty() ? std::string() : " (did you mean " + std::string(nearest) + "?)";
}

std::string joined_choices(std::span<const std::string_view> choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 == choices.size() ? " or " : ", ";
    out += choices[i];
  }
  return out;
}

void FaultList::add(std::string line) {
  if (lines_.size() >= kMaxFaults) {
    ++left_out_;
  } else if (seen_.insert(line).second) {
    lines_.push_back(std::move(line));
  }
}

Failure FaultList::failure() const {
  std::string message;
  for (const std::string& line : lines_) {
    if (!message.empty()) message += '\n';
    message += line;
  }
  if (left_out_ > 0) message += "\n… and " + std::to_string(left_out_) + " more";
  return {Code::invalid_argument, std::move(message)};
}

}  // namespace weir::rules
