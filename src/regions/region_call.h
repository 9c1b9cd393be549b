// What a RegionalStore has under way. Owned by the store and used again.
#pragma once

#include "regions/regional_store.h"
#include "regions/scaled_bucket.h"
#include "weir/inline_vector.h"

namespace weir::regions {

// A call whose charges are shared, divided by the store that each goes to.
class RegionCall final : public StoreCall {
 public:
  explicit RegionCall(RegionalStore& owner) : owner_(owner) {}
  RegionCall(const RegionCall&) = delete;
  RegionCall& operator=(const RegionCall&) = delete;

  // True: answered.
  bool start(StoreCall& whole);
  void complete() override;

 private:
  // A charge as it was sent.
  struct Part {
    std::uint8_t index = 0;  // in the whole call
    enum class Kind : std::uint8_t { plain, scaled, window } kind = Kind::plain;
    ScaledBucket scaled = {};  // of slices; of a window only the allowance, with the limit that was sent
    WindowAt window = {};
  };

  // Asks the stores from `next_` on. False: one answers later.
  bool go_on();
  void prepare(std::size_t place);
  void divide(Part& part, Charge& charge);
  // True: the next store may be asked.
  bool take_answer();
  void describe(const Part& part, const ChargeOutcome& answer, ChargeOutcome& outcome);
  void undo_earlier();
  bool refuse_reservation();
  bool finish();

  RegionalStore& owner_;
  StoreCall* whole_ = nullptr;
  InlineVector<std::uint8_t, 8> places_;  // of each charge of the whole call
  std::size_t stores_ = 0;                // how many of them are asked
  std::size_t place_ = 0;                 // that is being asked
  InlineVector<Charge, 8> charges_;
  InlineVector<ChargeOutcome, 8> outcomes_;
  InlineVector<Part, 8> parts_;
  TimePoint asked_{};
};

// Tells a bucket that its share grows: looks at it, then charges what would be too much.
class GrowthCall final : public StoreCall {
 public:
  explicit GrowthCall(RegionalStore& owner) : owner_(owner) {}
  GrowthCall(const GrowthCall&) = delete;
  GrowthCall& operator=(const GrowthCall&) = delete;

  void start(const Charge& charge, const HeldShare::Growth& growth, const StoreCall& cause);
  void complete() override;

 private:
  void looked();
  void charged();

  RegionalStore& owner_;
  BucketKey key_;  // of the rule
  HeldShare::Growth growth_;
  ScaledBucket scaled_;
  Charge charge_;
  ChargeOutcome outcome_;
  DrawStep step_;
  TimePoint looked_at_{};
};

// Gives back what was charged before another store denied.
class UndoCall final : public StoreCall {
 public:
  explicit UndoCall(RegionalStore& owner) : owner_(owner) {}
  UndoCall(const UndoCall&) = delete;
  UndoCall& operator=(const UndoCall&) = delete;

  void start(Store& store, std::span<const Charge> charges, const StoreCall& cause);
  void complete() override;

 private:
  RegionalStore& owner_;
  InlineVector<Charge, 8> charges_;
  InlineVector<Allowance, 8> allowances_;
  InlineVector<ChargeOutcome, 8> outcomes_;
};

}  // namespace weir::regions
