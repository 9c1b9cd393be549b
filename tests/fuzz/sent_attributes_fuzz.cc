// Any bytes as attributes that a caller sends, one in each line as name=value: refused, or nothing secret is left,
// every address is a network, what was not looked at is unchanged, and the bound on attributes holds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "identity/identity.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/memory_file.h"

namespace {

using namespace weir;
using namespace weir::identity;

const Identity& tested() {
  static const std::shared_ptr<const Identity> made = [] {
    const fuzz::MemoryFile secret("0123456789abcdef0123456789abcdef");
    const fuzz::MemoryFile revoked("sk_leaked\n");
    IdentityOptions options;
    options.tiers = {{"ip_subnet", 24, 48}};
    options.attributes = {{"tenant", "jwt:sub"}};
    options.hashed = {"session"};
    options.names = {
        .ip = {"ip", "remote_address"}, .api_key = {"api_key", "x-api-key"}, .token = {"authorization", "jwt"}};
    options.takes_sent = true;
    options.keys.previous.emplace().fill(1);
    options.revoked_keys_file = revoked.path();
    options.jwt.emplace().secret_file = secret.path();
    return Identity::create(options).value();
  }();
  return *made;
}

std::string folded(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_hash(std::string_view value) {
  return value.size() == ApiKeys::kTextBytes && value.starts_with("k_") &&
         value.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
}

bool is_network(std::string_view value) {
  const auto address = base::parse_ip(value);
  return address && base::ip_text(base::network_of(*address, address->is_v4() ? 32 : 64)) == value;
}

void check(const Attribute& attribute) {
  const std::string name = folded(attribute.name);
  for (const char* secret : {"api_key", "x_api_key", "authorization", "jwt", "session"}) {
    if (name == secret) fuzz::expect(is_hash(attribute.value));
  }
  if (attribute.name.ends_with(Identity::kPreviousSuffix)) fuzz::expect(is_hash(attribute.value));
  if (name == "ip" || name == "remote_address") fuzz::expect(is_network(attribute.value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<Attribute> sent;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    sent.push_back({line.substr(0, equals), line.substr(std::min(equals + 1, line.size()))});
  }
  SentRequests out;
  if (const auto refusal = tested().identify_sent(sent, SentPart::request, TimePoint{}, out)) {
    fuzz::expect(out.size() == 0 && !refusal->text.empty() && !refusal->cause.empty());
    return 0;
  }
  fuzz::expect(out.size() == 1);
  const auto made = out.attributes(0);
  fuzz::expect(made.size() <= kMaxAttributes || out.derived(0) == 0);
  for (const Attribute& each : made) check(each);
  for (const Attribute& each : sent) {
    fuzz::expect(!each.name.ends_with(Identity::kPreviousSuffix));
    fuzz::expect(folded(each.name) != "api_key" || each.value != "sk_leaked");
  }
  return 0;
}
