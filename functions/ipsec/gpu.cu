#include "functions/ipsec/esp.cuh"

namespace heddle::ipsec {

/** A thread a packet: checks it, and writes all but the stream. */
__device__ inline void prepare_encap(const gpu::Block& block, gpu::Tile& tile, const Image& image, Work& work) {
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
    uint8_t* const outer = plain - kFrontBytes;
    move_link(frame, outer - link, link);
    if (link >= 2) outer[-2] = 0x08, outer[-1] = 0x00;
    uint32_t words[5];
    outer_header(words, *job.sa, inner, sequence);
#pragma unroll
    for (int w = 0; w < 5; ++w) gpu::store_u32(outer + 4 * w, words[w]);
    tile.move_head(i, -static_cast<int>(kFrontBytes));
    tile.set_length(i, link + kFrontBytes + job.ciphertext + kIcvBytes);
    chunks = job.chunks();
  }
  agree_on_chunks(block, work, chunks);
}

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
    prepare_encap(block, tile, image, work);
    Hash hash;
    run_jobs<true>(block, tile, work, te, hash);
    if (block.thread >= min(tile.count(), gpu::kLanes) || work.jobs[block.thread].ciphertext == 0) return;
    const Job& job = work.jobs[block.thread];
#pragma unroll
    for (int w = 0; w < 3; ++w) gpu::store_u32(job.stream + job.bytes() + 4 * w, hash.icv[w]);
  }
};

/** A thread a packet: finds its association. */
__device__ inline void prepare_decap(const gpu::Block& block, gpu::Tile& tile, const Image& image, Work& work) {
  const uint32_t link = image.link_bytes;
  uint32_t chunks = 0;
  for (int k = block.thread; k < tile.count(); k += block.threads) {
    const int i = tile.packet(k);
    Job& job = work.jobs[k];
    job.ciphertext = 0;
    if (tile.length(i) < link + kIp4Bytes) {
      tile.drop(i, kNotEsp);
      continue;
    }
    const uint8_t* const header = tile.frame(i) + link;
    uint32_t words[5];
#pragma unroll
    for (int w = 0; w < 5; ++w) words[w] = gpu::load_u32(header + 4 * w);
    const Outer outer = outer_of({words[0], words[1], words[2]}, tile.length(i) - link);
    if (outer.reason != kGood) {
      tile.drop(i, static_cast<uint32_t>(outer.reason));
      continue;
    }
    job.stream = tile.frame(i) + link + outer.header;
    job.index = image.find(gpu::load_u32(job.stream));
    if (job.index == Image::kNone || image.associations()[job.index].destination != words[4]) {
      tile.drop(i, kUnknown);
      continue;
    }
    job.sa = image.associations() + job.index;
    job.ciphertext = outer.ciphertext;
    job.sequence = gpu::load_u32(job.stream + 4);
    job.iv[0] = gpu::load_u32(job.stream + kEspBytes), job.iv[1] = gpu::load_u32(job.stream + kEspBytes + 4);
    chunks = job.chunks();
  }
  agree_on_chunks(block, work, chunks);
}

struct DecapTile {
  using Table = Image;
  using Scratch = Work;
  using Shared = Lookup;
  static constexpr int kWarps = 4;
  static constexpr int kPasses = 2;

  static __device__ void fill(const gpu::Block& block, Lookup& te, const Image& image) {
    EncapTile::fill(block, te, image);
  }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Work& work,
                             const Lookup& te) const {
    prepare_decap(block, tile, image, work);
    Hash hash;
    run_jobs<false>(block, tile, work, te, hash);
    if (block.thread >= min(tile.count(), gpu::kLanes) || work.jobs[block.thread].ciphertext == 0) return;
    const int i = tile.packet(block.thread), reason = deliver(tile, i, work.jobs[block.thread], hash, image.link_bytes);
    if (reason != kGood) tile.drop(i, static_cast<uint32_t>(reason));
  }

 private:
  /** Checks a packet that has been deciphered, and lets it begin where the inner packet's link header does. */
  static __device__ int deliver(gpu::Tile& tile, int i, const Job& job, const Hash& hash, uint32_t link) {
    uint32_t difference = 0;  // in a time that does not depend on where
#pragma unroll
    for (int w = 0; w < 3; ++w) difference |= hash.icv[w] ^ gpu::load_u32(job.stream + job.bytes() + 4 * w);
    if (difference != 0) return kBadIcv;
    uint8_t* const inner = job.stream + kStreamHead;
    const Contents contents = contents_of(job.ciphertext, [&](uint32_t at) { return gpu::load_u32(inner + at); });
    if (contents.reason != kGood) return contents.reason;
    move_link(tile.frame(i), inner - link, link);
    if (link >= 2) {
      const uint32_t type = ether_type_of(contents.inner);
      inner[-2] = static_cast<uint8_t>(type >> 8), inner[-1] = static_cast<uint8_t>(type);
    }
    tile.move_head(i, static_cast<int>(inner - link - tile.frame(i)));
    tile.set_length(i, link + contents.inner.bytes);
    tile.column(Column::sa, i) = job.index;
    tile.column(Column::esp_sequence, i) = swapped(job.sequence);
    return kGood;
  }
};

}  // namespace heddle::ipsec

HEDDLE_GPU_FUNCTION(IPsecEncap, heddle::ipsec::EncapTile);
HEDDLE_GPU_FUNCTION(IPsecDecap, heddle::ipsec::DecapTile);
