#include "stores/redis/encoding.h"

#include "base/ascii.h"
#include "stores/redis/resp.h"
#include "stores/redis/slot.h"

namespace weir::redis {
namespace {

constexpr std::size_t kTagDigits = 16;
// After those of weir::Algorithm.
constexpr std::int64_t kLeases = kAlgorithmCount;
constexpr std::int64_t kRecord = kAlgorithmCount + 1;
constexpr std::int64_t kPenalties = kAlgorithmCount + 2;
constexpr std::int64_t kDistinct = kAlgorithmCount + 3;
constexpr std::size_t kLeaseWords = 5;
constexpr std::size_t kReservationWords = 10;
constexpr std::size_t kDrawWords = 5;
// Not an id that a rule can have.
constexpr std::string_view kRecordRule = "(reservation)";
constexpr std::string_view kOnceRule = "(once)";

bool is_lease(const Charge& charge) { return charge.kind == ChargeKind::lease; }

void put_name(std::string& out, std::string_view key_prefix, const BucketKey& tag, std::string_view rule,
              const BucketKey& key) {
  char digits[2 * kTagDigits];
  base::write_hex(digits, tag.high);
  out += key_prefix;
  out += '{';
  out.append(digits, kTagDigits);
  out += "}:";
  out += rule;
  out += ':';
  base::write_hex(digits, key.high);
  base::write_hex(digits + 16, key.low);
  out.append(digits, 32);
}

void put_bucket_name(std::string& out, const Charge& charge, std::string_view key_prefix) {
  put_name(out, key_prefix, charge.tag, charge.kind == ChargeKind::record ? kRecordRule : charge.rule, charge.key);
}

struct Numbers {
  std::int64_t a, b, c;
};

// The three numbers of an allowance that its script takes.
Numbers numbers_of(const Charge& charge) {
  const Allowance& allowance = *charge.allowance;
  if (charge.kind == ChargeKind::record) return {0, 0, 0};
  if (is_lease(charge)) return {allowance.limit, 0, 0};
  if (charge.value != 0) {
    const bool slides = allowance.algorithm == Algorithm::sliding_log;
    return {allowance.limit, allowance.window.count(), static_cast<std::int64_t>(charge.value * 2 + (slides ? 1 : 0))};
  }
  switch (allowance.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::gcra:
      return {allowance.burst, allowance.rate_units, allowance.rate_ticks};
    case Algorithm::leaky_bucket:
      return {allowance.queue, allowance.rate_units, allowance.rate_ticks};
    default:
      return {allowance.limit, allowance.window.count(), allowance.buckets};
  }
}

bool is_penalty(const Charge& charge) { return charge.kind == ChargeKind::penalty; }

// Where the charge that this one belongs to is among the keys, from 1.
std::int64_t position_of(const ScriptCall& call, const Charge& charge) {
  for (std::size_t i = 0; i < call.which.size(); ++i) {
    if (call.which[i] == charge.of) return static_cast<std::int64_t>(i) + 1;
  }
  return 0;
}

// As penalties.lua unpacks them.
Numbers numbers_of_penalty(const ScriptCall& call, const Charge& charge) {
  const Penalty& penalty = *charge.penalty;
  const std::int64_t position = position_of(call, charge);
  const std::int64_t on = (penalty.on_denied ? 1 : 0) + (penalty.on_reported ? 2 : 0);
  const auto seconds = [](Duration duration) { return duration.count() / 1'000'000; };
  constexpr std::int64_t kRange = std::int64_t{1} << 22U;
  static_assert(kMaxPenalty.count() / 1'000'000 < kRange && kMaxPenaltyStrikes < 1'024 && kMaxPenaltyFactor < 128 &&
                kMaxPenaltySteps < 64 && kMaxCharges <= 64);
  return {position % 64 + 64 * (penalty.after + 1'024 * (penalty.factor + 128 * (penalty.challenges + 64 * on))),
          seconds(penalty.within) * kRange + seconds(penalty.decay),
          seconds(penalty.block) * kRange + seconds(longest_penalty(penalty))};
}

bool is_reservation(const ScriptCall& call) { return call.hold != nullptr && call.hold->reservation; }

bool has_leases(const ScriptCall& call) {
  for (const std::uint8_t i : call.which) {
    if (is_lease(call.charges[i])) return true;
  }
  return false;
}

// A denied attempt is charged up to the overdraft.
bool counts_as_debt(const ScriptCall& call, const Charge& charge) {
  const bool takes = call.action == ScriptAction::take || call.action == ScriptAction::share;
  return takes && !is_reservation(call) && charge.count_denied && charge.follows && charge.kind == ChargeKind::bucket;
}

bool has_debts(const ScriptCall& call) {
  for (const std::uint8_t i : call.which) {
    if (counts_as_debt(call, call.charges[i])) return true;
  }
  return false;
}

std::int64_t flags_of(const ScriptCall& call, std::size_t i) {
  const bool only_existing = (call.full >> i & 1U) != 0;
  const Charge& charge = call.charges[i];
  const bool counts = charge.count_denied && charge.kind == ChargeKind::bucket;
  const std::int64_t candidate = charge.candidate ? 32 + 64 * position_of(call, charge) : 0;
  const std::int64_t flags = (counts ? 2 : 0) + (only_existing ? 4 : 0) + candidate;
  if (!is_reservation(call)) return flags + (counts_as_debt(call, charge) ? 8 : 0);
  return flags + (charge.follows ? 8 : 0) + (charge.allowance->charges_lapsed ? 16 : 0);
}

std::int64_t algorithm_of(const Charge& charge) {
  if (charge.kind == ChargeKind::record) return kRecord;
  if (is_penalty(charge)) return kPenalties;
  if (charge.value != 0) return kDistinct;
  return is_lease(charge) ? kLeases : static_cast<std::int64_t>(charge.allowance->algorithm);
}

void write_charge(CommandWriter& command, const ScriptCall& call, std::int64_t flags, const Charge& charge) {
  const Numbers numbers = is_penalty(charge) ? numbers_of_penalty(call, charge) : numbers_of(charge);
  command.number(flags).number(charge.cost).number(numbers.a).number(numbers.b).number(numbers.c);
}

// A report to one bucket clears it or looks at it.
char action_of_one(const ScriptCall& call, const Charge& charge) {
  const bool report = call.action == ScriptAction::failure || call.action == ScriptAction::success;
  if (!report) return static_cast<char>(call.action);
  const bool clears = call.action == ScriptAction::success && charge.cost > 0;
  return static_cast<char>(clears ? ScriptAction::reset : ScriptAction::peek);
}

// 16 bytes.
void put_id(std::string& out, const BucketKey& id) {
  for (const std::uint64_t half : {id.high, id.low}) {
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(half >> shift & 0xff);
  }
}

void write_reservation(CommandWriter& command, const ScriptCall& call) {
  const HoldStep& hold = *call.hold;
  for (const std::uint8_t i : call.which) command.number(call.charges[i].allowance->overdraft);
  command.number(hold.amount).number(hold.partial ? 1 : 0).number(static_cast<std::int64_t>(hold.closing));
  command.number(hold.actual).number(call.is_first ? 1 : 0);
}

void write_draw(CommandWriter& command, const DrawStep& draw) {
  command.number(draw.want).number(draw.parts).number(draw.floor).number(draw.late).number(micros(draw.late_at));
}

void write_hold(CommandWriter& command, const HoldStep* hold) {
  if (hold == nullptr) {
    command.word("").number(0).number(0).number(0).number(0);
    return;
  }
  std::string id;
  put_id(id, hold->id);
  command.word(id).number(hold->ttl.count()).number(hold->named ? 1 : 0);
  command.number(static_cast<std::int64_t>(hold->token)).number(micros(hold->expires));
}

}  // namespace

std::string bucket_name(const Charge& charge, std::string_view key_prefix) {
  std::string name;
  put_bucket_name(name, charge, key_prefix);
  return name;
}

std::uint16_t slot_of(const Charge& charge) {
  char digits[kTagDigits];
  base::write_hex(digits, charge.tag.high);
  return slot_of_tag({digits, kTagDigits});
}

std::size_t script_of(const ScriptCall& call) {
  const std::size_t several = call.once ? kAlgorithmCount + 3 : kAlgorithmCount;
  if (is_reservation(call)) return several + 2;
  if (has_leases(call)) return several + 1;
  const bool one = !call.once && call.which.size() == 1 && call.charges[call.which[0]].value == 0 &&
                   call.action != ScriptAction::share && call.action != ScriptAction::undo;
  if (!one) return several;
  return static_cast<std::size_t>(call.charges[call.which[0]].allowance->algorithm);
}

void write_script_call(std::string& out, const ScriptSet& scripts, const ScriptCall& call) {
  const std::size_t count = call.which.size();
  const Charge& first = call.charges[call.which[0]];
  const std::size_t number = script_of(call);
  const Script& script = scripts.all()[number];
  const bool one = number < kAlgorithmCount;
  const bool reserves = is_reservation(call);
  const bool holds = reserves || has_leases(call);
  const bool debts = has_debts(call);
  std::size_t words = one ? 7 : 2 + 6 * count + call.charged_at_us.size();
  if (debts) words += count;
  if (call.draw != nullptr) words += kDrawWords;
  if (reserves) words += count + kReservationWords;
  if (holds && !reserves) words += kLeaseWords;
  if (call.once) words += 2;  // its record and how long that is kept
  CommandWriter command(out, 3 + count + words);
  if (call.by_body) {
    command.word("EVAL").word(script.body);
  } else {
    command.word("EVALSHA").word(script.sha);
  }
  command.number(static_cast<std::int64_t>(call.once ? count + 1 : count));
  std::string name;
  for (const std::uint8_t i : call.which) {
    name.clear();
    put_bucket_name(name, call.charges[i], scripts.key_prefix());
    command.word(name);
  }
  if (call.once) {
    name.clear();
    put_name(name, scripts.key_prefix(), first.tag, kOnceRule, call.once.id);
    command.word(name);
  }
  const char action = one ? action_of_one(call, first) : static_cast<char>(call.action);
  command.word({&action, 1});
  if (call.now_us < 0) {
    command.word("");
  } else {
    command.number(call.now_us);
  }
  if (one) {
    // The overdraft is one number more, and needs no flag.
    write_charge(command, call, flags_of(call, call.which[0]) % 8, first);
    if (debts) command.number(first.allowance->overdraft);
    if (call.draw != nullptr) write_draw(command, *call.draw);
    return;
  }
  for (const std::uint8_t i : call.which) {
    const Charge& charge = call.charges[i];
    command.number(algorithm_of(charge));
    write_charge(command, call, (charge.binding ? 1 : 0) + flags_of(call, i), charge);
  }
  for (const std::int64_t moment : call.charged_at_us) command.number(moment);
  if (debts) {
    for (const std::uint8_t i : call.which) {
      const Allowance* const allowance = call.charges[i].allowance;
      command.number(allowance == nullptr ? 0 : allowance->overdraft);
    }
  }
  if (reserves) write_reservation(command, call);
  if (holds) write_hold(command, call.hold);
  if (call.once) command.number(call.once.keep.count() / 1'000);
}

}  // namespace weir::redis
