#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

TEST(IpAddress, KnowsOneSpellingPerAddress) {
  EXPECT_EQ(ip_text(parse_ip("2001:DB8:0:0:0:0:0:7").value()), "2001:db8::7");
  EXPECT_EQ(ip_text(parse_ip("::ffff:192.0.2.1").value()), "192.0.2.1");
  EXPECT_EQ(parse_ip("::ffff:c000:201"), parse_ip("192.0.2.1"));
  EXPECT_TRUE(parse_ip("::ffff:192.0.2.1")->is_v4());
  EXPECT_FALSE(parse_ip("::1")->is_v4());
}

TEST(IpAddress, RefusesWhatOthersReadDifferently) {
  for (const char* text : {"", "127.1", "0177.0.0.1", "192.0.2.01", "0x7f.0.0.1", "256.0.0.1", "1.2.3.4.5", "1.2.3",
                           " 192.0.2.1", "192.0.2.1 ", "fe80::1%eth0", "1::2::3", ":::", "12345::", "2001:db8::1/64",
                           "::ffff:192.0.2.1111111111111111111111111111111"}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
  EXPECT_FALSE(parse_ip(std::string_view("192.0.2.1\0", 10)));
}

TEST(IpAddress, PrefixTextClearsTheRest) {
  const IpAddress v4 = parse_ip("203.0.113.77").value();
  EXPECT_EQ(prefix_text(v4, 32), "203.0.113.77");
  EXPECT_EQ(prefix_text(v4, 24), "203.0.113.0/24");
  EXPECT_EQ(prefix_text(v4, 25), "203.0.113.0/25");
  EXPECT_EQ(prefix_text(v4, 26), "203.0.113.64/26");
  EXPECT_EQ(prefix_text(v4, 0), "0.0.0.0/0");
  const IpAddress v6 = parse_ip("2001:db8:1:2:3:4:5:6").value();
  EXPECT_EQ(prefix_text(v6, 64), "2001:db8:1:2::/64");
  EXPECT_EQ(prefix_text(v6, 47), "2001:db8::/47");
  EXPECT_EQ(prefix_text(v6, 128), "2001:db8:1:2:3:4:5:6");
}

TEST(IpPrefix, ContainsItsOwnFamilyOnly) {
  const IpPrefix ten = IpPrefix::parse("10.0.0.0/8").value();
  EXPECT_TRUE(ten.contains(*parse_ip("10.255.255.255")));
  EXPECT_TRUE(ten.contains(*parse_ip("::ffff:10.1.2.3")));
  EXPECT_FALSE(ten.contains(*parse_ip("11.0.0.0")));
  EXPECT_FALSE(ten.contains(*parse_ip("a00::")));
  EXPECT_FALSE(IpPrefix::parse("::/0")->contains(*parse_ip("10.0.0.1")));
  EXPECT_FALSE(IpPrefix::parse("0.0.0.0/0")->contains(*parse_ip("::1")));
  EXPECT_TRUE(IpPrefix::parse("0.0.0.0/0")->contains(*parse_ip("255.255.255.255")));
  const IpPrefix one = IpPrefix::parse("2001:db8::1").value();
  EXPECT_TRUE(one.contains(*parse_ip("2001:db8::1")));
  EXPECT_FALSE(one.contains(*parse_ip("2001:db8::2")));
}

TEST(IpPrefix, RefusesSlips) {
  for (const char* text : {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/8x",
                           "2001:db8::/129", "/8", "10.0.0.0/8/8", "10/8"}) {
    EXPECT_FALSE(IpPrefix::parse(text)) << text;
  }
}

}  // namespace
}  // namespace weir::base
