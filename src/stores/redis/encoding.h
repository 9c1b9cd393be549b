// How a decision is written for Redis: names of keys, and the words of a script call.
//
// A bucket's key is `w1:{tag}:rule:hash`, or `w1:namespace:{tag}:rule:hash`: version, namespace, 16 hex digits of the
// tag (the cluster's hash tag), the rule's id, 32 hex digits of the keyed hash. Nothing in it was chosen by a client,
// so nothing can be injected. What a call that is charged once was answered is in `w1:{tag}:(once):hash`, with the tag
// of its first charge. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "stores/redis/scripts.h"
#include "weir/store.h"

namespace weir::redis {

std::string bucket_name(const Charge& charge, std::string_view key_prefix = "w1:");
std::uint16_t slot_of(const Charge& charge);

// What a script is asked to do: those of weir::Action, and some for calls that span slots. The scripts say what each
// means (many.lua, holds.lua, reservations.lua).
enum class ScriptAction : char {
  take = 't',
  peek = 'p',
  refund = 'r',
  reset = 'x',
  share = 's',
  undo = 'u',
  renew = 'n',
  settle = 'e',
  list = 'l',
  share_renewal = 'm',
  follow = 'f',
  amend = 'a',
  failure = 'w',
  success = 'y',
  draw = 'q',
};

struct ScriptCall {
  ScriptAction action = ScriptAction::take;
  bool by_body = false;                              // EVAL, which also loads the script, instead of EVALSHA
  std::int64_t now_us = -1;                          // negative: Redis's own time
  std::span<const Charge> charges = {};              // of the whole decision
  std::span<const std::uint8_t> which = {};          // those of them that this call is about
  std::span<const std::int64_t> charged_at_us = {};  // for undo, of each of `which`
  const HoldStep* hold = nullptr;                    // null: leases are only checked
  bool is_first = false;                             // follow: for the first time
  std::uint64_t full = 0;                            // by charge: only if its bucket exists
  const DrawStep* draw = nullptr;                    // of a draw, which is about one bucket
  Once once = {};                                    // the answer is kept, or was before
};

// The number of the script that the call runs (scripts.h).
std::size_t script_of(const ScriptCall& call);

// Appends the command to `out`.
void write_script_call(std::string& out, const ScriptSet& scripts, const ScriptCall& call);

}  // namespace weir::redis
