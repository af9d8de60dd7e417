#include "engine/gpu_segment.h"

#include "core/error.h"
#include "core/gpu_state.h"
#include "gpu/functions.h"

namespace heddle {
namespace {

/** Memory for what the function of `element` keeps, `bytes` each, as it begins. */
gpu::StateId add_states(gpu::Device& device, const Element& element, size_t bytes) {
  const auto* keeps = dynamic_cast<const KeepsGpuState*>(&element);
  if (keeps == nullptr) return device.add_state(bytes);
  const gpu::StateId state = device.add_state(bytes * keeps->gpu_states());
  device.write_state(state, 0, keeps->first_gpu_state());
  return state;
}

}  // namespace

GpuSegment::GpuSegment(const Router& router, const Plan& plan, int index, gpu::Device& device,
                       std::vector<gpu::TableId> tables, std::byte* packet_base)
    : device_(device), plan_(plan.segments[static_cast<size_t>(index)]), packet_base_(packet_base) {
  for (size_t k = 0; k < plan_.nodes.size(); ++k) {
    const Element& element = *router.nodes[static_cast<size_t>(plan_.nodes[k])].element;
    gpu::ProgramSpec::Node node{};
    node.function = gpu::function_id(element.class_name);
    if (const auto neutral = element.neutral()) node.neutral = *neutral;
    node.table = tables[k];
    node.outputs = plan_.targets[k].outputs;
    node.drops = plan_.targets[k].drops;
    if (node.function >= 0)
      if (const size_t bytes = gpu::functions()[static_cast<size_t>(node.function)].state_bytes; bytes > 0)
        node.state = add_states(device, element, bytes);
    spec_.nodes.push_back(std::move(node));
  }
  if (plan_.exits.size() >= gpu::kExit) throw Error("a GPU segment has too many exits");
  spec_.counts = device.add_state(plan_.nodes.size() * sizeof(gpu::NodeCounts));
  spec_.columns = plan_.columns;
  spec_.columns_in = plan_.columns_in;
  spec_.columns_out = plan_.columns_out;
  spec_.word_column = plan_.word_column ? static_cast<int>(*plan_.word_column) : -1;
  spec_.writes_packets = plan_.writes_packets;
  spec_.wide_results = plan_.wide_results;
  spec_.small_tiles_wait = plan_.in_order;
  spec_.first_drop = static_cast<uint16_t>(plan_.drop_exits_from);
  if (gathers(plan_.transport)) spec_.copies = plan_.copies;
  spec_.on_twins = copies_by_engine(plan_.transport);
  program_ = newest_ = device.add_program(spec_);
  if (plan_.has_rings()) exit_counts_ = device.add_state(plan_.exits.size() * sizeof(gpu::RingCount));
  current_ = device.address(program_);
}

gpu::ProgramId GpuSegment::change_table(gpu::TableId from, gpu::TableId to) {
  for (auto& node : spec_.nodes)
    if (node.table == from) node.table = to;
  const gpu::ProgramId next = device_.add_program(spec_);
  const gpu::ProgramId before = newest_.exchange(next, std::memory_order_acq_rel);
  current_.store(device_.address(next), std::memory_order_release);
  changes_.fetch_add(1, std::memory_order_release);
  return before;
}

std::pair<uint64_t, uint64_t> GpuSegment::counts(size_t k) const {
  gpu::NodeCounts counts{};
  device_.read_state(spec_.counts, k * sizeof counts, std::as_writable_bytes(std::span(&counts, 1)));
  return {counts.packets, counts.bytes};
}

std::vector<gpu::RingCount> GpuSegment::exit_counts() const {
  std::vector<gpu::RingCount> counts(plan_.exits.size());
  device_.read_state(exit_counts_, 0, std::as_writable_bytes(std::span(counts)));
  return counts;
}

bool StateReader::read(size_t offset, std::span<std::byte> to) {
  const std::lock_guard lock(reading_);
  if (device_ == nullptr) return false;
  try {
    device_->read_state(state_, offset, to);
    return true;
  } catch (const Error&) {
    return false;  // a device that has failed says so elsewhere
  }
}

void StateReader::close() {
  const std::lock_guard lock(reading_);
  device_ = nullptr;
}

TableCopy::TableCopy(Table& table, gpu::Device& device)
    : table_(table), device_(device), id_(device.add_table(table.bytes())) {
  table.add_copy(
      {[this](size_t offset, std::span<const std::byte> bytes) { follow([&] { device_.patch(id_, offset, bytes); }); },
       [this](std::span<const TableWord> words) { follow([&] { device_.patch_words(id_, words); }); },
       [this] { follow([&] { replace(); }); }, this});
}

TableCopy::~TableCopy() {
  table_.remove_copies(this);
  old_tables_.push_back(id_);
  try {
    for (const gpu::TableId table : old_tables_) device_.remove_table(table);
  } catch (const Error&) {
    // A device that has failed has nothing any more.
  }
}

template <class Change>
void TableCopy::follow(const Change& change) {
  if (stopped_) return;
  try {
    change();
  } catch (const Error& error) {
    device_.fail(
        format("a table on %s could not follow a change (%s); the packets on it are lost. Run again with "
               "--device cpu, or with smaller tables",
               device_.info().name.c_str(), error.what()));
    stopped_ = true;
  }
}

void TableCopy::replace() {
  const gpu::TableId next = device_.add_table(table_.bytes());
  for (GpuSegment* segment : segments_) old_programs_.push_back(segment->change_table(id_, next));
  old_tables_.push_back(std::exchange(id_, next));
}

void TableCopy::reclaim() {
  if (!stopped_)
    follow([&] {
      for (const gpu::ProgramId program : old_programs_) device_.remove_program(program);
      for (const gpu::TableId table : old_tables_) device_.remove_table(table);
    });
  old_programs_.clear(), old_tables_.clear();
}

}  // namespace heddle
