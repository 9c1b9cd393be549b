// RecordPage: the records (algorithms/reservation_record.h) of reservations with ids of one page (base/paged_id.h),
// in the words of one slot. A process's reservations come one after the other, so that all but the first of a page find
// it in the cache, and the table has one slot for 32 of them.
//
// Head: {until when some record of the page is kept, 0, 0}. Tail: four words for each place, {three of the record,
// until when it is kept}. A record that is not kept any more is as if it had never been. Any words are safe to use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "algorithms/arithmetic.h"
#include "algorithms/bucket.h"
#include "algorithms/reservation_record.h"
#include "base/paged_id.h"
#include "weir/store.h"

namespace weir::memory {

// The key under which the table has what a charge is about.
inline BucketKey table_key(const Charge& charge) {
  return charge.kind == ChargeKind::record && base::is_paged(charge.key) ? base::page_of(charge.key) : charge.key;
}

class RecordPage {
 public:
  static constexpr std::size_t kWordsEach = algorithms::kHeadWords + 1;
  static constexpr std::size_t kWords = base::kPlacesPerPage * kWordsEach;

  // The words are borrowed.
  explicit RecordPage(const algorithms::BucketWords& words) : head_(words.head), tail_(words.tail) {}

  bool complete() const { return tail_.size() >= kWords; }
  // False: there is none at this place any more, or there never was.
  bool read(std::size_t place, std::int64_t now_us, algorithms::ReservationRecord& record) const {
    if (!complete() || kept_until(place) <= now_us) return false;
    record = algorithms::ReservationRecord::read(record_words(place));
    return true;
  }
  // Precondition: complete(). Returns until when the page is kept.
  std::int64_t write(std::size_t place, const algorithms::ReservationRecord& record, std::int64_t kept_until_us) {
    record.write(record_words(place));
    tail_[place * kWordsEach + algorithms::kHeadWords] = kept_until_us;
    head_[0] = std::max(head_[0], kept_until_us);
    return head_[0];
  }
  // As algorithms::move_back().
  void move_back(std::int64_t by_us) {
    head_[0] = moved(head_[0], by_us);
    for (std::size_t place = 0; complete() && place < base::kPlacesPerPage; ++place) {
      algorithms::ReservationRecord record = algorithms::ReservationRecord::read(record_words(place));
      record.expires_us = moved(record.expires_us, by_us);
      record.write(record_words(place));
      std::int64_t& kept = tail_[place * kWordsEach + algorithms::kHeadWords];
      kept = moved(kept, by_us);
    }
  }

 private:
  static std::int64_t moved(std::int64_t us, std::int64_t by_us) {
    return std::max<std::int64_t>(0, algorithms::clamp_tick(us) - by_us);
  }
  algorithms::Head record_words(std::size_t place) const {
    return tail_.subspan(place * kWordsEach).first<algorithms::kHeadWords>();
  }
  std::int64_t kept_until(std::size_t place) const { return tail_[place * kWordsEach + algorithms::kHeadWords]; }

  algorithms::Head head_;
  std::span<std::int64_t> tail_;
};

}  // namespace weir::memory
