// Any text: what the plain reader reads, it reads as yaml-cpp does.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/utf8.h"
#include "tests/fuzz/expect.h"
#include "tests/support/yaml_events.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (base::valid_text_prefix(text) != text.size()) return 0;  // refused before anything reads it
  const auto events = base::plain_events(text);
  if (events) fuzz::expect(events == base::yaml_cpp_events(text));
  return 0;
}
