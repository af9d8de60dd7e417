#include "io/capture/reader.h"

#include "io/capture/test_support.h"

namespace heddle::capture {
namespace {

constexpr uint64_t kSecondNs = 1000000000;

/** Reads `bytes` mapped and through pipes that cut them in several ways: always the same. */
Listing list_bytes(const std::string& bytes) {
  const Folder folder;
  save(folder / "capture", bytes);
  Listing mapped = list(folder / "capture");
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{1} << 20}) {
    const Listing piped = list_piped(bytes, chunk);
    EXPECT_EQ(mapped.packets, piped.packets);
    EXPECT_EQ(mapped.damage, piped.damage);
    EXPECT_EQ(mapped.error.empty(), piped.error.empty());
  }
  return mapped;
}

std::string error_of(const std::string& path) { return list(path).error; }

TEST(Reader, ReadsPcapOfBothByteOrdersAndResolutions) {
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      Bytes file = pcap_header(big_endian, nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
      file += pcap_record(big_endian, 1, 2, "abc", 60);
      file += pcap_record(big_endian, 0xffffffff, 999999, "", 0);
      const uint64_t unit = nanoseconds ? 1 : 1000;
      const Listing listing = list_bytes(file);
      const std::vector<Listed> expected = {{kSecondNs + 2 * unit, 60, 1, "abc"},
                                            {0xffffffff * kSecondNs + 999999 * unit, 0, 1, ""}};
      EXPECT_EQ(listing.packets, expected) << big_endian << nanoseconds;
      EXPECT_EQ(listing.damage, "");
    }
  }
}

TEST(Reader, ReadsKuznetzovsLongerRecordHeaders) {
  for (const bool big_endian : {false, true}) {
    Bytes file = pcap_header(big_endian, 0xa1b2cd34);
    for (const char* data : {"abc", "defg"}) {
      file.put32(1).put32(2).put32(std::string(data).size()).put32(60).put32(7).put32(0x0800).put_text(data);
    }
    const std::vector<Listed> expected = {{kSecondNs + 2000, 60, 1, "abc"}, {kSecondNs + 2000, 60, 1, "defg"}};
    EXPECT_EQ(list_bytes(file).packets, expected);
  }
}

TEST(Reader, SortsTheLengthsOfOldPcapVersions) {
  Bytes file = pcap_header(false, 0xa1b2c3d4, 65535, 2);
  file.put32(1).put32(0).put32(60).put32(3).put_text("abc");  // lengths the other way round
  file += pcap_record(false, 1, 0, "abc", 60);
  const std::vector<Listed> expected = {{kSecondNs, 60, 1, "abc"}, {kSecondNs, 60, 1, "abc"}};
  EXPECT_EQ(list_bytes(file).packets, expected);
}

TEST(Reader, BelievesRecordsBeyondTheSnapLengthUpToABound) {
  for (const uint32_t snap_length : {0u, 10u, 262144u, 400000u}) {
    const uint32_t bound = std::max(snap_length, 262144u);
    const std::string longest(bound, 'x');
    Bytes file = pcap_header(false, 0xa1b2c3d4, snap_length);
    file += pcap_record(false, 0, 0, longest, 7);
    const size_t second = file.size();
    file += pcap_record(false, 0, 0, longest + "x", 7);
    const Listing listing = list_bytes(file);
    ASSERT_EQ(listing.packets.size(), 1u);
    EXPECT_EQ(listing.packets[0].data, longest);
    EXPECT_EQ(listing.damage,
              format("record 2 at byte %zu: captured length %u exceeds the longest that this file can hold, %u", second,
                     bound + 1, bound));
  }
}

TEST(Reader, TakesNoMemoryForWhatIsOnlyClaimed) {
  Bytes file = pcap_header(false, 0xa1b2c3d4, 0xffffffff);
  file.put64(0).put32(kMaxCapturedBytes).put32(0).put_text("short");
  EXPECT_EQ(list_bytes(file).damage, "record 1 at byte 24: the file ends after 5 of the 268435456 bytes captured");
  file = pcap_header(false, 0xa1b2c3d4, 0xffffffff);
  file.put64(0).put32(kMaxCapturedBytes + 1).put32(0).put_text("short");
  EXPECT_NE(list_bytes(file).damage.find("captured length 268435457 exceeds"), std::string::npos);
}

TEST(Reader, GrowsForALongRecordInAPipe) {
  Bytes file = pcap_header(false, 0xa1b2c3d4, 8 << 20);
  for (const size_t length : {10u, 5u << 20, 8u << 20, 3u}) file += pcap_record(false, 0, 0, payload(length, 1), 7);
  const Listing listing = list_piped(file);
  ASSERT_EQ(listing.packets.size(), 4u) << listing.damage;
  EXPECT_EQ(listing.packets[2].data, payload(8 << 20, 1));
  EXPECT_EQ(listing.packets[3].data, payload(3, 1));
}

TEST(Reader, IgnoresTheFcsLengthBesideTheLinkType) {
  Bytes file = pcap_header(true, 0xa1b2c3d4);
  file[20] = 0x44;
  const Folder folder;
  save(folder / "capture", file);
  Reader reader(folder / "capture");
  EXPECT_EQ(reader.link_type(), 1u);
  EXPECT_EQ(reader.file_format(), Format::pcap);
  EXPECT_TRUE(reader.mapped());
  EXPECT_EQ(reader.size(), 24u);
  EXPECT_EQ(reader.bytes_read(), 24u);
}

TEST(Reader, ReadsEveryKindOfPcapngPacket) {
  for (const bool big_endian : {false, true}) {
    Bytes file = section(big_endian);
    file += block(0x0bad, Bytes(big_endian).put_text("an unknown block"));
    file += interface(big_endian, 113, 4);
    file += interface(big_endian, 1, 0);
    file += enhanced_packet(big_endian, 1, 0x1'0000'0002, "abcde", 60);
    file += block(3, Bytes(big_endian).put32(9).put_text("simp"));       // Simple: cut to the snap length
    file += block(3, Bytes(big_endian).put32(3).put_text("two").pad());  // and shorter
    file += block(2, Bytes(big_endian).put16(1).put16(5).put32(0).put32(7).put32(2).put32(3).put_text("ob").pad());
    Bytes with_options(big_endian);
    with_options.put32(0).put32(0).put32(1).put32(1).put32(1).put_text("z").pad();
    with_options.put16(1).put16(4).put_text("note").put32(0);
    file += block(6, with_options);
    const std::vector<Listed> expected = {{0x1'0000'0002 * uint64_t{1000}, 60, 1, "abcde"},
                                          {0, 9, 113, "simp"},
                                          {0, 3, 113, "two"},
                                          {7000, 3, 1, "ob"},
                                          {1000, 1, 113, "z"}};
    const Listing listing = list_bytes(file);
    EXPECT_EQ(listing.packets, expected);
    EXPECT_EQ(listing.damage, "");
  }
}

TEST(Reader, EachPcapngSectionHasItsByteOrderAndInterfaces) {
  Bytes file = section(false);
  file += interface(false, 101);
  file += enhanced_packet(false, 0, 1, "first", 5);
  file += section(true);
  file += interface(true, 1);
  file += enhanced_packet(true, 0, 2, "second", 6);
  file += section(true);  // without interface
  file += enhanced_packet(true, 0, 3, "third", 5);
  const Listing listing = list_bytes(file);
  const std::vector<Listed> expected = {{1000, 5, 101, "first"}, {2000, 6, 1, "second"}};
  EXPECT_EQ(listing.packets, expected);
  EXPECT_NE(listing.damage.find("packet of interface 0, of which there are 0"), std::string::npos) << listing.damage;
  const Folder folder;
  save(folder / "capture", file);
  Reader reader(folder / "capture");
  EXPECT_EQ(reader.link_type(), 101u);
  EXPECT_EQ(reader.file_format(), Format::pcapng);
}

TEST(Reader, ConvertsPcapngTimeResolutionsAndOffsets) {
  struct Case {
    unsigned resolution;
    int64_t offset_seconds;
    uint64_t ticks, expected_ns;
  };
  const std::vector<Case> cases = {
      {0, 0, 5, 5 * kSecondNs},
      {3, 0, 1234, 1234000000},
      {6, 0, 1700000000123456, 1700000000123456000},
      {9, 0, 1700000000123456789, 1700000000123456789},
      {12, 0, 1234567890123, 1234567890},
      {28, 0, UINT64_MAX, 1},
      {29, 0, UINT64_MAX, 0},
      {127, 0, UINT64_MAX, 0},
      {0x80, 0, 5, 5 * kSecondNs},
      {0x80 | 1, 0, 3, 1500000000},
      {0x80 | 32, 0, 0x1'8000'0000, 1500000000},
      {0x80 | 63, 0, uint64_t{1} << 62, 500000000},
      {0x80 | 64, 0, uint64_t{1} << 63, 500000000},
      {0x80 | 127, 0, UINT64_MAX, 0},
      {6, 100, 1, 100 * kSecondNs + 1000},
      {6, -1, 3000000, 2 * kSecondNs},
      {0x80 | 10, 1700000000, 512, 1700000000 * kSecondNs + 500000000},
  };
  for (const bool big_endian : {false, true}) {
    for (const Case& one : cases) {
      Bytes file = section(big_endian);
      file += interface_with_time(big_endian, one.resolution, one.offset_seconds);
      file += enhanced_packet(big_endian, 0, one.ticks, "abcd", 4);
      const Listing listing = list_bytes(file);
      ASSERT_EQ(listing.packets.size(), 1u) << listing.damage << listing.error;
      EXPECT_EQ(listing.packets[0].timestamp_ns, one.expected_ns) << one.resolution << " " << one.offset_seconds;
    }
  }
}

TEST(Reader, NamesPcapngDamage) {
  const Bytes start = section(false), one = interface(false);
  const auto damage_of = [&](const std::string& rest) { return list_bytes(start + one + rest).damage; };
  const std::string place = format("record 1 at byte %zu: ", start.size() + one.size());
  Bytes mismatch = enhanced_packet(false, 0, 0, "abcd", 4);
  mismatch.back() = 1;
  EXPECT_EQ(damage_of(mismatch), place + "block length 36 is 16777252 at the block's end");
  EXPECT_EQ(damage_of(Bytes(false).put32(6).put32(0).put32(0)),
            place + "block length 0 is not a multiple of 4 between 12 and 268435456");
  EXPECT_EQ(damage_of(Bytes(false).put32(6).put32(0xfffffffc).put32(0)),
            place + "block length 4294967292 is not a multiple of 4 between 12 and 268435456");
  EXPECT_EQ(damage_of(Bytes(false).put32(6).put32(200).put32(0)),
            place + "the file ends after 12 of the block's 200 bytes");
  EXPECT_EQ(damage_of(enhanced_packet(false, 1, 0, "abcd", 4)), place + "packet of interface 1, of which there are 1");
  EXPECT_EQ(damage_of(block(6, Bytes(false).put32(0).put64(0).put32(5).put32(5).put_text("abcd"))),
            place + "captured length 5 exceeds its block of 36 bytes");
  EXPECT_EQ(damage_of(block(3, Bytes(false).put32(5).put_text("abcd"))),
            place + "captured length 5 exceeds its block of 20 bytes");
  EXPECT_EQ(damage_of(block(6, Bytes(false).put32(0))), place + "packet block of 16 bytes is too short");
  EXPECT_EQ(damage_of(block(3, Bytes(false))), place + "packet block of 12 bytes is too short");
  EXPECT_EQ(damage_of(block(1, Bytes(false).put32(1))), place + "interface of 16 bytes is too short");
  EXPECT_EQ(damage_of(block(1, Bytes(false).put64(1).put16(9).put16(40))),
            place + "option 9 of 40 bytes reaches beyond the interface's block");
  EXPECT_EQ(damage_of(block(1, Bytes(false).put64(1).put16(9).put16(0))), place + "interface option 9 of 0 bytes");
  EXPECT_EQ(damage_of(block(0x0a0d0d0a, Bytes(false).put32(0x1a2b3c4d).put16(2).put16(0).put64(0))),
            place + "pcapng version 2.0; expected 1.0");
  EXPECT_EQ(damage_of(block(0x0a0d0d0a, Bytes(false).put32(0x01020304).put16(1).put16(0).put64(0))),
            place + "section with byte-order magic 01020304");
}

TEST(Reader, RefusesWhatIsNoCaptureWithARemedy) {
  const Folder folder;
  const auto error_of_bytes = [&](const std::string& bytes) {
    save(folder / "file", bytes);
    return error_of(folder / "file");
  };
  const std::string name = "'" + (folder / "file") + "'";
  EXPECT_EQ(error_of_bytes(""), name + " is empty; expected a pcap or pcapng capture");
  EXPECT_NE(list_piped("").error.find("is empty"), std::string::npos);
  EXPECT_EQ(
      error_of_bytes("GET / HTTP"),
      name + " is not a capture: it starts with 47 45 54 20; expected pcap or pcapng (editcap converts other formats)");
  EXPECT_NE(error_of_bytes("ab").find("starts with 61 62;"), std::string::npos);
  EXPECT_EQ(error_of_bytes("\x1f\x8b\x08\x08"),
            name +
                " is compressed with gzip; decompress it into a pipe, zcat FILE | heddle ..., and let the chain read "
                "that by the name -, as in FromDump(-)");
  EXPECT_NE(error_of_bytes("\x28\xb5\x2f\xfd").find("zstdcat"), std::string::npos);
  EXPECT_EQ(error_of_bytes(pcap_header(false, 0xa1b2c3d4).substr(0, 23)),
            name + " ends after 23 of the 24 bytes of a pcap header; capture it again");
  Bytes version = pcap_header(false, 0xa1b2c3d4);
  version[4] = 3;
  EXPECT_NE(error_of_bytes(version).find("pcap of version 3.4"), std::string::npos);
  EXPECT_NE(error_of_bytes(section(false).substr(0, 20)).find("the file ends after 20"), std::string::npos);
  EXPECT_EQ(error_of(folder / "missing"), "cannot read '" + (folder / "missing") +
                                              "': No such file or directory; name a pcap or pcapng file, or - for "
                                              "standard input");
  EXPECT_EQ(error_of(::testing::TempDir()), "'" + ::testing::TempDir() + "' is a directory; name a capture file in it");
}

TEST(Reader, KeepsMappedRecordsValid) {
  Bytes file = pcap_header(false, 0xa1b2c3d4);
  for (unsigned i = 0; i < 5000; ++i) file += pcap_record(false, i, 0, payload(100, i), 100);
  const Folder folder;
  save(folder / "capture", file);
  Reader reader(folder / "capture");
  std::vector<Record> records;
  for (Record record; reader.next(record);) records.push_back(record);
  ASSERT_EQ(records.size(), 5000u);
  for (unsigned i = 0; i < 5000; ++i) EXPECT_EQ(0, std::memcmp(records[i].data, payload(100, i).data(), 100));
}

TEST(Reader, ReadsStandardInput) {
  Bytes file = pcap_header(false, 0xa1b2c3d4);
  file += pcap_record(false, 1, 0, "abc", 3);
  const Folder folder;
  save(folder / "capture", "skipped" + file);
  const int before = dup(STDIN_FILENO), input = ::open((folder / "capture").c_str(), O_RDONLY);
  ASSERT_EQ(lseek(input, 7, SEEK_SET), 7);
  dup2(input, STDIN_FILENO);
  const Listing listing = list("-");
  dup2(before, STDIN_FILENO);
  ::close(before);
  ::close(input);
  const std::vector<Listed> expected = {{kSecondNs, 3, 1, "abc"}};
  EXPECT_EQ(listing.packets, expected) << listing.error;
}

TEST(Reader, TellsTheProgressOfAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Bytes file = pcap_header(false, 0xa1b2c3d4);
  file += pcap_record(false, 1, 0, "abc", 3);
  ASSERT_EQ(::write(ends[1], file.data(), file.size()), static_cast<ssize_t>(file.size()));
  Reader reader("/dev/fd/" + std::to_string(ends[0]));
  Record record;
  ASSERT_TRUE(reader.next(record));  // before the pipe is closed
  EXPECT_FALSE(reader.mapped());
  EXPECT_EQ(reader.size(), 0u);
  EXPECT_EQ(reader.bytes_read(), file.size());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace heddle::capture
