// Sink: collects what a log writes, at the other end of a pipe that is not read meanwhile.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace weir::observe {

class Sink {
 public:
  Sink() {
    EXPECT_EQ(::pipe2(fds_, O_CLOEXEC), 0);
    ::fcntl(fds_[0], F_SETFL, O_NONBLOCK);
    ::fcntl(fds_[0], F_SETPIPE_SZ, 1 << 20);
  }
  ~Sink() {
    ::close(fds_[0]);
    ::close(fds_[1]);
  }
  int fd() const { return fds_[1]; }
  std::vector<std::string> lines() {
    std::string all;
    char buffer[65536];
    for (ssize_t n; (n = ::read(fds_[0], buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(n));
    std::vector<std::string> out;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = all.find('\n', at);
      EXPECT_NE(end, std::string::npos) << "the last line is not ended";
      if (end == std::string::npos) break;
      out.push_back(all.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

 private:
  int fds_[2] = {-1, -1};
};

}  // namespace weir::observe
