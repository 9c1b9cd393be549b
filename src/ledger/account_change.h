// AccountChange: what a person does to an account: grants units, corrects what was used, reverses an operation, ends a
// reservation. The admin API and the command line make their operations with it.
//
//   Result<Answer> answer = ledger.run(make_change(account, {.kind = AccountChange::Kind::grant, .amount = 500,
//                                                            .expires = end, .actor = "ada", .reason = "invoice 4711"},
//                                                            now));
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ledger/operation.h"

namespace weir::ledger {

struct AccountChange {
  enum class Kind : std::uint8_t { grant, adjust, reverse, release };
  Kind kind = Kind::grant;
  std::int64_t amount = 0;     // grant: above 0; adjust: charges, or below 0 credits
  std::int64_t priority = 0;   // grant
  TimePoint expires{};         // grant; the epoch: with the account's period
  std::string operation = {};  // reverse: which; release: the reservation's id
  std::string actor = {};
  std::string reason = {};
  std::string key = {};  // makes it idempotent: the same key changes the account once. Empty: none
};

// The key of a change that its caller has named.
std::string key_of_id(std::string_view id);

// "grant", "adjust", "reverse", "release".
std::string_view change_name(AccountChange::Kind kind);

// What is wrong with the values, the operation's own check() says.
std::unique_ptr<Operation> make_change(const Account& account, const AccountChange& change, TimePoint now);

// The terms that an account has.
Terms terms_of(const Account& account);

}  // namespace weir::ledger
