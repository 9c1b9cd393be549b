// Any bytes as an answer that Redis has kept for an Idempotency-Key: refused, or one that cannot end the header of a
// response early, and that is written again as it was read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontends/http/recorded_answer.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::optional<http::RecordedAnswer> answer = http::decode_answer(bytes);
  if (!answer) return 0;
  fuzz::expect(answer->status >= 200 && answer->status <= 599);
  fuzz::expect(answer->fields.find("\r\n\r\n") == std::string::npos && !answer->fields.starts_with("\r\n"));
  fuzz::expect(answer->fields.empty() || answer->fields.ends_with("\r\n"));
  fuzz::expect(answer->content_type.find('\n') == std::string::npos);
  fuzz::expect(http::encode_answer(*answer) == bytes);
  return 0;
}
