"""Several FromGPUPorts whose ways meet, on simt: a router from each port to all of them, each on its own rings."""

import contextlib
import os
import random

import pytest
from whole import memif
from whole.control import Control
from whole.gpu_ports import SIMT, mirrored, numbered
from whole.gpu_router import Mesh, lookup, to
from whole.program import CHAINS, Report, read_handler, wait_until

MEMIFS = ["client client", "server server", "client server", "client client client"]
NICS = ["nic nic", "client nic", "server nic nic"]  # the peer that is their wire has one queue


def mesh_of(kinds):
    return {f"p{number}": kind for number, kind in enumerate(kinds.split())}


class Exchange:
    """Frames from ring pairs, (port, queue), to ports, and what has come of them: by port, ring by ring."""

    def __init__(self, router, peers):
        self.router, self.peers, self.names = router, peers, list(router.kinds)
        self.sources = [(name, queue) for name in self.names for queue in range(router.queues)]
        self.got = {name: [[] for _ in peers[name].back] for name in self.names}
        self.ways = []

    def count(self):
        return sum(len(ring) for rings in self.got.values() for ring in rings)

    def step(self, left):
        """Sends those of `left` that there is room for, in order, and takes what has come."""
        while left:
            (name, queue), _, frame = left[0]
            if self.peers[name].send([frame], queue) == 0:
                break
            left.pop(0)
        for name, peer in self.peers.items():
            for ring, frames in enumerate(self.got[name]):
                frames += peer.receive(ring)

    def run(self, count, sources=None, seed=1):
        """So few at a time that no ring is too small for them."""
        values = random.Random(seed)
        for first in range(0, count, 32):
            some = []
            for frame in numbered(32, seed * 1000 + first, least=60):
                number = values.randrange(len(self.names))
                some.append((values.choice(sources or self.sources), number, to(number, frame)))
            self.ways += some
            left = list(some)

            def done(left=left):
                self.step(left)
                return not left and self.count() == len(self.ways)

            wait_until(done, 120, "all frames")

    def wanted(self, name):
        """By source, in the order in which they were sent."""
        number = self.names.index(name)
        return [[frame for source, to, frame in self.ways if (source, to) == (each, number)] for each in self.sources]

    def check(self):
        for name in self.names:
            wanted = self.wanted(name)
            if self.router.kinds[name] != "nic":
                assert self.got[name] == wanted
                continue
            (ring,) = self.got[name]  # frames of all rings come by one queue
            assert len(ring) == sum(map(len, wanted))
            for frames in wanted:
                assert [frame for frame in ring if frame in set(frames)] == frames

    def check_report(self, report):
        for name in self.names:
            frames = [frame for ring in self.wanted(name) for frame in ring]
            assert report.one(name)["packets"] == len(frames)
            assert report.one(name)["bytes"] == sum(map(len, frames))
        assert report.received == len(self.ways)
        assert report.dropped == 0


@pytest.mark.parametrize(
    ("kinds", "queues"), [*((kinds, 1) for kinds in MEMIFS + NICS), *((kinds, 2) for kinds in MEMIFS)]
)
def test_each_port_sends_to_each(heddle, place, kinds, queues):
    """All at once: nothing is lost, and what came by one ring leaves by one ring, in order."""
    kinds = mesh_of(kinds)
    with contextlib.ExitStack() as stack:
        router = Mesh(heddle, place, stack, kinds, queues=queues)
        exchange = Exchange(router, router.peers())
        exchange.run(1500)
        report = router.end()
    exchange.check()
    exchange.check_report(report)


def through_one_port(heddle, place, kinds, chain, **options):
    """Frames of two ports, which all leave by p0: those sent, by port, those that have come, ring by ring, and the
    report."""
    with contextlib.ExitStack() as stack:
        router = Mesh(heddle, place, stack, kinds, chain=chain, outs=" -> ToGPUPort(p0)", **options)
        peers = {"p0": router.peer("p0"), "p1": router.peer("p1", back=1)}
        frames = {name: numbered(1000, seed, least=60) for seed, name in enumerate(peers)}
        sent, got = dict.fromkeys(peers, 0), [[] for _ in peers["p0"].back]

        def step():
            for name, peer in peers.items():
                sent[name] += peer.send(frames[name][sent[name] :])
            for ring, frames_of_ring in enumerate(got):
                frames_of_ring += peers["p0"].receive(ring)
            return sum(map(len, got)) == 2000

        wait_until(step, 120, "all frames")
        return frames, got, router.end()


@pytest.mark.parametrize("kinds", ["client client", "server server", "nic nic", "client nic"])
def test_two_ports_that_send_to_one(heddle, place, kinds):
    """One ToGPUPort: when a ring is full, its sender alone waits, and nothing is dropped."""
    kinds = mesh_of(kinds)
    frames, got, report = through_one_port(heddle, place, kinds, "EtherMirror")
    wanted = [[mirrored(frame) for frame in frames[name]] for name in kinds]
    if kinds["p0"] == "nic":
        for each in wanted:
            assert [frame for frame in got[0] if frame in set(each)] == each
    else:
        assert got == wanted
    assert (report.received, report.dropped) == (2000, 0)


@pytest.mark.parametrize("more", [", KERNELS split", ", WARP_BATCH 480", ", WARP_BATCH 32"])
def test_whatever_serves_them(heddle, place, more):
    """Three kernels a port, several blocks, or one."""
    frames, got, report = through_one_port(heddle, place, mesh_of("client server"), "XOR(5)", more=more)
    assert got == [[bytes(byte ^ 5 for byte in frame) for frame in each] for each in frames.values()]
    assert (report.received, report.dropped) == (2000, 0)


def test_whose_packets_leave_by_one_port_waits_for_it(heddle, place):
    """b's packets leave by two ports, and are dropped where a ring is full; a's leave by one of them, and wait."""
    sockets = {name: f"{place}/{name}.sock" for name in "ab"}
    chain = (
        f"FromGPUPort(a, SOCKET {sockets['a']}, ROLE server, NDESC 64) -> EtherMirror -> o :: ToGPUPort(a); "
        f"FromGPUPort(b, SOCKET {sockets['b']}, ROLE server, NDESC 64) -> {lookup(range(2))}; "
        "rt[0] -> o; rt[1] -> p :: ToGPUPort(b)"
    )
    control = f"{place}/control"
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(heddle.start("run", "--json", "-u", control, "-e", chain, *SIMT))
        for path in sockets.values():
            wait_until(lambda path=path: os.path.exists(path), what="the socket")
        a = stack.enter_context(memif.Client(sockets["a"], 1, 6, back=2))
        b = stack.enter_context(memif.Client(sockets["b"], 1, 6))
        for name in "op":
            wait_until(lambda name=name: read_handler(control, f"{name}.connected") == "true", what=name)
        frames, sent, got = numbered(500, least=60), 0, []

        def send():
            nonlocal sent
            sent += a.send(frames[sent:])
            return sent

        wait_until(lambda: send() == 128 and a.room() == 0, what="both rings full")
        b.send_all([to(0, frame) for frame in numbered(60, 2, least=60)])
        for _ in range(3):  # 64 places of o's ring for b, and none for more
            b.send_all([to(0, frame) for frame in numbered(30, 3, least=60)])
        wait_until(lambda: send() and got.extend(a.receive(0)) or len(got) == 500, what="all of a's")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    assert got == [mirrored(frame) for frame in frames]
    assert report.drops("o") == {"full": 150 - 64}


def test_peers_come_and_go(heddle, place):
    """While a port has no peer, those for it are dropped there, and the others' go on; then it has its packets."""
    with contextlib.ExitStack() as stack:
        router = Mesh(heddle, place, stack, mesh_of("server server server"))
        peers = router.peers()
        exchange = Exchange(router, peers)
        exchange.run(200)
        peers["p1"].close()
        router.wait_for("p1", "false")
        peers["p0"].send_all([to(1, frame) for frame in numbered(20, least=60)])
        peers["p2"].send_all([to(1, frame) for frame in numbered(20, least=60)])
        peers["p1"] = router.peer("p1")
        router.wait_for("p1")
        exchange.run(200, seed=2)
        report = router.end()
    exchange.check()
    assert report.drops("p1") == {"no_peer": 40}
    assert report.received == len(exchange.ways) + 40


def test_one_lies_and_the_others_go_on(heddle, place):
    with contextlib.ExitStack() as stack:
        router = Mesh(heddle, place, stack, mesh_of("server server server"))
        peers = router.peers()
        exchange = Exchange(router, peers)
        exchange.run(100)
        peers["p1"].send([bytes(64)], region=9)
        peers["p1"].out[0].head += 1000
        assert "filled more descriptors than a ring has" in peers["p1"].why()
        peers["p1"] = router.peer("p1")
        router.wait_for("p1")
        exchange.run(200, seed=2)
        result = router.running.interrupt()
    assert result.code == 0
    assert "GPU port p1: the peer says that it has filled more descriptors" in result.err
    exchange.check()


def test_rings_keep_their_senders(heddle, place):
    """Over a hot reconfiguration in which the ports stand in another order; one more sender is an error."""
    kinds = mesh_of("server server")
    with contextlib.ExitStack() as stack:
        router = Mesh(heddle, place, stack, kinds, extra=["-R"])
        exchange = Exchange(router, router.peers())
        exchange.run(200)
        router.kinds = dict(reversed(kinds.items()))
        chain = router.text(None).replace("10.0.0.0/8 0, 20.0.0.0/8 1", "20.0.0.0/8 0, 10.0.0.0/8 1")
        router.kinds = kinds
        control = Control(router.control)
        control.write("hotconfig", chain)
        more = chain + f"; FromGPUPort(p2, SOCKET {place}/p2.sock, ROLE server) -> meet"
        assert (
            "port p0 runs, and it transmits by 2 rings, one for each ring whose packets leave by it, and they would be 3"
            in control.refused(more)
        )
        exchange.run(200, seed=2)
        report = router.end()
    exchange.check()
    assert report.dropped == 0


def test_the_plan_says_so(heddle):
    chain = CHAINS / "gpu_ip_router.click"
    text = heddle.ok("plan", chain, *SIMT).out
    assert "segment 0 on simt (rings of lan, inside, servers and inside, servers, lan, driven by the GPU)" in text
    (segment,) = heddle.ok("plan", "--json", chain, *SIMT).json["segments"]
    names = [element["name"] for element in segment["elements"]]
    assert names[3:] == ["ip", "rt", "inside", "servers", "lan"]


def test_mistakes(heddle):
    two = "FromGPUPort(a, SOCKET x{}) -> m :: EtherMirror -> ToGPUPort(a); FromGPUPort(b, SOCKET y{}) -> m"
    nic = "FromGPUPort(a, NIC_SOCKET x) -> m :: EtherMirror -> ToGPUPort(a); FromGPUPort(b, NIC_SOCKET y) -> m"
    many = 'FromGPUPort(a, SOFTNIC "net_null0", QUEUES 5) -> m :: EtherMirror -> ToGPUPort(a); '
    many += 'FromGPUPort(b, SOFTNIC "net_null1", QUEUES 4) -> m'
    for chain, message in {
        two.format(", KERNELS split", ""): "KERNELS: its packets meet those of FromGPUPort 'FromGPUPort@1', which has "
        "another; give both the same",
        nic: "NIC_SOCKET: packets of 2 ring pairs leave by it, and a NIC that a process plays has as many rings each way",
        many: "packets of 9 ring pairs leave by it, and a soft NIC has at most 8 rings each way",
    }.items():
        assert message in heddle.fails("plan", "-e", chain, *SIMT), chain
    heddle.ok("plan", "-e", two.format("", ", QUEUES 3"), *SIMT)
