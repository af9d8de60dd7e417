#include "io/memif/interrupts.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace heddle::memif {

EventWriter::~EventWriter() {
  if (context_ != 0) syscall(SYS_io_destroy, context_);
}

void EventWriter::open() {
  opened_ = true;
  nowhere_ = File(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nowhere_ || syscall(SYS_io_setup, 1, &context_) != 0)
    std::fprintf(stderr, "heddle: memif peers in interrupt mode are not woken: no asynchronous writes: %s\n",
                 std::strerror(errno));
}

void EventWriter::write(int event) {
  if (!opened_) open();
  if (context_ == 0) return;
  iocb request{};
  request.aio_lio_opcode = IOCB_CMD_PWRITE;
  request.aio_fildes = static_cast<uint32_t>(nowhere_.get());
  request.aio_flags = IOCB_FLAG_RESFD;
  request.aio_resfd = static_cast<uint32_t>(event);
  iocb* list[] = {&request};
  if (syscall(SYS_io_submit, context_, 1, list) != 1) return;
  io_event done;
  timespec no_time{};
  syscall(SYS_io_getevents, context_, 1, 1, &done, &no_time);
}

void Interrupts::begin(const Session& session, Role role) {
  rings_.clear();
  for (const SharedRing& shared : session.transmitting())
    rings_.push_back({shared.ring, role == Role::client ? &shared.ring->head : &shared.ring->tail, shared.event});
}

Interrupts::Found Interrupts::look(EventWriter& writer) {
  Found found = Found::only_polling;
  for (Watched& watched : rings_) found = std::max(found, look(watched, writer));
  return found;
}

Interrupts::Found Interrupts::look(Watched& watched, EventWriter& writer) {
  // A receiver unmasks and then looks at the index again. So the index comes first here: if the receiver has not seen
  // it, its mask is gone by now.
  const uint16_t index = __atomic_load_n(watched.index, __ATOMIC_ACQUIRE);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool masked = (__atomic_load_n(&watched.ring->flags, __ATOMIC_RELAXED) & kPolls) != 0;
  const bool moved = index != watched.seen, late = watched.was_masked && !masked;
  watched.seen = index;
  watched.was_masked = masked;
  watched.has_polled |= masked;
  watched.waits_at_times |= watched.has_polled && !masked;
  if (!masked && (moved || late)) writer.write(watched.event);
  if (masked && !watched.waits_at_times) return Found::only_polling;
  return moved || late ? Found::packets : Found::nothing;
}

}  // namespace heddle::memif
