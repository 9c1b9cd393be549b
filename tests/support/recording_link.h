// RecordingLink: a connection without a socket, for tests of a Protocol. What the protocol appended is in `sent`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/transport/protocol.h"

namespace weir::transport {

class RecordingLink final : public Link {
 public:
  const Peer& peer() const override { return who; }
  std::string& output() override { return sent; }
  void flush() override { ++flushes; }
  void close() override { is_closed = true; }
  void pause() override { paused = true; }
  void resume() override { paused = false; }
  bool congested() const override { return sent.size() > output_limit; }
  // The test owns both, so there is nothing to keep alive; the count shows how many still use it.
  bool reserve(std::size_t input, std::size_t own) override {
    if (input + own > memory) return false;
    reserved = input + own;
    return true;
  }
  void await_memory() override { awaits_memory = true; }
  std::shared_ptr<Link> hold() override { return {holders, this}; }
  bool closed() const override { return is_closed; }
  void after(Duration, std::function<void()> task) override { timers.push_back(std::move(task)); }
  bool on_loop() const override { return here; }
  void post(std::function<void()> task) override { posted.push_back(std::move(task)); }

  // What was sent since the last call.
  std::string take() { return std::exchange(sent, {}); }
  void run_posted() {
    here = true;
    for (const auto& task : std::exchange(posted, {})) task();
  }

  Peer who{.address = "192.0.2.7", .port = 4711, .tls = false, .alpn = {}};
  std::string sent;
  std::size_t output_limit = std::size_t{256} << 10;
  std::size_t memory = SIZE_MAX;
  std::size_t reserved = 0;
  bool awaits_memory = false;
  int flushes = 0;
  bool is_closed = false;
  bool paused = false;
  bool here = true;
  std::vector<std::function<void()>> timers;
  std::vector<std::function<void()>> posted;
  std::shared_ptr<int> holders = std::make_shared<int>(0);
};

}  // namespace weir::transport
