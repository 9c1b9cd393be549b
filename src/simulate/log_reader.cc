#include "simulate/log_reader.h"

#include <algorithm>
#include <cstring>

#include "base/json_text.h"

namespace weir::simulate {
namespace {

constexpr std::size_t kShownBytes = 300;

bool is_blank(std::string_view line) { return line.empty() || line[0] == '#'; }

// Later first, as the functions for heaps want it.
bool is_later(const LogReader* one, const LogReader* other) { return one->record().time > other->record().time; }

}  // namespace

LogReader::LogReader(std::string name, std::unique_ptr<ByteSource> source)
    : name_(std::move(name)), source_(std::move(source)), buffer_(kBufferBytes + kLinePadding) {}

Result<std::unique_ptr<LogReader>> LogReader::open(std::string name, std::unique_ptr<ByteSource> source,
                                                   const LogOptions& options) {
  std::unique_ptr<LogReader> reader(new LogReader(std::move(name), std::move(source)));
  if (Status chosen = reader->choose_format(options); !chosen.ok()) return chosen.failure();
  return reader;
}

Status LogReader::choose_format(const LogOptions& options) {
  // Lines that are too long, or have nothing in them, say nothing about the format. The first that does is read again.
  while (next_line()) {
    if (is_blank(line_)) continue;
    begin_ = static_cast<std::size_t>(line_.data() - buffer_.data());
    break;
  }
  // As many lines as a pipe gives at once may be too few: it is read until the buffer is full or there are enough.
  std::vector<std::string_view> lines;
  for (bool more = true;; more = read_more()) {
    lines.clear();
    std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    while (lines.size() < kLinesToDetect && !rest.empty()) {
      const std::size_t newline = rest.find('\n');
      if (newline == std::string_view::npos && !ended_) break;
      std::string_view line = rest.substr(0, newline);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!is_blank(line)) lines.push_back(line);
      rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    }
    if (lines.size() == kLinesToDetect || !more) break;
  }
  if (!status_.ok()) return status_;
  format_ = options.format;
  if (!format_) format_ = detect_format(lines, options.zone, options.mappings);
  if (!format_ && !lines.empty()) {
    std::string shown;  // anyone may have written it: nothing that a terminal obeys
    base::append_plain_line(shown, lines.front().substr(0, kShownBytes));
    return Failure{Code::invalid_argument,
                   name_ + ": its format is not recognized; name it with --format. Its first line: " + shown};
  }
  if (format_) parser_ = make_line_parser(*format_, options.zone, options.mappings);
  return success();
}

bool LogReader::read_more() {
  if (ended_ || !status_.ok()) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == kBufferBytes) return false;
  const Result<std::size_t> count = source_->read(std::span(buffer_.data() + end_, kBufferBytes - end_));
  if (!count.ok()) {
    status_ = Failure{count.failure().code, name_ + ": " + count.failure().message};
    return false;
  }
  end_ += count.value();
  ended_ = count.value() == 0;
  return !ended_;
}

bool LogReader::next_line() {
  std::size_t searched = 0;
  while (true) {
    const char* const start = buffer_.data() + begin_;
    const auto* const newline = static_cast<const char*>(std::memchr(start + searched, '\n', end_ - begin_ - searched));
    if (newline != nullptr) {
      line_ = {start, static_cast<std::size_t>(newline - start)};
      begin_ += line_.size() + 1;
    } else {
      searched = end_ - begin_;
      if (read_more()) continue;
      if (!status_.ok() || begin_ == end_) return false;
      // The last line has no end, or this one is longer than the buffer.
      line_ = {buffer_.data() + begin_, end_ - begin_};
      begin_ = end_;
      if (!ended_) {
        if (!too_long_) {
          ++lines_;
          reject("is longer than 1 MiB");
        }
        too_long_ = true;
        searched = 0;
        continue;
      }
    }
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    searched = 0;
    if (!too_long_) return true;
    too_long_ = false;
  }
}

void LogReader::reject(const char* why) {
  ++unparsed_;
  if (first_unparsed_) return;
  const std::string_view shown = line_.substr(0, kShownBytes);
  first_unparsed_ = BadLine{name_, lines_, std::string(shown), why};
}

bool LogReader::next() {
  while (next_line()) {
    if (is_blank(line_)) continue;
    ++lines_;
    if (parser_ == nullptr) return false;
    const char* const wrong = parser_->parse(line_, record_);
    if (wrong == nullptr) return true;
    reject(wrong);
  }
  return false;
}

Result<MergedLogs> MergedLogs::open(std::span<const std::string> paths, const LogOptions& options) {
  std::vector<std::unique_ptr<LogReader>> logs;
  for (const std::string& path : paths) {
    Result<std::unique_ptr<ByteSource>> source = open_log(path);
    if (!source.ok()) return source.failure();
    const std::string name = path == "-" ? "standard input" : path;
    Result<std::unique_ptr<LogReader>> reader = LogReader::open(name, std::move(source).value(), options);
    if (!reader.ok()) return reader.failure();
    logs.push_back(std::move(reader).value());
  }
  return MergedLogs(std::move(logs));
}

Result<MergedLogs> MergedLogs::from_text(std::string_view text, const LogOptions& options) {
  Result<std::unique_ptr<ByteSource>> source = unpacked(text_source(text));
  if (!source.ok()) return source.failure();
  Result<std::unique_ptr<LogReader>> reader = LogReader::open("log", std::move(source).value(), options);
  if (!reader.ok()) return reader.failure();
  std::vector<std::unique_ptr<LogReader>> logs;
  logs.push_back(std::move(reader).value());
  return MergedLogs(std::move(logs));
}

bool MergedLogs::next() {
  if (logs_.size() == 1) {
    current_ = logs_.front().get();
    return current_->next();
  }
  if (!started_) {
    started_ = true;
    for (const std::unique_ptr<LogReader>& log : logs_) {
      if (log->next()) waiting_.push_back(log.get());
    }
    std::make_heap(waiting_.begin(), waiting_.end(), is_later);
  } else if (current_ != nullptr && current_->next()) {
    waiting_.push_back(current_);
    std::push_heap(waiting_.begin(), waiting_.end(), is_later);
  }
  if (waiting_.empty()) return false;
  std::pop_heap(waiting_.begin(), waiting_.end(), is_later);
  current_ = waiting_.back();
  waiting_.pop_back();
  return true;
}

std::uint64_t MergedLogs::lines() const {
  std::uint64_t sum = 0;
  for (const auto& log : logs_) sum += log->lines();
  return sum;
}

std::uint64_t MergedLogs::unparsed() const {
  std::uint64_t sum = 0;
  for (const auto& log : logs_) sum += log->unparsed();
  return sum;
}

std::uint64_t MergedLogs::position() const {
  std::uint64_t sum = 0;
  for (const auto& log : logs_) sum += log->source().position();
  return sum;
}

std::uint64_t MergedLogs::size() const {
  std::uint64_t sum = 0;
  for (const auto& log : logs_) {
    if (log->source().size() == 0) return 0;
    sum += log->source().size();
  }
  return sum;
}

Status MergedLogs::status() const {
  for (const auto& log : logs_) {
    if (!log->status().ok()) return log->status();
  }
  return success();
}

}  // namespace weir::simulate
