#include "rules/compile/any_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

constexpr std::string_view kOrdinaryValues[] = {"a",
                                                "7",
                                                "acme",
                                                "Ann-Marie_2",
                                                "203.0.113.7",
                                                "2001:db8::1",
                                                "0d5cf6a2-4f0e-4b57-9d1f-3a7e6b1c8842",
                                                "someone@example.com",
                                                "Mozilla/5.0 (X11; Linux)",
                                                "/v1/search",
                                                "\xc3\xa9t\xc3\xa9"};
constexpr std::string_view kOrdinaryPaths[] = {"/", "/index.html", "/v1/search", "/api/users/17"};
constexpr std::string_view kUsualMethods[] = {"GET", "POST", "PUT", "DELETE"};

std::span<const std::string_view> ordinary_values(std::string_view attribute) {
  if (attribute == "path") return kOrdinaryPaths;
  if (attribute == "method") return kUsualMethods;
  return kOrdinaryValues;
}

Condition globs_and_expressions(const Condition& condition) {
  Condition wide{condition.attribute, {}};
  for (const std::string& pattern : condition.patterns) {
    const PatternKind kind = pattern_kind(condition.attribute, pattern);
    if (kind == PatternKind::glob || kind == PatternKind::expression) wide.patterns.push_back(pattern);
  }
  return wide;
}

template <typename Probes>
bool fits_all(const Condition& condition, const Probes& probes) {
  constexpr NameId kName = 0;
  const Result<CompiledCondition> compiled = CompiledCondition::compile(condition, kName);
  if (!compiled.ok()) return false;
  return std::all_of(probes.begin(), probes.end(), [&](std::string_view probe) {
    const Attribute attribute{condition.attribute, probe};
    const Request request(std::span(&attribute, 1));
    return compiled.value().holds(RequestView{request, &kName});
  });
}

// Exact values, of which there may be many, fit no value but themselves.
bool fits_probes(const Condition& condition) {
  const Condition wide = globs_and_expressions(condition);
  return !wide.patterns.empty() && fits_all(wide, probes());
}

}  // namespace

bool fits_any_value(const Condition& condition) {
  return (condition.attribute == kAddressAttribute && covers_a_family(condition)) || fits_probes(condition);
}

bool fits_nearly_any_value(const Condition& condition) {
  if (fits_any_value(condition)) return true;
  // Only of methods do a few exact values make up nearly all.
  const Condition wide = condition.attribute == "method" ? condition : globs_and_expressions(condition);
  return !wide.patterns.empty() && fits_all(wide, ordinary_values(condition.attribute));
}

}  // namespace weir::rules
