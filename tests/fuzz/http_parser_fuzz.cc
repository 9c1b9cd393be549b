// Whatever bytes arrive, and however they are cut: the parser neither reads past them nor changes its mind.
#include <cstdlib>
#include <string>

#include "frontends/http/request_parser.h"

namespace {

using weir::http::RequestParser;
using State = RequestParser::State;

struct Outcome {
  State state = State::need_more;
  int status = 0;
  std::size_t consumed = 0;
  std::string body;
};

State step(RequestParser& parser, std::string_view bytes) {
  State state = parser.parse(bytes);
  if (state == State::head) {
    parser.allow_body(512);
    state = parser.parse(bytes);
  }
  return state;
}

Outcome outcome_of(const RequestParser& parser, State state) {
  Outcome outcome{.state = state, .status = 0, .consumed = 0, .body = {}};
  if (state == State::failed) outcome.status = parser.error().status;
  if (state == State::complete) {
    outcome.consumed = parser.consumed();
    outcome.body = parser.request().body;
  }
  return outcome;
}

Outcome feed(std::string_view bytes, std::size_t cut) {
  RequestParser parser(
      weir::http::HttpLimits{.request_line_bytes = 128, .header_bytes = 512, .header_count = 8, .body_bytes = 512});
  for (std::size_t size = cut; size < bytes.size(); size += cut) {
    // A copy of just this size, so that a sanitizer sees a read past it.
    const std::string copy(bytes.substr(0, size));
    const State state = step(parser, copy);
    if (state != State::need_more) return outcome_of(parser, state);
  }
  const std::string copy(bytes);
  return outcome_of(parser, step(parser, copy));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome whole = feed(bytes, size + 1);
  if (whole.consumed > size) std::abort();
  for (const std::size_t cut : {std::size_t{1}, std::size_t{7}}) {
    const Outcome pieces = feed(bytes, cut);
    const bool same = pieces.state == whole.state && pieces.status == whole.status &&
                      pieces.consumed == whole.consumed && pieces.body == whole.body;
    if (!same) std::abort();
  }
  return 0;
}
