// UsageLog: what a node has spent of its slices, on disk until the ledger has it. Written in groups, each followed by
// fdatasync; read again after a crash.
//
// The log is a folder of segments, one file for each usage batch (operations/slices.h): its name is the batch's epoch
// and number, so that what a segment says is sent under the same key however often. A segment is sent when it is
// closed, and deleted when the ledger has it.
//
//   <epoch>-<seq>.usage     line 1: "weir-usage 1 <node>"
//                           then groups: "<bytes> <checksum>\n" and <bytes> bytes of lines
//                           "<spent> <without> <rule> <period> <terms> <subject>\n"
//                           terms: "-", or of an account that may not exist yet:
//                           "<begins>,<ends>,<limit>,<since>,<grace>,<overage>,<thresholds>,<tenant in hex>"
//
// A group whose checksum is wrong, or that is cut, was never written completely: it and what follows are left out.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ledger/operations/slices.h"
#include "weir/result.h"

namespace weir::ledger {

using UsageRecords = std::vector<UsageBatch::Record>;

struct UsageSegment {
  std::filesystem::path path;
  std::string node;
  std::int64_t epoch = 0;
  std::int64_t seq = 0;
  UsageRecords records;    // one for each account
  std::size_t bytes = 0;   // on disk; not of leftovers
  bool uncertain = false;  // the file may have a group more than the records
};

class UsageLog {
 public:
  // The largest segment, in bytes.
  static constexpr std::size_t kMaxSegmentBytes = std::size_t{16} << 20;

  // The folder is made if need be. Failure: it cannot be.
  static Result<UsageLog> open(const std::filesystem::path& folder, std::string node);
  UsageLog(UsageLog&& other) noexcept;
  UsageLog& operator=(UsageLog&&) = delete;
  ~UsageLog();

  // What earlier processes left, oldest first. Empty files are deleted. Failure: a file that cannot be read.
  Result<std::vector<UsageSegment>> leftovers() const;

  // Segments are numbered from 1 in each epoch.
  void begin_epoch(std::int64_t epoch);
  // Adds a group to the open segment and waits for the disk. Failure: nothing of the group is in the log; if that is
  // not certain, the log is broken, and takes nothing more until the ledger has the segment: then it does not matter
  // what the file says, because a batch counts once.
  Status append(const UsageRecords& group);
  // Closes the open segment, for it to be sent. None: it has nothing.
  std::optional<UsageSegment> close_segment();
  // The same for leftovers() to find it.
  void leave_segment();
  // The ledger has it.
  static Status remove(const UsageSegment& segment);

  bool broken() const { return broken_; }
  // The ledger has the uncertain segment.
  void mend() { broken_ = false; }
  bool has_records() const { return !sums_.empty(); }
  // The number of a batch that is sent without a segment.
  std::int64_t take_seq() { return next_seq_++; }
  std::size_t open_bytes() const { return good_bytes_; }

 private:
  UsageLog(std::filesystem::path folder, std::string node) : folder_(std::move(folder)), node_(std::move(node)) {}
  Status open_segment();
  void close_file();

  const std::filesystem::path folder_;
  const std::string node_;
  std::int64_t epoch_ = 0;
  std::int64_t next_seq_ = 1;
  int file_ = -1;
  std::filesystem::path path_;
  std::size_t good_bytes_ = 0;  // of the open segment: all of them are on disk
  std::map<AccountKey, UsageBatch::Record> sums_;
  bool broken_ = false;
};

// The records of a segment's text. Nothing: it does not begin as one.
std::optional<UsageSegment> parse_segment(std::string_view text);

}  // namespace weir::ledger
