#include "regions/shares.h"

#include <algorithm>
#include <numeric>

namespace weir::regions {
namespace {

// Clocks run at speeds that differ by less than 1 in this.
constexpr std::int64_t kDrift = 1'000;

Ppm occupied_by(const ShareRow& row, TimePoint now) {
  const Ppm share = row.ends > now ? row.share : 0;
  const Ppm held = row.held_until > now ? row.held : 0;
  return std::max(share, held);
}

// By region; never below the floor, which needs no lease.
std::vector<Ppm> occupied(const std::vector<ShareRow>& rows, std::size_t regions, TimePoint now) {
  std::vector<Ppm> shares(regions, floor_share(regions));
  for (const ShareRow& row : rows) {
    if (row.region < regions) shares[row.region] = std::max(shares[row.region], occupied_by(row, now));
  }
  return shares;
}

ShareRow& row_of(std::vector<ShareRow>& rows, const ShareRequest& request) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&request](const ShareRow& row) {
    return row.region == request.region && row.node == request.node;
  });
  if (found != rows.end()) return *found;
  ShareRow& row = rows.emplace_back();
  row.region = request.region;
  row.node = request.node;
  return row;
}

// The node may use so much until then, whatever it is told now.
void keep_occupied(ShareRow& row, Ppm share, TimePoint until, TimePoint now) {
  if (until <= now || share <= 0) return;
  const bool held = row.held_until > now;
  row.held = held ? std::max(row.held, share) : share;
  row.held_until = held ? std::max(row.held_until, until) : until;
}

Ppm share_by_demand(const std::vector<ShareRow>& rows, const ShareRow& own, const ShareTerms& terms, TimePoint now) {
  std::vector<Ppm> demands(terms.regions, 0);
  for (const ShareRow& row : rows) {
    if (row.region < terms.regions && (row.ends > now || &row == &own)) demands[row.region] += row.demand;
  }
  return divide_by_demand(demands)[own.region];
}

}  // namespace

std::vector<Ppm> divide_by_demand(const std::vector<Ppm>& demands) {
  const Ppm floor = floor_share(demands.size());
  std::vector<Ppm> wants;
  for (const Ppm demand : demands) {
    // A quarter more than was asked for, so that demand can be seen to grow.
    wants.push_back(std::clamp(demand + demand / 4, floor, kWhole));
  }
  const auto total = [&wants](Ppm level) {
    return std::accumulate(wants.begin(), wants.end(), Ppm{0},
                           [level](Ppm sum, Ppm want) { return sum + std::min(want, level); });
  };
  if (total(kWhole) > kWhole) {
    // The highest level that fits: all who want less than that get what they want.
    Ppm fits = floor;
    Ppm too_much = kWhole;
    while (too_much - fits > 1) {
      const Ppm middle = fits + (too_much - fits) / 2;
      (total(middle) <= kWhole ? fits : too_much) = middle;
    }
    for (Ppm& want : wants) want = std::min(want, fits);
    return wants;
  }
  // Half of what no one wants is shared by those that want something; the rest stays free, to be given at once.
  const auto asking = std::count_if(demands.begin(), demands.end(), [](Ppm demand) { return demand > 0; });
  if (asking == 0) return wants;
  const Ppm spare = (kWhole - total(kWhole)) / 2 / asking;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    if (demands[i] > 0) wants[i] += spare;
  }
  return wants;
}

ShareAnswer decide_share(std::vector<ShareRow>& rows, const ShareRequest& request, TimePoint now,
                         const ShareTerms& terms) {
  ShareRow& row = row_of(rows, request);
  ShareAnswer answer;
  answer.rows_lost = request.epoch > row.epoch;
  row.demand = std::clamp<Ppm>(request.demand, 0, kMaxDemand);
  if (terms.learning || answer.rows_lost) {
    // The node uses it until its lease ends, which is within one lease from now.
    keep_occupied(row, request.share, now + terms.lease, now);
    row.epoch = std::max(row.epoch, request.epoch);
    return answer;
  }
  const std::vector<Ppm> shares = occupied(rows, terms.regions, now);
  Ppm others = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) others += i == request.region ? 0 : shares[i];
  const Ppm floor = floor_share(terms.regions);
  const Ppm most = std::max(kWhole - others, floor);
  const Ppm share = std::clamp(share_by_demand(rows, row, terms, now), floor, most);
  if (share < row.share) keep_occupied(row, row.share, row.ends, now);
  row.share = share;
  row.ends = now + terms.lease;
  row.epoch += 1;
  answer.granted = true;
  answer.share = share;
  answer.lasts = terms.lease;
  answer.epoch = row.epoch;
  return answer;
}

void HeldShare::answered(const ShareAnswer& answer, TimePoint sent, TimePoint now) {
  if (!answer.granted || answer.epoch <= epoch_) return;
  const Ppm using_now = at(now);
  epoch_ = answer.epoch;
  ends_ = sent + answer.lasts - answer.lasts / kDrift;
  share_ = std::min(using_now, answer.share);
  given_ = answer.share;
}

std::optional<HeldShare::Growth> HeldShare::growth(TimePoint now) const {
  if (now >= ends_ || given_ <= share_) return std::nullopt;
  return Growth{share_, given_, epoch_};
}

void HeldShare::grown(const Growth& growth, TimePoint now) {
  if (now >= ends_ || growth.epoch != epoch_ || growth.from != share_ || growth.to != given_) return;
  share_ = given_;
}

}  // namespace weir::regions
