// Any text as a rules file: refused with a place, or rules that compile, and that match and explain a request alike.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rules/compile/rule_names.h"
#include "rules/compile/rule_set.h"
#include "rules/read/rules_file.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace weir;

void expect_usable(const Rules& rules) {
  rules::RuleNames names;
  const auto compiled = rules::RuleSet::compile(rules, names);
  fuzz::expect(compiled.ok());  // a file is checked while it is read
  const Attribute attributes[] = {{"tenant", "acme"}, {"api_key", "k"},    {"ip", "203.0.113.9"}, {"action", "search"},
                                  {"method", "GET"},  {"path", "/v1/a/b"}, {"plan", "free"},      {"tokens", "7"}};
  const Request request(attributes);
  const TimePoint now = from_micros(1'800'000'000'000'000);
  rules::ResolvedNames resolved;
  rules::Matches matches;
  compiled.value()->match(request, now, resolved, matches);
  for (const rules::Match& match : matches) fuzz::expect(match.cost >= 0 && match.cost <= kMaxUnits);
  std::size_t explained = 0;
  for (const auto& rule : compiled.value()->explain(request, now).rules) explained += rule.applies ? 1 : 0;
  fuzz::expect(explained == matches.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Rules> rules = rules::parse_rules(text, "fuzz.yaml");
  if (rules.ok()) {
    expect_usable(rules.value());
  } else {
    fuzz::expect(rules.failure().message.starts_with("fuzz.yaml:"));
  }
  return 0;
}
