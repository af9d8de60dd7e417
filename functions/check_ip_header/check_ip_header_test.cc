// CheckIPHeader against headers made by hand (RFC 791, 3.1).

#include "functions/check_ip_header/check_ip_header.h"

#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

Frame valid(size_t payload = 20) { return ip_frame(ip(192, 0, 2, 1), ip(10, 0, 0, 7), payload); }

// A header with `words` 32-bit words, options and all.
Frame with_options(unsigned words, size_t payload) {
  Frame frame = valid(0);
  frame.bytes[14] = static_cast<uint8_t>(0x40 | words);
  frame.bytes.resize(14 + 4 * words + payload, 1);  // option 1: no operation
  put_u16(frame.bytes, 16, static_cast<unsigned>(4 * words + payload));
  set_ip_checksum(frame.bytes, 14);
  return frame;
}

// Where a packet goes: "" passes, else the reason.
std::string verdict(const Frame& frame, const std::string& arguments = "14") {
  const Result result = run("TestSource -> k :: CheckIPHeader(" + arguments + ") -> sink :: TestSink;", cpu(), {frame});
  if (result.delivered == 1) return {};
  EXPECT_EQ(result.drops.size(), 1u);
  return result.drops.empty() ? "lost" : result.drops.begin()->first.substr(2);
}

TEST(CheckIPHeader, LetsValidHeadersPassAndMarksThem) {
  const std::vector<Frame> frames = {valid(), valid(0), with_options(6, 0), with_options(15, 9)};
  const Result result = run("TestSource -> CheckIPHeader(14) -> sink :: TestSink(READS \"dst l3 l4\");", cpu(), frames);
  ASSERT_EQ(result.delivered, 4u);
  const uint32_t l4[] = {34, 34, 38, 74};
  for (size_t i = 0; i < 4; ++i) {
    const Received& packet = result.at("sink")[i];
    EXPECT_EQ(packet.bytes, frames[i].bytes);
    EXPECT_EQ(__builtin_bswap32(packet.column[static_cast<int>(Column::dst)]), ip(10, 0, 0, 7));
    EXPECT_EQ(packet.column[static_cast<int>(Column::l3)], 14u);
    EXPECT_EQ(packet.column[static_cast<int>(Column::l4)], l4[i]);
  }
}

TEST(CheckIPHeader, MarksSurviveStrip) {
  const Result result = run(
      "TestSource -> Strip(14) -> CheckIPHeader -> Strip(20) -> sink :: TestSink(READS \"l3 l4\");", cpu(), {valid()});
  ASSERT_EQ(result.delivered, 1u);
  EXPECT_EQ(result.at("sink")[0].bytes.size(), 20u);
  EXPECT_EQ(result.at("sink")[0].column[static_cast<int>(Column::l3)], 14u);
  EXPECT_EQ(result.at("sink")[0].column[static_cast<int>(Column::l4)], 34u);
}

// Headers that are not valid any more, or do not lie where they were, keep what has been set.
TEST(CheckIPHeader, ParsesAgainWhereHeadersAre) {
  CheckIPHeader element;
  std::vector<Frame> frames = {valid(), with_options(15, 9), valid(), valid(), valid()};
  std::vector<Packet> packets(frames.size());
  Batch batch(5);
  batch.resize(5);
  for (int i = 0; i < 5; ++i) {
    Bytes& bytes = frames[static_cast<size_t>(i)].bytes;
    Packet& packet = packets[static_cast<size_t>(i)];
    constexpr uint16_t kHeadroom = 64;
    bytes.insert(bytes.begin(), kHeadroom, 0);
    packet.buf_addr = bytes.data(), packet.data_off = kHeadroom, packet.nb_segs = 1;
    packet.pkt_len = packet.data_len = static_cast<uint16_t>(bytes.size() - kHeadroom);
    batch.packets()[i] = &packet;
    batch.column(Column::l3)[i] = kHeadroom + 14u;
    batch.column(Column::l4)[i] = batch.column(Column::dst)[i] = 77;
  }
  batch.frame(2)[24] ^= 1;                                                        // its checksum is wrong
  batch.column(Column::l3)[3] = 0;                                                // before the packet
  batch.column(Column::l3)[4] = packets[4].data_off + packets[4].data_len - 19u;  // the packet ends in it
  const auto is = [&](int i, uint32_t dst, uint32_t l4) {
    EXPECT_EQ(batch.column(Column::dst)[i], dst) << i;
    EXPECT_EQ(batch.column(Column::l4)[i], l4) << i;
  };
  const uint32_t first = batch.packet(0)->data_off, destination = __builtin_bswap32(ip(10, 0, 0, 7));
  element.parse_again(batch, columns(Column::l3, Column::l4));
  is(0, 77, first + 34), is(1, 77, first + 74), is(2, 77, 77), is(3, 77, 77), is(4, 77, 77);
  element.parse_again(batch, columns(Column::l3, Column::dst));
  is(0, destination, first + 34), is(1, destination, first + 74), is(2, 77, 77), is(3, 77, 77), is(4, 77, 77);
}

TEST(CheckIPHeader, NamesShortHeaders) {
  for (size_t length = 0; length < 34; ++length) {
    Frame frame = valid();
    frame.bytes.resize(length);
    EXPECT_EQ(verdict(frame), "short") << length;
  }
  Frame frame = with_options(15, 0);
  frame.bytes.pop_back();
  EXPECT_EQ(verdict(frame), "short");
}

TEST(CheckIPHeader, NamesBadVersions) {
  for (unsigned version = 0; version < 16; ++version) {
    Frame frame = valid();
    frame.bytes[14] = static_cast<uint8_t>(version << 4 | 5);
    set_ip_checksum(frame.bytes, 14);
    EXPECT_EQ(verdict(frame), version == 4 ? "" : "bad_version") << version;
  }
}

TEST(CheckIPHeader, NamesBadHeaderLengths) {
  for (unsigned words = 0; words < 5; ++words) {
    Frame frame = valid();
    frame.bytes[14] = static_cast<uint8_t>(0x40 | words);
    EXPECT_EQ(verdict(frame), "bad_header_length") << words;
  }
}

TEST(CheckIPHeader, NamesBadTotalLengths) {
  for (unsigned total : {0u, 19u, 41u, 65535u}) {
    Frame frame = valid(20);
    put_u16(frame.bytes, 16, total);
    set_ip_checksum(frame.bytes, 14);
    EXPECT_EQ(verdict(frame), "bad_length") << total;
  }
  Frame frame = with_options(6, 0);
  put_u16(frame.bytes, 16, 20);  // ends inside the header
  set_ip_checksum(frame.bytes, 14);
  EXPECT_EQ(verdict(frame), "bad_length");
}

TEST(CheckIPHeader, NamesBadChecksums) {
  for (unsigned words : {5u, 6u, 15u}) {
    for (size_t at = 14; at < 14 + 4 * words; ++at) {
      if (at == 14 || at == 16 || at == 17) continue;  // other reasons come first
      Frame frame = with_options(words, 4);
      frame.bytes[at] ^= 0x10;
      ASSERT_EQ(verdict(frame), "bad_checksum") << at;
      if (at % 7 == 0) {
        ASSERT_EQ(verdict(frame, "14, CHECKSUM false"), "") << at;
      }
    }
  }
}

// Sums whose carries carry again, and both zeros of ones' complement.
TEST(CheckIPHeader, AddsCarries) {
  auto random = random_for("checksums");
  std::vector<Frame> frames;
  for (int i = 0; i < 2000; ++i) {
    Frame frame = valid(0);
    for (size_t at = 18; at < 34; ++at) frame.bytes[at] = i % 2 != 0 ? 0xff : static_cast<uint8_t>(random());
    if (i % 2 != 0) put_u16(frame.bytes, 18, static_cast<unsigned>(random()));
    set_ip_checksum(frame.bytes, 14);
    frames.push_back(frame);
  }
  EXPECT_EQ(run("TestSource -> CheckIPHeader(14) -> TestSink;", cpu(), frames).delivered, frames.size());
}

TEST(CheckIPHeader, KnowsBadSources) {
  EXPECT_EQ(verdict(valid(), "14, BADSRC 192.0.2.2 192.0.2.1"), "bad_source");
  EXPECT_EQ(verdict(valid(), "14, BADSRC 192.0.2.2"), "");
  EXPECT_EQ(verdict(valid(), "14, BADSRC 192.0.2.1, GOODDST 10.0.0.7"), "");
}

TEST(CheckIPHeader, CutsPadding) {
  Frame padded = valid(6);
  const Bytes wanted = padded.bytes;
  padded.bytes.resize(60, 0);
  const Result result = run("TestSource -> CheckIPHeader(14) -> sink :: TestSink;", cpu(), {padded});
  EXPECT_TRUE(same(result.bytes(), {wanted}));
}

TEST(CheckIPHeader, SendsOthersToOutputOneIfConnected) {
  Frame bad = valid();
  bad.bytes[24] ^= 1;
  Frame cut = valid();
  cut.bytes.resize(20);
  const Result result = run(
      "TestSource -> k :: CheckIPHeader(14); k[0] -> good :: TestSink; k[1] -> bad :: TestSink(READS \"dst l3 l4\");",
      cpu(), {bad, valid(), cut, valid()});
  EXPECT_EQ(result.at("good").size(), 2u);
  EXPECT_TRUE(same(result.bytes("bad"), {bad.bytes, cut.bytes}));
  EXPECT_EQ(result.dropped, 0u);
  EXPECT_EQ(result.at("bad")[0].column[0], 0u);
}

TEST(CheckIPHeader, TakesAnyOffset) {
  for (int offset : {0, 1, 3, 18}) {
    Frame frame = valid(4);
    Bytes moved(static_cast<size_t>(offset), 0xee);
    moved.insert(moved.end(), frame.bytes.begin() + 14, frame.bytes.end());
    EXPECT_EQ(verdict({moved}, std::to_string(offset)), "") << offset;
  }
}

TEST(CheckIPHeader, KnowsInterfaces) {
  const char* const kArguments = "14, INTERFACES 192.0.2.9/24 10.0.0.7/255.0.0.0";
  const auto from_to = [&](uint32_t source, uint32_t destination) {
    return verdict(ip_frame(source, destination, 20), kArguments);
  };
  EXPECT_EQ(from_to(ip(192, 0, 2, 1), ip(1, 2, 3, 4)), "");
  for (uint32_t broadcast : {ip(192, 0, 2, 255), ip(10, 255, 255, 255), 0u, ~0u}) {
    EXPECT_EQ(from_to(broadcast, ip(1, 2, 3, 4)), "bad_source") << broadcast;
    EXPECT_EQ(from_to(broadcast, ip(192, 0, 2, 9)), "");
    EXPECT_EQ(from_to(broadcast, ip(10, 0, 0, 7)), "");
  }
  EXPECT_NE(
      mistakes("TestSource -> CheckIPHeader(INTERFACES 10.0.0.1) -> TestSink;").find("INTERFACES: '10.0.0.1' is not"),
      std::string::npos);
}

TEST(CheckIPHeader, UnderstandsOldArguments) {
  EXPECT_EQ(verdict(valid(), "192.0.2.2 192.0.2.1, 14"), "bad_source");
  EXPECT_EQ(verdict(valid(), "192.0.2.2, 14"), "");
  EXPECT_EQ(verdict(ip_frame(0, ip(10, 0, 0, 7), 20), "192.0.2.2, 14"), "bad_source");
  EXPECT_EQ(verdict(valid(), "192.0.2.1, OFFSET 14"), "bad_source");
  EXPECT_EQ(verdict(valid(), "OFFSET 14"), "");
  EXPECT_NE(mistakes("TestSource -> CheckIPHeader(14, 15) -> TestSink;").find("'14' is not"), std::string::npos);
  EXPECT_NE(mistakes("TestSource -> CheckIPHeader(1.2.3.4, 5, 6) -> TestSink;").find("'6' is not"), std::string::npos);
}

TEST(CheckIPHeader, HasHandlers) {
  Frame checksum = valid(), version = valid(), tiny = valid();
  checksum.bytes[24] ^= 1;
  version.bytes[14] = 0x65;
  tiny.bytes.resize(15);
  for (const char* outputs : {"k[1] -> d;", ""})
    run(std::string("TestSource -> k :: CheckIPHeader(14, DETAILS true) -> d :: Discard;") + outputs, cpu(),
        {valid(), checksum, version, checksum, tiny, valid()}, {.meanwhile = [](Engine& engine) {
          Broker& handlers = engine.handlers();
          while (handlers.read("k.count") != "2") std::this_thread::yield();
          EXPECT_EQ(handlers.read("k.drops"), "4");
          EXPECT_EQ(handlers.read("k.drop_details"),
                    "1\ttiny packet\n1\tbad IP version\n0\tbad IP header length\n0\tbad IP length\n2\tbad IP checksum\n"
                    "0\tbad source address\n");
        }});
  run("TestSource -> k :: CheckIPHeader(14) -> Discard;", cpu(), {},
      {.meanwhile = [](Engine& engine) { EXPECT_THROW(engine.handlers().read("k.drop_details"), Error); }});
}

TEST(CheckIPHeader, SaysWhatIsBadIfTold) {
  Frame bad = valid();
  bad.bytes[24] ^= 1;
  for (const char* verbose : {"false", "true"}) {
    testing::internal::CaptureStderr();
    run(format("TestSource -> k :: CheckIPHeader(14, VERBOSE %s) -> TestSink;", verbose), cpu(), {bad, valid(), bad});
    const std::string line = "k: IP header check failed: bad IP checksum\n";
    EXPECT_EQ(testing::internal::GetCapturedStderr(), *verbose == 't' ? line + line : "");
  }
}

// The short way for headers without options must agree with the long one, which BADSRC brings in.
TEST(CheckIPHeader, ShortWayAgreesWithTheLong) {
  auto random = random_for("both ways");
  std::vector<Frame> frames;
  for (int i = 0; i < 5000; ++i) {
    Frame frame = i % 3 == 0 ? with_options(5 + random() % 3, random() % 30) : valid(random() % 30);
    if (i % 2 != 0) frame.bytes[14 + random() % 4] ^= static_cast<uint8_t>(1u << random() % 8);
    if (i % 4 != 0 && frame.bytes.size() >= 14 + (frame.bytes[14] & 15u) * 4) set_ip_checksum(frame.bytes, 14);
    if (i % 5 == 0) frame.bytes.resize(random() % (frame.bytes.size() + 1));
    frames.push_back(frame);
  }
  const char* const kChain = "TestSource -> k :: CheckIPHeader(14%s) -> sink :: TestSink(READS \"dst l3 l4\");";
  const Result quick = run(format(kChain, ""), cpu(), frames),
               slow = run(format(kChain, ", BADSRC 9.9.9.9"), cpu(), frames);
  EXPECT_EQ(quick.drops, slow.drops);
  EXPECT_TRUE(same(quick.bytes(), slow.bytes()));
  EXPECT_GT(quick.delivered, 1000u);
  for (size_t i = 0; i < quick.at("sink").size(); ++i)
    for (int c : {0, 1, 2}) EXPECT_EQ(quick.at("sink")[i].column[c], slow.at("sink")[i].column[c]);
}

HEDDLE_ON_EVERY_BACKEND(CheckIPHeaderTest);

/** The element on the backend, which --device alone does not send it to. */
std::string check_on(const Backend& backend, const std::string& arguments) {
  const char* const device = !backend.on_gpu() ? "" : backend.by_load ? ", DEVICE auto" : ", DEVICE gpu";
  return "CheckIPHeader(" + arguments + device + ")";
}

/** By the letter of RFC 791 and RFC 1071, a byte at a time. */
struct Judged {
  std::string reason;  ///< "": valid
  uint32_t header = 0, total = 0;
};
Judged judge(const Bytes& bytes, size_t offset) {
  const size_t room = bytes.size() < offset ? 0 : bytes.size() - offset;
  if (room < 20) return {"short"};
  const uint8_t* header = bytes.data() + offset;
  if (header[0] / 16 != 4) return {"bad_version"};
  const uint32_t length = header[0] % 16 * 4u, total = header[2] * 256u + header[3];
  if (length < 20) return {"bad_header_length"};
  if (length > room) return {"short"};
  if (total < length || total > room) return {"bad_length"};
  uint32_t sum = 0;
  for (uint32_t i = 0; i < length; i += 2) {
    sum += header[i] * 256u + header[i + 1];
    if (sum > 65535) sum -= 65535;
  }
  return sum == 65535 ? Judged{"", length, total} : Judged{"bad_checksum"};
}

/** Valid headers and such with a changed bit or end, at `offset`, and with bytes behind the packet. */
std::vector<Frame> good_and_bad(std::mt19937& random, size_t offset, int count) {
  std::vector<Frame> frames;
  for (int i = 0; i < count; ++i) {
    Frame frame = i % 3 == 0 ? with_options(5 + random() % 11, random() % 30) : valid(random() % 30);
    if (i % 2 != 0) frame.bytes[14 + random() % 4] ^= static_cast<uint8_t>(1u << random() % 8);
    if (i % 4 < 3 && frame.bytes.size() >= 14 + (frame.bytes[14] & 15u) * 4) set_ip_checksum(frame.bytes, 14);
    if (i % 4 == 2) frame.bytes.resize(frame.bytes.size() + random() % 20, 0xee);
    if (i % 5 == 0) frame.bytes.resize(random() % (frame.bytes.size() + 1));
    const size_t before = std::min(frame.bytes.size(), size_t{14});
    Bytes moved(offset, 0xaa);
    moved.insert(moved.end(), frame.bytes.begin() + static_cast<int>(before), frame.bytes.end());
    frame.bytes = moved;
    frame.headroom = static_cast<int>(64 + random() % 16);
    frames.push_back(frame);
  }
  return frames;
}

TEST_P(CheckIPHeaderTest, AgreesWithTheRfc) {
  auto random = random_for("good and bad headers");
  for (const size_t offset : {0, 14, 21}) {
    SCOPED_TRACE(offset);
    const auto frames = good_and_bad(random, offset, 700);
    std::map<std::string, uint64_t> reasons;
    std::vector<Bytes> passed;
    std::vector<uint32_t> headers;
    for (auto& frame : frames) {
      const Judged judged = judge(frame.bytes, offset);
      if (judged.reason.empty()) {
        passed.emplace_back(frame.bytes.begin(), frame.bytes.begin() + static_cast<int>(offset + judged.total));
        headers.push_back(judged.header);
      } else {
        ++reasons["k." + judged.reason];
      }
    }
    ASSERT_EQ(reasons.size(), 5u);
    ASSERT_GT(passed.size(), 200u);
    const Result result = run("TestSource -> k :: " + check_on(GetParam(), std::to_string(offset)) +
                                  " -> sink :: TestSink(READS \"dst l3 l4\");",
                              GetParam(), frames, {.batches = {33, 1, 200}});
    EXPECT_EQ(result.processor.at("k") == "cpu", !GetParam().on_gpu());
    EXPECT_EQ(result.drops, reasons);
    EXPECT_TRUE(same(result.bytes(), passed));
    for (size_t i = 0; i < result.at("sink").size(); ++i) {
      const Received& packet = result.at("sink")[i];
      uint32_t destination;
      std::memcpy(&destination, packet.bytes.data() + offset + 16, 4);
      EXPECT_EQ(packet.column[static_cast<int>(Column::dst)], destination);
      EXPECT_EQ(packet.column[static_cast<int>(Column::l3)], offset);
      EXPECT_EQ(packet.column[static_cast<int>(Column::l4)], offset + headers[i]);
    }
  }
}

TEST_P(CheckIPHeaderTest, CountsOnBothSides) {
  auto random = random_for("counted headers");
  const auto frames = good_and_bad(random, 14, 300);
  uint64_t good = 0, bad_checksums = 0;
  for (auto& frame : frames)
    good += judge(frame.bytes, 14).reason.empty(), bad_checksums += judge(frame.bytes, 14).reason == "bad_checksum";
  for (const char* behind : {"k[1] -> bad :: TestSink(READS \"dst\");", ""}) {
    const Result result = run(
        "TestSource -> k :: " + check_on(GetParam(), "14, DETAILS true") + "; k[0] -> " + "sink :: TestSink; " + behind,
        GetParam(), frames, {.meanwhile = [&](Engine& engine) {
          Broker& handlers = engine.handlers();
          while (handlers.read("k.count") != std::to_string(good) ||
                 handlers.read("k.drops") != std::to_string(frames.size() - good))
            std::this_thread::yield();
          EXPECT_NE(handlers.read("k.drop_details").find(format("\n%zu\tbad IP checksum\n", size_t{bad_checksums})),
                    std::string::npos);
        }});
    EXPECT_EQ(result.at("sink").size(), good);
    if (*behind == 0) continue;
    EXPECT_EQ(result.dropped, 0u);
    ASSERT_EQ(result.at("bad").size(), frames.size() - good);
    for (auto& packet : result.at("bad")) EXPECT_EQ(packet.column[static_cast<int>(Column::dst)], 0u);
  }
}

TEST_P(CheckIPHeaderTest, KnowsSources) {
  std::vector<Frame> frames;
  for (const uint32_t source : {ip(192, 0, 2, 1), ip(192, 0, 2, 255), 0u})
    for (const uint32_t destination : {ip(10, 0, 0, 7), ip(192, 0, 2, 9)})
      frames.push_back(ip_frame(source, destination, 20));
  const Result result =
      run("TestSource -> k :: " + check_on(GetParam(), "14, INTERFACES 192.0.2.9/24") + " -> sink :: TestSink;",
          GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), {frames[0].bytes, frames[1].bytes, frames[3].bytes, frames[5].bytes}));
  EXPECT_EQ(result.drop("k.bad_source"), 2u);
}

TEST_P(CheckIPHeaderTest, TouchesOnlyWhatItDeclares) {
  if (!GetParam().on_gpu()) return;  // whose drops look at the bytes' end
  const auto shape = [](Frame& frame, std::mt19937&) {
    const Frame valid_one = valid(0);
    std::copy_n(valid_one.bytes.begin() + 14, 20, frame.bytes.begin() + 14);
    put_u16(frame.bytes, 16, static_cast<unsigned>(frame.bytes.size() - 14));
    set_ip_checksum(frame.bytes, 14);
  };
  EXPECT_EQ(access_violations(check_on(GetParam(), "14"), GetParam(), {.shortest = 74, .shape = shape}),
            std::vector<std::string>{});
}

TEST(CheckIPHeader, SaysWhatAGpuDoesNotDo) {
  const auto mistake = [](const std::string& arguments) {
    return mistakes("TestSource -> CheckIPHeader(14, DEVICE gpu" + arguments + ") -> TestSink;", "simt");
  };
  EXPECT_EQ(mistake(""), "");
  EXPECT_NE(mistake(", VERBOSE true").find("VERBOSE prints on the CPU only"), std::string::npos);
  std::string addresses;
  for (int i = 0; i < 61; ++i) addresses += format(" 10.0.0.%d", i);
  EXPECT_NE(mistake(", BADSRC" + addresses).find("61 addresses"), std::string::npos);
  EXPECT_EQ(mistakes("TestSource -> CheckIPHeader(14, BADSRC" + addresses + ") -> TestSink;", "simt"), "");
}

}  // namespace
}  // namespace heddle::test
