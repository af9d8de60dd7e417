#include "functions/nids/candidates.h"
#include "functions/nids/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/events.cuh"
#include "gpu/registry.cuh"
#include "gpu/strands.cuh"

namespace heddle::nids {

/** Payloads are searched in strands, of which several threads have one each of a packet. */
struct SearchTile {
  static constexpr int kWarps = 4;
  using Table = Image;
  using State = Candidates;
  struct Shared {
    uint8_t class_of[256];
  };
  /** [k] is of tile.packet(k). */
  struct Scratch {
    gpu::Strands strands;
    gpu::Strands::Text payload[gpu::kSlotPackets];
    PortGroup group[gpu::kSlotPackets];  // whose patterns are looked for
    uint32_t next[gpu::kSlotPackets];    // what becomes of the packet
    unsigned long long first;            // word of the candidate that the host is told of
  };

  static __device__ void fill(const gpu::Block& block, Shared& shared, const Image& image) {
    for (int i = block.thread; i < 256; i += block.threads) shared.class_of[i] = image.class_of[i];
  }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& scratch,
                             const Shared& shared, Candidates& candidates) const {
    for (int k = block.thread; k < tile.count(); k += block.threads) read_headers(tile, k, image, scratch);
    const int each = gpu::Strands::each(block, tile), strands = tile.count() * each;
    scratch.strands.lay_out(block, tile, each, [&](int k) { return scratch.payload[k]; });
    // There are no more strands than threads; those beyond them load only.
    uint32_t state = 0;
    for (uint32_t n = 0; n < scratch.strands.lines; ++n) {
      scratch.strands.load(block, strands, n);
      block.sync();
      if (block.thread < strands) search(image, shared, scratch, block.thread, each, n, state);
      block.sync();
    }
    if (image.tells != 0) return tell(block, tile, scratch, candidates);
    for (int k = block.thread; k < tile.count(); k += block.threads) tile.next(tile.packet(k), scratch.next[k]);
  }

 private:
  static __device__ void read_headers(const gpu::Tile& tile, int k, const Image& image, Scratch& scratch) {
    auto& columns = const_cast<gpu::Tile&>(tile);
    const int i = tile.packet(k);
    const uint8_t* const frame = tile.frame(i);
    const uint32_t bytes = tile.length(i);
    scratch.payload[k] = {bytes, bytes, kLongestPattern - 1};
    scratch.next[k] = kDrop | kShort;
    const auto load = [frame](uint32_t at) { return gpu::load_u32(frame + at); };
    const Headers headers = headers_of(bytes, columns.column(Column::l3, i), columns.column(Column::l4, i), load);
    if (!headers.whole) return;
    const uint32_t transport = headers.behind.at, available = bytes - transport;
    const uint8_t* const behind = frame + transport;
    const uint32_t data_offset = available > 12 ? behind[12] : 0;
    const uint32_t ports = available >= 4 ? __byte_perm(gpu::load_u32(behind), 0, 0x0123) : 0;
    const Protocol protocol = protocol_of(headers.behind.number);
    const uint32_t skipped =
        transport_bytes(headers, available, data_offset);  // so many have only whole headers of TCP
    const PortGroup group = image.group_of(protocol, skipped > 0 && names_ports(protocol), ports >> 16, ports & 0xffff);
    if (group.search == PortGroup::Search::always ||
        (image.syns != 0 && skipped >= kTcpBytes && (behind[13] & kSyn) != 0)) {
      scratch.next[k] = kCandidate;
      return;
    }
    scratch.group[k] = group;
    scratch.next[k] = kClean;
    if (group.search != PortGroup::Search::patterns) return;
    scratch.payload[k].begin = transport + skipped;
    scratch.payload[k].end = end_of_payload(headers, bytes, skipped, load);
  }

  /** Searches line `n` of strand s, which has come to `state`. */
  static __device__ void search(const Image& image, const Shared& shared, Scratch& scratch, int s, int each, uint32_t n,
                                uint32_t& state) {
    if (scratch.next[s / each] != kClean) return;
    const PortGroup& group = scratch.group[s / each];
    const auto* const next = image.at<uint16_t>(image.next) + group.first;
    const uint32_t classes = image.classes, accept = group.accept;
    const uint32_t from = max(scratch.strands.strand[s].first, n * gpu::Strands::kLine);
    scratch.strands.walk(s, n, from, [&](uint32_t byte, uint32_t) {
      state = next[state * classes + shared.class_of[byte]];
      if (state < accept) return true;
      atomicExch(&scratch.next[s / each], uint32_t{kCandidate});  // the packet's other strands look at it meanwhile
      return false;
    });
  }

  /** Tells the host of the candidates, which go on as the others do, and says where all packets go. The last thing that
   *  is done: what is needed after a call costs registers. */
  static __device__ __noinline__ void tell(const gpu::Block block, gpu::Tile& tile, Scratch& scratch,
                                           Candidates& candidates) {
    for (int k = 0; k < tile.count(); ++k) {
      const int i = tile.packet(k);
      const bool candidate = scratch.next[k] == kCandidate;
      if (block.thread == 0) tile.next(i, candidate ? uint32_t{kClean} : scratch.next[k]);
      if (!candidate) continue;
      const uint32_t bytes = tile.length(i), words = (bytes + 3) / 4;
      if (block.thread == 0) scratch.first = gpu::reserve(candidates.words, words);
      block.sync();
      const unsigned long long first = scratch.first;
      for (auto w = static_cast<uint32_t>(block.thread); w < words; w += static_cast<uint32_t>(block.threads))
        gpu::put(candidates.words, first + w, word_at(tile.frame(i), w * 4, bytes));
      block.sync();
      if (block.thread != 0) continue;
      // Its bytes are there for whoever sees the event.
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
      gpu::push(candidates.told, {first, bytes, static_cast<uint16_t>(tile.column(Column::l3, i)),
                                  static_cast<uint16_t>(min(tile.column(Column::l4, i), bytes))});
    }
  }

  /** Four bytes of a packet from `at` on, in memory order; 0 where it has ended. */
  static __device__ uint32_t word_at(const uint8_t* frame, uint32_t at, uint32_t bytes) {
    if (at + 4 <= bytes) return gpu::load_u32(frame + at);
    uint32_t word = 0;
    for (uint32_t b = 0; at + b < bytes; ++b) word |= uint32_t{frame[at + b]} << 8 * b;
    return word;
  }
};

}  // namespace heddle::nids

HEDDLE_GPU_FUNCTION(NIDS, heddle::nids::SearchTile);
