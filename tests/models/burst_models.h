// Reference models of token bucket, GCRA and leaky bucket, in unreduced fractions of 128 bits: a level in 1/window of a
// unit, an arrival time in 1/limit of a microsecond.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/models/model.h"

namespace weir::models {

// level = min(B, level + r·Δt); admit iff level >= c.
class TokenBucketModel final : public ReferenceModel {
 public:
  explicit TokenBucketModel(const Allowance& allowance) : ReferenceModel(allowance), level_(full()) {}

 protected:
  bool fits(std::int64_t time, std::int64_t cost) const override { return level(time) >= units(cost); }
  bool used(std::int64_t time) const override { return level(time) < full(); }
  void add(std::int64_t time, std::int64_t cost) override { level_ = level(time) - units(cost); }
  void add_denied(std::int64_t time, std::int64_t cost) override {
    level_ = std::max<Wide>(0, level(time) - units(cost));
  }
  void give_back(std::int64_t time, std::int64_t cost) override {
    level_ = std::min(full(), level(time) + units(cost));
  }
  std::int64_t largest_cost() const override { return allowance_.burst; }
  std::unique_ptr<ReferenceModel> clone() const override { return std::make_unique<TokenBucketModel>(*this); }

 private:
  Wide units(std::int64_t count) const { return Wide{count} * allowance_.window.count(); }
  Wide full() const { return units(allowance_.burst); }
  Wide level(std::int64_t time) const { return std::min(full(), level_ + Wide{time - last_} * allowance_.limit); }

  Wide level_;
};

// What GCRA and the leaky bucket share: the theoretical arrival time.
class ArrivalModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;

 protected:
  Wide at(std::int64_t time) const { return Wide{time} * allowance_.limit; }
  Wide spacing(std::int64_t count) const { return Wide{count} * allowance_.window.count(); }  // count · τ
  Wide ahead(std::int64_t time) const { return std::max(tat_, at(time)) - at(time); }

  bool used(std::int64_t time) const override { return tat_ > at(time); }
  void add(std::int64_t time, std::int64_t cost) override { tat_ = std::max(tat_, at(time)) + spacing(cost); }
  void give_back(std::int64_t, std::int64_t cost) override { tat_ -= spacing(cost); }

  Wide tat_ = 0;
};

// tat' = max(tat, t) + c·τ; admit iff tat' − t <= B·τ.
class GcraModel final : public ArrivalModel {
 public:
  using ArrivalModel::ArrivalModel;

 protected:
  bool fits(std::int64_t time, std::int64_t cost) const override {
    return ahead(time) + spacing(cost) <= spacing(allowance_.burst);
  }
  void add_denied(std::int64_t time, std::int64_t cost) override {
    tat_ = std::min(at(time) + ahead(time) + spacing(cost), at(time) + spacing(allowance_.burst));
  }
  std::int64_t largest_cost() const override { return allowance_.burst; }
  std::unique_ptr<ReferenceModel> clone() const override { return std::make_unique<GcraModel>(*this); }
};

// An admitted request gets delay = max(0, tat − t); reject iff that is more than the queue takes. A cost above
// queue + 1 is too large; a denied attempt that counts fills the last place of the queue again.
class LeakyBucketModel final : public ArrivalModel {
 public:
  using ArrivalModel::ArrivalModel;

 protected:
  bool fits(std::int64_t time, std::int64_t) const override { return ahead(time) <= spacing(allowance_.queue); }
  void add_denied(std::int64_t time, std::int64_t cost) override {
    const Wide wanted = std::min(ahead(time) + spacing(cost), spacing(allowance_.queue + 1));
    tat_ = std::max(tat_, at(time) + wanted);
  }
  std::int64_t delay(std::int64_t time) const override {
    return static_cast<std::int64_t>((ahead(time) + allowance_.limit - 1) / allowance_.limit);
  }
  std::int64_t largest_cost() const override { return allowance_.queue + 1; }
  // How many requests of cost 1 would be admitted one after the other.
  std::int64_t units_left(std::int64_t time) const override {
    return last_true(allowance_.queue + 1,
                     [&](std::int64_t count) { return ahead(time) + spacing(count - 1) <= spacing(allowance_.queue); });
  }
  std::unique_ptr<ReferenceModel> clone() const override { return std::make_unique<LeakyBucketModel>(*this); }
};

}  // namespace weir::models
