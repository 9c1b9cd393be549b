#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/bounded_file.h"
#include "tests/support/temporary_folder.h"

namespace weir::base {
namespace {

TEST(AtomicFile, ReplacesTheWholeTextForItsOwnerAlone) {
  const rules::TemporaryFolder folder;
  folder.write("kept", "a long text that was there before");
  ASSERT_TRUE(write_file_atomically(folder.path() / "kept", "new").ok());
  EXPECT_EQ(read_bounded_file(folder.path() / "kept", 100).value(), "new");
  struct stat info {};
  ASSERT_EQ(::stat((folder.path() / "kept").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(AtomicFile, SaysWhichFileCannotBeWrittenAndLeavesNothingBehind) {
  const rules::TemporaryFolder folder;
  const Status status = write_file_atomically(folder.path() / "none" / "kept", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.failure().message, testing::HasSubstr("none/kept: No such file"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace weir::base
