#include "regions/cells.h"

#include <algorithm>

namespace weir::regions {
namespace {

// More epochs in one window are not kept apart: a store that loses its data so often is not usable.
constexpr std::size_t kMaxEpochs = 16;

std::int64_t sum_of(const std::map<std::int64_t, std::int64_t>& epochs) {
  std::int64_t sum = 0;
  for (const auto& [epoch, used] : epochs) sum += used;
  return sum;
}

}  // namespace

Division divide_tolerance(std::int64_t limit, std::int64_t tolerance, std::size_t regions, std::size_t own) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(regions, 1));
  if (tolerance >= count) return {tolerance / count, limit};
  const std::int64_t left = limit - (count - tolerance);
  if (left > 0) return {1, left};
  return {static_cast<std::int64_t>(own) < limit + tolerance ? 1 : 0, 1};
}

std::int64_t CellView::others() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < others_.size(); ++i) sum += i == own_ ? 0 : sum_of(others_[i]);
  return sum;
}

std::int64_t CellView::earlier_used() const {
  std::int64_t sum = 0;
  for (const auto& [epoch, count] : earlier_) sum += count.used;
  return sum;
}

std::int64_t CellView::earlier_news() const {
  std::int64_t sum = 0;
  for (const auto& [epoch, count] : earlier_) sum += count.news();
  return sum;
}

std::vector<Cell> CellView::own_cells() const {
  std::vector<Cell> cells;
  for (const auto& [epoch, count] : earlier_) cells.push_back({own_, epoch, count.used});
  cells.push_back({own_, epoch_, present_.used});
  return cells;
}

std::int64_t CellView::most(std::int64_t limit, std::int64_t part, OnPartition on_partition) const {
  const std::int64_t left = limit - others() - earlier_used();
  const std::int64_t heard = present_.known + part - earlier_news();
  return std::clamp<std::int64_t>(on_partition == OnPartition::hold ? std::min(left, heard) : left, 0, limit);
}

void CellView::begin_epoch(std::int64_t epoch) {
  earlier_[epoch_] = present_;
  epoch_ = epoch;
  present_ = Count{};
}

void CellView::counted(std::int64_t used, TimePoint asked) {
  const bool lost = used < present_.known && asked >= known_at_ && earlier_.size() < kMaxEpochs;
  if (lost) begin_epoch(epoch_ + 1);
  present_.used = std::max(present_.used, used);
}

void CellView::read(const std::vector<Cell>& cells, TimePoint now, bool complete) {
  for (const Cell& cell : cells) {
    if (cell.region >= others_.size()) continue;
    if (cell.region != own_) {
      std::int64_t& known = others_[cell.region][cell.epoch];
      known = std::max(known, cell.used);
      continue;
    }
    if (cell.epoch > epoch_) begin_epoch(cell.epoch);  // another node of the region has noticed a loss
    Count& count = cell.epoch == epoch_ ? present_ : earlier_[cell.epoch];
    count.used = std::max(count.used, cell.used);
    if (!complete) continue;
    count.known = std::max(count.known, cell.used);
    if (cell.epoch == epoch_) known_at_ = now;
  }
}

}  // namespace weir::regions
