// RegionalStore: a store of one region, with limits that other regions share (docs/regions.md).
//
//   slices      the charge becomes one of a smaller bucket of this region (scaled_bucket.h)
//   reconcile   the charge becomes one of a window with a smaller limit (cells.h)
//   central     the charge goes to the store of the rule's home
//
// A decision whose charges are in several stores asks them one after the other, this region's first, and undoes what
// was charged if a later one denies; it is then not atomic, and never admits too much. If a home does not answer, the
// charges there are answered by their rules' failure policies, and the others stay charged.
//
// Belongs to one loop, like the stores behind it. Nothing here waits for the coordinator.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "regions/region_book.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir::regions {

class RegionCall;
class GrowthCall;
class UndoCall;

struct RegionalOptions {
  std::shared_ptr<Store> store;  // of this region
  std::string region;
  std::vector<std::pair<std::string, std::shared_ptr<Store>>> homes;  // of other regions
  std::shared_ptr<RegionBook> book;  // null: there is no coordinator, and no rule needs one
  std::shared_ptr<Clock> clock;
};

class RegionalStore final : public Store {
 public:
  explicit RegionalStore(RegionalOptions options);
  ~RegionalStore() override;

  [[nodiscard]] bool begin(StoreCall& call) override;
  void prefetch(std::span<const Charge> charges) override { options_.store->prefetch(charges); }
  bool uses_tags() const override { return options_.store->uses_tags(); }
  bool holds_reservations() const override { return options_.store->holds_reservations(); }
  bool immediate() const override;
  bool answers_on_this_thread() const override { return options_.store->answers_on_this_thread(); }
  std::string_view name() const override { return options_.store->name(); }

 private:
  friend class RegionCall;
  friend class GrowthCall;
  friend class UndoCall;

  // 0: this region's store; i: options_.homes[i - 1]; kNowhere: a home that is not known.
  static constexpr std::size_t kNowhere = 255;
  std::size_t place_of(const Charge& charge) const;
  Store& store_at(std::size_t place) { return place == 0 ? *options_.store : *options_.homes[place - 1].second; }
  void tell_of_growth(const Charge& charge, const HeldShare::Growth& growth, const StoreCall& call);
  void undo(std::size_t place, std::span<const Charge> charges, const StoreCall& call);

  const RegionalOptions options_;
  // Each is taken until the store has answered.
  base::Pool<RegionCall> calls_;
  base::Pool<GrowthCall> growths_;
  base::Pool<UndoCall> undos_;
};

}  // namespace weir::regions
