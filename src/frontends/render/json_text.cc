#include "frontends/render/json_text.h"

#include "base/json_text.h"

namespace weir::render {

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
