#include "io/capture/writer.h"

#include <sys/resource.h>

#include <csignal>

#include "io/capture/test_support.h"

namespace heddle::capture {
namespace {

std::string write_error(const std::string& path, const Writer::Options& options = {}) {
  try {
    Writer writer(path, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/** Packets of the lengths that matter, and enough of them to fill the buffers several times. */
std::vector<Listed> packets_up_to(uint32_t longest, size_t number) {
  std::vector<Listed> packets;
  const uint32_t lengths[] = {0, 1, 2, 3, 4, 60, 61, 1514, 1515, longest - 1, longest};
  for (size_t i = 0; i < number; ++i) {
    const uint32_t length = lengths[i % std::size(lengths)];
    packets.push_back({1700000000123456789 + i * 1000000007, length + static_cast<uint32_t>(i % 3), 1,
                       payload(length, static_cast<unsigned>(i))});
  }
  return packets;
}

TEST(Writer, ComesBackAsWritten) {
  const Folder folder;
  const std::vector<Listed> packets = packets_up_to(65535, 200);
  for (const Format format : {Format::pcap, Format::pcapng}) {
    for (const bool nanoseconds : {true, false}) {
      for (const bool background : {true, false}) {
        const std::string path = folder / "capture";  // overwritten each time
        Writer writer(path, {.format = format, .nanoseconds = nanoseconds, .background = background});
        std::vector<Listed> expected = packets;
        for (Listed& packet : expected) {
          write(writer, packet);
          if (!nanoseconds) packet.timestamp_ns -= packet.timestamp_ns % 1000;
        }
        EXPECT_EQ(writer.written_packets(), packets.size());
        writer.close();
        EXPECT_FALSE(writer.failed());
        EXPECT_EQ(writer.failure(), "");
        EXPECT_EQ(writer.written_packets(), packets.size());
        EXPECT_EQ(writer.lost_packets(), 0u);
        EXPECT_EQ(writer.written_bytes(), std::filesystem::file_size(path));
        const Listing listing = list(path);
        EXPECT_EQ(listing.packets, expected) << static_cast<int>(format) << nanoseconds << background;
        EXPECT_EQ(listing.damage, "");
        EXPECT_EQ(list_piped(load(path)), listing);
      }
    }
  }
}

TEST(Writer, CutsToTheSnapLength) {
  const Folder folder;
  for (const Format format : {Format::pcap, Format::pcapng}) {
    for (const uint32_t snap_length : {1u, 64u, 1000001u}) {
      Writer writer(folder / "capture", {.format = format, .snap_length = snap_length});
      std::vector<Listed> expected;
      for (const uint32_t length : {snap_length - 1, snap_length, snap_length + 1, 3 * snap_length}) {
        const Listed packet{length, length, 1, payload(length, length)};
        write(writer, packet);
        expected.push_back({length, length, 1, packet.data.substr(0, snap_length)});
      }
      writer.close();
      EXPECT_EQ(list(folder / "capture").packets, expected);
    }
  }
}

TEST(Writer, WritesTheHeadersOfTheDrafts) {
  const Folder folder;
  Writer(folder / "pcap", {.link_type = 101, .snap_length = 0}).close();
  Bytes header(std::endian::native == std::endian::big);
  header.put32(0xa1b23c4d).put16(2).put16(4).put64(0).put32(262144).put32(101);
  EXPECT_EQ(load(folder / "pcap"), header);
  Writer(folder / "pcapng", {.format = Format::pcapng}).close();
  EXPECT_EQ(load(folder / "pcapng").size(), 28u + 32u);
  EXPECT_EQ(list(folder / "pcapng").error, "");
}

TEST(Writer, FlushShowsPacketsToAPipesReader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Writer writer("/dev/fd/" + std::to_string(ends[1]), {});
  write(writer, {5, 3, 1, "abc"});
  writer.flush();
  writer.flush();
  Reader reader("/dev/fd/" + std::to_string(ends[0]));  // would wait for ever without flush
  Record record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.timestamp_ns, 5u);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Writer, FlushNeedNotWaitForAPipesReader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Writer writer("/dev/fd/" + std::to_string(ends[1]), {});
  size_t written = 0;
  do write(writer, {5, 100'000, 1, payload(100'000, 0)}), ++written;
  while (writer.flush(false));
  EXPECT_FALSE(writer.failed());
  std::vector<Listed> got;
  std::thread reader([&] { got = list("/dev/fd/" + std::to_string(ends[0])).packets; });
  writer.close();
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(got.size(), written);
}

TEST(Writer, WritesStandardOutput) {
  const Folder folder;
  const int before = dup(STDOUT_FILENO), output = ::open((folder / "capture").c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(output, STDOUT_FILENO);
  {
    Writer writer("-", {});
    write(writer, {5, 3, 1, "abc"});
  }
  const int still_open = fcntl(STDOUT_FILENO, F_GETFD);
  dup2(before, STDOUT_FILENO);
  ::close(before);
  ::close(output);
  EXPECT_GE(still_open, 0);
  EXPECT_EQ(list(folder / "capture").packets.size(), 1u);
}

TEST(Writer, CountsWhatAFullDiskLoses) {
  for (const bool background : {true, false}) {
    Writer writer("/dev/full", {.background = background});
    const std::vector<Listed> packets = packets_up_to(65535, 200);
    for (const Listed& packet : packets) write(writer, packet);
    writer.close();
    EXPECT_TRUE(writer.failed());
    EXPECT_EQ(writer.failure(), "cannot write '/dev/full': No space left on device");
    EXPECT_EQ(writer.written_packets(), 0u);
    EXPECT_EQ(writer.written_bytes(), 0u);
    EXPECT_EQ(writer.lost_packets(), packets.size());
    write(writer, packets[0]);
    EXPECT_EQ(writer.lost_packets(), packets.size() + 1);
  }
}

TEST(Writer, EndsAFileThatCannotGrowWithAWholeRecord) {
  const Folder folder;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit{700000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const Format format : {Format::pcap, Format::pcapng}) {
    for (const bool background : {true, false}) {
      Writer writer(folder / "capture", {.format = format, .background = background});
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
      for (const Listed& packet : packets_up_to(65535, 200)) write(writer, packet);
      writer.close();
      setrlimit(RLIMIT_FSIZE, &before);
      EXPECT_EQ(writer.failure(), "cannot write '" + (folder / "capture") + "': File too large");
      EXPECT_GT(writer.written_packets(), 0u);
      EXPECT_EQ(writer.written_packets() + writer.lost_packets(), 200u);
      EXPECT_EQ(writer.written_bytes(), std::filesystem::file_size(folder / "capture"));
      const Listing listing = list(folder / "capture");
      EXPECT_EQ(listing.packets.size(), writer.written_packets());
      EXPECT_EQ(listing.damage, "");
    }
  }
  std::signal(SIGXFSZ, handler);
}

TEST(Writer, SurvivesAClosedPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Writer writer("/dev/fd/" + std::to_string(ends[1]), {});
  ::close(ends[0]);
  ::close(ends[1]);
  for (const Listed& packet : packets_up_to(1515, 5000)) write(writer, packet);
  writer.close();
  EXPECT_NE(writer.failure().find("Broken pipe"), std::string::npos) << writer.failure();
  EXPECT_EQ(writer.lost_packets(), 5000u);
}

TEST(Writer, LosesPacketsAfterClose) {
  const Folder folder;
  Writer writer(folder / "capture", {});
  write(writer, {5, 3, 1, "abc"});
  writer.close();
  writer.close();
  for (int i = 0; i < 10; ++i) write(writer, {5, 100000, 1, payload(100000, 0)});
  writer.flush();
  EXPECT_FALSE(writer.failed());
  EXPECT_EQ(writer.written_packets(), 1u);
  EXPECT_EQ(writer.lost_packets(), 10u);
  EXPECT_EQ(list(folder / "capture").packets.size(), 1u);
}

TEST(Writer, RefusesWithARemedy) {
  const Folder folder;
  EXPECT_EQ(
      write_error(folder / "missing/capture"),
      "cannot write '" + (folder / "missing/capture") +
          "': No such file or directory; name a file in a directory that you may write to, or - for standard output");
  EXPECT_NE(write_error(folder / "").find("Is a directory"), std::string::npos);
  EXPECT_NE(write_error(folder / "capture", {.link_type = 65536}).find("link type 65536"), std::string::npos);
  EXPECT_NE(write_error(folder / "capture", {.snap_length = 1u << 29}).find("exceeds 268435456"), std::string::npos);
}

TEST(Writer, DoesNotOverwriteWhatIsBeingRead) {
  const Folder folder;
  const std::string path = folder / "capture";
  Writer(path, {}).close();
  {
    const Reader reader(path);
    EXPECT_EQ(write_error(path), "cannot write '" + path + "': it is being read or written; name another file");
  }
  {
    const Writer writer(path, {});
    EXPECT_EQ(write_error(path),
              "cannot write '" + path + "': it is being written by another writer; name another file");
  }
  EXPECT_EQ(write_error(path), "");
}

TEST(Writer, HasStandardOutputAlone) {
  const Folder folder;
  {
    const Output first("-", "'first'");
    EXPECT_EQ(write_error("-"), "cannot write standard output: it is being written by 'first'; name another file");
  }
  const Writer null("/dev/null", {});
  EXPECT_EQ(write_error("/dev/null"), "");
}

}  // namespace
}  // namespace heddle::capture
