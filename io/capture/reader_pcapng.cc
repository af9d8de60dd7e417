// The blocks of a pcapng file (draft-ietf-opsawg-pcapng, sections 3 and 4).
#include <algorithm>
#include <bit>

#include "core/error.h"
#include "io/capture/reader.h"

namespace heddle::capture {
namespace {

__extension__ using uint128 = unsigned __int128;

constexpr size_t kSectionHeaderBytes = 28, kInterfaceDescriptionBytes = 20, kSimplePacketBytes = 16;  // fixed parts
constexpr size_t kMaxInterfaces = 65536;  // of a section; bounds the memory that an endless pipe can take
constexpr uint64_t kSecondNs = 1000000000;

uint64_t power_of_ten(int exponent) {
  uint64_t result = 1;
  for (int i = 0; i < exponent; ++i) result *= 10;
  return result;
}

}  // namespace

/** Reads the block at the cursor whole and moves behind it, unless that ends the reading. */
Reader::Step Reader::read_block(Record& record) {
  if (!fill(wire::kBlockFrameBytes)) {
    if (left() == 0) return stop("");
    return stop(format("the file ends after %zu of at least %zu bytes", left(), wire::kBlockFrameBytes));
  }
  uint32_t type = load32(cursor_);
  if (type == wire::kSectionHeader) {  // each section chooses its byte order
    swap_ = false;
    const uint32_t magic = load32(cursor_ + wire::kBlockHeaderBytes);
    swap_ = magic == __builtin_bswap32(wire::kByteOrderMagic);
    if (!swap_ && magic != wire::kByteOrderMagic) return stop(format("section with byte-order magic %08x", magic));
  }
  const uint32_t length = load32(cursor_ + 4);
  if (length < wire::kBlockFrameBytes || length % 4 != 0 || length > kMaxCapturedBytes) {
    return stop(format("block length %u is not a multiple of 4 between %zu and %u", length, wire::kBlockFrameBytes,
                       kMaxCapturedBytes));
  }
  if (!fill(length)) return stop(format("the file ends after %zu of the block's %u bytes", left(), length));
  prefetch();
  const uint32_t trailer = load32(cursor_ + length - 4);
  if (trailer != length) return stop(format("block length %u is %u at the block's end", length, trailer));

  Step step = Step::other;
  switch (type) {
    case wire::kSectionHeader:
      if (length < kSectionHeaderBytes) return stop(format("section header of %u bytes is too short", length));
      if (load16(cursor_ + 12) != 1) {
        return stop(format("pcapng version %u.%u; expected 1.0", load16(cursor_ + 12), load16(cursor_ + 14)));
      }
      interfaces_.clear();
      break;
    case wire::kInterfaceDescription:
      step = read_interface(length);
      break;
    case wire::kSimplePacket:
      step = read_simple_packet(length, record);
      break;
    case wire::kObsoletePacket:
    case wire::kEnhancedPacket:
      step = read_packet_block(type, length, record);
      break;
    default:
      break;
  }
  if (step != Step::stop) cursor_ += length;
  return step;
}

Reader::Step Reader::read_interface(uint32_t length) {
  if (length < kInterfaceDescriptionBytes) return stop(format("interface of %u bytes is too short", length));
  if (interfaces_.size() == kMaxInterfaces) return stop(format("more than %zu interfaces", kMaxInterfaces));
  unsigned resolution = 6;
  uint64_t offset_seconds = 0;
  const uint8_t* const options_end = cursor_ + length - 4;
  for (const uint8_t* at = cursor_ + 16; options_end - at >= 4;) {
    const unsigned code = load16(at), bytes = load16(at + 2);
    const size_t padded = (bytes + 3u) & ~3u;
    at += 4;
    if (code == wire::kOptionEnd) break;
    if (padded > static_cast<size_t>(options_end - at)) {
      return stop(format("option %u of %u bytes reaches beyond the interface's block", code, bytes));
    }
    if ((code == wire::kOptionResolution && bytes != 1) || (code == wire::kOptionOffset && bytes != 8)) {
      return stop(format("interface option %u of %u bytes", code, bytes));
    }
    if (code == wire::kOptionResolution) resolution = *at;
    if (code == wire::kOptionOffset) {
      const uint64_t first = load32(at), second = load32(at + 4);
      const bool big_endian = swap_ == (std::endian::native == std::endian::little);
      offset_seconds = big_endian ? first << 32 | second : second << 32 | first;
    }
    at += padded;
  }
  Interface added{load16(cursor_ + 8), load32(cursor_ + 12), offset_seconds * kSecondNs, 0, 0, 0};
  if (resolution & 0x80) {
    added.binary_shift = resolution & 0x7f;
  } else {
    const int finer = static_cast<int>(resolution) - 9;  // powers of ten finer than nanoseconds
    added.multiplier = finer > 19 ? 0 : power_of_ten(std::max(-finer, 0));
    added.divisor = finer > 19 ? 1 : power_of_ten(std::max(finer, 0));
  }
  interfaces_.push_back(added);
  if (!has_link_type_) link_type_ = added.link_type;
  has_link_type_ = true;
  return Step::other;
}

/** Enhanced Packet Block and its predecessor, which differ in how they number the interface. */
Reader::Step Reader::read_packet_block(uint32_t type, uint32_t length, Record& record) {
  if (length < wire::kEnhancedPacketBytes) return stop(format("packet block of %u bytes is too short", length));
  const uint32_t index = type == wire::kEnhancedPacket ? load32(cursor_ + 8) : load16(cursor_ + 8);
  if (index >= interfaces_.size()) {
    return stop(format("packet of interface %u, of which there are %zu", index, interfaces_.size()));
  }
  const uint32_t captured = load32(cursor_ + 20);
  if (captured > length - wire::kEnhancedPacketBytes) {
    return stop(format("captured length %u exceeds its block of %u bytes", captured, length));
  }
  const Interface& source = interfaces_[index];
  const uint64_t ticks = static_cast<uint64_t>(load32(cursor_ + 12)) << 32 | load32(cursor_ + 16);
  uint64_t since_offset_ns = ticks * source.multiplier;
  if (source.divisor == 0) since_offset_ns = static_cast<uint64_t>(uint128{ticks} * kSecondNs >> source.binary_shift);
  if (source.divisor > 1) since_offset_ns = ticks / source.divisor;
  record.data = cursor_ + 28;
  record.captured = captured;
  record.original = load32(cursor_ + 24);
  record.timestamp_ns = since_offset_ns + source.offset_ns;
  record.link_type = source.link_type;
  return Step::record;
}

Reader::Step Reader::read_simple_packet(uint32_t length, Record& record) {
  if (length < kSimplePacketBytes) return stop(format("packet block of %u bytes is too short", length));
  if (interfaces_.empty()) return stop("packet without an interface");
  const Interface& source = interfaces_[0];
  const uint32_t original = load32(cursor_ + 8);
  const uint32_t captured = source.snap_length == 0 ? original : std::min(original, source.snap_length);
  if (captured > length - kSimplePacketBytes) {
    return stop(format("captured length %u exceeds its block of %u bytes", captured, length));
  }
  record = {cursor_ + 12, captured, original, 0, source.link_type};
  return Step::record;
}

}  // namespace heddle::capture
