// Preambles on real sockets: a line "from ADDRESS", after which the protocol tells whom it takes the peer for and
// echoes.
#include "frontends/transport/preamble.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "frontends/transport/loops.h"
#include "tests/support/test_certificate.h"
#include "tests/support/test_client.h"

namespace weir::transport {
namespace {

class WhoProtocol final : public Protocol {
 public:
  // Not flushed: the connection must go on by itself with what came behind the preamble.
  explicit WhoProtocol(Link& link) : link_(link) { link_.output() += "you are " + link_.peer().address + "\n"; }
  std::size_t on_bytes(std::string_view bytes) override {
    link_.output() += bytes;
    return bytes.size();
  }
  bool idle() const override { return true; }
  void on_drain() override { link_.close(); }

 private:
  Link& link_;
};

PreambleOutcome read_line(std::string_view bytes, const Peer& peer) {
  EXPECT_EQ(peer.address, "127.0.0.1");
  constexpr std::string_view kStart = "from ";
  const std::size_t end = bytes.find('\n');
  PreambleOutcome outcome;
  if (bytes.substr(0, kStart.size()) != kStart.substr(0, bytes.size())) return outcome;
  outcome.state = end == std::string_view::npos ? PreambleOutcome::State::incomplete : PreambleOutcome::State::complete;
  if (end == std::string_view::npos) return outcome;
  outcome.length = end + 1;
  outcome.address = std::string(bytes.substr(kStart.size(), end - kStart.size()));
  return outcome;
}

class PreambleTest : public testing::Test {
 protected:
  void start(std::shared_ptr<const TlsContext> tls = nullptr, Limits limits = {}) {
    const auto factory = [](Link& link) { return std::make_unique<WhoProtocol>(link); };
    const Result<Endpoint> bound = loops_.listen({.endpoint = parse_endpoint("127.0.0.1:0").value(),
                                                  .limits = limits,
                                                  .protocols = [&](std::size_t) { return factory; },
                                                  .tls = std::move(tls),
                                                  .preamble = read_line});
    ASSERT_TRUE(bound.ok());
    endpoint_ = bound.value();
    loops_.start();
  }

  Loops loops_{1};
  Endpoint endpoint_;
};

TEST_F(PreambleTest, SaysWhoThePeerIsBeforeTheProtocolBegins) {
  start();
  TestClient client(endpoint_);
  client.send("from 203.0.113.9\nhello\n");
  EXPECT_EQ(client.read_until("9\n"), "you are 203.0.113.9\n");
  EXPECT_EQ(client.read(6), "hello\n");
}

TEST_F(PreambleTest, MayComeByteByByteAndSayNothing) {
  start();
  TestClient client(endpoint_);
  for (const char c : std::string("from \n")) client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.read_until("\n"), "you are 127.0.0.1\n");
  client.send("x");
  EXPECT_EQ(client.read(1), "x");
}

TEST_F(PreambleTest, IsWhatAConnectionMustBeginWith) {
  start();
  TestClient client(endpoint_);
  client.send("hello\n");
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(client.ended());
}

TEST_F(PreambleTest, ThatDoesNotComeToItsEndIsTimedOut) {
  Limits limits;
  limits.message_timeout = std::chrono::milliseconds(50);
  start(nullptr, limits);
  TestClient client(endpoint_);
  client.send("from ");
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(loops_.total().timed_out, 1u);
}

TEST_F(PreambleTest, ComesBeforeTls) {
  const TestCertificate certificate(testing::TempDir(), "preamble");
  TlsOptions options;
  options.certificate_chain = certificate.certificate;
  options.private_key = certificate.key;
  start(TlsContext::create(options).value());
  TestClient client(endpoint_);
  client.send("from 203.0.113.9\n");
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> session(SSL_new(context.get()), SSL_free);
  SSL_set_fd(session.get(), client.fd());
  ASSERT_EQ(SSL_connect(session.get()), 1);
  std::string text;
  char c = 0;
  while (text.find('\n') == std::string::npos && SSL_read(session.get(), &c, 1) == 1) text += c;
  EXPECT_EQ(text, "you are 203.0.113.9\n");
}

}  // namespace
}  // namespace weir::transport
