// Any text as Envoy's request in proto-JSON: refused with a message, or a request whose parts add up.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontends/envoy/rls.h"
#include "frontends/envoy/rls_json.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static weir::envoy::RlsJsonReader reader;  // reused, as a loop does
  static weir::envoy::RlsRequest request;
  const weir::Status read = reader.read(text, request);
  if (!read.ok()) {
    weir::fuzz::expect(!read.failure().message.empty());
  } else if (request.check().ok()) {
    std::size_t total = 0;
    for (const auto& descriptor : request.descriptors) total += request.attributes_of(descriptor).size();
    weir::fuzz::expect(total == request.attributes.size());
  }
  return 0;
}
