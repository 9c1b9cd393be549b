#include "cli/attribute_args.h"

#include <algorithm>

#include "base/attributes.h"
#include "base/json_text.h"

namespace weir::cli {
namespace {

Failure bad(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// All values of one name: a text, or a list of them if there are several.
std::string values_of(const std::vector<std::pair<std::string, std::string>>& pairs, const std::string& name) {
  std::string list;
  int count = 0;
  for (const auto& [each, value] : pairs) {
    if (each != name) continue;
    if (count++ > 0) list += ',';
    base::append_json_string(list, value);
  }
  return count == 1 ? list : "[" + list + "]";
}

}  // namespace

Result<AttributeArgs> AttributeArgs::parse(const std::vector<std::string>& words) {
  AttributeArgs args;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return bad("'" + word + "' is not an attribute, expected name=value, as in tenant=acme");
    }
    std::string name = word.substr(0, equals);
    std::string value = word.substr(equals + 1);
    if (const std::string_view wrong = base::attribute_name_fault(name); !wrong.empty()) {
      return bad("'" + name.substr(0, 20) + "…': the name " + std::string(wrong));
    }
    if (const std::string_view wrong = base::attribute_value_fault(value); !wrong.empty()) {
      return bad("'" + name + "': the value " + std::string(wrong));
    }
    args.pairs_.emplace_back(std::move(name), std::move(value));
  }
  if (args.pairs_.size() > kMaxAttributes) return bad(std::string(base::kTooManyAttributes));
  return args;
}

std::vector<Attribute> AttributeArgs::attributes() const {
  std::vector<Attribute> out;
  out.reserve(pairs_.size());
  for (const auto& [name, value] : pairs_) out.push_back({name, value});
  return out;
}

std::string AttributeArgs::members() const {
  std::string body = "\"attributes\":{";
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const std::string& name = pairs_[i].first;
    const auto same = [&](const auto& pair) { return pair.first == name; };
    if (std::any_of(pairs_.begin(), pairs_.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
    if (i > 0) body += ',';
    base::append_json_string(body, name);
    body += ':';
    body += values_of(pairs_, name);
  }
  return body + "}";
}

std::string AttributeArgs::check_body(std::int64_t cost, bool peek) const {
  std::string body = "{" + members() + ",\"cost\":" + std::to_string(cost);
  if (peek) body += ",\"peek\":true";
  return body + "}";
}

std::string AttributeArgs::reset_body(std::string_view reason) const {
  std::string body = "{" + members();
  if (!reason.empty()) {
    body += ",\"reason\":";
    base::append_json_string(body, reason);
  }
  return body + "}";
}

std::string AttributeArgs::query() const {
  constexpr std::string_view kUnreserved = "-._~";
  const auto append = [&](std::string& out, std::string_view text) {
    for (const char c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         kUnreserved.find(c) != std::string_view::npos;
      if (plain) {
        out += c;
        continue;
      }
      constexpr char kDigits[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  };
  std::string out;
  for (const auto& [name, value] : pairs_) {
    if (!out.empty()) out += '&';
    append(out, name);
    out += '=';
    append(out, value);
  }
  return out;
}

AttributeArgs AttributeArgs::numbered(std::int64_t number) const {
  AttributeArgs out = *this;
  const std::string text = std::to_string(number);
  for (auto& [name, value] : out.pairs_) {
    for (std::size_t at = 0; (at = value.find("{}", at)) != std::string::npos; at += text.size()) {
      value.replace(at, 2, text);
    }
  }
  return out;
}

}  // namespace weir::cli
