// One connection without a socket: when it reads on, in which order it answers, and how it ends.
#include "frontends/http/http_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/recording_link.h"

namespace weir::http {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}
std::string post_head(std::size_t body, const std::string& fields = "") {
  return "POST /now HTTP/1.1\r\nHost: h\r\n" + fields + "Content-Length: " + std::to_string(body) + "\r\n\r\n";
}

class HttpProtocolTest : public testing::Test {
 protected:
  HttpProtocolTest() {
    auto router = std::make_shared<Router>();
    const Handler now = [](const HttpRequest& request, ResponseWriter& writer) {
      const std::string body = "now " + std::string(request.path) + std::string(request.body);
      writer.send({.body = body});
    };
    router->add({.method = "GET", .path = "/now", .handler = now});
    router->add({.method = "POST", .path = "/now", .body_bytes = std::size_t{1} << 20, .handler = now});
    router->add({.method = "GET", .path = "/later", .handler = [this](const HttpRequest&, ResponseWriter& writer) {
                   later_.push_back(writer.defer());
                 }});
    router->add({.method = "GET", .path = "/stream", .handler = [this](const HttpRequest&, ResponseWriter& writer) {
                   source_ = std::make_shared<Source>();
                   writer.stream({.content_type = "text/event-stream"}, source_);
                   weak_source_ = source_;
                   source_.reset();
                 }});
    protocol_ = std::make_unique<HttpProtocol>(link_, router, HttpLimits{}, nullptr, counts_);
  }

  struct Source final : StreamSource {
    void start(const StreamWriter& to) override { writer = to; }
    std::optional<StreamWriter> writer;
  };
  std::shared_ptr<Source> source() { return weak_source_.lock(); }

  // Offers bytes as a connection does: what is not consumed comes again with more behind it.
  void offer(const std::string& bytes) {
    unread_ += bytes;
    unread_.erase(0, protocol_->on_bytes(unread_));
  }
  void answer(std::size_t i) { later_[i].send({.body = "later " + std::to_string(i)}); }
  // The bodies that were sent since the last call, as "later 0|now /now".
  std::string bodies() {
    std::string all;
    std::string sent = link_.take();
    while (!sent.empty()) {
      const std::size_t body = sent.find("\r\n\r\n") + 4;
      const std::size_t length = sent.find("Content-Length: ") + 16;
      const std::size_t size = std::stoul(sent.substr(length));
      all += (all.empty() ? "" : "|") + sent.substr(body, size);
      sent.erase(0, body + size);
    }
    return all;
  }

  std::shared_ptr<Source> source_;
  std::weak_ptr<Source> weak_source_;
  transport::RecordingLink link_;
  std::shared_ptr<StatusCounts> counts_ = std::make_shared<StatusCounts>();
  std::vector<LaterResponse> later_;
  std::unique_ptr<HttpProtocol> protocol_;
  std::string unread_;
};

TEST_F(HttpProtocolTest, ReadsNoFurtherAtTheMostRequestsUnderWayAndGoesOnWithTheFirstAnswer) {
  for (std::size_t i = 0; i < kMaxInFlight; ++i) offer(get("/later"));
  EXPECT_FALSE(link_.paused) << "as many as may be";
  offer(get("/later"));
  EXPECT_EQ(later_.size(), kMaxInFlight);
  EXPECT_TRUE(link_.paused);
  EXPECT_EQ(unread_, get("/later")) << "it is offered again";
  answer(1);
  EXPECT_TRUE(link_.paused) << "the first is still waited for, so nothing can be sent";
  answer(0);
  EXPECT_FALSE(link_.paused);
  EXPECT_EQ(bodies(), "later 0|later 1");
  offer("");
  EXPECT_EQ(later_.size(), kMaxInFlight + 1);
}

TEST_F(HttpProtocolTest, AnswersInTheOrderOfTheRequestsWhateverIsReadyFirst) {
  offer(get("/later") + get("/now") + get("/later") + get("/nowhere") + get("/now"));
  EXPECT_THAT(link_.sent, IsEmpty());
  EXPECT_TRUE(protocol_->waiting());
  EXPECT_FALSE(protocol_->idle());
  answer(1);
  EXPECT_THAT(link_.sent, IsEmpty());
  answer(0);
  EXPECT_THAT(bodies(), StartsWith("later 0|now /now|later 1|{\"type\":"));
  EXPECT_FALSE(protocol_->waiting());
  EXPECT_TRUE(protocol_->idle());
  EXPECT_EQ(counts_->of_class(2), 4U);
  EXPECT_EQ(counts_->of_class(4), 1U);
}

TEST_F(HttpProtocolTest, StopsWhereItIsWhileThePeerDoesNotTakeItsAnswers) {
  link_.output_limit = 1;
  offer(get("/now") + get("/now"));
  EXPECT_EQ(bodies(), "now /now");
  EXPECT_EQ(unread_, get("/now"));
  offer("");
  EXPECT_EQ(bodies(), "now /now");
  EXPECT_THAT(unread_, IsEmpty());
}

TEST_F(HttpProtocolTest, NothingAfterTheLastRequestIsRead) {
  offer(get("/now", "Connection: close\r\n") + get("/now"));
  EXPECT_EQ(bodies(), "now /now");
  EXPECT_TRUE(link_.is_closed);
  EXPECT_THAT(unread_, IsEmpty()) << "the rest is dropped";
}

TEST_F(HttpProtocolTest, ALastRequestThatIsAnsweredLaterEndsTheConnectionThen) {
  offer(get("/later", "Connection: close\r\n") + get("/now"));
  EXPECT_FALSE(link_.is_closed);
  EXPECT_EQ(later_.size(), 1U);
  answer(0);
  EXPECT_THAT(link_.sent, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(bodies(), "later 0");
  EXPECT_TRUE(link_.is_closed);
}

TEST_F(HttpProtocolTest, ALastAnswerBehindALaterOneEndsTheConnectionWhenItIsSent) {
  offer(get("/later") + get("/now", "Connection: close\r\n") + get("/later"));
  EXPECT_EQ(later_.size(), 1U) << "nothing is read behind the last";
  EXPECT_FALSE(link_.is_closed);
  answer(0);
  EXPECT_EQ(bodies(), "later 0|now /now");
  EXPECT_TRUE(link_.is_closed);
}

TEST_F(HttpProtocolTest, AMessageThatBreaksTheRulesIsRefusedAndEndsTheConnection) {
  offer("GET / HTTP/1.1\r\n\r\n" + get("/now"));
  EXPECT_THAT(link_.sent, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(link_.sent, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(link_.sent, HasSubstr("the Host field is missing"));
  EXPECT_THAT(link_.sent, Not(HasSubstr("now /now")));
  EXPECT_TRUE(link_.is_closed);
  EXPECT_THAT(unread_, IsEmpty());
}

TEST_F(HttpProtocolTest, SaysContinueOnceToAClientThatWaitsForIt) {
  const std::string head = post_head(3, "Expect: 100-continue\r\n");
  offer(head.substr(0, head.size() - 1));
  EXPECT_THAT(link_.sent, IsEmpty()) << "the head is not complete";
  offer(head.substr(head.size() - 1));
  EXPECT_EQ(link_.take(), "HTTP/1.1 100 Continue\r\n\r\n");
  offer("a");
  EXPECT_THAT(link_.sent, IsEmpty());
  offer("bc");
  EXPECT_EQ(bodies(), "now /nowabc");
  EXPECT_EQ(counts_->of_class(1), 1U);
  // The next message is asked about again.
  offer(head);
  EXPECT_EQ(link_.take(), "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST_F(HttpProtocolTest, DoesNotSayContinueToAClientThatHasBegunToSend) {
  offer(post_head(3, "Expect: 100-continue\r\n") + "a");
  EXPECT_THAT(link_.sent, IsEmpty());
  offer("bc");
  EXPECT_EQ(bodies(), "now /nowabc");
}

TEST_F(HttpProtocolTest, ReservesMemoryForALargeMessageAndGivesItBackAfterIt) {
  const std::string small = post_head(1'000);
  offer(small);
  EXPECT_EQ(link_.reserved, 0U) << "a small one needs no call";
  offer(std::string(1'000, 'x'));
  const std::string large = post_head(500'000);
  offer(large);
  EXPECT_EQ(link_.reserved, large.size() + 500'000);
  offer(std::string(500'000, 'y'));
  EXPECT_EQ(link_.reserved, 0U);
  EXPECT_THAT(bodies(), HasSubstr("|now /nowyyy"));
}

TEST_F(HttpProtocolTest, ALargeMessageWaitsForMemory) {
  link_.memory = 100'000;
  offer(post_head(500'000, "Expect: 100-continue\r\n"));
  EXPECT_TRUE(link_.awaits_memory);
  EXPECT_THAT(link_.sent, IsEmpty()) << "a client without room is not told to go on";
  link_.memory = 1'000'000;
  offer("");
  EXPECT_EQ(link_.take(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_GT(link_.reserved, 500'000U);
}

TEST_F(HttpProtocolTest, AShortageIsTold) {
  offer(post_head(500'000));
  protocol_->on_shortage();
  EXPECT_THAT(link_.sent, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(link_.sent, HasSubstr("\r\nRetry-After: 1\r\n"));
}

TEST_F(HttpProtocolTest, OnlyAMessageThatHasBegunTimesOut) {
  protocol_->on_timeout();
  EXPECT_THAT(link_.sent, IsEmpty());
  offer("GET /n");
  EXPECT_FALSE(protocol_->idle());
  protocol_->on_timeout();
  EXPECT_THAT(link_.sent, StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(link_.is_closed);
}

TEST_F(HttpProtocolTest, NothingIsSaidInFrontOfAnAnswerThatIsOwed) {
  offer(get("/later") + "GET /n");
  protocol_->on_timeout();
  protocol_->on_shortage();
  EXPECT_THAT(link_.sent, IsEmpty());
  answer(0);
  EXPECT_EQ(bodies(), "later 0");
}

TEST_F(HttpProtocolTest, AnIdleConnectionAnswersOneMoreRequestBeforeItDrains) {
  EXPECT_TRUE(protocol_->on_drain_soon());
  offer(get("/now"));
  EXPECT_THAT(link_.sent, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_TRUE(link_.is_closed);
}

TEST_F(HttpProtocolTest, ABusyConnectionDrainsAtOnce) {
  offer(get("/later"));
  EXPECT_FALSE(protocol_->on_drain_soon());
}

TEST_F(HttpProtocolTest, DrainingClosesWhatIsIdle) {
  offer(get("/now"));
  EXPECT_FALSE(link_.is_closed);
  protocol_->on_drain();
  EXPECT_TRUE(link_.is_closed);
}

TEST_F(HttpProtocolTest, DrainingLetsAMessageThatHasBegunComeToItsEnd) {
  offer("GET /now HT");
  protocol_->on_drain();
  EXPECT_FALSE(link_.is_closed);
  offer("TP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(link_.sent, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(bodies(), "now /now");
  EXPECT_TRUE(link_.is_closed);
}

TEST_F(HttpProtocolTest, DrainingSendsWhatIsOwedAndReadsNothingMore) {
  offer(get("/later") + get("/later"));
  protocol_->on_drain();
  EXPECT_FALSE(link_.is_closed);
  offer(get("/now"));
  answer(0);
  EXPECT_FALSE(link_.is_closed);
  EXPECT_THAT(link_.sent, Not(HasSubstr("Connection: close"))) << "one more follows";
  answer(1);
  EXPECT_THAT(link_.sent, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(bodies(), "later 0|later 1");
  EXPECT_TRUE(link_.is_closed);
}

TEST_F(HttpProtocolTest, AStreamGoesOnUntilItsSourceEndsItAndEndsTheConnection) {
  offer(get("/stream"));
  EXPECT_THAT(link_.take(), testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("text/event-stream"),
                                           HasSubstr("Connection: close"), Not(HasSubstr("Content-Length"))));
  EXPECT_TRUE(protocol_->waiting());
  source()->writer->write("one\n");
  EXPECT_EQ(link_.take(), "one\n");
  source()->writer->write("two\n");
  source()->writer->end();
  EXPECT_EQ(link_.take(), "two\n");
  EXPECT_TRUE(link_.is_closed);
  EXPECT_EQ(source(), nullptr);
}

TEST_F(HttpProtocolTest, NothingBehindAStreamIsRead) {
  offer(get("/stream") + get("/now"));
  EXPECT_THAT(link_.take(), Not(HasSubstr("now /now")));
  offer(get("/now"));
  EXPECT_THAT(link_.take(), IsEmpty());
}

TEST_F(HttpProtocolTest, AStreamBehindAnAnswerThatIsNotReadyWaitsForIt) {
  offer(get("/later") + get("/stream"));
  EXPECT_TRUE(source()->writer->congested());
  source()->writer->write("one\n");
  EXPECT_THAT(link_.take(), IsEmpty());
  answer(0);
  const std::string sent = link_.take();
  EXPECT_LT(sent.find("later 0"), sent.find("text/event-stream"));
  EXPECT_TRUE(sent.ends_with("\r\n\r\none\n"));
  source()->writer->write("two\n");
  EXPECT_EQ(link_.take(), "two\n");
}

TEST_F(HttpProtocolTest, AStreamWhoseReaderIsSlowIsCongested) {
  offer(get("/stream"));
  EXPECT_FALSE(source()->writer->congested());
  source()->writer->write(std::string(std::size_t{100} << 10, 'x'));
  EXPECT_TRUE(source()->writer->congested());
  link_.take();
  EXPECT_FALSE(source()->writer->congested());
}

TEST_F(HttpProtocolTest, AStreamEndsWhenTheServerDrains) {
  offer(get("/stream"));
  protocol_->on_drain();
  EXPECT_TRUE(link_.is_closed);
  EXPECT_EQ(source(), nullptr);
}

TEST_F(HttpProtocolTest, TheHeadOfAStreamIsAnsweredWithoutOne) {
  offer("HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(link_.take(), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_FALSE(protocol_->waiting());
}

}  // namespace
}  // namespace weir::http
