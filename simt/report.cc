/** The texts of the divergence reports. */

#include "core/error.h"
#include "simt/fibers.h"

namespace heddle::simt {

const char* name_of(Op op) {
  switch (op) {
    case Op::kSyncWarp:
      return "__syncwarp";
    case Op::kBallot:
      return "__ballot_sync";
    case Op::kAny:
      return "__any_sync";
    case Op::kAll:
      return "__all_sync";
    case Op::kShuffle:
      return "__shfl_sync";
    case Op::kShuffleUp:
      return "__shfl_up_sync";
    case Op::kShuffleDown:
      return "__shfl_down_sync";
    case Op::kShuffleXor:
      return "__shfl_xor_sync";
    case Op::kMatchAny:
      return "__match_any_sync";
    case Op::kReduceAdd:
      return "__reduce_add_sync";
    case Op::kReduceMin:
      return "__reduce_min_sync";
    case Op::kReduceMax:
      return "__reduce_max_sync";
    case Op::kReduceAnd:
      return "__reduce_and_sync";
    case Op::kReduceOr:
      return "__reduce_or_sync";
    case Op::kReduceXor:
      return "__reduce_xor_sync";
    case Op::kSyncThreads:
      return "__syncthreads";
  }
  return "?";
}

SIMT_NO_TSAN std::string Block::describe_block() const {
  return format("divergence in kernel block (%u,%u,%u)", index_.x, index_.y, index_.z);
}

/** Lanes that wait in one operation together: "lanes 0x000000ff wait in __any_sync, lanes 0xffffff00 have exited". */
SIMT_NO_TSAN std::string Block::describe_lanes(unsigned w) const {
  const Warp& warp = warps_[w];
  std::string text;
  for (uint32_t left = warp.present & ~warp.exited & ~warp.runnable; left != 0;) {
    const Request& request = lane(warp, static_cast<unsigned>(__builtin_ctz(left))).request;
    uint32_t together = 0;
    for (unsigned i = 0; i < kWarpSize; ++i) {
      if (!(left >> i & 1)) continue;
      const Request& other = lane(warp, i).request;
      if (other.op == request.op && other.mask == request.mask) together |= 1u << i;
    }
    text += format("%slanes 0x%08x wait in %s", text.empty() ? "" : ", ", together, name_of(request.op));
    left &= ~together;
  }
  if (warp.runnable != 0) text += format("%slanes 0x%08x run", text.empty() ? "" : ", ", warp.runnable);
  if (warp.exited != 0) text += format("%slanes 0x%08x have exited", text.empty() ? "" : ", ", warp.exited);
  return text;
}

/** One line for each operation, mask and place where lanes of the warp wait. */
SIMT_NO_TSAN std::string Block::describe_sites(unsigned w) const {
  const Warp& warp = warps_[w];
  std::string text;
  for (uint32_t left = warp.present & ~warp.exited & ~warp.runnable; left != 0;) {
    const Thread& first = lane(warp, static_cast<unsigned>(__builtin_ctz(left)));
    uint32_t together = 0;
    for (unsigned i = 0; i < kWarpSize; ++i) {
      if (!(left >> i & 1)) continue;
      const Thread& other = lane(warp, i);
      if (other.request.op == first.request.op && other.request.mask == first.request.mask &&
          other.site.line == first.site.line) {
        together |= 1u << i;
      }
    }
    text += format("\n  warp %u, lanes 0x%08x: %s, mask 0x%08x, at %s:%d", w, together, name_of(first.request.op),
                   first.request.mask, first.site.file, first.site.line);
    left &= ~together;
  }
  return text;
}

}  // namespace heddle::simt
