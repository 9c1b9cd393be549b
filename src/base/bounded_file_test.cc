#include "base/bounded_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/support/temporary_folder.h"

namespace weir::base {
namespace {

class BoundedFile : public testing::Test {
 protected:
  Result<std::string> read(const char* name, std::size_t max_bytes) {
    return read_bounded_file(folder_.path() / name, max_bytes);
  }
  void expect_failure(const Result<std::string>& read, Code code, const std::string& name, const std::string& why) {
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.failure().code, code);
    EXPECT_EQ(read.failure().message, (folder_.path() / name).string() + ": " + why);
  }

  rules::TemporaryFolder folder_;
};

TEST_F(BoundedFile, ReadsEveryByteUpToTheBound) {
  const std::string text("a\0b\r\n\xff", 6);
  folder_.write("file", text);
  EXPECT_EQ(read("file", 6).value(), text);
  expect_failure(read("file", 5), Code::resource_exhausted, "file", "too large, expected at most 5 bytes");
  folder_.write("empty", "");
  EXPECT_EQ(read("empty", 0).value(), "");
}

TEST_F(BoundedFile, NamesTheCauseOfEachFailure) {
  expect_failure(read("missing", 10), Code::not_found, "missing", "No such file or directory");
  expect_failure(read(".", 10), Code::invalid_argument, ".", "not a regular file");
  folder_.write("file", "x");
  expect_failure(read("file/below", 10), Code::unavailable, "file/below", "Not a directory");
  if (::geteuid() != 0) {  // root may read everything
    ASSERT_EQ(::chmod((folder_.path() / "file").c_str(), 0), 0);
    expect_failure(read("file", 10), Code::permission_denied, "file", "Permission denied");
  }
}

TEST_F(BoundedFile, DoesNotWaitForTheWriterOfAPipe) {
  ASSERT_EQ(::mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  expect_failure(read("pipe", 10), Code::invalid_argument, "pipe", "not a regular file");
}

// The size that the system reports for these is 0, so only reading finds the end.
TEST(BoundedFileSizes, BoundsAFileThatIsLargerThanItsReportedSize) {
  EXPECT_GT(read_bounded_file("/proc/self/maps", 1 << 20).value().size(), 100u);
  const Result<std::string> read = read_bounded_file("/proc/self/maps", 100);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.failure().code, Code::resource_exhausted);
}

}  // namespace
}  // namespace weir::base
