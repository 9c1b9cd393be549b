// The arguments of a NOTIFY frame's messages, whatever they are used for (notify.h, client_message.h): iterating over
// them, and converting their values to what a request needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frontends/spop/wire.h"

namespace weir::spop {

// Calls take(name, value) for each argument of each message. False: the payload is malformed.
template <typename Take>
[[nodiscard]] bool each_argument(std::string_view payload, Take take) {
  Cursor cursor(payload);
  while (!cursor.at_end()) {
    std::string_view message;
    std::uint8_t arguments = 0;
    if (!cursor.string(message) || !cursor.byte(arguments)) return false;
    for (int i = 0; i < arguments; ++i) {
      std::string_view name;
      Value value;
      if (!cursor.string(name) || !cursor.value(value)) return false;
      take(name, value);
    }
  }
  return true;
}

// A number, or the text of one; nothing if it cannot be a cost.
std::optional<std::int64_t> cost_of(const Value& value);
bool is_true(const Value& value);

// Values as texts: numbers become decimal, booleans true or false, addresses their canonical text (a mapped IPv4
// address that of IPv4). Not thread-safe.
class ArgumentTexts {
 public:
  // At most `most` texts are asked for until the next clear(); they stay valid until then.
  void clear(std::size_t most);
  std::string_view of(const Value& value);

 private:
  std::string rendered_;  // grown before use, so that views into it stay valid
};

}  // namespace weir::spop
