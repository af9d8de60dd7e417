#pragma once

#include <cstddef>
#include <cstdint>

/** Reading and writing capture files, without libpcap. Sources: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. */
namespace heddle::capture {

enum class Format { pcap, pcapng };

/** One packet of a capture. All numbers in host byte order. */
struct Record {
  const uint8_t* data;    ///< first byte of the link-layer header; not owned. How long it stays valid: Reader::next
  uint32_t captured;      ///< bytes at `data`, 0 .. kMaxCapturedBytes
  uint32_t original;      ///< bytes that the packet had on the wire, as the file says it: a broken file may say less
  uint64_t timestamp_ns;  ///< since 1970-01-01 UTC, modulo 2^64; 0 where the file has none (Simple Packet Block)
  uint32_t link_type;     ///< LINKTYPE_ of the interface that captured it; 1 = Ethernet
};

constexpr uint32_t kLinkTypeEthernet = 1;

/** Longest record, and longest pcapng block, that is believed: what claims more is damage. */
constexpr uint32_t kMaxCapturedBytes = 256u << 20;

/** Longest record where a file's header gives a smaller snap length: headers lie about it, tcpdump never writes more.
 */
constexpr uint32_t kDefaultSnapLength = 262144;

/** The numbers of both formats: file and block header values as a machine of the file's byte order reads them. */
namespace wire {

constexpr uint32_t kPcapMicroseconds = 0xa1b2c3d4, kPcapNanoseconds = 0xa1b23c4d;
constexpr uint32_t kPcapModified = 0xa1b2cd34;  ///< Kuznetzov's: microseconds, 8 more bytes in each record header
constexpr size_t kPcapFileHeaderBytes = 24, kPcapRecordHeaderBytes = 16, kPcapModifiedRecordHeaderBytes = 24;

constexpr uint32_t kSectionHeader = 0x0a0d0d0a;  ///< the same in both byte orders
constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr uint32_t kInterfaceDescription = 1, kObsoletePacket = 2, kSimplePacket = 3, kEnhancedPacket = 6;
constexpr size_t kBlockHeaderBytes = 8, kBlockFrameBytes = 12;  ///< type and length; with the length again at the end
constexpr size_t kEnhancedPacketBytes = 32;                     ///< without its data, padding and options
constexpr uint16_t kOptionEnd = 0, kOptionResolution = 9, kOptionOffset = 14;

}  // namespace wire
}  // namespace heddle::capture
