#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "io/capture/reader.h"
#include "io/capture/writer.h"

/** What the tests of this folder share: captures made byte by byte, and captures as lists that can be compared. */
namespace heddle::capture {

/** A folder that lives as long as its test. */
class Folder {
 public:
  Folder() {
    std::string pattern = ::testing::TempDir() + "capture.XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void save(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // ext4 waits for the disk when a file is emptied and written again
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/** Bytes of a chosen byte order. */
class Bytes : public std::string {
 public:
  explicit Bytes(bool big_endian) : big_endian_(big_endian) {}
  Bytes& put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) *this += static_cast<char>(value >> 8 * (big_endian_ ? bytes - 1 - i : i));
    return *this;
  }
  Bytes& put16(uint64_t value) { return put(value, 2); }
  Bytes& put32(uint64_t value) { return put(value, 4); }
  Bytes& put64(uint64_t value) { return put(value, 8); }
  Bytes& put_text(const std::string& text) {
    *this += text;
    return *this;
  }
  Bytes& pad() {
    resize((size() + 3) / 4 * 4);
    return *this;
  }
  bool big_endian() const { return big_endian_; }

 private:
  bool big_endian_;
};

inline Bytes pcap_header(bool big_endian, uint32_t magic, uint32_t snap_length = 65535, unsigned minor = 4) {
  Bytes file(big_endian);
  file.put32(magic).put16(2).put16(minor).put64(0).put32(snap_length).put32(1);
  return file;
}

inline Bytes pcap_record(bool big_endian, uint32_t seconds, uint32_t fraction, const std::string& data,
                         uint32_t original) {
  Bytes record(big_endian);
  record.put32(seconds).put32(fraction).put32(data.size()).put32(original).put_text(data);
  return record;
}

/** A pcapng block around `body`. */
inline Bytes block(uint32_t type, const Bytes& body) {
  Bytes result(body.big_endian());
  result.put32(type).put32(body.size() + 12).put_text(body).put32(body.size() + 12);
  return result;
}

inline Bytes section(bool big_endian) {
  return block(0x0a0d0d0a, Bytes(big_endian).put32(0x1a2b3c4d).put16(1).put16(0).put64(UINT64_MAX));
}

/** An interface without options. */
inline Bytes interface(bool big_endian, unsigned link_type = 1, uint32_t snap_length = 0) {
  return block(1, Bytes(big_endian).put16(link_type).put16(0).put32(snap_length));
}

/** An interface whose time stamps have `resolution` (as in if_tsresol) and start at `offset_seconds`. */
inline Bytes interface_with_time(bool big_endian, unsigned resolution, int64_t offset_seconds = 0) {
  Bytes body(big_endian);
  body.put16(1).put16(0).put32(0);
  body.put16(2).put16(3).put_text("eth").pad();                          // if_name
  body.put16(9).put16(1).put(resolution, 1).pad();                       // if_tsresol
  body.put16(14).put16(8).put64(static_cast<uint64_t>(offset_seconds));  // if_tsoffset
  return block(1, body.put32(0));
}

inline Bytes enhanced_packet(bool big_endian, uint32_t interface, uint64_t ticks, const std::string& data,
                             uint32_t original) {
  Bytes body(big_endian);
  body.put32(interface).put32(ticks >> 32).put32(ticks & UINT32_MAX).put32(data.size()).put32(original);
  return block(6, body.put_text(data).pad());
}

struct Listed {
  uint64_t timestamp_ns;
  uint32_t original, link_type;
  std::string data;
  bool operator==(const Listed&) const = default;
};

inline void PrintTo(const Listed& packet, std::ostream* out) {
  *out << format("%ju ns, %zu of %u bytes, link type %u", uintmax_t{packet.timestamp_ns}, packet.data.size(),
                 packet.original, packet.link_type);
}

struct Listing {
  std::vector<Listed> packets;
  std::string damage, error;  // error: what the Reader threw
  bool operator==(const Listing&) const = default;
};

/** Reads all, touching every byte. */
inline Listing list(const std::string& path) {
  Listing listing;
  try {
    Reader reader(path);
    Record record;
    while (reader.next(record)) {
      listing.packets.push_back({record.timestamp_ns,
                                 record.original,
                                 record.link_type,
                                 {reinterpret_cast<const char*>(record.data), record.captured}});
      EXPECT_TRUE(!reader.mapped() || reader.bytes_read() <= reader.size());
    }
    EXPECT_FALSE(reader.next(record));
    EXPECT_EQ(reader.records(), listing.packets.size());
    listing.damage = reader.damage();
  } catch (const Error& error) {
    listing.error = error.what();
  }
  return listing;
}

/** The same of bytes that come through a pipe, `chunk` bytes at a time. */
inline Listing list_piped(const std::string& bytes, size_t chunk = 1 << 20) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::thread source([&] {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = ::write(ends[1], bytes.data() + done, std::min(chunk, bytes.size() - done));
      if (put <= 0) break;
      done += static_cast<size_t>(put);
    }
    ::close(ends[1]);
  });
  Listing listing = list("/dev/fd/" + std::to_string(ends[0]));
  // The reader may stop early: drink the rest, so that the source ends.
  for (char rest[4096]; ::read(ends[0], rest, sizeof(rest)) > 0;) continue;
  source.join();
  ::close(ends[0]);
  return listing;
}

inline uint32_t crc(const std::string& data) {
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

/** A packet of `length` bytes, different for each `seed`. */
inline std::string payload(size_t length, unsigned seed) {
  std::string data(length, '\0');
  for (size_t i = 0; i < length; ++i) data[i] = static_cast<char>(i * 131 + seed * 29 + (i >> 8));
  return data;
}

inline void write(Writer& writer, const Listed& packet) {
  writer.write(reinterpret_cast<const uint8_t*>(packet.data.data()), static_cast<uint32_t>(packet.data.size()),
               packet.original, packet.timestamp_ns);
}

}  // namespace heddle::capture
