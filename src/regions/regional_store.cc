#include "regions/regional_store.h"

#include "regions/region_call.h"

namespace weir::regions {
namespace {

constexpr std::size_t kMaxHomes = 64;

}  // namespace

RegionalStore::RegionalStore(RegionalOptions options) : options_(std::move(options)) {
  static_assert(kMaxHomes < kNowhere);
}

RegionalStore::~RegionalStore() = default;

bool RegionalStore::immediate() const {
  if (!options_.store->immediate()) return false;
  for (const auto& [name, store] : options_.homes) {
    if (!store->immediate()) return false;
  }
  return true;
}

std::size_t RegionalStore::place_of(const Charge& charge) const {
  if (charge.region == nullptr || charge.region->sharing != RegionSharing::central) return 0;
  if (charge.region->home == options_.region) return 0;
  for (std::size_t i = 0; i < options_.homes.size() && i < kMaxHomes; ++i) {
    if (options_.homes[i].first == charge.region->home) return i + 1;
  }
  return kNowhere;
}

bool RegionalStore::begin(StoreCall& call) {
  bool shared = false;
  for (const Charge& charge : call.charges) shared = shared || charge.region != nullptr;
  if (!shared) [[likely]]
    return options_.store->begin(call);
  return calls_.take(*this).start(call);
}

void RegionalStore::tell_of_growth(const Charge& charge, const HeldShare::Growth& growth, const StoreCall& call) {
  growths_.take(*this).start(charge, growth, call);
}

void RegionalStore::undo(std::size_t place, std::span<const Charge> charges, const StoreCall& call) {
  if (charges.empty()) return;
  undos_.take(*this).start(store_at(place), charges, call);
}

}  // namespace weir::regions
