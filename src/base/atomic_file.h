// Replaces a file as a whole.
#pragma once

#include <filesystem>
#include <string_view>

#include "weir/result.h"

namespace weir::base {

// Writes the text beside the file, readable only by its owner, and renames it into place once it is on disk: other
// processes see the old text or the new one, also after a crash. Failure: unavailable; the message begins with the
// path.
Status write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace weir::base
