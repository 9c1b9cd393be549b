// WaitingGate: a quota gate that lets every quota wait and then admits it. A test derives from it and notes what it is
// asked in begin().
#pragma once

#include <string>

#include "weir/quotas.h"

namespace weir::engine {

class WaitingGate : public QuotaGate {
 public:
  Quick try_take(QuotaCharge&, const Reading&) override { return Quick::wait; }
  Quick try_peek(QuotaCharge&, const Reading&) override { return Quick::wait; }
  void confirm(QuotaCharge& charge) override { charge.taken = nullptr; }
  void put_back(QuotaCharge& charge) override { charge.taken = nullptr; }
  void reverse(const std::string&) override {}
  void release(const std::string&) override {}
  void admitted_without(const QuotaCharge&) override {}
};

}  // namespace weir::engine
