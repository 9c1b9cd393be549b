// PendingCall: a caller's call (weir/call.h) while its answers arrive one by one, some of them perhaps later.
//
//   PendingCall& pending = *new PendingCall(call);   // deletes itself with the last arrived()
//   for each answer that has to be waited for: pending.expect(); … pending.arrived();
//   return pending.settle();                          // the end of begin()
//
// The caller's call is deferred with the first answer that comes later, and completed with the last one. Answers may
// arrive on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "weir/ad_hoc.h"
#include "weir/call.h"

namespace weir::engine {

class PendingCall {
 public:
  explicit PendingCall(CheckCall& call) : call_(&call) {}
  explicit PendingCall(GroupCall& call) : call_(&call), group_(&call) {}
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  // Where answers are written. They move when the call is deferred.
  std::span<Decision> decisions() const { return call_->decisions; }
  std::span<ChargeOutcome> outcomes() const { return group_->outcomes; }

  void expect() { left_.fetch_add(1, std::memory_order_relaxed); }
  void arrived() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const std::unique_ptr<PendingCall> self(this);
    if (deferred_) call_->complete();
  }
  // An answer may come later. Only before settle().
  void defer() {
    if (deferred_) return;
    deferred_ = true;
    if (group_ != nullptr) {
      group_ = &group_->defer();
      call_ = group_;
    } else {
      call_ = &call_->defer();
    }
  }
  // True: answered.
  [[nodiscard]] bool settle() {
    const bool answered = !deferred_;
    arrived();
    return answered;
  }

 private:
  ~PendingCall() = default;
  friend std::default_delete<PendingCall>;

  CheckCall* call_;
  GroupCall* group_ = nullptr;
  bool deferred_ = false;
  std::atomic<std::size_t> left_{1};  // one for settle()
};

}  // namespace weir::engine
