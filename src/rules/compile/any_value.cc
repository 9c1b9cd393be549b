#include "rules/compile/any_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "rules/compile/conditions.h"

namespace weir::rules {
namespace {

using base::IpAddress;
using base::IpPrefix;

IpAddress last_of(const IpPrefix& prefix) {
  IpAddress last = prefix.network();
  for (int bit = prefix.bits(); bit < base::kIpv6Bits; ++bit) {
    std::uint8_t& byte = last.bytes[static_cast<std::size_t>(bit / 8)];
    byte = static_cast<std::uint8_t>(byte | 0x80U >> (bit % 8));
  }
  return last;
}

// Precondition: it is not the last of all.
IpAddress next_of(IpAddress address) {
  for (std::size_t i = address.bytes.size(); i-- > 0;) {
    if (++address.bytes[i] != 0) break;
  }
  return address;
}

// From the first address to the last, each covered.
bool cover(std::vector<IpPrefix> prefixes, const IpPrefix& all) {
  std::sort(prefixes.begin(), prefixes.end(),
            [](const IpPrefix& one, const IpPrefix& other) { return one.network() < other.network(); });
  const IpAddress end = last_of(all);
  IpAddress next = all.network();
  for (const IpPrefix& each : prefixes) {
    if (each.network() > next) return false;
    const IpAddress last = last_of(each);
    if (last >= end) return true;
    if (last >= next) next = next_of(last);
  }
  return false;
}

bool covers_a_family(const Condition& condition) {
  std::vector<IpPrefix> v4;
  std::vector<IpPrefix> v6;
  for (const std::string& pattern : condition.patterns) {
    const std::optional<IpPrefix> prefix = IpPrefix::parse(pattern, base::HostBits::ignored);
    if (prefix) (prefix->is_v4() ? v4 : v6).push_back(*prefix);
  }
  return cover(std::move(v4), *IpPrefix::parse("0.0.0.0/0")) || cover(std::move(v6), *IpPrefix::parse("::/0"));
}

// Every printable character of ASCII, and values that share none.
const std::array<std::string, 5>& probes() {
  static const std::array<std::string, 5> kProbes = [] {
    std::array<std::string, 5> made = {"", "a", "0", "-", "\xc3\xa9"};
    for (char c = ' '; c <= '~'; ++c) made[0] += c;
    return made;
  }();
  return kProbes;
}

// Exact values, of which there may be many, fit no value but themselves.
bool fits_probes(const Condition& condition) {
  Condition wide{condition.attribute, {}};
  for (const std::string& pattern : condition.patterns) {
    const PatternKind kind = pattern_kind(condition.attribute, pattern);
    if (kind == PatternKind::glob || kind == PatternKind::expression) wide.patterns.push_back(pattern);
  }
  if (wide.patterns.empty()) return false;
  constexpr NameId kName = 0;
  const Result<CompiledCondition> compiled = CompiledCondition::compile(wide, kName);
  if (!compiled.ok()) return false;
  return std::all_of(probes().begin(), probes().end(), [&](const std::string& probe) {
    const Attribute attribute{wide.attribute, probe};
    const Request request(std::span(&attribute, 1));
    return compiled.value().holds(RequestView{request, &kName});
  });
}

}  // namespace

bool fits_any_value(const Condition& condition) {
  return (condition.attribute == kAddressAttribute && covers_a_family(condition)) || fits_probes(condition);
}

}  // namespace weir::rules
