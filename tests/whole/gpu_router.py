"""A chain on simt from one GPU port to several, for tests: its peers, and frames for each of them."""

import os
import random

from whole import memif
from whole.gpu_ports import SIMT, numbered
from whole.program import Report, quoted, read_handler, wait_until


def lookup(outputs):
    """A look-up with so many of them, in the order given."""
    routes = ", ".join(f"{10 * (number + 1)}.0.0.0/8 {output}" for number, output in enumerate(outputs))
    return f"GetIPAddress(30) -> rt :: DirectIPLookup({routes})"


def to(number, frame):
    """The frame with an address of that route; 9: of none."""
    return frame[:30] + bytes([10 * (number + 1), 1, 2, 3]) + frame[34:]


class Router:
    """A chain from one memif or soft NIC to others, by name: `kinds` has "client" or "server", a memif, or "nic"."""

    def __init__(self, heddle, place, stack, kinds, chain=None, more="", queues=1, size=64, extra=()):
        self.place, self.stack, self.kinds, self.queues, self.size = place, stack, kinds, queues, size
        self.more, self.control, self.listeners = more, f"{place}/control", {}
        for name, kind in kinds.items():
            if kind == "client":
                self.listeners[name] = stack.enter_context(memif.Listener(f"{place}/{name}.sock"))
            if kind == "nic":
                self.listeners[name] = stack.enter_context(memif.Listener(f"{place}/{name}.wire"))
        self.running = stack.enter_context(
            heddle.start("run", "--json", "-u", self.control, "-e", self.text(chain), *SIMT, *extra)
        )

    def port(self, name):
        rest = f", QUEUES {self.queues}, NDESC {self.size}"
        if self.kinds[name] == "nic":
            wire = f"net_memif_{name},role=client,socket-abstract=no,socket={self.place}/{name}.wire"
            return f"{name}, SOFTNIC {quoted(wire)}{rest}"
        return f"{name}, SOCKET {self.place}/{name}.sock, ROLE {self.kinds[name]}{rest}"

    def text(self, chain):
        """With this chain before the other ports, or a look-up."""
        first, *others = self.kinds
        chain = lookup(range(len(others))) if chain is None else chain
        outs = "".join(f"; rt[{i}] -> {name} :: ToGPUPort({self.port(name)})" for i, name in enumerate(others))
        if chain == "":  # all that is left leaves by the only one
            return f"FromGPUPort({self.port(first)}{self.more}) -> EtherMirror -> {others[0]} :: ToGPUPort({self.port(others[0])})"
        return f"FromGPUPort({self.port(first)}{self.more}) -> {chain}{outs}"

    def peer(self, name, **options):
        if name in self.listeners:
            return self.stack.enter_context(self.listeners[name].accept(self.queues, **options))
        path = f"{self.place}/{name}.sock"
        wait_until(lambda: os.path.exists(path), what="the socket")
        return self.stack.enter_context(memif.Client(path, self.queues, self.size.bit_length() - 1, **options))

    def wait_for(self, name, connected="true"):
        """Until packets can come and go by that port, or, "false", until its peer's loss is known."""
        element = "FromGPUPort@1" if name == next(iter(self.kinds)) else name
        wait_until(lambda: read_handler(self.control, f"{element}.connected") == connected, what=f"{name}: {connected}")

    def peers(self):
        peers = {name: self.peer(name) for name in self.kinds}
        for name, kind in self.kinds.items():
            if kind != "nic":
                self.wait_for(name)
        return peers

    def end(self):
        result = self.running.interrupt()
        assert (result.code, result.err) == (0, ""), result
        report = Report(result.json)
        report.assert_accounted()
        return report


class Mesh(Router):
    """A chain from each of its ports to all of them: `rt` sends what is for 10.0.0.0/8 to the first, and so on. A port
    sends by `queues` rings for each of them, in their order. Or with another chain, and `outs` behind it."""

    def __init__(self, heddle, place, stack, kinds, outs=None, **options):
        self.outs = outs
        super().__init__(heddle, place, stack, kinds, **options)

    def text(self, chain):
        first, *others = (lookup(range(len(self.kinds))) if chain is None else chain).split(" -> ")
        ins = "; ".join(f"FromGPUPort({self.port(name)}{self.more}) -> meet" for name in self.kinds)
        outs = "".join(f"; rt[{i}] -> {name} :: ToGPUPort({name})" for i, name in enumerate(self.kinds))
        return f"meet :: {' -> '.join([first, *others])}; {ins}{outs if self.outs is None else self.outs}"

    def peer(self, name, **options):
        if self.kinds[name] != "nic":
            options = {"back": self.queues * len(self.kinds)} | options
        return super().peer(name, **options)

    def wait_for(self, name, connected="true"):
        wait_until(lambda: read_handler(self.control, f"{name}.connected") == connected, what=f"{name}: {connected}")


def forward(peers, source, ways, queue=0):
    """Sends frames, each with the port that it is to leave by (None: none), so many at a time that no ring is too small
    for them; all of them leave there, in order, and nothing else does."""
    got = {name: [] for name in peers}
    for first in range(0, len(ways), 32):
        some, wanted = ways[first : first + 32], {name: [] for name in peers}
        for frame, name in some:
            if name is not None:
                wanted[name].append(frame)
        sent = 0

        def step(some=some, wanted=wanted, got=got):
            nonlocal sent
            sent += peers[source].send([frame for frame, _ in some[sent:]], queue)
            for name, peer in peers.items():
                got[name] += peer.receive(queue)
            return sent == len(some) and all(len(got[name]) >= len(wanted[name]) for name in peers)

        wait_until(step, 120, "all frames")
        assert got == wanted
        got = {name: [] for name in peers}


def traffic(count, names, seed=1, most=300):
    """Frames with addresses of routes, which lead to these ports, and some of none."""
    values = random.Random(seed)
    numbers = [values.choice([*range(len(names)), 9]) for _ in range(count)]
    frames = numbered(count, seed, least=60, most=most)
    return [(to(n, frame), None if n == 9 else names[n]) for n, frame in zip(numbers, frames, strict=True)]


def frames_to(ways, name):
    return [frame for frame, port in ways if port == name]
