// Terminal: where a verb writes, and whether colours are wanted there. Colours appear only on a terminal, and not when
// NO_COLOR is set (https://no-color.org).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace weir::cli {

enum class Colour { green, red, yellow, faint, bold };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool coloured = false;  // out is a terminal that takes colours

  std::string paint(Colour colour, std::string_view text) const;
};

// True if colours may be written to this descriptor.
bool takes_colours(int fd);

// Text from elsewhere, made safe to show: control characters escaped, always one line of valid UTF-8.
std::string shown(std::string_view text);

// "1.5 s", "250 ms", "2 min 5 s"
std::string duration_for_people(long long milliseconds);

}  // namespace weir::cli
