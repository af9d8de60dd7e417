// Broken captures: cut, changed at random, and those that crashed other parsers.
#include <random>

#include "io/capture/test_support.h"
#include "tests/support/frames.h"

namespace heddle::capture {
namespace {

/** A good capture, and where each of its records ends. */
struct Good {
  const char* name;
  std::string bytes;
  std::vector<size_t> ends;
};

Good good_pcap(const char* name, bool big_endian, uint32_t magic) {
  Good good{name, pcap_header(big_endian, magic), {}};
  for (unsigned i = 0; i < 8; ++i) {
    good.bytes += pcap_record(big_endian, i, i, payload(i * 9, i), i * 10);
    good.ends.push_back(good.bytes.size());
  }
  return good;
}

Good good_pcapng(const char* name, bool big_endian) {
  Good good{name, "", {}};
  for (unsigned part = 0; part < 2; ++part) {
    good.bytes += section(big_endian != (part == 1));
    const bool order = big_endian != (part == 1);
    good.bytes += interface(order, 1, 20);
    good.bytes += interface_with_time(order, 9, 77);
    good.bytes += block(5, Bytes(order).put_text("interface statistics").pad());
    for (unsigned i = 0; i < 4; ++i) {
      good.bytes += enhanced_packet(order, i % 2, i * 1000, payload(i * 9, i), i * 10);
      good.ends.push_back(good.bytes.size());
      good.bytes += block(3, Bytes(order).put32(i * 9).put_text(payload(std::min(i * 9, 20u), i)).pad());
      good.ends.push_back(good.bytes.size());
    }
  }
  return good;
}

std::vector<Good> good_captures() {
  return {good_pcap("pcap", false, 0xa1b2c3d4), good_pcap("big-endian pcap", true, 0xa1b23c4d),
          good_pcap("nanosecond pcap", false, 0xa1b23c4d), good_pcapng("pcapng", false),
          good_pcapng("big-endian pcapng", true)};
}

TEST(HostileCapture, GivesAllRecordsBeforeACutAnywhere) {
  const Folder folder;
  for (const Good& good : good_captures()) {
    save(folder / "whole", good.bytes);
    const Listing whole = list(folder / "whole");
    ASSERT_EQ(whole.packets.size(), good.ends.size()) << good.name << whole.damage << whole.error;
    ASSERT_EQ(whole.damage, "") << good.name;
    for (size_t cut = 0; cut < good.bytes.size(); ++cut) {
      const std::string bytes = good.bytes.substr(0, cut);
      save(folder / "cut", bytes);
      size_t records = 0;
      while (records < good.ends.size() && good.ends[records] <= cut) ++records;
      for (const Listing& listing : {list(folder / "cut"), list_piped(bytes)}) {
        ASSERT_EQ(listing.packets.size(), records) << good.name << " cut at " << cut << listing.damage;
        ASSERT_TRUE(std::equal(listing.packets.begin(), listing.packets.end(), whole.packets.begin())) << cut;
      }
    }
  }
}

TEST(HostileCapture, SurvivesRandomChanges) {
  auto random = test::random_for("changed captures");
  const Folder folder;
  const std::vector<Good> captures = good_captures();
  for (int round = 0; round < 6000; ++round) {
    std::string bytes = captures[static_cast<size_t>(round) % captures.size()].bytes;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % bytes.size();
      if (random() % 2 == 0) {
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      } else {  // a whole field at once
        const uint32_t extreme[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff, 0x0a0d0d0a};
        const uint32_t value = extreme[random() % std::size(extreme)];
        std::memcpy(bytes.data() + std::min(at / 4 * 4, bytes.size() - 4), &value, 4);
      }
    }
    save(folder / "changed", bytes);
    const Listing mapped = list(folder / "changed");
    ASSERT_LE(mapped.packets.size(), bytes.size() / wire::kBlockFrameBytes);
    if (round % 4 != 0) continue;
    const Listing piped = list_piped(bytes, 1 + random() % 300);
    ASSERT_EQ(mapped.packets, piped.packets);
    ASSERT_EQ(mapped.damage, piped.damage);
  }
}

TEST(HostileCapture, SurvivesRandomBytesAfterAGoodStart) {
  std::mt19937_64 random(1);
  const Folder folder;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = round % 2 ? section(round % 4 == 1) + interface(round % 4 == 1)
                                  : std::string(pcap_header(round % 4 == 0, 0xa1b2c3d4));
    for (int i = 0; i < 400; ++i) bytes += static_cast<char>(random() % 16 == 0 ? random() : 0);
    save(folder / "random", bytes);
    const Listing listing = list(folder / "random");
    ASSERT_LE(listing.packets.size(), bytes.size() / wire::kBlockFrameBytes);
  }
}

/** The folder `name` of the test data; skips the test by the empty string. */
std::string test_data(const std::string& name) {
  const char* root = std::getenv("HEDDLE_TEST_DATA");
  return root ? root + ("/" + name) : "";
}

TEST(HostileCapture, SurvivesWhatCrashedOtherParsers) {
  const std::string folder = test_data("hostile");
  if (folder.empty()) GTEST_SKIP() << "HEDDLE_TEST_DATA is not set";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const Listing mapped = list(entry.path()), piped = list_piped(load(entry.path()));
    EXPECT_EQ(mapped.packets, piped.packets) << entry.path();
    EXPECT_EQ(mapped.damage, piped.damage) << entry.path();
    EXPECT_EQ(mapped.error.empty(), piped.error.empty()) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(RealCapture, HasTheFramesThatItsCrcListNames) {
  const std::string folder = test_data("pcap");
  if (folder.empty()) GTEST_SKIP() << "HEDDLE_TEST_DATA is not set";
  const std::string suffix = "_crc32.tsv.gz";
  int lists = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(suffix)) continue;
    std::string capture;
    for (const auto& other : std::filesystem::directory_iterator(folder)) {
      const bool same_stem = other.path().filename().string().starts_with(name.substr(0, name.size() - suffix.size()));
      if (same_stem && other.path().extension() == ".pcap") capture = other.path();
    }
    const Listing listing = list(capture);
    EXPECT_EQ(listing.damage + listing.error, "") << capture;
    EXPECT_EQ(list_piped(load(capture)).packets, listing.packets);
    size_t frames = 0;
    gzFile file = gzopen(entry.path().c_str(), "rb");
    for (char line[256]; gzgets(file, line, sizeof(line));) {
      size_t frame = 0, bytes = 0;
      unsigned expected = 0;
      ASSERT_EQ(std::sscanf(line, "%zu %zu %x", &frame, &bytes, &expected), 3) << line;
      ASSERT_LE(frame, listing.packets.size());
      ASSERT_EQ(listing.packets[frame - 1].data.size(), bytes) << frame;
      ASSERT_EQ(crc(listing.packets[frame - 1].data), expected) << frame;
      ++frames;
    }
    gzclose(file);
    EXPECT_EQ(frames, listing.packets.size());
    ++lists;
  }
  EXPECT_GT(lists, 0);
}

}  // namespace
}  // namespace heddle::capture
