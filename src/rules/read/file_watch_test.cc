#include "rules/read/file_watch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "rules/read/rules_source.h"
#include "tests/support/temporary_folder.h"

namespace weir::rules {
namespace {

namespace fs = std::filesystem;

const char kOne[] = "version: 1\nrules: [{id: one, limit: 1, window: 1s}]\n";
const char kTwo[] = "version: 1\nrules: [{id: one, limit: 2, window: 1s}]\n";

void expect_quiet(FileWatch& watch, const char* what) {
  for (int i = 0; i < FileWatch::kQuietLooks + 1; ++i) EXPECT_FALSE(watch.changed()) << what << ": reported already";
}

// True when the files have come to rest, then quiet.
void expect_change_at_rest(FileWatch& watch, const char* what) {
  for (int i = 0; i < FileWatch::kQuietLooks; ++i) EXPECT_FALSE(watch.changed()) << what << ": look " << i;
  EXPECT_TRUE(watch.changed()) << what;
  expect_quiet(watch, what);
}

void expect_change_at_once(FileWatch& watch, const char* what) {
  EXPECT_TRUE(watch.changed()) << what;
  expect_quiet(watch, what);
}

// A file that was finished a while ago, whatever the clock's resolution.
void write_earlier(const TemporaryFolder& folder, const std::string& name, const char* text) {
  folder.write(name, text);
  fs::last_write_time(folder.path() / name, fs::file_time_type::clock::now() - std::chrono::minutes(1));
}

TEST(FileWatch, AFileWrittenInPlaceIsTakenWhenItHasComeToRest) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", kOne);
  FileWatch watch(folder.path() / "rules.yaml");
  expect_quiet(watch, "nothing happened");
  folder.write("rules.yaml", kTwo);
  expect_change_at_rest(watch, "in-place write");
  fs::remove(folder.path() / "rules.yaml");
  expect_change_at_rest(watch, "removal");
  folder.write("rules.yaml", kOne);
  expect_change_at_rest(watch, "return");
}

TEST(FileWatch, AFileRenamedIntoPlaceIsTakenAtOnce) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", kOne);
  FileWatch watch(folder.path() / "rules.yaml");
  write_earlier(folder, "new", kTwo);
  fs::rename(folder.path() / "new", folder.path() / "rules.yaml");
  expect_change_at_once(watch, "rename of a file of the same size");
}

TEST(FileWatch, ANewFileThatIsStillWrittenIsNotTakenForARename) {
  const TemporaryFolder folder;
  write_earlier(folder, "rules.yaml", kOne);
  FileWatch watch(folder.path() / "rules.yaml");
  fs::rename(folder.path() / "rules.yaml", folder.path() / "old");  // so that the inode is not used again
  folder.write("rules.yaml", "version: 1\n");
  EXPECT_FALSE(watch.changed());
  folder.write("rules.yaml", kTwo);
  expect_change_at_rest(watch, "another file in its place");
}

TEST(FileWatch, ASymlinkThatLeadsElsewhereIsTakenAtOnce) {
  const TemporaryFolder folder;
  // As a ConfigMap does: rules.yaml -> ..data/rules.yaml, ..data -> ..v1, and ..data is swapped by a rename.
  for (const char* version : {"..v1", "..v2", "..v3"}) {
    fs::create_directory(folder.path() / version);
    folder.write(std::string(version) + "/rules.yaml", kOne);
  }
  fs::create_directory_symlink("..v1", folder.path() / "..data");
  fs::create_symlink("..data/rules.yaml", folder.path() / "rules.yaml");
  FileWatch file(folder.path() / "rules.yaml");
  FileWatch all(folder.path());
  FileWatch through_link(folder.path() / "..data" / "rules.yaml");
  for (const char* version : {"..v2", "..v3"}) {
    fs::create_directory_symlink(version, folder.path() / "..tmp");
    fs::rename(folder.path() / "..tmp", folder.path() / "..data");
    expect_change_at_once(file, "the file");
    expect_change_at_once(all, "its folder");
    expect_change_at_once(through_link, "a folder on the way");
  }
}

TEST(FileWatch, AWriterMayPause) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", "v");
  FileWatch watch(folder.path() / "rules.yaml");
  for (const char* text : {"ve", "ver", "vers"}) {
    folder.write("rules.yaml", text);
    for (int i = 0; i < FileWatch::kQuietLooks; ++i) EXPECT_FALSE(watch.changed()) << text << ", look " << i;
  }
  EXPECT_TRUE(watch.changed());
}

TEST(FileWatch, AFileThatNeverRestsIsTakenInTheEnd) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", "");
  FileWatch watch(folder.path() / "rules.yaml");
  int changes = 0;
  std::string text;
  for (int i = 0; i < 3 * FileWatch::kMaxLooks; ++i) {
    folder.write("rules.yaml", text += 'x');
    changes += watch.changed() ? 1 : 0;
  }
  EXPECT_EQ(changes, 3);
}

TEST(FileWatch, SeesFilesComeGoAndChangeInAFolder) {
  const TemporaryFolder folder;
  folder.write("a.yaml", kOne);
  FileWatch watch(folder.path());
  folder.write("notes.txt", "not rules");
  expect_quiet(watch, "another file");
  folder.write("b.yaml", kOne);
  expect_change_at_rest(watch, "new file");
  folder.write("b.yaml", kTwo);
  expect_change_at_rest(watch, "changed file");
  fs::remove(folder.path() / "a.yaml");
  expect_change_at_rest(watch, "removed file");
  write_earlier(folder, "new", kOne);
  fs::rename(folder.path() / "new", folder.path() / "b.yaml");
  folder.write("c.yaml", kOne);
  expect_change_at_rest(watch, "one swapped, another being written");
}

// UBSan needs a file descriptor of its own to inspect an error category, and reports undefined behaviour without one.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_TEST_UNDER_ASAN
#endif
#endif
#ifndef WEIR_TEST_UNDER_ASAN
TEST(FileWatch, AFolderThatCannotBeListedForAMomentHasNotChanged) {
  const TemporaryFolder folder;
  folder.write("a.yaml", kOne);
  FileWatch watch(folder.path());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int i = 0; i < FileWatch::kMaxLooks; ++i) EXPECT_FALSE(watch.changed());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  expect_quiet(watch, "listed again");
}
#endif

// Looks that find, one after the other, files of these sizes.
std::function<Result<FileStates>()> looks_of(std::vector<std::int64_t> sizes) {
  return [sizes = std::move(sizes), next = std::size_t{0}]() mutable -> Result<FileStates> {
    const std::int64_t bytes = sizes[std::min(next++, sizes.size() - 1)];
    if (bytes < 0) return Failure{Code::unavailable, "no descriptor"};
    FileState state;
    state.bytes = bytes;
    return FileStates{state};
  };
}

TEST(ReadAtRest, ReadsAgainWhatChangedWhileItWasRead) {
  int reads = 0;
  int pauses = 0;
  const auto read = [&]() -> Result<SourceTexts> { return SourceTexts{{"rules.yaml", std::to_string(++reads)}}; };
  const auto pause = [&] { ++pauses; };
  EXPECT_EQ(read_at_rest(looks_of({7}), read, pause).value()[0].text, "1");
  EXPECT_EQ(pauses, 0);
  reads = 0;
  EXPECT_EQ(read_at_rest(looks_of({7, 8, 8, 9, 9}), read, pause).value()[0].text, "3");
  EXPECT_EQ(pauses, 2);
}

TEST(ReadAtRest, EndsWithAFileThatNeverRestsAndWithOneThatCannotBeLookedAt) {
  std::vector<std::int64_t> growing;
  for (std::int64_t i = 0; i < 1'000; ++i) growing.push_back(i);
  int reads = 0;
  const auto read = [&]() -> Result<SourceTexts> { return SourceTexts{{"rules.yaml", std::to_string(++reads)}}; };
  EXPECT_EQ(read_at_rest(looks_of(growing), read, [] {}).value()[0].text, std::to_string(kMaxReads));
  reads = 0;
  EXPECT_EQ(read_at_rest(looks_of({1, -1}), read, [] {}).value()[0].text, "1");
  EXPECT_EQ(read_at_rest(looks_of({-1, 1}), read, [] {}).value()[0].text, "2");
  const auto fails = []() -> Result<SourceTexts> { return Failure{Code::unavailable, "x"}; };
  EXPECT_FALSE(read_at_rest(looks_of({1}), fails, [] {}).ok());
}

}  // namespace
}  // namespace weir::rules
