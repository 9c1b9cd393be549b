#include "frontends/render/deny_status.h"

#include <string>

namespace weir::render {
namespace {
constexpr std::string_view kDenyStatus = "deny_status";
}  // namespace

Result<int> read_deny_status(std::string_view query, UnknownParameters unknown) {
  int status = 0;
  while (!query.empty()) {
    const std::size_t ampersand = query.find('&');
    const std::string_view pair = query.substr(0, ampersand);
    query = ampersand == std::string_view::npos ? std::string_view() : query.substr(ampersand + 1);
    const std::size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    if (name != kDenyStatus) {
      if (unknown == UnknownParameters::ignored) continue;
      return Failure{Code::invalid_argument, std::string(name.substr(0, 64)) + ": is not a known query parameter"};
    }
    const bool known = value == "200" || value == "403" || value == "429" || value == "503";
    if (!known || status != 0) {
      return Failure{Code::invalid_argument, "deny_status: must be one of 200, 403, 429, 503, and given once"};
    }
    status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
  }
  return status;
}

}  // namespace weir::render
