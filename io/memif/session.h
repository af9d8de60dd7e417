#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/memif/channel.h"
#include "io/memif/region.h"

namespace heddle::memif {

enum class Role : uint8_t { server, client };

/** One end of an interface, as both roles describe it. */
struct Interface {
  uint32_t id = 0;
  int receiving = 1, transmitting = 1;  ///< rings that this end receives from, and that it transmits by
  int log2_size = 10;
  std::string secret;
};

struct SharedRing {
  Ring* ring;
  int log2_size;
  int event = -1;  ///< eventfd of its interrupts, the session's
};

/** A connection: the messages until rings are shared (hello, init, add_region and add_ring, each answered by an ack,
 *  connect, connected), and the end of it. Everything that a peer sends is checked; what is not right ends the
 *  connection, and the peer is told why. */
class Session {
 public:
  enum class State : uint8_t { greeting, up, ended };
  virtual ~Session() = default;

  int descriptor() const { return channel_.descriptor(); }
  State state() const { return state_; }
  const std::string& why() const { return why_; }  ///< it has ended
  /** Handles the messages that are there. */
  void serve();
  /** Tells the peer, and ends. */
  void end(const std::string& reason);

  // Once it is up; indices are zero then, and free rings have no buffers yet if this end is to give them.
  const std::vector<SharedRing>& receiving() const { return receiving_; }
  const std::vector<SharedRing>& transmitting() const { return transmitting_; }

 protected:
  Session(Channel channel, Interface wanted) : channel_(std::move(channel)), wanted_(std::move(wanted)) {}
  /** Throws Error with the reason to end. */
  virtual void handle(Received& received) = 0;
  void send(const Message& message, int file = -1) { channel_.send(message, file); }

  Channel channel_;
  Interface wanted_;
  State state_ = State::greeting;
  std::vector<SharedRing> receiving_, transmitting_;

 private:
  std::string why_;
};

/** The end that makes the memory: `rings` is region 0 and holds nothing but rings, `buffers` is region 1. */
class ClientSession : public Session {
 public:
  /** The regions outlive the session. `rings` has rings_bytes() and is written anew. */
  ClientSession(Channel channel, Interface wanted, const Region& rings, const Region& buffers);
  static size_t rings_bytes(const Interface& wanted) {
    return static_cast<size_t>(wanted.receiving + wanted.transmitting) * ring_bytes(wanted.log2_size);
  }
  static constexpr uint16_t kRingRegion = 0, kBufferRegion = 1;

 private:
  struct Step {
    Message message;
    int file = -1;
  };
  void handle(Received& received) override;
  void make_rings();
  void plan_steps();
  void say_next();

  const Region& rings_;
  const Region& buffers_;
  std::vector<File> events_;
  std::vector<Step> steps_;  ///< what is said, one for each ack
  size_t said_ = 0;
};

/** The end that is given the memory. */
class ServerSession : public Session {
 public:
  ServerSession(Channel channel, Interface wanted);
  const std::vector<Region>& regions() const { return regions_; }
  /** The regions, whose owner the caller is from now on. */
  std::vector<Region> take_regions() { return std::move(regions_); }

  static constexpr uint16_t kMaxRegions = 16;
  static constexpr uint64_t kMaxBytes = uint64_t{16} << 30;  ///< of all regions: a GPU pins them

 private:
  struct Announced {
    bool there = false;
    uint16_t region = 0;
    uint32_t offset = 0;
    uint8_t log2_size = 0;
    File event;
  };
  void handle(Received& received) override;
  void init(const Message& message);
  void add_region(Received& received);
  void add_ring(Received& received);
  void connect();
  SharedRing place(const Announced& ring, const char* direction, size_t index) const;

  bool known_ = false;
  std::vector<Region> regions_;
  std::vector<Announced> to_server_, to_client_;
};

}  // namespace heddle::memif
