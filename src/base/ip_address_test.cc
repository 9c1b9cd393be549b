#include "base/ip_address.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::base {
namespace {

TEST(IpAddress, HasOneSpelling) {
  EXPECT_EQ(ip_text(parse_ip("2001:DB8:0:0:0:0:0:7").value()), "2001:db8::7");
  EXPECT_EQ(ip_text(parse_ip("::ffff:192.0.2.1").value()), "192.0.2.1");
  EXPECT_EQ(parse_ip("::ffff:c000:201"), parse_ip("192.0.2.1"));
  EXPECT_TRUE(parse_ip("::ffff:192.0.2.1")->is_v4());
  EXPECT_FALSE(parse_ip("::1")->is_v4());
}

TEST(IpAddress, RefusesSpellingsThatOthersReadDifferently) {
  for (const char* text : {"", "127.1", "0177.0.0.1", "192.0.2.01", "0x7f.0.0.1", "256.0.0.1", "1.2.3.4.5", "1.2.3",
                           " 192.0.2.1", "192.0.2.1 ", "fe80::1%eth0", "1::2::3", ":::", "12345::", "2001:db8::1/64",
                           "::ffff:192.0.2.1111111111111111111111111111111"}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
  EXPECT_FALSE(parse_ip(std::string_view("192.0.2.1\0", 10)));
  EXPECT_FALSE(parse_ip(std::string_view("10.0.0.1\0x", 10)));
  EXPECT_FALSE(parse_ip("localhost"));
  EXPECT_FALSE(parse_ip(std::string(4096, '1')));
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

bool within(std::string_view block, std::string_view address) {
  const std::optional<IpPrefix> prefix = IpPrefix::parse(block, HostBits::ignored);
  EXPECT_TRUE(prefix.has_value()) << block;
  const std::optional<IpAddress> parsed = parse_ip(address);
  return prefix && parsed && prefix->contains(*parsed);
}

TEST(IpPrefix, ContainsTheAddressesOfItsBlock) {
  EXPECT_TRUE(within("10.0.0.0/8", "10.255.0.1"));
  EXPECT_FALSE(within("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(within("192.0.2.128/25", "192.0.2.129"));
  EXPECT_FALSE(within("192.0.2.128/25", "192.0.2.127"));
  EXPECT_TRUE(within("192.0.2.7/24", "192.0.2.9")) << "bits beyond the length are ignored";
  EXPECT_TRUE(within("192.0.2.7/32", "192.0.2.7"));
  EXPECT_FALSE(within("192.0.2.7", "192.0.2.8"));
  EXPECT_TRUE(within("0.0.0.0/0", "203.0.113.5"));
  EXPECT_TRUE(within("2001:db8::/32", "2001:0DB8:1::1"));
  EXPECT_FALSE(within("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(within("2001:db8::1", "2001:DB8:0::1"));
  EXPECT_TRUE(within("::1/128", "::1"));
}

TEST(IpPrefix, TreatsMappedAddressesAsIpv4) {
  EXPECT_TRUE(within("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_TRUE(within("::ffff:10.0.0.0/104", "10.1.2.3"));
  EXPECT_FALSE(within("::/0", "10.1.2.3"));
  EXPECT_FALSE(within("::/0", "::ffff:10.1.2.3"));
  EXPECT_FALSE(within("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(within("::ffff:10.0.0.0/8", "::1")) << "eight bits of an IPv6 address";
  EXPECT_FALSE(within("::ffff:10.0.0.0/8", "10.1.2.3"));
}

// Bit by bit, without the shortcuts of contains().
TEST(IpPrefix, ContainsAgreesWithNetworkOf) {
  const IpAddress v6 = parse_ip("2001:db8:a5a5:5a5a:ff00:ff:8001:7ffe").value();
  const IpAddress v4 = parse_ip("203.0.113.90").value();
  for (const IpAddress& address : {v6, v4}) {
    for (int bits = 0; bits <= address.width(); ++bits) {
      const std::string text = ip_text(network_of(address, bits)) + "/" + std::to_string(bits);
      const IpPrefix prefix = IpPrefix::parse(text).value();
      for (int flipped = 0; flipped < address.width(); ++flipped) {
        IpAddress other = address;
        const int at = kIpv6Bits - address.width() + flipped;
        other.bytes[static_cast<std::size_t>(at / 8)] ^= static_cast<std::uint8_t>(0x80 >> at % 8);
        EXPECT_EQ(prefix.contains(other), flipped >= bits) << text << " with bit " << flipped << " flipped";
      }
    }
  }
}

TEST(IpPrefix, RefusesWhatIsNotAPrefix) {
  for (const char* text : {"", "/8", "10/8", "10.0.0/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08",
                           "10.0.0.0/8x", "10.0.0.0/8/8", "::/129", "2001:db8::/129", "2001:db8::g/32", "fe80::1%eth0",
                           "300.0.0.1", "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111"}) {
    EXPECT_FALSE(IpPrefix::parse(text)) << text;
    EXPECT_FALSE(IpPrefix::parse(text, HostBits::ignored)) << text;
  }
}

TEST(IpPrefix, RefusesHostBitsUnlessTheyAreIgnored) {
  for (const char* text : {"10.0.0.1/8", "192.0.2.128/24", "2001:db8::1/64", "::ffff:10.0.0.0/8"}) {
    EXPECT_FALSE(IpPrefix::parse(text)) << text;
    EXPECT_TRUE(IpPrefix::parse(text, HostBits::ignored)) << text;
  }
}

}  // namespace
}  // namespace weir::base
