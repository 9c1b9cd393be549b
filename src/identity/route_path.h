// The path of a request, in the one spelling that routes and rules see.
//
// Read as web servers read it: the query is cut off, escapes are undone, runs of slashes become one, and the parameters
// of a segment (";v=1") are dropped. What cannot be in a path as it is stays escaped, with capital digits. So
// "//v1/%73earch;x" is "/v1/search".
//
// Refused, because servers read them in different ways, are: segments of dots ("/a/../b", "/..;/a", "/%2e"), escaped
// slashes (unless they are kept), backslashes, spaces at the end of a segment, control characters, fragments, escapes
// that are broken or that yield another escape ("%252f"), and bytes that are not UTF-8.
//
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::identity {

inline constexpr std::size_t kMaxTargetBytes = 16384;

// What "%2F" is: a reason to refuse the path, or an ordinary character of its segment.
enum class EncodedSlash : std::uint8_t { refuse, keep };
// Whether "/login/" is another path than "/login".
enum class TrailingSlash : std::uint8_t { ignore, strict };

struct PathOptions {
  bool case_sensitive = false;
  TrailingSlash trailing_slash = TrailingSlash::ignore;
  EncodedSlash encoded_slash = EncodedSlash::refuse;
};

// The path of a request target such as "/v1/items/7?full=1" or "*"; nullopt if it is refused.
std::optional<std::string> normal_path(std::string_view target, EncodedSlash encoded_slash = EncodedSlash::refuse);

// The text with every valid escape undone; a broken one stays as it is.
std::string undo_escapes(std::string_view text);

// The text with all escapes undone, and '+' for a space, as in a query; nullopt for broken escapes and for NUL.
std::optional<std::string> decode_query_text(std::string_view text);

}  // namespace weir::identity
