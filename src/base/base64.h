// Base64 with padding (RFC 4648, section 4), as proto-JSON has it for bytes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace weir::base {

void append_base64(std::string& out, std::string_view bytes);

}  // namespace weir::base
