// A stream of decisions on a connection without a socket.
#include "admin/decision_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/http_protocol.h"
#include "tests/support/recording_link.h"

namespace weir::admin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class DecisionStreamTest : public testing::Test {
 protected:
  DecisionStreamTest() {
    auto router = std::make_shared<http::Router>();
    router->add({.method = "GET", .path = "/stream", .handler = [this](const auto&, http::ResponseWriter& writer) {
                   const auto filter = journal_.filter({.outcome = observe::JournalQuery::Outcome::denied});
                   writer.stream({.content_type = "text/event-stream"},
                                 std::make_shared<DecisionStream>(journal_, filter, "node-1"));
                 }});
    protocol_ = std::make_unique<http::HttpProtocol>(link_, router, http::HttpLimits{}, nullptr, nullptr);
    protocol_->on_bytes("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    link_.take();
  }
  void deny(const std::string& tenant) {
    Decision decision;
    decision.allowed = false;
    decision.reason = Reason::limit_exceeded;
    decision.at = from_micros(1'800'000'000'000'000);
    decision.rules.append().rule = "search";
    decision.deciding = 0;
    const Attribute attributes[] = {{"tenant", tenant}};
    RequestContext context;
    context.attributes = attributes;
    if (writer_->wants(decision)) writer_->on_decision(decision, context);
  }
  // A quarter of a second passes.
  void pass() {
    for (const auto& task : std::exchange(link_.timers, {})) task();
  }

  transport::RecordingLink link_;
  observe::Journal journal_{observe::JournalOptions{}, 1};
  std::shared_ptr<observe::JournalWriter> writer_ = journal_.make_writer(0, 42);
  std::unique_ptr<http::HttpProtocol> protocol_;
};

TEST_F(DecisionStreamTest, EachDecisionIsAnEvent) {
  deny("acme");
  deny("globex");
  EXPECT_THAT(link_.take(), IsEmpty());
  pass();
  const std::string sent = link_.take();
  EXPECT_THAT(sent, AllOf(HasSubstr("event: decision\ndata: {\"id\":"), HasSubstr("\"rule\":\"search\"")));
  EXPECT_NE(sent.find("event: decision"), sent.rfind("event: decision"));
  pass();
  EXPECT_THAT(link_.take(), IsEmpty());
}

TEST_F(DecisionStreamTest, ASlowReaderIsToldHowManyItHasMissed) {
  link_.sent = std::string(std::size_t{100} << 10, 'x');  // not taken
  for (int i = 0; i < 7; ++i) deny("tenant-" + std::to_string(i));
  pass();
  EXPECT_EQ(link_.sent.size(), std::size_t{100} << 10) << "nothing more waits for it";
  link_.take();
  deny("one-more");
  pass();
  EXPECT_THAT(link_.take(),
              AllOf(HasSubstr("event: dropped\ndata: {\"n\":7}\n\nevent: decision"), HasSubstr("search")));
}

TEST_F(DecisionStreamTest, AFloodIsBoundedAndCounted) {
  for (std::size_t i = 0; i < DecisionStream::kMaxEntries + 100; ++i) deny("tenant-" + std::to_string(i));
  pass();
  const std::string sent = link_.take();
  EXPECT_THAT(sent, HasSubstr("event: dropped\ndata: {\"n\":100}\n\n"));
  std::size_t shown = 0;
  for (std::size_t at = sent.find("event: decision"); at != std::string::npos;
       at = sent.find("event: decision", at + 1)) {
    ++shown;
  }
  EXPECT_EQ(shown, DecisionStream::kMaxEntries);
}

TEST_F(DecisionStreamTest, SilenceIsBrokenNowAndThen) {
  for (std::int64_t i = 0; i + 1 < DecisionStream::kAlivePeriods; ++i) pass();
  EXPECT_THAT(link_.take(), IsEmpty());
  pass();
  EXPECT_EQ(link_.take(), ": alive\n\n");
}

TEST_F(DecisionStreamTest, EndsWithItsConnection) {
  protocol_.reset();
  deny("acme");
  pass();
  EXPECT_THAT(link_.take(), IsEmpty());
  EXPECT_TRUE(link_.timers.empty());
}

}  // namespace
}  // namespace weir::admin
