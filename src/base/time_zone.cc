#include "base/time_zone.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/bounded_file.h"
#include "base/nearest.h"

namespace weir::base {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::size_t kMaxFileBytes = 256 * 1024;  // the largest of tzdata has 4 KiB
constexpr std::size_t kMaxNameBytes = 64;

bool usable_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || name.front() == '/' || name.back() == '/') return false;
  const bool known_characters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+' ||
           c == '-' || c == '/';
  });
  // These two repeat all zones, the second with leap seconds.
  return known_characters && !name.starts_with("posix/") && !name.starts_with("right/");
}

// Big-endian numbers from a file, whose length is checked before they are read.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : rest_(text) {}

  std::size_t size() const { return rest_.size(); }
  std::string_view take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::int64_t number(std::size_t bytes) {
    std::uint64_t value = rest_.empty() || (rest_.front() & 0x80) == 0 ? 0 : ~std::uint64_t{0};
    for (const char c : take(bytes)) value = value << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(value);
  }

 private:
  std::string_view rest_;
};

// RFC 8536, section 3.1.
struct Header {
  static constexpr std::size_t kSize = 44;
  char version = 0;
  std::size_t is_ut = 0, is_standard = 0, leaps = 0, times = 0, types = 0, characters = 0;

  static std::optional<Header> read(Bytes& bytes) {
    if (bytes.size() < kSize || bytes.take(4) != "TZif") return std::nullopt;
    Header header;
    header.version = bytes.take(16).front();
    for (std::size_t* count :
         {&header.is_ut, &header.is_standard, &header.leaps, &header.times, &header.types, &header.characters}) {
      const std::int64_t value = bytes.number(4);
      if (value < 0 || value > static_cast<std::int64_t>(kMaxFileBytes)) return std::nullopt;
      *count = static_cast<std::size_t>(value);
    }
    return header;
  }

  std::size_t body_size(std::size_t time_size) const {
    return times * (time_size + 1) + types * 6 + characters + leaps * (time_size + 4) + is_standard + is_ut;
  }
};

}  // namespace

std::string TimeZone::system_folder() {
  const char* set = std::getenv("TZDIR");
  return set != nullptr && *set != '\0' ? set : "/usr/share/zoneinfo";
}

std::optional<TimeZone> TimeZone::parse(std::string name, std::string_view file) {
  Bytes bytes(file);
  const std::optional<Header> old = Header::read(bytes);
  // Version 1 has 32-bit times only, which the second part of later versions repeats with 64 bits.
  if (!old || old->version < '2' || bytes.size() < old->body_size(4)) return std::nullopt;
  bytes.take(old->body_size(4));
  const std::optional<Header> header = Header::read(bytes);
  if (!header || header->types == 0 || header->leaps != 0 || bytes.size() < header->body_size(8)) return std::nullopt;

  TimeZone zone(std::move(name));
  for (std::size_t i = 0; i < header->times; ++i) zone.changes_.push_back({sys_seconds(seconds(bytes.number(8))), {}});
  const std::string_view type_of_change = bytes.take(header->times);
  std::vector<seconds> offsets;
  for (std::size_t i = 0; i < header->types; ++i) {
    offsets.push_back(seconds(bytes.number(4)));
    bytes.take(2);
  }
  zone.before_ = offsets.front();
  for (std::size_t i = 0; i < header->times; ++i) {
    const auto type = static_cast<unsigned char>(type_of_change[i]);
    if (type >= offsets.size() || (i > 0 && zone.changes_[i].at <= zone.changes_[i - 1].at)) return std::nullopt;
    zone.changes_[i].offset = offsets[type];
  }
  bytes.take(header->characters + header->is_standard + header->is_ut);

  const std::string_view footer = bytes.take(bytes.size());
  if (footer.size() < 2 || footer.front() != '\n' || footer.back() != '\n') return std::nullopt;
  if (footer.size() == 2) return zone;
  const std::optional<TzRule> after = TzRule::parse(footer.substr(1, footer.size() - 2));
  if (!after) return std::nullopt;
  zone.extend(*after);
  return zone;
}

// Adds the changes that follow those of the file.
void TimeZone::extend(const TzRule& rule) {
  if (!rule.changes()) {
    if (changes_.empty()) before_ = rule.offset();
    return;
  }
  const sys_seconds known =
      changes_.empty() ? sys_seconds(std::chrono::sys_days(std::chrono::year(1900) / 1 / 1)) : changes_.back().at;
  auto year = std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(known)).year();
  for (; year < kLastYear; ++year) {
    for (const TzRule::Change& change : rule.of(year)) {
      if (change.at > known) changes_.push_back(change);
    }
  }
}

Result<std::shared_ptr<const TimeZone>> TimeZone::load(std::string_view name, const std::string& folder) {
  if (name == "UTC") return utc();
  if (usable_name(name)) {
    const Result<std::string> file = read_bounded_file(std::filesystem::path(folder) / name, kMaxFileBytes);
    if (file.ok()) {
      std::optional<TimeZone> zone = parse(std::string(name), file.value());
      if (zone) return std::shared_ptr<const TimeZone>(std::make_shared<TimeZone>(std::move(*zone)));
      return Failure{Code::data_loss, folder + "/" + std::string(name) + ": not a time zone file"};
    }
  }
  const std::vector<std::string> names = installed(folder);
  if (names.empty()) {
    return Failure{Code::invalid_argument, "no time zone \"" + std::string(name.substr(0, kMaxNameBytes)) +
                                               "\": there are none in " + folder + " (install the package tzdata)"};
  }
  std::string message = "no time zone \"" + std::string(name.substr(0, kMaxNameBytes)) + "\"";
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view meant = nearest(name.substr(0, kMaxNameBytes), known);
  message +=
      meant.empty() ? "; expected a name such as Europe/Berlin or UTC" : "; did you mean " + std::string(meant) + "?";
  return Failure{Code::invalid_argument, std::move(message)};
}

std::shared_ptr<const TimeZone> TimeZone::utc() {
  static const std::shared_ptr<const TimeZone> zone(new TimeZone("UTC"));
  return zone;
}

std::vector<std::string> TimeZone::installed(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().lexically_relative(folder).string();
    if (!usable_name(name)) {
      if (entry->is_directory(error)) entry.disable_recursion_pending();
      continue;
    }
    if (name == "posix" || name == "right") {
      entry.disable_recursion_pending();
      continue;
    }
    // Lists of zones and aliases for the machine's own zone lie beside the zones.
    if (name == "localtime" || name == "posixrules" || !entry->is_regular_file(error)) continue;
    const Result<std::string> file = read_bounded_file(entry->path(), kMaxFileBytes);
    if (file.ok() && file.value().starts_with("TZif")) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

TimeZone::Segment TimeZone::segment_at(sys_seconds time) const {
  const auto next = std::upper_bound(changes_.begin(), changes_.end(), time,
                                     [](sys_seconds at, const TzRule::Change& change) { return at < change.at; });
  const seconds offset = next == changes_.begin() ? before_ : std::prev(next)->offset;
  if (next != changes_.end()) return {next->at, offset};
  return {sys_seconds::max(), offset};
}

seconds TimeZone::offset_at(sys_seconds time) const { return segment_at(time).offset; }

sys_seconds TimeZone::first_instant_at(std::chrono::local_seconds local) const {
  const sys_seconds as_utc(local.time_since_epoch());
  // No offset is larger than a day and two hours.
  for (sys_seconds at = as_utc - std::chrono::hours(26);;) {
    const Segment segment = segment_at(at);
    const sys_seconds candidate = std::max(at, as_utc - segment.offset);
    if (candidate < segment.ends) return candidate;
    at = segment.ends;
  }
}

}  // namespace weir::base
