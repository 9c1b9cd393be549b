#include "database/postgres/postgres_listener.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace weir::database {
namespace {

constexpr int kFirstListenPause = 250;
constexpr int kLongestListenPause = 5'000;
// A connection that says nothing is asked so often whether it is still there.
constexpr int kQuietMilliseconds = 10'000;

}  // namespace

PostgresListener::PostgresListener(std::string url, std::string channel, std::function<void()> notified)
    : url_(std::move(url)),
      channel_(std::move(channel)),
      notified_(std::move(notified)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

PostgresListener::~PostgresListener() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof one));
  thread_.join();
  ::close(wake_);
}

PostgresListener::Woken PostgresListener::wait(int socket, int milliseconds) {
  pollfd watched[] = {{.fd = wake_, .events = POLLIN, .revents = 0}, {.fd = socket, .events = POLLIN, .revents = 0}};
  const int ready = ::poll(watched, socket < 0 ? 1 : 2, milliseconds);
  if ((watched[0].revents & POLLIN) != 0) return Woken::end;
  return ready > 0 ? Woken::ready : Woken::quiet;
}

void PostgresListener::run() {
  int pause = kFirstListenPause;
  const char* const names[] = {"connect_timeout", "application_name", "dbname", nullptr};
  const char* const values[] = {"3", "weir listener", url_.c_str(), nullptr};
  for (;;) {
    // Parameters of the URL override those before it.
    PGconn* const connection = ::PQconnectdbParams(names, values, 1);
    if (::PQstatus(connection) == CONNECTION_OK) {
      pause = kFirstListenPause;
      listen(connection);
    }
    connected_.store(false, std::memory_order_relaxed);
    ::PQfinish(connection);
    if (wait(-1, pause) == Woken::end) return;
    pause = std::min(2 * pause, kLongestListenPause);
  }
}

void PostgresListener::listen(PGconn* connection) {
  const auto run_statement = [connection](const std::string& sql) {
    PGresult* const result = ::PQexec(connection, sql.c_str());
    const ExecStatusType status = ::PQresultStatus(result);
    ::PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  };
  if (!run_statement("LISTEN " + channel_)) return;
  connected_.store(true, std::memory_order_relaxed);
  notified_();  // what happened before is not told
  for (;;) {
    // Also what came with the answer to a statement: the socket would not become readable for that again.
    if (take_notices(connection)) notified_();
    const Woken woken = wait(::PQsocket(connection), kQuietMilliseconds);
    if (woken == Woken::end) return;
    if (::PQconsumeInput(connection) != 1) return;
    if (woken == Woken::quiet && !run_statement("SELECT 1")) return;
  }
}

bool PostgresListener::take_notices(PGconn* connection) {
  bool any = false;
  while (PGnotify* const notice = ::PQnotifies(connection)) {
    ::PQfreemem(notice);
    notifications_.fetch_add(1, std::memory_order_relaxed);
    any = true;
  }
  return any;
}

}  // namespace weir::database
