#include "admin/preconditions.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir::admin {
namespace {

// Whether one of a list of entity tags is `etag`. A weak tag never is, as RFC 9110 says of If-Match.
bool lists(std::string_view header, std::string_view etag) {
  while (!header.empty()) {
    const std::string_view each = base::trimmed(header.substr(0, header.find(',')));
    header.remove_prefix(std::min(header.find(','), header.size() - 1) + 1);
    if (each == "*") return true;
    const bool quoted = each.size() >= 2 && each.front() == '"' && each.back() == '"';
    if ((quoted ? each.substr(1, each.size() - 2) : each) == etag) return true;
  }
  return false;
}

std::optional<std::string> field_of(const http::HttpRequest& request, std::string_view name) {
  const http::HttpField* const field = request.find(name);
  if (field == nullptr) return std::nullopt;
  return std::string(field->value);
}

}  // namespace

Preconditions::Preconditions(const http::HttpRequest& request)
    : if_match_(field_of(request, "if-match")), if_none_match_(field_of(request, "if-none-match")) {}

std::optional<Answer> Preconditions::refuse(const std::optional<std::string>& current) const {
  if (empty()) return precondition_required();
  if (if_none_match_ && current && lists(*if_none_match_, *current)) {
    return problem(412, "exists_already", "it exists already; read it, and send its etag as If-Match to change it");
  }
  if (!if_match_ || (current && lists(*if_match_, *current))) return std::nullopt;
  if (!current) return problem(412, "stale", "it does not exist; send If-None-Match: * to create it");
  return problem(412, "stale", "it has changed since it was read; read it again, and send its etag as If-Match",
                 ",\"etag\":\"" + *current + "\"");
}

Answer precondition_required() {
  return problem(428, "if_match_required",
                 "send If-Match with the etag of what you change, so that no other change is overwritten");
}

}  // namespace weir::admin
