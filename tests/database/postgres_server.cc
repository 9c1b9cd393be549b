#include "tests/database/postgres_server.h"

#include <libpq-fe.h>

#include <cstdlib>

namespace weir::database::tests {
namespace {

namespace fs = std::filesystem;

const std::string kPrograms = "/usr/lib/postgresql/15/bin/";

const passwd* unprivileged_user() {
  if (getuid() != 0) return nullptr;
  const passwd* user = getpwnam("nobody");
  if (user == nullptr) throw std::runtime_error("PostgreSQL refuses to run as root, and there is no user nobody");
  return user;
}

pid_t parent_of(const fs::path& process) {
  std::ifstream status(process / "status");
  for (std::string word; status >> word;) {
    pid_t parent = 0;
    if (word == "PPid:" && status >> parent) return parent;
  }
  return -1;
}

}  // namespace

PostgresServer::PostgresServer(std::vector<std::string> settings, int tcp_port)
    : settings_(std::move(settings)), tcp_port_(tcp_port), user_(unprivileged_user()) {
  if (user_ != nullptr) {
    if (chown(folder().c_str(), user_->pw_uid, user_->pw_gid) != 0) throw std::runtime_error("chown failed");
    // A temporary folder of the run's own may be closed to others.
    std::error_code ignored;
    fs::permissions(folder().parent_path(), fs::perms::others_exec, fs::perm_options::add, ignored);
  }
  processes::run_to_end({kPrograms + "initdb", "--no-sync", "--auth=trust", "--username=weir", "--encoding=UTF8",
                         "--locale=C", "--pgdata=" + (folder() / "data").string()},
                        folder() / "initdb.log", user_);
  start();
}

PostgresServer::~PostgresServer() { kill(); }

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

void PostgresServer::start() {
  std::vector<std::string> words = {kPrograms + "postgres", "-D", (folder() / "data").string(), "-k",
                                    folder().string()};
  std::vector<std::string> settings = {"fsync=off", "max_connections=60", "shared_buffers=32MB",
                                       "log_min_messages=error"};
  settings.push_back(tcp_port_ == 0 ? "listen_addresses=" : "listen_addresses=*");
  if (tcp_port_ != 0) settings.push_back("port=" + std::to_string(tcp_port_));
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  for (const std::string& setting : settings) {
    words.emplace_back("-c");
    words.push_back(setting);
  }
  const fs::path log = folder() / "postgres.log";
  pid_ = processes::spawn(words, log, user_);
  processes::eventually("PostgreSQL accepts connections", [&] {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_)
      throw std::runtime_error("PostgreSQL ended: " + processes::text_of(log));
    return PQping(url("postgres").c_str()) == PQPING_OK;
  });
}

std::vector<pid_t> PostgresServer::processes() const {
  std::vector<pid_t> found = {pid_};
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && parent_of(entry.path()) == pid_) found.push_back(pid);
  }
  return found;
}

void PostgresServer::kill() {
  if (pid_ <= 0) return;
  const std::vector<pid_t> all = processes();
  for (const pid_t pid : all) ::kill(pid, SIGKILL);
  waitpid(pid_, nullptr, 0);
  // Until then they keep the shared memory, and a new server refuses to start.
  processes::eventually("PostgreSQL's processes have ended", [&] {
    for (const pid_t pid : all) {
      if (pid != pid_ && ::kill(pid, 0) == 0 &&
          processes::text_of("/proc/" + std::to_string(pid) + "/stat").find(" Z ") == std::string::npos) {
        return false;
      }
    }
    return true;
  });
  std::error_code ignored;
  fs::remove(folder() / "data" / "postmaster.pid", ignored);
  pid_ = -1;
}

void PostgresServer::freeze() {
  for (const pid_t pid : processes()) ::kill(pid, SIGSTOP);
}

void PostgresServer::thaw() {
  for (const pid_t pid : processes()) ::kill(pid, SIGCONT);
}

std::string PostgresServer::url(const std::string& database) const {
  if (tcp_port_ != 0) return "postgres://weir@127.0.0.1:" + std::to_string(tcp_port_) + "/" + database;
  std::string host;
  for (const char c : folder().string()) host += c == '/' ? std::string("%2F") : std::string(1, c);
  return "postgres://weir@" + host + "/" + database;
}

std::string PostgresServer::ask(const std::string& database, const std::string& sql) {
  PGconn* connection = PQconnectdb(url(database).c_str());
  PGresult* result = PQexec(connection, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  std::string answer = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  const std::string message = PQerrorMessage(connection);
  PQclear(result);
  PQfinish(connection);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) throw std::runtime_error(sql + ": " + message);
  return answer;
}

std::string PostgresServer::fresh_database() {
  const std::string name = "test" + std::to_string(++databases_);
  ask("postgres", "CREATE DATABASE " + name);
  return url(name);
}

}  // namespace weir::database::tests
