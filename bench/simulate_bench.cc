// What replaying an access log costs: simulate_bench RULES LOG prints nanoseconds of CPU per line of three runs over
// the same file, each the best of three: counting its lines, only parsing them, and `weir rules simulate`.
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "simulate/replay.h"
#include "weir/rules_file.h"

namespace {

using namespace weir;

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::uint64_t count_lines(const std::string& path) {
  auto source = simulate::open_log(path);
  std::vector<char> room(1 << 20);
  std::uint64_t lines = 0;
  while (true) {
    const auto count = source.value()->read(room);
    if (!count.ok() || count.value() == 0) return lines;
    const char* at = room.data();
    const char* const end = at + count.value();
    while ((at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) != nullptr) {
      ++lines;
      ++at;
    }
  }
}

std::uint64_t parse_lines(const std::string& path) {
  const std::vector<std::string> paths = {path};
  auto logs = simulate::MergedLogs::open(paths, {});
  std::uint64_t parsed = 0;
  while (logs.value().next()) ++parsed;
  return parsed;
}

std::uint64_t simulate_lines(const std::string& rules, const std::string& path) {
  simulate::ReplayOptions options;
  options.sets = {{rules, read_rules(rules).value().rules}};
  auto replay = simulate::Replay::create(std::move(options));
  const std::vector<std::string> paths = {path};
  auto logs = simulate::MergedLogs::open(paths, {});
  while (logs.value().next()) replay.value()->add(logs.value().record(), logs.value().current());
  return replay.value()->finish(&logs.value()).value().requests;
}

void measure(const char* name, const std::function<std::uint64_t()>& run) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double begin = cpu_seconds();
    const std::uint64_t lines = run();
    best = std::min(best, (cpu_seconds() - begin) / static_cast<double>(std::max<std::uint64_t>(1, lines)) * 1e9);
  }
  std::printf("{\"name\":\"%s\",\"ns_per_line\":%.1f,\"lines_per_second\":%.0f}\n", name, best, 1e9 / best);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: simulate_bench RULES LOG\n");
    return 2;
  }
  const std::string rules = argv[1];
  const std::string log = argv[2];
  measure("count lines", [&] { return count_lines(log); });
  measure("parse", [&] { return parse_lines(log); });
  measure("simulate", [&] { return simulate_lines(rules, log); });
  return 0;
}
