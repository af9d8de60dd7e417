#include "functions/ipsec/esp.cuh"
#include "functions/ipsec/headers.h"
#include "functions/ipsec/replay.cuh"
#include "functions/ipsec/sequence.cuh"

namespace heddle::ipsec {

/** Writes words of a header. */
__device__ inline auto store_at(uint8_t* header) {
  return [header](uint32_t at, uint32_t word) { gpu::store_u32(header + at, word); };
}

/** A packet of the tile. */
struct EncapJob : Stream {
  static constexpr bool kDeciphers = false;
  uint32_t inner, next_header;  // bytes; what the trailer says

  /** What is enciphered of the 16 bytes that begin at `here` of the stream: inner packet, padding, trailer, else 0. */
  __device__ void load(const uint8_t* at, int here, uint32_t (&words)[4]) const {
    constexpr int kHead = kStreamHead;
    const int end = kHead + static_cast<int>(inner);
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = 0;
    if (here + static_cast<int>(kPiece) > kHead && here < end) {
      const uint4 piece = *reinterpret_cast<const uint4*>(at);
      words[0] = piece.x, words[1] = piece.y, words[2] = piece.z, words[3] = piece.w;
    }
    if (here >= kHead && here + static_cast<int>(kPiece) <= end) return;
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] &= within(here + 4 * w, kHead, end);
    const uint32_t trailer = ciphertext - inner;
    for (uint32_t t = 0; t < trailer; ++t) {
      const int place = end + static_cast<int>(t) - here;
      if (place < 0 || place >= static_cast<int>(kPiece)) continue;
      const uint32_t byte = trailer_byte(t, trailer - kTrailerBytes, next_header) << 8 * (place % 4);
#pragma unroll
      for (int w = 0; w < 4; ++w) words[w] |= w == place / 4 ? byte : 0;
    }
  }
};

struct EncapTile {
  using Table = Image;
  using Scratch = Work<EncapJob>;
  using Shared = Lookup;
  static constexpr int kWarps = 4;
  static constexpr int kPasses = 2;  // encrypts, and sums up what it has encrypted

  static __device__ void fill(const gpu::Block& block, Lookup& te, const Image& image) { te.fill(block, image); }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& work,
                             const Lookup& te) const {
    for (int k = block.thread; k < tile.count(); k += block.threads) {
      const int i = tile.packet(k);
      work.jobs[k].ciphertext = 0;
      if (const int reason = prepare(tile, i, image, work.jobs[k]); reason != kGood)
        tile.drop(i, static_cast<uint32_t>(reason));
    }
    work.survey(block, tile, image);
    run_streams(work, te, [&work](int k, const uint32_t(&icv)[4]) {
      const EncapJob& job = work.jobs[k];
      uint8_t* const to = job.stream + job.bytes();
#pragma unroll
      for (int w = 0; w < 4; ++w)
        if (4 * w < job.suite.icv_bytes) gpu::store_u32(to + 4 * w, icv[w]);
    });
  }

 private:
  /** Checks a packet, and writes all but the stream; a reason to drop it, or kGood. */
  static __device__ int prepare(gpu::Tile& tile, int i, const Image& image, EncapJob& job) {
    const uint32_t link = image.link_bytes, index = tile.column(Column::sa, i);
    if (index >= image.count) return kNoSa;
    if (tile.length(i) < link) return kMalformed;
    const Association& sa = image.associations()[index];
    uint8_t *const frame = tile.frame(i), *const packet = frame + link;
    const Plain plain =
        plain_of(sa, packet, tile.length(i) - link, [packet](uint32_t at) { return gpu::load_u32(packet + at); });
    if (plain.reason != kGood) return plain.reason;
    const uint32_t sequence = tile.column(Column::esp_sequence, i), front = sa.front_bytes();
    const uint64_t iv = tile.wide_column(Column::esp_iv, i);
    job.sa = &sa;
    job.suite = sa.suite, job.extended = sa.extended;
    job.stream = packet + plain.kept - kStreamHead;
    job.inner = plain.inner.bytes - plain.kept;
    job.ciphertext = sa.ciphertext_bytes(job.inner);
    job.next_header = plain.inner.next_header;
    job.sequence = swapped(sequence), job.high = upper_half(sa, iv);
    job.iv[0] = static_cast<uint32_t>(iv), job.iv[1] = static_cast<uint32_t>(iv >> 32);
    move_link(frame, link + plain.kept, -static_cast<int>(front));
    uint8_t* const header = packet - front;
    const uint32_t behind = sa.middle_bytes() + job.ciphertext + sa.suite.icv_bytes;
    if (sa.transport) {
      change_header(header, plain.kept, plain.next_at, kProtocolEsp, behind);
    } else {
      if (link >= 2) header[-2] = sa.ip6 ? 0x86 : 0x08, header[-1] = sa.ip6 ? 0xdd : 0x00;
      write_outer(store_at(header), sa, plain.inner, sequence, behind);
    }
    if (sa.in_udp()) write_udp(store_at(job.stream - kUdpBytes), sa, behind - kUdpBytes);
    tile.move_head(i, -static_cast<int>(front));
    tile.set_length(i, link + plain.kept + sa.ip_bytes() + behind);
    return kGood;
  }
};

/** A packet of the tile that is to be opened. */
struct DecapJob : Stream {
  static constexpr bool kDeciphers = true;
  uint32_t icv[4];             // that it came with, as it lies
  uint32_t difference;         // to what it should be; 0: it is authentic
  uint32_t ecn;                // of the outer header
  uint32_t ip_bytes, next_at;  // headers of IP; where in these the protocol is said

  __device__ uint64_t number() const { return uint64_t{high} << 32 | swapped(sequence); }
  __device__ void load(const uint8_t* at, int here, uint32_t (&words)[4]) const {
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = 0;
    if (here + static_cast<int>(kPiece) <= 0 || here >= static_cast<int>(bytes())) return;
    const uint4 piece = *reinterpret_cast<const uint4*>(at);
    words[0] = piece.x, words[1] = piece.y, words[2] = piece.z, words[3] = piece.w;
  }
};

/** The same with what Decap keeps, which would be in registers all the time otherwise. */
struct DecapWork : Work<DecapJob> {
  Highest* highest;  // of association 0; the others follow, if some have extended numbers
};

using SharedHighest = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

struct DecapTile {
  using Table = Image;
  using Scratch = DecapWork;
  using Shared = Lookup;
  using State = Highest;
  static constexpr int kWarps = 4;
  static constexpr int kPasses = 2;  // sums up, and decrypts

  static __device__ void fill(const gpu::Block& block, Lookup& te, const Image& image) { te.fill(block, image); }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& work,
                             const Lookup& te, Highest& highest) const {
    const uint32_t link = image.link_bytes;
    if (block.thread == 0) work.highest = &highest;
    for (int k = block.thread; k < tile.count(); k += block.threads) {
      const int i = tile.packet(k);
      DecapJob& job = work.jobs[k];
      job.ciphertext = 0;
      const int reason = tile.length(i) < link + kIp4Bytes
                             ? kNotEsp
                             : find_stream(image, tile.frame(i) + link, tile.length(i) - link, job, &highest);
      if (reason != kGood) tile.drop(i, reason);
    }
    work.survey(block, tile, image);
    run_streams(work, te, [&work](int k, const uint32_t(&icv)[4]) {
      DecapJob& job = work.jobs[k];
      uint32_t difference = 0;
#pragma unroll
      for (int w = 0; w < 4; ++w)
        if (4 * w < job.suite.icv_bytes) difference |= icv[w] ^ job.icv[w];
      job.difference = difference;
    });
    finish(work);
  }

 private:
  /** goes_to(), word by word: a loop over associations has no registers for all of an address. */
  static __device__ bool is_to(const Form& form, const uint8_t* packet) {
    if ((packet[0] >> 4 == 6) != form.ip6) return false;
    const uint32_t words = form.ip6 ? 4 : 1, at = form.ip6 ? 24 : 16;
    uint32_t difference = 0;
#pragma unroll 1
    for (uint32_t w = 0; w < words; ++w)
      difference |= gpu::load_u32(packet + at + 4 * w) ^ (form.ip6 ? form.destination6[w] : form.destination);
    return difference == 0;
  }

  /** Finds what is to be opened of a packet; a reason to drop it, or kGood. */
  static __device__ __noinline__ int find_stream(const Image& image, uint8_t* packet, uint32_t available, DecapJob& job,
                                                 Highest* highest) {
    const Arrived arrived = arrived_of(packet, available, [&image](uint16_t port) { return image.takes_port(port); });
    if (arrived.reason != kGood) return arrived.reason;
    uint8_t* const esp = packet + arrived.esp;
    const uint32_t index =
        image.find(gpu::load_u32(esp), [packet](const Association& one) { return is_to(one, packet); });
    if (index == Image::kNone) return kUnknown;
    const Association& sa = image.associations()[index];
    if (arrived.port != sa.destination_port) return kUnknown;
    job.sa = &sa;
    job.suite = sa.suite, job.extended = sa.extended;
    const uint32_t bytes = arrived.end - arrived.esp, around = kStreamHead + sa.suite.icv_bytes;
    if (bytes < around + kTrailerBytes || ((bytes - around) & (sa.suite.alignment() - 1)) != 0) return kShort;
    job.stream = esp;
    job.sequence = gpu::load_u32(esp + 4), job.high = 0;
    if (sa.extended) {
      const uint64_t seen = image.seen()[index],
                     top = SharedHighest(highest[index].number).load(cuda::memory_order_relaxed);
      job.high = static_cast<uint32_t>(number_near(top > seen ? top : seen, swapped(job.sequence)) >> 32);
    }
    job.iv[0] = gpu::load_u32(esp + kEspBytes), job.iv[1] = gpu::load_u32(esp + kEspBytes + 4);
    uint8_t* const icv = esp + bytes - sa.suite.icv_bytes;
#pragma unroll
    for (int w = 0; w < 4; ++w)
      if (4 * w < sa.suite.icv_bytes) job.icv[w] = gpu::load_u32(icv + 4 * w);
    job.difference = ~0u;
    job.ecn = arrived.ecn;
    job.ip_bytes = arrived.ip_bytes, job.next_at = arrived.next_at;
    job.ciphertext = bytes - around;
    return kGood;
  }

  /** Makes what has been deciphered and is authentic the packet; a reason to drop it, or kGood. */
  static __device__ int open(gpu::Tile& tile, int i, const Image& image, const DecapJob& job) {
    const Form& form = *job.sa;
    const uint32_t link = image.link_bytes;
    uint8_t *const text = job.stream + kStreamHead, *const frame = tile.frame(i);
    const auto load = [text](uint32_t at) { return gpu::load_u32(text + at); };
    const Payload payload = payload_of(job.ciphertext, load);
    if (payload.reason != kGood) return payload.reason;
    uint8_t* start = text;  // of the IP packet
    uint32_t bytes = 0;
    if (form.transport) {
      if (payload.next_header == kProtocolNone) return kNotIp;
      start -= job.ip_bytes;
      bytes = job.ip_bytes + payload.bytes;
      move_link(frame, link + job.ip_bytes, static_cast<int>(start - link - frame));
      change_header(start, job.ip_bytes, job.next_at, payload.next_header, payload.bytes);
    } else {
      const Inner inner = tunnelled(payload, load);
      if (inner.bytes == 0) return kNotIp;
      const uint32_t before = inner.tos & 3;
      const int ecn = form.flags & kNoEcn ? static_cast<int>(before) : ecn_behind_tunnel(before, job.ecn);
      if (ecn < 0) return kEcn;
      if (static_cast<uint32_t>(ecn) != before) set_ecn(text, static_cast<uint32_t>(ecn));
      bytes = inner.bytes;
      move_link(frame, link, static_cast<int>(start - link - frame));
      const uint32_t type = ether_type_of(inner);
      if (link >= 2) text[-2] = static_cast<uint8_t>(type >> 8), text[-1] = static_cast<uint8_t>(type);
    }
    tile.move_head(i, static_cast<int>(start - link - frame));
    tile.set_length(i, link + bytes);
    tile.column(Column::sa, i) = static_cast<uint32_t>(job.sa - image.associations());
    tile.column(Column::esp_sequence, i) = swapped(job.sequence);
    if (image.has_extended) tile.wide_column(Column::esp_iv, i) = job.number();
    return kGood;
  }

  static __device__ void finish(Scratch& work) {
    gpu::Tile& tile = *work.tile;
    const int k = work.block().thread;
    if (k >= work.count || work.jobs[k].ciphertext == 0) return;
    const int i = tile.packet(k);
    const DecapJob& job = work.jobs[k];
    if (job.difference != 0) {
      tile.drop(i, kBadIcv);
      return;
    }
    // Before packets go on: whoever judges their numbers knows of none that is higher than this one.
    if (job.extended) atomicMax(&work.highest[job.sa - work.image->associations()].number, job.number());
    if (const int reason = open(tile, i, *work.image, job); reason != kGood)
      tile.drop(i, static_cast<uint32_t>(reason));
  }
};

}  // namespace heddle::ipsec

HEDDLE_GPU_FUNCTION(IPsecEncap, heddle::ipsec::EncapTile);
HEDDLE_GPU_FUNCTION(IPsecDecap, heddle::ipsec::DecapTile);
HEDDLE_GPU_FUNCTION(IPsecReplay, heddle::ipsec::ReplayTile);
HEDDLE_GPU_FUNCTION(IPsecSequence, heddle::ipsec::SequenceTile);
