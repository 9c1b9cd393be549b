// The path of a request, in the one spelling that routes and rules see.
//
// The query is cut off; escapes of characters that never needed one are undone, other escapes get capital digits, so
// that /v1/%73earch is /v1/search. Nothing is collapsed: what a server behind us makes of "//" is unknown here. Refused
// because they mean different things to different servers: dot segments ("/a/../b"), NUL and other control bytes,
// broken escapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::identity {

inline constexpr std::size_t kMaxTargetBytes = 16384;

// The path of a request target such as "/v1/items/7?full=1" or "*"; nullopt if it is refused.
std::optional<std::string> normal_path(std::string_view target);

// The text with all escapes undone, and '+' for a space, as in a query; nullopt for broken escapes and for NUL.
std::optional<std::string> decode_query_text(std::string_view text);

}  // namespace weir::identity
