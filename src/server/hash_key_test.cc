#include "server/hash_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

namespace weir::server {
namespace {

namespace fs = std::filesystem;

class HashKeyTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weir-key-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(HashKeyTest, IsMadeOnceForItsOwnerOnly) {
  const fs::path file = folder_ / "key";
  const Result<keys::KeyRing> first = load_or_make_key_ring(file);
  ASSERT_TRUE(first.ok()) << first.failure().message;
  EXPECT_NE(first.value().current, HashKey{});
  EXPECT_FALSE(first.value().previous);
  EXPECT_EQ(load_or_make_key_ring(file).value().current, first.value().current);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "nothing is left behind";
}

TEST_F(HashKeyTest, WhatIsNoKeyIsRefusedAndLeftAlone) {
  const fs::path file = folder_ / "key";
  const std::string zeros(32, '0');
  for (const std::string& text : {std::string(), std::string("short"), std::string(32, 'g'), zeros, zeros + "00"}) {
    std::ofstream(file, std::ios::trunc) << text;
    const Result<keys::KeyRing> key = load_or_make_key_ring(file);
    ASSERT_FALSE(key.ok()) << text;
    EXPECT_EQ(key.failure().code, Code::invalid_argument);
    EXPECT_EQ(fs::file_size(file), text.size());
  }
}

TEST_F(HashKeyTest, ASecondLineIsThePreviousKey) {
  const fs::path file = folder_ / "key";
  std::ofstream(file) << std::string(32, '1') << "\n" << std::string(32, '2') << "\n";
  const Result<keys::KeyRing> ring = load_or_make_key_ring(file);
  ASSERT_TRUE(ring.ok()) << ring.failure().message;
  EXPECT_EQ(ring.value().current[0], 0x11);
  ASSERT_TRUE(ring.value().previous);
  EXPECT_EQ((*ring.value().previous)[0], 0x22);
  std::ofstream(file) << std::string(32, '1') << "\n" << std::string(32, '1') << "\n";
  EXPECT_FALSE(load_or_make_key_ring(file).ok()) << "no rotation";
}

TEST_F(HashKeyTest, AFolderThatIsNotThereIsAFailure) {
  EXPECT_FALSE(load_or_make_key_ring(folder_ / "none" / "key").ok());
}

}  // namespace
}  // namespace weir::server
