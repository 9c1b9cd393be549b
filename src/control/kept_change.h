// KeptChange: a change of some records in the file of a node that keeps what it last knew of the database
// (change_watch.h). The file is a sequence of
//
//   "c", the number of keys, ":", for each key its bytes, ":" and the key, then the bytes of the text, ":" and the text
//
// and is only ever appended to, so its end may be torn.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::control {

struct KeptChange {
  std::vector<std::string> keys;
  std::string_view text;  // refers to the file's
};

// The change at the front, which is taken away. Nothing: it is not whole.
std::optional<KeptChange> take_kept_change(std::string_view& rest);

Status append_kept_change(const std::filesystem::path& path, const std::vector<std::string>& keys,
                          std::string_view text);

}  // namespace weir::control
