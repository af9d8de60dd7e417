"""Hot reconfiguration of chains between GPU ports on simt, while their peers send: ports go on as they are."""

import contextlib
from concurrent import futures

import pytest
from test_gpu_ipsec import encap, expect, kept, plain, three
from test_gpu_ipsec_replay import decap, replays
from whole import ipsec, memif
from whole.control import Control
from whole.gpu_ports import KERNELS, SIMT, Mirror, numbered, right
from whole.program import Report, quoted, wait_for_count, wait_until

ROLES = pytest.mark.parametrize("role", ["client", "server"])
# All of them mirror. Several multiprocessors serve the last but one.
MIRRORS = [
    "EtherMirror",
    "EtherMirror -> EtherMirror -> c :: Counter -> EtherMirror",
    "XOR(17) -> m :: EtherMirror -> XOR(17)",
    "c :: Counter -> m :: EtherMirror",
]
TIMES = 12


@contextlib.contextmanager
def changing(mirror, chains, times=TIMES):
    """Reconfigures so often, one chain after the other, beside what is done meanwhile; `busy()` until that is over."""

    def change():
        control = Control(mirror.control)
        for time in range(times):
            control.write("hotconfig", mirror.text(chains[(time + 1) % len(chains)]))
        assert control.read("reconfigurations").split()[0] == str(times)

    with futures.ThreadPoolExecutor(1) as pool:
        changed = pool.submit(change)
        yield lambda: not changed.done()
        changed.result()


@KERNELS
@ROLES
@pytest.mark.parametrize("queues", [1, 3])
def test_nothing_is_lost_or_reordered(heddle, place, role, kernels, queues):
    frames, sent = numbered(500), 0
    with Mirror(heddle, place, role, kernels=kernels, queues=queues, extra=["-R"]) as mirror:
        peer = mirror.peer()
        with changing(mirror, MIRRORS) as busy:
            while busy() or sent == 0:
                for queue in range(queues):
                    right(frames, peer.exchange(frames, queue=queue))
                    sent += len(frames)
        report = mirror.end()
    assert report.received == report.one("FromGPUPort")["packets"] == report.one("ToGPUPort")["packets"] == sent
    assert report.one("FromGPUPort")["statistics"]["connections"] == 1
    assert report.dropped == 0


@KERNELS
@ROLES
def test_full_rings_wait(heddle, place, role, kernels):
    """With packets in both, and descriptors whose buffers have changed places."""
    frames, sent, got = numbered(64 * 10), 0, []
    with Mirror(heddle, place, role, kernels=kernels, extra=["-R"]) as mirror:
        peer, control = mirror.peer(), Control(mirror.control)

        def full():
            nonlocal sent
            sent += peer.send(frames[sent:])
            return sent == len(got) + 128 and peer.room() == 0

        for chain in (*MIRRORS[1:], MIRRORS[0]):
            wait_until(full, what="both rings full")
            control.write("hotconfig", mirror.text(chain))
            assert control.read("FromGPUPort@1.connected") == "true"
            got.extend(peer.receive())
        assert int(control.read("FromGPUPort@1.count")) >= len(got)
        right(frames, got + peer.exchange(frames[sent:], len(frames) - len(got)))
        mirror.end()


@ROLES
def test_kernels_and_warps_may_change(heddle, place, role):
    """They are not the port's, but those of what serves it."""
    frames = numbered(300)
    with Mirror(heddle, place, role, kernels="fused", extra=["-R"]) as mirror:
        peer, control = mirror.peer(), Control(mirror.control)
        for keywords in (
            "KERNELS split",
            "KERNELS fused, WARP_BATCH 32",
            "KERNELS fused, WARP_BATCH 480",
            "KERNELS fused",
        ):
            right(frames, peer.exchange(frames))
            control.write("hotconfig", mirror.text(MIRRORS[0]).replace("KERNELS fused", keywords))
        right(frames, peer.exchange(frames))
        mirror.end()


def mistakes(place):
    """Configurations that cannot be, and what they are told."""
    port = "FromGPUPort(a, SOCKET {0}/a.sock, ROLE {1}, QUEUES {2}, NDESC {3}{4}) -> {5} -> ToGPUPort(a)"

    def chain(socket="", role="server", queues=1, size=64, more="", functions="EtherMirror"):
        return port.format(f"{place}{socket}", role, queues, size, more, functions)

    there = "FromGPUPort 'FromGPUPort@1': port a runs, and its {} is {}; leave it so, give the new port another name"
    return {
        chain(queues=2): there.format("QUEUES", 1),
        chain(size=128): there.format("NDESC", 64),
        chain(more=", BUFFER 4096"): there.format("BUFFER", 2048),
        chain(more=", ID 3"): there.format("ID", 0),
        chain(role="client"): there.format("ROLE", "server"),
        chain(socket="/else"): there.format("SOCKET", f"{place}/a.sock"),
        chain(more=", SECRET abc"): "port a runs, and its SECRET is another one",
        chain().replace("a,", "b,").replace("(a)", "(b)"): "SOCKET is that of port a, which runs; call it so",
        chain(functions="EtherMirror -> Print"): "Print 'Print@3', on its way, does not run with it there",
        chain(functions="Nonsense"): "unknown element class 'Nonsense'",
        # What fails when all stands still.
        chain() + "; ControlSocket(unix, /nonexistent/socket)": "/nonexistent/socket",
        chain() + "; Script(init x $(nobody.count))": "nobody",
    }


@KERNELS
def test_mistakes_leave_the_old_one_running(heddle, place, kernels):
    frames = numbered(200)
    with Mirror(heddle, place, "server", kernels=kernels, extra=["-R"]) as mirror:
        peer, control = mirror.peer(), Control(mirror.control)
        for chain, why in mistakes(place).items():
            sent = peer.send(frames)  # they come back meanwhile, or wait
            text = control.refused(chain)
            assert why in text.replace("\n", ""), (chain, text)
            right(frames, peer.exchange(frames[sent:], len(frames)))
        assert control.read("reconfigurations").split()[0] == "0"
        control.write("hotconfig", mirror.text(MIRRORS[1]))
        right(frames, peer.exchange(frames))
        mirror.end()


def test_buffers_have_the_room_that_they_were_made_with(heddle, place, tmp_path):
    keys = ipsec.write(tmp_path / "tunnels.keys", three())
    frames = numbered(200)
    with Mirror(heddle, place, extra=["-R"]) as mirror:
        peer, control = mirror.peer(), Control(mirror.control)
        text = control.refused(mirror.text(encap(keys))).replace("\n", "")
        assert "bytes before them and" in text and "the buffers of port a, which runs, have 128 and 0" in text
        right(frames, peer.exchange(frames))
        mirror.end()


@KERNELS
@ROLES
def test_ports_come_and_go(heddle, place, role, kernels):
    """One goes on, another is opened, has packets from it and to it, and is closed: its peer sees that."""
    frames = numbered(300)
    keywords = f"ROLE {role}, KERNELS {kernels}, NDESC 64"
    alone = f"FromGPUPort(a, SOCKET {place}/a.sock, {keywords}) -> EtherMirror -> ToGPUPort(a)"
    both = (
        f"FromGPUPort(a, SOCKET {place}/a.sock, {keywords}) -> EtherMirror -> ToGPUPort(b, SOCKET {place}/b.sock, "
        f"{keywords}); FromGPUPort(b) -> EtherMirror -> ToGPUPort(a)"
    )

    def peer_of(name):
        if role == "client":
            return stack.enter_context(listeners[name].accept())
        return stack.enter_context(memif.Client(f"{place}/{name}.sock", 1, 6))

    def across(one, other):
        """Frames that go from one to the other."""
        got, sent = [], 0

        def forward():
            nonlocal sent
            sent += one.send(frames[sent:])
            got.extend(other.receive())
            return len(got) == len(frames)

        wait_until(forward, what="all frames")
        right(frames, got)

    with contextlib.ExitStack() as stack:
        listeners = {}
        if role == "client":
            listeners = {name: stack.enter_context(memif.Listener(f"{place}/{name}.sock")) for name in "ab"}
        running = stack.enter_context(heddle.start("run", "--json", "-R", "-u", f"{place}/control", "-e", alone, *SIMT))
        control, a = Control(f"{place}/control"), None
        for _ in range(3):
            a = a or peer_of("a")
            right(frames, a.exchange(frames))
            control.write("hotconfig", both)
            b = peer_of("b")
            across(a, b)
            across(b, a)
            control.write("hotconfig", alone)
            assert b.why() == "the port is closed"
        right(frames, a.exchange(frames))
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    report.assert_accounted()
    assert report.received == 10 * len(frames)


@ROLES
def test_between_rings_and_packet_threads(heddle, place, role):
    """From a chain that has packets from the CPU alone to one with a port, beside that and without it, and back."""
    frames = numbered(300)
    by_threads = "s :: InfiniteSource(LENGTH 60) -> XOR(5) -> d :: Discard"
    port = f"FromGPUPort(a, SOCKET {place}/a.sock, ROLE {role}, NDESC 64) -> EtherMirror -> out :: ToGPUPort(a)"

    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(memif.Listener(f"{place}/a.sock")) if role == "client" else None
        running = stack.enter_context(
            heddle.start("run", "--json", "-R", "-u", f"{place}/control", "-e", by_threads, "-j", "2", *SIMT)
        )
        control, peer = Control(f"{place}/control"), None

        def moves():
            before = control.read("d.count")
            wait_until(lambda: control.read("d.count") != before, what="packets")

        for chain in (f"{by_threads}; {port}", port, f"{by_threads}; {port}", by_threads) * 2:
            control.write("hotconfig", chain)
            if port in chain:
                peer = peer or stack.enter_context(
                    listener.accept() if listener else memif.Client(f"{place}/a.sock", 1, 6)
                )
                right(frames, peer.exchange(frames))
            elif peer:
                assert peer.why() == "the port is closed"
                peer = None
            if by_threads in chain:
                moves()
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    report.assert_accounted()
    assert report.one("out")["packets"] == 6 * len(frames)


def test_a_program_without_gpu_says_that_it_stays_so(heddle, place):
    port = f"FromGPUPort(a, SOCKET {place}/a.sock) -> EtherMirror -> ToGPUPort(a)"
    with heddle.start("run", "-R", "-u", f"{place}/control", "-e", "InfiniteSource -> Discard", *SIMT) as running:
        assert "started without a GPU" in Control(f"{place}/control").refused(port)
        assert running.interrupt().code == 0


class Wire:
    """A soft NIC whose wire is DPDK's memif, with a peer there."""

    def __init__(self, heddle, place, stack, kernels, queues=1):
        listener = stack.enter_context(memif.Listener(f"{place}/wire.sock"))
        device = f"net_memif0,role=client,socket-abstract=no,socket={place}/wire.sock"
        self.device = f"SOFTNIC {quoted(device)}, KERNELS {kernels}, QUEUES {queues}, NDESC 64"
        self.place, self.control = place, f"{place}/control"
        self.running = stack.enter_context(
            heddle.start("run", "--json", "-R", "-u", self.control, "-e", self.text("EtherMirror"), *SIMT)
        )
        self.peer = stack.enter_context(listener.accept())

    def text(self, chain):
        return f"FromGPUPort(w, {self.device}) -> {chain} -> out :: ToGPUPort(w)"

    def end(self):
        result = self.running.interrupt()
        assert (result.code, result.err) == (0, ""), result
        return Report(result.json)


@KERNELS
def test_a_soft_nic_goes_on(heddle, place, kernels):
    frames, sent = numbered(400, least=60), 0
    with contextlib.ExitStack() as stack:
        wire = Wire(heddle, place, stack, kernels)
        with changing(wire, MIRRORS) as busy:
            while busy() or sent == 0:
                right(frames, wire.peer.exchange(frames))
                sent += len(frames)
        report = wire.end()
    assert report.received == report.one("ToGPUPort")["packets"] == sent
    assert report.dropped == 0
    assert report.one("ToGPUPort").get("statistics", {}) == report.one("FromGPUPort").get("statistics", {}) == {}


@KERNELS
def test_soft_nics_that_cannot_go_on_so(heddle, place, kernels):
    frames = numbered(200, least=60)
    with contextlib.ExitStack() as stack:
        wire = Wire(heddle, place, stack, kernels)
        control = Control(wire.control)
        for chain, why in {
            wire.text("EtherMirror").replace("NDESC 64", "NDESC 128"): "port w runs, and its NDESC is 64",
            wire.text("EtherMirror").replace("(w", "(v"): "SOFTNIC is that of port w, which runs",
            f'FromGPUPort(w, {wire.device}) -> EtherMirror -> ToGPUPort(v, SOFTNIC "net_null1", NDESC 64)': "no packets go "
            "from soft NIC w to v so far",
            f"FromGPUPort(w, SOCKET {place}/a.sock) -> EtherMirror -> ToGPUPort(w)": "it is a soft NIC",
        }.items():
            text = control.refused(chain)
            assert why in text.replace("\n", ""), (chain, text)
            right(frames, wire.peer.exchange(frames))
        wire.end()


@KERNELS
def test_soft_nics_come_and_go(heddle, place, kernels):
    """Beside a memif that goes on."""
    frames = numbered(200)
    with Mirror(heddle, place, "server", kernels=kernels, extra=["-R"]) as mirror:
        peer, control = mirror.peer(), Control(mirror.control)
        right(frames, peer.exchange(frames))
        nic = f'; FromGPUPort(n, SOFTNIC "net_null0", KERNELS {kernels}) -> EtherMirror -> m :: ToGPUPort(n)'
        assert "started without ports" in control.refused(mirror.text("EtherMirror") + nic)
        right(frames, peer.exchange(frames))
        mirror.end()
    with heddle.start_ready("run", "--json", "-R", "-u", f"{place}/control", "-e", nic[2:], *SIMT) as running:
        control = Control(f"{place}/control")
        for name in "opn":
            other = nic[2:].replace("(n", f"({name}").replace("null0", f"null{ord(name)}")
            control.write("hotconfig", other)
            wait_for_count(f"{place}/control", "m.count", int(control.read("m.count")) + 1)
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    Report(result.json).assert_accounted()


@pytest.mark.parametrize(("warp_batch", "kernels"), [(64, "fused"), (896, "fused"), (448, "split")])
def test_no_number_is_taken_twice(heddle, place, tmp_path, warp_batch, kernels):
    """Sequence numbers and initialisation vectors go on, as expect() wants them."""
    keys = ipsec.write(tmp_path / "tunnels.keys", three())
    chains = [encap(keys), "c :: Counter -> " + encap(keys)]
    sent, got = [], []
    with Mirror(
        heddle, place, kernels=kernels, size=256, chain=chains[0], more=f", WARP_BATCH {warp_batch}", extra=["-R"]
    ) as mirror:
        peer, control = mirror.peer(), Control(mirror.control)
        with changing(mirror, chains) as busy:
            while busy() or not sent:
                frames = plain(500, seed=len(sent))
                got += peer.exchange(frames, kept(frames))
                sent += frames
        numbers = expect(three(), sent, got)
        told = [line.split() for line in control.read("q.numbers").splitlines()]
        mirror.end()
    assert {int(place): int(last) for place, _, last in told} == numbers


def test_numbers_go_on_after_mistakes(heddle, place, tmp_path):
    """Also after those that are found when all stands still."""
    keys = ipsec.write(tmp_path / "tunnels.keys", three())
    sent, got = [], []
    with Mirror(heddle, place, size=256, chain=encap(keys), extra=["-R"]) as mirror:
        peer, control = mirror.peer(), Control(mirror.control)
        for number in range(6):
            frames = plain(300, seed=number)
            got += peer.exchange(frames, kept(frames))
            sent += frames
            if number % 2 == 0:
                bad = mirror.text(encap(keys)) + "; ControlSocket(unix, /nonexistent/socket)"
                assert "/nonexistent/socket" in control.refused(bad)
            else:
                control.write("hotconfig", mirror.text(encap(keys)))
        expect(three(), sent, got)
        mirror.end()


@ROLES
def test_what_has_come_does_not_come_again(heddle, place, tmp_path, role):
    """Windows are as they were: nothing is let through twice, and nothing late is lost."""
    associations, frames, wanted, _ = replays()
    keys = ipsec.write(tmp_path / "tunnels.keys", associations)
    chains = [decap(keys), "c :: Counter -> " + decap(keys)]
    with Mirror(heddle, place, role, size=256, chain=chains[0], extra=["-R"]) as mirror:
        peer, control, got = mirror.peer(), Control(mirror.control), []
        for first in range(0, len(frames), 200):
            part = frames[first : first + 200]
            count = int(control.read("FromGPUPort@1.count"))
            peer.send_all(part)
            wait_for_count(mirror.control, "FromGPUPort@1.count", count + len(part))
            control.write("hotconfig", mirror.text(chains[first // 200 % 2]))
            got += peer.receive()
        assert got == wanted
        mirror.end()
