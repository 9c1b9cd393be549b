// SPOP's encoding: variable-length integers, strings and typed values, read within bounds and written to a string.
//
//   varint   below 240 one byte; else the low 4 bits under 1111, then 7 bits a byte, the high bit set if more follow.
//            Every further byte counts from where the shorter form ends, so each number has one spelling.
//   string   varint length, then the bytes
//   value    one byte, type in the low 4 bits and flags in the high ones, then the data
//
// Plain values and functions; a Cursor refers to the bytes it reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::spop {

enum class ValueType : std::uint8_t {
  null = 0,
  boolean = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  ipv4 = 6,
  ipv6 = 7,
  text = 8,
  binary = 9,
};

struct Value {
  ValueType type = ValueType::null;
  std::uint64_t number = 0;  // booleans and integers; signed ones in two's complement
  std::string_view bytes;    // addresses in network order, texts, binaries

  bool is_number() const { return type >= ValueType::int32 && type <= ValueType::uint64; }
  bool is_text() const { return type == ValueType::text || type == ValueType::binary; }
};

// Reads from the front. A read that fails (the bytes end, or mean nothing) returns false and leaves the cursor
// anywhere: the frame is malformed.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  std::string_view rest() const { return bytes_; }
  bool byte(std::uint8_t& value);
  bool uint32(std::uint32_t& value);  // four bytes in network order
  bool varint(std::uint64_t& value);
  bool string(std::string_view& value);
  bool value(Value& value);

 private:
  bool take(std::size_t size, std::string_view& piece);

  std::string_view bytes_;
};

void put_uint32(std::string& out, std::uint32_t value);
void put_varint(std::string& out, std::uint64_t value);
void put_string(std::string& out, std::string_view text);
void put_text_value(std::string& out, std::string_view text);
void put_uint32_value(std::string& out, std::uint32_t value);
void put_int64_value(std::string& out, std::int64_t value);

}  // namespace weir::spop
