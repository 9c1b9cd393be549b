// Real redis-server processes for tests: one server, a master with replicas and sentinels, a cluster.
//
// Each process lives in a folder of its own under the system's temporary one, on a free loopback port, and dies with
// the object that started it; should the test itself be killed, the kernel ends it (PR_SET_PDEATHSIG). Failures to
// start throw std::runtime_error, which fails the test with its message.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace weir::redis::testing {

using processes::eventually;
using processes::free_port;

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A blocking connection for what a test asks on the side. Answers are texts: integers in decimal, arrays joined by
// spaces, errors with a leading '-', nil as "(nil)".
class SideClient {
 public:
  explicit SideClient(std::uint16_t port);
  ~SideClient();
  SideClient(const SideClient&) = delete;
  SideClient& operator=(const SideClient&) = delete;
  std::string ask(std::initializer_list<std::string_view> words);

 private:
  int socket_ = -1;
};

struct ServerSetup {
  std::vector<std::string> before;     // a program that runs redis-server in its place, with its arguments
  std::vector<std::string> arguments;  // after the port and folder
  bool sentinel = false;
  std::string configuration;  // the file's text, if any
  std::uint16_t port = 0;     // 0: a free one
};

class RedisServer {
 public:
  explicit RedisServer(ServerSetup setup = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::filesystem::path folder() const { return folder_.path(); }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  std::string ask(std::initializer_list<std::string_view> words) { return SideClient(port_).ask(words); }

  void kill();    // SIGKILL
  void start();   // after kill()
  void freeze();  // SIGSTOP
  void thaw();    // SIGCONT
  bool running() const { return pid_ > 0; }

 private:
  TempFolder folder_;
  ServerSetup setup_;
  std::uint16_t port_;
  pid_t pid_ = -1;
};

// A master, two replicas and three sentinels that agree on it.
class SentinelGroup {
 public:
  SentinelGroup();
  std::string url() const;
  // Whom the sentinels call the master; -1 if none of ours.
  int master_index() const;
  RedisServer& server(std::size_t i) { return *servers_[i]; }
  SideClient sentinel() const { return SideClient(sentinels_[0]->port()); }

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

// Three masters, each with `replicas` replicas, that serve all slots.
class ClusterGroup {
 public:
  explicit ClusterGroup(int replicas = 0);
  std::string url() const;
  std::size_t size() const { return servers_.size(); }
  RedisServer& server(std::size_t i) { return *servers_[i]; }
  std::string id(std::size_t i) { return server(i).ask({"CLUSTER", "MYID"}); }
  // Which server says that it serves `slot`.
  std::size_t owner(std::uint16_t slot);
  // Moves a slot with its keys, as redis-cli does, calling `between` after each key.
  void move_slot(std::uint16_t slot, std::size_t from, std::size_t to, const std::function<void()>& between);

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace weir::redis::testing
