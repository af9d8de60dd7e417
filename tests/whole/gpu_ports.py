"""GPU ports for tests: a chain between memifs on simt, its peers, and frames for them."""

import contextlib
import os
import random
import re

import pytest

from whole import memif
from whole.program import Report, wait_until

SIMT = ["--device", "simt"]
KERNELS = pytest.mark.parametrize("kernels", ["fused", "split"])


def numbered(count, seed=1, least=20, most=300):
    """Frames whose bytes say which one it is."""
    values = random.Random(seed)
    frames = []
    for number in range(count):
        body = number.to_bytes(4, "big") * (most // 4 + 1)
        frames.append(values.randbytes(12) + body[: values.randint(least, most) - 12])
    return frames


def mirrored(frame):
    return frame[6:12] + frame[:6] + frame[12:]


def right(frames, got):
    assert got == [mirrored(frame) for frame in frames]


class Mirror:
    """A running chain between one port, or two, and its peers."""

    def __init__(
        self,
        heddle,
        place,
        role="client",
        kernels="fused",
        queues=1,
        size=64,
        chain="EtherMirror",
        ports=1,
        extra=(),
        more="",
    ):
        self.place, self.role, self.queues, self.size = place, role, queues, size
        self.sockets = [f"{place}/{name}.sock" for name in "ab"[:ports]]
        self.stack = contextlib.ExitStack()
        if role == "client":
            self.listeners = [self.stack.enter_context(memif.Listener(path)) for path in self.sockets]
        self.keywords = f"ROLE {role}, KERNELS {kernels}, QUEUES {queues}, NDESC {size}{more}"
        self.control = f"{place}/control"
        self.running = self.stack.enter_context(
            heddle.start("run", "--json", "-u", self.control, "-e", self.text(chain), *SIMT, *extra)
        )

    def text(self, chain):
        """The configuration with this chain."""
        last = "a" if len(self.sockets) == 1 else f"b, SOCKET {self.sockets[1]}, {self.keywords}"
        return f"FromGPUPort(a, SOCKET {self.sockets[0]}, {self.keywords}) -> {chain} -> out :: ToGPUPort({last})"

    def peer(self, port=0, **options):
        if self.role == "client":
            return self.stack.enter_context(self.listeners[port].accept(self.queues, **options))
        wait_until(lambda: os.path.exists(self.sockets[port]), what="the socket")
        return self.stack.enter_context(
            memif.Client(self.sockets[port], self.queues, self.size.bit_length() - 1, **options)
        )

    def end(self, problem=""):
        result = self.running.interrupt()
        assert result.code == 0, result
        assert re.search(problem, result.err) if problem else result.err == "", result
        self.report = Report(result.json)
        sent = self.report.one("ToGPUPort")
        assert self.report.received == sent["packets"] - sum(sent["drops"].values()) + self.report.dropped
        return self.report

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()
