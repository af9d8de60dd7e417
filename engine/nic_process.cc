#include "engine/nic_process.h"

#include <poll.h>

#include <chrono>
#include <cstdio>

#include "core/error.h"
#include "io/dpdk/dpdk.h"

namespace heddle {
namespace {

using softnic::Message;
using Clock = std::chrono::steady_clock;
constexpr size_t kReceive = 0;  // of softnic::kDirections
constexpr int kLookEveryMs = 50;
constexpr std::chrono::seconds kGreetingTime{5};  // a program that says nothing for so long keeps out others

size_t pages_of(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

/** One program that has called. */
class NicProcess::Session {
 public:
  Session(NicProcess& nic, memif::File caller) : nic_(nic), link_(std::move(caller)), sending_(nic.config_.queues) {
    Message hello{.type = Message::Type::hello};
    hello.queues = nic.config_.queues, hello.buffer_bytes = nic.config_.buffer_bytes;
    hello.gpu.set(gpu::place_of(nic.device_->info()));
    link_.send(hello);
  }
  ~Session() { end(); }

  int descriptor() const { return link_.descriptor(); }
  /** Does what the program asks for; false if it has gone. */
  bool serve() {
    try {
      while (auto received = link_.receive()) handle(*received);
      if (!is_up_ && Clock::now() - begun_ > kGreetingTime) throw Error("the greeting takes too long");
    } catch (const Error& error) {
      std::fprintf(stderr, "heddle: soft NIC: a program is refused: %s\n", error.what());
      link_.refuse(error.what());
      return false;
    }
    return !link_.closed();
  }

 private:
  /** What descriptors and buffers of one direction lie in. */
  struct Memory {
    gpu::StateId descriptors = gpu::StateId::none, pool = gpu::StateId::none;
  };

  void handle(softnic::Link::Received& received) {
    const auto type = received.message.type;
    if (type == Message::Type::setup && !is_up_) {
      begin(received);
    } else if (type == Message::Type::close && is_up_) {
      for (auto& receiver : receivers_) receiver->close();
      for (auto& receiver : receivers_) receiver->stop();
      link_.send({.type = Message::Type::closed});
    } else {
      throw Error(format("a message of type %u is not expected now", static_cast<unsigned>(type)));
    }
  }

  void check(const Message& setup, size_t files) const {
    const Config& config = nic_.config_;
    const uint32_t all = (1u << softnic::kDirections) - 1;
    if (setup.queues != config.queues) throw Error(format("QUEUES is not %u, as --queues", config.queues));
    if (setup.buffer_bytes != config.buffer_bytes)
      throw Error(format("BUFFER is not %u, as --buffer", config.buffer_bytes));
    if (setup.descriptors < softnic::kMinDescriptors || setup.descriptors > softnic::kMaxDescriptors ||
        (setup.descriptors & (setup.descriptors - 1)) != 0)
      throw Error(format("a ring of %u descriptors; a power of two from %u to %u is expected", setup.descriptors,
                         softnic::kMinDescriptors, softnic::kMaxDescriptors));
    if (setup.gpu.text() != gpu::place_of(nic_.device_->info())) throw Error("its memory is on another GPU");
    if (setup.directions == 0 || (setup.directions & ~all) != 0) throw Error("it has rings in no direction");
    const auto wanted = 2 * static_cast<size_t>(__builtin_popcount(setup.directions));
    if (files != wanted) throw Error(format("%zu files have come, %zu are expected", files, wanted));
  }

  void begin(softnic::Link::Received& received) {
    const Message& setup = received.message;
    check(setup, received.files.size());
    gpu::Device& device = *nic_.device_;
    registers_ = memif::Region(softnic::kDirections * setup.queues * sizeof(softnic::Register));
    auto file = received.files.begin();
    for (size_t direction = 0; direction < softnic::kDirections; ++direction) {
      if ((setup.directions >> direction & 1) == 0) continue;
      Memory& memory = memory_[direction];
      const size_t ring_bytes = setup.descriptors * sizeof(ixgbe::Descriptor);
      memory.descriptors = device.open_state(std::move(*file++), setup.queues * ring_bytes);
      memory.pool = device.open_state(std::move(*file++), setup.pool_bytes[direction]);
      const softnic::Window buffers{setup.bus[direction], static_cast<uint8_t*>(device.address(memory.pool)),
                                    setup.pool_bytes[direction]};
      auto* const rings = static_cast<std::byte*>(device.address(memory.descriptors));
      for (uint32_t queue = 0; queue < setup.queues; ++queue)
        add(direction, queue,
            {reinterpret_cast<ixgbe::Descriptor*>(rings + queue * ring_bytes), setup.descriptors, buffers,
             reinterpret_cast<softnic::Register*>(registers_.base()) + direction * setup.queues + queue, nullptr,
             nullptr});
    }
    for (auto& receiver : receivers_) receiver->start();
    for (auto& transmitter : transmitters_) transmitter->start();
    Message ready{.type = Message::Type::ready};
    const int file_of_registers = registers_.file();
    link_.send(ready, {&file_of_registers, 1});
    is_up_ = true;
    ++nic_.connections_;
  }

  void add(size_t direction, uint32_t queue, softnic::Ring ring) {
    const size_t number = direction * nic_.config_.queues + queue;
    ring.host = reinterpret_cast<softnic::Host*>(nic_.host_.get()) + number;
    ring.host->done = ring.host->refused = 0;
    ring.dma = nic_.engines_[number].get();
    if (direction == kReceive)
      receivers_.push_back(std::make_unique<softnic::Receiver>(ring, *nic_.port_, static_cast<uint16_t>(queue),
                                                               static_cast<uint16_t>(nic_.config_.queues),
                                                               nic_.config_.buffer_bytes, nic_.counts_));
    else
      transmitters_.push_back(std::make_unique<softnic::Transmitter>(ring, *nic_.port_, static_cast<uint16_t>(queue),
                                                                     sending_[queue], *nic_.packets_, nic_.counts_));
  }

  /** Nobody drives the rings any more. */
  void end() {
    for (auto& receiver : receivers_) receiver->give_up();
    receivers_.clear();
    transmitters_.clear();
    for (auto& engine : nic_.engines_) engine->finish();
    for (const Memory& memory : memory_)
      for (const gpu::StateId state : {memory.descriptors, memory.pool}) try {
          if (state != gpu::StateId::none) nic_.device_->remove_state(state);
        } catch (const Error&) {
          // A device that has failed has nothing any more.
        }
  }

  NicProcess& nic_;
  softnic::Link link_;
  const Clock::time_point begun_ = Clock::now();
  bool is_up_ = false;
  memif::Region registers_;
  Memory memory_[softnic::kDirections];
  std::vector<std::unique_ptr<softnic::Receiver>> receivers_;
  std::vector<std::mutex> sending_;  ///< by queue
  std::vector<std::unique_ptr<softnic::Transmitter>> transmitters_;
};

NicProcess::NicProcess(const Config& config) : config_(config), port_(dpdk::request_port(config.port)) {
  if (config.buffer_bytes % softnic::kBufferUnit != 0)
    throw Error(format("--buffer: %u is no multiple of %u", config.buffer_bytes, softnic::kBufferUnit));
  if (config.device == "cpu")
    throw Error("--device cpu: kernels play the DMA engine; give the GPU that the port is on, or simt if it is there");
  gpu::find_device(config.device, "give --device simt, if the port is there");
  port_->receives = port_->transmits = true;
  const int queues = static_cast<int>(config.queues);
  softnic::request_queues(*port_, queues, queues, config.buffer_bytes);
  dpdk::start_eal(config.dpdk_args, 1);
  device_ = gpu::open_device(config.device);
  const size_t rings = softnic::kDirections * config.queues, host_bytes = rings * sizeof(softnic::Host);
  host_ = map_huge_pages(host_bytes);
  device_->share({reinterpret_cast<uint8_t*>(host_.get()), host_bytes});
  const unsigned count = 4096 + dpdk::packets_needed(1), data_room = dpdk::data_room();
  const size_t bytes = pages_of(dpdk::pool_bytes(count, data_room));
  packets_ = dpdk::make_pool("packets", count, data_room, device_->packet_memory(bytes));
  for (size_t i = 0; i < rings; ++i) {
    engines_.push_back(std::make_unique<DmaEngine>());
    engines_.back()->add_to(*device_);
    engines_.back()->move();
  }
  device_->start();
  dpdk::start_ports(*packets_, 1);
  listener_ = memif::listen_at(config.socket, listener_file_);
}

NicProcess::~NicProcess() {
  stop();
  dpdk::close_ports();
}

void NicProcess::stop() { session_.reset(); }

void NicProcess::take_callers() {
  while (memif::File caller = memif::accept_from(listener_)) {
    if (session_)
      softnic::Link(std::move(caller)).refuse("another program has this NIC already; start one for each port");
    else
      session_ = std::make_unique<Session>(*this, std::move(caller));
  }
}

void NicProcess::run(const std::function<bool()>& is_over) {
  while (!is_over()) {
    pollfd files[] = {{listener_.get(), POLLIN, 0}, {session_ ? session_->descriptor() : -1, POLLIN, 0}};
    poll(files, std::size(files), kLookEveryMs);
    if (session_ && !session_->serve()) session_.reset();
    take_callers();
    if (const std::string failure = device_->failure(); !failure.empty()) throw Error(failure);
  }
}

}  // namespace heddle
