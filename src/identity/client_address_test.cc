#include "identity/client_address.h"

#include <gtest/gtest.h>

namespace weir::identity {
namespace {

const std::vector<std::string> kProxies = {"10.0.0.0/8", "fd00::/8"};

ClientAddress proxies(ForwardingHeader header = ForwardingHeader::x_forwarded_for) {
  return ClientAddress::create(kProxies, header).value();
}

std::string client(const ClientAddress& addresses, const char* peer, std::vector<std::string_view> lines) {
  return base::ip_text(addresses.resolve(base::parse_ip(peer).value(), lines));
}

struct Case {
  const char* what;
  const char* peer;
  std::vector<std::string_view> lines;
  const char* client;
};

// What a client can write itself never counts.
TEST(ClientAddress, ReadsXForwardedForFromTheRight) {
  const ClientAddress addresses = proxies();
  const std::vector<Case> cases = {
      {"no proxy", "203.0.113.9", {}, "203.0.113.9"},
      {"an untrusted peer's header is not read", "203.0.113.9", {"198.51.100.1"}, "203.0.113.9"},
      {"an untrusted peer cannot pose as a proxy", "203.0.113.9", {"198.51.100.1, 10.0.0.1"}, "203.0.113.9"},
      {"one proxy", "10.0.0.1", {"203.0.113.9"}, "203.0.113.9"},
      {"a spoofed first entry", "10.0.0.1", {"127.0.0.1, 203.0.113.9"}, "203.0.113.9"},
      {"a spoofed chain of our proxies", "10.0.0.1", {"198.51.100.1, 10.0.0.9, 203.0.113.9"}, "203.0.113.9"},
      {"two proxies", "10.0.0.1", {"203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
      {"two lines are one list", "10.0.0.1", {"198.51.100.1", "203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
      {"the last line is the nearest", "10.0.0.1", {"203.0.113.9", "10.0.0.2"}, "203.0.113.9"},
      {"garbage stops at the last trusted hop", "10.0.0.1", {"203.0.113.9, bogus, 10.0.0.2"}, "10.0.0.2"},
      {"garbage at the end", "10.0.0.1", {"203.0.113.9, unknown"}, "10.0.0.1"},
      {"garbage to the left is not reached", "10.0.0.1", {"<script>, 203.0.113.9"}, "203.0.113.9"},
      {"an empty entry", "10.0.0.1", {"203.0.113.9, "}, "10.0.0.1"},
      {"an empty line", "10.0.0.1", {""}, "10.0.0.1"},
      {"all are ours", "10.0.0.1", {"10.0.0.4, 10.0.0.3"}, "10.0.0.4"},
      {"with ports", "10.0.0.1", {"203.0.113.9:4711, 10.0.0.2:80"}, "203.0.113.9"},
      {"IPv6", "fd00::1", {"2001:db8::9"}, "2001:db8::9"},
      {"IPv6 in brackets", "fd00::1", {"[2001:db8::9]:443"}, "2001:db8::9"},
      {"mapped IPv4 of a proxy", "::ffff:10.0.0.1", {"::ffff:203.0.113.9"}, "203.0.113.9"},
      {"a mapped entry that is ours", "10.0.0.1", {"203.0.113.9, ::ffff:10.0.0.2"}, "203.0.113.9"},
      {"a bad port", "10.0.0.1", {"203.0.113.9:port"}, "10.0.0.1"},
      {"an octal spelling", "10.0.0.1", {"0313.0.113.9"}, "10.0.0.1"},
  };
  for (const Case& c : cases) EXPECT_EQ(client(addresses, c.peer, c.lines), c.client) << c.what;
}

TEST(ClientAddress, ReadsForwardedFromTheRight) {
  const ClientAddress addresses = proxies(ForwardingHeader::forwarded);
  const std::vector<Case> cases = {
      {"plain", "10.0.0.1", {"for=203.0.113.9"}, "203.0.113.9"},
      {"any case, more pairs", "10.0.0.1", {"proto=https;By=10.0.0.1 ; FOR=203.0.113.9"}, "203.0.113.9"},
      {"quoted IPv6 with port", "10.0.0.1", {"for=\"[2001:db8::9]:4711\""}, "2001:db8::9"},
      {"two hops", "10.0.0.1", {"for=198.51.100.1, for=203.0.113.9, for=10.0.0.2"}, "203.0.113.9"},
      {"an untrusted peer", "203.0.113.9", {"for=198.51.100.1"}, "203.0.113.9"},
      {"a quote left open cannot swallow a hop", "10.0.0.1", {"for=\"198.51.100.1, for=203.0.113.9"}, "203.0.113.9"},
      {"a comma in quotes is no border", "10.0.0.1", {"for=203.0.113.9;host=\"a,for=1.1.1.1\""}, "203.0.113.9"},
      {"unknown", "10.0.0.1", {"for=203.0.113.9, for=unknown"}, "10.0.0.1"},
      {"hidden", "10.0.0.1", {"for=203.0.113.9, for=_hidden, for=10.0.0.2"}, "10.0.0.2"},
      {"for twice", "10.0.0.1", {"for=203.0.113.9;for=198.51.100.1"}, "10.0.0.1"},
      {"no for", "10.0.0.1", {"proto=https"}, "10.0.0.1"},
      {"an escape", "10.0.0.1", {"for=\"203.0.113.\\9\""}, "10.0.0.1"},
      {"X-Forwarded-For's form", "10.0.0.1", {"203.0.113.9"}, "10.0.0.1"},
  };
  for (const Case& c : cases) EXPECT_EQ(client(addresses, c.peer, c.lines), c.client) << c.what;
}

TEST(ClientAddress, WorkIsBoundedHoweverLongTheHeader) {
  const ClientAddress addresses = proxies();
  std::string hops = "203.0.113.9";
  for (std::size_t i = 0; i < ClientAddress::kMaxHops - 1; ++i) hops += ",10.0.0.2";
  EXPECT_EQ(client(addresses, "10.0.0.1", {hops}), "203.0.113.9");
  EXPECT_EQ(client(addresses, "10.0.0.1", {hops + ",10.0.0.3"}), "10.0.0.2");
  // A megabyte in one entry is garbage, on its left or as the entry itself.
  const std::string long_entry(1 << 20, '1');
  EXPECT_EQ(client(addresses, "10.0.0.1", {long_entry}), "10.0.0.1");
  EXPECT_EQ(client(addresses, "10.0.0.1", {long_entry + ",203.0.113.9"}), "203.0.113.9");
}

TEST(ClientAddress, WithoutProxiesNothingIsTrusted) {
  const ClientAddress addresses = ClientAddress::create({}).value();
  EXPECT_EQ(client(addresses, "127.0.0.1", {"203.0.113.9"}), "127.0.0.1");
}

TEST(ClientAddress, NamesTheProxyThatIsNoPrefix) {
  const std::vector<std::string> list = {"10.0.0.0/8", "10.0.0.1/8"};
  const auto addresses = ClientAddress::create(list);
  ASSERT_FALSE(addresses.ok());
  EXPECT_EQ(addresses.failure().code, Code::invalid_argument);
  EXPECT_NE(addresses.failure().message.find("10.0.0.1/8"), std::string::npos);
}

}  // namespace
}  // namespace weir::identity
