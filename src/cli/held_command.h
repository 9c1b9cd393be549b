// HeldCommand: a child process that runs while a lease is held (`weir lease run`). Its parent blocks the signals that
// it waits for, so that none is lost between two waits. One at a time in a process.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::cli {

class HeldCommand {
 public:
  // Blocks SIGCHLD, SIGINT, SIGTERM, SIGHUP and SIGQUIT until it is destroyed.
  HeldCommand();
  ~HeldCommand();
  HeldCommand(const HeldCommand&) = delete;
  HeldCommand& operator=(const HeldCommand&) = delete;

  // Waits for a signal that ends the program, before the command has started. Its number; nothing: none came.
  std::optional<int> wait_for_signal(Duration time) const;

  // The failure says why the command cannot run. `variables` are added to the environment.
  Status start(const std::vector<std::string>& words,
               const std::vector<std::pair<std::string, std::string>>& variables);

  // Waits until the command has ended, for at most `time`; passes signals on to it. What a shell would say: its exit
  // code, or 128 and the signal that ended it.
  std::optional<int> wait(Duration time);
  void send(int signal) const;

 private:
  std::optional<int> ended();

  sigset_t waited_{};
  sigset_t before_{};
  pid_t child_ = -1;
};

}  // namespace weir::cli
