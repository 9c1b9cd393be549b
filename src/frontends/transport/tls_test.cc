#include "frontends/transport/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <csignal>
#include <mutex>

#include "frontends/transport/loops.h"
#include "tests/support/test_certificate.h"
#include "tests/support/test_client.h"

namespace weir::transport {
namespace {

using testing::HasSubstr;

class EchoProtocol final : public Protocol {
 public:
  explicit EchoProtocol(Link& link) : link_(link) {
    link_.output() += "alpn=" + link_.peer().alpn + (link_.peer().tls ? " tls\n" : " plain\n");
    link_.flush();
  }
  std::size_t on_bytes(std::string_view bytes) override {
    link_.output() += bytes;
    return bytes.size();
  }
  bool idle() const override { return true; }
  void on_drain() override { link_.close(); }

 private:
  Link& link_;
};

class TlsTest : public testing::Test {
 protected:
  TlsTest() : client_context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the server has closed
  }

  void start(TlsOptions options, Limits limits = {}) {
    options.certificate_chain = server_.certificate;
    options.private_key = server_.key;
    auto context = TlsContext::create(options);
    ASSERT_TRUE(context.ok()) << context.failure().message;
    context_ = context.value();
    const auto factory = [](Link& link) { return std::make_unique<EchoProtocol>(link); };
    const Result<Endpoint> bound = loops_.listen({.endpoint = parse_endpoint("127.0.0.1:0").value(),
                                                  .limits = limits,
                                                  .protocols = [&](std::size_t) { return factory; },
                                                  .tls = std::move(context).value(),
                                                  .name = "echo",
                                                  .logins = logins_});
    ASSERT_TRUE(bound.ok());
    endpoint_ = bound.value();
    loops_.start();
  }

  using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;
  Session session_over(const TestClient& socket) {
    Session session(SSL_new(client_context_.get()), SSL_free);
    SSL_set_fd(session.get(), socket.fd());
    return session;
  }
  static std::string read(SSL* session, std::size_t size) {
    std::string text(size, '\0');
    std::size_t have = 0;
    while (have < size) {
      const int got = SSL_read(session, text.data() + have, static_cast<int>(size - have));
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
  }

  TestCertificate server_{testing::TempDir(), "weir_tls_server_" + std::to_string(getpid())};
  TestCertificate client_{testing::TempDir(), "weir_tls_client_" + std::to_string(getpid())};
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client_context_;
  std::shared_ptr<TlsContext> context_;
  std::mutex mutex_;
  std::vector<std::string> refused_;  // guarded by mutex_
  std::shared_ptr<LoginGuard> logins_ =
      std::make_shared<LoginGuard>(std::make_shared<ManualClock>(), [this](const FailedLogin& login) {
        const std::lock_guard lock(mutex_);
        refused_.push_back(std::string(login.listener) + " " + std::string(login_kind_name(login.kind)) + " " +
                           std::string(login.address) + ": " + std::string(login.cause));
      });
  Loops loops_{1};
  Endpoint endpoint_;
};

TEST_F(TlsTest, CarriesTheSameProtocolAndAgreesOnAnApplicationProtocol) {
  start({.alpn = {"h2", "http/1.1"}});
  const TestClient socket(endpoint_);
  const Session session = session_over(socket);
  const unsigned char offered[] = "\x08http/1.1";
  SSL_set_alpn_protos(session.get(), offered, 9);
  ASSERT_EQ(SSL_connect(session.get()), 1);
  EXPECT_EQ(read(session.get(), 18), "alpn=http/1.1 tls\n");

  // More than a record, both ways.
  const std::string much(100'000, 'm');
  ASSERT_EQ(SSL_write(session.get(), much.data(), static_cast<int>(much.size())), static_cast<int>(much.size()));
  EXPECT_EQ(read(session.get(), much.size()), much);
  SSL_shutdown(session.get());
  EXPECT_TRUE(eventually([&] { return loops_.total().open == 0; }));
}

TEST_F(TlsTest, RefusesAClientThatOffersNoCommonApplicationProtocol) {
  start({.alpn = {"h2"}});
  const TestClient socket(endpoint_);
  const Session session = session_over(socket);
  const unsigned char offered[] = "\x08http/1.1";
  SSL_set_alpn_protos(session.get(), offered, 9);
  EXPECT_NE(SSL_connect(session.get()), 1);
}

TEST_F(TlsTest, DemandsAClientCertificateThatTheAuthoritySigned) {
  start({.client_ca = client_.certificate});
  {
    const TestClient socket(endpoint_);
    const Session without = session_over(socket);
    // With TLS 1.3 the client learns of the refusal at its first read.
    const bool refused = SSL_connect(without.get()) != 1 || read(without.get(), 1).empty();
    EXPECT_TRUE(refused);
  }
  const TestClient socket(endpoint_);
  const Session with = session_over(socket);
  ASSERT_EQ(SSL_use_certificate_file(with.get(), client_.certificate.c_str(), SSL_FILETYPE_PEM), 1);
  ASSERT_EQ(SSL_use_PrivateKey_file(with.get(), client_.key.c_str(), SSL_FILETYPE_PEM), 1);
  ASSERT_EQ(SSL_connect(with.get()), 1);
  EXPECT_EQ(read(with.get(), 10), "alpn= tls\n");
}

TEST_F(TlsTest, ARefusedCertificateLeavesATraceAndATimeToWait) {
  start({.client_ca = client_.certificate});
  const auto connect = [&](const TestCertificate* shown) {
    const TestClient socket(endpoint_);
    const Session session = session_over(socket);
    if (shown != nullptr) {
      SSL_use_certificate_file(session.get(), shown->certificate.c_str(), SSL_FILETYPE_PEM);
      SSL_use_PrivateKey_file(session.get(), shown->key.c_str(), SSL_FILETYPE_PEM);
    }
    return SSL_connect(session.get()) == 1 && read(session.get(), 10) == "alpn= tls\n";
  };
  EXPECT_FALSE(connect(nullptr));
  EXPECT_FALSE(connect(&server_));
  {
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(refused_, testing::ElementsAre(
                              "echo client_certificate 127.0.0.1: no certificate was shown",
                              testing::StartsWith("echo client_certificate 127.0.0.1: self-signed certificate")));
  }
  // Enough failures to wait for a turn, which comes, and ends them.
  EXPECT_FALSE(connect(nullptr));
  EXPECT_FALSE(connect(nullptr));
  EXPECT_EQ(logins_->sources(), 1U);
  EXPECT_TRUE(connect(&client_));
  EXPECT_EQ(logins_->sources(), 0U);
  // Too many are waiting: not even a right one is looked at.
  for (int i = 0; i < 20; ++i) {
    logins_->failed({.listener = "echo", .kind = LoginKind::client_certificate, .address = "127.0.0.1"});
  }
  while (!logins_->ask("echo", LoginKind::client_certificate, "127.0.0.1").refused) {
  }
  EXPECT_FALSE(connect(&client_));
}

// A peer that does not speak TLS, or stopped, has sent no certificate that could be refused.
TEST_F(TlsTest, AHandshakeThatFailsOtherwiseIsNoRefusedCertificate) {
  start({.client_ca = client_.certificate});
  TestClient socket(endpoint_);
  ASSERT_TRUE(socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  socket.read_to_end();
  EXPECT_TRUE(logins_->counts().empty());
}

TEST_F(TlsTest, AReloadIsForNewConnectionsAndABadFileChangesNothing) {
  const auto subject = [](const Session& session) {
    X509* const shown = SSL_get_peer_certificate(session.get());
    char name[256] = "";
    X509_NAME_oneline(X509_get_subject_name(shown), name, sizeof name);
    X509_free(shown);
    return std::string(name);
  };
  start({});
  const TestClient old_socket(endpoint_);
  const Session old_session = session_over(old_socket);
  ASSERT_EQ(SSL_connect(old_session.get()), 1);
  EXPECT_THAT(subject(old_session), HasSubstr("weir_tls_server_"));

  std::filesystem::copy_file(client_.certificate, server_.certificate,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(context_->reload().ok()) << "the key is still the old one";
  {
    const TestClient socket(endpoint_);
    const Session session = session_over(socket);
    ASSERT_EQ(SSL_connect(session.get()), 1);
    EXPECT_THAT(subject(session), HasSubstr("weir_tls_server_"));
  }
  std::filesystem::copy_file(client_.key, server_.key, std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(context_->reload().ok());
  const TestClient socket(endpoint_);
  const Session session = session_over(socket);
  ASSERT_EQ(SSL_connect(session.get()), 1);
  EXPECT_THAT(subject(session), HasSubstr("weir_tls_client_"));
  // The old connection goes on.
  EXPECT_EQ(read(old_session.get(), 10), "alpn= tls\n");
  ASSERT_EQ(SSL_write(old_session.get(), "on", 2), 2);
  EXPECT_EQ(read(old_session.get(), 2), "on");
}

TEST_F(TlsTest, ClosesOnBytesThatAreNotTls) {
  start({});
  TestClient socket(endpoint_);
  ASSERT_TRUE(socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  socket.read_to_end();
  EXPECT_TRUE(socket.ended());
}

TEST_F(TlsTest, AHandshakeThatDoesNotComeToItsEndIsCutOff) {
  start({}, {.message_timeout = std::chrono::milliseconds(40)});
  TestClient socket(endpoint_);
  ASSERT_TRUE(socket.send("\x16\x03\x01"));
  EXPECT_EQ(socket.read_to_end(), "");
  EXPECT_TRUE(socket.ended());
  EXPECT_EQ(loops_.total().timed_out, 1u);
}

TEST_F(TlsTest, AWrongFileIsAFailureThatNamesIt) {
  const auto missing = TlsContext::create({.certificate_chain = "/nonexistent/a.crt", .private_key = server_.key});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.failure().message, HasSubstr("certificate /nonexistent/a.crt"));
  const auto mixed = TlsContext::create({.certificate_chain = server_.certificate, .private_key = client_.key});
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(mixed.failure().message, HasSubstr(client_.key.string()));
}

}  // namespace
}  // namespace weir::transport
