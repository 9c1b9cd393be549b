#include "frontends/http2/header_encoder.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::http2 {
namespace {

// How a field begins: the bits that say what it is, and how many bits of the first byte are left for a number.
struct Kind {
  unsigned char mark;
  int bits;
};
constexpr Kind kIndexed{0x80, 7};
constexpr Kind kRemembered{0x40, 6};
constexpr Kind kLiteral{0x00, 4};
constexpr Kind kTableSize{0x20, 5};
constexpr Kind kText{0x00, 7};  // not Huffman-coded

// What a table counts for an entry besides its bytes.
constexpr std::size_t kEntryOverhead = 32;
// The first index after the static table.
constexpr std::size_t kFirstOwn = 62;

// Names of answers that have a place in the static table.
constexpr std::string_view kStatus = ":status";
constexpr std::size_t kStatusPlace = 8;
constexpr std::array<std::pair<std::string_view, std::size_t>, 7> kStatusPlaces = {
    {{"200", 8}, {"204", 9}, {"206", 10}, {"304", 11}, {"400", 12}, {"404", 13}, {"500", 14}}};
constexpr std::size_t kContentTypePlace = 31;

void append_number(std::string& out, Kind kind, std::size_t number) {
  const std::size_t most = (std::size_t{1} << kind.bits) - 1;
  if (number < most) {
    out.push_back(static_cast<char>(kind.mark | number));
    return;
  }
  out.push_back(static_cast<char>(kind.mark | most));
  for (number -= most; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, kText, text.size());
  out.append(text);
}

// The place of a name in the static table; 0: it has none.
std::size_t place_of(std::string_view name) {
  if (name == kStatus) return kStatusPlace;
  if (name == "content-type") return kContentTypePlace;
  return 0;
}

void append_in_full(std::string& out, Kind kind, const Field& field) {
  const std::size_t place = place_of(field.name);
  append_number(out, kind, place);
  if (place == 0) append_text(out, field.name);
  append_text(out, field.value);
}

// True if the static table has all of the field.
bool append_static(std::string& out, const Field& field) {
  if (field.name != kStatus) return false;
  for (const auto& [value, place] : kStatusPlaces) {
    if (value != field.value) continue;
    append_number(out, kIndexed, place);
    return true;
  }
  return false;
}

}  // namespace

void HeaderEncoder::set_table_size(std::size_t bytes) {
  // The peer forgets as much as it must, and we do not follow: what is worth remembering is sent again.
  table_limit_ = std::min(bytes, kDefaultTable);
  tell_limit_ = true;
}

void HeaderEncoder::encode(std::string& out, std::span<const Field> fields) {
  if (std::exchange(tell_limit_, false)) {
    // Emptied first, so that both sides know what is in it.
    append_number(out, kTableSize, 0);
    if (table_limit_ > 0) append_number(out, kTableSize, table_limit_);
    table_.clear();
    table_bytes_ = 0;
  }
  for (const Field& field : fields) {
    if (append_static(out, field)) continue;
    if (field.often) {
      encode_often(out, field);
    } else {
      append_in_full(out, kLiteral, field);
    }
  }
}

void HeaderEncoder::encode_often(std::string& out, const Field& field) {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].value == field.value && table_[i].name == field.name) {
      return append_number(out, kIndexed, kFirstOwn + table_.size() - 1 - i);
    }
  }
  const std::size_t bytes = field.name.size() + field.value.size() + kEntryOverhead;
  // Nothing is ever pushed out of the peer's table: what has no room is not put there.
  if (bytes > table_limit_ - table_bytes_) return append_in_full(out, kLiteral, field);
  table_.push_back(field);
  table_bytes_ += bytes;
  append_in_full(out, kRemembered, field);
}

}  // namespace weir::http2
