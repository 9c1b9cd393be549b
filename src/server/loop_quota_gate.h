// LoopQuotaGate: a gate (weir/quotas.h) whose answers come back on the loop that asked. Quotas that need the ledger are
// answered on one of its threads; connections belong to their loop.
//
// UncountedQuotas: a gate that admits everything and counts nothing, for the second engine while the hash key is
// rotated: quotas are charged once, whatever the key.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "weir/quotas.h"

namespace weir::server {

class LoopQuotaGate final : public QuotaGate {
 public:
  using Post = std::function<void(std::function<void()>)>;

  // The gate and `inline_now` are borrowed; when that is true, the loop has ended, and answers come where they are.
  LoopQuotaGate(QuotaGate& gate, Post post, const std::atomic<bool>& inline_now)
      : gate_(gate), post_(std::move(post)), inline_now_(inline_now) {}

  Quick try_take(QuotaCharge& charge, const Reading& at) override { return gate_.try_take(charge, at); }
  Quick try_peek(QuotaCharge& charge, const Reading& at) override { return gate_.try_peek(charge, at); }
  void confirm(QuotaCharge& charge) override { gate_.confirm(charge); }
  void put_back(QuotaCharge& charge) override { gate_.put_back(charge); }
  void reverse(const std::string& id) override { gate_.reverse(id); }
  void release(const std::string& reservation) override { gate_.release(reservation); }
  void admitted_without(const QuotaCharge& charge) override { gate_.admitted_without(charge); }
  void begin(QuotaCall& call) override { gate_.begin(*new Posted(*this, call)); }

 private:
  // Stands for a call until it is answered. Owns itself.
  class Posted final : public QuotaCall {
   public:
    Posted(LoopQuotaGate& gate, QuotaCall& call) : QuotaCall(call), gate_(gate), call_(call) {}
    void complete() override {
      const std::unique_ptr<Posted> self(this);
      call_ = *this;
      if (gate_.inline_now_.load(std::memory_order_acquire)) return call_.complete();
      gate_.post_([&call = call_] { call.complete(); });
    }

   private:
    LoopQuotaGate& gate_;
    QuotaCall& call_;
  };

  QuotaGate& gate_;
  const Post post_;
  const std::atomic<bool>& inline_now_;
};

class UncountedQuotas final : public QuotaGate {
 public:
  Quick try_take(QuotaCharge&, const Reading&) override { return Quick::done; }
  Quick try_peek(QuotaCharge&, const Reading&) override { return Quick::done; }
  void confirm(QuotaCharge&) override {}
  void put_back(QuotaCharge&) override {}
  void reverse(const std::string&) override {}
  void release(const std::string&) override {}
  void admitted_without(const QuotaCharge&) override {}
  void begin(QuotaCall& call) override {
    call.granted = call.amount;
    call.complete();
  }
};

}  // namespace weir::server
