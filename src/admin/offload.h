// Offload: a thread for work that would keep an event loop busy for too long, such as compiling rules that a client
// sent.
//
// Bounded: kMaxWaiting pieces of work wait, further ones are refused. Thread-safe. The destructor waits for the piece
// that runs; those that wait are answered that the server stops.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "admin/call.h"

namespace weir::admin {

class Offload {
 public:
  static constexpr std::size_t kMaxWaiting = 32;

  Offload();
  ~Offload();
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  // Answers the call with what `work` returns, later.
  void answer(Call& call, std::function<Answer()> work);
  // Runs `work`, which answers or hands the answer on. Refused work is answered here.
  void run_later(const LaterAnswer& later, std::function<void(const LaterAnswer&)> work);

 private:
  struct Piece {
    LaterAnswer later;
    std::function<void(const LaterAnswer&)> work;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;  // guarded by mutex_
  bool ending_ = false;        // guarded by mutex_
  std::thread thread_;
};

}  // namespace weir::admin
