"""GPU ports on simt: rings that kernels drive, and what runs between them. Peers are honest."""

import random
import re
import socket
from collections import Counter

import pytest
from whole import judge, memif
from whole.gpu_ports import KERNELS, SIMT, Mirror, mirrored, numbered, right
from whole.program import CHAINS, Report, mistakes, quoted, read_handler, wait_until


@KERNELS
@pytest.mark.parametrize("size", [64, 1024])
@pytest.mark.parametrize("role", ["client", "server"])
def test_nothing_is_lost_or_reordered(heddle, place, role, size, kernels):
    """Rings go round many times, and with rings of 1024 the indices once."""
    frames = numbered(66_000 if size == 1024 else 2_000, most=60) + numbered(1000, least=12, most=2048)
    with Mirror(heddle, place, role, kernels=kernels, size=size) as mirror:
        right(frames, mirror.peer().exchange(frames))
        report = mirror.end()
    for name in ("FromGPUPort", "EtherMirror", "ToGPUPort"):
        assert report.one(name)["packets"] == len(frames)
        assert report.one(name)["bytes"] == sum(map(len, frames))
    assert report.dropped == 0


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
def test_what_functions_drop_leaves_no_gap(heddle, place, role, kernels):
    values = random.Random(3)
    frames = [f if values.random() < 0.7 else f[: values.randint(1, 11)] for f in numbered(2000)]
    kept = [frame for frame in frames if len(frame) >= 12]
    with Mirror(heddle, place, role, kernels=kernels) as mirror:
        right(kept, mirror.peer().exchange(frames, len(kept)))
        report = mirror.end()
    assert report.drops("EtherMirror") == {"short": len(frames) - len(kept)}
    assert report.received == len(frames)
    assert report.one("ToGPUPort")["packets"] == len(kept)


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
def test_whole_packets_are_written(heddle, place, role, kernels):
    """Those in buffers of its own are gathered into GPU memory, and written back from there, unless a kernel of its own
    receives them."""
    chain, port = "XOR(17) -> XOR(34)", f"SOCKET x, ROLE {role}, KERNELS {kernels}"
    plan = heddle.ok("plan", "-e", f"FromGPUPort(a, {port}) -> {chain} -> ToGPUPort(a)", *SIMT).out
    assert re.search(r"back +the whole packet: ", plan), plan
    assert f"transport   {'gather' if (role, kernels) == ('client', 'fused') else 'direct'}: " in plan
    frames = numbered(3000, most=1500)
    with Mirror(heddle, place, role, kernels=kernels, chain=chain) as mirror:
        assert mirror.peer().exchange(frames) == [bytes(byte ^ 51 for byte in frame) for frame in frames]
        mirror.end()


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize(
    ("warp_batch", "kernels"), [(32, "fused"), (448, "fused"), (1344, "fused"), (32, "split"), (448, "split")]
)
def test_several_rings(heddle, place, role, warp_batch, kernels):
    with Mirror(heddle, place, role, kernels=kernels, queues=3, more=f", WARP_BATCH {warp_batch}") as mirror:
        peer = mirror.peer()
        for queue in (2, 0, 1, 2):
            frames = numbered(500, seed=queue)
            right(frames, peer.exchange(frames, queue=queue))
        assert mirror.end().received == 2000


@KERNELS
def test_every_warp_batch(heddle, place, kernels):
    """All that one multiprocessor serves, and some of several, each of a port of its own; 448 has three warps on simt
    (kernels/ring_sets.cu). Rings go round many times."""
    batches = [*range(32, 449, 32), *([480, 1344, 10240] if kernels == "fused" else [])]
    port = "FromGPUPort(p{0}, SOCKET {1}/{0}, ROLE server, KERNELS {2}, NDESC 32, WARP_BATCH {0}) -> "
    chain = "".join(f"{port.format(batch, place, kernels)}EtherMirror -> ToGPUPort(p{batch}); " for batch in batches)
    with heddle.start_ready("run", "--json", "-e", chain, *SIMT) as running:
        for batch in batches:
            frames = numbered(500, seed=batch, least=1)
            kept = [frame for frame in frames if len(frame) >= 12]
            with memif.Client(f"{place}/{batch}", 1, 5) as peer:
                right(kept, peer.exchange(frames, len(kept)))
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    assert Report(result.json).received == 500 * len(batches)


@KERNELS
@pytest.mark.parametrize("chain", ["EtherMirror", "XOR(17) -> XOR(34)"])
@pytest.mark.parametrize("role", ["client", "server"])
def test_packets_at_the_limits_of_size(heddle, place, role, chain, kernels):
    """The most that a packet may have are 65,535 bytes. What is longer is refused, also where a peer's memory has it:
    functions would go over gigabytes."""
    sizes = [12, 63, 64, 65, 2047, 2048, 2049, 9000, 9001, 65534, 65535]
    frames = [frame for n, size in enumerate(sizes) for frame in numbered(20, n, size, size)]
    random.Random(1).shuffle(frames)
    with Mirror(heddle, place, role, kernels=kernels, size=32, chain=chain, more=", BUFFER 65535") as mirror:
        peer = mirror.peer(**({"buffer_bytes": 65536 + 64} if role == "server" else {}))
        for sent in (frames[:100], frames[100:]):
            got = peer.exchange(sent)
            assert got == [mirrored(f) if chain == "EtherMirror" else bytes(byte ^ 51 for byte in f) for f in sent]
            if role == "client":
                lengths = [65536, 65537]
            else:  # one byte more than a packet may have, and all that there is behind the buffer's start
                lengths = [65536, len(peer.regions[0]) - peer.out[0].read(peer.out[0].position + 1)[3]]
            for length in lengths:
                assert peer.send([bytes(64)], length=length) == 1
            wait_until(lambda: peer.room() == 32, what="the ring empty")
        report = mirror.end()
    refused, too_long = (report.drops(name) for name in ("FromGPUPort", "ToGPUPort"))
    assert (refused, too_long) == ({"bad_descriptor": 4}, {})


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
def test_from_one_port_to_another(heddle, place, role, kernels):
    frames = numbered(1000)
    with Mirror(heddle, place, role, kernels=kernels, ports=2) as mirror:
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


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
def test_a_peer_that_takes_nothing_stops_the_other(heddle, place, role, kernels):
    frames = numbered(64 * 4)
    with Mirror(heddle, place, role, kernels=kernels) as mirror:
        peer, sent = mirror.peer(), 0

        def full():
            nonlocal sent
            sent += peer.send(frames[sent:])
            return sent == 128 and peer.room() == 0

        wait_until(full, what="both rings full")  # 64 came through, 64 wait
        assert read_handler(mirror.control, "FromGPUPort@1.count") == "64"
        right(frames, peer.receive() + peer.exchange(frames[sent:], len(frames) - 64))
        mirror.end()


def test_peers_come_and_go_as_often_as_they_like(heddle, place):
    """Their memory is given back while kernels of other ports are resident."""
    chain, frames = "", numbered(100)
    for name in "ab":
        kernels = {"a": "fused", "b": "split"}[name]
        port = f"SOCKET {place}/{name}, ROLE server, KERNELS {kernels}, NDESC 64"
        chain += f"FromGPUPort({name}, {port}) -> EtherMirror -> ToGPUPort({name}); "
    with heddle.start_ready("run", "--json", "-e", chain, *SIMT) as running:
        with memif.Client(f"{place}/a", 1, 6) as other:
            for _ in range(50):
                with memif.Client(f"{place}/b", 1, 6) as peer:
                    right(frames, peer.exchange(frames))
                right(frames, other.exchange(frames))
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    assert Report(result.json).received == 100 * len(frames)


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
def test_functions_on_the_way(heddle, place, role, kernels):
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
    with Mirror(heddle, place, role, kernels=kernels, chain=chain) as mirror:
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


@KERNELS
def test_frames_too_long_for_the_buffers_of_a_peer(heddle, place, kernels):
    """Those that a server sends on, from one port to another."""
    frames = numbered(1000, least=60, most=200)
    kept = [frame for frame in frames if len(frame) <= 100]
    with Mirror(heddle, place, "server", kernels=kernels, ports=2) as mirror:
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


@KERNELS
def test_a_table_that_changes(heddle, place, kernels):
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

    with Mirror(heddle, place, kernels=kernels, chain=chain) as mirror:
        peer = mirror.peer()
        for _ in range(5):
            assert peer.exchange([frame] * 200) == [frame] * 200
            write(mirror, "l.add 10.1.2.0/25 1")
            assert peer.exchange([frame] * 200) == [other] * 200
            write(mirror, "l.remove 10.1.2.0/25")
        mirror.end()


def test_a_switch_learns(heddle, place):
    """From what the GPU tells the host, though no packet thread has packets. Of addresses that share a place
    (News::told), a GPU tells one at a time: the next packet of another is told then."""
    chain = "Paint(0) -> sw :: L2Switch; sw[0] -> m :: EtherMirror; sw[1] -> m; sw[2] -> m; m"
    hosts = [bytes([2, 0, 0, 0, 0, n]) for n in range(20)]
    frames = [bytes([2, 0, 0, 0, 1, 0]) + host + bytes(50) for host in hosts]
    with Mirror(heddle, place, chain=chain) as mirror:
        peer = mirror.peer()
        table = "".join(f"02-00-00-00-00-{n:02X} 0 learned\n" for n in range(20))

        def learned_all():
            right(frames, peer.exchange(frames))
            return read_handler(mirror.control, "sw.table") == table

        wait_until(learned_all, what="the table")
        assert mirror.end().one("sw")["statistics"]["learned"] == 20


MISTAKES = {
    "FromGPUPort(a, SOCKET x) -> EtherMirror(DEVICE cpu) -> ToGPUPort(a)": "FromGPUPort 'FromGPUPort@1': what it receives "
    "stays on a GPU up to a ToGPUPort, but EtherMirror 'EtherMirror@2', on its way, does not run with it there; give "
    "EtherMirror@2 DEVICE gpu, or run with --device gpu",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> Print -> EtherMirror -> ToGPUPort(a)": "Print 'Print@3', on its way, does "
    "not run with it there; take it out, or use FromDPDKDevice and ToDPDKDevice",
    "FromGPUPort(a, SOCKET x) -> ToGPUPort(a)": "put a function between the two ports",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> Discard": "Discard 'Discard@3', on its way, does not run with it there",
    "FromGPUPort(a, SOCKET x) -> XOR(1) -> Unstrip(14) -> ToGPUPort(a)": "put a Strip of as many bytes before it, or take it "
    "out: it puts back what has been stripped",
    "FromDump(x) -> EtherMirror -> ToGPUPort(a, SOCKET x)": "ToGPUPort 'ToGPUPort@3': packets come to it from EtherMirror "
    "'EtherMirror@2', not from a FromGPUPort on its GPU",
    "FromGPUPort(a) -> EtherMirror -> ToGPUPort(a)": "SOCKET is missing: where is the peer of port a found?",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> ToGPUPort(a, SOCKET y)": "SOCKET: FromGPUPort 'FromGPUPort@1' gives the "
    "arguments of port a already",
    "FromGPUPort(a, SOCKET x, ROLE server) -> EtherMirror -> ToGPUPort(b, SOCKET y/../x, ROLE server, ID 1)": "ToGPUPort "
    "'ToGPUPort@3': SOCKET: FromGPUPort 'FromGPUPort@1' at <expression>:1:1 listens there already; give each server a path",
    "FromGPUPort(a, SOCKET x, ID 7) -> EtherMirror -> ToGPUPort(b, SOCKET ./x, ID 7)": "ToGPUPort 'ToGPUPort@3': SOCKET: "
    "FromGPUPort 'FromGPUPort@1' at <expression>:1:1 is the client there with this ID already; give it another ID",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> ToGPUPort(b, SOCKET y, QUEUES 2)": "QUEUES: it has 2 ring pairs, and "
    "packets of 1 leave by it; leave QUEUES out",
    "f :: FromGPUPort(a, SOCKET x) -> l :: DirectIPLookup(0/0 0); l[0] -> ToGPUPort(a); l[1] -> ToGPUPort(b, SOCKET y)": None,
    "FromGPUPort(a, SOCKET x) -> m :: EtherMirror -> ToGPUPort(a); FromDump(y) -> m": "place all functions between the ports "
    "on one GPU, with nothing but FromGPUPorts before them",
    "FromGPUPort(a, SOCKET x) -> EtherMirror -> ToGPUPort(a); FromGPUPort(a) -> EtherMirror -> ToGPUPort(b, SOCKET y)": "is "
    "there already for port a; a port has one of each",
}


@pytest.mark.parametrize("chain", MISTAKES)
def test_chains_that_are_none(heddle, chain):
    found = heddle.fails("plan", "-e", chain, "--device", "simt")
    assert (MISTAKES[chain] or "reads the dst annotation") in found, found


def test_sockets_that_several_ports_may_have(heddle):
    """Clients with IDs of their own, and a server with its own client."""
    for first, second in (("", ", ID 1"), (", ROLE server", "")):
        chain = f"FromGPUPort(a, SOCKET x{first}) -> EtherMirror -> ToGPUPort(b, SOCKET x{second})"
        heddle.ok("check", "-e", chain, "--device", "simt")


def test_mistakes_of_arguments(heddle):
    chain = "FromGPUPort(a, {}) -> EtherMirror(DEVICE gpu) -> ToGPUPort(a)"
    for arguments, message in {
        "SOCKET x, NDESC 100": "NDESC: '100' is not a power of two",
        "QUEUES 2": "SOCKET is missing",
        "WARP_BATCH 64": "SOCKET is missing",
        "SOCKET x, WARP_BATCH 48": "WARP_BATCH: '48' is not a multiple of 32, up to 10240",
        "SOCKET x, WARP_BATCH 10272": "WARP_BATCH: '10272' is not",
        "SOCKET x, WARP_BATCH 480, KERNELS split": "WARP_BATCH: '480' is not at most 448 with KERNELS split",
        "SOCKET x, KERNELS three": "KERNELS: 'three' is not one of fused, split",
        "KERNELS split": "SOCKET is missing",
        "SOCKET x, ROLE peer": "ROLE: 'peer' is not one of client, server",
        "SOCKET x, SECRET 123456789012345678901234": "of 23 bytes at most",
    }.items():
        assert message in mistakes(heddle, chain.format(arguments))[0][2]


def test_the_plan_says_so(heddle):
    text = heddle.ok("plan", CHAINS / "gpu_ports.click", *SIMT).out
    assert "segment 0 on simt (rings of mirror and mirror, driven by the GPU)" in text
    plan = heddle.ok("plan", "--json", CHAINS / "gpu_ports.click", *SIMT).json
    assert [segment["launch"] for segment in plan["segments"]] == ["rings"]


@KERNELS
def test_the_plan_says_how_many_kernels_there_are(heddle, kernels):
    chain = f"FromGPUPort(a, SOCKET x, KERNELS {kernels}) -> XOR(17) -> XOR(34) -> ToGPUPort(a)"
    text = heddle.ok("plan", "-e", chain, *SIMT).out
    assert ("three kernels serve a pair" in text) is (kernels == "split")
    assert ("several multiprocessors serve a pair" in text) is (kernels == "fused")
    (segment,) = heddle.ok("plan", "--json", "-e", chain, *SIMT).json["segments"]
    assert (segment["rings_split"], segment["rings_spread"]) == (kernels == "split", kernels == "fused")


@pytest.mark.usefixtures("demonstration_keys")
@pytest.mark.parametrize(("chain", "spread"), [("gpu_ports.click", False), ("gpu_c1.click", True)])
def test_functions_that_go_over_whole_packets_have_several_multiprocessors(heddle, chain, spread):
    plan = heddle.ok("plan", "--json", CHAINS / chain, *SIMT).json
    assert [segment["rings_spread"] for segment in plan["segments"]] == [spread]
    assert ("several multiprocessors serve a pair" in heddle.ok("plan", CHAINS / chain, *SIMT).out) is spread
