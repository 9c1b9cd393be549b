#include "identity/proxy_protocol.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::identity {
namespace {

using State = ProxyHeader::State;

std::string binary(int command, int family, const std::string& block) {
  std::string bytes("\r\n\r\n\0\r\nQUIT\n", 12);
  bytes += static_cast<char>(0x20 | command);
  bytes += static_cast<char>(family);
  bytes += static_cast<char>(block.size() >> 8);
  bytes += static_cast<char>(block.size() & 0xff);
  return bytes + block;
}

const std::string kIpv4Block("\xcb\x00\x71\x09\x0a\x00\x00\x01\x12\x67\x01\xbb",
                             12);  // 203.0.113.9:4711 → 10.0.0.1:443

std::string ipv6_block() {
  std::string block(36, '\0');
  block[0] = 0x20;
  block[1] = 0x01;
  block[2] = 0x0d;
  block[3] = static_cast<char>(0xb8);
  block[15] = 9;
  block[33] = 80;
  return block;
}

TEST(ProxyProtocol, ReadsTheLineOfVersion1) {
  const ProxyHeader v4 = parse_proxy_header("PROXY TCP4 203.0.113.9 10.0.0.1 4711 443\r\nGET /");
  ASSERT_EQ(v4.state, State::complete);
  EXPECT_EQ(v4.length, 42u);
  EXPECT_EQ(base::ip_text(v4.source.value()), "203.0.113.9");
  EXPECT_EQ(v4.source_port, 4711);
  const ProxyHeader v6 = parse_proxy_header("PROXY TCP6 2001:db8::9 2001:db8::1 65535 0\r\n");
  ASSERT_EQ(v6.state, State::complete);
  EXPECT_EQ(base::ip_text(v6.source.value()), "2001:db8::9");
  const ProxyHeader unknown = parse_proxy_header("PROXY UNKNOWN whatever 1 2 3\r\n");
  ASSERT_EQ(unknown.state, State::complete);
  EXPECT_EQ(unknown.length, 30u);
  EXPECT_FALSE(unknown.source);
}

TEST(ProxyProtocol, RefusesLinesThatAreNotExact) {
  for (const char* line :
       {"PROXY TCP4 203.0.113.9 10.0.0.1 4711\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 4711 443 5\r\n",
        "PROXY TCP4  203.0.113.9 10.0.0.1 4711 443\r\n", "PROXY TCP4 2001:db8::9 2001:db8::1 1 2\r\n",
        "PROXY TCP6 203.0.113.9 10.0.0.1 1 2\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 65536 443\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 04711 443\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 -1 443\r\n",
        "PROXY UDP4 203.0.113.9 10.0.0.1 4711 443\r\n", "PROXY \r\n", "proxy TCP4 203.0.113.9 10.0.0.1 1 2\r\n",
        "GET / HTTP/1.1\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 4711 443 \r\n"}) {
    EXPECT_EQ(parse_proxy_header(line).state, State::malformed) << line;
  }
}

TEST(ProxyProtocol, ALineMayNotGoOnForEver) {
  const std::string start = "PROXY UNKNOWN ";
  const std::string longest = start + std::string(kMaxProxyLine - start.size() - 2, 'x') + "\r\n";
  EXPECT_EQ(parse_proxy_header(longest).state, State::complete);
  EXPECT_EQ(parse_proxy_header(start + std::string(kMaxProxyLine - start.size() - 1, 'x')).state, State::incomplete);
  EXPECT_EQ(parse_proxy_header(start + std::string(kMaxProxyLine - start.size(), 'x')).state, State::malformed);
  EXPECT_EQ(parse_proxy_header(start + std::string(kMaxProxyLine, 'x') + "\r\n").state, State::malformed);
}

TEST(ProxyProtocol, ReadsTheBlockOfVersion2) {
  const ProxyHeader v4 = parse_proxy_header(binary(1, 0x11, kIpv4Block) + "GET /");
  ASSERT_EQ(v4.state, State::complete);
  EXPECT_EQ(v4.length, 28u);
  EXPECT_EQ(base::ip_text(v4.source.value()), "203.0.113.9");
  EXPECT_EQ(v4.source_port, 4711);
  const ProxyHeader v6 = parse_proxy_header(binary(1, 0x21, ipv6_block() + std::string(40, 'T')));
  ASSERT_EQ(v6.state, State::complete);
  EXPECT_EQ(v6.length, 16u + 36u + 40u) << "TLVs are skipped";
  EXPECT_EQ(base::ip_text(v6.source.value()), "2001:db8::9");
  EXPECT_EQ(v6.source_port, 80);
}

TEST(ProxyProtocol, LocalAndAddresslessConnectionsHaveNoSource) {
  for (const std::string& bytes : {binary(0, 0x11, kIpv4Block), binary(0, 0x00, ""), binary(0, 0xff, "?"),
                                   binary(1, 0x00, ""), binary(1, 0x31, std::string(216, 'u'))}) {
    const ProxyHeader header = parse_proxy_header(bytes);
    EXPECT_EQ(header.state, State::complete);
    EXPECT_EQ(header.length, bytes.size());
    EXPECT_FALSE(header.source);
  }
}

TEST(ProxyProtocol, EveryTruncationIsIncompleteNeverWrong) {
  for (const std::string& whole :
       {binary(1, 0x11, kIpv4Block), binary(1, 0x21, ipv6_block() + "tlv"), binary(0, 0x00, ""),
        std::string("PROXY TCP4 203.0.113.9 10.0.0.1 4711 443\r\n"), std::string("PROXY UNKNOWN\r\n")}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_EQ(parse_proxy_header(std::string_view(whole).substr(0, length)).state, State::incomplete) << length;
    }
    EXPECT_EQ(parse_proxy_header(whole).state, State::complete);
  }
}

TEST(ProxyProtocol, RefusesShortBlocksWrongVersionsAndGiants) {
  for (std::size_t length = 0; length < 12; ++length) {
    EXPECT_EQ(parse_proxy_header(binary(1, 0x11, kIpv4Block.substr(0, length))).state, State::malformed) << length;
  }
  EXPECT_EQ(parse_proxy_header(binary(1, 0x21, std::string(35, 'x'))).state, State::malformed);
  EXPECT_EQ(parse_proxy_header(binary(1, 0x31, std::string(215, 'x'))).state, State::malformed);
  EXPECT_EQ(parse_proxy_header(binary(1, 0x12, kIpv4Block)).state, State::malformed) << "UDP";
  EXPECT_EQ(parse_proxy_header(binary(2, 0x11, kIpv4Block)).state, State::malformed) << "unknown command";
  std::string version3 = binary(1, 0x11, kIpv4Block);
  version3[12] = 0x31;
  EXPECT_EQ(parse_proxy_header(version3).state, State::malformed);
  const std::string giant = binary(1, 0x11, std::string(kMaxProxyBinary - 15, 'x'));
  EXPECT_EQ(parse_proxy_header(giant.substr(0, 16)).state, State::malformed) << "known from its length alone";
  EXPECT_EQ(parse_proxy_header(binary(1, 0x11, std::string(kMaxProxyBinary - 16, 'x'))).state, State::complete);
}

}  // namespace
}  // namespace weir::identity
