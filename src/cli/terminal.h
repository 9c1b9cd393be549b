// Terminal: where a verb writes, and whether colours are wanted there. Colours appear only on a terminal, and not when
// NO_COLOR is set (https://no-color.org).
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/duration_text.h"

namespace weir::cli {

enum class Colour { green, red, yellow, faint, bold };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool coloured = false;  // out is a terminal that takes colours
  bool live = false;      // err is a terminal: progress may be shown there

  std::string paint(Colour colour, std::string_view text) const;
};

// True if colours may be written to this descriptor.
bool takes_colours(int fd);

// Text from elsewhere, made safe to show: control characters escaped, always one line of valid UTF-8.
std::string shown(std::string_view text);

// How many columns of a terminal the text takes: wide characters take two, combining ones none.
std::size_t columns_of(std::string_view text);
// The text with spaces behind it, so that it takes at least `columns`.
std::string padded(std::string text, std::size_t columns);

using base::duration_for_people;

}  // namespace weir::cli
