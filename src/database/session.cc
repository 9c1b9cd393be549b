#include "database/session.h"

#include <algorithm>

namespace weir::database {

namespace {

bool can_be_stored(const Row& row) {
  return std::all_of(row.begin(), row.end(), [](const Value& value) {
    const auto* words = std::get_if<std::string>(&value);
    return words == nullptr || words->find('\0') == std::string::npos;
  });
}

}  // namespace

bool Batch::storable() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return can_be_stored(step.values) && std::all_of(step.rows.begin(), step.rows.end(), can_be_stored);
  });
}

Failure not_storable() {
  return {Code::invalid_argument, "a text contains a zero byte, which a database cannot store"};
}

}  // namespace weir::database
