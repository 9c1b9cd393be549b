// Any bytes as cookies, queries, headers and credentials: no crash, and whatever any of many servers reads in them,
// Weir reads too, or refuses the request. The first byte chooses which.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "identity/identity.h"
#include "tests/fuzz/expect.h"
#include "tests/support/server_models.h"

namespace {

using namespace weir::identity;
namespace base = weir::base;

const Identity& identity() {
  static const std::shared_ptr<const Identity> made = [] {
    IdentityOptions options;
    options.attributes = {{"session", "cookie:sid"},
                          {"app", "query:app"},
                          {"client", "header:x-client"},
                          {"key", "header:authorization"}};
    return Identity::create(options).value();
  }();
  return *made;
}

// The attribute, or nothing if the request was refused.
std::optional<std::string> ask(const std::vector<HeaderField>& headers, std::string_view target,
                               const char* attribute) {
  CallerAttributes caller;
  const Inbound inbound{"GET", target, headers, base::parse_ip("203.0.113.9")};
  if (identity().identify(inbound, weir::TimePoint{}, caller)) {
    weir::fuzz::expect(caller.attributes().empty());
    return std::nullopt;
  }
  return std::string(caller.find(attribute).value_or(""));
}

void read_cookies(const std::string& text) {
  std::vector<HeaderField> headers;
  std::string joined;
  for (const std::string_view line : split(text, "\n")) {
    headers.push_back({"cookie", line});
    joined.append(joined.empty() ? "" : "; ").append(line);
  }
  const auto session = ask(headers, "/", "session");
  if (!session) return;
  for (const PairReader& server : cookie_readers()) {
    const std::string read = unescaped(unquoted(server.read(joined, "sid").value_or("")));
    weir::fuzz::expect(read.empty() || read == *session);
  }
}

void read_query(const std::string& text) {
  const auto app = ask({}, "/?" + text, "app");
  if (!app) return;
  for (const PairReader& server : query_readers()) {
    const std::string read = server.read(text, "app").value_or("");
    weir::fuzz::expect(read.empty() || stripped(read, " \t") == stripped(*app, " \t"));
  }
}

void read_credentials(const std::string& text) {
  const auto key = ask({{"authorization", text}}, "/", "key");
  if (!key) return;
  // The one spelling stays as it is.
  weir::fuzz::expect(ask({{"authorization", *key}}, "/", "key") == key);
}

void read_header(const std::string& text) {
  std::vector<HeaderField> headers;
  for (const std::string_view line : split(text, "\n")) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) headers.push_back({line.substr(0, colon), line.substr(colon + 1)});
  }
  const auto client = ask(headers, "/", "client");
  if (!client) return;
  for (const HeaderField& header : headers) {
    const bool is_it = lowered(header.name) == "x-client" || lowered(header.name) == "x_client";
    weir::fuzz::expect(!is_it || base::trimmed(header.value) == *client);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      read_cookies(text);
      break;
    case 1:
      read_query(text);
      break;
    case 2:
      read_credentials(text);
      break;
    default:
      read_header(text);
  }
  return 0;
}
