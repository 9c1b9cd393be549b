// Result<T>: the value, or the failure that kept it from being made.
//
// Failures of operation (a file that cannot be read, a store that does not answer) travel as values; "denied" is
// never a failure, it is a Decision. Codes carry gRPC's names and numbers, so that every front end maps them alike.
//
//   weir::Result<Config> config = load(path);
//   if (!config.ok()) return config.failure();
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace weir {

enum class Code : std::uint8_t {
  ok = 0,
  cancelled = 1,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

// The lower-case gRPC name of a code, such as "invalid_argument".
const char* code_name(Code code);

struct Failure {
  Code code = Code::internal;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}            // NOLINT: implicit on purpose, as in `return value;`
  Result(Failure failure) : held_(std::move(failure)) {}  // NOLINT: implicit on purpose, as in `return failure;`

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition: ok().
  T& value() & { return std::get<0>(held_); }
  const T& value() const& { return std::get<0>(held_); }
  T&& value() && { return std::get<0>(std::move(held_)); }

  // Precondition: !ok().
  const Failure& failure() const { return std::get<1>(held_); }

 private:
  std::variant<T, Failure> held_;
};

struct Nothing {};
using Status = Result<Nothing>;
inline Status success() { return Nothing{}; }

}  // namespace weir
