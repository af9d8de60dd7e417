#include "functions/l2_switch/news.h"
#include "functions/l2_switch/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/events.cuh"
#include "gpu/registry.cuh"

namespace heddle::l2_switch {

// One thread a packet; the table lies in GPU memory, and only the host changes it.
struct SwitchTile {
  using Table = cuckoo::Image;
  using State = News;

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const cuckoo::Image& image, News& news) const {
    const uint32_t owner = image.owner;
    for (int i : tile.mine(block)) {
      if (tile.length(i) < kHeaderBytes) {
        tile.drop(i, kShort);
        continue;
      }
      const uint64_t to = key_at(tile.frame(i));
      if (is_reserved(to)) {
        tile.drop(i, kReserved);
        continue;
      }
      const uint32_t from = tile.column(Column::paint, i);
      uint64_t word = 0;
#pragma unroll 1  // the source, which is looked up where it may be learned, then the destination
      for (int at = tick_in(owner) != 0 && from < ports_in(owner) ? 6 : 0; at >= 0; at -= 6) {
        const uint64_t key = at != 0 ? key_at(tile.frame(i) + at) : to;
        word = 0;
        if (is_group(key)) continue;
        const uint32_t hash = cuckoo::hash_of(image, key);
        cuckoo::search_unmoved(image, [&] { word = cuckoo::lookup(image, hash, key); });
        if (at != 0 && is_news(word, from, tick_in(owner)))
          tell(news, news.told[word != 0 ? 1 : 0][hash % News::kPlaces], news_of(key, from), round_in(owner));
      }
      const uint32_t output = output_of(word, from, ports_in(owner));
      if (output == kStays)
        tile.drop(i, kSamePort);
      else
        tile.next(i, output);
    }
  }

 private:
  static __device__ uint64_t key_at(const uint8_t* address) {
    const uint32_t high = __byte_perm(gpu::load_u32(address), 0, 0x0123);
    const uint32_t low = __byte_perm(gpu::load_u32(address + 2), 0, 0x0123) & 0xffff;
    return uint64_t{high} << 16 | low;
  }

  /** Tells the host, unless this place has had its word in this round. */
  static __device__ __noinline__ void tell(News& news, uint32_t& told, uint64_t what, uint32_t round) {
    if (__ldcg(&told) == round || atomicExch(&told, round) == round) return;
    gpu::push(news.ring, what);
  }
};

}  // namespace heddle::l2_switch

HEDDLE_GPU_FUNCTION(L2Switch, heddle::l2_switch::SwitchTile);
