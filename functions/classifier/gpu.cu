#include "functions/classifier/image.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::classifier {

/** Eight threads search for one packet in one dimension, four limits of a block each: a block is one access of 128 bytes, and
 *  a warp has four of them on their way. Then eight threads a packet unify its bit vectors. */
struct ClassifyTile {
  static constexpr int kWarps = 4;
  static constexpr int kLanes = 8;
  using Threads = gpu::Group<kLanes>;
  using Table = Image;
  /** Of the function's packets; [f][k] is that of tile.packet(k). */
  struct Scratch {
    uint32_t field[kFields][gpu::kSlotPackets];
    uint32_t range[kFields][gpu::kSlotPackets];
    bool too_short[gpu::kSlotPackets];
  };

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& scratch) const {
    read_fields(block, tile, scratch);
    block.sync();
    const Threads threads(block);
    const int searches = tile.count() * kFields;
    for (int base = 0; base < searches; base += threads.count()) {
      const int s = base + threads.index();
      const int f = s < searches ? s / tile.count() : 0, k = s < searches ? s % tile.count() : 0;
      const uint32_t range = find_range(threads, image, f, scratch.field[f][k]);
      if (s < searches && threads.rank() == 0) scratch.range[f][k] = range;
    }
    block.sync();
    for (int base = 0; base < tile.count(); base += threads.count()) {
      const int k = base + threads.index();
      const bool wanted = k < tile.count() && !scratch.too_short[k];
      const uint32_t rule = first_match(threads, image, scratch, wanted ? k : 0, wanted);
      if (k >= tile.count() || threads.rank() != 0) continue;
      const int i = tile.packet(k);
      const Outcome outcome = image.outcome(rule);
      tile.column(Column::rule, i) = outcome.number;
      tile.next(i, wanted ? outcome.next : uint32_t{kDrop});  // reason 0: "short"
    }
  }

 private:
  /** Reads the packets' fields, four threads a packet. Where no options lie between the headers, all fields are in four words
   *  of 8 bytes, which the four fetch by one instruction and so as one PCIe read: each field by itself is one or two. */
  static __device__ void read_fields(const gpu::Block& block, gpu::Tile& tile, Scratch& scratch) {
    constexpr int kThreads = 4;
    constexpr uint32_t kControl = 6;  // where what is wanted of the network header begins
    const auto rank = static_cast<uint32_t>(block.thread % kThreads);
    for (int base = 0; base < tile.count(); base += block.threads / kThreads) {
      const int k = base + block.thread / kThreads, i = tile.packet(k < tile.count() ? k : 0);
      const uint32_t bytes = tile.length(i);
      const uint32_t network = min(tile.column(Column::l3, i), bytes),
                     transport = min(tile.column(Column::l4, i), bytes);
      const bool whole = k < tile.count() && bytes - network >= kNetworkBytes;
      const bool has_transport = bytes - transport >= kPortBytes;
      const bool adjacent = has_transport && transport == network + kNetworkBytes;
      const auto address = reinterpret_cast<uintptr_t>(tile.frame(i) + network + kControl);
      const auto* words = reinterpret_cast<const unsigned long long*>(address & ~uintptr_t{7});
      const uint32_t before = static_cast<uint32_t>(address & 7),
                     end = before + kNetworkBytes - kControl + (adjacent ? kPortBytes : 0);
      const unsigned long long word = whole && rank * 8 < end ? words[rank] : 0;
      // The threads' own fields: control, source, destination, ports.
      const uint32_t at = before + (rank == 0 ? 0 : 2 + 4 * rank), shift = at % 8 * 8;
      const unsigned long long low = __shfl_sync(~0u, word, static_cast<int>(at / 8), kThreads),
                               high = __shfl_sync(~0u, word, static_cast<int>(min(at / 8 + 1, 3u)), kThreads);
      const auto field = static_cast<uint32_t>(shift == 0 ? low : low >> shift | high << (64 - shift));
      const uint32_t control = __shfl_sync(~0u, field, 0, kThreads);
      if (k >= tile.count()) continue;
      if (rank == 0) {
        scratch.field[kProtocol][k] = protocol_of(control);
        scratch.too_short[k] = !whole || (has_ports(control) && !has_transport);
      } else if (rank < 3) {
        scratch.field[rank == 1 ? kSource : kDestination][k] = __byte_perm(field, 0, 0x0123);
      } else {
        const bool wanted = whole && has_transport && has_ports(control);
        const uint32_t ports = !wanted ? 0 : adjacent ? field : gpu::load_u32(tile.frame(i) + transport);
        scratch.field[kSourcePort][k] = source_port(ports);
        scratch.field[kDestinationPort][k] = destination_port(ports);
      }
    }
  }

  /** The range of dimension `f` that `value` lies in. Called by whole warps. */
  static __device__ uint32_t find_range(const Threads& threads, const Image& image, int f, uint32_t value) {
    const Dimension& dimension = image.dimensions[f];
    uint32_t block = 0;
    for (int level = dimension.levels - 1; __any_sync(~0u, level >= 0); --level) {
      uint32_t smaller = 0;
      if (level >= 0) {
        const uint4 limits =
            image.at<uint4>(dimension.level[level])[block * kLanes + static_cast<uint32_t>(threads.rank())];
        smaller = (limits.x < value) + (limits.y < value) + (limits.z < value) + (limits.w < value);
      }
      smaller = threads.from_first(threads.fold(smaller, [](uint32_t a, uint32_t b, int) { return a + b; }));
      if (level >= 0) block = block * kBlock + smaller;
    }
    return block;
  }

  /** The threads' bits of a warp's vote, rank 0 lowest. */
  static __device__ uint32_t vote(bool yes) {
    return __ballot_sync(~0u, yes) >> (threadIdx.x % gpu::kLanes / kLanes * kLanes) & 0xff;
  }

  /** The rule that packet k hits. Each thread takes one word of the aggregates; then, word by word, each takes one of the
   *  vectors' words that its bits name, in ascending order, until one is left. Called by whole warps. */
  static __device__ uint32_t first_match(const Threads& threads, const Image& image, const Scratch& scratch, int k,
                                         bool wanted) {
    const auto rank = static_cast<uint32_t>(threads.rank());
    uint32_t rule = kNoRule;
    for (uint32_t first = 0; first < image.aggregate_words && __any_sync(~0u, wanted); first += kLanes) {
      unsigned long long mine = 0;
      if (wanted && first + rank < image.aggregate_words) {
        mine = ~0ull;
        for (int f = 0; f < kFields; ++f) mine &= image.aggregate(f, scratch.range[f][k])[first + rank];
      }
      while (__any_sync(~0u, mine != 0)) {
        const uint32_t left = vote(mine != 0);
        const int owner = left != 0 ? __ffs(static_cast<int>(left)) - 1 : 0;
        unsigned long long words = __shfl_sync(~0u, mine, owner, kLanes);
        for (uint32_t skipped = 0; skipped < rank; ++skipped) words &= words - 1;
        uint32_t word = 0;
        unsigned long long match = 0;
        if (words != 0) {
          word = (first + static_cast<uint32_t>(owner)) * 64 +
                 static_cast<uint32_t>(__ffsll(static_cast<long long>(words))) - 1;
          match = ~0ull;
          for (int f = 0; f < kFields; ++f) match &= image.vector(f, scratch.range[f][k])[word];
        }
        const uint32_t hits = vote(match != 0);
        const int winner = hits != 0 ? __ffs(static_cast<int>(hits)) - 1 : 0;
        const uint32_t found = __shfl_sync(
            ~0u, word * 64 + static_cast<uint32_t>(__ffsll(static_cast<long long>(match))) - 1, winner, kLanes);
        // What the last thread has seen is the last of these words; the owner goes on behind it.
        const unsigned long long behind = __shfl_sync(~0u, words & (words - 1), kLanes - 1, kLanes);
        if (hits != 0) {
          rule = found;
          wanted = false;
          mine = 0;
        } else if (static_cast<int>(rank) == owner) {
          mine = behind;
        }
      }
    }
    return rule;
  }
};

}  // namespace heddle::classifier

HEDDLE_GPU_FUNCTION(BitVectorClassifier, heddle::classifier::ClassifyTile);
HEDDLE_GPU_FUNCTION(Firewall, heddle::classifier::ClassifyTile);
