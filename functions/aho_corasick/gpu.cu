#include "functions/aho_corasick/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"
#include "gpu/strands.cuh"

namespace heddle::aho_corasick {

/** Payloads are searched in strands, of which several threads have one each of a packet. A strand ends with its first
 *  match; the first of a packet's strands is the packet's. */
struct SearchTile {
  static constexpr int kWarps = 4;
  using Table = Image;
  using State = GpuMatches;
  static constexpr uint32_t kNone = ~0u;
  /** [k] is of tile.packet(k). */
  struct Scratch {
    gpu::Strands strands;
    gpu::Strands::Text payload[gpu::kSlotPackets];
    uint32_t automaton[gpu::kSlotPackets];  // kNone: it has no whole header
    uint32_t first[gpu::kSlotPackets];      // the first match: where its last byte is << 16 | state, or kNone
  };

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& scratch,
                             GpuMatches& matches) const {
    for (int k = block.thread; k < tile.count(); k += block.threads) read_headers(tile, k, image, scratch);
    const int each = gpu::Strands::each(block, tile), strands = tile.count() * each;
    scratch.strands.lay_out(block, tile, each, [&](int k) { return scratch.payload[k]; });
    // There are no more strands than threads; those beyond them load only.
    uint32_t state = 0;
    for (uint32_t n = 0; n < scratch.strands.lines; ++n) {
      scratch.strands.load(block, strands, n);
      block.sync();
      if (block.thread < strands) search(tile, image, scratch, block.thread, each, n, state);
      block.sync();
    }
    for (int k = block.thread; k < tile.count(); k += block.threads) finish(tile, k, image, scratch, matches);
  }

 private:
  static __device__ void read_headers(gpu::Tile& tile, int k, const Image& image, Scratch& scratch) {
    using namespace nids;
    const int i = tile.packet(k);
    const uint8_t* const frame = tile.frame(i);
    const uint32_t bytes = tile.length(i);
    scratch.payload[k] = {bytes, bytes, 0};
    scratch.automaton[k] = scratch.first[k] = kNone;
    const auto load = [frame](uint32_t at) { return gpu::load_u32(frame + at); };
    const Headers headers = headers_of(bytes, tile.column(Column::l3, i), tile.column(Column::l4, i), load);
    if (!headers.whole) return;
    const uint32_t transport = headers.behind.at, available = bytes - transport;
    const uint8_t* const behind = frame + transport;
    const Protocol protocol = protocol_of(headers.behind.number);
    const uint32_t skipped = transport_bytes(headers, available, available > 12 ? behind[12] : 0);
    const bool has_ports = skipped > 0 && (protocol == Protocol::tcp || protocol == Protocol::udp);
    const uint32_t ports = has_ports ? __byte_perm(gpu::load_u32(behind), 0, 0x0123) : 0;
    scratch.automaton[k] = image.automaton_of(protocol, has_ports, ports >> 16, ports & 0xffff);
    const uint32_t longest = image.at<Automaton>(image.automata)[scratch.automaton[k]].longest;
    scratch.payload[k] = {transport + skipped, end_of_payload(headers, bytes, skipped, load),
                          longest - min(longest, 1u)};
  }

  /** Searches line `n` of strand s, which has come to `state`. */
  static __device__ void search(const gpu::Tile& tile, const Image& image, Scratch& scratch, int s, int each,
                                uint32_t n, uint32_t& state) {
    const int k = s / each;
    const gpu::Strands::Strand strand = scratch.strands.strand[s];
    const uint32_t from = max(strand.first, n * gpu::Strands::kLine);
    // Of the strand's line, in the packet.
    const auto place = static_cast<uint32_t>(strand.line - tile.frame(tile.packet(k)));
    if (from >= strand.last || scratch.first[k] >> 16 < place + from) return;
    const Automaton& automaton = image.at<Automaton>(image.automata)[scratch.automaton[k]];
    const Row* const rows = image.at<Row>(image.rows) + automaton.first_row;
    const uint32_t accept = automaton.accept, own = strand.own;
    scratch.strands.walk(s, n, from, [&](uint32_t byte, uint32_t at) {
      state = rows[state][byte];
      if (state < accept || at < own) return true;
      atomicMin(&scratch.first[k], (place + at) << 16 | state);
      return false;
    });
  }

  static __device__ void finish(gpu::Tile& tile, int k, const Image& image, const Scratch& scratch,
                                GpuMatches& matches) {
    const int i = tile.packet(k);
    if (scratch.automaton[k] == kNone) return tile.drop(i, kShort);
    if (scratch.first[k] == kNone) return;
    const Automaton& automaton = image.at<Automaton>(image.automata)[scratch.automaton[k]];
    const uint32_t pattern = image.pattern_of(automaton, scratch.first[k] & 0xffff);
    gpu::count_up(matches.packets, 1);
    gpu::count_up(matches.by_id[image.first_id + pattern], 1);
    tile.next(i, image.matched);
  }
};

}  // namespace heddle::aho_corasick

HEDDLE_GPU_FUNCTION(AhoCorasick, heddle::aho_corasick::SearchTile);
