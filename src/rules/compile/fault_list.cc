#include "rules/compile/fault_list.h"

#include <algorithm>

namespace weir::rules {
namespace {

constexpr std::size_t kMaxShown = 64;

// The least number of insertions, deletions and replacements between two short names.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

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
  constexpr std::size_t kMaxDistance = 2;
  std::string_view nearest;
  std::size_t least = kMaxDistance + 1;
  for (const std::string_view candidate : known) {
    const std::size_t longer = std::max(candidate.size(), name.size());
    if (longer - std::min(candidate.size(), name.size()) > kMaxDistance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    // Half a short name replaced is another word, not a slip.
    if (distance < least && 2 * distance < longer) {
      least = distance;
      nearest = candidate;
    }
  }
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
