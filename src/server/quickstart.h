// The rules of `weir serve` without a rules file: two rules that show both answers within seconds.
#pragma once

#include <string>
#include <string_view>

namespace weir::server {

// A rules file (docs/rules.md).
std::string_view quickstart_rules();
// A command to try against a server whose HTTP listener is at `address`.
std::string quickstart_command(std::string_view address);

}  // namespace weir::server
