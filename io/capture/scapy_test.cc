// Scapy as a second opinion: it reads what the Writer writes, the Reader reads what it writes.
#include "io/capture/test_support.h"

namespace heddle::capture {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

/** Runs a Python program and gives what it prints. */
std::string run_python(const Folder& folder, const std::string& program) {
  save(folder / "program.py", program);
  const std::string command = std::string(kPython) + " " + (folder / "program.py");
  FILE* output = popen(command.c_str(), "r");
  std::string text;
  for (char part[4096]; output && std::fgets(part, sizeof(part), output);) text += part;
  if (output) pclose(output);
  return text;
}

bool has_scapy() {
  static const bool found = run_python(Folder(), "import scapy.utils\nprint('found')\n").find("found") == 0;
  return found;
}

/** "time in ns, bytes on the wire, bytes captured, CRC-32", a line a packet. */
std::string lines_of(const std::vector<Listed>& packets) {
  std::string lines;
  for (const Listed& packet : packets) {
    lines += format("%ju %u %zu %08x\n", uintmax_t{packet.timestamp_ns}, packet.original, packet.data.size(),
                    crc(packet.data));
  }
  return lines;
}

class Scapy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_scapy()) GTEST_SKIP() << kPython << " has no scapy (Debian: python3-scapy)";
  }
  Folder folder_;
};

TEST_F(Scapy, ReadsWhatTheWriterWrites) {
  std::vector<Listed> packets;
  for (unsigned i = 0; i < 300; ++i) {
    const uint32_t length = i % 7 == 0 ? i : i * 5;
    packets.push_back({1700000000123456000 + i * uint64_t{1000001000}, length + i % 2, 1, payload(length, i)});
  }
  const std::string reading = R"(
import sys, zlib
from scapy.utils import RawPcapReader
for data, meta in RawPcapReader(PATH):
    if hasattr(meta, 'tsresol'):
        ns = ((meta.tshigh << 32) + meta.tslow) * 10**9 // meta.tsresol
    else:
        ns = meta.sec * 10**9 + meta.usec * FRACTION
    print(ns, meta.wirelen, len(data), '%08x' % zlib.crc32(data))
)";
  for (const Format format : {Format::pcap, Format::pcapng}) {
    for (const bool nanoseconds : {true, false}) {
      const std::string path = folder_ / "capture";
      {
        Writer writer(path, {.format = format, .nanoseconds = nanoseconds});
        for (const Listed& packet : packets) write(writer, packet);
      }
      const std::string names = "PATH = '" + path + "'\nFRACTION = " + (nanoseconds ? "1" : "1000") + "\n";
      EXPECT_EQ(run_python(folder_, names + reading), lines_of(packets)) << static_cast<int>(format) << nanoseconds;
    }
  }
}

TEST_F(Scapy, WritesWhatTheReaderReads) {
  const std::string writing = R"(
import zlib
from scapy.all import Raw
from scapy.utils import EDecimal, PcapNgWriter, PcapWriter
if KIND == 'pcapng':
    writer = PcapNgWriter(PATH)
else:
    writer = PcapWriter(PATH, linktype=1, nano='nano' in KIND, endianness='>' if 'big' in KIND else '<')
writer.linktype = 1  # no guessing from the packet's class
unit = 1 if 'nano' in KIND else 1000
for i in range(200):
    packet = Raw(bytes((i * j + 3) % 256 for j in range(1 + i * 7)))
    ns = 1700000000 * 10**9 + i * 1234567 * unit
    packet.time = EDecimal(ns) / 10**9
    packet.wirelen = len(packet) + i % 3
    if i == 0:
        writer.write_header(packet)
    writer.write_packet(packet)
    print(ns, packet.wirelen, len(packet), '%08x' % zlib.crc32(bytes(packet)))
writer.close()
)";
  for (const std::string kind : {"little micro", "big micro", "little nano", "big nano", "pcapng"}) {
    const std::string path = folder_ / "capture", names = "PATH = '" + path + "'\nKIND = '" + kind + "'\n";
    const std::string expected = run_python(folder_, names + writing);
    const Listing listing = list(path);
    EXPECT_EQ(listing.packets.size(), 200u) << kind << listing.error << expected;
    EXPECT_EQ(lines_of(listing.packets), expected) << kind;
    EXPECT_EQ(listing.damage, "") << kind;
  }
}

}  // namespace
}  // namespace heddle::capture
