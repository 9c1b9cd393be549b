// Any bytes, cut anywhere, as what Redis answers: read or broken, the same as in one piece, and flat replies whose
// parts add up. The first byte chooses the cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stores/redis/resp.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace weir::redis;
using Progress = ReplyReader::Progress;

// How many items one answer takes: an array counts those inside it.
std::size_t extent(Reply reply, std::size_t at, std::size_t depth = 0) {
  weir::fuzz::expect(at < reply.size() && depth <= ReplyReader::kMaxDepth);
  std::size_t next = at + 1;
  if (reply[at].kind != ReplyKind::array) return next;
  for (std::int64_t i = 0; i < reply[at].number; ++i) next = extent(reply, next, depth + 1);
  return next;
}

std::string told(Reply reply) {
  std::string out;
  for (const ReplyItem& item : reply) {
    out += std::to_string(static_cast<int>(item.kind)) + ' ' + std::to_string(item.number) + ' ';
    out.append(item.text).append("\n");
  }
  return out + "\n";
}

std::string run(std::string_view bytes, std::size_t step) {
  ReplyReader reader;
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.add(bytes.substr(at, step));
    Progress progress = Progress::complete;
    while ((progress = reader.next()) == Progress::complete) {
      weir::fuzz::expect(extent(reader.reply(), 0) == reader.reply().size());
      out += told(reader.reply());
    }
    if (progress == Progress::broken) return out + "broken";
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  weir::fuzz::expect(run(bytes, 1 + data[0]) == run(bytes, bytes.size() + 1));
  return 0;
}
