#include "stores/redis/window.h"

#include <algorithm>

namespace weir::redis {
namespace {

constexpr double kWeight = 1.0 / 8;
// Up to kSmall calls may take half of the time that is left, from kLarge on an eighth.
constexpr double kSmall = 16;
constexpr double kLarge = 64;
constexpr double kPartOfSmall = 1.0 / 2;
constexpr double kPartOfLarge = 1.0 / 8;
// A server so far away that even a lone call takes longer than this part of the deadline leaves no room for others.
constexpr double kMostAlone = 0.75;

}  // namespace

Window::Window(std::chrono::microseconds deadline, std::size_t most)
    : deadline_us_(static_cast<double>(deadline.count())), most_(static_cast<double>(most)), size_(1) {
  const double at_first = target_us(kLarge) / static_cast<double>(kFirstServiceTime.count());
  size_ = std::clamp(std::min(at_first, static_cast<double>(kMostAtFirst)), 1.0, most_);
}

std::chrono::microseconds Window::patience() const {
  return std::chrono::microseconds(static_cast<std::int64_t>((deadline_us_ - alone_us_) / 2));
}

// Between small and large such that the product with `in_flight` stays the same.
double Window::target_us(double in_flight) const {
  const double inverse = kLarge / std::clamp(in_flight, kSmall, kLarge) - 1;
  const double smallness = inverse / (kLarge / kSmall - 1);
  const double part = kPartOfLarge + (kPartOfSmall - kPartOfLarge) * smallness;
  return alone_us_ + (deadline_us_ - alone_us_) * part;
}

void Window::answered(std::size_t place, std::size_t behind, std::chrono::microseconds latency) {
  const double took_us = std::max(1.0, static_cast<double>(latency.count()));
  // The first of many is no lone call: a server that reads many at once answers them at once.
  if (place == 1 && behind == 0) {
    alone_us_ += (std::min(took_us, kMostAlone * deadline_us_) - alone_us_) * kWeight;
  }
  const double in_flight = static_cast<double>(place);
  const double target = target_us(in_flight);
  const double fits = std::clamp(in_flight * target / took_us + 1, 1.0, most_);
  if (fits < size_) {
    const bool tells_of_load = took_us > target || 2 * in_flight > size_;
    if (tells_of_load) size_ -= (size_ - fits) * kWeight;
  } else {
    size_ += std::max(0.0, std::min(fits, 2 * in_flight) - size_) * kWeight;
  }
}

}  // namespace weir::redis
