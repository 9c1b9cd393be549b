#include "control/text_lists.h"

#include <simdjson.h>

#include <algorithm>

#include "base/json_text.h"

namespace weir::control {
namespace {

Failure damaged_list() { return {Code::data_loss, "a list of texts in the database is damaged"}; }

}  // namespace

std::string write_lists(const TextLists& lists) {
  std::string out = "[";
  for (const std::vector<std::string>& list : lists) {
    out += out.size() == 1 ? "[" : ",[";
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += ',';
      base::append_json_string(out, list[i]);
    }
    out += ']';
  }
  return out + "]";
}

Result<TextLists> read_lists(std::string_view text) {
  if (text == "[]") return TextLists();
  thread_local simdjson::dom::parser parser;
  TextLists lists;
  simdjson::dom::array outer;
  if (parser.parse(text.data(), text.size()).get_array().get(outer) != simdjson::SUCCESS) return damaged_list();
  for (const simdjson::dom::element item : outer) {
    simdjson::dom::array inner;
    if (item.get_array().get(inner) != simdjson::SUCCESS) return damaged_list();
    std::vector<std::string>& list = lists.emplace_back();
    for (const simdjson::dom::element each : inner) {
      std::string_view value;
      if (each.get_string().get(value) != simdjson::SUCCESS) return damaged_list();
      list.emplace_back(value);
    }
  }
  return lists;
}

TextLists lists_of(const std::vector<Condition>& conditions) {
  TextLists lists;
  for (const Condition& condition : conditions) {
    std::vector<std::string>& list = lists.emplace_back(1, condition.attribute);
    list.insert(list.end(), condition.patterns.begin(), condition.patterns.end());
  }
  return lists;
}

TextLists lists_of(const TextPairs& pairs) {
  TextLists lists;
  for (const auto& [name, value] : pairs) lists.push_back({name, value});
  return lists;
}

std::vector<Condition> conditions_of(TextLists lists) {
  std::vector<Condition> conditions;
  for (std::vector<std::string>& list : lists) {
    if (list.empty()) continue;
    Condition& made = conditions.emplace_back();
    made.attribute = std::move(list.front());
    made.patterns.assign(std::make_move_iterator(list.begin() + 1), std::make_move_iterator(list.end()));
  }
  return conditions;
}

TextPairs pairs_of(TextLists lists) {
  TextPairs pairs;
  for (std::vector<std::string>& list : lists) {
    if (list.size() == 2) pairs.emplace_back(std::move(list[0]), std::move(list[1]));
  }
  return pairs;
}

}  // namespace weir::control
