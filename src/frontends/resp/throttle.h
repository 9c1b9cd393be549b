// CL.THROTTLE key max_burst count period [quantity]: redis-cell's command on our engine.
//
// The answer is five integers: limited (0 or 1), max_burst + 1, remaining, seconds until a retry can be admitted (-1:
// allowed, or no wait helps), seconds until the bucket is full. Seconds are rounded up once their fraction reaches a
// millisecond; a denial that a wait can end never says 0. Quantity 0 looks and takes nothing; a negative one gives
// back, never above full.
//
// Not thread-safe: one Throttle per connection, which remembers the last allowance it made, because callers repeat
// theirs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frontends/resp/reply_writer.h"
#include "weir/ad_hoc.h"
#include "weir/result.h"

namespace weir::resp {

class Throttle {
 public:
  // `words` is the whole command. The failure's message names the argument and is ready for an error answer.
  // The charge refers to `words` and to this object; it is valid until the next call.
  Result<AdHocCharge> read(std::span<const std::string_view> words);

  // `limit` is the allowance's burst.
  static void write(ReplyWriter& reply, std::int64_t limit, const ChargeOutcome& outcome);

 private:
  // The words between key and quantity; the caller's spelling, so that repeated terms need no reading.
  using Terms = std::span<const std::string_view, 3>;

  bool settled(Terms terms) const;
  Status settle(Terms terms);

  std::array<std::string, 3> terms_;  // what allowance_ was made from; empty before the first
  Allowance allowance_;
  std::string_view key_;
};

// An integer argument between `least` and `most`, in plain decimal notation.
Result<std::int64_t> read_integer(std::string_view name, std::string_view text, std::int64_t least, std::int64_t most);

}  // namespace weir::resp
