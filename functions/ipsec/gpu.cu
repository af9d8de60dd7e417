#include "functions/ipsec/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::ipsec {

// A packet's stream is what is authenticated: ESP header and IV (16 bytes), then the ciphertext. It lies where the
// inner packet was, at any address; so memory is read and written in aligned pieces of 16 bytes, once, and the key
// stream is shifted to them. Eight lanes take a packet a chunk of eight pieces further, while a thread of warp 0 hashes
// the chunk before, which stays in shared memory.
constexpr uint32_t kPiece = 16, kLanes = 8, kChunk = kPiece * kLanes;
constexpr uint32_t kStreamHead = kEspBytes + kIvBytes;
constexpr uint32_t kRingWords =
    4 * kChunk / 4;  // the chunk that is written, and up to two that are hashed; a power of two

/** A packet of the tile. */
struct Job {
  uint8_t* stream;
  const Association* sa;
  uint32_t inner, ciphertext, next_header;  // bytes; ciphertext 0: it is dropped
  uint32_t sequence, iv[2];                 // as they lie
  __device__ uint32_t bytes() const { return kStreamHead + ciphertext; }
  /** Bytes between the start of its first piece and that of the stream. */
  __device__ uint32_t shift() const { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream) % kPiece); }
  __device__ uint32_t chunks() const { return ciphertext == 0 ? 0 : (shift() + bytes() + kChunk - 1) / kChunk; }
};

struct Work {
  Job jobs[gpu::kSlotPackets];
  uint32_t last[gpu::kSlotPackets][4];               // key stream of the last block of the chunk before
  uint32_t ring[gpu::kSlotPackets][kRingWords + 1];  // what is in memory, by pieces; + 1: other banks for each packet
  uint32_t chunks;                                   // of the longest packet
};

struct Lookup {
  uint32_t words[256];  // Image::te
};

/** Copies `bytes` bytes to 36 bytes before, 16 at a time so that reads of host memory overlap. */
__device__ inline void move_link(uint8_t* from, uint32_t bytes) {
  uint8_t* to = from - kFrontBytes;
  for (uint32_t at = 0; at < bytes; at += 16) {
    uint32_t words[4];
    const uint32_t count = bytes - at < 16 ? bytes - at : 16;
#pragma unroll
    for (uint32_t w = 0; w < 4; ++w)
      if (4 * w < count) words[w] = gpu::load_u32(from + at + 4 * w);
#pragma unroll
    for (uint32_t w = 0; w < 4; ++w) {
      if (4 * w + 4 <= count) {
        gpu::store_u32(to + at + 4 * w, words[w]);
      } else {
        for (uint32_t b = 4 * w; b < count; ++b) to[at + b] = static_cast<uint8_t>(words[w] >> 8 * (b % 4));
      }
    }
  }
}

/** A thread a packet: checks it, and writes all but the stream. */
__device__ inline void prepare(const gpu::Block& block, gpu::Tile& tile, const Image& image, Work& work) {
  const uint32_t link = image.link_bytes;
  uint32_t chunks = 0;
  for (int k = block.thread; k < tile.count(); k += block.threads) {
    const int i = tile.packet(k);
    Job& job = work.jobs[k];
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
    job.stream = plain - kStreamHead;
    job.inner = inner.bytes;
    job.ciphertext = ciphertext_bytes(inner.bytes);
    job.next_header = inner.next_header;
    const uint32_t sequence = tile.column(Column::esp_sequence, i);
    const uint64_t iv = tile.wide_column(Column::esp_iv, i);
    job.sequence = swapped(sequence);
    job.iv[0] = static_cast<uint32_t>(iv), job.iv[1] = static_cast<uint32_t>(iv >> 32);
    move_link(frame, link);
    uint8_t* const outer = plain - kFrontBytes;
    if (link >= 2) outer[-2] = 0x08, outer[-1] = 0x00;
    uint32_t words[5];
    outer_header(words, *job.sa, inner, sequence, kFrontBytes + job.ciphertext + kIcvBytes);
#pragma unroll
    for (int w = 0; w < 5; ++w) gpu::store_u32(outer + 4 * w, words[w]);
    tile.move_head(i, -static_cast<int>(kFrontBytes));
    tile.set_length(i, link + kFrontBytes + job.ciphertext + kIcvBytes);
    chunks = job.chunks();
  }
  // Warp 0 has all packets.
  if (block.thread < gpu::kLanes) {
    chunks = __reduce_max_sync(~0u, chunks);
    if (block.thread == 0) work.chunks = chunks;
  }
  block.sync();
}

/** Where a round takes its bytes from. */
__device__ inline uint32_t looked_up(const Lookup& te, uint32_t word, int byte) {
  return te.words[word >> 8 * byte & 255];
}

/** A round but the last (FIPS 197, 5.1) by table look-ups. */
__device__ inline void aes_round(const Lookup& te, const uint4& key, uint32_t (&s)[4]) {
  uint32_t to[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)
    to[j] ^= looked_up(te, s[j], 0) ^ __byte_perm(looked_up(te, s[(j + 1) & 3], 1), 0, 0x2103) ^
             __byte_perm(looked_up(te, s[(j + 2) & 3], 2), 0, 0x1032) ^
             __byte_perm(looked_up(te, s[(j + 3) & 3], 3), 0, 0x0321);
#pragma unroll
  for (int j = 0; j < 4; ++j) s[j] = to[j];
}

/** AES of the four words of a block, as they lie. */
__device__ inline void aes(const Lookup& te, const Association& sa, uint32_t (&s)[4]) {
  const auto* keys = reinterpret_cast<const uint4*>(sa.round_keys);
  uint4 key = keys[0];
  s[0] ^= key.x, s[1] ^= key.y, s[2] ^= key.z, s[3] ^= key.w;
#pragma unroll
  for (int round = 1; round < 10; ++round) aes_round(te, keys[round], s);
  // Keys of 192 and 256 bits have two and four rounds more.
  keys += 10;
  if (sa.rounds > 10) aes_round(te, keys[0], s), aes_round(te, keys[1], s), keys += 2;
  if (sa.rounds > 12) aes_round(te, keys[0], s), aes_round(te, keys[1], s), keys += 2;
  key = *keys;
  uint32_t to[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)  // byte 1 of an entry is the S-box's
    to[j] ^=
        __byte_perm(__byte_perm(looked_up(te, s[j], 0), looked_up(te, s[(j + 1) & 3], 1), 0x0051),
                    __byte_perm(looked_up(te, s[(j + 2) & 3], 2), looked_up(te, s[(j + 3) & 3], 3), 0x0051), 0x5410);
#pragma unroll
  for (int j = 0; j < 4; ++j) s[j] = to[j];
}

/** `out`: the four words that begin `skip` bytes (0..16) into the eight of `one` and `other`. */
__device__ inline void shifted(const uint32_t (&one)[4], const uint32_t (&other)[4], uint32_t skip,
                               uint32_t (&out)[4]) {
  uint32_t x[9] = {one[0], one[1], one[2], one[3], other[0], other[1], other[2], other[3], 0};
#pragma unroll
  for (uint32_t step = 4; step > 0; step /= 2) {
    const bool go = (skip / 4 & step) != 0;
#pragma unroll
    for (uint32_t w = 0; w + step < 9; ++w) x[w] = go ? x[w + step] : x[w];
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(x[w], x[w + 1], skip % 4 * 8);
}

/** The ones of a word whose bytes lie at `here` and on that are in [first, last). */
__device__ inline uint32_t within(int here, int first, int last) {
  uint32_t mask = ~0u;
  if (here < first) mask = first - here >= 4 ? 0 : mask << 8 * (first - here);
  if (last < here + 4) mask = last <= here ? 0 : mask & ~0u >> 8 * (here + 4 - last);
  return mask;
}

/** Stores those of 16 bytes that are in [first, last) of the stream, where they begin at `here`. */
__device__ inline void store_within(uint8_t* at, const uint32_t (&words)[4], int here, int first, int last) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const int place = here + 4 * w;
    if (place >= first && place + 4 <= last) {
      reinterpret_cast<uint32_t*>(at)[w] = words[w];
    } else {
      for (int b = 0; b < 4; ++b)
        if (place + b >= first && place + b < last) at[4 * w + b] = static_cast<uint8_t>(words[w] >> 8 * b);
    }
  }
}

/** What is enciphered of the 16 bytes that begin at `here` of the stream: inner packet, padding, trailer, else 0. */
__device__ inline void load_plain(const Job& job, const uint8_t* at, int here, uint32_t (&words)[4]) {
  constexpr int kHead = kStreamHead;
  const int end = kHead + static_cast<int>(job.inner);
#pragma unroll
  for (int w = 0; w < 4; ++w) words[w] = 0;
  if (here + static_cast<int>(kPiece) > kHead && here < end) {
    const uint4 piece = *reinterpret_cast<const uint4*>(at);
    words[0] = piece.x, words[1] = piece.y, words[2] = piece.z, words[3] = piece.w;
  }
  if (here >= kHead && here + static_cast<int>(kPiece) <= end) return;
#pragma unroll
  for (int w = 0; w < 4; ++w) words[w] &= within(here + 4 * w, kHead, end);
  const uint32_t trailer = job.ciphertext - job.inner;
  for (uint32_t t = 0; t < trailer; ++t) {
    const int place = end + static_cast<int>(t) - here;
    if (place < 0 || place >= static_cast<int>(kPiece)) continue;
    const uint32_t byte = trailer_byte(t, trailer - kTrailerBytes, job.next_header) << 8 * (place % 4);
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] |= w == place / 4 ? byte : 0;
  }
}

/** AES-CTR: piece `rank` of chunk `n` of packet k. All lanes of a warp call it; those of one group with one packet. */
__device__ inline void encipher(Work& work, const Lookup& te, int k, bool wanted, uint32_t n, uint32_t rank) {
  uint32_t block[4] = {}, before[4];
  const uint32_t j = n * kLanes + rank;  // of the piece, and of the block of key stream
  if (wanted) {
    const Job& job = work.jobs[k];
    if (j == 0) {
      block[0] = job.sa->spi, block[1] = job.sequence, block[2] = job.iv[0], block[3] = job.iv[1];
    } else {
      block[0] = job.sa->nonce, block[1] = job.iv[0], block[2] = job.iv[1], block[3] = swapped(j);
      aes(te, *job.sa, block);
    }
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    before[w] = __shfl_up_sync(~0u, block[w], 1, kLanes);
    if (rank == 0) before[w] = wanted && n > 0 ? work.last[k][w] : 0;
  }
  __syncwarp();
  if (!wanted) return;
  if (rank == kLanes - 1)
    for (int w = 0; w < 4; ++w) work.last[k][w] = block[w];
  const Job& job = work.jobs[k];
  const uint32_t shift = job.shift();
  const int here = static_cast<int>(j * kPiece) - static_cast<int>(shift);
  if (here >= static_cast<int>(job.bytes())) return;
  uint8_t* const at = job.stream + here;
  uint32_t words[4], key[4];
  load_plain(job, at, here, words);
  shifted(before, block, kPiece - shift, key);
#pragma unroll
  for (int w = 0; w < 4; ++w) words[w] ^= key[w];
#pragma unroll
  for (uint32_t w = 0; w < 4; ++w) work.ring[k][(j * 4 + w) % kRingWords] = words[w];
  // The ICV is written later, and may be overwritten now.
  if (here >= 0 && here + static_cast<int>(kPiece) <= static_cast<int>(job.bytes() + kIcvBytes))
    *reinterpret_cast<uint4*>(at) = make_uint4(words[0], words[1], words[2], words[3]);
  else
    store_within(at, words, here, 0, static_cast<int>(job.bytes()));
}

/** HMAC-SHA1-96 of one packet, as its chunks come. */
struct Hash {
  uint32_t state[5];
  uint32_t done = 0;  ///< blocks of 64 bytes

  __device__ void start(const Job& job) {
#pragma unroll
    for (int w = 0; w < 5; ++w) state[w] = job.sa->inner[w];
  }

  /** Takes in what chunks up to `n` complete, and at the end stores the ICV. */
  __device__ void add(const Job& job, const uint32_t (&ring)[kRingWords + 1], uint32_t n) {
    const uint32_t bytes = job.bytes(), shift = job.shift(), here = (n + 1) * kChunk;
    const uint32_t total = (bytes + 9 + 63) / 64;
    for (; done < total; ++done) {
      const uint32_t needed = 64 * done + 64 < bytes ? 64 * done + 64 : bytes;
      if (shift + needed > here) return;
      uint32_t words[16];
#pragma unroll
      for (uint32_t w = 0; w < 16; ++w) {
        const uint32_t place = 64 * done + 4 * w, at = (shift + place) / 4;
        words[w] = place == bytes ? 0x80000000 : 0;
        if (place < bytes) {
          const uint32_t low = ring[at % kRingWords], high = shift % 4 == 0 ? 0 : ring[(at + 1) % kRingWords];
          words[w] = swapped(__funnelshift_r(low, high, shift % 4 * 8));
        }
      }
      if (done == total - 1) words[15] = (64 + bytes) * 8;
      sha1_block(state, words);
      if (done == total - 1) store_icv(job);
    }
  }

  __device__ void store_icv(const Job& job) {
    uint32_t words[16] = {state[0], state[1], state[2], state[3], state[4], 0x80000000, 0, 0,
                          0,        0,        0,        0,        0,        0,          0, (64 + 20) * 8};
    uint32_t outer[5];
#pragma unroll
    for (int w = 0; w < 5; ++w) outer[w] = job.sa->outer[w];
    sha1_block(outer, words);
    uint8_t* const icv = job.stream + job.bytes();
#pragma unroll
    for (int w = 0; w < 3; ++w) gpu::store_u32(icv + 4 * w, swapped(outer[w]));
  }
};

struct EncapTile {
  using Table = Image;
  using Scratch = Work;
  using Shared = Lookup;
  static constexpr int kWarps = 4;
  static constexpr int kPasses = 2;  // encrypts, and sums up what it has encrypted

  static __device__ void fill(const gpu::Block& block, Lookup& te, const Image& image) {
    for (int i = block.thread; i < 256; i += block.threads) te.words[i] = image.te[i];
  }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Work& work,
                             const Lookup& te) const {
    prepare(block, tile, image, work);
    // Warp 0 hashes; the others encipher, a chunk ahead. A warp that is alone does both.
    const bool hashes = block.thread < gpu::kLanes, alone = block.threads == gpu::kLanes;
    const int first = alone ? 0 : gpu::kLanes, groups = (block.threads - first) / static_cast<int>(kLanes);
    const int group = (block.thread - first) / static_cast<int>(kLanes);
    const auto rank = static_cast<uint32_t>(block.thread) % kLanes;
    Hash hash;
    const bool has_packet = hashes && block.thread < tile.count() && work.jobs[block.thread].ciphertext != 0;
    if (has_packet) hash.start(work.jobs[block.thread]);
    for (uint32_t n = 0; n <= work.chunks; ++n) {
      if (alone || !hashes)
        for (int base = 0; base < tile.count(); base += groups) {
          const int k = base + group;
          encipher(work, te, k, k < tile.count() && n < work.jobs[k].chunks(), n, rank);
        }
      if (has_packet && n > 0 && n <= work.jobs[block.thread].chunks())
        hash.add(work.jobs[block.thread], work.ring[block.thread], n - 1);
      block.sync();
    }
  }
};

}  // namespace heddle::ipsec

HEDDLE_GPU_FUNCTION(IPsecEncap, heddle::ipsec::EncapTile);
