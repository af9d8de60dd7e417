// FromDump and ToDump through chains; the formats are tested in io/capture.

#include <chrono>
#include <thread>

#include "core/error.h"
#include "io/capture/test_support.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(DumpTest);

using capture::Listed;

std::vector<Listed> some_packets() {
  std::vector<Listed> packets;
  const size_t lengths[] = {0, 1, 14, 60, 64, 1514, 2048, 2049, 9000, 65407};
  for (unsigned i = 0; i < 40; ++i) {
    const size_t length = i < 10 ? lengths[i] : 20 + i;
    packets.push_back({1'700'000'000'123'456'789 + uint64_t{i} * 1'000'000'007,
                       static_cast<uint32_t>(length + i % 3 * 5), 1, capture::payload(length, i)});
  }
  return packets;
}

void save_packets(const std::string& path, const std::vector<Listed>& packets) {
  capture::Writer writer(path, {});
  for (auto& packet : packets) capture::write(writer, packet);
}

// The chain's ends are files here, so run()'s own source gives nothing.
std::string with_idle_source(const std::string& chain) { return chain + " TestSource -> Discard;"; }

TEST_P(DumpTest, KeepsTimeStampsAndLengths) {
  const capture::Folder folder;
  const auto packets = some_packets();
  save_packets(folder / "in.pcap", packets);
  for (const char* name : {"out.pcap", "out.pcapng"}) {
    for (int burst : {1, 33, 256}) {
      const std::string out = folder / name;
      run(with_idle_source(format("FromDump(%s, BURST %d) -> XOR(9) -> XOR(9) -> ToDump(%s);",
                                  (folder / "in.pcap").c_str(), burst, out.c_str())),
          GetParam(), {});
      const auto listing = capture::list(out);
      EXPECT_EQ(listing.error + listing.damage, "");
      ASSERT_EQ(listing.packets.size(), packets.size());
      for (size_t i = 0; i < packets.size(); ++i) EXPECT_EQ(listing.packets[i], packets[i]) << i;
    }
  }
}

// A copy that gets bytes of its own is of the same moment, whichever of the two it is.
TEST_P(DumpTest, CopiesKeepTimeStamps) {
  const capture::Folder folder;
  const auto packets = some_packets();
  auto changed = packets;
  for (auto& packet : changed)
    for (auto& byte : packet.data) byte = static_cast<char>(byte ^ 1);
  save_packets(folder / "in.pcap", packets);
  for (int written : {0, 1}) {
    run(with_idle_source(format("FromDump(%s) -> t :: Tee; t[%d] -> XOR(1) -> ToDump(%s); t[%d] -> ToDump(%s);",
                                (folder / "in.pcap").c_str(), written, (folder / "a.pcap").c_str(), 1 - written,
                                (folder / "b.pcap").c_str())),
        GetParam(), {});
    EXPECT_EQ(capture::list(folder / "b.pcap").packets, packets) << written;
    EXPECT_EQ(capture::list(folder / "a.pcap").packets, changed) << written;
  }
}

TEST(Dump, StripShortensTheLengthOnTheWireToo) {
  const capture::Folder folder;
  save_packets(folder / "in.pcap", {{5, 100, 1, capture::payload(60, 1)}});
  run(with_idle_source("FromDump(" + (folder / "in.pcap") + ") -> Strip(14) -> ToDump(" + (folder / "out.pcap") + ");"),
      backends()[0], {});
  EXPECT_EQ(capture::list(folder / "out.pcap").packets,
            (std::vector<Listed>{{5, 86, 1, capture::payload(60, 1).substr(14)}}));
}

TEST(Dump, WaitsForPacketsAndLosesNone) {
  const capture::Folder folder;
  std::vector<Listed> packets;
  for (unsigned i = 0; i < 500; ++i) packets.push_back({i, 60, 1, capture::payload(60, i)});
  save_packets(folder / "in.pcap", packets);
  for (unsigned count : {1u, 50u}) {
    run(with_idle_source("FromDump(" + (folder / "in.pcap") + ") -> EtherMirror -> EtherMirror -> ToDump(" +
                         (folder / "out.pcap") + ");"),
        backends().back(), {}, {.packets = count});
    EXPECT_EQ(capture::list(folder / "out.pcap").packets, packets);
  }
}

TEST(Dump, TimingKeepsThePaceAndCanBeStopped) {
  const capture::Folder folder;
  std::vector<Listed> packets;
  for (unsigned i = 0; i < 4; ++i) packets.push_back({i * uint64_t{100'000'000}, 60, 1, capture::payload(60, i)});
  packets.push_back({3'600'000'000'000, 60, 1, capture::payload(60, 9)});  // an hour later
  save_packets(folder / "in.pcap", packets);
  const auto start = std::chrono::steady_clock::now();
  const auto result =
      run("f :: FromDump(" + (folder / "in.pcap") + ", TIMING true) -> sink :: TestSink; TestSource -> Discard;",
          backends()[0], {}, {.endless = true, .meanwhile = [](Engine& engine) {
                                wait_while([&] { return engine.handlers().read("f.count") != "4"; });
                              }});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(seconds, 0.3);
  EXPECT_EQ(result.at("sink").size(), 4u);
}

TEST(Dump, HandlersTellAndStop) {
  const capture::Folder folder;
  save_packets(folder / "in.pcap", some_packets());
  run("f :: FromDump(" + (folder / "in.pcap") + ") -> d :: ToDump(" + (folder / "out.pcap") + "); g :: FromDump(" +
          (folder / "in.pcap") + ", ACTIVE false) -> Discard; TestSource -> Discard;",
      backends()[0], {}, {.endless = true, .meanwhile = [&](Engine& engine) {
                            Control& control = engine.handlers();
                            wait_while([&] { return control.read("d.count") != "40"; });
                            EXPECT_EQ(control.read("f.count"), "40");
                            EXPECT_EQ(control.read("f.filename"), folder / "in.pcap");
                            EXPECT_EQ(control.read("f.filesize"), control.read("f.filepos"));
                            EXPECT_EQ(control.read("f.encap"), "ETHER");
                            EXPECT_EQ(control.read("f.sampling_prob"), "1");
                            control.write("d.reset_counts", "");
                            EXPECT_EQ(control.read("d.count"), "0");
                            EXPECT_EQ(control.read("g.count"), "0");
                            control.write("g.active", "true");
                            wait_while([&] { return control.read("g.count") != "40"; });
                            EXPECT_THROW(control.write("g.extend_interval", "soon"), Error);
                          }});
}

TEST(Dump, SkipsWhatIsTooLongAndCountsIt) {
  const capture::Folder folder;
  save_packets(folder / "in.pcap", {{1, 65408, 1, capture::payload(65408, 1)}, {2, 60, 1, capture::payload(60, 2)}});
  const Result result =
      run(with_idle_source("f :: FromDump(" + (folder / "in.pcap") + ") -> ToDump(" + (folder / "out.pcap") + ");"),
          backends()[0], {});
  EXPECT_EQ(result.statistics.at("f.too_long"), 1u);
  EXPECT_EQ(capture::list(folder / "out.pcap").packets.size(), 1u);
}

}  // namespace
}  // namespace heddle::test
