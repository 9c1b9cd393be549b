#include "server/background_tasks.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace weir::server {
namespace {

struct Task {
  Duration period;
  std::function<void()> run;
  boost::asio::steady_timer timer;

  void wait() {
    timer.expires_after(period);
    timer.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      run();
      wait();
    });
  }
};

}  // namespace

struct BackgroundTasks::State {
  boost::asio::io_context io{1};
  std::vector<std::unique_ptr<Task>> tasks;
  std::thread thread;
};

BackgroundTasks::BackgroundTasks() : state_(std::make_unique<State>()) {}
BackgroundTasks::~BackgroundTasks() { stop(); }

void BackgroundTasks::add(Duration period, std::function<void()> task) {
  state_->tasks.push_back(std::make_unique<Task>(Task{period, std::move(task), boost::asio::steady_timer(state_->io)}));
}

void BackgroundTasks::start() {
  for (const std::unique_ptr<Task>& task : state_->tasks) task->wait();
  state_->thread = std::thread([this] { state_->io.run(); });
}

void BackgroundTasks::stop() {
  state_->io.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace weir::server
