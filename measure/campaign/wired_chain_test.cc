#include "measure/campaign/wired_chain.h"

#include <gtest/gtest.h>

#include "click/parser.h"
#include "click/unparse.h"
#include "core/element.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

WiredChain wired(const std::string& text) {
  click::ParseOptions options;
  options.known_classes = Catalog::instance().names();
  click::Diagnostics diagnostics;
  const click::Graph graph = click::parse(text, "chain", options, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  return put_on_wire(graph, [](int i) { return "wire" + std::to_string(i); });
}

std::string chain_of(const WiredChain& wired) {
  return click::unparse_declarations(wired.graph) + click::unparse_connections(wired.graph);
}

TEST(WiredChainTest, APortForEachDevice) {
  const WiredChain chain = wired(
      "a :: FromDevice(eth0, METHOD af_xdp, BURST 32) -> c :: Counter -> b :: ToDevice(eth1, BLOCKING false);"
      "d :: FromDPDKDevice(\"net_tap0,iface=x\", 1, 4) -> e :: ToDPDKDevice(net_tap0)");
  ASSERT_EQ(chain.ports.size(), 3u);
  EXPECT_EQ(chain.ports[0].stands_for, "device eth0");
  EXPECT_TRUE(chain.ports[0].receives && !chain.ports[0].transmits);
  EXPECT_EQ(chain.ports[1].stands_for, "device eth1");
  EXPECT_TRUE(!chain.ports[1].receives && chain.ports[1].transmits);
  EXPECT_EQ(chain.ports[2].stands_for, "device net_tap0");
  EXPECT_TRUE(chain.ports[2].receives && chain.ports[2].transmits);
  EXPECT_EQ(chain.queues, 4);
  EXPECT_TRUE(chain.fed());
  EXPECT_EQ(click::unparse_declarations(chain.graph),
            "a :: FromDPDKDevice(\"wire0\", BURST 32);\n"
            "c :: Counter;\n"
            "b :: ToDPDKDevice(\"wire1\", BLOCKING false);\n"
            "d :: FromDPDKDevice(\"wire2\", QUEUE 1);\n"
            "e :: ToDPDKDevice(\"wire2\");\n");
}

TEST(WiredChainTest, CapturesAreFiles) {
  const WiredChain chain = wired(
      "a :: FromDump(FILENAME in.pcap, STOP true, BURST 2000) -> t :: Tee; t[0] -> ToDump(out.pcap, SNAPLEN 60);"
      "t[1] -> ToDump(\"out.pcap\"); t[2] -> ToDump(other.pcapng)");
  ASSERT_EQ(chain.ports.size(), 3u);
  EXPECT_EQ(chain.ports[0].stands_for, "capture in.pcap");
  EXPECT_EQ(chain.ports[1].stands_for, "capture out.pcap");
  EXPECT_EQ(chain.ports[2].stands_for, "capture other.pcapng");
  EXPECT_EQ(chain_of(chain).find("SNAPLEN"), std::string::npos);
  EXPECT_EQ(chain_of(chain).find("BURST"), std::string::npos);  // a file's burst may be larger than a port's
}

// Elements behind such a source read annotations that a port does not set.
TEST(WiredChainTest, HeadersAreFoundWhereTheSourceHadFoundThem) {
  EXPECT_EQ(chain_of(wired("f :: FromDump(in.pcap, FORCE_IP true) -> d :: DecIPTTL -> s :: ToIPSummaryDump(out)")),
            "f :: FromDPDKDevice(\"wire0\");\nd :: DecIPTTL;\ns :: ToDPDKDevice(\"wire1\");\n"
            "f/MarkIPHeader :: MarkIPHeader(14);\nf/GetIPAddress :: GetIPAddress(30);\n"
            "f -> f/MarkIPHeader\n    -> f/GetIPAddress\n    -> d\n    -> s;\n");
  EXPECT_EQ(click::unparse_declarations(wired("f :: FromIPSummaryDump(in) -> d :: Discard").graph),
            "f :: FromDPDKDevice(\"wire0\");\nd :: Discard;\nf/Strip :: Strip(14);\n"
            "f/MarkIPHeader :: MarkIPHeader(0);\nf/GetIPAddress :: GetIPAddress(16);\n");
}

TEST(WiredChainTest, SoftNicsDriveThePortsOfTheWire) {
  const WiredChain chain = wired(
      "FromGPUPort(a, SOFTNIC \"net_null0,size=64\", QUEUES 2) -> EtherMirror -> ToGPUPort(b, NDESC 512, "
      "SOFTNIC net_null1, QUEUES 2); FromGPUPort(b) -> XOR(1) -> ToGPUPort(a)");
  ASSERT_EQ(chain.ports.size(), 2u);
  for (int i : {0, 1}) {
    EXPECT_EQ(chain.ports[i].stands_for, "device net_null" + std::to_string(i));
    EXPECT_TRUE(chain.ports[i].receives && chain.ports[i].transmits) << i;
  }
  EXPECT_TRUE(chain.fed());
  EXPECT_EQ(chain.soft_nic_queues, 2);
  const std::string text = click::unparse_declarations(chain.graph);
  EXPECT_NE(text.find("FromGPUPort(a, SOFTNIC \"wire0\", QUEUES 2)"), text.npos) << text;
  EXPECT_NE(text.find("ToGPUPort(b, NDESC 512, SOFTNIC \"wire1\", QUEUES 2)"), text.npos) << text;
  EXPECT_THROW(wired("FromGPUPort(m, SOCKET /tmp/m) -> EtherMirror -> ToGPUPort(m)"), Error);
}

TEST(WiredChainTest, ChainsThatMakeTheirOwnPackets) {
  const WiredChain chain = wired("s :: InfiniteSource(LENGTH 60) -> t :: ToDevice(eth0)");
  EXPECT_FALSE(chain.fed());
  EXPECT_TRUE(chain.ports.empty());
  EXPECT_EQ(chain_of(chain), "s :: InfiniteSource(LENGTH 60);\nt :: Discard;\ns -> t;\n");
  const WiredChain both = wired("s :: InfiniteSource -> t :: ToDevice(eth0); FromDevice(eth0) -> Discard");
  EXPECT_TRUE(both.fed());
  EXPECT_EQ(both.ports.size(), 1u);
}

}  // namespace
}  // namespace heddle::bench
