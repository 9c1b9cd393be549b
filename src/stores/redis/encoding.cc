#include "stores/redis/encoding.h"

#include "base/ascii.h"
#include "stores/redis/resp.h"
#include "stores/redis/slot.h"

namespace weir::redis {
namespace {

constexpr std::size_t kTagDigits = 16;

void put_bucket_name(std::string& out, const Charge& charge, std::string_view key_prefix) {
  char digits[2 * kTagDigits];
  base::write_hex(digits, charge.tag.high);
  out += key_prefix;
  out += '{';
  out.append(digits, kTagDigits);
  out += "}:";
  out += charge.rule;
  out += ':';
  base::write_hex(digits, charge.key.high);
  base::write_hex(digits + 16, charge.key.low);
  out.append(digits, 32);
}

struct Numbers {
  std::int64_t a, b, c;
};

// The three numbers of an allowance that its script takes.
Numbers numbers_of(const Allowance& allowance) {
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

void write_charge(CommandWriter& command, std::int64_t flags, const Charge& charge) {
  const Numbers numbers = numbers_of(*charge.allowance);
  command.number(flags).number(charge.cost).number(numbers.a).number(numbers.b).number(numbers.c);
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

void write_script_call(std::string& out, const ScriptSet& scripts, const ScriptCall& call) {
  const std::size_t count = call.which.size();
  const Charge& first = call.charges[call.which[0]];
  const bool one = count == 1 && call.action != ScriptAction::share && call.action != ScriptAction::undo;
  const Script& script = one ? scripts.one(first.allowance->algorithm) : scripts.many();
  CommandWriter command(out, 3 + count + (one ? 7 : 2 + 6 * count + call.charged_at_us.size()));
  if (call.by_body) {
    command.word("EVAL").word(script.body);
  } else {
    command.word("EVALSHA").word(script.sha);
  }
  command.number(static_cast<std::int64_t>(count));
  std::string name;
  for (const std::uint8_t i : call.which) {
    name.clear();
    put_bucket_name(name, call.charges[i], scripts.key_prefix());
    command.word(name);
  }
  const char action = static_cast<char>(call.action);
  command.word({&action, 1});
  if (call.now_us < 0) {
    command.word("");
  } else {
    command.number(call.now_us);
  }
  if (one) return write_charge(command, first.count_denied ? 2 : 0, first);
  for (const std::uint8_t i : call.which) {
    const Charge& charge = call.charges[i];
    command.number(static_cast<std::int64_t>(charge.allowance->algorithm));
    write_charge(command, (charge.binding ? 1 : 0) + (charge.count_denied ? 2 : 0), charge);
  }
  for (const std::int64_t moment : call.charged_at_us) command.number(moment);
}

}  // namespace weir::redis
