#pragma once

#include "functions/ipsec/sequence_rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::ipsec {

/** IPsecSequence between GPU ports: a lane a packet. What concerns a packet alone is done before the tile's turn, so
 *  that the turn is as long as one atomic operation. */
struct SequenceTile {
  using Table = SequenceImage;
  using State = Taken;  // of association 0; the others follow
  static constexpr bool kInTurn = true;

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const SequenceImage& image, Taken& first) const {
    const int k = block.thread, i = k < tile.count() ? tile.packet(k) : 0;
    const uint32_t sa = k < tile.count() ? choose(tile, i, image) : kNone;
    tile.turn().take(kRelaxed);
    const unsigned same = __match_any_sync(~0u, sa), before = same & ((1u << k) - 1);
    unsigned long long taken = 0;
    if (sa != kNone && before == 0)
      taken = atomicAdd(&(&first)[sa].numbers, static_cast<unsigned long long>(__popc(same)));
    taken = __shfl_sync(~0u, taken, __ffs(static_cast<int>(same)) - 1);
    tile.turn().pass(kRelaxed);
    if (sa == kNone) return;
    const SequenceImage::Origin& origin = image.origins()[sa];
    const unsigned long long number = origin.first + taken + static_cast<unsigned>(__popc(before));
    if (number > origin.form.last_number()) {
      tile.drop(i, kExhausted);
      return;
    }
    if (image.by != By::column) tile.column(Column::sa, i) = sa;
    tile.column(Column::esp_sequence, i) = static_cast<uint32_t>(number);
    tile.wide_column(Column::esp_iv, i) = iv_of(origin.form, number);
  }

 private:
  static constexpr uint32_t kNone = SelectorImage::kNone;
  static constexpr bool kRelaxed = true;  // what tiles share is added to atomically, and the shuffle wants the results

  /** The association of a packet that is to get a number of it; else kNone, and the tile says where the packet goes. */
  static __device__ uint32_t choose(gpu::Tile& tile, int i, const SequenceImage& image) {
    const uint32_t link = image.link_bytes, length = tile.length(i), available = length < link ? 0 : length - link;
    const uint8_t* const packet = tile.frame(i) + link;
    uint32_t sa = image.only;
    if (image.by == By::column) sa = tile.column(Column::sa, i);
    if (image.by == By::selector) sa = select(packet, available, image.selectors());
    if (sa >= image.count) {
      tile.drop(i, kNoAssociation);
      return kNone;
    }
    const Form& form = image.origins()[sa].form;
    const Plain plain = plain_of(form, packet, available, [packet](uint32_t at) { return gpu::load_u32(packet + at); });
    if (plain.reason != kGood) {
      tile.drop(i, static_cast<uint32_t>(plain.reason));
      return kNone;
    }
    if (protected_bytes(form, plain) <= *static_cast<const volatile uint32_t*>(&image.mtu)) return sa;
    if (image.second_output != 0)
      tile.next(i, 1);
    else
      tile.drop(i, kTooBig);
    return kNone;
  }

  static __device__ __noinline__ uint32_t select(const uint8_t* packet, uint32_t available,
                                                 const SelectorImage& image) {
    return image.find(ends_from([packet](uint32_t at) { return gpu::load_u32(packet + at); }, available));
  }
};

}  // namespace heddle::ipsec
