#include "tests/redis/redis_servers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "stores/redis/resp.h"
#include "stores/redis/slot.h"

namespace weir::redis::testing {
namespace {

using processes::run_to_end;
using processes::spawn;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string to_text(Reply reply) {
  const ReplyItem& item = reply[0];
  if (item.kind == ReplyKind::nil) return "(nil)";
  if (item.kind == ReplyKind::integer) return std::to_string(item.number);
  if (item.kind == ReplyKind::error) return "-" + std::string(item.text);
  if (item.kind == ReplyKind::text) return std::string(item.text);
  std::string all;
  for (const ReplyItem& each : reply.subspan(1)) {
    if (each.kind == ReplyKind::array) continue;
    if (!all.empty()) all += ' ';
    all += to_text({&each, 1});
  }
  return all;
}

}  // namespace

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

SideClient::SideClient(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval patience{10, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in address = loopback(port);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
  close(socket_);
  socket_ = -1;
}

SideClient::~SideClient() {
  if (socket_ >= 0) close(socket_);
}

std::string SideClient::ask(std::initializer_list<std::string_view> words) {
  if (socket_ < 0) return "-no connection";
  std::string command;
  CommandWriter writer(command, words.size());
  for (const std::string_view word : words) writer.word(word);
  if (send(socket_, command.data(), command.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(command.size())) {
    return "-not sent";
  }
  ReplyReader reader;
  char bytes[16384];
  while (true) {
    const ssize_t size = recv(socket_, bytes, sizeof bytes, 0);
    if (size <= 0) return "-no answer";
    reader.add({bytes, static_cast<std::size_t>(size)});
    const auto progress = reader.next();
    if (progress == ReplyReader::Progress::complete) return to_text(reader.reply());
    if (progress == ReplyReader::Progress::broken) return "-not RESP";
  }
}

RedisServer::RedisServer(ServerSetup setup)
    : setup_(std::move(setup)), port_(setup_.port != 0 ? setup_.port : free_port()) {
  start();
}

RedisServer::~RedisServer() { kill(); }

void RedisServer::start() {
  const std::string folder = folder_.path().string();
  std::vector<std::string> words = setup_.before;
  words.emplace_back("redis-server");
  if (!setup_.configuration.empty()) {
    const std::string file = folder + "/redis.conf";
    if (!std::filesystem::exists(file)) std::ofstream(file) << setup_.configuration;
    words.push_back(file);
  }
  for (const std::string& word : {std::string("--port"), std::to_string(port_), std::string("--dir"), folder}) {
    words.push_back(word);
  }
  if (setup_.sentinel) {
    words.emplace_back("--sentinel");
  } else {
    for (const char* word : {"--save", "", "--appendonly", "no", "--enable-debug-command", "yes"})
      words.emplace_back(word);
  }
  words.insert(words.end(), setup_.arguments.begin(), setup_.arguments.end());
  pid_ = spawn(words, folder_.path() / "log");
  eventually("redis-server listens on " + std::to_string(port_), [this] {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      throw std::runtime_error("redis-server ended: " + processes::text_of(folder_.path() / "log"));
    }
    const std::string answer = ask({"PING"});
    return answer == "PONG" || answer.starts_with("-NOAUTH");
  });
}

void RedisServer::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::freeze() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void RedisServer::thaw() { ::kill(pid_, SIGCONT); }

SentinelGroup::SentinelGroup() {
  servers_.push_back(std::make_unique<RedisServer>());
  const std::string master = std::to_string(servers_[0]->port());
  for (int i = 0; i < 2; ++i) {
    ServerSetup setup;
    setup.arguments = {"--replicaof", "127.0.0.1", master};
    servers_.push_back(std::make_unique<RedisServer>(setup));
  }
  for (auto& server : servers_) server->ask({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
  // A sentinel that sees them at once need not wait for its next look, ten seconds later.
  eventually("the replicas are level", [&] {
    return servers_[0]->ask({"INFO", "replication"}).find("connected_slaves:2") != std::string::npos &&
           servers_[0]->ask({"SET", "w1:level", "1", "PX", "1"}) == "OK" &&
           servers_[0]->ask({"WAIT", "2", "100"}) == "2";
  });
  for (int i = 0; i < 3; ++i) {
    ServerSetup setup;
    setup.sentinel = true;
    setup.configuration = "sentinel monitor weir 127.0.0.1 " + master +
                          " 2\nsentinel down-after-milliseconds weir 500\nsentinel failover-timeout weir 3000\n";
    sentinels_.push_back(std::make_unique<RedisServer>(setup));
  }
  for (auto& each : sentinels_) {
    eventually("the sentinels know each other and the replicas", [&] {
      const std::string state = each->ask({"SENTINEL", "MASTER", "weir"});
      return each->ask({"SENTINEL", "CKQUORUM", "weir"}).starts_with("OK 3") &&
             state.find("num-slaves 2") != std::string::npos;
    });
  }
}

std::string SentinelGroup::url() const {
  std::string hosts;
  for (const auto& each : sentinels_)
    hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(each->port()));
  return "redis-sentinel://" + hosts + "/weir";
}

int SentinelGroup::master_index() const {
  const std::string answer = sentinel().ask({"SENTINEL", "get-master-addr-by-name", "weir"});
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (answer == "127.0.0.1 " + std::to_string(servers_[i]->port())) return static_cast<int>(i);
  }
  return -1;
}

ClusterGroup::ClusterGroup(int replicas) {
  const int count = 3 * (1 + replicas);
  std::vector<std::string> create{"redis-cli", "--cluster", "create"};
  for (int i = 0; i < count; ++i) {
    const std::string bus = std::to_string(free_port());
    ServerSetup setup;
    setup.arguments = {"--cluster-enabled",
                       "yes",
                       "--cluster-node-timeout",
                       "1000",
                       "--cluster-port",
                       bus,
                       "--cluster-require-full-coverage",
                       "no",
                       "--repl-diskless-sync-delay",
                       "0"};
    servers_.push_back(std::make_unique<RedisServer>(setup));
    create.push_back("127.0.0.1:" + std::to_string(servers_.back()->port()));
  }
  for (const std::string& word :
       {std::string("--cluster-replicas"), std::to_string(replicas), std::string("--cluster-yes")}) {
    create.push_back(word);
  }
  run_to_end(create, servers_[0]->folder() / "create.log");
  for (auto& server : servers_) {
    eventually("the cluster is whole", [&] {
      return server->ask({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
    });
  }
}

std::string ClusterGroup::url() const {
  return "redis-cluster://127.0.0.1:" + std::to_string(servers_[0]->port()) +
         ",127.0.0.1:" + std::to_string(servers_[1]->port());
}

std::size_t ClusterGroup::owner(std::uint16_t slot) {
  std::string tag;
  for (unsigned number = 0; tag.empty() || slot_of_tag(tag) != slot; ++number) tag = std::to_string(number);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (server(i).running() && server(i).ask({"SET", "{" + tag + "}", "1", "PX", "1"}) == "OK") return i;
  }
  throw std::runtime_error("no node serves the slot");
}

void ClusterGroup::move_slot(std::uint16_t slot, std::size_t from, std::size_t to,
                             const std::function<void()>& between) {
  const std::string number = std::to_string(slot);
  const std::string port = std::to_string(server(to).port());
  server(to).ask({"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)});
  server(from).ask({"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)});
  between();
  while (true) {
    const std::string key = server(from).ask({"CLUSTER", "GETKEYSINSLOT", number, "1"});
    if (key.empty()) break;
    server(from).ask({"MIGRATE", "127.0.0.1", port, key, "0", "1000"});
    between();
  }
  const std::string new_owner = id(to);
  for (const std::size_t i : {to, from}) server(i).ask({"CLUSTER", "SETSLOT", number, "NODE", new_owner});
  between();
}

}  // namespace weir::redis::testing
