// Columns that are good for one packet: no copy has them.

#include <set>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

/** What is wrong with a chain whose source sets all columns that elements here want, and whose sink reads `read`. */
std::string why(const std::string& between, const std::string& read = "esp_iv") {
  return mistakes("source :: TestSource(SETS \"dst l3 link esp_iv esp_sequence sa\"); sink :: TestSink(READS " + read +
                  "); source -> " + between + " -> sink;");
}

TEST(OnePacket, GoesThroughWhatKeepsPackets) {
  for (const char* between :
       {"Counter", "Queue -> Unqueue", "MinBatch(8)", "Paint(1)", "c :: Classifier(0/00, -); c[1] -> sink; c",
        "r :: RoundRobinSwitch; r[1] -> XOR -> sink; r", "Tee", "m :: MixedQueue; Idle -> [1]m; m -> Unqueue"})
    EXPECT_EQ(why(between), "") << between;
}

TEST(OnePacket, IsRefusedBehindWhatMakesOthers) {
  const std::pair<const char*, const char*> cases[] = {
      {"t :: Tee; t[1] -> Discard; t", "Tee 't'"},
      {"t :: Tee; t[1] -> Counter -> sink; t", "Tee 't'"},
      {"t :: PaintTee(1); t[1] -> Discard; t", "PaintTee 't'"},
      {"t :: EtherSwitch; t[1] -> Discard; Idle -> [1]t; t", "EtherSwitch 't'"},
      {"t :: IPFragmenter(600)", "IPFragmenter 't'"},
      {"t :: IPReassembler", "IPReassembler 't'"},
      {"t :: IP6Reassembler", "IP6Reassembler 't'"},
      {"t :: KernelTun(10.0.0.1/24)", "KernelTun 't'"},
      {"t :: KernelTap(10.0.0.1/24)", "KernelTap 't'"},
      {"t :: Socket(UDP, 127.0.0.1, 7)", "Socket 't'"},
      {"t :: ICMPError(10.0.0.1, unreachable)", "ICMPError 't'"},
      {"Queue -> t :: ICMPError(10.0.0.1, unreachable) -> Unqueue", "ICMPError 't'"},
      {"t :: Tee; t[1] -> Discard; t -> Queue -> Unqueue -> Counter", "Tee 't'"},
      {"c :: Classifier(0/00, -); c[1] -> sink; c -> t :: IPFragmenter(600)", "IPFragmenter 't'"},
  };
  // what comes in does not come out
  const std::set<std::string> have_their_own{"KernelTap 't'", "KernelTun 't'", "Socket 't'"};
  for (auto& [between, who] : cases) {
    for (const char* column : {"esp_iv", "esp_sequence"}) {
      const std::string said = why(between, column);
      EXPECT_NE(
          said.find(std::string("TestSink 'sink': the ") + column + " annotation is good for one packet only, and " +
                    who + " may make others of it; put 'source' between the two"),
          std::string::npos)
          << between << ": " << said;
    }
    if (have_their_own.contains(who))
      EXPECT_NE(why(between, "sa").find("reads the sa annotation, which nothing before it sets"), std::string::npos);
    else
      EXPECT_EQ(why(between, "sa"), "") << between;
  }
}

}  // namespace
}  // namespace heddle::test
