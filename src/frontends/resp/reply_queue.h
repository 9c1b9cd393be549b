// ReplyQueue: answers in the order of their commands, also when the limiter answers later.
//
// While no command is waiting, an answer goes straight to the connection's output. Once a command waits for its answer,
// the answers after it wait in slots of their own. Not thread-safe.
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <string>

#include "frontends/resp/reply_writer.h"

namespace weir::resp {

class ReplyQueue {
 public:
  // Beyond either, no further command is begun until answers have gone out.
  static constexpr std::size_t kMaxOwed = 1024;
  static constexpr std::size_t kMaxHeldBytes = std::size_t{64} << 10;

  using Ticket = std::uint64_t;

  bool empty() const { return slots_.empty(); }
  bool full() const { return slots_.size() >= kMaxOwed || held_bytes_ >= kMaxHeldBytes; }
  // Room enough again to go on reading.
  bool roomy() const { return slots_.size() <= kMaxOwed / 2 && held_bytes_ <= kMaxHeldBytes / 2; }

  // Writes an answer that is known now.
  template <typename Write>
  void answer(std::string& out, RespVersion version, Write&& write) {
    if (slots_.empty()) {
      ReplyWriter reply(out, version);
      return write(reply);
    }
    const Ticket ticket = owe(version);
    fill(ticket, std::forward<Write>(write));
  }

  // Keeps a place for an answer that comes later, in the version that the command was asked in.
  Ticket owe(RespVersion version) {
    slots_.push_back({.reply = {}, .version = version, .ready = false});
    return first_ + slots_.size() - 1;
  }

  // Each ticket is filled once.
  template <typename Write>
  void fill(Ticket ticket, Write&& write) {
    assert(ticket >= first_ && ticket - first_ < slots_.size());
    Slot& slot = slots_[ticket - first_];
    assert(!slot.ready);
    ReplyWriter reply(slot.reply, slot.version);
    write(reply);
    slot.ready = true;
    held_bytes_ += slot.reply.size();
  }

  // Moves what is ready, up to the first answer that is still missing, to `out`.
  void release(std::string& out) {
    while (!slots_.empty() && slots_.front().ready) {
      held_bytes_ -= slots_.front().reply.size();
      out += slots_.front().reply;
      slots_.pop_front();
      ++first_;
    }
  }

 private:
  struct Slot {
    std::string reply;
    RespVersion version;
    bool ready;
  };
  std::deque<Slot> slots_;
  Ticket first_ = 0;  // the ticket of slots_.front()
  std::size_t held_bytes_ = 0;
};

}  // namespace weir::resp
