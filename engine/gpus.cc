#include "engine/gpus.h"

#include <algorithm>

#include "core/error.h"
#include "core/gpu_state.h"
#include "engine/gpu_lane.h"
#include "engine/landing_area.h"

namespace heddle {
namespace {

size_t whole_pages(size_t bytes) {
  constexpr size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

/** What makes a lane through the segment want fewer slots, "" where that is --slots alone. */
std::string how_to_want_fewer_slots(const Router& router, const Segment& segment) {
  const Node* node = capacity_of(router, segment);
  if (node == nullptr || segment.launch == LaunchMode::sync) return "";
  return format(
      "'%s' wants CAPACITY %d batches of MAX_BATCH packets in each of %d lists (LISTS_PER_CORE): give smaller "
      "ones",
      node->element->name.c_str(), segment.limits.capacity, segment.lists());
}

/** A copy of the element's table. Throws Error if there is no room for it. */
std::unique_ptr<TableCopy> copy_table(const Element& element, gpu::Device& device) {
  try {
    return std::make_unique<TableCopy>(*element.table, device);
  } catch (const Error& error) {
    throw Error(format("%s '%s': its table of %.1f MB cannot be had on %s: %s", element.class_name.c_str(),
                       element.name.c_str(), static_cast<double>(element.table->bytes().size()) / 1e6,
                       device.info().name.c_str(), error.what()));
  }
}

/** What else could be done with a segment where there is no GPU. */
std::string instead_of_gpu(const Router& router, const Plan& plan, const Segment& segment) {
  for (const int i : segment.nodes) {
    const Node& node = router.nodes[static_cast<size_t>(i)];
    if (node.device) return format("leave DEVICE out of '%s', or run with --device simt", node.element->name.c_str());
  }
  return plan.options.device == "cpu" ? "run with --device simt" : "run with --device cpu";
}

}  // namespace

Gpus::Gpus(const Router& router, const Plan& plan, std::unique_ptr<GpuPorts> ports)
    : router_(router), plan_(plan), ports_(std::move(ports)) {
  for (const Segment& segment : plan.segments) {
    const int number = segment.processor.number;
    if (!segment.processor.is_gpu() || devices_.contains(number)) continue;
    const std::string name = plan.name_of(segment.processor);
    gpu::find_device(name, instead_of_gpu(router, plan, segment).c_str());
    devices_[number] = gpu::open_device(name);
  }
}

Gpus::~Gpus() {
  stop();
  for (auto& state : states_) state->close();  // elements may outlive the devices
}

size_t Gpus::staging_wanted(int lanes, int slots) {
  const auto packing = static_cast<size_t>(std::count_if(plan_.segments.begin(), plan_.segments.end(),
                                                         [](auto& segment) { return packs(segment.transport); }));
  const size_t of_slots = static_cast<size_t>(slots) / static_cast<size_t>(lanes) * gpu::kSlotPackets * packet_bytes_;
  staging_bytes_ = whole_pages(std::max(of_slots, GpuLane::kMinStagingBytes));
  return packing * static_cast<size_t>(lanes) * staging_bytes_;
}

PacketMemory Gpus::packet_memory(size_t packets, int lanes, int slots, size_t packet_bytes) {
  packet_bytes_ = packet_bytes;
  packets = whole_pages(packets);
  const size_t staging = staging_wanted(lanes, slots), areas = areas_wanted(lanes);
  // As many packets may be kept behind a lane as are in it.
  constexpr size_t kRoom = 2, kMinBytes = size_t{1} << 20;
  const size_t of_lane = static_cast<size_t>(slots) / static_cast<size_t>(lanes);
  const size_t area_bytes =
      areas == 0 ? 0 : whole_pages(std::max(kRoom * of_lane * gpu::kSlotPackets * packet_bytes, kMinBytes));
  const size_t bytes = packets + areas * area_bytes + staging;
  for (auto& [number, device] : devices_) {
    if (packets_.base == nullptr)
      packets_ = device->packet_memory(bytes);
    else
      device->share_packet_memory(packets_);
  }
  // Short packets leave most of it free, and are more: so many slots' packets at once.
  const size_t places = std::max<size_t>(64, 8 * of_lane);
  std::byte* area = packets_.base + packets;
  for (size_t a = 0; a < areas; ++a, area += area_bytes)
    areas_.push_back(std::make_shared<LandingArea>(std::span(area, area_bytes), places));
  staging_ = first_staging_ = area;
  return packets_;
}

size_t Gpus::areas_wanted(int lanes) const {
  const auto landing = std::count_if(plan_.segments.begin(), plan_.segments.end(),
                                     [](auto& segment) { return segment.transport == Transport::landing; });
  return static_cast<size_t>(landing) * static_cast<size_t>(lanes);
}

void Gpus::use_packet_memory_of(const Gpus& other, int lanes, int slots) {
  packets_ = other.packets_, packet_bytes_ = other.packet_bytes_;
  staging_ = first_staging_ = other.first_staging_;
  areas_ = other.areas_;
  if (const size_t wanted = areas_wanted(lanes); wanted > areas_.size())
    throw Error(
        format("the packets of %zu ways through its GPU segments land, and the configuration that the program was "
               "started with has left room for %zu; give another TRANSPORT, or start the program anew",
               wanted, areas_.size()));
  const size_t room = static_cast<size_t>(packets_.base + packets_.bytes - first_staging_);
  if (const size_t wanted = staging_wanted(lanes, slots); wanted > room)
    throw Error(
        format("its GPU segments pack packets into %zu bytes of packet memory, and the configuration that the "
               "program was started with has left %zu; give another TRANSPORT, or start the program anew",
               wanted, room));
  for (auto& [number, device] : devices_) device->share_packet_memory(packets_);
}

void Gpus::make_segments() {
  segments_.resize(plan_.segments.size());
  for (size_t s = 0; s < plan_.segments.size(); ++s) {
    const Segment& segment = plan_.segments[s];
    if (!segment.processor.is_gpu()) continue;
    const int number = segment.processor.number;
    gpu::Device& device = *devices_[number];
    std::vector<gpu::TableId> ids;
    std::vector<TableCopy*> copies;
    for (int node : segment.nodes) {
      Element& element = *router_.nodes[static_cast<size_t>(node)].element;
      ids.push_back(gpu::TableId::none);
      if (element.table == nullptr) continue;
      auto copy = tables_.find({number, element.table});
      if (copy == tables_.end()) copy = tables_.try_emplace({number, element.table}, copy_table(element, device)).first;
      copies.push_back(copy->second.get());
      ids.back() = copy->second->id();
    }
    segments_[s] = std::make_unique<GpuSegment>(router_, plan_, static_cast<int>(s), device, ids, packets_.base);
    for (TableCopy* copy : copies) copy->used_by(*segments_[s]);
    offer_states(s);
    if (segment.has_rings()) ports_->add(segment, *segments_[s]);
  }
}

void Gpus::offer_states(size_t s) {
  const std::vector<int>& nodes = plan_.segments[s].nodes;
  for (size_t k = 0; k < nodes.size(); ++k) {
    auto* keeps = dynamic_cast<KeepsGpuState*>(router_.nodes[static_cast<size_t>(nodes[k])].element.get());
    if (keeps == nullptr || segments_[s]->state(k) == gpu::StateId::none) continue;
    states_.push_back(std::make_shared<StateReader>(segments_[s]->device(), segments_[s]->state(k)));
    keeps->read_gpu_state = [reader = states_.back()](size_t offset, std::span<std::byte> to) {
      return reader->read(offset, to);
    };
  }
}

std::unique_ptr<Lane> Gpus::make_lane(size_t s, int slots) {
  GpuSegment& segment = *segments_[s];
  std::span<std::byte> staging;
  if (packs(segment.plan().transport)) {
    staging = {staging_, staging_bytes_};
    staging_ += staging_bytes_;
  }
  LandingArea* const area = segment.plan().transport == Transport::landing ? areas_[areas_used_++].get() : nullptr;
  const gpu::SlotGroup group = segment.device().add_slots(segment.program(), slots, segment.plan().streams());
  if (segment.plan().launch == LaunchMode::graph) segment.device().make_graphs(group, segment.program());
  auto lane = std::make_unique<GpuLane>(segment, group, staging, area);
  lanes_.push_back(lane.get());
  return lane;
}

void Gpus::start() {
  for (auto& [number, device] : devices_) try {
      device->start();
    } catch (const Error& error) {
      std::string text = error.what();
      bool by_option = false;
      for (const Segment& segment : plan_.segments) {
        if (!segment.processor.is_gpu() || segment.processor.number != number) continue;
        if (segment.launch != LaunchMode::persistent || segment.has_rings()) continue;
        const std::string remedy = how_to_want_fewer_slots(router_, segment);
        by_option = by_option || remedy.empty();
        if (!remedy.empty()) text += "; " + remedy;
      }
      throw Error(text + (by_option ? "; --slots says how many" : ""));
    }
  ports_->start();
}

void Gpus::pause() {
  ports_->pause();
  for (auto& [number, device] : devices_) device->stop();
}

void Gpus::go_on() {
  for (auto& [number, device] : devices_) try {
      if (!device->is_dead()) device->start();
    } catch (const Error& error) {
      device->fail(error.what());
    }
  for (GpuLane* lane : lanes_) lane->begin_anew();
  ports_->go_on();
}

void Gpus::stop() {
  if (stopped_) return;  // after a reconfiguration the plan may be no more
  ports_->stop();
  for (size_t s = 0; s < segments_.size(); ++s) {
    if (!segments_[s]) continue;
    for (const int node : plan_.segments[s].nodes) counts(node), ring_drops(node);
  }
  const std::lock_guard lock(counting_);
  stopped_ = true;
  for (auto& [number, device] : devices_) device->stop();
  tables_.clear();
}

std::vector<std::string> Gpus::failures() {
  std::vector<std::string> list;
  for (auto& [number, device] : devices_) {
    const Processor processor{Processor::kGpu, static_cast<uint8_t>(number)};
    const bool survives = std::all_of(plan_.segments.begin(), plan_.segments.end(), [&processor](auto& segment) {
      return segment.processor != processor || segment.cpu_after_failure;
    });
    if (survives) continue;
    if (std::string failure = device->failure(); !failure.empty()) list.push_back(std::move(failure));
  }
  return list;
}

std::pair<uint64_t, uint64_t> Gpus::counts(int node) {
  const std::lock_guard lock(counting_);
  const auto s = static_cast<size_t>(plan_.nodes[static_cast<size_t>(node)].segment);
  auto& last = last_counts_[node];
  if (stopped_ || s >= segments_.size() || !segments_[s]) return last;
  const auto& nodes = plan_.segments[s].nodes;
  const auto k = static_cast<size_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
  if (k == 0 && !plan_.segments[s].has_rings()) return last;
  try {
    last = segments_[s]->counts(k);
  } catch (const Error&) {
    // A device that has failed says so elsewhere.
  }
  return last;
}

std::vector<uint64_t> Gpus::ring_drops(int node) {
  const std::lock_guard lock(counting_);
  const auto s = static_cast<size_t>(plan_.nodes[static_cast<size_t>(node)].segment);
  const Segment& segment = plan_.segments[s];
  if (!segment.has_rings() || s >= segments_.size() || !segments_[s]) return {};
  std::vector<gpu::RingCount>& last = last_exits_[s];
  try {
    if (!stopped_) last = segments_[s]->exit_counts();
  } catch (const Error&) {
    // A device that has failed says so elsewhere.
  }
  std::vector<uint64_t> drops;
  for (size_t exit = 0; exit < last.size(); ++exit)
    if (segment.exits[exit].node == node && segment.exits[exit].target < 0) drops.push_back(last[exit]);
  return drops;
}

std::string Gpus::text() const {
  std::string text;
  for (const auto& [number, device] : devices_)
    text += (text.empty() ? "" : ", ") + device->info().name + " (" + device->info().model + ")";
  return text;
}

}  // namespace heddle
