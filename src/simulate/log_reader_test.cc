#include "simulate/log_reader.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace weir::simulate {
namespace {

std::string line_at(int second, const std::string& path) {
  char time[64];
  std::snprintf(time, sizeof time, "01/Jan/2025:00:%02d:%02d +0000", second / 60, second % 60);
  return "192.0.2.1 - - [" + std::string(time) + "] \"GET " + path + " HTTP/1.1\" 200 5\n";
}

std::string gzipped(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::vector<std::string> targets(MergedLogs& logs) {
  std::vector<std::string> found;
  while (logs.next()) found.emplace_back(logs.record().target);
  return found;
}

Result<std::vector<std::string>> targets_of(std::string_view text, const LogOptions& options = {}) {
  Result<MergedLogs> logs = MergedLogs::from_text(text, options);
  if (!logs.ok()) return logs.failure();
  std::vector<std::string> found = targets(logs.value());
  if (!logs.value().status().ok()) return logs.value().status().failure();
  return found;
}

TEST(LogReader, ReadsPlainGzipAndZstdAlike) {
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 30'000; ++i) {
    expected.push_back("/" + std::to_string(i));
    text += line_at(i / 600, expected.back());
  }
  EXPECT_EQ(targets_of(text).value(), expected);
  EXPECT_EQ(targets_of(gzipped(text)).value(), expected);
  EXPECT_EQ(targets_of(zstd_packed(text)).value(), expected);
  // Packed files may be put one behind the other.
  const std::size_t half = text.find("GET /15000 ");
  const std::size_t cut = text.rfind('\n', half) + 1;
  EXPECT_EQ(targets_of(gzipped(text.substr(0, cut)) + gzipped(text.substr(cut))).value(), expected);
}

TEST(LogReader, SaysThatAPackedFileIsCutOff) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += line_at(i / 100, "/" + std::to_string(i * 7919));
  const std::string gzip = gzipped(text);
  const std::string zstd = zstd_packed(text);
  EXPECT_EQ(targets_of(gzip.substr(0, gzip.size() / 2)).failure().code, Code::data_loss);
  EXPECT_EQ(targets_of(zstd.substr(0, zstd.size() / 2)).failure().code, Code::data_loss);
}

TEST(LogReader, CountsLinesThatDoNotParseAndKeepsTheFirst) {
  Result<MergedLogs> logs =
      MergedLogs::from_text(line_at(0, "/a") + "\n# a comment\nbroken one\n" + line_at(1, "/b") + "broken two", {});
  ASSERT_TRUE(logs.ok());
  EXPECT_EQ(targets(logs.value()), (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(logs.value().unparsed(), 2U);
  EXPECT_EQ(logs.value().lines(), 4U);
  const std::optional<BadLine>& first = logs.value().logs()[0]->first_unparsed();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->text, "broken one");
  EXPECT_EQ(first->number, 2U);
}

TEST(LogReader, CountsALineThatIsLongerThanItsBufferAndGoesOn) {
  const std::string text = line_at(0, "/a") + std::string(3 * LogReader::kBufferBytes, 'x') + "\n" + line_at(1, "/b");
  Result<MergedLogs> logs = MergedLogs::from_text(text, {});
  ASSERT_TRUE(logs.ok());
  EXPECT_EQ(targets(logs.value()), (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(logs.value().unparsed(), 1U);
}

TEST(LogReader, ReadsALastLineWithoutAnEndAndLinesThatEndInCarriageReturns) {
  std::string text = line_at(0, "/a") + line_at(1, "/b");
  text.insert(text.find('\n'), "\r");
  text.pop_back();
  EXPECT_EQ(targets_of(text).value(), (std::vector<std::string>{"/a", "/b"}));
}

TEST(LogReader, ReadsALogOfOneLineWithoutAnEnd) {
  std::string text = line_at(0, "/a");
  text.pop_back();
  EXPECT_EQ(targets_of(text).value(), std::vector<std::string>{"/a"});
  EXPECT_EQ(targets_of(gzipped(text)).value(), std::vector<std::string>{"/a"});
  EXPECT_FALSE(targets_of("hello world").ok());
}

TEST(LogReader, FindsTheFormatBehindLinesThatAreTooLong) {
  // As a rotation by copying leaves them: as many NULs as were written before.
  const std::string nuls(2 * LogReader::kBufferBytes, '\0');
  std::string good;
  std::vector<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    expected.push_back("/" + std::to_string(i));
    good += line_at(i, expected.back());
  }
  for (const std::string& before : {nuls + "\n", "# a comment\n\n" + nuls + "\n", nuls + "\n\n" + nuls + "\n"}) {
    Result<MergedLogs> logs = MergedLogs::from_text(before + good, {});
    ASSERT_TRUE(logs.ok());
    EXPECT_EQ(targets(logs.value()), expected);
    EXPECT_EQ(logs.value().lines(), 10 + logs.value().unparsed());
    EXPECT_EQ(logs.value().unparsed(), static_cast<std::uint64_t>(before.size() / nuls.size()));
  }
}

TEST(LogReader, RefusesALogWhoseFormatItDoesNotKnow) {
  const auto read = targets_of("hello world\n");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.failure().code, Code::invalid_argument);
  EXPECT_NE(read.failure().message.find("hello world"), std::string::npos);
}

TEST(LogReader, ShowsALineOfAnUnknownFormatWithoutControlCharacters) {
  const auto read = targets_of("hello \x1b]0;title\a\x9b 31m \xff\n");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.failure().message.find("hello \\u001b]0;title"), std::string::npos) << read.failure().message;
  for (const char c : read.failure().message) EXPECT_GE(static_cast<unsigned char>(c), ' ');
  EXPECT_EQ(read.failure().message.find('\x9b'), std::string::npos);
}

TEST(MergedLogs, PutSeveralLogsInTheOrderOfTime) {
  const rules::TemporaryFolder folder;
  const std::string one = folder.path() / "one.log";
  const std::string two = folder.path() / "two.log.gz";
  const std::string three = folder.path() / "three.log";
  std::ofstream(one) << line_at(0, "/0") << line_at(30, "/30") << line_at(50, "/50");
  std::ofstream(two, std::ios::binary) << gzipped(line_at(10, "/10") + line_at(40, "/40"));
  std::ofstream(three) << "";
  const std::vector<std::string> paths = {one, two, three};
  Result<MergedLogs> logs = MergedLogs::open(paths, {});
  ASSERT_TRUE(logs.ok()) << logs.failure().message;
  EXPECT_EQ(targets(logs.value()), (std::vector<std::string>{"/0", "/10", "/30", "/40", "/50"}));
  EXPECT_EQ(logs.value().position(), logs.value().size() == 0 ? logs.value().position() : logs.value().size());
}

TEST(MergedLogs, SayWhichFileCannotBeOpened) {
  const std::vector<std::string> paths = {"/nowhere/access.log"};
  const Result<MergedLogs> logs = MergedLogs::open(paths, {});
  ASSERT_FALSE(logs.ok());
  EXPECT_EQ(logs.failure().code, Code::not_found);
  EXPECT_NE(logs.failure().message.find("/nowhere/access.log"), std::string::npos);
}

}  // namespace
}  // namespace weir::simulate
