// The file, all numbers little-endian and 8 bytes wide unless said otherwise:
//
//   header   8 bytes "WEIRSNAP"; version (1); 16 bytes key id
//   bucket*  key high, key low, algorithm, idle from (µs), three head words, tail length in words (at most
//            kMaxTailWords), tail words
//   footer   all ones where a bucket's algorithm would be: 2 words of all ones, kEndMark; number of buckets; CRC-64/XZ
//            of everything before it
//
// A bucket is recognised by its third word, so the end needs no length in the header and the file is written in one
// pass.
#include "stores/memory/snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "stores/memory/crc64.h"

namespace weir::stores {
namespace {

static_assert(std::endian::native == std::endian::little, "the snapshot's words are written as they lie in memory");

constexpr char kMagic[8] = {'W', 'E', 'I', 'R', 'S', 'N', 'A', 'P'};
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kEndMark = ~std::uint64_t{0};
constexpr std::size_t kMaxTailWords = std::size_t{1} << 20;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

struct FileHeader {
  char magic[8];
  std::uint64_t version;
  SnapshotKeyId key_id;
};
static_assert(sizeof(FileHeader) == 32);

struct FileBucket {
  BucketKey key;
  std::uint64_t algorithm;
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

Failure system_failure(Code code, const std::filesystem::path& path, const char* what, int error) {
  return {code, path.string() + ": " + what + ": " + std::strerror(error)};
}

Failure damaged(const std::filesystem::path& path, const char* how) {
  return {Code::data_loss, path.string() + ": the snapshot is damaged: " + how};
}

// Owns a descriptor.
class File {
 public:
  File(const std::filesystem::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool close() {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor < 0 || ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

// Gathers bytes, sums them and writes them out in large pieces. After an error it swallows everything; error() tells.
class Writer {
 public:
  explicit Writer(File& file) : file_(file) { buffer_.reserve(kBufferBytes); }

  void put(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    while (size > 0) {
      const std::size_t part = std::min(size, kBufferBytes - buffer_.size());
      buffer_.insert(buffer_.end(), from, from + part);
      from += part;
      size -= part;
      if (buffer_.size() == kBufferBytes) flush();
    }
  }
  // The checksum of all that was put.
  std::uint64_t checksum() {
    flush();
    return sum_.value();
  }
  void flush() {
    sum_.update(buffer_);
    for (std::size_t done = 0; done < buffer_.size() && error_ == 0;) {
      const ssize_t written = ::write(file_.descriptor(), buffer_.data() + done, buffer_.size() - done);
      if (written >= 0) {
        done += static_cast<std::size_t>(written);
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    buffer_.clear();
  }
  int error() const { return error_; }

 private:
  File& file_;
  std::vector<std::byte> buffer_;
  Crc64 sum_;
  int error_ = 0;
};

void write_buckets(MemoryStore& store, const SnapshotKeyId& key_id, Writer& writer) {
  FileHeader header{{}, kVersion, key_id};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  writer.put(&header, sizeof(header));
  FileFooter footer;
  ShardCopy copy;
  for (std::size_t shard = 0; shard < MemoryStore::kShards && writer.error() == 0; ++shard) {
    copy.buckets.clear();
    copy.tails.clear();
    store.copy_shard(shard, copy);
    footer.buckets += copy.buckets.size();
    const std::int64_t* tail = copy.tails.data();
    for (const ShardCopy::Bucket& bucket : copy.buckets) {
      FileBucket record{
          bucket.key, static_cast<std::uint64_t>(bucket.algorithm), bucket.idle_from_us, {}, bucket.tail_words};
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
  File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.open()) return system_failure(Code::unavailable, path, "cannot be created", errno);
  Writer writer(file);
  write_buckets(store, key_id, writer);
  if (writer.error() != 0) return system_failure(Code::unavailable, path, "cannot be written", writer.error());
  if (::fsync(file.descriptor()) != 0 || !file.close()) {
    return system_failure(Code::unavailable, path, "cannot be flushed", errno);
  }
  return success();
}

// Reads in large pieces and sums what it hands out.
class Reader {
 public:
  explicit Reader(File& file) : file_(file), buffer_(kBufferBytes) {}

  // False at the end of the file or on an error; error() tells which.
  bool get(void* data, std::size_t size) {
    auto* to = static_cast<std::byte*>(data);
    while (size > 0) {
      if (begin_ == end_ && !refill()) return false;
      const std::size_t part = std::min(size, end_ - begin_);
      std::copy_n(buffer_.data() + begin_, part, to);
      sum_.update({buffer_.data() + begin_, part});
      begin_ += part;
      to += part;
      size -= part;
    }
    return true;
  }
  bool at_end() { return begin_ == end_ && !refill() && error_ == 0; }
  std::uint64_t checksum() const { return sum_.value(); }
  int error() const { return error_; }

 private:
  bool refill() {
    ssize_t got = 0;
    do {
      got = ::read(file_.descriptor(), buffer_.data(), buffer_.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) error_ = errno;
    begin_ = 0;
    end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    return got > 0;
  }

  File& file_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Crc64 sum_;
  int error_ = 0;
};

// Reads the file from its beginning to its end, hands each bucket to `use` and checks all there is to check.
class SnapshotReading {
 public:
  SnapshotReading(File& file, const std::filesystem::path& path) : path_(path), reader_(file) {}

  template <typename Use>
  Status run(Use use) {
    if (!reader_.get(&header_, sizeof(header_))) return cut_short();
    if (!std::equal(std::begin(kMagic), std::end(kMagic), header_.magic)) return damaged(path_, "not a snapshot");
    if (header_.version != kVersion) {
      return Failure{Code::failed_precondition, path_.string() + ": a snapshot of another version"};
    }
    std::uint64_t buckets = 0;
    // A footer without its checksum is as long as a bucket's first four words, and tells itself by the third.
    FileBucket record{};
    while (true) {
      if (!reader_.get(&record, kSummedFooterBytes)) return cut_short();
      if (record.algorithm == kEndMark) break;
      if (!reader_.get(reinterpret_cast<std::byte*>(&record) + kSummedFooterBytes,
                       sizeof(record) - kSummedFooterBytes)) {
        return cut_short();
      }
      if (record.algorithm >= kAlgorithmCount) return damaged(path_, "an algorithm that does not exist");
      if (record.tail_words > kMaxTailWords) return damaged(path_, "a bucket that is too long");
      if (record.tail_words > 0 && !algorithms::keeps_tail(static_cast<Algorithm>(record.algorithm))) {
        return damaged(path_, "a tail where its algorithm keeps none");
      }
      tail_.resize(record.tail_words);
      if (!reader_.get(tail_.data(), tail_.size() * sizeof(std::int64_t))) return cut_short();
      use(image_of(record));
      ++buckets;
    }
    return check_footer(static_cast<std::uint64_t>(record.idle_from_us), buckets);
  }

  const FileHeader& header() const { return header_; }

 private:
  BucketImage image_of(const FileBucket& record) const {
    BucketImage image{record.key, static_cast<Algorithm>(record.algorithm), record.idle_from_us, {}, tail_};
    std::copy(std::begin(record.head), std::end(record.head), image.head);
    return image;
  }

  Status check_footer(std::uint64_t expected_buckets, std::uint64_t buckets) {
    const std::uint64_t sum = reader_.checksum();
    std::uint64_t expected_sum = 0;
    if (!reader_.get(&expected_sum, sizeof(expected_sum))) return cut_short();
    if (sum != expected_sum) return damaged(path_, "wrong checksum");
    if (buckets != expected_buckets) return damaged(path_, "wrong number of buckets");
    if (!reader_.at_end()) return damaged(path_, "something follows its end");
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
};

}  // namespace

Status save_snapshot(MemoryStore& store, const std::filesystem::path& path, const SnapshotKeyId& key_id) {
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
                                 TimePoint now) {
  File file(path, O_RDONLY);
  if (!file.open()) {
    return system_failure(errno == ENOENT ? Code::not_found : Code::unavailable, path, "cannot be opened", errno);
  }
  SnapshotReading check(file, path);
  if (const Status sound = check.run([](const BucketImage&) {}); !sound.ok()) return sound.failure();
  if (check.header().key_id != key_id) {
    return Failure{Code::failed_precondition, path.string() + ": the snapshot was made under another hash key"};
  }
  if (::lseek(file.descriptor(), 0, SEEK_SET) != 0)
    return system_failure(Code::unavailable, path, "cannot seek", errno);

  LoadReport report;
  SnapshotReading reading(file, path);
  const Status read = reading.run([&](const BucketImage& image) {
    if (image.idle_from_us <= micros(now)) {
      ++report.idle;
    } else if (store.restore(image, now)) {
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

}  // namespace weir::stores
