#include "server/last_rejection.h"

#include <functional>
#include <string_view>
#include <utility>

#include "base/bounded_file.h"

namespace weir::server {
namespace {

// Larger than the bound of any watched file.
constexpr std::size_t kMaxHashedBytes = std::size_t{64} << 20;

}  // namespace

bool LastRejection::is_news(const std::string& error, std::uint64_t contents) {
  Refusal refusal{error, contents};
  const std::lock_guard lock(mutex_);
  if (last_ == refusal) return false;
  last_ = std::move(refusal);
  return true;
}

void LastRejection::forget() {
  const std::lock_guard lock(mutex_);
  last_.reset();
}

std::uint64_t hash_of_contents(std::span<const std::filesystem::path> files) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
  std::uint64_t sum = files.size();
  for (const std::filesystem::path& file : files) {
    const Result<std::string> text = base::read_bounded_file(file, kMaxHashedBytes);
    const std::string_view seen = text.ok() ? std::string_view(text.value()) : text.failure().message;
    sum = (sum ^ std::hash<std::string_view>{}(seen)) * kSpread;
  }
  return sum;
}

}  // namespace weir::server
