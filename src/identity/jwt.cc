#include "identity/jwt.h"

#include <simdjson.h>

#include <algorithm>

#include "base/base64url.h"
#include "weir/request.h"

namespace weir::identity {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxJsonDepth = 16;
constexpr std::size_t kMaxMembers = 256;  // of one object; keeps the search for duplicates short

Failure refused(const char* word) { return {Code::unauthenticated, word}; }

struct Parts {
  std::string_view signed_text;  // header.payload
  std::string header;
  std::string payload;
  std::string signature;
};

std::optional<Parts> split(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  std::optional<std::string> header = base::decode_base64url(token.substr(0, first));
  std::optional<std::string> payload = base::decode_base64url(token.substr(first + 1, second - first - 1));
  std::optional<std::string> signature = base::decode_base64url(token.substr(second + 1));
  if (!header || !payload || !signature) return std::nullopt;
  return Parts{token.substr(0, second), std::move(*header), std::move(*payload), std::move(*signature)};
}

// Two readers of a duplicated member may each see another value, so it is refused.
bool is_unambiguous(const dom::element& element) {
  if (dom::array list; element.get(list) == simdjson::SUCCESS) {
    for (const dom::element item : list) {
      if (!is_unambiguous(item)) return false;
    }
    return true;
  }
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return true;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : object) {
    names.push_back(name);
    if (names.size() > kMaxMembers || !is_unambiguous(value)) return false;
  }
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

std::optional<dom::object> parse_object(dom::parser& parser, const std::string& json) {
  dom::element root;
  dom::object object;
  if (parser.parse(json).get(root) != simdjson::SUCCESS || root.get(object) != simdjson::SUCCESS) return std::nullopt;
  if (!is_unambiguous(root)) return std::nullopt;
  return object;
}

struct Header {
  JwtAlgorithm algorithm;
  std::string key_id;
};

std::optional<Header> read_header(const dom::object& object) {
  std::string_view alg;
  if (object["alg"].get(alg) != simdjson::SUCCESS) return std::nullopt;
  if (object["crit"].error() != simdjson::NO_SUCH_FIELD) return std::nullopt;
  Header header{};
  if (alg == "HS256") {
    header.algorithm = JwtAlgorithm::hs256;
  } else if (alg == "RS256") {
    header.algorithm = JwtAlgorithm::rs256;
  } else if (alg == "ES256") {
    header.algorithm = JwtAlgorithm::es256;
  } else {
    return std::nullopt;
  }
  const auto kid = object["kid"];
  if (kid.error() == simdjson::NO_SUCH_FIELD) return header;
  std::string_view id;
  if (kid.get(id) != simdjson::SUCCESS) return std::nullopt;
  header.key_id = std::string(id);
  return header;
}

bool is_signed(const Header& header, const Parts& parts, std::span<const JwtKey> keys) {
  std::size_t tried = 0;
  for (const JwtKey& key : keys) {
    if (key.algorithm != header.algorithm) continue;
    if (!header.key_id.empty() && !key.id.empty() && header.key_id != key.id) continue;
    if (++tried > JwtVerifier::kMaxTriedKeys) return false;
    if (verify_signature(key, parts.signed_text, parts.signature)) return true;
  }
  return false;
}

// A NumericDate in whole seconds, its fraction dropped. `value` stays empty if the claim is missing; false if it is no
// date.
bool read_date(const dom::object& claims, const char* name, std::optional<std::int64_t>& value) {
  const auto claim = claims[name];
  if (claim.error() == simdjson::NO_SUCH_FIELD) return true;
  std::int64_t whole = 0;
  if (claim.get(whole) == simdjson::SUCCESS) {
    value = whole;
    return true;
  }
  // An unsigned number that did not fit above, or a fraction: seconds beyond this range are no dates.
  constexpr double kFarthest = 1e15;
  double fraction = 0;
  if (claim.get(fraction) != simdjson::SUCCESS || !(fraction > -kFarthest)) return false;
  value = fraction < kFarthest ? static_cast<std::int64_t>(fraction) : static_cast<std::int64_t>(kFarthest);
  return true;
}

const char* fault_in_time(const dom::object& claims, const JwtOptions& options, TimePoint now) {
  std::optional<std::int64_t> expires;
  std::optional<std::int64_t> begins;
  if (!read_date(claims, "exp", expires) || !read_date(claims, "nbf", begins)) return "malformed";
  if (!expires && options.require_expiry) return "no_expiry";
  const std::int64_t now_s = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const std::int64_t leeway_s = options.leeway.count();
  if (expires && now_s - leeway_s >= *expires) return "expired";
  if (begins && now_s + leeway_s < *begins) return "not_yet_valid";
  return nullptr;
}

const char* fault_in_addressing(const dom::object& claims, const JwtOptions& options) {
  std::string_view text;
  if (!options.issuer.empty() && (claims["iss"].get(text) != simdjson::SUCCESS || text != options.issuer)) {
    return "wrong_issuer";
  }
  if (options.audience.empty()) return nullptr;
  if (claims["aud"].get(text) == simdjson::SUCCESS) return text == options.audience ? nullptr : "wrong_audience";
  dom::array list;
  if (claims["aud"].get(list) != simdjson::SUCCESS) return "wrong_audience";
  for (const dom::element item : list) {
    if (item.get(text) == simdjson::SUCCESS && text == options.audience) return nullptr;
  }
  return "wrong_audience";
}

std::optional<std::string> scalar(const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::STRING:
      return std::string(std::string_view(element));
    case dom::element_type::INT64:
      return std::to_string(std::int64_t(element));
    case dom::element_type::UINT64:
      return std::to_string(std::uint64_t(element));
    case dom::element_type::BOOL:
      return bool(element) ? "true" : "false";
    default:
      return std::nullopt;
  }
}

std::optional<std::string> claim_at(const dom::object& claims, std::string_view path) {
  dom::element element;
  if (claims[path].get(element) == simdjson::SUCCESS) return scalar(element);
  const std::size_t dot = path.find('.');
  dom::object inner;
  if (dot == std::string_view::npos || claims[path.substr(0, dot)].get(inner) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return claim_at(inner, path.substr(dot + 1));
}

}  // namespace

Result<JwtVerifier> JwtVerifier::load(const JwtOptions& options) {
  if (options.leeway < std::chrono::seconds{0} || options.leeway > kMaxLeeway) {
    return Failure{Code::invalid_argument, "jwt leeway is out of range, expected 0 to 600 seconds"};
  }
  JwtKeys keys;
  Status added = success();
  if (!options.pem_file.empty()) added = keys.add_pem_file(options.pem_file);
  if (added.ok() && !options.secret_file.empty()) added = keys.add_secret_file(options.secret_file);
  if (added.ok() && !options.jwks_file.empty()) added = keys.add_jwks_file(options.jwks_file);
  if (!added.ok()) return added.failure();
  if (keys.all().empty()) {
    return Failure{Code::invalid_argument, "jwt has no key, expected a PEM, secret or JWKS file"};
  }
  return JwtVerifier(options, std::move(keys));
}

Result<std::vector<std::optional<std::string>>> JwtVerifier::verify(std::string_view token, TimePoint now,
                                                                    std::span<const std::string> paths) const {
  if (token.size() > kMaxTokenBytes) return refused("too_long");
  const std::optional<Parts> parts = split(token);
  if (!parts) return refused("malformed");
  dom::parser parser(kMaxTokenBytes);
  if (parser.allocate(std::max(parts->header.size(), parts->payload.size()), kMaxJsonDepth) != simdjson::SUCCESS)
    return refused("malformed");

  const std::optional<dom::object> header_json = parse_object(parser, parts->header);
  if (!header_json) return refused("malformed");
  const std::optional<Header> header = read_header(*header_json);
  if (!header) return refused("unsupported");
  if (!is_signed(*header, *parts, keys_.all())) return refused("bad_signature");

  // Nothing of the payload is checked before its signature has been found good.
  const std::optional<dom::object> claims = parse_object(parser, parts->payload);
  if (!claims) return refused("malformed");
  if (const char* fault = fault_in_time(*claims, options_, now)) return refused(fault);
  if (const char* fault = fault_in_addressing(*claims, options_)) return refused(fault);

  std::vector<std::optional<std::string>> values;
  for (const std::string& path : paths) values.push_back(claim_at(*claims, path));
  return values;
}

}  // namespace weir::identity
