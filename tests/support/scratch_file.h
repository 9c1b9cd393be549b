// A file for a test, removed when the test ends.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::identity {

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text) {
    static int count = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            ("weir_caller_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    write(text);
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace weir::identity
