#include "frontends/transport/loops.h"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <mutex>

#include "frontends/transport/connection.h"
#include "frontends/transport/listener.h"

namespace weir::transport {

Loops::Loops(std::size_t count) {
  assert(count > 0);
  for (std::size_t i = 0; i < count; ++i) loops_.push_back(std::make_shared<Loop>(i));
}

Loops::~Loops() { stop(); }

Result<Endpoint> Loops::listen(const ListenOptions& options) {
  assert(threads_.empty() && !stopped_);
  Endpoint endpoint = options.endpoint;
  if (endpoint.kind == Endpoint::Kind::off) return endpoint;

  auto service = std::make_shared<Service>();
  service->limits = options.limits;
  service->tls = options.tls;
  service->preamble = options.preamble;
  service->name = options.name;
  service->logins = options.logins;
  if (options.memory != nullptr) service->memory = options.memory;
  for (const auto& loop : loops_) {
    service->factories.push_back(options.protocols(loop->index()));
    service->times.push_back(std::make_unique<AnswerTimes>());
    loop->fit_tick(options.limits.message_timeout);
    loop->fit_tick(options.limits.idle_timeout);
    loop->fit_tick(options.limits.write_timeout);
    loop->fit_tick(options.limits.shortage_timeout);
  }

  services_.push_back(service);
  if (endpoint.kind == Endpoint::Kind::local) {
    Result<Descriptor> socket = bind_local(endpoint, options.local_mode);
    if (!socket.ok()) return socket.failure();
    Loop& first = *loops_.front();
    first.add_listener(std::make_shared<Listener>(first, loops_, service, std::move(socket).value(), endpoint.path));
    return endpoint;
  }
  // All or none: a listener on some loops only would lose the connections that the kernel gives to the others.
  std::vector<Descriptor> sockets;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    Result<Descriptor> socket = bind_tcp(endpoint);
    if (!socket.ok()) return socket.failure();
    sockets.push_back(std::move(socket).value());
  }
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const std::shared_ptr<Loop>& loop = loops_[i];
    loop->add_listener(std::make_shared<Listener>(*loop, std::vector<std::shared_ptr<Loop>>{loop}, service,
                                                  std::move(sockets[i]), std::string()));
  }
  return endpoint;
}

void Loops::start() {
  assert(threads_.empty() && !stopped_);
  for (const auto& loop : loops_) threads_.emplace_back([loop] { loop->run(); });
}

void Loops::drain(Duration deadline, Duration grace) {
  if (!threads_.empty()) {
    struct Waiting {
      std::mutex mutex;
      std::condition_variable changed;
      std::size_t busy = 0;
    };
    // Shared: after the deadline a loop may still report.
    auto waiting = std::make_shared<Waiting>();
    waiting->busy = loops_.size();
    for (const auto& loop : loops_) {
      loop->post([loop, waiting, grace = std::min(grace, deadline)] {
        loop->drain(grace, [waiting] {
          const std::lock_guard lock(waiting->mutex);
          --waiting->busy;
          waiting->changed.notify_one();
        });
      });
    }
    std::unique_lock lock(waiting->mutex);
    waiting->changed.wait_for(lock, deadline, [&] { return waiting->busy == 0; });
  }
  stop();
}

void Loops::stop() {
  if (stopped_) return;
  stopped_ = true;
  for (const auto& loop : loops_) loop->post([loop] { loop->shut_down(); });
  if (threads_.empty()) {
    // Never started: the queued shut_down() closes the listeners.
    for (const auto& loop : loops_) loop->discard_queued();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (const auto& loop : loops_) loop->discard_queued();
}

std::vector<ListenerTimes> Loops::answer_times() const {
  std::vector<ListenerTimes> all;
  for (const auto& service : services_) {
    ListenerTimes& listener = all.emplace_back();
    listener.name = service->name;
    for (const auto& times : service->times) listener.sums += times->sums();
  }
  return all;
}

Counters Loops::total() const {
  Counters sum;
  for (const auto& loop : loops_) {
    const Counters counters = loop->counters();
    sum.accepted += counters.accepted;
    sum.refused += counters.refused;
    sum.timed_out += counters.timed_out;
    sum.open += counters.open;
  }
  return sum;
}

}  // namespace weir::transport
