// The file, all numbers little-endian and 8 bytes wide unless said otherwise:
//
//   header   8 bytes "WEIRSNAP"; version (4); 16 bytes key id
//   bucket*  key high, key low, kind (SlotKind, with bit 7: the tail begins with reservations) + 256 × number of its
//   rule,
//            idle from (µs), three head words, tail length in words (at most kMaxTailWords), tail words
//   rule*    before the first bucket of its number: the number, 0, kRuleMark, length of its id in bytes, three words of
//            0, length in words, the id, filled up with zeros
//   footer   all ones where a bucket's kind would be: 2 words of all ones, kEndMark; number of buckets; CRC-64/XZ
//            of everything before it
//
// A bucket is recognised by its third word, so the end needs no length in the header and the file is written in one
// pass. Version 4 had no pages of reservations, versions 2 and 3 no numbers, no rules and no reservations, version 2 no
// leases; all are read as well.
#include "stores/memory/snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "algorithms/bucket_holds.h"
#include "algorithms/distinct_values.h"
#include "algorithms/lease_bucket.h"
#include "algorithms/penalty.h"
#include "algorithms/reservation_record.h"
#include "stores/memory/record_page.h"
#include "stores/memory/snapshot_file.h"

namespace weir::memory {
namespace {

using algorithms::BucketHolds;
using algorithms::ReservationRecord;

static_assert(std::endian::native == std::endian::little, "the snapshot's words are written as they lie in memory");

constexpr char kMagic[8] = {'W', 'E', 'I', 'R', 'S', 'N', 'A', 'P'};
constexpr std::uint64_t kEndMark = ~std::uint64_t{0};
constexpr std::uint64_t kRuleMark = kEndMark - 1;
constexpr std::size_t kMaxRuleBytes = 256;
constexpr int kNumberShift = 8;
constexpr std::size_t kMaxTailWords = std::size_t{1} << 20;

struct FileHeader {
  char magic[8];
  std::uint64_t version;
  SnapshotKeyId key_id;
};
static_assert(sizeof(FileHeader) == 32);

struct FileBucket {
  BucketKey key;
  std::uint64_t kind;
  std::int64_t idle_from_us;
  std::int64_t head[algorithms::kHeadWords];
  std::uint64_t tail_words;
};
static_assert(sizeof(FileBucket) == 64);

struct FileFooter {
  BucketKey ones{kEndMark, kEndMark};
  std::uint64_t end_mark = kEndMark;
  std::uint64_t buckets = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FileFooter) == 40);
constexpr std::size_t kSummedFooterBytes = sizeof(FileFooter) - sizeof(std::uint64_t);

constexpr std::uint64_t kHoldsFlag = 128;
constexpr std::uint64_t kKindBits = kHoldsFlag - 1;
std::uint64_t kind_number(const FileBucket& record) { return record.kind & kKindBits; }
bool has_holds(const FileBucket& record) { return (record.kind & kHoldsFlag) != 0; }
// Precondition: kind_number(record) < SlotKind::kCount.
SlotKind kind_of(const FileBucket& record) {
  return SlotKind::of_number(static_cast<std::uint8_t>(kind_number(record)));
}
std::uint64_t number_of(const FileBucket& record) { return record.kind >> kNumberShift; }

Failure damaged(const std::filesystem::path& path, const char* how) {
  return {Code::data_loss, path.string() + ": the snapshot is damaged: " + how};
}

void write_rule(std::uint64_t number, std::string_view rule, Writer& writer) {
  std::int64_t words[kMaxRuleBytes / sizeof(std::int64_t)] = {};
  const std::string_view id = rule.substr(0, kMaxRuleBytes);
  std::memcpy(words, id.data(), id.size());
  const std::uint64_t length = (id.size() + sizeof(std::int64_t) - 1) / sizeof(std::int64_t);
  const FileBucket record{{number, 0}, kRuleMark, static_cast<std::int64_t>(id.size()), {}, length};
  writer.put(&record, sizeof(record));
  writer.put(words, length * sizeof(std::int64_t));
}

void write_buckets(MemoryStore& store, const SnapshotKeyId& key_id, Writer& writer) {
  FileHeader header{{}, kSnapshotVersion, key_id};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  writer.put(&header, sizeof(header));
  FileFooter footer;
  ShardCopy copy;
  std::unordered_set<std::uint32_t> named;
  for (std::size_t shard = 0; shard < MemoryStore::kShards && writer.error() == 0; ++shard) {
    copy.buckets.clear();
    copy.tails.clear();
    store.copy_shard(shard, copy);
    footer.buckets += copy.buckets.size();
    const std::int64_t* tail = copy.tails.data();
    for (const ShardCopy::Bucket& bucket : copy.buckets) {
      const std::uint64_t number = bucket.number;
      if (number != 0 && named.insert(bucket.number).second) {
        write_rule(number, store.subjects().name_of(bucket.number), writer);
      }
      const std::uint64_t kind = bucket.kind.number() | (bucket.has_holds ? kHoldsFlag : 0) | (number << kNumberShift);
      FileBucket record{bucket.key, kind, bucket.idle_from_us, {}, bucket.tail_words};
      std::copy(std::begin(bucket.head), std::end(bucket.head), record.head);
      writer.put(&record, sizeof(record));
      writer.put(tail, bucket.tail_words * sizeof(std::int64_t));
      tail += bucket.tail_words;
    }
  }
  writer.put(&footer, kSummedFooterBytes);
  footer.checksum = writer.checksum();
  writer.put(&footer.checksum, sizeof(footer.checksum));
  writer.flush();
}

// Makes the rename itself survive a crash.
Status flush_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  File file(folder, O_RDONLY | O_DIRECTORY);
  if (!file.open() || ::fsync(file.descriptor()) != 0) {
    return system_failure(Code::unavailable, folder, "cannot be flushed", errno);
  }
  return success();
}

Status write_file(MemoryStore& store, const std::filesystem::path& path, const SnapshotKeyId& key_id) {
  // A leftover, or something else that was put there: it is neither written to nor waited for.
  ::unlink(path.c_str());
  File file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.open()) return system_failure(Code::unavailable, path, "cannot be created", errno);
  Writer writer(file);
  write_buckets(store, key_id, writer);
  if (writer.error() != 0) return system_failure(Code::unavailable, path, "cannot be written", writer.error());
  if (::fsync(file.descriptor()) != 0 || !file.close()) {
    return system_failure(Code::unavailable, path, "cannot be flushed", errno);
  }
  return success();
}

// Reads the file from its beginning to its end, hands each bucket to `use` and checks all there is to check.
class SnapshotReading {
 public:
  SnapshotReading(File& file, const std::filesystem::path& path) : path_(path), reader_(file) {}

  template <typename Use>
  Status run(Use use) {
    if (!reader_.get(&header_, sizeof(header_))) return cut_short();
    if (!std::equal(std::begin(kMagic), std::end(kMagic), header_.magic)) return damaged(path_, "not a snapshot");
    if (header_.version < kOldestSnapshot || header_.version > kSnapshotVersion) {
      return Failure{Code::failed_precondition, path_.string() + ": a snapshot of another version"};
    }
    std::uint64_t buckets = 0;
    // A footer without its checksum is as long as a bucket's first four words, and tells itself by the third.
    FileBucket record{};
    while (true) {
      if (!reader_.get(&record, kSummedFooterBytes)) return cut_short();
      if (record.kind == kEndMark) break;
      if (!reader_.get(reinterpret_cast<std::byte*>(&record) + kSummedFooterBytes,
                       sizeof(record) - kSummedFooterBytes)) {
        return cut_short();
      }
      if (record.kind == kRuleMark) {
        if (!read_rule(record)) return reader_.error() != 0 ? cut_short() : damaged(path_, "an invalid rule");
        continue;
      }
      if (kind_number(record) >= SlotKind::kCount) return damaged(path_, "an algorithm that does not exist");
      if (number_of(record) != 0 && rule_of(number_of(record)).empty()) return damaged(path_, "a rule without a name");
      if (record.tail_words > kMaxTailWords) return damaged(path_, "a bucket that is too long");
      if (has_holds(record) && (!kind_of(record).is_bucket() || record.tail_words < BucketHolds::kHeaderWords)) {
        return damaged(path_, "reservations where there can be none");
      }
      if (record.tail_words > 0 && !has_holds(record) && !kind_of(record).keeps_tail()) {
        return damaged(path_, "a tail where its algorithm keeps none");
      }
      tail_.resize(record.tail_words);
      if (!reader_.get(tail_.data(), tail_.size() * sizeof(std::int64_t))) return cut_short();
      if (has_holds(record) && BucketHolds::length_of(tail_[0], kMaxTailWords + 1) > tail_.size()) {
        return damaged(path_, "reservations that are cut short");
      }
      BucketImage image = image_of(record);
      use(image, std::span<std::int64_t>(tail_));
      ++buckets;
    }
    return check_footer(static_cast<std::uint64_t>(record.idle_from_us), buckets);
  }

  const FileHeader& header() const { return header_; }
  // The id of the rule that has this number in the file; empty: it has not been named so far.
  std::string_view rule_of(std::uint64_t number) const {
    const auto found = rules_.find(number);
    return found == rules_.end() ? std::string_view() : std::string_view(found->second);
  }

 private:
  bool read_rule(const FileBucket& record) {
    const auto bytes = static_cast<std::uint64_t>(record.idle_from_us);
    const std::uint64_t number = record.key.high;
    if (number == 0 || number > kMaxRuleNumber || bytes == 0 || bytes > kMaxRuleBytes) return false;
    if (record.tail_words != (bytes + 7) / 8) return false;
    std::int64_t words[kMaxRuleBytes / sizeof(std::int64_t)];
    if (!reader_.get(words, record.tail_words * sizeof(std::int64_t))) return false;
    rules_[number].assign(reinterpret_cast<const char*>(words), bytes);
    return true;
  }

  BucketImage image_of(const FileBucket& record) const {
    const auto number = static_cast<std::uint32_t>(number_of(record));
    BucketImage image{record.key, number, kind_of(record), has_holds(record), record.idle_from_us, {}, tail_};
    std::copy(std::begin(record.head), std::end(record.head), image.head);
    return image;
  }

  Status check_footer(std::uint64_t expected_buckets, std::uint64_t buckets) {
    const std::uint64_t sum = reader_.checksum();
    std::uint64_t expected_sum = 0;
    if (!reader_.get(&expected_sum, sizeof(expected_sum))) return cut_short();
    if (sum != expected_sum) return damaged(path_, "wrong checksum");
    if (buckets != expected_buckets) return damaged(path_, "wrong number of buckets");
    if (!reader_.at_end()) return damaged(path_, "extra data after its end");
    return success();
  }

  Failure cut_short() const {
    if (reader_.error() != 0) return system_failure(Code::unavailable, path_, "cannot be read", reader_.error());
    return damaged(path_, "cut short");
  }

  const std::filesystem::path& path_;
  Reader reader_;
  FileHeader header_{};
  std::vector<std::int64_t> tail_;
  std::unordered_map<std::uint64_t, std::string> rules_;  // by number
};

// Gives the image its rule's number in this process. False: the rule has none.
bool number_image(BucketImage& image, std::string_view rule, const NumberRule& number_rule, MemoryStore& store) {
  if (image.number == 0) return true;
  if (number_rule) image.number = number_rule(rule);
  if (image.number == 0 || image.number > kMaxRuleNumber) return false;
  store.name_rule(image.number, rule);
  return true;
}

// A record is kept for at most two TTLs after it was last changed.
TimePoint last_change(const BucketImage& image, const algorithms::BucketWords& words) {
  if (image.kind.is_leases()) return algorithms::LeaseBucket(words).last_change();
  if (image.kind.is_record() || image.kind.is_page()) {
    return from_micros(std::max<std::int64_t>(0, image.idle_from_us)) - 2 * kMaxHoldTtl;
  }
  // At the latest, when its penalty had the longest length that there is before it.
  if (image.kind.is_penalty()) {
    const std::int64_t until = std::max<std::int64_t>(0, words.head[0]);
    return from_micros(std::max<std::int64_t>(0, std::max(until - kMaxPenalty.count(), words.head[1])));
  }
  if (image.kind.is_distinct()) return from_micros(std::max<std::int64_t>(0, words.head[1]));
  return algorithms::last_change(image.kind.algorithm(), words);
}

Duration move_back(SlotKind kind, const algorithms::BucketWords& words, Duration by) {
  if (kind.is_bucket()) return algorithms::move_back(kind.algorithm(), words, by);
  if (kind.is_leases()) {
    algorithms::LeaseBucket(words).move_back(by.count());
  } else if (kind.is_distinct()) {
    algorithms::move_distinct_back(words, by.count());
  } else if (kind.is_penalty()) {
    algorithms::penalty_move_back(words.head, by.count());
  } else if (kind.is_page()) {
    RecordPage(words).move_back(by.count());
  } else {
    ReservationRecord record = ReservationRecord::read(words.head);
    record.expires_us = std::max<std::int64_t>(0, record.expires_us - by.count());
    record.write(words.head);
  }
  return by;
}

// A bucket from the future would restrict until that comes.
void bring_to_now(BucketImage& image, std::span<std::int64_t> tail, TimePoint now, LoadReport& report) {
  const std::size_t held = image.has_holds ? BucketHolds::length_of(tail[0], tail.size()) : 0;
  const algorithms::BucketWords words{algorithms::Head(image.head), tail.subspan(held)};
  const Duration ahead = last_change(image, words) - now;
  if (ahead.count() <= 0) return;
  const Duration earlier = move_back(image.kind, words, ahead);
  BucketHolds(tail.first(held)).move_back(earlier.count());
  image.idle_from_us = std::max<std::int64_t>(0, image.idle_from_us) - earlier.count();
  ++report.moved_back;
  report.farthest_ahead = std::max(report.farthest_ahead, ahead);
}

}  // namespace

Status save_snapshot(MemoryStore& store, const std::filesystem::path& path, const SnapshotKeyId& key_id) {
  // A rename would replace whatever is there, be it a device.
  if (Status regular = check_regular(path); !regular.ok()) return regular;
  std::filesystem::path beside = path;
  beside += ".tmp";
  Status written = write_file(store, beside, key_id);
  if (!written.ok()) {
    ::unlink(beside.c_str());
    return written;
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(beside.c_str());
    return system_failure(Code::unavailable, path, "cannot be replaced", error);
  }
  return flush_folder(path);
}

Result<LoadReport> load_snapshot(MemoryStore& store, const std::filesystem::path& path, const SnapshotKeyId& key_id,
                                 TimePoint now, const NumberRule& number_rule) {
  if (const Status regular = check_regular(path); !regular.ok()) return regular.failure();
  File file(path, O_RDONLY | O_NONBLOCK);  // it may have become a FIFO since
  if (!file.open()) {
    return system_failure(errno == ENOENT ? Code::not_found : Code::unavailable, path, "cannot be opened", errno);
  }
  SnapshotReading check(file, path);
  if (const Status sound = check.run([](const BucketImage&, std::span<std::int64_t>) {}); !sound.ok())
    return sound.failure();
  if (check.header().key_id != key_id) {
    return Failure{Code::failed_precondition, path.string() + ": the snapshot was made under another hash key"};
  }
  if (::lseek(file.descriptor(), 0, SEEK_SET) != 0)
    return system_failure(Code::unavailable, path, "cannot seek", errno);

  LoadReport report;
  SnapshotReading reading(file, path);
  const Status read = reading.run([&](BucketImage& image, std::span<std::int64_t> tail) {
    bring_to_now(image, tail, now, report);
    if (image.idle_from_us <= micros(now)) {
      ++report.idle;
    } else if (number_image(image, reading.rule_of(image.number), number_rule, store) && store.restore(image, now)) {
      ++report.loaded;
    } else {
      ++report.no_room;
    }
  });
  if (!read.ok()) {
    store.clear();
    return read.failure();
  }
  return report;
}

}  // namespace weir::memory
