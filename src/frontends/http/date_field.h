// DateField: the "Date" field of the answers of one loop, RFC 9110 6.6.1.
//
// For one thread. The text is made again when the second changes, not for each answer; the clock is read once for
// all that arrived together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir::http {

class DateField {
 public:
  explicit DateField(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) { refresh(); }

  // Before the first answer of each moment.
  void refresh() {
    const std::int64_t second = micros(clock_->wall()) / kMicrosInSecond;
    if (second != second_) write(second);
  }
  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".
  std::string_view text() const { return text_; }

 private:
  static constexpr std::int64_t kMicrosInSecond = 1'000'000;

  void write(std::int64_t second);

  const std::shared_ptr<Clock> clock_;
  std::int64_t second_ = -1;
  std::string text_;
};

}  // namespace weir::http
