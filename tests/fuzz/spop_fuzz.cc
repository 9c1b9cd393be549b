// Any bytes at all, cut anywhere, into the SPOP agent, before and after its handshake: no crash, the same answers as in
// one piece, and no frame longer than was agreed. A message may carry a client's request; whatever its headers say,
// they change neither the client's address nor what the gateway says. The first byte chooses the cut and whether a
// greeting is put in front.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/spop/spop_protocol.h"
#include "identity/identity.h"
#include "tests/support/recording_link.h"

namespace {

using namespace weir::transport;
namespace spop = weir::spop;

std::string greeting() {
  std::string out;
  const std::size_t begun = spop::begin_frame(out, spop::FrameType::haproxy_hello, 0, 0);
  spop::put_string(out, "supported-versions");
  spop::put_text_value(out, "2.0");
  spop::put_string(out, "max-frame-size");
  spop::put_uint32_value(out, spop::kMaxFrameBytes);
  spop::put_string(out, "capabilities");
  spop::put_text_value(out, "pipelining");
  spop::end_frame(out, begun);
  return out;
}

std::shared_ptr<const weir::identity::Identity> make_identity() {
  weir::identity::IdentityOptions options;
  options.attributes = {{"tenant", "gateway:x-tenant"}, {"user", "header:x-user"}, {"app", "query:app"}};
  options.routes = {{"GET", "/v1/items/{id}", "item.read", 3}};
  return weir::identity::Identity::create(options).value();
}

// Trusts no proxy, so that only `src` and HAProxy's own arguments may decide who is asking.
class FuzzedClients final : public spop::ClientReader {
 public:
  std::optional<weir::http::CallerRefusal> read(const spop::ClientRequest& request,
                                                weir::http::Caller& caller) override {
    static const auto identity = make_identity();
    const std::vector<weir::identity::HeaderField> headers = copy(request.headers);
    const std::vector<weir::identity::HeaderField> fields = copy(request.gateway_fields);
    weir::identity::Inbound inbound{request.method, request.uri, headers, weir::base::parse_ip(request.src)};
    inbound.scheme = request.scheme;
    inbound.gateway_fields = fields;
    if (!inbound.peer) return weir::http::CallerRefusal{400, "src"};
    if (identity->identify(inbound, weir::TimePoint{}, attributes_)) return weir::http::CallerRefusal{400, "refused"};
    const int bits = inbound.peer->is_v4() ? 32 : 64;
    if (attributes_.find("ip") != weir::base::ip_text(weir::base::network_of(*inbound.peer, bits))) std::abort();
    const weir::identity::Field said = weir::identity::find_header(fields, "x-tenant");
    if (attributes_.find("tenant").value_or("") != said.value) std::abort();
    caller.attributes = attributes_.attributes();
    caller.cost = attributes_.cost();
    return std::nullopt;
  }
  void note(const spop::MessageFault& fault) override {
    if (fault.text.empty()) std::abort();
  }

 private:
  static std::vector<weir::identity::HeaderField> copy(std::span<const weir::http::HttpField> fields) {
    std::vector<weir::identity::HeaderField> copied;
    for (const weir::http::HttpField& field : fields) copied.push_back({field.name, field.value});
    return copied;
  }

  weir::identity::CallerAttributes attributes_;
};

std::unique_ptr<weir::Limiter> make_limiter() {
  weir::Rule rule;
  rule.id = "per-ip";
  rule.per = {"ip"};
  rule.allowance.limit = 2;
  rule.allowance.window = std::chrono::seconds(10);
  weir::Rules rules;
  rules.rules.push_back(rule);
  weir::LimiterOptions options;
  options.clock = std::make_shared<weir::ManualClock>();
  options.memory.max_bytes = std::size_t{1} << 20;
  return std::move(weir::Limiter::create(rules, options)).value();
}

std::string run(std::string_view bytes, std::size_t step) {
  const std::unique_ptr<weir::Limiter> limiter = make_limiter();
  RecordingLink link;
  link.output_limit = std::size_t{64} << 20;
  spop::SpopProtocol protocol(link, *limiter, {.clients = std::make_shared<FuzzedClients>()});
  std::size_t start = 0;
  for (std::size_t end = 0; end < bytes.size() && !link.closed();) {
    end = std::min(bytes.size(), end + step);
    start += protocol.on_bytes(bytes.substr(start, end - start));
    if (start > end) std::abort();
  }
  return link.sent;
}

void expect_whole_frames(std::string_view sent) {
  while (!sent.empty()) {
    std::uint32_t size = 0;
    if (!spop::Cursor(sent).uint32(size)) std::abort();
    if (size > spop::kMaxFrameBytes || sent.size() < spop::kLengthBytes + size) std::abort();
    sent.remove_prefix(spop::kLengthBytes + size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0] / 2;
  const std::string bytes =
      (data[0] % 2 == 1 ? greeting() : "") + std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = run(bytes, std::max<std::size_t>(1, bytes.size()));
  expect_whole_frames(whole);
  if (run(bytes, step) != whole) std::abort();
  return 0;
}
