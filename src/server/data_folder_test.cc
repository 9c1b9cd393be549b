#include "server/data_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/support/temporary_folder.h"

namespace weir::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DataFolder, IsMadeForItsOwnerAlone) {
  const rules::TemporaryFolder temporary;
  const Result<DataFolder> folder = DataFolder::open(temporary.path() / "state" / "weir");
  ASSERT_TRUE(folder.ok()) << folder.failure().message;
  struct stat info {};
  ASSERT_EQ(::stat(folder.value().path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST(DataFolder, IsUsedByOneProcessAtATimeAndSaysByWhich) {
  const rules::TemporaryFolder temporary;
  {
    const Result<DataFolder> first = DataFolder::open(temporary.path());
    ASSERT_TRUE(first.ok());
    const Result<DataFolder> second = DataFolder::open(temporary.path());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.failure().code, Code::already_exists);
    EXPECT_THAT(second.failure().message,
                AllOf(HasSubstr(temporary.path().string() + " is in use by process " + std::to_string(::getpid())),
                      HasSubstr("--data-dir")));
  }
  EXPECT_TRUE(DataFolder::open(temporary.path()).ok());
}

TEST(DataFolder, ThatCannotBeMadeSaysWhy) {
  const rules::TemporaryFolder temporary;
  temporary.write("file", "");
  const Result<DataFolder> folder = DataFolder::open(temporary.path() / "file" / "weir");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.failure().code, Code::unavailable);
  EXPECT_THAT(folder.failure().message, AllOf(HasSubstr("file/weir cannot be made"), HasSubstr("Not a directory")));
}

}  // namespace
}  // namespace weir::server
