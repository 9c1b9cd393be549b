// weir.yaml as a flat list of settings, each with its place. Knows YAML and nothing of what settings mean.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weir/result.h"

namespace weir::server {

struct FileEntry {
  std::string name;                // "listen.http"
  std::string place;               // "weir.yaml:3:9"
  std::vector<std::string> texts;  // one for a plain value, any number for a list
  bool list = false;
  bool map = false;                     // inside a section: of texts
  std::vector<FileEntry> entries = {};  // of such a map, each with its own name alone
};

// Maps nest at most two levels deep. An empty value is left out, as if the line were not there.
Result<std::vector<FileEntry>> read_config_file(const std::filesystem::path& file);

}  // namespace weir::server
