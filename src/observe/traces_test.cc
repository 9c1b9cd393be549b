// Traces: reading traceparent, choosing what is traced, spans of decisions, and their encoding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/protobuf_wire.h"
#include "observe/otlp.h"
#include "observe/trace_observer.h"
#include "observe/traceparent.h"

namespace weir::observe {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr std::string_view kValid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::string with(std::size_t at, std::string_view text) {
  std::string changed(kValid);
  return changed.replace(at, text.size(), text);
}

TEST(Traceparent, HasTraceParentAndFlag) {
  const auto context = parse_traceparent(kValid);
  ASSERT_TRUE(context);
  EXPECT_EQ(trace_id_text(context->trace), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->parent, (SpanId{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}));
  EXPECT_TRUE(context->sampled);
  EXPECT_FALSE(parse_traceparent(with(53, "00"))->sampled);
  EXPECT_TRUE(parse_traceparent(with(53, "03"))->sampled);
  EXPECT_FALSE(parse_traceparent(with(53, "02"))->sampled);
}

TEST(Traceparent, IsRefusedIfAnythingIsWrong) {
  for (const std::string& wrong :
       {std::string(), std::string(kValid.substr(0, 54)), std::string(kValid) + "-", std::string(kValid) + "0",
        with(0, "ff"), with(2, "_"), with(35, "_"), with(52, "_"), with(3, "4B"), with(3, "4g"), with(53, "0x"),
        with(3, std::string(32, '0')), with(36, std::string(16, '0'))}) {
    EXPECT_FALSE(parse_traceparent(wrong)) << wrong;
  }
}

TEST(Traceparent, OfALaterVersionMayBeLonger) {
  EXPECT_TRUE(parse_traceparent(with(0, "01")));
  EXPECT_TRUE(parse_traceparent(with(0, "01") + "-more"));
  EXPECT_FALSE(parse_traceparent(with(0, "01") + "more"));
}

TEST(TraceChoice, FollowsTheCallerAndSamplesTheRest) {
  TraceChoice none(0, 1);
  EXPECT_EQ(none.begin(""), nullptr);
  EXPECT_EQ(none.begin("nonsense"), nullptr);
  EXPECT_TRUE(none.begin(kValid)->sampled);
  EXPECT_FALSE(none.begin(with(53, "00"))->sampled);
  TraceChoice all(1'000'000, 1);
  EXPECT_FALSE(all.begin(with(53, "00"))->sampled) << "the caller has decided";
  const TraceContext first = *all.begin("");
  EXPECT_TRUE(first.sampled);
  EXPECT_EQ(first.parent, SpanId{});
  EXPECT_NE(all.begin("")->trace, first.trace);
  TraceChoice hundredth(10'000, 7);
  int traced = 0;
  for (int i = 0; i < 100'000; ++i) traced += hundredth.begin("") != nullptr ? 1 : 0;
  EXPECT_NEAR(traced, 1'000, 150);
}

TEST(SpanRing, DropsWhatFindsNoRoomAndCountsIt) {
  SpanRing ring(3);
  ASSERT_EQ(ring.capacity(), 4U);
  Span span;
  for (int i = 0; i < 6; ++i) {
    span.cost = i;
    ring.push(span);
  }
  EXPECT_EQ(ring.dropped(), 2U);
  std::vector<Span> out;
  ring.pop(3, out);
  span.cost = 9;
  ring.push(span);
  ring.pop(10, out);
  std::vector<std::int64_t> costs;
  for (const Span& each : out) costs.push_back(each.cost);
  EXPECT_THAT(costs, ElementsAre(0, 1, 2, 3, 9));
  EXPECT_EQ(ring.dropped(), 2U);
}

// The values of a field of bytes, in order.
std::vector<std::string_view> parts(std::string_view message, std::uint32_t field) {
  std::vector<std::string_view> found;
  base::WireReader reader(message);
  while (reader.next()) {
    if (reader.tag() == base::bytes_field(field)) found.push_back(reader.bytes());
  }
  EXPECT_FALSE(reader.failed());
  return found;
}

class TraceObserverTest : public testing::Test {
 protected:
  std::vector<Span> spans_of(const DecisionTimes& times, bool degraded = false) {
    Decision decision;
    decision.degraded = degraded;
    decision.source = degraded ? "fallback" : "redis";
    decision.reason = Reason::ok;
    decision.cost = 3;
    RequestContext context;
    context.trace = &trace_;
    context.times = &times;
    observer_.on_decision(decision, context);
    std::vector<Span> out;
    ring_->pop(10, out);
    return out;
  }

  const TraceContext trace_ = *parse_traceparent(kValid);
  const TimePoint now_ = from_micros(1'800'000'000'000'000);
  const std::shared_ptr<SpanRing> ring_ = std::make_shared<SpanRing>(16);
  TraceObserver observer_{ring_, "redis", "postgresql", 5};
};

TEST_F(TraceObserverTest, MakesSpansOfTheDecisionAndOfWhatItAsked) {
  const auto spans = spans_of(
      {.began = now_, .ended = now_ + 9us, .store = {now_ + 1us, now_ + 4us}, .ledger = {now_ + 4us, now_ + 8us}});
  ASSERT_EQ(spans.size(), 3U);
  const Span& decision = spans[2];
  EXPECT_EQ(decision.parent, trace_.parent);
  EXPECT_EQ(spans[0].step, Span::Step::store);
  EXPECT_EQ(spans[0].parent, decision.id);
  EXPECT_EQ(spans[1].source, "postgresql");
  EXPECT_EQ(spans[1].to - spans[1].from, 4us);
  EXPECT_NE(spans[0].id, spans[1].id);
}

TEST_F(TraceObserverTest, ASpanNeverEndsBeforeItBegins) {
  const auto spans = spans_of({.began = now_, .ended = now_ - 5us, .store = {now_, now_ - 1us}, .ledger = {}});
  ASSERT_EQ(spans.size(), 2U);
  for (const Span& span : spans) EXPECT_GE(span.to, span.from);
}

TEST_F(TraceObserverTest, WithoutTimesThereIsNothing) {
  RequestContext context;
  context.trace = &trace_;
  observer_.on_decision(Decision(), context);
  std::vector<Span> out;
  ring_->pop(10, out);
  EXPECT_TRUE(out.empty());
}

TEST_F(TraceObserverTest, EncodesAsOtlp) {
  const auto spans =
      spans_of({.began = now_, .ended = now_ + 9us, .store = {now_ + 1us, now_ + 4us}, .ledger = {}}, true);
  const std::string request = encode_otlp(spans, {.version = "1.2.3", .instance = "node-1", .region = "eu"});
  const auto resources = parts(request, 1);
  ASSERT_EQ(resources.size(), 1U);
  EXPECT_EQ(parts(parts(resources[0], 1)[0], 1).size(), 4U) << "attributes of the resource";
  const auto encoded = parts(parts(resources[0], 2)[0], 2);
  ASSERT_EQ(encoded.size(), 2U);
  EXPECT_EQ(parts(encoded[0], 5)[0], "weir.store");
  EXPECT_EQ(parts(encoded[0], 15).size(), 1U) << "the store did not answer";
  EXPECT_EQ(parts(encoded[1], 5)[0], "weir.decision");
  EXPECT_EQ(parts(encoded[1], 15).size(), 0U);
  EXPECT_EQ(parts(encoded[1], 1)[0].size(), 16U);
  EXPECT_EQ(parts(encoded[1], 4)[0].size(), 8U);
}

}  // namespace
}  // namespace weir::observe
