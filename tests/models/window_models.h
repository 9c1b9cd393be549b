// Reference models of the four windows: each keeps the history of what was taken and counts it again every time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/models/model.h"

namespace weir::models {

class HistoryModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;

 protected:
  struct Taken {
    std::int64_t time;
    std::int64_t units;
  };

  // Does what was taken at `then` still count at `time`?
  virtual bool counts(std::int64_t time, std::int64_t then) const = 0;

  std::int64_t sum(std::int64_t time) const {
    std::int64_t units = 0;
    for (const Taken& taken : history_) {
      if (counts(time, taken.time)) units += taken.units;
    }
    return units;
  }

  bool fits(std::int64_t time, std::int64_t cost) const override { return sum(time) + cost <= allowance_.limit; }
  bool used(std::int64_t time) const override { return sum(time) > 0; }

  void add(std::int64_t time, std::int64_t cost) override {
    std::erase_if(history_, [&](const Taken& taken) { return taken.units == 0 || !counts(time, taken.time); });
    history_.push_back({time, cost});
  }

  void add_denied(std::int64_t time, std::int64_t) override { add(time, units_left(time)); }

  void give_back(std::int64_t time, std::int64_t cost) override {
    for (auto taken = history_.rbegin(); taken != history_.rend(); ++taken) {
      if (!counts(time, taken->time)) continue;
      const std::int64_t given = std::min(cost, taken->units);
      taken->units -= given;
      cost -= given;
    }
  }

  std::int64_t window() const { return allowance_.window.count(); }

  std::vector<Taken> history_;
};

class FixedWindowModel final : public HistoryModel {
 public:
  using HistoryModel::HistoryModel;

 protected:
  bool counts(std::int64_t time, std::int64_t then) const override { return then / window() == time / window(); }
  std::unique_ptr<ReferenceModel> clone() const override { return std::make_unique<FixedWindowModel>(*this); }
};

class BucketedWindowModel final : public HistoryModel {
 public:
  using HistoryModel::HistoryModel;

 protected:
  bool counts(std::int64_t time, std::int64_t then) const override {
    const std::int64_t width = window() / allowance_.buckets;
    return time / width - then / width < allowance_.buckets;
  }
  std::unique_ptr<ReferenceModel> clone() const override { return std::make_unique<BucketedWindowModel>(*this); }
};

class SlidingLogModel final : public HistoryModel {
 public:
  using HistoryModel::HistoryModel;

 protected:
  bool counts(std::int64_t time, std::int64_t then) const override { return then > time - window(); }
  std::unique_ptr<ReferenceModel> clone() const override { return std::make_unique<SlidingLogModel>(*this); }
};

class SlidingCounterModel final : public HistoryModel {
 public:
  using HistoryModel::HistoryModel;

 protected:
  bool counts(std::int64_t time, std::int64_t then) const override { return time / window() - then / window() <= 1; }

  bool fits(std::int64_t time, std::int64_t cost) const override {
    Wide current = 0;
    Wide previous = 0;
    for (const Taken& taken : history_) {
      const std::int64_t age = time / window() - taken.time / window();
      if (age == 0) current += taken.units;
      if (age == 1) previous += taken.units;
    }
    const Wide elapsed = time % window();
    return (current + cost) * window() + previous * (window() - elapsed) <= Wide{allowance_.limit} * window();
  }
  std::unique_ptr<ReferenceModel> clone() const override { return std::make_unique<SlidingCounterModel>(*this); }
};

}  // namespace weir::models
