#include "measure/wire/toeplitz.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "tests/support/frames.h"

namespace heddle::bench {
namespace {

using test::ip;

// "Verifying the RSS Hash Calculation", Microsoft: source, destination, hash of addresses, hash with TCP ports.
struct Vector {
  FiveTuple flow;
  uint32_t addresses, with_ports;
};
const Vector kVectors[] = {
    {{ip(66, 9, 149, 187), ip(161, 142, 100, 80), 2794, 1766, kTcp}, 0x323e8fc2, 0x51ccc178},
    {{ip(199, 92, 111, 2), ip(65, 69, 140, 83), 14230, 4739, kTcp}, 0xd718262a, 0xc626b0ea},
    {{ip(24, 19, 198, 95), ip(12, 22, 207, 184), 12898, 38024, kTcp}, 0xd2d0a5de, 0x5c2b394a},
    {{ip(38, 27, 205, 30), ip(209, 142, 163, 6), 48228, 2217, kTcp}, 0x82989176, 0xafc7327f},
    {{ip(153, 39, 163, 191), ip(202, 188, 127, 2), 44251, 1303, kTcp}, 0x5d1809c5, 0x10e828a2},
};

TEST(Toeplitz, PublishedVectors) {
  for (auto& vector : kVectors) {
    FiveTuple flow = vector.flow;
    EXPECT_EQ(toeplitz_hash(flow, kMicrosoftKey), vector.with_ports);
    flow.protocol = 47;  // no ports
    EXPECT_EQ(toeplitz_hash(flow, kMicrosoftKey), vector.addresses);
  }
}

// The same document's of IPv6.
TEST(Toeplitz, PublishedVectorsOfIp6) {
  struct {
    const char *source, *destination;
    uint16_t source_port, destination_port;
    uint32_t addresses, with_ports;
  } const vectors[] = {
      {"3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d},
      {"3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf},
      {"3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4b61e985, 0x02d1feef},
  };
  for (auto& vector : vectors) {
    Ip6Addresses ip6;
    ASSERT_EQ(inet_pton(AF_INET6, vector.source, ip6.source.data()), 1);
    ASSERT_EQ(inet_pton(AF_INET6, vector.destination, ip6.destination.data()), 1);
    FiveTuple flow{0, 0, vector.source_port, vector.destination_port, kTcp};
    EXPECT_EQ(toeplitz_hash(flow, ip6, kMicrosoftKey), vector.with_ports);
    const FiveTuple back{0, 0, vector.destination_port, vector.source_port, kTcp};
    EXPECT_EQ(toeplitz_hash(flow, ip6, kSymmetricKey),
              toeplitz_hash(back, {ip6.destination, ip6.source}, kSymmetricKey));
    flow.protocol = 47;  // no ports
    EXPECT_EQ(toeplitz_hash(flow, ip6, kMicrosoftKey), vector.addresses);
  }
}

TEST(Toeplitz, SymmetricKeyGivesBothDirectionsTheSame) {
  for (auto& vector : kVectors) {
    const FiveTuple& flow = vector.flow;
    const FiveTuple back{flow.destination, flow.source, flow.destination_port, flow.source_port, flow.protocol};
    EXPECT_EQ(toeplitz_hash(flow, kSymmetricKey), toeplitz_hash(back, kSymmetricKey));
    EXPECT_NE(toeplitz_hash(flow, kMicrosoftKey), toeplitz_hash(back, kMicrosoftKey));
  }
}

}  // namespace
}  // namespace heddle::bench
