#include "base/text_file.h"

#include <array>
#include <fstream>
#include <system_error>

#include "base/ascii.h"

namespace weir::base {
namespace {
constexpr std::size_t kChunkBytes = 16384;
}  // namespace

Result<std::string> read_text_file(const std::filesystem::path& file, std::size_t max_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return Failure{Code::not_found, file.string() + ": is not a readable file"};
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) return Failure{Code::unavailable, file.string() + ": cannot be opened"};
  std::string text;
  std::array<char, kChunkBytes> chunk;
  while (in.read(chunk.data(), chunk.size()) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes) {
      return Failure{Code::invalid_argument,
                     file.string() + ": is longer than " + std::to_string(max_bytes) + " bytes"};
    }
  }
  if (in.bad()) return Failure{Code::unavailable, file.string() + ": cannot be read"};
  return text;
}

std::vector<std::string_view> content_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    line = trimmed(line);
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace weir::base
