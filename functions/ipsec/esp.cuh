#pragma once

#include "functions/ipsec/aes.cuh"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

/** What IPsecEncap and IPsecDecap do alike with the packets of a tile. */
namespace heddle::ipsec {

// A packet's stream is what is authenticated: ESP header and IV (16 bytes), then the ciphertext. It lies where the
// inner packet was, at any address; so memory is read and written in aligned pieces of 16 bytes, once, and the key
// stream is shifted to them. Eight lanes take a packet a chunk of eight pieces further, while a thread of warp 0 hashes
// the chunk before, whose ciphertext stays in shared memory.
constexpr uint32_t kPiece = 16, kLanes = 8, kChunk = kPiece * kLanes;
constexpr uint32_t kStreamHead = kEspBytes + kIvBytes;
constexpr uint32_t kRingWords =
    4 * kChunk / 4;  // the chunk that is written, and up to two that are hashed; a power of two

/** A packet of the tile. */
struct Job {
  uint8_t* stream;
  const Association* sa;
  uint32_t index;               // of the association
  uint32_t ciphertext;          // bytes; 0: it is dropped
  uint32_t inner, next_header;  // Encap: bytes of the inner packet, and what it is
  uint32_t sequence, iv[2];     // as they lie
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

/** Copies `bytes` bytes, at most kMostLink of them, to another place, which may overlap; reads of host memory overlap in time. */
constexpr uint32_t kMostLink = 64;
__device__ inline void move_link(const uint8_t* from, uint8_t* to, uint32_t bytes) {
  uint32_t words[kMostLink / 4];
#pragma unroll
  for (uint32_t w = 0; w < kMostLink / 4; ++w)
    if (4 * w < bytes) words[w] = gpu::load_u32(from + 4 * w);
#pragma unroll
  for (uint32_t w = 0; w < kMostLink / 4; ++w) {
    if (4 * w + 4 <= bytes) {
      gpu::store_u32(to + 4 * w, words[w]);
    } else {
      for (uint32_t b = 4 * w; b < bytes; ++b) to[b] = static_cast<uint8_t>(words[w] >> 8 * (b % 4));
    }
  }
}

/** Says how many chunks the longest packet has. The whole block calls it; warp 0 has all packets. */
__device__ inline void agree_on_chunks(const gpu::Block& block, Work& work, uint32_t chunks) {
  if (block.thread < gpu::kLanes) {
    chunks = __reduce_max_sync(~0u, chunks);
    if (block.thread == 0) work.chunks = chunks;
  }
  block.sync();
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

/** The same of a packet from outside: as it lies. */
__device__ inline void load_ciphertext(const uint8_t* at, uint32_t (&words)[4]) {
  const uint4 piece = *reinterpret_cast<const uint4*>(at);
  words[0] = piece.x, words[1] = piece.y, words[2] = piece.z, words[3] = piece.w;
}

/** AES-CTR: piece `rank` of chunk `n` of packet k. All lanes of a warp call it; those of one group with one packet. */
template <bool kEncipher>
__device__ void cipher(Work& work, const Lookup& te, int k, bool wanted, uint32_t n, uint32_t rank) {
  uint32_t block[4] = {}, before[4];
  const uint32_t j = n * kLanes + rank;  // of the piece, and of the block of key stream
  if (wanted) {
    const Job& job = work.jobs[k];
    if (j > 0) {
      block[0] = job.sa->nonce, block[1] = job.iv[0], block[2] = job.iv[1], block[3] = swapped(j);
      aes(te, *job.sa, block);
    } else if (kEncipher) {
      block[0] = job.sa->spi, block[1] = job.sequence, block[2] = job.iv[0], block[3] = job.iv[1];
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
  const int here = static_cast<int>(j * kPiece) - static_cast<int>(shift), end = static_cast<int>(job.bytes());
  if (here >= end) return;
  uint8_t* const at = job.stream + here;
  uint32_t words[4], key[4];
  if (kEncipher)
    load_plain(job, at, here, words);
  else
    load_ciphertext(at, words);
  uint32_t(&ring)[kRingWords + 1] = work.ring[k];
  if (!kEncipher)
    for (uint32_t w = 0; w < 4; ++w) ring[(j * 4 + w) % kRingWords] = words[w];
  shifted(before, block, kPiece - shift, key);
#pragma unroll
  for (int w = 0; w < 4; ++w) words[w] ^= key[w];
  if (kEncipher)
    for (uint32_t w = 0; w < 4; ++w) ring[(j * 4 + w) % kRingWords] = words[w];
  // Encap writes the ICV later, and may overwrite its place now. Decap leaves what is around the ciphertext.
  const int first = kEncipher ? 0 : static_cast<int>(kStreamHead);
  const int last = kEncipher ? end + static_cast<int>(kIcvBytes) : end;
  if (here >= first && here + static_cast<int>(kPiece) <= last)
    *reinterpret_cast<uint4*>(at) = make_uint4(words[0], words[1], words[2], words[3]);
  else
    store_within(at, words, here, first, end);
}

/** HMAC-SHA1-96 of one packet, as its chunks come. */
struct Hash {
  uint32_t state[5];
  uint32_t icv[3];    ///< of the whole packet, as it lies
  uint32_t done = 0;  ///< blocks of 64 bytes

  __device__ void start(const Job& job) {
#pragma unroll
    for (int w = 0; w < 5; ++w) state[w] = job.sa->inner[w];
  }

  /** Takes in what chunks up to `n` complete, and after the last one finishes. */
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
      if (done == total - 1) finish(job);
    }
  }

  __device__ void finish(const Job& job) {
    uint32_t words[16] = {state[0], state[1], state[2], state[3], state[4], 0x80000000, 0, 0,
                          0,        0,        0,        0,        0,        0,          0, (64 + 20) * 8};
    uint32_t outer[5];
#pragma unroll
    for (int w = 0; w < 5; ++w) outer[w] = job.sa->outer[w];
    sha1_block(outer, words);
#pragma unroll
    for (int w = 0; w < 3; ++w) icv[w] = swapped(outer[w]);
  }
};

/** Enciphers or deciphers the packets of `work`, and authenticates their ciphertext. The whole block calls it; `hash` is then
 *  that of packet `block.thread`, if there is such a one, and everything is in place. */
template <bool kEncipher>
__device__ void run_jobs(const gpu::Block& block, const gpu::Tile& tile, Work& work, const Lookup& te, Hash& hash) {
  // Warp 0 hashes; the others encipher or decipher, a chunk ahead. A warp that is alone does both.
  const bool hashes = block.thread < gpu::kLanes, alone = block.threads == gpu::kLanes;
  const int first = alone ? 0 : gpu::kLanes, groups = (block.threads - first) / static_cast<int>(kLanes);
  const int group = (block.thread - first) / static_cast<int>(kLanes);
  const auto rank = static_cast<uint32_t>(block.thread) % kLanes;
  const bool has_packet = hashes && block.thread < tile.count() && work.jobs[block.thread].ciphertext != 0;
  if (has_packet) hash.start(work.jobs[block.thread]);
  for (uint32_t n = 0; n <= work.chunks; ++n) {
    if (alone || !hashes)
      for (int base = 0; base < tile.count(); base += groups) {
        const int k = base + group;
        cipher<kEncipher>(work, te, k, k < tile.count() && n < work.jobs[k].chunks(), n, rank);
      }
    if (has_packet && n > 0 && n <= work.jobs[block.thread].chunks())
      hash.add(work.jobs[block.thread], work.ring[block.thread], n - 1);
    block.sync();
  }
}

}  // namespace heddle::ipsec
