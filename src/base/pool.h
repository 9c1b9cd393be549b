// Pool: objects that are used again and again, and made only when all of them are in use.
//
// Owns them, and never frees one before itself. For one thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace weir::base {

template <typename T>
class Pool {
 public:
  // One that is idle, as it was left; else a new one, made from the arguments.
  template <typename... Arguments>
  T& take(Arguments&&... arguments) {
    if (idle_.empty()) {
      idle_.reserve(all_.size() + 1);
      all_.push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
      return *all_.back();
    }
    T& object = *idle_.back();
    idle_.pop_back();
    return object;
  }
  // Precondition: it was taken from here.
  void give_back(T& object) { idle_.push_back(&object); }
  bool all_idle() const { return idle_.size() == all_.size(); }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> idle_;
};

}  // namespace weir::base
