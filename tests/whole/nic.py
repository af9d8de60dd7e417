"""A program that drives the rings of `heddle softnic`, in Python, written from io/softnic/link.h and the 82599's
datasheet: honest unless a test asks for something else. Its GPU memory is simt's: memfds."""

import array
import fcntl
import mmap
import os
import socket
import struct

from whole.program import wait_until

MAGIC, VERSION = 0x634E6448, 1
HELLO, SETUP, READY, CLOSE, CLOSED, REFUSED = range(1, 7)
MESSAGE = struct.Struct("<HHIIIII2Q2Q32s192s")
DONE, LAST, ERRORS = 1, 2, 0x3B000000
COMMAND = 0x2B300000  # DTYP data, EOP, IFCS, RS, DEXT
STRIDE = 2048 + 128


def memory(size, seal=True):
    """A memfd and its bytes."""
    file = os.memfd_create("nic", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, size)
    if seal:
        fcntl.fcntl(file, 1033, 2 | 4)  # F_ADD_SEALS: F_SEAL_SHRINK, F_SEAL_GROW
    return file, mmap.mmap(file, size)


class Driver:
    """One that has called. With `connect` it has rings of 64, all buffers of the receiving one given."""

    def __init__(self, path, connect=True, size=64):
        self.channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(60)
        wait_until(lambda: self.channel.connect_ex(path) == 0, what="somebody who listens")
        self.size = size
        self.files, self.descriptors = [], []
        self.head, self.tail = [0, 0], [0, 0]
        self.gpu = b""
        if connect:
            self.hello()
            self.setup()
            answer = self.hear()
            assert answer["type"] == READY, answer
            self.registers = mmap.mmap(answer["files"][0], 2 * 128)
            self.give(size - 1)

    def say(self, kind, files=(), version=VERSION, magic=MAGIC, queues=1, buffer=2048, size=64, directions=3, pool=None,
            gpu=None):  # fmt: skip
        pool = 2 * self.size * STRIDE if pool is None else pool
        data = MESSAGE.pack(kind, version, magic, queues, buffer, size, directions, pool, pool, 0, 0,
                            self.gpu if gpu is None else gpu, b"")  # fmt: skip
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        self.channel.sendmsg([data], rights)

    def hear(self):
        """The next message; one without a type if the NIC has gone."""
        data, control, _, _ = self.channel.recvmsg(MESSAGE.size, socket.CMSG_SPACE(4))
        if not data:
            return {"type": None, "text": ""}
        kind, version, magic, *_, gpu, text = MESSAGE.unpack(data)
        assert (version, magic) == (VERSION, MAGIC)
        return {
            "type": kind,
            "text": text.rstrip(b"\0").decode(),
            "gpu": gpu,
            "files": [struct.unpack("i", part[2])[0] for part in control],
        }

    def hello(self):
        answer = self.hear()
        assert answer["type"] == HELLO, answer
        self.gpu = answer["gpu"]

    def why(self):
        """Why the NIC has refused."""
        answer = self.hear()
        while answer["type"] not in (REFUSED, None):
            answer = self.hear()
        return answer["text"]

    def setup(self, **lies):
        rings = [memory(self.size * 16) for _ in range(2)]
        pool = memory(2 * self.size * STRIDE)
        self.descriptors, self.pool = [ring[1] for ring in rings], pool[1]
        self.say(SETUP, [rings[0][0], pool[0], rings[1][0], pool[0]], size=self.size, **lies)
        for file, _ in (*rings, pool):
            os.close(file)

    def ring(self, direction, tail):
        """The doorbell."""
        self.tail[direction] = tail
        struct.pack_into("<I", self.registers, 128 * direction, tail % self.size)

    def words(self, direction, index):
        return struct.unpack_from("<4I", self.descriptors[direction], index % self.size * 16)

    def write(self, direction, index, *words):
        struct.pack_into("<4I", self.descriptors[direction], index % self.size * 16, *words)

    def give(self, count, address=None):
        """Empty buffers, each its descriptor's own, or at this address."""
        for index in range(self.tail[0], self.tail[0] + count):
            at = index % self.size * STRIDE if address is None else address
            self.write(0, index, at & 0xFFFFFFFF, at >> 32, 0, 0)
        self.ring(0, self.tail[0] + count)

    def received(self):
        """The frames that have come, or for one with an error its status."""
        frames = []
        while self.head[0] < self.tail[0] and (status := self.words(0, self.head[0])[2]) & DONE:
            at, length = self.head[0] % self.size * STRIDE, self.words(0, self.head[0])[3] & 0xFFFF
            frames.append(status if status & ERRORS else self.pool[at : at + length])
            self.head[0] += 1
        return frames

    def send(self, frame, address=None, command=COMMAND, length=None):
        """Puts a frame behind those that are to be sent; `length` and the others replace what is true."""
        at = (self.size + self.tail[1] % self.size) * STRIDE
        self.pool[at : at + len(frame)] = frame
        length = len(frame) if length is None else length
        at = at if address is None else address
        self.write(1, self.tail[1], at & 0xFFFFFFFF, at >> 32, command | length, length << 14 & 0xFFFFFFFF)
        self.ring(1, self.tail[1] + 1)

    def wait_until_sent(self):
        last = self.tail[1] - 1
        wait_until(lambda: self.words(1, last)[3] == DONE, what="the frame fetched")

    def close(self):
        self.channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
