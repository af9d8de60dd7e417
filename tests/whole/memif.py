"""A memif 2.0 peer in Python, written from the protocol (DPDK's drivers/net/memif/memif.h): one ring each way or
several, honest unless a test asks for something else. It polls, or, if it `waits`, leaves interrupts unmasked."""

import array
import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import time

from whole.program import wait_until

COOKIE, VERSION = 0x3E31F20, 0x200
ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT = range(1, 9)
NEXT, MASK_INT = 1, 1
DESCRIPTOR = struct.Struct("<HHIII")
SHORTEST_PAUSE_S = 0.00005


class Gone(Exception):
    """The other end has ended the connection; says why."""


class Ring:
    """A ring in shared memory, with this end's position on it."""

    def __init__(self, regions, region, offset, log2_size, event, buffer_bytes=None):
        self.event = event  # of its interrupts
        self.regions, self.memory, self.offset = regions, regions[region], offset
        self.size, self.position = 1 << log2_size, 0
        self.buffer_bytes = buffer_bytes  # of this end's own; else descriptors say it
        self.words = memoryview(self.memory).cast("H")  # struct would write an index byte by byte
        assert self.memory[offset : offset + 4] == struct.pack("<I", COOKIE)

    def _word(self, at):
        return self.words[(self.offset + at) // 2]

    def _set(self, at, value):
        self.words[(self.offset + at) // 2] = value & 0xFFFF

    head = property(lambda self: self._word(6), lambda self, value: self._set(6, value))
    tail = property(lambda self: self._word(64), lambda self, value: self._set(64, value))
    flags = property(lambda self: self._word(4), lambda self, value: self._set(4, value))

    def place(self, index):
        return self.offset + 128 + DESCRIPTOR.size * (index % self.size)

    def read(self, index):
        """Flags, region, length, offset."""
        return DESCRIPTOR.unpack_from(self.memory, self.place(index))[:4]

    def write(self, index, flags, region, length, offset):
        DESCRIPTOR.pack_into(self.memory, self.place(index), flags, region, length, offset, 0)

    def fill(self, index, frame, **lies):
        """Puts a frame into the buffer of a descriptor; `lies` replace what the descriptor then says."""
        _, region, room, offset = self.read(index)
        assert len(frame) <= (self.buffer_bytes or room), (index, len(frame), room)
        self.regions[region][offset : offset + len(frame)] = frame
        truth = {"flags": 0, "region": region, "length": len(frame), "offset": offset}
        self.write(index, **(truth | lies))

    def frame(self, index):
        flags, region, length, offset = self.read(index)
        assert flags == 0
        assert offset + length <= len(self.regions[region])
        return bytes(self.regions[region][offset : offset + length])


class Peer:
    """What both roles do once they are connected."""

    server: bool

    def __init__(self):
        self.regions, self.out, self.back = [], [], []

    # In the direction to the server the sender moves the head, in the other the tail; the receiver moves the other one.
    def room(self, queue=0):
        ring = self.out[queue]
        free = ring.head - ring.position if self.server else ring.tail + ring.size - ring.position
        return free & 0xFFFF

    def tell(self, queue=0):
        ring = self.out[queue]
        if self.server:
            ring.tail = ring.position
        else:
            ring.head = ring.position

    def send(self, frames, queue=0, **lies):
        """Sends as many as there is room for; returns how many."""
        ring, count = self.out[queue], min(len(frames), self.room(queue))
        for frame in frames[:count]:
            ring.fill(ring.position, frame, **lies)
            ring.position += 1
        self.tell(queue)
        return count

    def send_all(self, frames, queue=0):
        wait_until(lambda: self.room(queue) >= len(frames), what="room")
        self.send(frames, queue)

    def filled(self, queue=0):
        return self.back[queue].head if self.server else self.back[queue].tail

    def receive(self, queue=0):
        ring, frames, filled = self.back[queue], [], self.filled(queue)
        while ring.position & 0xFFFF != filled:
            frames.append(ring.frame(ring.position))
            ring.position += 1
        self.give_back(queue)
        return frames

    def give_back(self, queue=0):
        """The buffers of what has been received are free again."""
        ring = self.back[queue]
        if self.server:
            ring.tail = ring.position
            return
        end = ring.position + ring.size
        for index in range(end - ((end - ring.head) & 0xFFFF), end):  # the head goes round after 65,536
            _, region, _, offset = ring.read(index)
            ring.write(index, 0, region, self.buffer_bytes, offset)
        ring.head = ring.position + ring.size

    def exchange(self, frames, expected=None, queue=0, seconds=120):
        """Sends all frames and returns what comes back, as soon as it is `expected` frames (as many as were sent)."""
        expected, got, sent = len(frames) if expected is None else expected, [], 0
        end, pause = time.monotonic() + seconds, SHORTEST_PAUSE_S
        while sent < len(frames) or len(got) < expected:
            before = sent + len(got)
            sent += self.send(frames[sent : sent + 64], queue)
            got += self.receive(queue)
            if sent + len(got) > before:
                pause = SHORTEST_PAUSE_S
            else:
                time.sleep(pause)  # the program has the processor
                pause = min(2 * pause, 0.001)
            assert time.monotonic() < end, f"{sent} of {len(frames)} sent, {len(got)} of {expected} back"
        return got

    def mask(self, polls=True):
        """From now on this end polls, or else waits for interrupts."""
        for ring in self.back:
            ring.flags = MASK_INT if polls else 0

    def woken(self, seconds=60):
        """The queues whose interrupts have come, which are taken; waits for one, and looks at no index."""
        waiting = select.poll()
        for ring in self.back:
            waiting.register(ring.event, select.POLLIN)
        events = {event for event, _ in waiting.poll(1000 * seconds)}
        for event in events:
            os.eventfd_read(event)
        return [queue for queue, ring in enumerate(self.back) if ring.event in events]

    def receive_woken(self, expected):
        """Frames by queue, received as interrupts tell of them, until there are `expected`."""
        got = {queue: [] for queue in range(len(self.back))}
        while (count := sum(map(len, got.values()))) < expected:
            queues = self.woken()
            assert queues, f"not woken; {count} of {expected} are there"
            for queue in queues:
                got[queue] += self.receive(queue)
        return got

    # Messages.
    def say(self, kind, body=b"", file=None):
        files = [] if file is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
        self.channel.sendmsg([struct.pack("<H", kind) + body.ljust(126, b"\0")], files)

    def hear(self, expected):
        data, control, _, _ = self.channel.recvmsg(128, socket.CMSG_SPACE(4))
        if not data:
            raise Gone("without a word")
        kind = struct.unpack_from("<H", data)[0]
        if kind == DISCONNECT:
            raise Gone(data[6:102].rstrip(b"\0").decode())
        assert kind in expected, kind
        file = struct.unpack("i", control[0][2])[0] if control else None
        return kind, data[2:], file

    def why(self):
        """Why the other end has ended it; waits."""
        try:
            self.hear([])
        except Gone as gone:
            return str(gone)
        return "nothing"

    def close(self):
        self.channel.close()
        self.close_events()

    def close_events(self):
        for ring in self.back + self.out:
            if ring.event is not None:
                os.close(ring.event)
            ring.event = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Listener:
    """A server's socket; accept() gives a Server that is connected."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(str(path))
        self.socket.listen(4)
        self.socket.settimeout(60)

    def accept(self, queues=1, back=None, **options):
        return Server(self.socket.accept()[0], queues, back, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Server(Peer):
    """It sends by `queues` rings, and receives from `back`, or as many."""

    server = True

    def __init__(self, channel, queues, back=None, waits=False):
        super().__init__()
        back = back or queues
        self.channel = channel
        channel.settimeout(60)
        self.say(HELLO, struct.pack("<32sHHHHHB", b"python", VERSION, VERSION, 255, queues - 1, back - 1, 14))
        rings = {}
        while True:
            kind, body, file = self.hear([INIT, ADD_REGION, ADD_RING, CONNECT])
            if kind == INIT:
                assert struct.unpack_from("<HIB", body) == (VERSION, 0, 0)
            elif kind == ADD_REGION:
                index, size = struct.unpack_from("<HQ", body)
                assert index == len(self.regions)
                assert fcntl.fcntl(file, 1034) & 2, "F_SEAL_SHRINK"  # F_GET_SEALS
                self.regions.append(mmap.mmap(file, size))
                os.close(file)
            elif kind == ADD_RING:
                flags, index, region, offset, log2_size, private = struct.unpack_from("<HHHIBH", body)
                assert private == 0
                rings[flags & 1, index] = (region, offset, log2_size, file)
            else:
                break
            self.say(ACK)
        self.back = [Ring(self.regions, *rings[1, i]) for i in range(back)]
        self.out = [Ring(self.regions, *rings[0, i]) for i in range(queues)]
        for ring in self.back + self.out:
            ring.head = ring.tail = 0
        self.mask(not waits)
        self.say(CONNECTED)


class Client(Peer):
    """As Server."""

    server = False

    def connects(self, path):
        """Whether somebody listens by now: the file is there a little before."""
        with contextlib.suppress(ConnectionRefusedError):
            self.channel.connect(str(path))
            return True
        return False

    def __init__(
        self, path, queues=1, log2_size=10, buffer_bytes=2048, back=None, waits=False, new_event=lambda: os.eventfd(0)
    ):
        super().__init__()
        back = back or queues
        rings = [(True, index) for index in range(queues)] + [(False, index) for index in range(back)]
        self.buffer_bytes = buffer_bytes
        self.channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(60)
        wait_until(lambda: self.connects(path), what="the connection")
        self.hear([HELLO])
        size, ring_bytes = 1 << log2_size, 128 + (16 << log2_size)
        buffers = len(rings) * ring_bytes
        total = buffers + len(rings) * size * buffer_bytes
        file = os.memfd_create("test", os.MFD_ALLOW_SEALING)
        os.ftruncate(file, total)
        fcntl.fcntl(file, 1033, 2)  # F_ADD_SEALS, F_SEAL_SHRINK
        memory = mmap.mmap(file, total)
        self.regions.append(memory)
        self.say_and_wait(INIT, struct.pack("<HIB", VERSION, 0, 0))
        self.say_and_wait(ADD_REGION, struct.pack("<HQ", 0, total), file)
        for number, (to_server, index) in enumerate(rings):
            offset = number * ring_bytes
            struct.pack_into("<I", memory, offset, COOKIE)
            event = new_event()
            ring = Ring(self.regions, 0, offset, log2_size, event, buffer_bytes)
            for i in range(size):
                ring.write(i, 0, 0, buffer_bytes, buffers + (number * size + i) * buffer_bytes)
            (self.out if to_server else self.back).append(ring)
            self.say_and_wait(ADD_RING, struct.pack("<HHHIBH", int(to_server), index, 0, offset, log2_size, 0), event)
        self.say(CONNECT)
        self.hear([CONNECTED])
        for queue in range(back):
            self.give_back(queue)
        self.mask(not waits)
        os.close(file)

    def say_and_wait(self, *message):
        self.say(*message)
        self.hear([ACK])
