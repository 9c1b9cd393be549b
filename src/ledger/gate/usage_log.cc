#include "ledger/gate/usage_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/bounded_file.h"

namespace weir::ledger {
namespace {

constexpr std::string_view kHeader = "weir-usage 1 ";
constexpr std::string_view kSuffix = ".usage";
constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

Failure io_failure(const std::filesystem::path& path, std::string_view what) {
  const int error = errno;
  return {error == ENOSPC || error == EDQUOT ? Code::resource_exhausted : Code::unavailable,
          path.string() + ": " + std::string(what) + ": " + std::strerror(error)};
}

// FNV-1a: it detects what a crash cut, not what someone changed.
std::uint64_t sum_of(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return sum;
}

template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::string terms_text(const std::optional<Terms>& terms) {
  if (!terms) return "-";
  std::string text = std::to_string(micros(terms->begins)) + ',' + std::to_string(micros(terms->ends)) + ',' +
                     std::to_string(terms->limit) + ',' + std::to_string(micros(terms->since)) + ',' +
                     std::to_string(terms->grace) + ',' + (terms->record_overage ? '1' : '0') + ',';
  for (std::size_t i = 0; i < terms->thresholds.size(); ++i) {
    text += (i == 0 ? "" : "+") + std::to_string(terms->thresholds[i]);
  }
  text += ',';
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : terms->tenant) {
    text += kDigits[static_cast<unsigned char>(c) >> 4U];
    text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

bool take_moment(std::string_view& text, TimePoint& time) {
  std::int64_t value = 0;
  if (!take_number(text, value) || !take_char(text, ',')) return false;
  time = from_micros(value);
  return true;
}

bool parse_terms(std::string_view text, Terms& terms) {
  int overage = 0;
  const bool numbers = take_moment(text, terms.begins) && take_moment(text, terms.ends) &&
                       take_number(text, terms.limit) && take_char(text, ',') && take_moment(text, terms.since) &&
                       take_number(text, terms.grace) && take_char(text, ',') && take_number(text, overage) &&
                       take_char(text, ',');
  if (!numbers) return false;
  terms.record_overage = overage == 1;
  while (!text.empty() && text.front() != ',') {
    if (!terms.thresholds.empty() && !take_char(text, '+')) return false;
    if (!take_number(text, terms.thresholds.emplace_back())) return false;
  }
  if (!take_char(text, ',') || text.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc() || end != text.data() + i + 2) return false;
    terms.tenant += static_cast<char>(byte);
  }
  return true;
}

std::string group_text(const UsageRecords& group) {
  std::string lines;
  for (const UsageBatch::Record& each : group) {
    lines += std::to_string(each.spent) + ' ' + std::to_string(each.without) + ' ' + each.account.rule + ' ' +
             each.account.period + ' ' + terms_text(each.terms) + ' ' + each.account.subject + '\n';
  }
  return std::to_string(lines.size()) + ' ' + std::to_string(sum_of(lines)) + '\n' + lines;
}

void add_to(std::map<AccountKey, UsageBatch::Record>& sums, const UsageBatch::Record& record) {
  UsageBatch::Record& sum = sums[record.account];
  sum.account = record.account;
  sum.spent += record.spent;
  sum.without += record.without;
  if (record.terms) sum.terms = record.terms;
}

UsageRecords values_of(const std::map<AccountKey, UsageBatch::Record>& sums) {
  UsageRecords records;
  for (const auto& [key, record] : sums) records.push_back(record);
  return records;
}

bool parse_line(std::string_view line, UsageBatch::Record& record) {
  if (!take_number(line, record.spent) || !take_char(line, ' ')) return false;
  if (!take_number(line, record.without) || !take_char(line, ' ')) return false;
  const std::size_t rule_end = line.find(' ');
  if (rule_end == std::string_view::npos) return false;
  record.account.rule = line.substr(0, rule_end);
  line.remove_prefix(rule_end + 1);
  const std::size_t period_end = line.find(' ');
  if (period_end == std::string_view::npos) return false;
  record.account.period = line.substr(0, period_end);
  line.remove_prefix(period_end + 1);
  const std::size_t terms_end = line.find(' ');
  if (terms_end == std::string_view::npos) return false;
  const std::string_view terms = line.substr(0, terms_end);
  record.account.subject = line.substr(terms_end + 1);
  if (terms != "-") {
    if (!parse_terms(terms, record.terms.emplace())) return false;
    record.terms->key = record.account;
  }
  return record.spent >= 0 && record.without >= 0;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool sync_folder(const std::filesystem::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return false;
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  return synced;
}

}  // namespace

std::optional<UsageSegment> parse_segment(std::string_view text) {
  if (!text.starts_with(kHeader)) return std::nullopt;
  text.remove_prefix(kHeader.size());
  const std::size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  UsageSegment segment;
  segment.node = text.substr(0, line_end);
  text.remove_prefix(line_end + 1);
  std::map<AccountKey, UsageBatch::Record> sums;
  while (!text.empty()) {
    std::size_t bytes = 0;
    std::uint64_t sum = 0;
    const bool begins = take_number(text, bytes) && take_char(text, ' ') && take_number(text, sum) &&
                        take_char(text, '\n') && bytes <= text.size();
    if (!begins || sum_of(text.substr(0, bytes)) != sum) break;
    std::string_view lines = text.substr(0, bytes);
    text.remove_prefix(bytes);
    UsageRecords group;
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n');
      UsageBatch::Record record;
      if (end == std::string_view::npos || !parse_line(lines.substr(0, end), record)) break;
      group.push_back(std::move(record));
      lines.remove_prefix(end + 1);
    }
    for (const UsageBatch::Record& record : group) add_to(sums, record);
  }
  segment.records = values_of(sums);
  return segment;
}

Result<UsageLog> UsageLog::open(const std::filesystem::path& folder, std::string node) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Failure{Code::unavailable, folder.string() + ": cannot be created: " + error.message()};
  return UsageLog(folder, std::move(node));
}

UsageLog::UsageLog(UsageLog&& other) noexcept
    : folder_(other.folder_),
      node_(other.node_),
      epoch_(other.epoch_),
      next_seq_(other.next_seq_),
      file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      good_bytes_(other.good_bytes_),
      sums_(std::move(other.sums_)),
      broken_(other.broken_) {}

UsageLog::~UsageLog() { close_file(); }

void UsageLog::close_file() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

Result<std::vector<UsageSegment>> UsageLog::leftovers() const {
  std::vector<UsageSegment> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    std::string_view rest = name;
    std::int64_t epoch = 0;
    std::int64_t seq = 0;
    if (!take_number(rest, epoch) || !take_char(rest, '-') || !take_number(rest, seq) || rest != kSuffix) continue;
    const Result<std::string> text = base::read_bounded_file(entry.path(), kMaxFileBytes);
    if (!text.ok()) return text.failure();
    std::optional<UsageSegment> segment = parse_segment(text.value());
    if (!segment || segment->records.empty()) {
      std::filesystem::remove(entry.path(), error);
      continue;
    }
    segment->path = entry.path();
    segment->epoch = epoch;
    segment->seq = seq;
    found.push_back(*std::move(segment));
  }
  if (error) return Failure{Code::unavailable, folder_.string() + ": cannot be read: " + error.message()};
  std::sort(found.begin(), found.end(), [](const UsageSegment& a, const UsageSegment& b) {
    return std::tie(a.epoch, a.seq) < std::tie(b.epoch, b.seq);
  });
  return found;
}

void UsageLog::begin_epoch(std::int64_t epoch) {
  close_file();
  epoch_ = epoch;
  next_seq_ = 1;
  good_bytes_ = 0;
  sums_.clear();
}

Status UsageLog::open_segment() {
  path_ = folder_ / (std::to_string(epoch_) + "-" + std::to_string(next_seq_) + std::string(kSuffix));
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return io_failure(path_, "cannot be made");
  const std::string header = std::string(kHeader) + node_ + "\n";
  if (!write_all(file, header) || !sync_folder(folder_)) {
    const Failure failure = io_failure(path_, "cannot be written");
    ::close(file);
    ::unlink(path_.c_str());
    return failure;
  }
  file_ = file;
  good_bytes_ = header.size();
  ++next_seq_;
  return success();
}

Status UsageLog::append(const UsageRecords& group) {
  if (broken_)
    return Failure{Code::unavailable,
                   folder_.string() + ": a group may be half written; the ledger must have its segment first"};
  if (file_ < 0) {
    if (Status opened = open_segment(); !opened.ok()) return opened;
  }
  const std::string text = group_text(group);
  if (!write_all(file_, text) || ::fdatasync(file_) != 0) {
    Failure failure = io_failure(path_, "cannot be written");
    // What reached the disk of this group must not be read again: its units will be in another.
    const bool cut = ::ftruncate(file_, static_cast<off_t>(good_bytes_)) == 0 &&
                     ::lseek(file_, static_cast<off_t>(good_bytes_), SEEK_SET) >= 0 && ::fdatasync(file_) == 0;
    broken_ = !cut;
    return failure;
  }
  good_bytes_ += text.size();
  for (const UsageBatch::Record& record : group) add_to(sums_, record);
  return success();
}

std::optional<UsageSegment> UsageLog::close_segment() {
  if (file_ < 0 || (sums_.empty() && !broken_)) return std::nullopt;
  close_file();
  UsageSegment segment{path_, node_, epoch_, next_seq_ - 1, values_of(sums_), good_bytes_, broken_};
  sums_.clear();
  good_bytes_ = 0;
  return segment;
}

void UsageLog::leave_segment() {
  close_file();
  sums_.clear();
  good_bytes_ = 0;
}

Status UsageLog::remove(const UsageSegment& segment) {
  if (::unlink(segment.path.c_str()) == 0 || errno == ENOENT) return success();
  return io_failure(segment.path, "cannot be removed");
}

}  // namespace weir::ledger
