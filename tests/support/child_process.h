// Real programs that tests start: spawn() and run_to_end(), with free_port() and eventually(). A child dies with the
// test, also when that is killed (PR_SET_PDEATHSIG). Failures throw std::runtime_error, which fails the test.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weir::processes {

// Waits until `condition` holds; throws, naming `what`, if it does not within `patience`.
inline void eventually(const std::string& what, const std::function<bool()>& condition,
                       std::chrono::milliseconds patience = std::chrono::seconds(15)) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("waited in vain until " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// A port on which no process listens now, below the range from which the kernel takes ports for outgoing connections,
// so that none of those can be in the way.
inline std::uint16_t free_port() {
  static std::mt19937 random{std::random_device{}()};
  for (int tries = 0; tries < 200; ++tries) {
    const auto port = static_cast<std::uint16_t>(std::uniform_int_distribution<int>(15000, 32000)(random));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool free = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    if (free) return port;
  }
  throw std::runtime_error("no free port");
}

inline std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// What the program prints goes to `log`. With a user, only if this process is root's.
inline pid_t spawn(const std::vector<std::string>& words, const std::filesystem::path& log,
                   const passwd* as_user = nullptr) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid > 0) return pid;
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (as_user != nullptr && getuid() == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(as_user->pw_gid) != 0 || setuid(as_user->pw_uid) != 0) _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the change of user, which clears it
  if (getppid() != parent) _exit(1);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

inline void run_to_end(const std::vector<std::string>& words, const std::filesystem::path& log,
                       const passwd* as_user = nullptr) {
  int status = 0;
  waitpid(spawn(words, log, as_user), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw std::runtime_error(words[0] + " failed: " + text_of(log));
}

}  // namespace weir::processes
