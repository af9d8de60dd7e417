#include <cuda/atomic>

#include "functions/classifier/image.h"
#include "functions/classifier/tuple_image.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::classifier {

/** Eight threads search for one packet in one dimension, 16 bytes of a block's limits each: a block is one access of
 *  128 bytes, and a warp has four of them on their way. Then eight threads a packet unify its bit vectors. Schramm
 *  (2022, 3.3) has a warp for a dimension, a limit a thread, and a vote of the warp. Which of the two is faster has not
 *  been measured. */
struct ClassifyTile {
  static constexpr int kWarps = 4;
  static constexpr int kLanes = 8;
  using Threads = gpu::Group<kLanes>;
  using Table = Image;
  using State = GpuHits;  // of the rule with the id 0; the others follow
  /** Of the function's packets; [d][k] is that of tile.packet(k). */
  struct Scratch {
    uint32_t value[kMaxDimensions][gpu::kSlotPackets];  // what is searched in dimension d, then the range where it is
    bool too_short[gpu::kSlotPackets], later_fragment[gpu::kSlotPackets];
    bool not_ip4[gpu::kSlotPackets];               // and there are rules for packets of IPv4 only
    Moment when;                                   // that all of the tile go by
    uint32_t first_way, ways;                      // the list of hash tables, as Image::tables has it
    unsigned long long listed[gpu::kSlotPackets];  // number and place of the first listed rule; all ones: none matches
  };

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& scratch,
                             GpuHits& hits) const {
    if (block.thread == 0) begin(image, scratch);
    read_fields(block, tile, scratch);
    block.sync();
    if (image.dimension_count > kFields || image.versions != Versions::ip4) read_further(block, tile, image, scratch);
    if (scratch.when.listed != 0) search_listed(block, tile, image, scratch);
    if (image.nodes != 0) return search_tree(block, tile, image, scratch, hits);
    if (image.ways != 0) return search_tables(block, tile, image, scratch, hits);
    const Threads threads(block);
    const int searches = tile.count() * static_cast<int>(image.dimension_count);
    for (int base = 0; base < searches; base += threads.count()) {
      const int s = base + threads.index();
      const int d = s < searches ? s / tile.count() : 0, k = s < searches ? s % tile.count() : 0;
      const uint32_t value = s < searches ? scratch.value[d][k] : 0;
      const uint32_t range = find_range(threads, image, image.dimensions[d], value);
      __syncwarp();  // all have read the value
      if (s < searches && threads.rank() == 0) scratch.value[d][k] = range;
    }
    block.sync();
    for (int base = 0; base < tile.count(); base += threads.count()) {
      const int k = base + threads.index();
      const bool wanted = is_wanted(tile, scratch, k);
      const uint32_t rule = first_match(threads, image, scratch, wanted ? k : 0, wanted);
      if (k >= tile.count() || threads.rank() != 0) continue;
      finish(tile, image, scratch, k, wanted, image.outcome(rule), hits);
    }
  }

 private:
  /** Takes the present moment, and then the list of hash tables, which has all rules of it. Whatever has been changed
   *  up to it is not taken from an L1 where it lies as it was. */
  static __device__ void begin(const Image& image, Scratch& scratch) {
    using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_device>;
    scratch.when = Image::moment_of(Word(const_cast<uint64_t&>(image.moment)).load(cuda::memory_order_acquire));
    const uint64_t tables = __ldcg(&image.tables);
    scratch.first_way = static_cast<uint32_t>(tables), scratch.ways = static_cast<uint32_t>(tables >> 32);
  }

  /** Whether rules see packet k. */
  static __device__ bool is_wanted(const gpu::Tile& tile, const Scratch& scratch, int k) {
    return k < tile.count() && !scratch.too_short[k] && !scratch.not_ip4[k];
  }

  /** `outcome`: by the rules that the image was built of; of a packet that is not wanted, that no rule was hit. */
  static __device__ void finish(gpu::Tile& tile, const Image& image, const Scratch& scratch, int k, bool wanted,
                                Outcome outcome, GpuHits& hits) {
    const int i = tile.packet(k);
    if (wanted && scratch.when.listed != 0 && scratch.listed[k] >> 32 < outcome.number)
      outcome = image.at<PlainRule>(image.listed)[static_cast<uint32_t>(scratch.listed[k])].outcome;
    tile.column(Column::rule, i) = outcome.number;
    if (wanted && outcome.id != kNoId) gpu::count_up((&hits)[outcome.id].packets, 1);
    tile.next(i, scratch.too_short[k] ? uint32_t{kDrop} : outcome.next);  // reason 0: "short"
  }

  /** Reads the packets' fields, four threads a packet. Where no options lie between the headers, all fields are in four
   *  words of 8 bytes, which the four fetch by one instruction and so as one PCIe read: each field by itself is one or
   *  two. */
  static __device__ void read_fields(const gpu::Block& block, gpu::Tile& tile, Scratch& scratch) {
    constexpr int kThreads = 4;
    const auto rank = static_cast<uint32_t>(block.thread % kThreads);
    for (int base = 0; base < tile.count(); base += block.threads / kThreads) {
      const int k = base + block.thread / kThreads, i = tile.packet(k < tile.count() ? k : 0);
      const uint32_t bytes = tile.length(i);
      const uint32_t network = min(tile.column(Column::l3, i), bytes),
                     transport = min(tile.column(Column::l4, i), bytes);
      const bool whole = k < tile.count() && bytes - network >= kNetworkBytes;
      const bool has_transport = bytes - transport >= kPortBytes;
      const bool adjacent = has_transport && transport == network + kNetworkBytes;
      const auto address = reinterpret_cast<uintptr_t>(tile.frame(i) + network);
      const auto* words = reinterpret_cast<const unsigned long long*>(address & ~uintptr_t{7});
      const uint32_t before = static_cast<uint32_t>(address & 7),
                     end = before + kNetworkBytes + (adjacent ? kPortBytes : 0);
      const unsigned long long word = whole && rank * 8 < end ? words[rank] : 0;
      // The threads' own fields: control, source, destination, ports.
      const uint32_t at = before + (rank == 0 ? 6 : 8 + 4 * rank), shift = at % 8 * 8;
      const unsigned long long low = __shfl_sync(~0u, word, static_cast<int>(at / 8), kThreads),
                               high = __shfl_sync(~0u, word, static_cast<int>(min(at / 8 + 1, 3u)), kThreads);
      const auto field = static_cast<uint32_t>(shift == 0 ? low : low >> shift | high << (64 - shift));
      const uint32_t control = __shfl_sync(~0u, field, 0, kThreads);
      if (k >= tile.count()) continue;
      if (rank == 0) {
        scratch.value[kProtocol][k] = protocol_of(control);
        const bool is_ip4 = (word >> before * 8 & 0xf0) == 0x40;
        scratch.too_short[k] = !whole || (is_ip4 && has_ports(control) && !has_transport);
        scratch.not_ip4[k] = whole && !is_ip4;
        scratch.later_fragment[k] = (control & 0xff1f) != 0;
      } else if (rank < 3) {
        scratch.value[rank == 1 ? kSource : kDestination][k] = __byte_perm(field, 0, 0x0123);
      } else {
        const bool wanted = whole && has_transport && has_ports(control);
        const uint32_t ports = !wanted ? 0 : adjacent ? field : gpu::load_u32(tile.frame(i) + transport);
        scratch.value[kSourcePort][k] = source_port(ports);
        scratch.value[kDestinationPort][k] = destination_port(ports);
      }
    }
  }

  /** What rules ask for beside the 5-tuple of IPv4, a thread for each packet and dimension. In place on return. */
  static __device__ __noinline__ void read_further(gpu::Block block, gpu::Tile& tile, const Image& image,
                                                   Scratch& scratch) {
    if (image.versions != Versions::ip4)
      for (int k = block.thread; k < tile.count(); k += block.threads)
        if (scratch.not_ip4[k]) read_other(tile, image, scratch, k);
    block.sync();
    const int further = (static_cast<int>(image.dimension_count) - kFields) * tile.count();
    for (int s = block.thread; s < further; s += block.threads) {
      const int d = kFields + s / tile.count(), k = s % tile.count();
      const Dimension& dimension = image.dimensions[d];
      const uint32_t value = scratch.too_short[k] ? 0 : value_at(tile, image, scratch, dimension.place, k);
      scratch.value[d][k] = value >> dimension.shift & dimension.mask;
    }
    block.sync();
  }

  /** The big-endian number in the `length` bytes at `at`. Never leaves the aligned words that have them. */
  static __device__ uint32_t number_at(const uint8_t* at, uint32_t length) {
    const auto address = reinterpret_cast<uintptr_t>(at);
    const auto* words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
    const uint32_t shift = static_cast<uint32_t>(address & 3) * 8;
    const uint32_t next = shift + 8 * length > 32 ? words[1] : 0;
    return __byte_perm(__funnelshift_r(words[0], next, shift), 0, 0x0123) >> (32 - 8 * length);
  }

  /** The 5-tuple of a packet that is not of IPv4: that of IPv6, or nothing. */
  static __device__ void read_other(gpu::Tile& tile, const Image& image, Scratch& scratch, int k) {
    constexpr uint32_t kBytes = 40, kNextHeader = 6, kFrom = 8, kTo = 24;  // RFC 8200, section 3
    const int i = tile.packet(k);
    const uint32_t bytes = tile.length(i), network = min(tile.column(Column::l3, i), bytes),
                   transport = min(tile.column(Column::l4, i), bytes);
    const uint8_t* header = tile.frame(i) + network;
    const bool is_ip6 = image.versions == Versions::both && number_at(header, 1) >> 4 == 6;
    scratch.not_ip4[k] = false;
    for (int f = 0; f < kFields; ++f) scratch.value[f][k] = 0;
    scratch.too_short[k] = is_ip6 && bytes - network < kBytes;
    scratch.later_fragment[k] = false;
    if (!is_ip6 || scratch.too_short[k]) return;
    const uint32_t protocol = number_at(header + kNextHeader, 1);
    scratch.value[kProtocol][k] = protocol;
    scratch.value[kSource][k] = number_at(header + kFrom, 4);
    scratch.value[kDestination][k] = number_at(header + kTo, 4);
    if (!has_ports(protocol << 24)) return;
    scratch.too_short[k] = bytes - transport < kPortBytes;
    if (scratch.too_short[k]) return;
    scratch.value[kSourcePort][k] = number_at(tile.frame(i) + transport, 2);
    scratch.value[kDestinationPort][k] = number_at(tile.frame(i) + transport + 2, 2);
  }

  /** What packet k has at `place`; 0 if it has nothing there. */
  static __device__ uint32_t value_at(gpu::Tile& tile, const Image& image, const Scratch& scratch, Place place, int k) {
    const int i = tile.packet(k);
    const uint32_t bytes = tile.length(i), network = min(tile.column(Column::l3, i), bytes),
                   transport = min(tile.column(Column::l4, i), bytes);
    uint32_t start = network, offset = place.offset, length = place.length;
    switch (place.kind) {
      case Place::field:
        return scratch.value[place.offset][k];
      case Place::vlan:
        return tile.column(Column::vlan, i) & 0xfff;
      case Place::paint:
        return tile.column(Column::paint, i) & 0xff;
      case Place::version:
        return number_at(tile.frame(i) + network, 1) >> 4;
      case Place::source6:
      case Place::destination6:
        if (image.versions != Versions::both || number_at(tile.frame(i) + network, 1) >> 4 != 6) return 0;
        offset += place.kind == Place::source6 ? 8 : 24;
        break;
      case Place::frame:
        start = 0;
        break;
      case Place::network:
        break;
      case Place::transport:
        if (scratch.later_fragment[k]) return 0;
        start = transport;
        break;
    }
    return offset + length > bytes - start ? 0 : number_at(tile.frame(i) + start + offset, length);
  }

  /** All ones for each of the limits in `limits`, of `bits`, that is smaller than its part of `values`. */
  static __device__ uint32_t smaller(uint32_t limits, uint32_t values, uint32_t bits) {
    return bits == 32   ? (limits < values ? ~0u : 0)
           : bits == 16 ? __vcmpltu2(limits, values)
                        : __vcmpltu4(limits, values);
  }

  /** The range of a dimension that `value` lies in. Called by whole warps. */
  static __device__ uint32_t find_range(const Threads& threads, const Image& image, const Dimension& dimension,
                                        uint32_t value) {
    const uint32_t bits = dimension.limit_bits;
    const uint32_t values = bits == 32 ? value : bits == 16 ? value * 0x10001 : value * 0x1010101;
    uint32_t block = dimension.blocks == 0 ? 0 : find_block(image, dimension, value);
    for (int level = dimension.levels - 1; __any_sync(~0u, level >= 0); --level) {
      uint32_t ones = 0;
      if (level >= 0) {
        const uint4 limits =
            image.at<uint4>(dimension.level[level])[block * kLanes + static_cast<uint32_t>(threads.rank())];
        ones = static_cast<uint32_t>(__popc(smaller(limits.x, values, bits)) + __popc(smaller(limits.y, values, bits)) +
                                     __popc(smaller(limits.z, values, bits)) + __popc(smaller(limits.w, values, bits)));
      }
      ones = threads.from_first(threads.fold(ones, [](uint32_t a, uint32_t b, int) { return a + b; }));
      if (level >= 0) block = (block * kBlockBytes * 8 + ones) / bits;
    }
    return block;
  }

  /** The block of level 0 that `value` lies in, by halves. */
  static __device__ uint32_t find_block(const Image& image, const Dimension& dimension, uint32_t value) {
    constexpr uint32_t kLimits = kBlockBytes / sizeof(uint32_t);
    uint32_t first = 0;
    for (uint32_t last = dimension.blocks - 1; first < last;) {
      const uint32_t middle = (first + last) / 2;
      if (image.at<uint32_t>(dimension.level[0])[middle * kLimits + kLimits - 1] < value)
        first = middle + 1;
      else
        last = middle;
    }
    return first;
  }

  /** The place of the lowest bit that is set. */
  static __device__ uint32_t first_bit(unsigned long long bits) {
    return static_cast<uint32_t>(__ffsll(static_cast<long long>(bits))) - 1;
  }

  /** The threads' bits of a warp's vote, rank 0 lowest. */
  static __device__ uint32_t vote(bool yes) {
    return __ballot_sync(~0u, yes) >> (threadIdx.x % gpu::kLanes / kLanes * kLanes) & 0xff;
  }

  /** The rule that packet k hits. Each thread takes one word of the aggregates; then, word by word, each takes one of
   *  the vectors' words that its bits name, in ascending order, until one is left. Called by whole warps. */
  static __device__ uint32_t first_match(const Threads& threads, const Image& image, const Scratch& scratch, int k,
                                         bool wanted) {
    const auto rank = static_cast<uint32_t>(threads.rank());
    uint32_t rule = kNoRule;
    for (uint32_t first = 0; first < image.aggregate_words && __any_sync(~0u, wanted); first += kLanes) {
      unsigned long long mine = 0;
      if (wanted && first + rank < image.aggregate_words) {
        mine = ~0ull;
        for (uint32_t d = 0; d < kFields; ++d) mine &= image.aggregate(d, scratch.value[d][k])[first + rank];
#pragma unroll 1
        for (uint32_t d = kFields; d < image.dimension_count; ++d)
          mine &= image.aggregate(d, scratch.value[d][k])[first + rank];
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
          for (uint32_t d = 0; d < kFields; ++d) match &= image.vector(d, scratch.value[d][k])[word];
#pragma unroll 1
          for (uint32_t d = kFields; d < image.dimension_count; ++d)
            match &= image.vector(d, scratch.value[d][k])[word];
          while (match != 0 && !image.lives(word * 64 + first_bit(match), scratch.when)) match &= match - 1;
        }
        const uint32_t hits = vote(match != 0);
        const int winner = hits != 0 ? __ffs(static_cast<int>(hits)) - 1 : 0;
        const uint32_t found = __shfl_sync(~0u, word * 64 + first_bit(match), winner, kLanes);
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

  /** Eight threads take a packet down the tree, two words of a node each, which is one access of 64 bytes, and look at
   *  eight of a leaf's rules at once. */
  static __device__ __noinline__ void search_tree(gpu::Block block, gpu::Tile& tile, const Image& image,
                                                  const Scratch& scratch, GpuHits& hits) {
    const Threads threads(block);
    for (int base = 0; base < tile.count(); base += threads.count()) {
      const int k = base + threads.index();
      const bool wanted = is_wanted(tile, scratch, k);
      const uint32_t rule = find_in_tree(threads, image, scratch, wanted ? k : 0, wanted);
      if (k >= tile.count() || threads.rank() != 0) continue;
      const Outcome outcome =
          rule == kNoRule ? image.outcome(kNoRule) : image.at<PlainRule>(image.tree_rules)[rule].outcome;
      finish(tile, image, scratch, k, wanted, outcome, hits);
    }
  }

  /** The place of the rule that packet k hits. Called by whole warps. */
  static __device__ uint32_t find_in_tree(const Threads& threads, const Image& image, const Scratch& scratch, int k,
                                          bool wanted) {
    const auto rank = static_cast<uint32_t>(threads.rank());
    uint32_t node = 0, first = 0, what = 0;
    for (;;) {
      const uint2 mine = image.at<uint2>(image.nodes)[node * kLanes + rank];  // the last thread's: first and what
      first = __shfl_sync(~0u, mine.x, kLanes - 1, kLanes);
      what = __shfl_sync(~0u, mine.y, kLanes - 1, kLanes);
      const bool inner = wanted && what < TreeNode::kLeaf;
      if (!__any_sync(~0u, inner)) break;
      const uint32_t value = scratch.value[inner ? what : 0][k];
      const bool limits = rank < kLanes - 1;
      const auto smaller =
          static_cast<uint32_t>(__popc(vote(limits && mine.x < value)) + __popc(vote(limits && mine.y < value)));
      if (inner) node = first + smaller;
    }
    const uint32_t count = wanted ? what - TreeNode::kLeaf : 0;
    uint32_t found = kNoRule;
    for (uint32_t base = 0; __any_sync(~0u, base < count && found == kNoRule); base += kLanes) {
      const bool there = base + rank < count && found == kNoRule;
      const uint32_t rule = there ? image.at<uint32_t>(image.leaves)[first + base + rank] : 0;
      const uint32_t hit = vote(there && matches(image, image.at<PlainRule>(image.tree_rules)[rule], scratch, k));
      const uint32_t winner = __shfl_sync(~0u, rule, hit != 0 ? __ffs(static_cast<int>(hit)) - 1 : 0, kLanes);
      if (hit != 0) found = winner;
    }
    return found;
  }

  /** Eight threads look a packet up in as many hash tables at once. */
  static __device__ __noinline__ void search_tables(gpu::Block block, gpu::Tile& tile, const Image& image,
                                                    const Scratch& scratch, GpuHits& hits) {
    const Threads threads(block);
    for (int base = 0; base < tile.count(); base += threads.count()) {
      const int k = base + threads.index();
      const bool wanted = is_wanted(tile, scratch, k);
      const uint32_t id = find_in_tables(threads, image, scratch, wanted ? k : 0, wanted);
      if (k >= tile.count() || threads.rank() != 0) continue;
      Outcome outcome = image.outcome(kNoRule);
      if (id != kNoId) {
        const uint4 lows = __ldcg(lanes_of(image, id) + 1);
        outcome = {lows.z, id, lows.w};
      }
      finish(tile, image, scratch, k, wanted, outcome, hits);
    }
  }

  /** The id of the rule that packet k hits; kNoId: none. Tables are in the order of their best rules, so the search
   *  ends where no later one can have a better rule. Called by whole warps. */
  static __device__ uint32_t find_in_tables(const Threads& threads, const Image& image, const Scratch& scratch, int k,
                                            bool wanted) {
    uint32_t best = kNoRule, found = kNoId;
    for (auto at = static_cast<uint32_t>(threads.rank());; at += kLanes) {
      uint32_t number = best, id = kNoId;
      bool open = wanted && at < scratch.ways;
      if (open) {
        const ImageWay& way = image.at<ImageWay>(image.ways)[scratch.first_way + at];
        open = way.best < best;
        if (open) id = find_in_table(image, way, scratch, k, number);
      }
      if (!__any_sync(~0u, open)) return found;
      const uint32_t least =
          threads.from_first(threads.fold(number, [](uint32_t a, uint32_t b, int) { return a < b ? a : b; }));
      const uint32_t hit = vote(id != kNoId && number == least);
      const uint32_t winner = __shfl_sync(~0u, id, hit != 0 ? __ffs(static_cast<int>(hit)) - 1 : 0, kLanes);
      if (hit != 0) best = least, found = winner;
    }
  }

  /** The id of the first rule of a table that packet k matches, if its number is lower than `number`, which becomes it;
   *  else kNoId. Chains change while they are followed, so nothing of them may come from an L1. */
  static __device__ uint32_t find_in_table(const Image& image, const ImageWay& way, const Scratch& scratch, int k,
                                           uint32_t& number) {
    const uint64_t hash =
        hash_of(words_of(scratch.value[kSource][k], scratch.value[kDestination][k], scratch.value[kSourcePort][k],
                         scratch.value[kDestinationPort][k], scratch.value[kProtocol][k]) &
                way.mask);
    constexpr int kFirstLink = kLinks[0];
    const uint64_t head = __ldcg(image.at<uint64_t>(way.heads) + (hash >> way.shift));
    if (!may_have(head, hash)) return kNoId;
    for (auto next = static_cast<uint32_t>(head); next != 0;) {
      const uint32_t id = next - 1;
      const uint4* lanes = lanes_of(image, id);
      const uint4 later_spans = __ldcg(lanes + 3), later_lows = __ldcg(lanes + 1);
      if (later_lows.z >= number) break;
      if (scratch.value[kProtocol][k] - later_lows.x <= later_spans.x &&
          scratch.when.number - later_lows.y <= later_spans.y) {
        const uint4 lows = __ldcg(lanes), spans = __ldcg(lanes + 2);
        if (scratch.value[kSource][k] - lows.x <= spans.x && scratch.value[kDestination][k] - lows.y <= spans.y &&
            scratch.value[kSourcePort][k] - lows.z <= spans.z &&
            scratch.value[kDestinationPort][k] - lows.w <= spans.w && holds(image, id, scratch, k)) {
          number = later_lows.z;
          return id;
        }
      }
      next = way.link == kFirstLink ? later_spans.z : later_spans.w;
    }
    return kNoId;
  }

  /** The lanes of a TupleEntry, `low` and then `span`, four at a time. */
  static __device__ const uint4* lanes_of(const Image& image, uint32_t id) {
    return image.at<uint4>(image.entries) + uint64_t{id} * (sizeof(TupleEntry) / sizeof(uint4));
  }

  /** Whether what the rule asks for beside the 5-tuple holds. */
  static __device__ bool holds(const Image& image, uint32_t id, const Scratch& scratch, int k) {
    const uint32_t places = image.dimension_count - kFields;
    const uint32_t* check = image.at<uint32_t>(image.checks) + uint64_t{id} * places * 3;
    bool all = true;
    for (uint32_t d = kFields; d < image.dimension_count; ++d, check += 3)
      all = all && (scratch.value[d][k] & __ldcg(check)) - __ldcg(check + 1) <= __ldcg(check + 2);
    return all;
  }

  /** Sets Scratch::listed. Each thread takes some of the rules and compares them with all packets. In place on
   *  return. */
  static __device__ __noinline__ void search_listed(gpu::Block block, gpu::Tile& tile, const Image& image,
                                                    Scratch& scratch) {
    for (int k = block.thread; k < tile.count(); k += block.threads) scratch.listed[k] = ~0ull;
    block.sync();
    for (auto at = static_cast<uint32_t>(block.thread); at < scratch.when.listed;
         at += static_cast<uint32_t>(block.threads)) {
      const PlainRule rule = image.at<PlainRule>(image.listed)[at];
      for (int k = 0; k < tile.count(); ++k)
        if (matches(image, rule, scratch, k))
          atomicMin(&scratch.listed[k], static_cast<unsigned long long>(rule.outcome.number) << 32 | at);
    }
    block.sync();
  }

  static __device__ bool matches(const Image& image, const PlainRule& rule, const Scratch& scratch, int k) {
    bool all = scratch.when.is_before(rule.end);
    for (int f = 0; f < kFields; ++f)
      all = all && rule.low[f] <= scratch.value[f][k] && scratch.value[f][k] <= rule.high[f];
    for (uint32_t c = 0; all && c < rule.conditions; ++c) {
      const PlainCondition& condition = image.at<PlainCondition>(image.conditions)[rule.first_condition + c];
      const uint32_t value = scratch.value[condition.dimension][k] & condition.mask;
      all = condition.low <= value && value <= condition.high;
    }
    return all;
  }
};

}  // namespace heddle::classifier

HEDDLE_GPU_FUNCTION(BitVectorClassifier, heddle::classifier::ClassifyTile);
HEDDLE_GPU_FUNCTION(Firewall, heddle::classifier::ClassifyTile);
