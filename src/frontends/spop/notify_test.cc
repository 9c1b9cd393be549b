// Arguments of HAProxy's messages as a request: values as texts that stay good, cost and peek, what cannot be.
#include "frontends/spop/notify.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/test_frames.h"
#include "weir/allowance.h"

namespace weir::spop {
namespace {

using Found = NotifyReader::Found;

// The payload of a frame with one message.
std::string message(const std::vector<std::string>& arguments) {
  std::string payload;
  put_string(payload, "weir-check");
  payload += static_cast<char>(arguments.size());
  for (const std::string& argument : arguments) payload += argument;
  return payload;
}

// ::1, ::2 …
std::string address(const std::string& name, int last) {
  std::string bytes(15, '\0');
  return raw(name, "\x07" + bytes + static_cast<char>(last));
}

class NotifyTest : public testing::Test {
 protected:
  Found read(const std::vector<std::string>& arguments) {
    payload_ = message(arguments);
    return reader_.read(payload_, request_);
  }
  std::string value(std::size_t i) const { return std::string(request_.attributes[i].value); }

  NotifyReader reader_;
  Request request_;
  std::string payload_;
};

TEST_F(NotifyTest, AsManyAttributesAsThereMayBeAllKeepTheirTexts) {
  std::vector<std::string> arguments;
  for (int i = 1; i <= static_cast<int>(kMaxAttributes); ++i) arguments.push_back(address("a", i));
  ASSERT_EQ(read(arguments), Found::request);
  ASSERT_EQ(request_.attributes.size(), kMaxAttributes);
  EXPECT_EQ(value(0), "::1");
  EXPECT_EQ(value(9), "::a");
  EXPECT_EQ(value(kMaxAttributes - 1), "::40");
  arguments.push_back(address("a", 1));
  EXPECT_EQ(read(arguments), Found::unacceptable);
}

TEST_F(NotifyTest, ALongConnectionUsesTheSameMemoryForEveryRequest) {
  ASSERT_EQ(read({number("n", 1234567)}), Found::request);
  const char* const text = request_.attributes[0].value.data();
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(read({number("n", 1234567)}), Found::request);
  EXPECT_EQ(request_.attributes[0].value.data(), text);
  EXPECT_EQ(value(0), "1234567");
}

TEST_F(NotifyTest, NothingOfARequestIsLeftInTheNext) {
  ASSERT_EQ(read({text("a", "b"), number("cost", 7), raw("peek", "\x11")}), Found::request);
  EXPECT_EQ(request_.cost.units, 7);
  EXPECT_TRUE(request_.peek);
  ASSERT_EQ(read({text("c", "d")}), Found::request);
  EXPECT_EQ(request_.attributes.size(), 1U);
  EXPECT_EQ(request_.cost.units, 1);
  EXPECT_FALSE(request_.peek);
}

TEST_F(NotifyTest, EachTypeOfValueHasOneText) {
  const auto shown = [this](const std::string& bytes) {
    EXPECT_EQ(read({raw("v", bytes)}), Found::request);
    return request_.attributes.empty() ? "no attribute" : value(0);
  };
  EXPECT_EQ(shown(std::string("\x00", 1)), "no attribute");
  EXPECT_EQ(shown("\x01"), "false");
  EXPECT_EQ(shown("\x11"), "true");
  EXPECT_EQ(shown("\x02\x05"), "5");
  EXPECT_EQ(shown(std::string("\x06\xc0\x00\x02\x07", 5)), "192.0.2.7");
  EXPECT_EQ(shown("\x08\x03xyz"), "xyz");
  EXPECT_EQ(shown("\x09\x02hi"), "hi");
  EXPECT_EQ(read({number("v", -3)}), Found::request);
  EXPECT_EQ(value(0), "-3");
}

TEST_F(NotifyTest, SrcIsTheAddress) {
  ASSERT_EQ(read({text("src", "192.0.2.7"), text("source", "x")}), Found::request);
  EXPECT_EQ(request_.attributes[0].name, "ip");
  EXPECT_EQ(request_.attributes[1].name, "source");
}

TEST_F(NotifyTest, ACostIsAWholeNumberFromZeroToTheMost) {
  const auto cost = [this](const std::string& argument) {
    return read({argument, text("a", "b")}) == Found::request ? request_.cost.units : -1;
  };
  EXPECT_EQ(cost(number("cost", 0)), 0);
  EXPECT_EQ(cost(number("cost", kMaxUnits)), kMaxUnits);
  EXPECT_EQ(cost(number("cost", kMaxUnits + 1)), -1);
  EXPECT_EQ(cost(number("cost", -1)), -1);
  EXPECT_EQ(cost(text("cost", "0")), 0);
  EXPECT_EQ(cost(text("cost", "12")), 12);
  EXPECT_EQ(cost(text("cost", "")), -1);
  EXPECT_EQ(cost(text("cost", "1x")), -1);
  EXPECT_EQ(cost(text("cost", "1000000000001")), -1);
  EXPECT_EQ(cost(raw("cost", "\x11")), -1) << "a boolean is no cost";
  EXPECT_EQ(cost(raw("cost", std::string("\x00", 1))), 1) << "without a value it is the default";
}

TEST_F(NotifyTest, APeekIsAnythingThatMeansTrue) {
  const auto peek = [this](const std::string& argument) {
    EXPECT_EQ(read({argument}), Found::request);
    return request_.peek;
  };
  EXPECT_TRUE(peek(raw("peek", "\x11")));
  EXPECT_FALSE(peek(raw("peek", "\x01")));
  EXPECT_TRUE(peek(number("peek", 2)));
  EXPECT_FALSE(peek(number("peek", 0)));
  EXPECT_TRUE(peek(text("peek", "1")));
  EXPECT_TRUE(peek(text("peek", "true")));
  EXPECT_FALSE(peek(text("peek", "no")));
  EXPECT_FALSE(peek(text("peek", "")));
}

TEST_F(NotifyTest, HeadersMakeItAClientsRequestWhateverElseIsWrong) {
  EXPECT_EQ(read({text("headers", "")}), Found::client);
  EXPECT_EQ(read({number("cost", -1), text("headers", "")}), Found::client);
  EXPECT_EQ(read({text("headers", ""), text("", "nameless")}), Found::client);
  EXPECT_EQ(read({raw("headers", std::string("\x00", 1))}), Found::client) << "its presence counts";
}

TEST_F(NotifyTest, OneThatCannotBeSpoilsTheRequestWhereverItStands) {
  const std::string wrong = number("cost", -1);
  EXPECT_EQ(read({wrong, text("a", "b")}), Found::unacceptable);
  EXPECT_EQ(read({text("a", "b"), wrong}), Found::unacceptable);
  EXPECT_EQ(read({text("a", std::string(kMaxAttributeValue, 'x'))}), Found::request);
  EXPECT_EQ(read({text("a", std::string(kMaxAttributeValue + 1, 'x'))}), Found::unacceptable);
  EXPECT_EQ(read({text(std::string(kMaxAttributeName, 'n'), "x")}), Found::request);
  EXPECT_EQ(read({text(std::string(kMaxAttributeName + 1, 'n'), "x")}), Found::unacceptable);
}

TEST_F(NotifyTest, MessagesOfOneFrameAreOneRequest) {
  payload_ = message({text("a", "b")}) + message({text("c", "d"), number("cost", 2)});
  ASSERT_EQ(reader_.read(payload_, request_), Found::request);
  EXPECT_EQ(request_.attributes.size(), 2U);
  EXPECT_EQ(request_.cost.units, 2);
  payload_.pop_back();
  EXPECT_EQ(reader_.read(payload_, request_), Found::malformed);
}

}  // namespace
}  // namespace weir::spop
