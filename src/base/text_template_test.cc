#include "base/text_template.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

constexpr std::string_view kNames[] = {"limit", "wait"};

std::string filled(std::string_view text) {
  const TemplateValue values[] = {{"limit", "30"}, {"wait", "5 s"}};
  std::string out = "> ";
  append_filled(out, text, values);
  return out;
}

std::string fault(std::string_view text) { return template_fault(text, kNames).value_or("none"); }

TEST(TextTemplate, ReplacesPlaceholdersAndKeepsTheRest) {
  EXPECT_EQ(filled("{limit} searches. Try again in {wait}."), "> 30 searches. Try again in 5 s.");
  EXPECT_EQ(filled("{wait}{wait}"), "> 5 s5 s");
  EXPECT_EQ(filled("Zu viele Anfragen: nächster Versuch in {wait} ✓"),
            "> Zu viele Anfragen: nächster Versuch in 5 s ✓");
  EXPECT_EQ(filled(""), "> ");
}

TEST(TextTemplate, TwoBracesAreOne) {
  EXPECT_EQ(filled("{{limit}} is {limit}, {{{limit}}}"), "> {limit} is 30, {30}");
  EXPECT_EQ(fault("{{limit}} is {limit}, {{{limit}}}"), "none");
  EXPECT_TRUE(has_placeholder("a {wait}", "wait"));
  EXPECT_FALSE(has_placeholder("a {{wait}}", "wait"));
  EXPECT_FALSE(has_placeholder("a {wait}", "limit"));
}

TEST(TextTemplate, SaysWhatIsWrong) {
  EXPECT_EQ(fault("fine {limit} {wait}"), "none");
  EXPECT_EQ(fault("{user}, stop"), "has the unknown placeholder {user}, expected {limit} or {wait}");
  EXPECT_EQ(fault("{} "), "has the unknown placeholder {}, expected {limit} or {wait}");
  EXPECT_EQ(fault("{Wait}"), "has the unknown placeholder {Wait}, expected {limit} or {wait}");
  EXPECT_EQ(fault("{" + std::string(40, 'x') + "}"),
            "has the unknown placeholder {" + std::string(32, 'x') + "…}, expected {limit} or {wait}");
  for (const char* text : {"in {wait", "{", "{wait {limit}", "{{{"}) {
    EXPECT_EQ(fault(text), "has a { without its }, expected {limit} or {wait}, or {{ for the brace itself") << text;
  }
  for (const char* text : {"}", "wait}", "{wait}}"}) {
    EXPECT_EQ(fault(text), "has a } without its {, expected }} for the brace itself") << text;
  }
}

}  // namespace
}  // namespace weir::base
