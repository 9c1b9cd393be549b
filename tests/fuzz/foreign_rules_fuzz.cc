// Any text as a rule file of another limiter: refused with its place, or rules that compile and that come back the same
// when they are written in our format and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rules/compile/rule_names.h"
#include "rules/compile/rule_set.h"
#include "rules/read/rules_file.h"
#include "rules/read/rules_format.h"
#include "rules/read/rules_text.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/memory_file.h"

namespace {

using namespace weir;

void expect_importable(const Rules& rules) {
  rules::RuleNames names;
  fuzz::expect(rules::RuleSet::compile(rules, names).ok());
  const Result<Rules> again = rules::parse_rules(rules::write_rules(rules), "import.yaml");
  fuzz::expect(again.ok() && again.value().rules.size() == rules.rules.size());
  for (std::size_t i = 0; i < rules.rules.size(); ++i) fuzz::expect(again.value().rules[i].id == rules.rules[i].id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  for (const rules::RulesFormat format : {rules::RulesFormat::envoy, rules::RulesFormat::limitador}) {
    const Result<rules::ForeignRules> read = rules::read_rules(file.path(), format);
    if (read.ok()) {
      expect_importable(read.value().rules);
    } else {
      fuzz::expect(read.failure().message.starts_with(file.path().string()));
    }
  }
  return 0;
}
