// WEIR.RESERVE amount|AUTO [COST n] [TTL ms] [ID id] [PARTIAL] [DRYRUN] attribute value …, WEIR.COMMIT handle actual
// and WEIR.CANCEL handle.
//
// Options come before the attributes, as in WEIR.CHECK. The answer has the fields of WEIR.CHECK, then
//
//   reservation · id · state · granted · expires_at_ms · actual · returned · debt · uncharged · fencing_token
//
// which are null where they say nothing. Errors: NOTFOUND for a handle that this service has not sealed, GONE for a
// reservation that has expired, CLOSED for one that another call has closed, UNAVAILABLE, ERR.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontends/resp/check_command.h"
#include "frontends/resp/reply_writer.h"
#include "weir/reservations.h"
#include "weir/result.h"

namespace weir::resp {

// Not thread-safe. Holds what the question that it has read refers to.
class ReserveCommand {
 public:
  using Verb = ReservationQuestion::Verb;

  // `words` is the whole command. The failure's message is ready for an error answer. The question refers to `words`
  // and to this object; it holds until the next call.
  Result<ReservationQuestion> read(Verb verb, std::span<const std::string_view> words);

  static void write(ReplyWriter& reply, Verb verb, const ReservationAnswer& answer);

 private:
  Result<ReservationQuestion> read_reserve(std::span<const std::string_view> words);

  CheckCommand check_;
  std::vector<std::string_view> words_;  // of RESERVE, without its own options
};

}  // namespace weir::resp
