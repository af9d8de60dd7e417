#pragma once

#include <cstdint>
#include <vector>

#include "io/memif/session.h"

namespace heddle::memif {

/** Adds one to the count of a peer's eventfd. Never waits, whatever the peer makes of the file: O_NONBLOCK and the
 *  count are common to both ends, so write() could be made to wait. The kernel's completion of an asynchronous write to
 *  nowhere does the same, and leaves a full eventfd full. */
class EventWriter {
 public:
  EventWriter() = default;
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter();
  /** What is no eventfd stays as it is. If the kernel has no asynchronous writes, standard error says so, once. */
  void write(int event);

 private:
  void open();

  File nowhere_;
  uint64_t context_ = 0;  ///< aio_context_t; 0: there is none
  bool opened_ = false;
};

/** Interrupts to the peer of a session for what another than this thread, a GPU, sends: who looks at the indices now
 *  and then can tell that they have moved. A receiver that polls masks them (kPolls). One that unmasks them is
 *  interrupted for what came meanwhile, whether or not it has seen that. */
class Interrupts {
 public:
  enum class Found : uint8_t { only_polling, nothing, packets };

  /** A new session, with its rings as they are at the beginning. */
  void begin(const Session& session, Role role);
  /** Looks at the indices, and interrupts those that wait. Returns what has come since the last look, to receivers that
   *  wait, or do so at times. */
  Found look(EventWriter& writer);

 private:
  struct Watched {
    Ring* ring;
    uint16_t* index;  ///< that this end moves
    int event;
    uint16_t seen = 0;
    bool was_masked = false;  ///< at the last look
    bool has_polled = false, waits_at_times = false;
  };
  static Found look(Watched& watched, EventWriter& writer);

  std::vector<Watched> rings_;
};

}  // namespace heddle::memif
