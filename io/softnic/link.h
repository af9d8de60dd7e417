#pragma once

#include <optional>
#include <span>
#include <vector>

#include "io/memif/channel.h"
#include "io/memif/messages.h"

/** The socket between a NIC in a process of its own (`heddle softnic`) and the program that drives its rings. The NIC
 *  listens. It stands for what PCI and a driver's set-up are for a chip: it hands over where memory is, and no packet
 *  and no descriptor crosses it.
 *
 *      NIC      hello    its queues, the bytes of a buffer, and the GPU that it works on
 *      program  setup    descriptors and buffers in that GPU's memory, a file each: those of the receiving rings, the
 *                        memory of their buffers, then the same of the transmitting rings
 *      NIC      ready    with a file: the doorbells (soft_nic.h, Register), those of the receiving rings first
 *      program  close    the NIC is to receive no more; it answers `closed` when what it has received has been taken
 *      either   refused  why it ends the connection */
namespace heddle::softnic {

constexpr uint32_t kMagic = 0x634e6448;  // "HdNc"
constexpr uint16_t kVersion = 1;
constexpr size_t kDirections = 2;  ///< receive, transmit
constexpr size_t kMaxFiles = 2 * kDirections;

/** Always of this size. In the byte order of the machine, which both ends are on. */
struct Message {
  enum class Type : uint16_t { none, hello, setup, ready, close, closed, refused };
  Type type = Type::none;
  uint16_t version = kVersion;
  uint32_t magic = kMagic;
  uint32_t queues = 0, buffer_bytes = 0;  ///< hello, setup
  uint32_t descriptors = 0;               ///< setup: of a ring
  uint32_t directions = 0;                ///< setup: bit d, whether there are rings of direction d
  uint64_t pool_bytes[kDirections] = {};  ///< setup: of the memory that buffers lie in
  uint64_t bus[kDirections] = {};         ///< setup: what descriptors call its beginning
  memif::Text<32> gpu{};                  ///< hello, setup: its place on the PCI bus; "simt0"
  memif::Text<192> text{};                ///< refused: why
};

/** One end. Never blocks. */
class Link {
 public:
  struct Received {
    Message message;
    std::vector<memif::File> files;
  };
  explicit Link(memif::File socket) : socket_(std::move(socket)) {}
  int descriptor() const { return socket_.get(); }
  void send(const Message& message, std::span<const int> files = {});
  void refuse(const std::string& why);
  /** The next message, or nothing: then closed() says whether one may still come. Throws Error for what is no message
   *  of this version, and with the peer's reason if it refuses. */
  std::optional<Received> receive();
  bool closed() const { return closed_; }

 private:
  memif::File socket_;
  bool closed_ = false;
};

}  // namespace heddle::softnic
