#include "observe/subject_text.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir::observe {
namespace {

constexpr std::string_view kUsualSecrets[] = {
    "api_key", "apikey",       "x_api_key", "authorization", "jwt",   "proxy_authorization",
    "token",   "access_token", "password",  "secret",        "cookie"};

std::string folded_name(std::string_view name) {
  std::string folded(name);
  for (char& c : folded) c = c == '-' ? '_' : base::lower(c);
  return folded;
}

bool carries(const RequestContext& context, std::string_view name) {
  return std::any_of(context.attributes.begin(), context.attributes.end(),
                     [&](const Attribute& each) { return each.name == name; });
}

// The first of the names in an entry of `per` ("session|ip") that the request carries.
std::string_view first_carried(const RequestContext& context, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('|'), names.size());
    if (carries(context, names.substr(0, end))) return names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return {};
}

}  // namespace

SecretNames::SecretNames() {
  for (const std::string_view name : kUsualSecrets) names_.emplace_back(name);
}

void SecretNames::add(std::string_view name) {
  if (!contains(name)) names_.push_back(folded_name(name));
}

// "api_key@previous" is the same key under the previous hash key.
bool SecretNames::contains(std::string_view name) const {
  const std::string folded = folded_name(name.substr(0, name.find('@')));
  return std::find(names_.begin(), names_.end(), folded) != names_.end();
}

std::vector<std::string_view> subject_names(const RequestContext& context) {
  std::vector<std::string_view> found;
  for (const std::string& names : context.per) {
    const std::string_view name = first_carried(context, names);
    if (name.empty()) return {};  // it was not kept
    // If an earlier alternative may have been left out, this is perhaps not the one that was counted.
    if (!context.complete && names.find('|') != std::string::npos) return {};
    found.push_back(name);
  }
  return found;
}

std::string subject_type(const RequestContext& context) {
  if (context.per.empty()) return "all";
  std::string text;
  for (const std::string_view name : subject_names(context)) {
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

std::string subject_values(const RequestContext& context, const SecretNames& secrets, const keys::KeyEncoder& encoder) {
  std::string text;
  for (const std::string_view name : subject_names(context)) {
    for (const Attribute& each : context.attributes) {
      if (each.name != name) continue;
      if (!text.empty()) text += ',';
      text.append(name).append("=");
      if (secrets.contains(name)) {
        const SubjectDigits digits = value_digits(name, each.value, encoder);
        text.append("#").append(digits.data(), digits.size());
      } else {
        text += cut_value(each.value);
      }
    }
  }
  return text;
}

SubjectDigits value_digits(std::string_view name, std::string_view value, const keys::KeyEncoder& encoder) {
  keys::SipHash hash = encoder.attribute_seed(name);
  keys::KeyEncoder::add_value(hash, value);
  return subject_digits(hash.finish());
}

// Not within a character of UTF-8.
std::string_view cut_value(std::string_view value) {
  if (value.size() <= kMaxLoggedValue) return value;
  std::size_t end = kMaxLoggedValue;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0) == 0x80) --end;
  return value.substr(0, end);
}

}  // namespace weir::observe
