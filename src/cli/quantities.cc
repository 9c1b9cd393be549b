#include "cli/quantities.h"

#include <array>
#include <cstddef>
#include <iomanip>
#include <sstream>

#include "simulate/html_chart.h"

namespace weir::cli {
namespace {

std::string with_digits(double number, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << number;
  return out.str();
}

}  // namespace

std::string size_for_people(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return with_digits(bytes, unit == 0 || bytes >= 100 ? 0 : 1) + ' ' + kUnits.at(unit);
}

std::string rounded_number(double number) { return simulate::grouped_number(static_cast<std::uint64_t>(number + 0.5)); }

std::string three_digits(double number) {
  if (number >= 100) return rounded_number(number);
  if (number >= 10) return with_digits(number, 1);
  return with_digits(number, number >= 1 ? 2 : number >= 0.01 || number == 0 ? 3 : 4);
}

}  // namespace weir::cli
