// For tests: a log whose lines can be read back.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "observe/log.h"

namespace weir::server {

class LogFile {
 public:
  explicit LogFile(Clock& clock)
      : file_(std::tmpfile()),
        log_({.format = observe::Log::Format::json, .level = observe::Level::debug, .fd = ::fileno(file_)}, clock) {}
  ~LogFile() { std::fclose(file_); }

  observe::Log& log() { return log_; }
  std::string text() const {
    std::string out(1 << 20, '\0');
    const ssize_t bytes = ::pread(::fileno(file_), out.data(), out.size(), 0);
    EXPECT_GE(bytes, 0);
    out.resize(static_cast<std::size_t>(bytes));
    return out;
  }

 private:
  std::FILE* const file_;
  observe::Log log_;
};

}  // namespace weir::server
