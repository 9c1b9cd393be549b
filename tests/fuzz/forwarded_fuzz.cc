// Any bytes as forwarding headers and as request targets: no crash; an untrusted peer is always itself; and what a
// client wrote never changes what a trusted proxy wrote after it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "identity/client_address.h"
#include "identity/route_path.h"

namespace {

using namespace weir::identity;
namespace base = weir::base;

const std::vector<std::string> kTrusted = {"10.0.0.0/8"};

void check(ForwardingHeader header, const std::string& bytes, const std::string& appended) {
  static const base::IpAddress proxy = base::parse_ip("10.0.0.1").value();
  static const base::IpAddress stranger = base::parse_ip("203.0.113.9").value();
  const ClientAddress addresses = ClientAddress::create(kTrusted, header).value();
  const std::vector<std::string_view> lines = {bytes};
  if (addresses.resolve(stranger, lines) != stranger) std::abort();
  static_cast<void>(addresses.resolve(proxy, lines));
  const std::string whole = bytes + ", " + appended;
  const std::vector<std::string_view> passed_on = {whole};
  if (addresses.resolve(proxy, passed_on) != stranger) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check(ForwardingHeader::x_forwarded_for, bytes, "203.0.113.9");
  check(ForwardingHeader::forwarded, bytes, "for=203.0.113.9;proto=https");
  if (const auto path = normal_path(bytes)) {
    // A spelling already normal stays as it is.
    if (normal_path(*path) != path) std::abort();
  }
  return 0;
}
