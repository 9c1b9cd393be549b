// Whatever JSON arrives: what is accepted is within the bounds of a request.
#include "frontends/http/check_body.h"
#include "tests/fuzz/expect.h"
#include "weir/allowance.h"

namespace {

using weir::fuzz::expect;

void expect_sound(const weir::http::CheckBody& body) {
  expect(body.requests().size() <= weir::http::kMaxBatch);
  expect(body.wait_ms() >= 0 && body.wait_ms() <= weir::http::kMaxWaitMs);
  for (const weir::Request& request : body.requests()) {
    expect(request.cost.units >= 0 && request.cost.units <= weir::kMaxUnits);
    expect(request.attributes.size() <= weir::kMaxAttributes);
    for (const weir::Attribute& attribute : request.attributes) {
      expect(!attribute.name.empty() && attribute.name.size() <= weir::kMaxAttributeName);
      expect(attribute.value.size() <= weir::kMaxAttributeValue);
      expect(attribute.name.find('\0') == std::string_view::npos);
      expect(attribute.value.find('\0') == std::string_view::npos);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static weir::http::CheckBody body;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (body.read_check(text).ok()) expect_sound(body);
  if (body.read_refund(text).ok()) expect_sound(body);
  if (body.read_batch(text).ok()) expect_sound(body);
  return 0;
}
