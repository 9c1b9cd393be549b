#include "frontends/render/json_text.h"

#include <algorithm>

#include "base/json_text.h"

namespace weir::render {

void RoomWriter::grow(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(at_ - out_.data());
  out_.resize(std::max(used + bytes, 2 * out_.size()));
  at_ = out_.data() + used;
  end_ = out_.data() + out_.size();
}

void RoomWriter::json_string(std::string_view string) {
  if (base::plain_prefix(string) == string.size()) {
    literal("\"");
    text(string);
    literal("\"");
    return;
  }
  std::string escaped;
  base::append_json_string(escaped, string);
  text(escaped);
}

}  // namespace weir::render
