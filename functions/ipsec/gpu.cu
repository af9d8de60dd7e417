#include "functions/ipsec/arrived.h"
#include "functions/ipsec/esp.cuh"
#include "functions/ipsec/replay.cuh"
#include "functions/ipsec/sequence.cuh"

namespace heddle::ipsec {

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

/** A thread a packet: checks it, and writes all but the stream. */
__device__ inline void prepare(const gpu::Block& block, gpu::Tile& tile, const Image& image, Work<EncapJob>& work) {
  const uint32_t link = image.link_bytes;
  for (int k = block.thread; k < tile.count(); k += block.threads) {
    const int i = tile.packet(k);
    EncapJob& job = work.jobs[k];
    job.ciphertext = 0;
    const uint32_t index = tile.column(Column::sa, i);
    if (index >= image.count) {
      tile.drop(i, kNoSa);
      continue;
    }
    Inner inner{};
    uint8_t* const frame = tile.frame(i);
    uint8_t* const plain = frame + link;
    if (tile.length(i) >= link + kIp4Bytes)
      inner = inner_of(gpu::load_u32(plain), gpu::load_u32(plain + 4), tile.length(i) - link);
    if (inner.bytes == 0) {
      tile.drop(i, kMalformed);
      continue;
    }
    job.sa = image.associations() + index;
    job.suite = job.sa->suite;
    job.stream = plain - kStreamHead;
    job.inner = inner.bytes;
    job.ciphertext = ciphertext_bytes(inner.bytes);
    job.next_header = inner.next_header;
    const uint32_t sequence = tile.column(Column::esp_sequence, i);
    const uint64_t iv = tile.wide_column(Column::esp_iv, i);
    job.sequence = swapped(sequence);
    job.iv[0] = static_cast<uint32_t>(iv), job.iv[1] = static_cast<uint32_t>(iv >> 32);
    move_link(frame, link, -static_cast<int>(kFrontBytes));
    uint8_t* const outer = plain - kFrontBytes;
    if (link >= 2) outer[-2] = 0x08, outer[-1] = 0x00;
    uint32_t words[5];
    const uint32_t total = kFrontBytes + job.ciphertext + job.suite.icv_bytes;
    outer_header(words, *job.sa, inner, sequence, total);
#pragma unroll
    for (int w = 0; w < 5; ++w) gpu::store_u32(outer + 4 * w, words[w]);
    tile.move_head(i, -static_cast<int>(kFrontBytes));
    tile.set_length(i, link + total);
  }
}

struct EncapTile {
  using Table = Image;
  using Scratch = Work<EncapJob>;
  using Shared = Lookup;
  static constexpr int kWarps = 4;
  static constexpr int kPasses = 2;  // encrypts, and sums up what it has encrypted

  static __device__ void fill(const gpu::Block& block, Lookup& te, const Image& image) { te.fill(block, image); }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& work,
                             const Lookup& te) const {
    prepare(block, tile, image, work);
    work.survey(block, tile, image);
    run_streams(work, te, [&work](int k, const uint32_t(&icv)[4]) {
      const EncapJob& job = work.jobs[k];
      uint8_t* const to = job.stream + job.bytes();
#pragma unroll
      for (int w = 0; w < 4; ++w)
        if (4 * w < job.suite.icv_bytes) gpu::store_u32(to + 4 * w, icv[w]);
    });
  }
};

/** A packet of the tile that is to be opened. */
struct DecapJob : Stream {
  static constexpr bool kDeciphers = true;
  uint32_t icv[4];      // that it came with, as it lies
  uint32_t difference;  // to what it should be; 0: it is authentic
  uint32_t ecn;         // of the outer header

  __device__ void load(const uint8_t* at, int here, uint32_t (&words)[4]) const {
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = 0;
    if (here + static_cast<int>(kPiece) <= 0 || here >= static_cast<int>(bytes())) return;
    const uint4 piece = *reinterpret_cast<const uint4*>(at);
    words[0] = piece.x, words[1] = piece.y, words[2] = piece.z, words[3] = piece.w;
  }
};

/** Finds what is to be opened of a packet; a reason to drop it, or kGood. */
__device__ inline int find_stream(const Image& image, uint8_t* packet, uint32_t available, DecapJob& job) {
  const Arrived arrived = arrived_of(packet, available, [](uint16_t) { return false; });
  if (arrived.reason != kGood) return arrived.reason;
  uint8_t* const esp = packet + arrived.esp;
  const uint32_t index = image.find(gpu::load_u32(esp));
  if (index == Image::kNone || arrived.ip6) return kUnknown;
  job.sa = image.associations() + index;
  if (gpu::load_u32(packet + 16) != job.sa->destination) return kUnknown;
  job.suite = job.sa->suite;
  const uint32_t bytes = arrived.end - arrived.esp, around = kStreamHead + job.suite.icv_bytes;
  if (bytes < around + kTrailerBytes || (bytes - around) % 4 != 0) return kShort;
  job.stream = esp;
  job.sequence = gpu::load_u32(esp + 4);
  job.iv[0] = gpu::load_u32(esp + kEspBytes), job.iv[1] = gpu::load_u32(esp + kEspBytes + 4);
  uint8_t* const icv = esp + bytes - job.suite.icv_bytes;
#pragma unroll
  for (int w = 0; w < 4; ++w)
    if (4 * w < job.suite.icv_bytes) job.icv[w] = gpu::load_u32(icv + 4 * w);
  job.difference = ~0u;
  job.ecn = arrived.ecn;
  job.ciphertext = bytes - around;
  return kGood;
}

/** Makes what has been deciphered and is authentic the packet; a reason to drop it, or kGood. */
__device__ inline int open(gpu::Tile& tile, int i, const Image& image, const DecapJob& job) {
  const uint32_t link = image.link_bytes;
  uint8_t *const text = job.stream + kStreamHead, *const frame = tile.frame(i);
  const auto load = [&](uint32_t at) { return gpu::load_u32(text + at); };
  const Payload payload = payload_of(job.ciphertext, load);
  if (payload.reason != kGood) return payload.reason;
  const Inner inner = tunnelled(payload, load);
  if (inner.bytes == 0) return kNotIp;
  const uint32_t before = inner.tos & 3;
  const int ecn = job.sa->flags & kNoEcn ? static_cast<int>(before) : ecn_behind_tunnel(before, job.ecn);
  if (ecn < 0) return kEcn;
  if (static_cast<uint32_t>(ecn) != before) set_ecn(text, static_cast<uint32_t>(ecn));
  const int moves = static_cast<int>(text - link - frame);
  move_link(frame, link, moves);
  const uint32_t type = ether_type_of(inner);
  if (link >= 2) text[-2] = static_cast<uint8_t>(type >> 8), text[-1] = static_cast<uint8_t>(type);
  tile.move_head(i, moves);
  tile.set_length(i, link + inner.bytes);
  tile.column(Column::sa, i) = static_cast<uint32_t>(job.sa - image.associations());
  tile.column(Column::esp_sequence, i) = swapped(job.sequence);
  return kGood;
}

struct DecapTile {
  using Table = Image;
  using Scratch = Work<DecapJob>;
  using Shared = Lookup;
  static constexpr int kWarps = 4;
  static constexpr int kPasses = 2;  // sums up, and decrypts

  static __device__ void fill(const gpu::Block& block, Lookup& te, const Image& image) { te.fill(block, image); }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& work,
                             const Lookup& te) const {
    const uint32_t link = image.link_bytes;
    for (int k = block.thread; k < tile.count(); k += block.threads) {
      const int i = tile.packet(k);
      DecapJob& job = work.jobs[k];
      job.ciphertext = 0;
      const int reason = tile.length(i) < link + kIp4Bytes
                             ? kNotEsp
                             : find_stream(image, tile.frame(i) + link, tile.length(i) - link, job);
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
  static __device__ void finish(Scratch& work) {
    gpu::Tile& tile = *work.tile;
    const int k = work.block().thread;
    if (k >= work.count || work.jobs[k].ciphertext == 0) return;
    const int i = tile.packet(k);
    const int reason = work.jobs[k].difference == 0 ? open(tile, i, *work.image, work.jobs[k]) : kBadIcv;
    if (reason != kGood) tile.drop(i, reason);
  }
};

}  // namespace heddle::ipsec

HEDDLE_GPU_FUNCTION(IPsecEncap, heddle::ipsec::EncapTile);
HEDDLE_GPU_FUNCTION(IPsecDecap, heddle::ipsec::DecapTile);
HEDDLE_GPU_FUNCTION(IPsecReplay, heddle::ipsec::ReplayTile);
HEDDLE_GPU_FUNCTION(IPsecSequence, heddle::ipsec::SequenceTile);
