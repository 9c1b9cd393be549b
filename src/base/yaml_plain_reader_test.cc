// What the plain reader reads, it reads as yaml-cpp does; and it reads what rules files look like.
#include "base/yaml_plain_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>

#include "tests/support/yaml_events.h"

namespace weir::base {
namespace {

TEST(PlainYamlReader, ReadsWhatRulesFilesLookLike) {
  for (const char* text : {
           "version: 1\nrules:\n  - {id: a, limit: 5, window: 60s}\n",
           "version: 1\nrules:\n- id: a\n  match: {tenant: [x, 'y', \"z\"]}\n  limit: 5 # a comment\n- id: b\n",
           "# first\n---\n# second\n\nrules:\n\n  - id: a\n\n    per:\n      - tenant\n      - action\n# last",
           "a: 1",
           "[a, b]\n",
           "plain text\n",
           "- - a\n  - b\n- c: {}\n  d: []\n-\n  e: f\n-\n  - g\n",
           "{\"version\":1,\"rules\":[{\"id\":\"a\",\"limit\":5},\n {\"id\" : \"b\"\n}\n]}\n",
           "match: {path: ~^/v1/.*$, ip: 10.0.0.0/8, ip6: \"2001:db8::/32\"}\n",
           "a: ~\nb: null\nc: 'null'\nd: \"a\\\\b\\\"c\\/d\"\ne: 'it''s'\n",
           "a:\n  b:\n    c: d\n  e: f\ng:\n- h\ni: -1\nj: x:y#z\n\"k l\" : m\n",
           "a: é, ü and 漢字\n# ß\nb: 'ö'\n",
           "a: [b,\n  c, # comment\n\n d]\ne: f\n",
           "per: [tenant, api_key]   # why\n",
           "a :   b   \n",
       }) {
    const auto events = plain_events(text);
    ASSERT_TRUE(events.has_value()) << text;
    EXPECT_EQ(events, yaml_cpp_events(text)) << text;
  }
}

TEST(PlainYamlReader, LeavesTheRestToYamlCpp) {
  for (const char* text : {
           "",
           "\n",
           "# only a comment\n",
           "a: &x 1\nb: *x\n",
           "a: !!str 1\n",
           "a: |\n  b\n",
           "a: >\n  b\n",
           "a:\n",
           "a:\nb: 1\n",
           "- \n",
           "? a\n: b\n",
           "a: b\n  c\n",
           "a: 'b\n  c'\n",
           "a: \"\\x41\"\n",
           "{a, b: c}",
           "{a: }",
           "[a: b]",
           "[a, ]",
           "[,]",
           "{a: b,}",
           "a: 1\na: {b: 1}: 2\n",
           "\ta: 1\n",
           "a:\t1\n",
           "a: 1\r\n",
           "%YAML 1.2\n---\na: 1\n",
           "--- a\n",
           "a: 1\n---\nb: 1\n",
           "a: 1\n...\n",
           "\xEF\xBB\xBF"
           "a: 1\n",
           "a: - b\n",
           "a: b: c\n",
           "- a\nb: c\n",
           "a: 1\n- b\n",
           "a: [b\n",
           "a: {b: c\n",
           "a: 'b\n",
           "a: \"b\n",
           "a: 'b' c\n",
           "a: [b] c\n",
           "  a: 1\n b: 2\n",
           "a:\n    b: 1\n  c: 2\n",
           "a: @b\n",
           "a: `b\n",
           "a: %b\n",
           "[a?b]",
           "[a{b]",
           "{a:1}",
           "{\"a\" :1}",
           "{a\n: b}",
           "{a:\n b}",
           "a: \x04\n",
           "# \x04\n",
       }) {
    EXPECT_FALSE(plain_events(text).has_value()) << text;
  }
}

TEST(PlainYamlReader, LeavesKeysThatAreTooLongToYamlCpp) {
  for (const std::size_t length : {900, 1'000, 1'001, 1'023, 1'024, 1'025, 2'000}) {
    for (const std::string& text :
         {std::string(length, 'k') + ": v\n", "'" + std::string(length, 'k') + "' : v\n",
          "{" + std::string(length, 'k') + ": v}\n", "{a: b, \"" + std::string(length, 'k') + "\":v}\n"}) {
      const auto events = plain_events(text);
      EXPECT_TRUE(length == 900 ? events.has_value() : length <= 1'000 || !events.has_value()) << text.size();
      if (events) {
        EXPECT_EQ(events, yaml_cpp_events(text));
      }
    }
  }
}

void expect_agreement(const std::string& text) {
  const auto events = plain_events(text);
  if (events) {
    EXPECT_EQ(events, yaml_cpp_events(text)) << "for:\n" << text << "\nend";
  }
}

// Any words of the language one after the other: mostly nonsense, some of it valid.
TEST(PlainYamlReader, AgreesWithYamlCppOnAnySequenceOfTokens) {
  constexpr const char* kTokens[] = {
      "a",      "key",   "a b", ": ",     ":",     "- ",  "-",  "\n", "\n",   "\n  ",   "\n- ",
      "\n  - ", "\nk: ", "  ",  " ",      "{",     "}",   "[",  "]",  ", ",   ",",      "'",
      "\"",     "''",    "#",   " # c",   "|",     "&x ", "*x", "!",  "~",    "null",   "---",
      "...",    "?",     "? ",  "\\",     "1",     "-1",  "\t", "é",  "<<: ", "{a: b}", "[a, b]",
      "'q'",    "\"q\"", "k: ", "k: v\n", "- v\n", "%",   "@",  "`",  ">",    "=",      "\r\n"};
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int read = 0;
  constexpr int kTexts = 60'000;
  for (int i = 0; i < kTexts && !HasFailure(); ++i) {
    std::string text;
    const std::size_t count = 1 + random() % 14;
    for (std::size_t j = 0; j < count; ++j) text += kTokens[random() % std::size(kTokens)];
    read += plain_events(text).has_value() ? 1 : 0;
    expect_agreement(text);
  }
  EXPECT_GT(read, kTexts / 100) << "the rest says little";
}

// A random tree, written in one of the ways that the reader knows.
class TreeWriter {
 public:
  explicit TreeWriter(std::mt19937& random) : random_(random) {}

  std::string document() {
    out_ = pick(4) == 0 ? "---\n" : "";
    block(0, 0);
    return std::move(out_);
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_()) % below; }

  std::string scalar() {
    constexpr const char* kScalars[] = {"a",     "some text", "12",        "-3",    "x:y",  "a#b", "'it''s'",
                                        "\"q\"", "\"a: b\"",  "'- x'",     "null",  "~",    "60s", "10.0.0.0/8",
                                        "'[x]'", "a-b",       "\"\\\\d\"", "tr ue", "é",    "''",  "\"\"",
                                        "'#no'", "=",         "a.b_c",     "1e3",   "a\"b", "a'b", "'a,b'"};
    return kScalars[pick(std::size(kScalars))];
  }
  std::string key() {
    constexpr const char* kKeys[] = {"id", "limit", "'a key'", "\"k\"", "a b", "<<x", "x-y"};
    return kKeys[pick(std::size(kKeys))] + std::string(pick(5) == 0 ? " " : "");
  }
  void end_line() {
    out_ += pick(6) == 0 ? "  # why" : "";
    out_ += '\n';
    if (pick(8) == 0) out_ += pick(2) == 0 ? "\n" : "   # a comment\n";
  }

  void flow(int depth) {
    const unsigned kind = depth > 3 ? 0 : pick(4);
    if (kind < 2) {
      out_ += scalar();
      return;
    }
    out_ += kind == 2 ? "[" : "{";
    const unsigned count = pick(4);
    for (unsigned i = 0; i < count; ++i) {
      if (i > 0) out_ += pick(6) == 0 ? ",\n  " : pick(3) == 0 ? "," : ", ";
      if (kind == 3) out_ += key() + ": ";
      flow(depth + 1);
    }
    out_ += pick(8) == 0 ? "\n " : "";
    out_ += kind == 2 ? "]" : "}";
  }

  // Called where the node's first character goes, at column `indent`.
  void block(int indent, int depth) {
    const unsigned kind = depth > 4 ? 0 : pick(3);
    if (kind == 0) {
      flow(depth);
      return end_line();
    }
    const unsigned count = 1 + pick(3);
    for (unsigned i = 0; i < count; ++i) {
      if (i > 0) out_ += std::string(static_cast<std::size_t>(indent), ' ');
      kind == 1 ? entry(indent, depth) : field(indent, depth);
    }
  }
  void entry(int indent, int depth) {
    out_ += '-';
    const int deeper = indent + 2 + static_cast<int>(pick(2));
    if (pick(4) == 0) {
      end_line();
      out_ += std::string(static_cast<std::size_t>(deeper), ' ');
    } else {
      out_ += std::string(static_cast<std::size_t>(deeper - indent - 1), ' ');
    }
    block(deeper, depth + 1);
  }
  void field(int indent, int depth) {
    out_ += key() + ":";
    if (pick(2) == 0) {
      out_ += ' ';
      flow(depth + 1);
      return end_line();
    }
    end_line();
    const int deeper = indent + 1 + static_cast<int>(pick(4));
    out_ += std::string(static_cast<std::size_t>(deeper), ' ');
    block(deeper, depth + 1);
  }

  std::mt19937& random_;
  std::string out_;
};

TEST(PlainYamlReader, ReadsAnyTreeAsYamlCppDoesAndAlsoOneThatWasDamaged) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::string_view kDamage = "\n :-,[]{}'\"#a\t&*!|>%@`?~\\";
  int valid = 0;
  constexpr int kTrees = 10'000;
  for (int i = 0; i < kTrees && !HasFailure(); ++i) {
    std::string text = TreeWriter(random).document();
    const auto expected = yaml_cpp_events(text);
    valid += expected ? 1 : 0;
    if (expected) {
      EXPECT_EQ(plain_events(text), expected) << "for:\n" << text << "\nend";
    }
    for (int j = 0; j < 5; ++j) {
      std::string damaged = text;
      const std::size_t at = random() % damaged.size();
      const char c = kDamage[random() % kDamage.size()];
      switch (random() % 3) {
        case 0:
          damaged[at] = c;
          break;
        case 1:
          damaged.insert(at, 1, c);
          break;
        default:
          damaged.erase(at, 1 + random() % 3);
      }
      expect_agreement(damaged);
    }
  }
  EXPECT_GT(valid, kTrees * 9 / 10);
}

}  // namespace
}  // namespace weir::base
