#include "kernels/program_layout.h"

#include <algorithm>

#include "core/error.h"
#include "gpu/functions.h"

namespace heddle::gpu {
namespace {

constexpr size_t kUnit = 16;  ///< in which Program says where things lie in dynamic shared memory
size_t units(size_t bytes) { return (bytes + kUnit - 1) / kUnit; }

const FunctionTraits& traits(int function) { return functions()[static_cast<size_t>(function)]; }

/** Wide columns first, so that all are aligned; returns the words of 32 bits of all. */
size_t place_columns(ColumnSet columns, Program& program) {
  std::fill(std::begin(program.place), std::end(program.place), kNoColumn);
  size_t at = 0;
  for (const ColumnSet width : {columns & kWideColumns, columns & ~kWideColumns})
    each_column(width, [&](Column which) {
      program.place[static_cast<int>(which)] = static_cast<uint8_t>(at);
      at += static_cast<size_t>(words(which));
    });
  return at;
}

}  // namespace

ProgramLayout lay_out(const ProgramSpec& spec, size_t copy_bytes, const ProgramAddresses& addresses) {
  if (spec.nodes.size() > kMaxNodes)
    throw Error(format("a GPU segment has %zu elements, at most %d fit; place one of them with DEVICE cpu",
                       spec.nodes.size(), kMaxNodes));
  ProgramLayout layout{};
  Program& program = layout.program;
  const size_t column_words = place_columns(spec.columns, program);
  size_t at = units(column_words * kSlotPackets * sizeof(uint32_t));
  program.column_words = static_cast<uint8_t>(column_words);
  program.scratch_at = static_cast<uint16_t>(at);
  size_t scratch_bytes = spec.copies.any() ? copy_bytes : 0;
  for (const auto& node : spec.nodes)
    if (node.function >= 0) scratch_bytes = std::max(scratch_bytes, traits(node.function).scratch_bytes);
  at += units(scratch_bytes);
  size_t targets = 0;
  for (size_t n = 0; n < spec.nodes.size(); ++n) {
    const auto& from = spec.nodes[n];
    auto& to = program.nodes[n];
    to.function = static_cast<int16_t>(from.function);
    to.neutral = from.neutral;
    to.first_target = static_cast<uint16_t>(targets);
    to.outputs = static_cast<uint16_t>(from.outputs.size());
    if (targets + from.outputs.size() + from.drops.size() > kMaxTargets)
      throw Error(format("a GPU segment has more than %d outputs and drop reasons; use fewer outputs", kMaxTargets));
    for (uint16_t target : from.outputs) program.targets[targets++] = target;
    for (uint16_t target : from.drops) program.targets[targets++] = target;
    if (from.table != TableId::none) to.table = addresses.table(from.table);
    if (from.state != StateId::none) to.state = addresses.state(from.state);
    to.shared_at = static_cast<uint16_t>(at);
    if (from.function < 0) continue;
    at += units(traits(from.function).shared_bytes);
    if (!traits(from.function).in_turn) continue;
    if (program.turns == kMaxTurns)
      throw Error(format("a GPU segment has more than %d elements that want packets in the order of arrival; use fewer",
                         kMaxTurns));
    program.in_turn[program.turns++] = static_cast<uint8_t>(n);
  }
  program.count = static_cast<uint16_t>(spec.nodes.size());
  program.columns_in = spec.columns_in;
  program.columns_out = spec.columns_out;
  program.columns_out_at = static_cast<uint8_t>(words(spec.columns_in));
  program.first_drop = spec.first_drop;
  program.copies = spec.copies;
  program.word_column = spec.word_column < 0 ? kNoColumn : static_cast<uint8_t>(spec.word_column);
  const bool copies = spec.copies.any(), columns_out = spec.columns_out != 0;
  const auto feature = [&](bool there, Program::Feature which) { program.features |= there ? which : 0; };
  feature(spec.word_column >= 0, Program::kColumnInWords);
  feature(spec.columns_in != 0, Program::kColumnsIn);
  feature(columns_out, Program::kColumnsOut);
  feature(copies, Program::kCopies);
  feature(spec.wide_results, Program::kWideResults);
  feature(spec.small_tiles_wait, Program::kSmallTilesWait);
  feature(spec.writes_packets || columns_out || copies, Program::kWrites);
  if (spec.counts != StateId::none) program.counts = static_cast<NodeCounts*>(addresses.state(spec.counts));
  layout.shared_bytes = at * kUnit;
  layout.column_words = static_cast<size_t>(words(spec.columns_in) + words(spec.columns_out));
  return layout;
}

}  // namespace heddle::gpu
