// Any text as a line of an access log, in every format: refused with a reason, or a record whose texts lie in the line
// or in the parser's memory, and whose request identity can be asked about.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/log_attributes.h"
#include "simulate/log_format.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace weir::simulate;

const std::vector<FieldMapping>& mappings() {
  static const std::vector<FieldMapping> list = {
      {"user", "tenant"}, {"request.headers.X-Tenant", "tenant"}, {"n", "cost"}};
  return list;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::vector<std::unique_ptr<LineParser>> parsers = [] {
    std::vector<std::unique_ptr<LineParser>> made;
    for (const LogFormat format : {LogFormat::common, LogFormat::envoy, LogFormat::haproxy, LogFormat::json}) {
      made.push_back(make_line_parser(format, weir::base::TimeZone::utc(), mappings()));
    }
    return made;
  }();
  static LogAttributes attributes = std::move(LogAttributes::create({}, mappings())).value();
  static LogRecord record;
  // A copy of the exact size, so that reading beyond what is promised is found.
  std::string line(reinterpret_cast<const char*>(data), size);
  line.append(kLinePadding, '\0');
  const std::string_view text(line.data(), size);
  if (text.find('\n') != std::string_view::npos) return 0;
  for (const std::unique_ptr<LineParser>& parser : parsers) {
    if (const char* const why = parser->parse(text, record)) {
      weir::fuzz::expect(*why != '\0');
      continue;
    }
    weir::fuzz::expect(record.fields.size() <= kMaxLogFields && record.headers.size() <= kMaxLogFields);
    weir::fuzz::expect(record.status >= 0);
    if (attributes.identify(record) == nullptr) {
      weir::fuzz::expect(attributes.request().attributes.size() <= weir::kMaxAttributes);
    }
  }
  return 0;
}
