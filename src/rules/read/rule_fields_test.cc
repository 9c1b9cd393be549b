// The reference in docs/rules.md is what the tables of fields say.
#include "rules/read/rule_fields.h"

#include <gtest/gtest.h>

#include "base/bounded_file.h"
#include "rules/read/penalty_fields.h"
#include "rules/read/shedding_fields.h"

namespace weir::rules {
namespace {

// What follows the comment `<!-- fields: NAME -->` in the page, up to the next empty line.
std::string documented(const std::string& name, const std::string& in) {
  const auto page = base::read_bounded_file(WEIR_SOURCE_DIR "/docs/" + in, 1 << 20);
  if (!page.ok()) return page.failure().message;
  const std::string mark = "<!-- fields: " + name + " -->\n";
  const std::size_t begin = page.value().find(mark);
  if (begin == std::string::npos) return "the page has no " + mark;
  const std::size_t from = begin + mark.size();
  return page.value().substr(from, page.value().find("\n\n", from) + 1 - from);
}

template <typename T>
void expect_documented(const std::string& name, std::span<const Field<T>> fields, const std::string& in = "rules.md") {
  const std::string expected = fields_as_markdown(fields);
  EXPECT_EQ(documented(name, in), expected)
      << "put this table behind <!-- fields: " << name << " --> in " << in << ":\n"
      << expected;
}

TEST(RuleFields, TheReferenceDocumentsEveryFieldAndNoOther) {
  expect_documented("top", top_fields());
  expect_documented("rule", rule_fields());
  expect_documented("change", change_fields());
  expect_documented("override", override_fields());
  expect_documented("block", block_fields());
  expect_documented("local_limit", local_limit_fields());
  expect_documented("on_store_failure", store_failure_fields());
  expect_documented("estimate", estimate_fields());
  expect_documented("shedding", shedding_fields(), "shedding.md");
  expect_documented("capacity", capacity_fields(), "shedding.md");
  expect_documented("shedding_class", shedding_class_fields(), "shedding.md");
  expect_documented("penalty", penalty_fields(), "login-protection.md");
}

template <typename T>
void expect_complete(std::span<const Field<T>> fields) {
  for (const Field<T>& field : fields) {
    EXPECT_FALSE(field.meaning.empty() || field.absent.empty()) << field.name;
    EXPECT_TRUE(field.read != nullptr && field.write != nullptr) << field.name;
  }
}

TEST(RuleFields, EveryFieldOfARuleIsReadAndWritten) {
  expect_complete(rule_fields());
  expect_complete(change_fields());
  expect_complete(override_fields());
  expect_complete(local_limit_fields());
  expect_complete(store_failure_fields());
  expect_complete(estimate_fields());
}

}  // namespace
}  // namespace weir::rules
