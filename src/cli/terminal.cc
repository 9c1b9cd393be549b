#include "cli/terminal.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "observe/json_text.h"

namespace weir::cli {

std::string Terminal::paint(Colour colour, std::string_view text) const {
  constexpr std::string_view kCodes[] = {"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[1m"};
  if (!coloured) return std::string(text);
  return std::string(kCodes[static_cast<int>(colour)]) + std::string(text) + "\x1b[0m";
}

bool takes_colours(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return ::isatty(fd) == 1 && (no_color == nullptr || *no_color == '\0') && !dumb;
}

std::string shown(std::string_view text) {
  std::string out;
  observe::append_plain_line(out, text);
  return out;
}

std::string duration_for_people(long long milliseconds) {
  std::array<char, 48> text{};
  if (milliseconds < 1'000) {
    std::snprintf(text.data(), text.size(), "%lld ms", milliseconds);
  } else if (milliseconds < 60'000) {
    std::snprintf(text.data(), text.size(), milliseconds % 1'000 == 0 ? "%.0f s" : "%.1f s",
                  static_cast<double>(milliseconds) / 1'000);
  } else if (milliseconds < 3'600'000) {
    std::snprintf(text.data(), text.size(), "%lld min %lld s", milliseconds / 60'000, milliseconds / 1'000 % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld h %lld min", milliseconds / 3'600'000, milliseconds / 60'000 % 60);
  }
  return text.data();
}

}  // namespace weir::cli
