#include "stores/redis/server_figures.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace weir::redis {
namespace {

// The text behind "name:" at the beginning of a line.
std::optional<std::string> info_field(std::string_view info, std::string_view name) {
  for (std::size_t at = info.find(name); at != info.npos; at = info.find(name, at + 1)) {
    const bool begins = at == 0 || info[at - 1] == '\n';
    const std::size_t colon = at + name.size();
    if (!begins || colon >= info.size() || info[colon] != ':') continue;
    const std::size_t end = std::min(info.find_first_of("\r\n", colon), info.size());
    return std::string(info.substr(colon + 1, end - colon - 1));
  }
  return std::nullopt;
}

void set_bytes(std::string_view info, std::string_view name, std::atomic<std::int64_t>& into) {
  const std::optional<std::string> text = info_field(info, name);
  std::int64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{}) return;
  if (value >= 0) into.store(value, std::memory_order_relaxed);
}

// "12.345678", of a number of seconds that no server can exceed.
std::optional<double> seconds_of(std::string_view info, std::string_view name) {
  const std::optional<std::string> text = info_field(info, name);
  if (!text) return std::nullopt;
  const double value = std::strtod(text->c_str(), nullptr);
  if (!(value >= 0 && value < 1e12)) return std::nullopt;
  return value;
}

}  // namespace

void ServerFigures::read_info(std::string_view info) {
  set_bytes(info, "used_memory", memory_bytes);
  set_bytes(info, "maxmemory", memory_max_bytes);
  const std::optional<double> system = seconds_of(info, "used_cpu_sys");
  const std::optional<double> user = seconds_of(info, "used_cpu_user");
  if (system && user) cpu_us.store(std::llround((*system + *user) * 1e6), std::memory_order_relaxed);
}

ServerFigures& ServerTable::of(const std::string& server) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : servers_) {
    if (each->server == server) return *each;
  }
  if (servers_.size() > kMaxServers) return *servers_[kMaxServers];
  servers_.push_back(std::make_unique<ServerFigures>(servers_.size() == kMaxServers ? "other" : server));
  return *servers_.back();
}

std::vector<const ServerFigures*> ServerTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<const ServerFigures*> all;
  for (const auto& each : servers_) all.push_back(each.get());
  return all;
}

}  // namespace weir::redis
