// Lists of texts as they are stored: JSON that people can read, [["ip","203.0.113.0/24"],["action","a","b"]]. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/result.h"
#include "weir/rule.h"

namespace weir::control {

using TextLists = std::vector<std::vector<std::string>>;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

std::string write_lists(const TextLists& lists);
// Failure: data_loss.
Result<TextLists> read_lists(std::string_view text);

// A condition is its attribute and its patterns; a pair is two texts.
TextLists lists_of(const std::vector<Condition>& conditions);
TextLists lists_of(const TextPairs& pairs);
std::vector<Condition> conditions_of(TextLists lists);
TextPairs pairs_of(TextLists lists);

}  // namespace weir::control
