// Any bytes as the start of a connection: no crash, and a header that was complete or malformed early on is so still
// when more bytes have come.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "identity/proxy_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir::identity;
  using State = ProxyHeader::State;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ProxyHeader whole = parse_proxy_header(bytes);
  if (whole.state == State::complete && (whole.length == 0 || whole.length > size)) std::abort();
  for (std::size_t length = 0; length < size && length <= kMaxProxyBinary; ++length) {
    const ProxyHeader part = parse_proxy_header(bytes.substr(0, length));
    if (part.state == State::incomplete) continue;
    if (part.state != whole.state || part.length != whole.length || part.source != whole.source) std::abort();
    break;
  }
  return 0;
}
