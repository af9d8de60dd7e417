"""GPU ports on simt: rings that kernels drive, against peers that are honest, DPDK's driver, liars, or dead."""

import contextlib
import os
import random
import re
import socket
import stat
from collections import Counter

import pytest
from whole import captures, judge, memif
from whole.memif import NEXT
from whole.program import CHAINS, Report, mistakes, quoted, read_handler, wait_until

SIMT = ["--device", "simt"]


@pytest.fixture
def place(tmp_path):
    """Where sockets go: their paths have 107 bytes at most."""
    folder = f"/tmp/hd{os.getpid()}"
    os.makedirs(folder, exist_ok=True)
    yield folder
    for name in os.listdir(folder):
        os.remove(f"{folder}/{name}")
    os.rmdir(folder)


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
        self, heddle, place, role="client", queues=1, size=64, chain="EtherMirror", ports=1, extra=(), more=""
    ):
        self.place, self.role, self.queues, self.size = place, role, queues, size
        self.sockets = [f"{place}/{name}.sock" for name in "ab"[:ports]]
        self.stack = contextlib.ExitStack()
        if role == "client":
            self.listeners = [self.stack.enter_context(memif.Listener(path)) for path in self.sockets]
        keywords = f"ROLE {role}, QUEUES {queues}, NDESC {size}{more}"
        last = "a" if ports == 1 else f"b, SOCKET {self.sockets[1]}, {keywords}"
        text = f"FromGPUPort(a, SOCKET {self.sockets[0]}, {keywords}) -> {chain} -> ToGPUPort({last})"
        self.control = f"{place}/control"
        self.running = self.stack.enter_context(
            heddle.start("run", "--json", "-u", self.control, "-e", text, *SIMT, *extra)
        )

    def peer(self, port=0, **options):
        if self.role == "client":
            return self.stack.enter_context(self.listeners[port].accept(self.queues))
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


@pytest.mark.parametrize("size", [64, 1024])
@pytest.mark.parametrize("role", ["client", "server"])
def test_nothing_is_lost_or_reordered(heddle, place, role, size):
    """Rings go round many times, and with rings of 1024 the indices once."""
    frames = numbered(66_000 if size == 1024 else 2_000, most=60) + numbered(1000, least=12, most=2048)
    with Mirror(heddle, place, role, size=size) as mirror:
        right(frames, mirror.peer().exchange(frames))
        report = mirror.end()
    for name in ("FromGPUPort", "EtherMirror", "ToGPUPort"):
        assert report.one(name)["packets"] == len(frames)
        assert report.one(name)["bytes"] == sum(map(len, frames))
    assert report.dropped == 0


@pytest.mark.parametrize("role", ["client", "server"])
def test_what_functions_drop_leaves_no_gap(heddle, place, role):
    values = random.Random(3)
    frames = [f if values.random() < 0.7 else f[: values.randint(1, 11)] for f in numbered(2000)]
    kept = [frame for frame in frames if len(frame) >= 12]
    with Mirror(heddle, place, role) as mirror:
        right(kept, mirror.peer().exchange(frames, len(kept)))
        report = mirror.end()
    assert report.drops("EtherMirror") == {"short": len(frames) - len(kept)}
    assert report.received == len(frames)
    assert report.one("ToGPUPort")["packets"] == len(kept)


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("warp_batch", [32, 448])
def test_several_rings(heddle, place, role, warp_batch):
    with Mirror(heddle, place, role, queues=3, more=f", WARP_BATCH {warp_batch}") as mirror:
        peer = mirror.peer()
        for queue in (2, 0, 1, 2):
            frames = numbered(500, seed=queue)
            right(frames, peer.exchange(frames, queue=queue))
        assert mirror.end().received == 2000


@pytest.mark.parametrize("role", ["client", "server"])
def test_from_one_port_to_another(heddle, place, role):
    frames = numbered(1000)
    with Mirror(heddle, place, role, ports=2) as mirror:
        one = mirror.peer(0)
        if role == "client":
            assert one.send(frames[:0]) == 0 and one.room() == 0  # the other end is not there yet
        other, got, sent = mirror.peer(1), [], 0

        def forward():
            nonlocal sent
            sent += one.send(frames[sent : sent + 64])
            got.extend(other.receive())
            return len(got) == len(frames)

        wait_until(forward, what="all frames")
        right(frames, got)
        assert one.receive() == []
        mirror.end()


@pytest.mark.parametrize("role", ["client", "server"])
def test_a_peer_that_takes_nothing_stops_the_other(heddle, place, role):
    frames = numbered(64 * 4)
    with Mirror(heddle, place, role) as mirror:
        peer, sent = mirror.peer(), 0

        def full():
            nonlocal sent
            sent += peer.send(frames[sent:])
            return sent == 128 and peer.room() == 0

        wait_until(full, what="both rings full")  # 64 came through, 64 wait
        assert read_handler(mirror.control, "FromGPUPort@1.count") == "64"
        right(frames, peer.receive() + peer.exchange(frames[sent:], len(frames) - 64))
        mirror.end()


@pytest.mark.parametrize("role", ["client", "server"])
def test_functions_on_the_way(heddle, place, role):
    """Two functions, neutral elements that move the start, and a table."""
    chain = (
        "Strip(14) -> GetIPAddress(16) -> l :: DirectIPLookup(10.0.0.0/8 0, 20.0.0.0/8 1); "
        "l[0] -> XOR(5) -> u :: Unstrip(14); l[1] -> u; u "
    )
    address = {0: bytes([10, 1, 2, 3]), 1: bytes([20, 1, 2, 3]), 2: bytes([30, 1, 2, 3])}
    frames, wanted, values = [], [], random.Random(9)
    for frame in numbered(1000, least=64):
        kind = values.randrange(3)
        frame = frame[:30] + address[kind] + frame[34:]
        frames.append(frame)
        if kind == 0:
            wanted.append(frame[:14] + bytes(byte ^ 5 for byte in frame[14:]))
        elif kind == 1:
            wanted.append(frame)
    with Mirror(heddle, place, role, chain=chain) as mirror:
        assert mirror.peer().exchange(frames, len(wanted)) == wanted
        report = mirror.end()
    assert sum(report.drops("l").values()) == len(frames) - len(wanted)


def test_a_firewall_and_a_router(heddle, place, tmp_path):
    """What they want to know of the headers is found on the GPU as well."""
    rules = tmp_path / "rules"
    rules.write_text(
        "@10.0.0.0/8 0.0.0.0/0 0 : 65535 53 : 53 0x11/0xff deny\n@0.0.0.0/0 20.0.0.0/8 0 : 65535 0 : 65535 0x00/0x00 allow\n"
    )
    chain = (
        f"CheckIPHeader(14, DEVICE gpu) -> f :: Firewall(RULES {quoted(rules)}, DEFAULT deny) -> Strip(14)"
        " -> l :: DirectIPLookup(20.1.0.0/16 0, 20.0.0.0/8 1); l[0] -> XOR(5) -> u :: Unstrip(14); l[1] -> u; u "
    )
    values, frames, wanted, fates = random.Random(3), [], [], Counter()
    for number in range(1000):
        source, destination = (
            bytes([values.choice([10, 11]), 0, 0, 1]),
            bytes([values.choice([20, 30]), values.randrange(3), 1, 1]),
        )
        port = values.choice([53, 54])
        payload = judge.transport(17, 1000, port, 8) + number.to_bytes(4, "big")
        frame = judge.ip4(source, destination, 17, payload)
        if number % 10 == 0:
            frame = frame[:24] + bytes([frame[24] ^ 1]) + frame[25:]
            fates["bad_checksum"] += 1
        elif destination[0] != 20 or (source[0] == 10 and port == 53):
            fates["denied"] += 1
        else:
            key = 5 if destination[1] == 1 else 0
            wanted.append(frame[:14] + bytes(byte ^ key for byte in frame[14:]))
        frames.append(frame)
    with Mirror(heddle, place, chain=chain) as mirror:
        assert mirror.peer().exchange(frames, len(wanted)) == wanted
        report = mirror.end()
    assert report.drops("CheckIPHeader") == {"bad_checksum": fates["bad_checksum"]}
    assert report.drops("f") == {"denied": fates["denied"]}


def test_frames_too_long_for_the_buffers_of_a_peer(heddle, place):
    """Those that a server sends on, from one port to another."""
    frames = numbered(1000, least=60, most=200)
    kept = [frame for frame in frames if len(frame) <= 100]
    with Mirror(heddle, place, "server", ports=2) as mirror:
        one, other, got, sent = mirror.peer(0), mirror.peer(1, buffer_bytes=100), [], 0

        def forward():
            nonlocal sent
            sent += one.send(frames[sent : sent + 64])
            got.extend(other.receive())
            return len(got) == len(kept)

        wait_until(forward, what="all frames")
        right(kept, got)
        report = mirror.end()
    assert report.drops("ToGPUPort") == {"too_long": len(frames) - len(kept)}


def test_a_table_that_changes(heddle, place):
    """Routes come and go while packets flow; none is lost, and from its change on each holds."""
    chain = (
        "GetIPAddress(30) -> l :: DirectIPLookup(10.0.0.0/8 0); l[0] -> u :: XOR(0); l[1] -> b :: XOR(255); b -> u; u "
    )
    frame = bytes(30) + bytes([10, 1, 2, 3]) + bytes(30)
    other = bytes(byte ^ 255 for byte in frame)

    def write(mirror, command):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(mirror.control)
            client.sendall(f"WRITE {command}\nQUIT\n".encode())
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        assert re.search(rb"^200 ", answer, re.MULTILINE), answer

    with Mirror(heddle, place, chain=chain) as mirror:
        peer = mirror.peer()
        for _ in range(5):
            assert peer.exchange([frame] * 200) == [frame] * 200
            write(mirror, "l.add 10.1.2.0/25 1")
            assert peer.exchange([frame] * 200) == [other] * 200
            write(mirror, "l.remove 10.1.2.0/25")
        mirror.end()


LIES = {
    "region": [{"region": 7}, {"region": 0}],
    "offset": [{"offset": 0}, {"offset": 0xFFFFFFF0}, {"offset": 1 << 20}],
    "length": [{"length": 0}, {"length": 2049}, {"length": 0xFFFFFFFF}],
}


@pytest.mark.parametrize("what", LIES)
def test_descriptors_that_lie_to_a_client(heddle, place, what):
    """It knows where its buffers are, whatever the peer writes."""
    frames = numbered(400)
    with Mirror(heddle, place) as mirror:
        peer, lies = mirror.peer(), LIES[what]
        for number, frame in enumerate(frames):
            if number % 40 < len(lies):
                wait_until(lambda: peer.room() > 0)
                assert peer.send([bytes(20)], **lies[number % 40]) == 1
            assert peer.exchange([frame]) == [mirrored(frame)]
        report = mirror.end()
    assert report.drops("FromGPUPort") == {"bad_descriptor": 10 * len(lies)}


def test_descriptors_that_lie_to_a_server(heddle, place):
    """It believes what lies within the peer's memory, and nothing else."""
    frames = numbered(400)
    with Mirror(heddle, place, "server") as mirror:
        peer = mirror.peer()
        bytes_there = len(peer.regions[0])
        lies = [
            {"region": 1},
            {"region": 65535},
            {"length": 0},
            {"offset": bytes_there - 10, "length": 11},
            {"offset": 0xFFFFFFFF, "length": 0xFFFFFFFF},
            {"offset": 0, "length": bytes_there + 1},
        ]
        for number, frame in enumerate(frames):
            if number % 40 < len(lies):
                wait_until(lambda: peer.room() > 0)
                home = peer.out[0].read(peer.out[0].position)
                peer.out[0].fill(peer.out[0].position, bytes(20))
                truth = {"flags": 0, "region": 0, "length": 20, "offset": home[3]}
                peer.out[0].write(peer.out[0].position, **(truth | lies[number % 40]))
                peer.out[0].position += 1
                peer.tell()
                wait_until(lambda: peer.room() == 64)
                peer.out[0].write(peer.out[0].position - 1, *home)
            assert peer.exchange([frame]) == [mirrored(frame)]
        # A buffer for its own packets that does not lie there, and one that is too small.
        peer.back[0].write(peer.back[0].position, 0, 0, 2048, bytes_there - 5)
        peer.back[0].write(peer.back[0].position + 1, 0, 3, 2048, 0)
        peer.back[0].write(peer.back[0].position + 2, 0, 0, 11, 4096)
        first = peer.back[0].position
        peer.send(frames[:5])
        wait_until(lambda: peer.back[0].tail == (first + 5) & 0xFFFF, what="five packets")
        assert [peer.back[0].read(first + i)[2] for i in range(3)] == [0, 0, 0]
        right(frames[3:5], [peer.back[0].frame(first + i) for i in (3, 4)])
        report = mirror.end()
    assert report.drops("FromGPUPort") == {"bad_descriptor": 10 * len(lies)}
    assert report.drops("ToGPUPort") == {"bad_buffer": 3}


@pytest.mark.parametrize("role", ["client", "server"])
def test_packets_in_several_buffers_are_dropped_whole(heddle, place, role):
    """Chains of up to 70 descriptors, which no warp sees as a whole."""
    values, frames, chained, wanted = random.Random(5), numbered(1000), 0, []
    with Mirror(heddle, place, role, size=256) as mirror:
        peer, got, at = mirror.peer(), [], 0

        def send():
            nonlocal at, chained
            while at < len(frames) and peer.room() >= 70:
                if values.random() < 0.1:
                    parts = values.randint(2, 70)
                    for part in range(parts):
                        peer.out[0].fill(peer.out[0].position, bytes(50), flags=NEXT if part + 1 < parts else 0)
                        peer.out[0].position += 1
                    chained += parts
                    peer.tell()
                peer.send([frames[at]])
                wanted.append(mirrored(frames[at]))
                at += 1
            got.extend(peer.receive())
            return at == len(frames) and len(got) == len(wanted)

        wait_until(send, what="all frames")
        assert got == wanted
        report = mirror.end()
    assert report.drops("FromGPUPort") == {"chained": chained}


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("which", ["filled", "emptied"])
def test_indices_that_lie_end_the_connection(heddle, place, role, which):
    frames = numbered(300)
    with Mirror(heddle, place, role) as mirror:
        peer = mirror.peer()
        right(frames, peer.exchange(frames))
        lie = peer.out[0] if which == "filled" else peer.back[0]
        if peer.server:
            lie.tail = lie.tail + 65
        else:
            lie.head = lie.head + 65
        assert re.fullmatch(f"the peer says that it has {which} more descriptors than .*", peer.why())
        peer.close()
        right(frames, mirror.peer().exchange(frames))
        report = mirror.end(problem=f"GPU port a: the peer says that it has {which} more")
    assert report.received == 600


@pytest.mark.parametrize("role", ["client", "server"])
def test_peers_that_die_and_return(heddle, place, role):
    """With packets under way, which are the dead peer's; other packets are not touched."""
    with Mirror(heddle, place, role) as mirror:
        for turn in range(6):
            with mirror.peer() as peer:
                frames = numbered(500 + turn, seed=turn)
                right(frames, peer.exchange(frames))
                peer.send(frames[:64])
        report = mirror.end()
    assert 6 * 500 < report.received <= 6 * 570
    assert report.one("FromGPUPort")["statistics"]["connections"] == 6


def test_one_of_two_peers_dies_and_returns(heddle, place):
    """What the other one has sent waits, and goes on in order."""
    frames = numbered(2000)
    with Mirror(heddle, place, ports=2) as mirror:
        one, other = mirror.peer(0), mirror.peer(1)
        sent, got = 0, []

        def forward(to):
            nonlocal sent
            sent += one.send(frames[sent:to])
            got.extend(other.receive())
            return sent == to and len(got) == to - lost

        lost = 0
        wait_until(lambda: forward(700), what="frames")
        other.close()
        wait_until(lambda: read_handler(mirror.control, "ToGPUPort@3.connected") == "false")
        waiting = one.send(frames[sent : sent + 64])
        sent += waiting
        assert waiting == 64 and one.room() == 0
        other = mirror.peer(1)
        wait_until(lambda: forward(len(frames)), what="the rest")
        right(frames, got)
        mirror.end()


def test_sockets_are_for_their_user(heddle, place):
    with Mirror(heddle, place, "server") as mirror:
        mirror.peer()
        assert stat.S_IMODE(os.stat(mirror.sockets[0]).st_mode) == 0o600
        mirror.end()
    assert not os.path.exists(mirror.sockets[0])


@pytest.mark.parametrize("role", ["client", "server"])
def test_with_the_driver_of_dpdk(heddle, place, tmp_path, role):
    """Another Heddle, on the CPU, sends a capture through DPDK's net_memif and records what comes back."""
    frames = numbered(5000, least=60, most=1500)
    source, out, control = tmp_path / "in.pcap", tmp_path / "out.pcap", f"{place}/peer"
    captures.write(source, frames)
    theirs = "client" if role == "server" else "server"
    device = f'"net_memif0,role={theirs},socket-abstract=no,socket={place}/a.sock"'
    chain = (
        f"FromDPDKDevice({device}) -> ToDump({quoted(out)}); "
        f"from :: FromDump({quoted(source)}, ACTIVE false) -> ToDPDKDevice(net_memif0)"
    )
    port = f"FromGPUPort(a, SOCKET {place}/a.sock, ROLE {role}, BUFFER 10240)"

    def start_peer():
        return heddle.start("run", "--json", "-u", control, "-e", chain)

    def start_mirror():
        return heddle.start(
            "run", "--json", "-u", f"{place}/mine", "-e", f"{port} -> EtherMirror -> ToGPUPort(a)", *SIMT
        )

    first, second = (start_mirror, start_peer) if role == "server" else (start_peer, start_mirror)
    with first() as one:
        wait_until(lambda: os.path.exists(f"{place}/a.sock"), what="the socket")
        with second() as two:
            wait_until(lambda: read_handler(f"{place}/mine", "FromGPUPort@1.connected") == "true")
            wait_until(lambda: os.path.exists(control), what="the peer's socket")
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(control)
                client.sendall(b"WRITE from.active true\nQUIT\n")
                assert b"200 " in b"".join(iter(lambda: client.recv(4096), b""))
            bytes_wanted = 24 + sum(16 + len(frame) for frame in frames)
            wait_until(lambda: out.exists() and out.stat().st_size >= bytes_wanted, 60, "the frames")
            results = {second: two.interrupt()}
        results[first] = one.interrupt()
    assert all(result.code == 0 for result in results.values()), results
    report = Report(results[start_mirror].json)
    assert report.received == report.one("ToGPUPort")["packets"] == len(frames)
    right(frames, captures.frames(out))


MISTAKES = {
    "FromGPUPort(a, SOCKET x) -> EtherMirror(DEVICE cpu) -> ToGPUPort(a)": "FromGPUPort 'FromGPUPort@1': what it receives "
    "stays on a GPU up to a ToGPUPort, but EtherMirror 'EtherMirror@2', on its way, does not run with it there; give "
    "EtherMirror@2 DEVICE gpu, or run with --device gpu",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> Print -> EtherMirror -> ToGPUPort(a)": "Print 'Print@3', on its way, does "
    "not run with it there; take it out, or use FromDPDKDevice and ToDPDKDevice",
    "FromGPUPort(a, SOCKET x) -> ToGPUPort(a)": "put a function between the two ports",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> Discard": "Discard 'Discard@3', on its way, does not run with it there",
    "FromDump(x) -> EtherMirror -> ToGPUPort(a, SOCKET x)": "ToGPUPort 'ToGPUPort@3': packets come to it from EtherMirror "
    "'EtherMirror@2', not from a FromGPUPort on its GPU",
    "FromGPUPort(a) -> EtherMirror -> ToGPUPort(a)": "SOCKET is missing: where is the peer of port a found?",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> ToGPUPort(a, SOCKET y)": "SOCKET: FromGPUPort 'FromGPUPort@1' gives the "
    "arguments of port a already",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> ToGPUPort(b, SOCKET y, QUEUES 2)": "QUEUES: it has 2 ring pairs, and "
    "FromGPUPort 'FromGPUPort@1', whose packets it sends, has 1; give both the same",
    "f :: FromGPUPort(a, SOCKET x) -> l :: DirectIPLookup(0/0 0); l[0] -> ToGPUPort(a); l[1] -> ToGPUPort(b, SOCKET y)": None,
    "FromGPUPort(a, SOCKET x) -> m :: EtherMirror -> ToGPUPort(a); FromGPUPort(b, SOCKET y) -> m": "place all functions between "
    "the two ports on one GPU, with one FromGPUPort before them",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> ToGPUPort(a); FromGPUPort(a) -> EtherMirror -> ToGPUPort(b, SOCKET y)": "is "
    "there already for port a; a port has one of each",
}


@pytest.mark.parametrize("chain", MISTAKES)
def test_chains_that_are_none(heddle, chain):
    found = heddle.fails("plan", "-e", chain, "--device", "simt")
    assert (MISTAKES[chain] or "reads the dst annotation") in found, found


def test_mistakes_of_arguments(heddle):
    chain = "FromGPUPort(a, {}) -> EtherMirror(DEVICE gpu) -> ToGPUPort(a)"
    for arguments, message in {
        "SOCKET x, NDESC 100": "NDESC: '100' is not a power of two",
        "QUEUES 2": "SOCKET is missing",
        "WARP_BATCH 64": "SOCKET is missing",
        "SOCKET x, WARP_BATCH 48": "WARP_BATCH: '48' is not a multiple of 32, up to 448",
        "SOCKET x, WARP_BATCH 480": "WARP_BATCH: '480' is not",
        "SOCKET x, ROLE peer": "ROLE: 'peer' is not one of client, server",
        "SOCKET x, SECRET 123456789012345678901234": "of 23 bytes at most",
    }.items():
        assert message in mistakes(heddle, chain.format(arguments))[0][2]


def test_the_plan_says_so(heddle):
    text = heddle.ok("plan", CHAINS / "gpu_ports.click", *SIMT).out
    assert "segment 0 on simt (rings of mirror and mirror, driven by the GPU)" in text
    plan = heddle.ok("plan", "--json", CHAINS / "gpu_ports.click", *SIMT).json
    assert [segment["launch"] for segment in plan["segments"]] == ["rings"]
