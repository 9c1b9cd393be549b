#include "frontends/resp/command_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace weir::resp {
namespace {

using Found = CommandReader::Found;
using Words = std::vector<std::string>;

Words words_of(const CommandReader& reader) { return {reader.arguments().begin(), reader.arguments().end()}; }

std::string encoded(const Words& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return bytes;
}

// What a stream of bytes means: its commands, and the complaint that ended it, if any.
struct Meaning {
  std::vector<Words> commands;
  std::string complaint;
  friend bool operator==(const Meaning&, const Meaning&) = default;
};

// Offers the bytes as a connection would: `step` more at a time, what is consumed never again. A reader that remembers
// how far it was must find what one finds that sees the bytes for the first time, and not a byte later.
Meaning read_in_steps(const std::string& bytes, std::size_t step, const ReadLimits& limits) {
  Meaning meaning;
  CommandReader reader;
  std::size_t start = 0;
  for (std::size_t end = 0; end < bytes.size();) {
    end = std::min(bytes.size(), end + step);
    for (;;) {
      const std::string_view offered = std::string_view(bytes).substr(start, end - start);
      const Found found = reader.read(offered, limits);
      EXPECT_EQ(found, CommandReader().read(offered, limits)) << "at byte " << end << " of " << bytes;
      if (found == Found::incomplete) break;
      if (found == Found::malformed) {
        meaning.complaint = reader.complaint();
        return meaning;
      }
      meaning.commands.push_back(words_of(reader));
      start += reader.consumed();
    }
  }
  return meaning;
}

TEST(CommandReader, ReadsArraysAndLeavesWhatFollows) {
  CommandReader reader;
  const std::string bytes = encoded({"ECHO", "hi"}) + "*1\r\n$4";
  ASSERT_EQ(reader.read(bytes, kClientLimits), Found::command);
  EXPECT_EQ(words_of(reader), (Words{"ECHO", "hi"}));
  EXPECT_EQ(bytes.substr(reader.consumed()), "*1\r\n$4");
}

TEST(CommandReader, KeepsEveryByteOfAnArgument) {
  const Words words{"SET", std::string("a\0b\r\n$3\r\n", 9), "", "\xff\xfe"};
  CommandReader reader;
  const std::string bytes = encoded(words);
  ASSERT_EQ(reader.read(bytes, kClientLimits), Found::command);
  EXPECT_EQ(words_of(reader), words);
}

TEST(CommandReader, ReadsInlineCommandsWithQuotesAndEscapes) {
  struct Case {
    std::string line;
    Words words;
  };
  const std::vector<Case> cases = {
      {"PING\r\n", {"PING"}},
      {"PING\n", {"PING"}},
      {"  echo \t hi  \r\n", {"echo", "hi"}},
      {"echo \"a b\"\r\n", {"echo", "a b"}},
      {"echo \"\\x41\\n\\\"\\\\q\\q\"\r\n", {"echo", "A\n\"\\qq"}},
      {"echo \"\\xZZ\"\r\n", {"echo", "xZZ"}},
      {"echo 'it\\'s \\n'\r\n", {"echo", "it's \\n"}},
      {"echo \"\"\r\n", {"echo", ""}},
      {"\r\n", {}},
      {"\n", {}},
  };
  for (const Case& c : cases) {
    CommandReader reader;
    ASSERT_EQ(reader.read(c.line, kClientLimits), Found::command) << c.line;
    EXPECT_EQ(words_of(reader), c.words) << c.line;
    EXPECT_EQ(reader.consumed(), c.line.size()) << c.line;
  }
}

// Refused when announced, not when it has all arrived.
TEST(CommandReader, RefusesWhatBreaksTheProtocolOrItsBounds) {
  struct Case {
    std::string bytes;
    std::string complaint;
  };
  const std::vector<Case> cases = {
      {"*2147483647\r\n", "invalid multibulk length"},
      {"*1025\r\n", "invalid multibulk length"},
      {"*-1\r\n", "invalid multibulk length"},
      {"*+1\r\n", "invalid multibulk length"},
      {"*01\r\n", "invalid multibulk length"},
      {"*\r\n", "invalid multibulk length"},
      {"*1 \r\n", "invalid multibulk length"},
      {"*1\n$4\r\nPING\r\n", "invalid multibulk length"},
      {"*1\r$", "invalid multibulk length"},
      {"*99999999999", "invalid multibulk length"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$65537\r\n", "invalid bulk length"},
      {"*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
      {"*1\r\n$18446744073709551617\r\n", "invalid bulk length"},
      {"*1\r\n:4\r\n", "expected '$' before the length of an argument"},
      {"*1\r\nPING\r\n", "expected '$' before the length of an argument"},
      {"*1\r\n$4\r\nPINGS\r\n", "expected CRLF after an argument"},
      {"*1\r\n$4\r\nPING\n\n", "expected CRLF after an argument"},
      {"echo \"open\r\n", "unbalanced quotes in request"},
      {"echo \"a\"b\r\n", "unbalanced quotes in request"},
      {"echo 'open\r\n", "unbalanced quotes in request"},
  };
  for (const Case& c : cases) {
    CommandReader reader;
    ASSERT_EQ(reader.read(c.bytes, kClientLimits), Found::malformed) << c.bytes;
    EXPECT_EQ(reader.complaint(), c.complaint) << c.bytes;
    EXPECT_EQ(read_in_steps(c.bytes, 1, kClientLimits).complaint, c.complaint) << c.bytes;
  }
}

TEST(CommandReader, BoundsInlineRequestsAtExactlyTheirLimit) {
  const std::size_t most = kClientLimits.inline_bytes;
  CommandReader reader;
  EXPECT_EQ(reader.read(std::string(most - 1, 'a'), kClientLimits), Found::incomplete);
  EXPECT_EQ(reader.read(std::string(most - 1, 'a') + "\n", kClientLimits), Found::command);
  EXPECT_EQ(CommandReader().read(std::string(most, 'a'), kClientLimits), Found::malformed);
  EXPECT_EQ(CommandReader().read(std::string(most, 'a') + "\n", kClientLimits), Found::malformed);
}

TEST(CommandReader, BoundsTheArgumentsOfInlineRequests) {
  std::string line;
  for (std::size_t i = 0; i < kStrangerLimits.arguments; ++i) line += "a ";
  EXPECT_EQ(CommandReader().read(line + "\n", kStrangerLimits), Found::command);
  EXPECT_EQ(CommandReader().read(line + "a\n", kStrangerLimits), Found::malformed);
}

TEST(CommandReader, BoundsTheWholeCommand) {
  std::string bytes = "*20\r\n";
  const std::string bulk(kClientLimits.bulk_bytes, 'x');
  for (int i = 0; i < 15; ++i) bytes += "$" + std::to_string(bulk.size()) + "\r\n" + bulk + "\r\n";
  CommandReader reader;
  EXPECT_EQ(reader.read(bytes, kClientLimits), Found::incomplete);
  bytes += "$" + std::to_string(bulk.size()) + "\r\n";
  EXPECT_EQ(reader.read(bytes, kClientLimits), Found::malformed);
  EXPECT_EQ(reader.complaint(), "too big command");
  EXPECT_LT(bytes.size(), kClientLimits.command_bytes);
}

TEST(CommandReader, GivesStrangersLessRoom) {
  EXPECT_EQ(CommandReader().read("*11\r\n", kStrangerLimits), Found::malformed);
  EXPECT_EQ(CommandReader().read("*1\r\n$1025\r\n", kStrangerLimits), Found::malformed);
  EXPECT_EQ(CommandReader().read("*10\r\n$1024\r\n", kStrangerLimits), Found::incomplete);
}

// Bytes that are mostly commands, with some of them damaged.
rc::Gen<std::string> damaged_stream() {
  const auto word = rc::gen::container<std::string>(rc::gen::element('a', ' ', '\r', '\n', '$', '*', '"', '\0', '9'));
  const auto command = rc::gen::map(rc::gen::container<Words>(word), encoded);
  const auto noise = rc::gen::container<std::string>(rc::gen::element('*', '$', '\r', '\n', '1', '0', '-', 'x', '"'));
  const auto piece = rc::gen::weightedOneOf<std::string>(
      {{6, command}, {2, rc::gen::just(std::string("PING \"a b\"\r\n"))}, {1, noise}});
  return rc::gen::map(rc::gen::container<Words>(piece), [](const Words& pieces) {
    std::string all;
    for (const std::string& p : pieces) all += p;
    return all;
  });
}

TEST(CommandReader, MeansTheSameHoweverTheBytesArrive) {
  const bool holds = rc::check("byte by byte equals one shot", [] {
    const std::string bytes = *damaged_stream();
    const ReadLimits tight{4, 16, 64, 24};
    const ReadLimits limits = *rc::gen::element(tight, kStrangerLimits, kClientLimits);
    const Meaning whole = read_in_steps(bytes, std::max<std::size_t>(1, bytes.size()), limits);
    RC_ASSERT(read_in_steps(bytes, 1, limits) == whole);
    RC_ASSERT(read_in_steps(bytes, *rc::gen::inRange<std::size_t>(2, 9), limits) == whole);
  });
  EXPECT_TRUE(holds);
}

TEST(CommandReader, ReadsBackWhatWasEncoded) {
  const bool holds = rc::check("decode(encode(words)) == words", [](const Words& words) {
    RC_PRE(words.size() <= kClientLimits.arguments);
    CommandReader reader;
    const std::string bytes = encoded(words);
    RC_ASSERT(reader.read(bytes, kClientLimits) == Found::command);
    RC_ASSERT(words_of(reader) == words);
    RC_ASSERT(reader.consumed() == bytes.size());
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace weir::resp
