#include "server/housekeeping.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace weir::server {
namespace {

struct Chore {
  Duration period;
  std::function<void()> task;
  boost::asio::steady_timer timer;

  void wait() {
    timer.expires_after(period);
    timer.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      task();
      wait();
    });
  }
};

}  // namespace

struct Housekeeping::State {
  boost::asio::io_context io{1};
  std::vector<std::unique_ptr<Chore>> chores;
  std::thread thread;
};

Housekeeping::Housekeeping() : state_(std::make_unique<State>()) {}
Housekeeping::~Housekeeping() { stop(); }

void Housekeeping::add(Duration period, std::function<void()> task) {
  state_->chores.push_back(
      std::make_unique<Chore>(Chore{period, std::move(task), boost::asio::steady_timer(state_->io)}));
}

void Housekeeping::start() {
  for (const std::unique_ptr<Chore>& chore : state_->chores) chore->wait();
  state_->thread = std::thread([this] { state_->io.run(); });
}

void Housekeeping::stop() {
  state_->io.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace weir::server
