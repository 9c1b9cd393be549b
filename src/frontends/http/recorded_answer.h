// RecordedAnswer as bytes, for stores that keep answers outside this process.
//
// Format: version (1 byte: 1), status (2), length of the content type (2), length of the header fields (4), these two
// texts, and the body up to the end. Numbers are little-endian. Pure functions; any bytes are safe to read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontends/http/idempotency_table.h"

namespace weir::http {

std::string encode_answer(const RecordedAnswer& answer);
// None: not what encode_answer() writes, or header fields that would end the header.
std::optional<RecordedAnswer> decode_answer(std::string_view bytes);

}  // namespace weir::http
