// The other end of a memif port whose rings a GPU drives: it sends numbered frames through shared memory, takes them
// back, and goes on with the next peer when one has gone. The port is the server, so this end makes the memory:
//
//     heddle run --device gpu -e 'FromGPUPort(a, SOCKET /tmp/a.sock, ROLE server) -> EtherMirror -> ToGPUPort(a)' &
//     build/cpu/examples/ring_client /tmp/a.sock 1000000
//
// Without a GPU: --device simt, which is slow. io/memif/ring.h draws the rings.

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.h"
#include "io/memif/port.h"

namespace {

using namespace heddle;

constexpr uint32_t kSize = 1 << 10;  // descriptors of a ring, as memif::Interface has it if it is told nothing else
constexpr uint32_t kBufferBytes = 2048, kFrameBytes = 64, kNumberAt = 14;
constexpr uint16_t kRegion = memif::ClientSession::kBufferRegion;

/** One ring each way. Descriptor i of a ring always has the same buffer: the first kSize are for what is sent, the
 *  others for what comes back. */
class RingClient {
 public:
  explicit RingClient(const std::string& socket);

  /** Waits for a peer; a new one, if there was one. Its rings are empty. */
  void connect();
  /** Hears what the peer says, for at most `wait_ms`; false if it has gone, with all that was under way. */
  bool is_up(int wait_ms);

  /** Sends the frames [first, end), or as many as there is room for; returns how many. */
  uint32_t send(uint64_t first, uint64_t end);
  /** Takes what has come, which should be the frames from `first` on; returns how many. Throws Error if it is not. */
  uint32_t receive(uint64_t first);

 private:
  uint8_t* buffer(uint32_t number) { return reinterpret_cast<uint8_t*>(buffers_.base()) + number * kBufferBytes; }
  void give_buffer(uint16_t index);

  memif::Region rings_, buffers_;  // outlive the port
  memif::Port port_;
  memif::Ring *out_ = nullptr, *back_ = nullptr;  // of the peer that is there
  uint16_t sent_ = 0, received_ = 0;              // free-running, as the rings' indices are
};

void exchange(const std::string& socket, uint64_t frames) {
  RingClient client(socket);
  uint64_t received = 0, connections = 0;
  while (received < frames) {
    client.connect();
    ++connections;
    uint64_t sent = received;  // what was under way is sent again
    for (int wait_ms = 0; received < frames && client.is_up(wait_ms);) {
      const uint32_t more_sent = client.send(sent, frames), more_received = client.receive(received);
      sent += more_sent, received += more_received;
      wait_ms = more_sent + more_received > 0 ? 0 : 1;  // who is in a hurry polls the rings without a rest
    }
  }
  std::printf("%lu frames there and back, connections: %lu\n", received, connections);
}

RingClient::RingClient(const std::string& socket)
    : rings_(memif::ClientSession::rings_bytes({})),
      buffers_(size_t{2} * kSize * kBufferBytes),
      port_({socket, memif::Role::client, {}}, &rings_, &buffers_) {
  port_.open();
}

void RingClient::connect() {
  for (std::string told; !is_up(1);)
    if (port_.problem() != told) std::fprintf(stderr, "ring_client: %s\n", (told = port_.problem()).c_str());
  out_ = port_.session()->transmitting()[0].ring;
  back_ = port_.session()->receiving()[0].ring;
  sent_ = received_ = 0;
  for (uint16_t i = 0; i < kSize; ++i) give_buffer(i);
  std::atomic_ref(back_->head).store(kSize, std::memory_order_release);
}

bool RingClient::is_up(int wait_ms) {
  pollfd socket{port_.descriptor(), POLLIN, 0};
  if (wait_ms > 0) poll(&socket, 1, wait_ms);
  const uint64_t before = port_.number();
  port_.serve();
  return port_.session() != nullptr && port_.number() == before;
}

uint32_t RingClient::send(uint64_t first, uint64_t end) {
  const auto under_way = static_cast<uint16_t>(sent_ - std::atomic_ref(out_->tail).load(std::memory_order_acquire));
  if (under_way > kSize) throw Error("the peer's index makes no sense");
  const auto n = static_cast<uint32_t>(std::min<uint64_t>(end - first, kSize - under_way));
  for (uint32_t i = 0; i < n; ++i, ++sent_) {
    const uint32_t place = sent_ % kSize;
    const uint64_t number = first + i;
    uint8_t* frame = buffer(place);
    std::memset(frame, 2, kFrameBytes);
    std::memcpy(frame + kNumberAt, &number, sizeof number);
    out_->descriptors()[place] = {0, kRegion, kFrameBytes, place * kBufferBytes, 0};
  }
  std::atomic_ref(out_->head).store(sent_, std::memory_order_release);  // from here on the peer sees them
  return n;
}

uint32_t RingClient::receive(uint64_t first) {
  const auto n = static_cast<uint16_t>(std::atomic_ref(back_->tail).load(std::memory_order_acquire) - received_);
  if (n > kSize) throw Error("the peer's index makes no sense");
  for (uint32_t i = 0; i < n; ++i, ++received_) {
    const memif::Descriptor said = back_->descriptors()[received_ % kSize];  // once: the peer could change it
    uint64_t number;
    std::memcpy(&number, buffer(kSize + received_ % kSize) + kNumberAt, sizeof number);
    if (said.flags != 0 || said.length != kFrameBytes || number != first + i)
      throw Error(format("frame %lu was to come, and one of %u bytes has, number %lu", first + i, said.length, number));
    give_buffer(received_);
  }
  std::atomic_ref(back_->head).store(static_cast<uint16_t>(received_ + kSize), std::memory_order_release);
  return n;
}

/** The peer may fill the buffer of this descriptor as soon as the head says so. */
void RingClient::give_buffer(uint16_t index) {
  const uint32_t place = index % kSize;
  back_->descriptors()[place] = {0, kRegion, kBufferBytes, (kSize + place) * kBufferBytes, 0};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "Usage: ring_client SOCKET FRAMES\n"), 2;
  try {
    exchange(argv[1], std::strtoull(argv[2], nullptr, 10));
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "ring_client: %s\n", error.what()), 1;
  }
}
