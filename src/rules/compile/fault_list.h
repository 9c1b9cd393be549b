// FaultList: the errors of a rule set or a file, one line each; and the phrases that such lines are made of.
// Pure functions; a FaultList belongs to one thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "weir/result.h"

namespace weir::rules {

// The text in quotes, cut to a length that fits an error line, control characters replaced.
std::string in_quotes(std::string_view text);
// " (did you mean burst?)", or nothing when no known name is near.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);
// "enforce, shadow or off".
std::string joined_choices(std::span<const std::string_view> choices);

// Keeps each line once, in the order found, at most kMaxFaults of them; counts the rest.
class FaultList {
 public:
  static constexpr std::size_t kMaxFaults = 100;

  void add(std::string line);

  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return lines_.size() + left_out_; }
  // All lines, with Code::invalid_argument. Precondition: !empty().
  Failure failure() const;

 private:
  std::vector<std::string> lines_;
  std::unordered_set<std::string> seen_;
  std::size_t left_out_ = 0;
};

}  // namespace weir::rules
