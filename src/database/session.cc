#include "database/session.h"

#include <algorithm>

namespace weir::database {

bool Batch::storable() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return std::all_of(step.values.begin(), step.values.end(), [](const Value& value) {
      const auto* words = std::get_if<std::string>(&value);
      return words == nullptr || words->find('\0') == std::string::npos;
    });
  });
}

Failure not_storable() {
  return {Code::invalid_argument, "a text contains a zero byte, which a database cannot store"};
}

}  // namespace weir::database
