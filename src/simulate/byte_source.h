// ByteSource: where the bytes of a log come from: a file, standard input, or a text; unpacked if they are gzip or zstd.
//
// Not thread-safe. Memory is bounded by the buffers of the unpackers (zstd: a window of at most 128 MiB).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::simulate {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // How many bytes were written to `room`; 0: the end. data_loss: the packed data is damaged or cut off.
  virtual Result<std::size_t> read(std::span<char> room) = 0;
  // Bytes read so far, packed as they are, and all of them; 0: not known.
  virtual std::uint64_t position() const = 0;
  virtual std::uint64_t size() const = 0;
};

// `path` "-" is standard input. Failures: not_found, permission_denied.
Result<std::unique_ptr<ByteSource>> open_log(const std::string& path);
// Borrows the text.
std::unique_ptr<ByteSource> text_source(std::string_view text);
// What `packed` has, unpacked if its first bytes are those of gzip or zstd.
Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> packed);

}  // namespace weir::simulate
