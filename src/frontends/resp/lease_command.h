// WEIR.ACQUIRE [COST n] [TTL ms] [ID id] attribute value …, WEIR.RENEW handle [TTL ms] and WEIR.RELEASE handle.
//
// Options come first, as in WEIR.CHECK. The answer has the fields of WEIR.CHECK, then
//
//   lease · fencing_token · expires_at_ms · ttl_ms · created 1|0
//
// which are null when the lease was denied; fencing_token also when it was given without the store. WEIR.RELEASE
// answers OK. Errors: NOTFOUND for a handle that this service has not sealed, GONE, UNAVAILABLE, ERR.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontends/resp/check_command.h"
#include "frontends/resp/reply_writer.h"
#include "weir/leases.h"
#include "weir/result.h"

namespace weir::resp {

// Not thread-safe. Holds what the question that it has read refers to.
class LeaseCommand {
 public:
  using Verb = LeaseQuestion::Verb;

  // `words` is the whole command. The failure's message is ready for an error answer. The question refers to `words`
  // and to this object; it holds until the next call.
  Result<LeaseQuestion> read(Verb verb, std::span<const std::string_view> words);

  static void write(ReplyWriter& reply, Verb verb, const LeaseAnswer& answer);

 private:
  Result<LeaseQuestion> read_acquire(std::span<const std::string_view> words);
  Result<LeaseQuestion> read_handle(Verb verb, std::span<const std::string_view> words);

  CheckCommand check_;
  std::vector<std::string_view> words_;  // of ACQUIRE, without its own options
};

}  // namespace weir::resp
