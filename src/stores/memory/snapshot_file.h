// The file under a snapshot: its descriptor, and reading and writing in large pieces with a running checksum.
//
// Not thread-safe: each object belongs to one save or load. Errors of the system are kept as numbers (errno) until the
// caller asks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "stores/memory/crc64.h"
#include "weir/result.h"

namespace weir::memory {

// "path: what: the system's reason".
Failure system_failure(Code code, const std::filesystem::path& path, const char* what, int error);

// Failure invalid_argument: the path names something other than a regular file, which opening might wait for and
// renaming would replace. A path with nothing there is fine.
Status check_regular(const std::filesystem::path& path);

// Owns a descriptor.
class File {
 public:
  // `flags` of open(2). A new file is readable by its owner alone.
  File(const std::filesystem::path& path, int flags);
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // False: the system has not kept all that was written; errno tells why.
  bool close();

 private:
  int descriptor_;
};

// Gathers bytes, sums them and writes them out in large pieces. After an error it swallows everything; error() tells.
class Writer {
 public:
  explicit Writer(File& file);

  void put(const void* data, std::size_t size);
  // The checksum of all that was put.
  std::uint64_t checksum() {
    flush();
    return sum_.value();
  }
  void flush();
  int error() const { return error_; }

 private:
  File& file_;
  std::vector<std::byte> buffer_;
  Crc64 sum_;
  int error_ = 0;
};

// Reads in large pieces and sums what it hands out.
class Reader {
 public:
  explicit Reader(File& file);

  // False at the end of the file or on an error; error() tells which.
  bool get(void* data, std::size_t size);
  bool at_end() { return begin_ == end_ && !refill() && error_ == 0; }
  std::uint64_t checksum() const { return sum_.value(); }
  int error() const { return error_; }

 private:
  bool refill();

  File& file_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Crc64 sum_;
  int error_ = 0;
};

}  // namespace weir::memory
