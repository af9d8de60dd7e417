#pragma once

// What both ends of an association do with a packet's bytes on a GPU: AES-CTR and an HMAC, or AES-GCM.

#include "functions/ipsec/aes.cuh"
#include "functions/ipsec/rule.h"
#include "functions/ipsec/sha.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::ipsec {

// A packet's stream is what is authenticated: ESP header and IV (16 bytes), then the ciphertext; the upper half of an
// extended sequence number is not in the packet. It may lie at any address, also where the inner packet is; so memory
// is read and written in aligned pieces of 16 bytes, once, and the key stream is shifted to them. Eight lanes take a
// packet a chunk of eight pieces further, while a thread of warp 0 hashes the chunk before, which stays in shared
// memory. GHASH is a sum, so the eight lanes do that themselves, each of every eighth block; where no packet of a tile
// has an HMAC warp 0 does as the others.
constexpr uint32_t kPiece = 16, kLanes = 8, kChunk = kPiece * kLanes;
constexpr uint32_t kStreamHead = kEspBytes + kIvBytes;
constexpr uint32_t kRingWords =
    4 * kChunk / 4;  // the chunk that is written, and up to two that are hashed; a power of two

/** Where a packet of the tile has its stream. */
struct Stream {
  uint8_t* stream;
  const Association* sa;
  Suite suite;               // of `sa`
  bool extended;             // the same
  uint32_t high;             // upper half of the sequence number, a number; 0 if there is none
  uint32_t ciphertext;       // bytes; 0: the packet is dropped
  uint32_t sequence, iv[2];  // as they lie
  __device__ uint32_t bytes() const { return kStreamHead + ciphertext; }
  /** What an HMAC is of: with an upper half, which counts as if it stood behind the stream (RFC 4303, 2.2.1). */
  __device__ uint32_t hashed_bytes() const { return bytes() + (extended ? 4 : 0); }
  /** Bytes between the start of its first piece and that of the stream. */
  __device__ uint32_t shift() const { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream) % kPiece); }
  __device__ uint32_t chunks() const { return ciphertext == 0 ? 0 : (shift() + bytes() + kChunk - 1) / kChunk; }
  __device__ bool is_gcm() const { return suite.cipher == Cipher::aes_gcm; }
  /** What GHASH sums up: what is authenticated only, the ciphertext, and a block of lengths. */
  __device__ uint32_t ghash_blocks() const { return (ciphertext + 15) / 16 + 2; }
};

/** Of jobs, which are streams with kDeciphers and load(at, here, words): the 16 bytes that begin at `at`, at `here` of
 *  the stream, before the cipher. */
template <class Job>
struct Work {
  Job jobs[gpu::kSlotPackets];
  uint32_t last[gpu::kSlotPackets][4];               // key stream of the last block of the chunk before
  uint32_t ring[gpu::kSlotPackets][kRingWords + 1];  // the ciphertext, by pieces; + 1: other banks for each packet
  uint32_t state[8][gpu::kSlotPackets];              // of the hash; of AES-GCM [0..4): what its ICV is enciphered with
  uint32_t hashed[gpu::kSlotPackets];                // blocks of 64 bytes
  Polynomial sums[gpu::kSlotPackets][kLanes];        // of GHASH, by lanes
  Product products[8 * gpu::kLanes];                 // of the threads
  uint32_t chunks;                                   // of the longest packet
  bool has_hmac;                                     // some packet has one
  // What would be in registers all the time otherwise: there are none left.
  gpu::Tile* tile;
  const Image* image;
  int count, threads;

  /** This thread; of a block of several warps, or of a warp of its own. */
  __device__ gpu::Block block() const { return {static_cast<int>(threadIdx.x) & (threads - 1), threads}; }

  /** Looks at the jobs, which are there: each thread's are visible to itself, and warp 0 has prepared those of all
   *  packets. */
  __device__ void survey(const gpu::Block& block, gpu::Tile& its, const Image& table) {
    if (block.thread < gpu::kLanes) {
      const bool present = block.thread < its.count() && jobs[block.thread].ciphertext != 0;
      const uint32_t most = __reduce_max_sync(~0u, present ? jobs[block.thread].chunks() : 0);
      const bool any = __any_sync(~0u, present && !jobs[block.thread].is_gcm());
      if (block.thread == 0) {
        chunks = most, has_hmac = any;
        tile = &its, image = &table, count = its.count(), threads = block.threads;
      }
    }
    block.sync();
  }
};

/** Copies `bytes` bytes to `by` bytes from where they are: at least 16 bytes before, or behind. 16 at a
 *  time, so that reads of host memory overlap, and in the order in which none are lost. */
__device__ inline void move_link(uint8_t* from, uint32_t bytes, int by) {
  const uint32_t pieces = (bytes + 15) / 16;
  for (uint32_t piece = 0; piece < pieces; ++piece) {
    const uint32_t at = 16 * (by < 0 ? piece : pieces - 1 - piece), count = bytes - at < 16 ? bytes - at : 16;
    uint8_t* const to = from + by;
    uint32_t words[4];
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

/** AES-CTR: piece `rank` of chunk `n` of packet k. All lanes of a warp call it; those of one group with one packet. */
template <class Job>
__device__ inline void cipher(Work<Job>& work, const Lookup& te, int k, bool wanted, uint32_t n, uint32_t rank) {
  uint32_t block[4] = {}, before[4];
  const uint32_t j = n * kLanes + rank;  // of the piece, and of the block of key stream
  if (wanted) {
    const Job& job = work.jobs[k];
    const uint32_t gcm = job.is_gcm() ? 1 : 0;  // whose first block is for the ICV (SP 800-38D, 7.1)
    if (j + gcm > 0) {
      block[0] = job.sa->nonce, block[1] = job.iv[0], block[2] = job.iv[1], block[3] = swapped(j + gcm);
      aes(te, *job.sa, block);
    }
    if (j == 0) {  // the head is not enciphered: it comes from the job, or stays
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        if (gcm > 0) work.state[w][k] = block[w];
        block[w] = 0;
      }
      if (!Job::kDeciphers) block[0] = job.sa->spi, block[1] = job.sequence, block[2] = job.iv[0], block[3] = job.iv[1];
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
  job.load(at, here, words);
  shifted(before, block, kPiece - shift, key);
#pragma unroll
  for (uint32_t w = 0; w < 4; ++w) {  // what is hashed is the ciphertext
    const uint32_t other = words[w] ^ key[w];
    work.ring[k][(j * 4 + w) % kRingWords] = Job::kDeciphers ? words[w] : other;
    words[w] = other;
  }
  // The ICV is written later, or the job has it: it may be overwritten now.
  if (here >= 0 && here + static_cast<int>(kPiece) <= static_cast<int>(job.bytes() + job.suite.icv_bytes))
    *reinterpret_cast<uint4*>(at) = make_uint4(words[0], words[1], words[2], words[3]);
  else
    store_within(at, words, here, 0, static_cast<int>(job.bytes()));
}

/** The number at `place` of packet k's stream, 0 behind its end, from what is in the ring. */
template <class Job>
__device__ inline uint32_t number_at(const Work<Job>& work, int k, uint32_t place) {
  const Stream& job = work.jobs[k];
  const auto& ring = work.ring[k];
  if (place >= job.bytes()) return 0;
  const uint32_t shift = job.shift(), at = (shift + place) / 4;
  const uint32_t low = ring[at % kRingWords], high = shift % 4 == 0 ? 0 : ring[(at + 1) % kRingWords];
  return swapped(__funnelshift_r(low, high, shift % 4 * 8));
}

/** HMAC of packet k: takes in what chunks up to `n` complete, and at the end calls `done_with(k, icv)` with the ICV, as
 *  it lies, of whose words those of the suite count. The state lies in shared memory, and there is one copy of each
 *  hash: registers are what is scarce. */
template <class Job, class Done>
__device__ inline void hmac(Work<Job>& work, int k, uint32_t n, const Done& done_with) {
  const Stream& job = work.jobs[k];
  const bool sha256 = job.suite.hash == Hash::hmac_sha256_128;
  const uint32_t bytes = job.bytes(), end = job.hashed_bytes(), here = (n + 1) * kChunk, digest = sha256 ? 8 : 5;
  const uint32_t total = (end + 9 + 63) / 64;  // blocks of 64 bytes; the one behind them is the outer hash's
  for (uint32_t block = work.hashed[k]; block <= total; work.hashed[k] = ++block) {
    const bool outer = block == total;
    const uint32_t needed = 64 * block + 64 < bytes ? 64 * block + 64 : bytes;
    if (job.shift() + needed > here) return;
    uint32_t words[16], state[8];
#pragma unroll
    for (int w = 0; w < 8; ++w) state[w] = block == 0 ? job.sa->inner[w] : work.state[w][k];
#pragma unroll
    for (uint32_t w = 0; w < 16; ++w) {
      const uint32_t place = 64 * block + 4 * w;
      words[w] = place == end ? 0x80000000 : place == bytes ? job.high : number_at(work, k, place);
      if (outer) words[w] = w < digest ? state[w < 8 ? w : 0] : w == digest ? 0x80000000 : 0;
    }
    if (block == total - 1) words[15] = (64 + end) * 8;
    if (outer) {
      words[15] = (64 + 4 * digest) * 8;
#pragma unroll
      for (int w = 0; w < 8; ++w) state[w] = job.sa->outer[w];
    }
    if (sha256)
      sha256_block(state, words);
    else
      sha1_block(state, words);
#pragma unroll
    for (int w = 0; w < 8; ++w) work.state[w][k] = state[w];
    if (outer) {
      const uint32_t icv[4] = {swapped(state[0]), swapped(state[1]), swapped(state[2]), swapped(state[3])};
      done_with(k, icv);
    }
  }
}

/** Block b of what GHASH sums up of packet k (RFC 4106, 5). */
template <class Job>
__device__ inline Polynomial ghash_block(const Work<Job>& work, int k, uint32_t b) {
  const Stream& job = work.jobs[k];
  if (b + 1 == job.ghash_blocks()) return {(kEspBytes + (job.extended ? 4 : 0)) * 8, job.ciphertext * 8};
  uint32_t words[4];
#pragma unroll
  for (uint32_t w = 0; w < 4; ++w) words[w] = number_at(work, k, 16 * b + 4 * w);
  if (b == 0) {  // SPI and sequence number, without the IV
    words[2] = job.extended ? words[1] : 0, words[3] = 0;
    if (job.extended) words[1] = job.high;
  }
  return {uint64_t{words[0]} << 32 | words[1], uint64_t{words[2]} << 32 | words[3]};
}

/** GHASH of packet k: what chunk `n`, which has just been enciphered, completes. Block b of B counts times H^(B - b):
 *  each lane has every eighth block, so all but its last is multiplied by H^8. With the last it calls
 *  `done_with(k, icv)`. All lanes of a warp call it; those of one group with one packet, of AES-GCM if it is
 *  `wanted`. */
template <class Job, class Done>
__device__ inline void ghash(Work<Job>& work, int k, bool wanted, uint32_t n, uint32_t rank, const Done& done_with) {
  Polynomial sum{0, 0};
  bool last = false;
  if (wanted) {
    const Job& job = work.jobs[k];
    const uint32_t blocks = job.ghash_blocks();
    // Of a chunk's last piece a block's end may be in the next chunk.
    const int b = static_cast<int>(n * kLanes + rank) - 1;
    last = n == blocks / kLanes;
    if (b >= static_cast<int>(kLanes)) sum = work.sums[k][rank];
    if (b >= 0 && b < static_cast<int>(blocks)) {
      const uint32_t left = blocks - static_cast<uint32_t>(b);
      const Polynomial& by = job.sa->powers[left < kLanes ? left - 1 : kLanes - 1];
      work.sums[k][rank] = sum ^ ghash_block(work, k, static_cast<uint32_t>(b));
      sum = product(work.sums[k][rank], by, work.products[work.block().thread]);
      work.sums[k][rank] = sum;
    }
  }
  if (!__any_sync(~0u, last)) return;
#pragma unroll
  for (int step = 1; step < static_cast<int>(kLanes); step *= 2) {
    const Polynomial other{__shfl_xor_sync(~0u, sum.high, step, kLanes), __shfl_xor_sync(~0u, sum.low, step, kLanes)};
    sum = sum ^ other;
  }
  if (!last || rank != 0) return;
  const uint32_t tag[4] = {static_cast<uint32_t>(sum.high >> 32), static_cast<uint32_t>(sum.high),
                           static_cast<uint32_t>(sum.low >> 32), static_cast<uint32_t>(sum.low)};
  uint32_t icv[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) icv[w] = swapped(tag[w]) ^ work.state[w][k];
  done_with(k, icv);
}

/** Takes all packets of the tile, which has been surveyed, through cipher and hash: `done_with(k, icv)` is called for
 *  each of those with a stream, by some thread. All is in place for all threads on return. */
template <class Job, class Done>
__device__ inline void run_streams(Work<Job>& work, const Lookup& te, const Done& done_with) {
  const auto has_hmac = [&](int k) { return k < work.count && work.jobs[k].ciphertext != 0 && !work.jobs[k].is_gcm(); };
  // Warp 0 does HMACs, if there are any; the others do the cipher, a chunk ahead. A warp that is alone does both.
  const auto is_alone = [&] { return work.threads == gpu::kLanes; };
  const auto hashes = [&] { return work.has_hmac && work.block().thread < gpu::kLanes; };
  if (const int k = work.block().thread; hashes() && has_hmac(k)) work.hashed[k] = 0;
  for (uint32_t n = 0; n <= work.chunks; ++n) {
    if (is_alone() || !hashes()) {
      const int first = is_alone() || !work.has_hmac ? 0 : gpu::kLanes;
      const auto rank = static_cast<uint32_t>(threadIdx.x) % kLanes;
      for (int base = 0; base < work.count; base += (work.threads - first) / static_cast<int>(kLanes)) {
        const int k = base + (work.block().thread - first) / static_cast<int>(kLanes);
        const bool present = k < work.count && work.jobs[k].ciphertext != 0;
        cipher(work, te, k, present && n < work.jobs[k].chunks(), n, rank);
        __syncwarp();
        ghash(work, k, present && work.jobs[k].is_gcm() && n <= work.jobs[k].ghash_blocks() / kLanes, n, rank,
              done_with);
      }
    }
    if (const int k = work.block().thread; hashes() && has_hmac(k) && n > 0 && n <= work.jobs[k].chunks())
      hmac(work, k, n - 1, done_with);
    work.block().sync();
  }
}

}  // namespace heddle::ipsec
