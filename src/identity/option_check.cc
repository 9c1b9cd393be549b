#include "identity/option_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "identity/request_fields.h"

namespace weir::identity {
namespace {

using Kind = FieldSource::Kind;

Failure invalid_option(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// A header's name, or a method (RFC 9110: a token).
bool is_method_or_header(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kOthers = "0123456789!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return kLetters.find(c) != std::string_view::npos || kOthers.find(c) != std::string_view::npos;
  });
}

bool has_small_letters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// The {names} of a pattern; false if one occurs twice.
bool add_names(std::string_view pattern, std::set<std::string, std::less<>>& names) {
  std::set<std::string_view> own;
  for (std::size_t open = pattern.find('{'); open != std::string_view::npos; open = pattern.find('{', open + 1)) {
    const std::string_view name = pattern.substr(open + 1, pattern.find('}', open) - open - 1);
    if (!own.insert(name).second) return false;
    names.emplace(name);
  }
  return true;
}

Status check_routes(const IdentityOptions& options, std::set<std::string, std::less<>>& names) {
  for (const Route& route : options.routes) {
    const std::string here = "routes." + (route.method == "*" ? "ANY" : route.method) + " " + route.pattern;
    if (!is_method_or_header(route.method) || has_small_letters(route.method)) {
      return invalid_option(here + ": has the method \"" + route.method + "\", expected one such as GET, or ANY");
    }
    if (!add_names(route.pattern, names)) return invalid_option(here + ": has the same {name} twice");
  }
  return success();
}

Status check_source(const AttributeFrom& from, const std::set<std::string, std::less<>>& names) {
  const Result<FieldSource> source = parse_field_source(from.source);
  if (!source.ok()) return success();  // reported where the sources are prepared
  const auto& [kind, name] = source.value();
  const std::string here = "attributes." + from.attribute + ": ";
  if ((kind == Kind::header || kind == Kind::gateway) && !is_method_or_header(name)) {
    return invalid_option(here + "no header can have the name \"" + name + "\"");
  }
  if (kind == Kind::path && !names.contains(name)) return invalid_option(here + "no route has {" + name + "}");
  return success();
}

Status check_lists(const IdentityOptions& options) {
  for (const std::string& name : options.accept_unverified) {
    if (name != "tenant" && name != "plan") {
      return invalid_option("accept_unverified: has the entry \"" + name + "\", expected tenant or plan");
    }
  }
  for (const std::string& name : options.hashed) {
    const auto is_it = [&](const AttributeFrom& from) { return from.attribute == name; };
    if (!options.takes_sent && std::none_of(options.attributes.begin(), options.attributes.end(), is_it)) {
      return invalid_option("hashed: has the entry \"" + name + "\", which is not among attributes");
    }
  }
  for (const AddressTier& tier : options.tiers) {
    if (tier.attribute == "tenant" || tier.attribute == "plan" || tier.attribute == "api_key") {
      return invalid_option("tiers." + tier.attribute + ": a tier needs a name of its own");
    }
  }
  return success();
}

Status check_traffic(const IdentityOptions& options) {
  for (const TrafficMark& mark : options.marks) {
    const std::string here = "traffic." + mark.as + ": ";
    if (!is_method_or_header(mark.header))
      return invalid_option(here + "no header can have the name \"" + mark.header + "\"");
    if (mark.as == "external") return invalid_option(here + "is the name for all other traffic");
    if (options.internal_networks.empty()) {
      return invalid_option(here + "needs internal_networks: from elsewhere the header does not count");
    }
  }
  return success();
}

}  // namespace

Status check_options(const IdentityOptions& options) {
  std::set<std::string, std::less<>> names;
  if (Status routes = check_routes(options, names); !routes.ok()) return routes;
  for (const AttributeFrom& from : options.attributes) {
    if (Status source = check_source(from, names); !source.ok()) return source;
  }
  if (Status lists = check_lists(options); !lists.ok()) return lists;
  if (Status traffic = check_traffic(options); !traffic.ok()) return traffic;
  if (!is_method_or_header(options.jwt_header)) {
    return invalid_option("jwt_header: no header can have the name \"" + options.jwt_header + "\"");
  }
  return success();
}

}  // namespace weir::identity
