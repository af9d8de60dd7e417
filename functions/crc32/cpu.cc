#define ALLOW_EXPERIMENTAL_API  // rte_vect_set_max_simd_bitwidth
#include "functions/crc32/cpu.h"

#include <immintrin.h>
#include <rte_cpuflags.h>
#include <rte_net_crc.h>
extern "C" {  // DPDK 22.11 forgets it
#include <rte_vect.h>
}

#include <algorithm>
#include <array>
#include <cstring>

#include "click/arguments.h"
#include "core/load.h"
#include "functions/crc32/check_crc32.h"
#include "functions/crc32/set_crc32.h"
#include "functions/crc32/tables.h"

namespace heddle {
namespace crc32 {
namespace {

/** [k][b]: what byte b leaves behind k further bytes, most significant bit first. */
using Slices = std::array<std::array<uint32_t, 256>, 8>;

constexpr Slices make_slices() {
  Slices slices{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t remainder = b << 24;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder << 1 ^ (remainder >> 31 ? 0x04c11db7u : 0);
    slices[0][b] = remainder;
  }
  for (size_t k = 1; k < 8; ++k)
    for (uint32_t b = 0; b < 256; ++b) slices[k][b] = slices[k - 1][b] << 8 ^ slices[0][slices[k - 1][b] >> 24];
  return slices;
}
constexpr Slices kSlices = make_slices();

uint32_t click_crc(const uint8_t* data, uint32_t length) {
  uint32_t remainder = ~0u;
  for (; length >= 8; data += 8, length -= 8) {
    const uint32_t a = __builtin_bswap32(load_u32(data)) ^ remainder, b = __builtin_bswap32(load_u32(data + 4));
    remainder = kSlices[7][a >> 24] ^ kSlices[6][a >> 16 & 255] ^ kSlices[5][a >> 8 & 255] ^ kSlices[4][a & 255] ^
                kSlices[3][b >> 24] ^ kSlices[2][b >> 16 & 255] ^ kSlices[1][b >> 8 & 255] ^ kSlices[0][b & 255];
  }
  for (; length > 0; ++data, --length) remainder = remainder << 8 ^ kSlices[0][remainder >> 24 ^ *data];
  return remainder;
}

}  // namespace

namespace {

void choose_instructions_now() {
  // DPDK writes to standard error if it is asked for what the processor lacks.
  static constexpr rte_cpu_flag_t kWanted[] = {RTE_CPUFLAG_AVX512F,  RTE_CPUFLAG_AVX512DQ,  RTE_CPUFLAG_AVX512BW,
                                               RTE_CPUFLAG_AVX512VL, RTE_CPUFLAG_PCLMULQDQ, RTE_CPUFLAG_VPCLMULQDQ,
                                               RTE_CPUFLAG_AVX512CD};
  const bool wide =
      std::ranges::all_of(kWanted, [](rte_cpu_flag_t flag) { return rte_cpu_get_flag_enabled(flag) > 0; });
  const bool narrow = rte_cpu_get_flag_enabled(RTE_CPUFLAG_PCLMULQDQ) > 0;
  // DPDK asks EAL how wide vectors may be, which is 0, and wrong, as long as EAL has not started: captures
  // need none.
  const uint16_t before = rte_vect_get_max_simd_bitwidth();
  rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
  rte_net_crc_set_alg(wide ? RTE_NET_CRC_AVX512 : narrow ? RTE_NET_CRC_SSE42 : RTE_NET_CRC_SCALAR);
  if (before != 0) rte_vect_set_max_simd_bitwidth(before);
}

}  // namespace

void choose_instructions() {
  // Once: while DPDK chooses, other threads must not calculate, as those of the former configuration may.
  static const bool done = (choose_instructions_now(), true);
  static_cast<void>(done);
}

uint32_t crc(const uint8_t* data, uint32_t length, Variant variant) {
  return variant == Variant::ieee ? rte_net_crc_calc(data, length, RTE_NET_CRC32_ETH) : click_crc(data, length);
}

}  // namespace crc32

void Crc32Element::read_variant(click::Arguments& arguments, bool second_output) {
  using crc32::Variant;
  arguments.choice("VARIANT", variant_, {{"ieee", Variant::ieee}, {"click", Variant::click}});
  tables_.value = crc32::make_tables(variant_, second_output);
  table = &tables_;
}

void Crc32Element::start(const Environment&) { crc32::choose_instructions(); }

void SetCRC32::configure(click::Arguments& arguments) { read_variant(arguments, false); }

void SetCRC32::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t sum = crc32::crc(data(packet), length(packet), variant_);
    std::memcpy(data(packet) + length(packet), &sum, crc32::kBytes);
    move_tail(packet, crc32::kBytes);
  }
}

void CheckCRC32::configure(click::Arguments& arguments) { read_variant(arguments, outputs > 1); }

std::span<const char* const> CheckCRC32::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "bad_crc"};
  return kReasons;
}

void CheckCRC32::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t bytes = length(packet);
    const bool is_short = bytes < crc32::kBytes;
    if (!is_short &&
        crc32::crc(data(packet), bytes - crc32::kBytes, variant_) == load_u32(data(packet) + bytes - crc32::kBytes)) {
      move_tail(packet, -static_cast<int>(crc32::kBytes));
    } else if (outputs > 1) {
      batch.next()[i] = 1;
    } else {
      batch.drop(i, is_short ? crc32::kShort : crc32::kBadCrc);
    }
  }
}

HEDDLE_ELEMENT(SetCRC32);
HEDDLE_ELEMENT(CheckCRC32);

}  // namespace heddle
