// HeaderEncoder: the header blocks of one connection's answers (HPACK, RFC 7541).
//
// An answer has a handful of fields that are nearly always the same, so the table of the peer is used for just those:
// a field marked `often` is sent in full once and as one byte from then on. All others are literals. nghttp2's own
// encoder would hash and look up every field of every answer; tests let its decoder read what this one wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frontends/http2/session.h"
#include "weir/inline_vector.h"

namespace weir::http2 {

class HeaderEncoder {
 public:
  // What a decoder's table has room for unless its SETTINGS say otherwise, and the most that we use of it.
  static constexpr std::size_t kDefaultTable = 4096;

  // The peer's SETTINGS_HEADER_TABLE_SIZE; told to it again in the next block.
  void set_table_size(std::size_t bytes);

  void encode(std::string& out, std::span<const Field> fields);

 private:
  void encode_often(std::string& out, const Field& field);

  InlineVector<Field, 4> table_;  // what the peer remembers, oldest first
  std::size_t table_bytes_ = 0;
  std::size_t table_limit_ = kDefaultTable;
  bool tell_limit_ = false;
};

}  // namespace weir::http2
