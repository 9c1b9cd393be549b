#include "simulate/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace weir::simulate {
namespace {

constexpr std::size_t kPackedBytes = 256 * 1024;
constexpr int kLargestZstdWindow = 27;  // 128 MiB, as the zstd program takes without being asked

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  ~FileSource() override {
    if (fd_ > 2) ::close(fd_);
  }

  Result<std::size_t> read(std::span<char> room) override {
    while (true) {
      const ssize_t count = ::read(fd_, room.data(), room.size());
      if (count >= 0) {
        position_ += static_cast<std::uint64_t>(count);
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) return Failure{Code::data_loss, std::string("cannot be read: ") + std::strerror(errno)};
    }
  }
  std::uint64_t position() const override { return position_; }
  std::uint64_t size() const override { return size_; }

 private:
  const int fd_;
  const std::uint64_t size_;
  std::uint64_t position_ = 0;
};

class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}
  Result<std::size_t> read(std::span<char> room) override {
    const std::size_t count = std::min(room.size(), text_.size() - at_);
    std::copy_n(text_.data() + at_, count, room.data());
    at_ += count;
    return count;
  }
  std::uint64_t position() const override { return at_; }
  std::uint64_t size() const override { return text_.size(); }

 private:
  const std::string_view text_;
  std::size_t at_ = 0;
};

// A source with some bytes of its own, and a buffer in front of it.
class Buffered {
 public:
  explicit Buffered(std::unique_ptr<ByteSource> from) : from_(std::move(from)), bytes_(kPackedBytes) {}

  // More bytes if there are none; false at the end.
  Result<bool> fill() {
    if (begin_ < end_) return true;
    Result<std::size_t> count = from_->read(bytes_);
    if (!count.ok()) return count.failure();
    begin_ = 0;
    end_ = count.value();
    return end_ > 0;
  }
  std::string_view ready() const { return {bytes_.data() + begin_, end_ - begin_}; }
  void drop(std::size_t count) { begin_ += count; }
  const ByteSource& from() const { return *from_; }

 private:
  std::unique_ptr<ByteSource> from_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(Buffered from) : from_(std::move(from)) {}
  Result<std::size_t> read(std::span<char> room) override {
    const Result<bool> more = from_.fill();
    if (!more.ok()) return more.failure();
    const std::size_t count = std::min(room.size(), from_.ready().size());
    std::copy_n(from_.ready().data(), count, room.data());
    from_.drop(count);
    return count;
  }
  std::uint64_t position() const override { return from_.from().position(); }
  std::uint64_t size() const override { return from_.from().size(); }

 private:
  Buffered from_;
};

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(Buffered from) : from_(std::move(from)) {
    constexpr int kGzipOnly = 16;
    inflateInit2(&stream_, MAX_WBITS + kGzipOnly);
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  Result<std::size_t> read(std::span<char> room) override {
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(room.size(), 1U << 30U));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      const Result<bool> more = from_.fill();
      if (!more.ok()) return more.failure();
      if (!more.value()) {
        if (inside_) return Failure{Code::data_loss, "is gzip and ends too early"};
        return std::size_t{0};
      }
      if (!inside_) inflateReset(&stream_);  // one file may follow another
      inside_ = true;
      const std::string_view packed = from_.ready();
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream_.avail_in = static_cast<uInt>(packed.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      from_.drop(packed.size() - stream_.avail_in);
      if (result == Z_STREAM_END) {
        inside_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return Failure{Code::data_loss, "is not valid gzip"};
      }
    }
    return static_cast<std::size_t>(wanted - stream_.avail_out);
  }
  std::uint64_t position() const override { return from_.from().position(); }
  std::uint64_t size() const override { return from_.from().size(); }

 private:
  Buffered from_;
  z_stream stream_{};
  bool inside_ = false;
};

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(Buffered from) : from_(std::move(from)), stream_(ZSTD_createDStream()) {
    ZSTD_initDStream(stream_);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestZstdWindow);
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  Result<std::size_t> read(std::span<char> room) override {
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    while (out.pos == 0) {
      const Result<bool> more = from_.fill();
      if (!more.ok()) return more.failure();
      const std::string_view packed = more.value() ? from_.ready() : std::string_view{};
      if (packed.empty() && !inside_) return std::size_t{0};
      ZSTD_inBuffer in{packed.data(), packed.size(), 0};
      const std::size_t left = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(left) != 0) return Failure{Code::data_loss, "is not valid zstd"};
      if (packed.empty() && out.pos == 0) return Failure{Code::data_loss, "is zstd and ends too early"};
      from_.drop(in.pos);
      inside_ = left != 0;
    }
    return out.pos;
  }
  std::uint64_t position() const override { return from_.from().position(); }
  std::uint64_t size() const override { return from_.from().size(); }

 private:
  Buffered from_;
  ZSTD_DStream* const stream_;
  bool inside_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_log(const std::string& path) {
  if (path == "-") return unpacked(std::make_unique<FileSource>(0, 0));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const Code code = errno == ENOENT ? Code::not_found : Code::permission_denied;
    return Failure{code, path + ": cannot be opened: " + std::strerror(errno)};
  }
  struct stat info {};
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  auto file = std::make_unique<FileSource>(fd, regular ? static_cast<std::uint64_t>(info.st_size) : 0);
  if (S_ISDIR(info.st_mode)) return Failure{Code::invalid_argument, path + ": is a folder, expected a log file"};
  return unpacked(std::move(file));
}

std::unique_ptr<ByteSource> text_source(std::string_view text) { return std::make_unique<TextSource>(text); }

Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> packed) {
  Buffered buffered(std::move(packed));
  const Result<bool> some = buffered.fill();
  if (!some.ok()) return some.failure();
  const std::string_view first = buffered.ready();
  if (first.starts_with("\x1f\x8b"))
    return std::unique_ptr<ByteSource>(std::make_unique<GzipSource>(std::move(buffered)));
  if (first.starts_with("\x28\xb5\x2f\xfd")) {
    return std::unique_ptr<ByteSource>(std::make_unique<ZstdSource>(std::move(buffered)));
  }
  return std::unique_ptr<ByteSource>(std::make_unique<PlainSource>(std::move(buffered)));
}

}  // namespace weir::simulate
