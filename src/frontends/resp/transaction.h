// Transaction: the commands that a client sends between MULTI and EXEC, kept until EXEC runs them one after the other.
//
//   none ── begin() ──► queueing ── execute() ──► executing ── the last finish_one() ──► none
//                          └─ abort() ──► aborted                 discard() leads back to none from everywhere
//
// Commands are copied, because the bytes that they were read from are gone when EXEC comes. What is kept is bounded by
// kMaxBytes. Not thread-safe; one per connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::resp {

class Transaction {
 public:
  // The words of all commands and their lengths; as much as one command may have.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  using Words = std::span<const std::string_view>;

  // MULTI was received, and neither EXEC nor DISCARD.
  bool open() const { return state_ == State::queueing || state_ == State::aborted; }
  bool aborted() const { return state_ == State::aborted; }
  bool executing() const { return state_ == State::executing; }
  // Commands that are queued.
  std::size_t size() const { return size_; }

  // Precondition: not open, not executing.
  void begin();
  // False: there is no room, and the transaction is aborted. One that is aborted takes everything and keeps nothing.
  bool add(Words words);
  // EXEC is going to be refused. Precondition: open.
  void abort();
  void discard();

  // Precondition: open, not aborted, not empty.
  void execute();
  // The command whose turn it is. The words live until finish_one().
  Words next();
  void finish_one();

  // Memory held, in bytes.
  std::size_t held_bytes() const { return text_.capacity() + sizes_.capacity() * sizeof(std::uint32_t); }

 private:
  enum class State : std::uint8_t { none, queueing, aborted, executing };

  void forget();

  State state_ = State::none;
  std::string text_;                     // all words, without anything in between
  std::vector<std::uint32_t> sizes_;     // for each command: how many words, then the size of each
  std::size_t size_ = 0;                 // commands
  std::size_t text_at_ = 0;              // where the next command begins, while executing
  std::size_t sizes_at_ = 0;             // likewise
  std::vector<std::string_view> words_;  // of the command whose turn it is
};

}  // namespace weir::resp
