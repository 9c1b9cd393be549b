#include "regions/region_call.h"

#include <algorithm>

namespace weir::regions {
namespace {

// How soon a denial by a share, which may grow, can be worth another attempt.
constexpr Duration kShareMayGrow = std::chrono::milliseconds(200);

bool takes(Action action) { return action == Action::take; }

bool is_companion(const Charge& charge) { return charge.kind == ChargeKind::penalty || charge.candidate; }

}  // namespace

bool RegionCall::start(StoreCall& whole) {
  whole_ = &whole;
  places_.clear();
  for (const Charge& charge : whole.charges) {
    // What decides who closes a reservation is where its charges are.
    const bool follows = charge.kind == ChargeKind::record && !places_.empty();
    places_.push_back(follows ? places_[0] : static_cast<std::uint8_t>(owner_.place_of(charge)));
  }
  stores_ = 0;
  bool known = true;
  for (std::size_t place = 0; place <= owner_.options_.homes.size(); ++place) {
    stores_ += std::find(places_.begin(), places_.end(), place) != places_.end() ? 1 : 0;
  }
  for (const std::uint8_t place : places_) known = known && place != RegionalStore::kNowhere;
  whole.status = Code::ok;
  whole.atomic = true;
  whole.regional = true;
  // A hold is in one store.
  if (!known || (whole.hold != nullptr && stores_ > 1)) {
    whole.status = Code::unavailable;
    owner_.calls_.give_back(*this);
    return true;
  }
  if (refuse_reservation()) return true;
  place_ = 0;
  return go_on();
}

// What a reservation takes is one number for all buckets, and so cannot be divided by a share.
bool RegionCall::refuse_reservation() {
  if (whole_->hold == nullptr || !whole_->hold->reservation || whole_->action != Action::take) return false;
  bool any = false;
  for (std::size_t i = 0; i < whole_->charges.size(); ++i) {
    const Charge& charge = whole_->charges[i];
    whole_->outcomes[i] = ChargeOutcome{};
    if (charge.region == nullptr || charge.region->sharing != RegionSharing::slices) continue;
    if (charge.allowance->algorithm == Algorithm::fixed_window) continue;
    whole_->outcomes[i].admitted = false;
    whole_->outcomes[i].too_large = true;
    any = true;
  }
  if (any) owner_.calls_.give_back(*this);
  return any;
}

bool RegionCall::go_on() {
  for (; place_ <= owner_.options_.homes.size(); ++place_) {
    if (std::find(places_.begin(), places_.end(), place_) == places_.end()) continue;
    prepare(place_);
    if (!owner_.store_at(place_).begin(*this)) return false;
    if (!take_answer()) break;
  }
  return finish();
}

void RegionCall::complete() {
  StoreCall& whole = *whole_;
  if (take_answer()) {
    ++place_;
    if (!go_on()) return;
  } else {
    finish();
  }
  whole.complete();
}

void RegionCall::prepare(std::size_t place) {
  charges_.clear();
  outcomes_.clear();
  parts_.clear();
  asked_ = owner_.options_.clock->now();
  InlineVector<std::uint8_t, 8> here;  // of each charge of the whole call
  for (std::size_t i = 0; i < whole_->charges.size(); ++i) {
    here.push_back(static_cast<std::uint8_t>(charges_.size()));
    if (places_[i] != place) continue;
    Charge& charge = charges_.append();
    charge = whole_->charges[i];
    if (is_companion(charge)) charge.of = here[charge.of];
    outcomes_.append() = ChargeOutcome{};
    Part& part = parts_.append();
    part = Part{};
    part.index = static_cast<std::uint8_t>(i);
  }
  action = whole_->action;
  set_reading(whole_->reading());
  ingress = whole_->ingress;
  hold = whole_->hold;
  once = whole_->once;
  status = Code::ok;
  atomic = true;
  replayed = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) divide(parts_[i], charges_[i]);
  charges = {charges_.data(), charges_.size()};
  outcomes = {outcomes_.data(), outcomes_.size()};
}

void RegionCall::divide(Part& part, Charge& charge) {
  RegionBook* const book = owner_.options_.book.get();
  const bool divided = charge.region != nullptr && charge.region->sharing != RegionSharing::central;
  charge.region = nullptr;
  if (!divided || book == nullptr || charge.kind != ChargeKind::bucket || charge.allowance->limit == 0) return;
  const Charge& whole = whole_->charges[part.index];
  if (whole.region->sharing == RegionSharing::slices && whole.allowance->algorithm != Algorithm::fixed_window) {
    const RegionBook::Usable usable = book->share_of(whole, asked_);
    part.kind = Part::Kind::scaled;
    part.scaled = ScaledBucket::of(*whole.allowance, usable.share);
    charge.key = scaled_key(whole.key);
    charge.cost = part.scaled.cost(whole.cost);
    charge.allowance = &part.scaled.allowance;
    if (usable.growth) owner_.tell_of_growth(whole, *usable.growth, *whole_);
    return;
  }
  part.kind = Part::Kind::window;
  part.window = window_at(*whole.allowance, whole_->reading().wall());
  part.scaled.allowance = *whole.allowance;
  part.scaled.allowance.limit = book->most_of(whole, part.window, asked_);
  charge.allowance = &part.scaled.allowance;
}

bool RegionCall::take_answer() {
  if (status != Code::ok) {
    // What the other stores were charged stays: the policies answer for these rules alone.
    if (stores_ == 1 || place_ == 0) whole_->status = status;
    for (const Part& part : parts_) {
      whole_->outcomes[part.index] = ChargeOutcome{};
      whole_->outcomes[part.index].status = status;
    }
    return stores_ > 1 && place_ != 0;
  }
  bool denied = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    ChargeOutcome& outcome = whole_->outcomes[parts_[i].index];
    describe(parts_[i], outcomes_[i], outcome);
    denied = denied || outcome.status != Code::ok || (charges_[i].binding && !outcome.admitted);
  }
  whole_->atomic = atomic && stores_ == 1;
  whole_->replayed = whole_->replayed || replayed;
  if (!denied || !takes(action) || stores_ == 1) return true;
  undo_earlier();
  // The stores after this one are not asked.
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] > place_) whole_->outcomes[i] = ChargeOutcome{};
  }
  return false;
}

void RegionCall::describe(const Part& part, const ChargeOutcome& answer, ChargeOutcome& outcome) {
  outcome = answer;
  if (part.kind == Part::Kind::plain) return;
  const Charge& whole = whole_->charges[part.index];
  RegionBook& book = *owner_.options_.book;
  const TimePoint read_at = owner_.options_.clock->now();
  if (part.kind == Part::Kind::scaled) {
    outcome = part.scaled.outcome(answer, whole.cost, *whole.allowance);
    if (takes(action)) book.note_share(whole, outcome.admitted, read_at);
    return;
  }
  const std::int64_t limit = part.scaled.allowance.limit;
  const bool known = answer.status == Code::ok && (answer.admitted || answer.remaining > 0);
  const std::optional<std::int64_t> used = known ? std::optional(limit - answer.remaining) : std::nullopt;
  outcome.estimated = true;
  if (answer.too_large && whole.cost <= whole.allowance->limit) {
    outcome.too_large = false;
    outcome.retry_after = part.window.ends - part.window.starts;
  }
  if (!outcome.admitted && limit < whole.allowance->limit) {
    outcome.retry_after = std::min(outcome.retry_after, kShareMayGrow);
  }
  if (takes(action)) book.note_count(whole, part.window, used, outcome.admitted, asked_, read_at);
}

void RegionCall::undo_earlier() {
  for (std::size_t place = 0; place < place_; ++place) {
    InlineVector<Charge, 8> charged;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Charge& charge = whole_->charges[i];
      const ChargeOutcome& outcome = whole_->outcomes[i];
      const bool taken = outcome.admitted && outcome.status == Code::ok;
      if (places_[i] == place && charge.kind == ChargeKind::bucket && !is_companion(charge) && taken) {
        charged.push_back(charge);
      }
    }
    owner_.undo(place, {charged.data(), charged.size()}, *whole_);
  }
}

bool RegionCall::finish() {
  whole_->answered = Consistency::exact;
  owner_.calls_.give_back(*this);
  return true;
}

void UndoCall::start(Store& store, std::span<const Charge> undone, const StoreCall& cause) {
  charges_.clear();
  allowances_.clear();
  outcomes_.clear();
  RegionBook* const book = owner_.options_.book.get();
  allowances_.resize(undone.size());  // never grows below, so pointers into it stay valid
  const TimePoint read_at = owner_.options_.clock->now();
  for (std::size_t i = 0; i < undone.size(); ++i) {
    Charge& charge = charges_.append();
    charge = undone[i];
    allowances_[i] = *charge.allowance;
    const bool scaled = charge.region != nullptr && charge.region->sharing == RegionSharing::slices &&
                        charge.allowance->algorithm != Algorithm::fixed_window;
    if (scaled && book != nullptr && charge.allowance->limit > 0) {
      // In units of the rule, whatever its share is by now.
      const ScaledBucket bucket = ScaledBucket::of(*charge.allowance, book->share_of(charge, read_at).share);
      allowances_[i] = bucket.allowance;
      charge.key = scaled_key(charge.key);
      charge.cost = bucket.cost(charge.cost);
    }
    charge.allowance = &allowances_[i];
    charge.region = nullptr;
    outcomes_.append() = ChargeOutcome{};
  }
  action = Action::refund;
  set_reading(cause.reading());
  ingress = cause.ingress;
  status = Code::ok;
  charges = {charges_.data(), charges_.size()};
  outcomes = {outcomes_.data(), outcomes_.size()};
  if (store.begin(*this)) complete();
}

// What could not be given back stays charged: it admits too little, never too much.
void UndoCall::complete() { owner_.undos_.give_back(*this); }

void GrowthCall::start(const Charge& charge, const HeldShare::Growth& growth, const StoreCall& cause) {
  growth_ = growth;
  scaled_ = ScaledBucket::of(*charge.allowance, growth.to);
  key_ = charge.key;
  charge_ = charge;
  charge_.key = scaled_key(key_);
  charge_.allowance = &scaled_.allowance;
  charge_.region = nullptr;
  charge_.cost = 0;
  charge_.binding = true;
  charge_.count_denied = charge_.follows = false;
  charge_.number = charge_.max_subjects = 0;
  outcome_ = ChargeOutcome{};
  action = Action::peek;
  draw = nullptr;
  set_reading(cause.reading());
  ingress = cause.ingress;
  status = Code::ok;
  charges = {&charge_, 1};
  outcomes = {&outcome_, 1};
  looked_at_ = owner_.options_.clock->now();
  if (owner_.options_.store->begin(*this)) complete();
}

void GrowthCall::complete() {
  if (status != Code::ok || outcome_.status != Code::ok) {
    owner_.options_.book->growth_failed(key_);
    owner_.growths_.give_back(*this);
    return;
  }
  draw == nullptr ? looked() : charged();
}

void GrowthCall::looked() {
  step_ = DrawStep{};
  step_.late = growth_charge(scaled_, outcome_.remaining, growth_.from);
  action = Action::draw;
  draw = &step_;
  set_reading(owner_.options_.clock->read());
  outcome_ = ChargeOutcome{};
  status = Code::ok;
  if (owner_.options_.store->begin(*this)) complete();
}

void GrowthCall::charged() {
  const TimePoint read_at = owner_.options_.clock->now();
  RegionBook& book = *owner_.options_.book;
  if (read_at - looked_at_ <= kGrowthTime) {
    book.grown(key_, growth_, read_at);
  } else {
    book.growth_failed(key_);  // too late: more may have been refilled than was charged for
  }
  owner_.growths_.give_back(*this);
}

}  // namespace weir::regions
