// WEIR.CHECK [COST n] [PEEK] attribute value …  ·  WEIR.REFUND [COST n] attribute value …  ·
// WEIR.REPORT FAILURE|SUCCESS [DURATION ms] attribute value …
//
// Options come first, in any order and case, each at most once; the first word that is not an option begins the
// attributes, so an attribute called "cost" may be anywhere but first. The answer is a map (RESP3) or a flat array of
// names and values (RESP2):
//
//   allowed 1|0 · reason · rule · limit · remaining · retry_after_ms · reset_after_ms · delay_ms · degraded 1|0 ·
//   retry_at_ms · reset_at_ms · subject
//
// rule is null when no rule applied; limit, remaining, reset_at_ms and subject are null when nothing was counted,
// retry_at_ms when there is no wait. Times are rounded up; retry_at_ms and reset_at_ms are Unix time.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "frontends/resp/reply_writer.h"
#include "weir/decision.h"
#include "weir/request.h"
#include "weir/result.h"

namespace weir::resp {

// The first words of WEIR.REPORT. `rest` is for CheckCommand::read, and refers to `words`.
struct ReportCommand {
  bool success = false;
  Duration duration{0};  // 0: not told
  std::span<const std::string_view> rest;

  static Result<ReportCommand> read(std::span<const std::string_view> words);
};

// Not thread-safe. Holds the attributes of the request it has read.
class CheckCommand {
 public:
  // `words` is the whole command. The failure's message is ready for an error answer. The request refers to `words`
  // and to this object; it is valid until the next call.
  Result<Request> read(std::span<const std::string_view> words, bool peek_allowed);

  // `more`: so many fields that the caller writes follow.
  static void write(ReplyWriter& reply, const Decision& decision, std::size_t more = 0);

 private:
  std::array<Attribute, kMaxAttributes> attributes_;
};

}  // namespace weir::resp
