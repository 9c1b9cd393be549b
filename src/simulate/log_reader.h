// LogReader: the records of one log, line by line. MergedLogs: those of several logs, by time.
//
//   auto logs = MergedLogs::open({"access.log.1.gz", "access.log"}, options);
//   while (logs.value().next()) use(logs.value().record());
//
// Lines that do not parse are counted; the first of them is kept. Blank lines and lines that begin with '#' are not
// counted. Not thread-safe. Memory: kBufferBytes for each log, whatever its size.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/byte_source.h"
#include "simulate/log_format.h"
#include "weir/result.h"

namespace weir::simulate {

struct LogOptions {
  std::optional<LogFormat> format;  // none: found out from the first lines of each log
  Zone zone = base::TimeZone::utc();
  std::vector<FieldMapping> mappings;
};

// A line that could not be used.
struct BadLine {
  std::string log;
  std::uint64_t number = 0;
  std::string text;  // its beginning
  std::string why;
};

class LogReader {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;  // and so the longest line
  static constexpr std::size_t kLinesToDetect = 50;

  // The failure is data_loss, or invalid_argument if no format fits its first lines.
  static Result<std::unique_ptr<LogReader>> open(std::string name, std::unique_ptr<ByteSource> source,
                                                 const LogOptions& options);

  // False at the end, or when the source failed. The record is good until the next call.
  bool next();
  const LogRecord& record() const { return record_; }
  // What the record was made of.
  std::string_view line() const { return line_; }
  std::uint64_t line_number() const { return lines_; }

  const std::string& name() const { return name_; }
  std::optional<LogFormat> format() const { return format_; }  // none: it has no lines
  const ByteSource& source() const { return *source_; }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t unparsed() const { return unparsed_; }
  const std::optional<BadLine>& first_unparsed() const { return first_unparsed_; }
  // Of the source, with the log's name.
  const Status& status() const { return status_; }

 private:
  LogReader(std::string name, std::unique_ptr<ByteSource> source);
  Status choose_format(const LogOptions& options);
  // False at the end.
  bool next_line();
  bool read_more();
  void reject(const char* why);

  const std::string name_;
  const std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
  bool too_long_ = false;  // the rest of a line that was too long comes next
  std::optional<LogFormat> format_;
  std::unique_ptr<LineParser> parser_;
  LogRecord record_;
  std::string_view line_;
  std::uint64_t lines_ = 0;
  std::uint64_t unparsed_ = 0;
  std::optional<BadLine> first_unparsed_;
  Status status_ = success();
};

class MergedLogs {
 public:
  // "-" is standard input. A log that cannot be opened or recognized is a failure with its name.
  static Result<MergedLogs> open(std::span<const std::string> paths, const LogOptions& options);
  static Result<MergedLogs> from_text(std::string_view text, const LogOptions& options);

  // The next request by time. Logs whose lines are in the order in which requests ended are merged in that order.
  bool next();
  const LogRecord& record() const { return current_->record(); }
  const LogReader& current() const { return *current_; }

  std::span<const std::unique_ptr<LogReader>> logs() const { return logs_; }
  std::uint64_t lines() const;
  std::uint64_t unparsed() const;
  // Bytes read and all bytes, as packed; 0: not known.
  std::uint64_t position() const;
  std::uint64_t size() const;
  // The first log that could not be read to its end.
  Status status() const;

 private:
  explicit MergedLogs(std::vector<std::unique_ptr<LogReader>> logs) : logs_(std::move(logs)) {}

  std::vector<std::unique_ptr<LogReader>> logs_;
  std::vector<LogReader*> waiting_;  // a heap: the earliest record first
  LogReader* current_ = nullptr;
  bool started_ = false;
};

}  // namespace weir::simulate
