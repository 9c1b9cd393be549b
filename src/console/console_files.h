// The files of the web console, as they are built into the program. console/build.mjs writes their source; where npm
// could not be used, cmake/console.cmake writes one without files.
//
// Constant data: any thread may read it.
#pragma once

#include <span>
#include <string_view>

namespace weir::console {

struct ConsoleFile {
  std::string_view path;  // below /console/; empty: the page
  std::string_view content_type;
  std::string_view etag;  // with its quotes
  std::string_view content;
  bool compressed;  // gzip
};

// The page is the first. Empty: this build has no console.
std::span<const ConsoleFile> console_files();

}  // namespace weir::console
