#include "cli/held_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace weir::cli {
namespace {

timespec timespec_of(Duration time) {
  const std::int64_t us = std::max<std::int64_t>(0, time.count());
  return {.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1'000};
}

// The terminal sends these to every process in the foreground, so the command has them already.
bool is_from_terminal(const siginfo_t& info) {
  return info.si_code == SI_KERNEL && (info.si_signo == SIGINT || info.si_signo == SIGQUIT || info.si_signo == SIGHUP);
}

}  // namespace

HeldCommand::HeldCommand() {
  sigemptyset(&waited_);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&waited_, signal);
  sigprocmask(SIG_BLOCK, &waited_, &before_);
}

HeldCommand::~HeldCommand() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> HeldCommand::wait_for_signal(Duration time) const {
  const timespec limit = timespec_of(time);
  const int signal = sigtimedwait(&waited_, nullptr, &limit);
  if (signal <= 0 || signal == SIGCHLD) return std::nullopt;
  return signal;
}

Status HeldCommand::start(const std::vector<std::string>& words,
                          const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int report[2];  // closed by a successful exec; else it carries the error
  if (::pipe2(report, O_CLOEXEC) != 0) return Failure{Code::internal, std::strerror(errno)};
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    // If we are killed, no one renews the lease any more, and the command must not go on without it.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0UL, 0UL, 0UL);
    if (::getppid() != parent) ::_exit(127);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(arguments[0], arguments.data());
    const int error = errno;
    static_cast<void>(!::write(report[1], &error, sizeof error));
    ::_exit(127);
  }
  const int fork_error = errno;
  ::close(report[1]);
  int error = 0;
  const bool failed = child_ < 0 || ::read(report[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error);
  ::close(report[0]);
  if (!failed) return success();
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
  const int cause = child_ < 0 ? fork_error : error;
  child_ = -1;
  return Failure{cause == ENOENT ? Code::not_found : Code::permission_denied,
                 "cannot run '" + words[0] + "': " + std::strerror(cause)};
}

std::optional<int> HeldCommand::ended() {
  int status = 0;
  if (::waitpid(child_, &status, WNOHANG) != child_) return std::nullopt;
  child_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<int> HeldCommand::wait(Duration time) {
  if (const std::optional<int> code = ended()) return code;
  const timespec limit = timespec_of(time);
  siginfo_t info{};
  const int signal = sigtimedwait(&waited_, &info, &limit);
  if (signal > 0 && signal != SIGCHLD && !is_from_terminal(info)) send(signal);
  return ended();
}

void HeldCommand::send(int signal) const {
  if (child_ > 0) ::kill(child_, signal);
}

}  // namespace weir::cli
