"""GPU ports on simt against all kinds of peers: DPDK's driver, liars, and such that die."""

import json
import os
import pathlib
import random
import re
import stat
import subprocess
import threading
import time
from collections import Counter

import pytest
from whole import captures, memif
from whole.control import Control
from whole.gpu_ports import KERNELS, SIMT, Mirror, mirrored, numbered, right
from whole.memif import NEXT
from whole.program import TIMEOUT_S, Report, quoted, read_handler, wait_until

LIES = {
    "region": [{"region": 7}, {"region": 0}],
    "offset": [{"offset": 0}, {"offset": 0xFFFFFFF0}, {"offset": 1 << 20}],
    "length": [{"length": 0}, {"length": 2049}, {"length": 0xFFFFFFFF}],
}


@pytest.mark.parametrize("rate", [0, 2000])
@pytest.mark.parametrize("drops", [False, True])
def test_the_benchmark_of_a_process_that_recirculates(heddle, heddle_bench, place, drops, rate):
    """What its records say is what the router has seen, also where it drops packets; latencies are only known where it
    drops none."""
    socket, records = f"{place}/wire.sock", f"{place}/records.jsonl"
    lookup = "CheckIPHeader(14, DEVICE gpu) -> DirectIPLookup(0.0.0.0/1 0) ->" if drops else ""
    chain = f"FromGPUPort(a, SOCKET {quoted(socket)}, QUEUES 2, NDESC 64) -> {lookup} EtherMirror -> ToGPUPort(a)"
    point = f"socket={socket} queues=2 size=128 seconds=1 threads=2 rate={rate}"
    words = [heddle_bench, "--probe", "memif-peer", "--json", records, point]
    begun = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as peer:
        wait_until(lambda: os.path.exists(socket), what="the peer's socket")
        with heddle.start("run", "--json", "-e", chain, *SIMT) as running:
            _, errors = peer.communicate(timeout=TIMEOUT_S)
            report = Report(running.interrupt().json)
    assert peer.returncode == 0, errors
    (values,) = (json.loads(line)["values"] for line in pathlib.Path(records).read_text(encoding="utf-8").splitlines())
    sent, came_back = (values[name]["median"] for name in ("sent", "came_back"))
    assert sent == report.received > 0
    assert came_back == report.one("ToGPUPort")["packets"] == sent - report.dropped
    assert (report.dropped > 0) == drops
    latencies = [values[name]["median"] for name in ("latency_p50", "latency_p99", "latency_p999") if name in values]
    assert len(latencies) == (3 if rate and not drops else 0)
    assert latencies == sorted(latencies) and all(latency > 0 for latency in latencies)
    if rate:
        assert sent <= rate * (time.monotonic() - begun) + 2  # one more in each queue


@KERNELS
@pytest.mark.parametrize("what", LIES)
def test_descriptors_that_lie_to_a_client(heddle, place, what, kernels):
    """It knows where its buffers are, whatever the peer writes."""
    frames = numbered(400)
    with Mirror(heddle, place, kernels=kernels) as mirror:
        peer, lies = mirror.peer(), LIES[what]
        for number, frame in enumerate(frames):
            if number % 40 < len(lies):
                wait_until(lambda: peer.room() > 0)
                assert peer.send([bytes(20)], **lies[number % 40]) == 1
            assert peer.exchange([frame]) == [mirrored(frame)]
        report = mirror.end()
    assert report.drops("FromGPUPort") == {"bad_descriptor": 10 * len(lies)}


@KERNELS
def test_descriptors_that_lie_to_a_server(heddle, place, kernels):
    """It believes what lies within the peer's memory, and nothing else."""
    frames = numbered(400)
    with Mirror(heddle, place, "server", kernels=kernels) as mirror:
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


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
def test_packets_in_several_buffers_are_dropped_whole(heddle, place, role, kernels):
    """Chains of up to 70 descriptors, which no warp sees as a whole."""
    values, frames, chained, wanted = random.Random(5), numbered(1000), 0, []
    with Mirror(heddle, place, role, kernels=kernels, size=256) as mirror:
        peer, got, at = mirror.peer(), [], 0

        def send():
            nonlocal at, chained
            while at < len(frames) and peer.room() > 70:  # a chain, and a frame behind it
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


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("which", ["filled", "emptied"])
def test_indices_that_lie_end_the_connection(heddle, place, role, which, kernels):
    frames = numbered(300)
    with Mirror(heddle, place, role, kernels=kernels) as mirror:
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


@KERNELS
@pytest.mark.parametrize("role", ["client", "server"])
def test_peers_that_die_and_return(heddle, place, role, kernels):
    """With packets under way, which are the dead peer's; other packets are not touched."""
    with Mirror(heddle, place, role, kernels=kernels) as mirror:
        for turn in range(6):
            with mirror.peer() as peer:
                frames = numbered(500 + turn, seed=turn)
                right(frames, peer.exchange(frames))
                peer.send(frames[:64])
        report = mirror.end()
    assert 6 * 500 < report.received <= 6 * 570
    assert report.one("FromGPUPort")["statistics"]["connections"] == 6


@KERNELS
def test_one_of_two_peers_dies_and_returns(heddle, place, kernels):
    """What the other one has sent waits, and goes on in order."""
    frames = numbered(2000)
    with Mirror(heddle, place, kernels=kernels, ports=2) as mirror:
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
        wait_until(lambda: read_handler(mirror.control, "out.connected") == "false")
        waiting = one.send(frames[sent : sent + 64])
        sent += waiting
        assert waiting == 64 and one.room() == 0
        other = mirror.peer(1)
        wait_until(lambda: forward(len(frames)), what="the rest")
        right(frames, got)
        mirror.end()


@KERNELS
@pytest.mark.parametrize("takes", [True, False])
def test_a_peer_floods_one_port(heddle, place, takes, kernels):
    """As fast as it can, with packets that are too short and descriptors that lie among the others, taking what comes
    back or not. The port beside it serves its peer, slow or not, and each counts its own."""
    chain, control = "", f"{place}/control"
    for name in ("flooded", "other"):
        port = f"SOCKET {place}/{name}, ROLE server, KERNELS {kernels}, NDESC 64"
        chain += f"f_{name} :: FromGPUPort({name}, {port}) -> {name} :: EtherMirror -> t_{name} :: ToGPUPort({name}); "
    sent, back, ends = Counter(), [], threading.Event()
    good, short = numbered(1)[0], bytes(11)
    kinds = {"good": (good, {}), "short": (short, {}), "bad": (good, {"length": 0})}

    def flood(peer):
        values = random.Random(1)
        while not ends.is_set():
            kind = values.choice(list(kinds))
            frame, lies = kinds[kind]
            sent[kind] += peer.send([frame] * values.randint(1, 64), **lies)
            if takes:
                back.extend(peer.receive())

    with (
        heddle.start_ready("run", "--json", "-u", control, "-e", chain, *SIMT) as running,
        memif.Client(f"{place}/flooded", 1, 6) as flooder,
        memif.Client(f"{place}/other", 1, 6) as other,
    ):
        thread = threading.Thread(target=flood, args=[flooder])
        thread.start()
        try:
            frames = numbered(1200)
            for frame in frames[:200]:
                assert other.exchange([frame]) == [mirrored(frame)]
            right(frames[200:], other.exchange(frames[200:]))
            if takes:
                wait_until(lambda: sent["good"] > 2000 and len(sent) == 3, what="a flood")
            else:
                wait_until(lambda: flooder.room() == 0 and flooder.filled() == 64, what="both rings full")
        finally:
            ends.set()
            thread.join()

        def drained():
            back.extend(flooder.receive())
            return flooder.room() == 64 and len(back) == sent["good"]

        wait_until(drained, what="all that was sent")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    assert set(back) == {mirrored(good)}
    report = Report(result.json)
    counts = {name: report.one(name)["packets"] for name in ("f_flooded", "flooded", "t_flooded")}
    assert counts == {"f_flooded": sent.total(), "flooded": sent["good"] + sent["short"], "t_flooded": sent["good"]}
    assert report.drops("f_flooded") == {name: n for name, n in {"bad_descriptor": sent["bad"]}.items() if n}
    assert report.drops("flooded") == {name: n for name, n in {"short": sent["short"]}.items() if n}
    for name in ("f_other", "other", "t_other"):
        assert report.one(name)["packets"] == len(frames) and report.drops(name) == {}


def test_both_ends_say_why_there_is_no_connection(heddle, place):
    chain = f"FromGPUPort(a, SOCKET {quoted(f'{place}/a.sock')}, {{}}) -> EtherMirror -> ToGPUPort(a)"
    with heddle.start("run", "--json", "-e", chain.format("ROLE server, SECRET right"), *SIMT) as server:
        wait_until(lambda: os.path.exists(f"{place}/a.sock"), what="the server's socket")
        with heddle.start("run", "--json", "-e", chain.format("SECRET wrong"), *SIMT) as client:
            for end in (client, server):
                line = end.process.stderr.readline().decode()
                assert line.startswith(f"heddle: GPU port a: no connection at {place}/a.sock: ") and "secret" in line
                assert "right" not in line and "wrong" not in line.replace("wrong secret", "")
            assert client.interrupt().code == 0
        assert server.interrupt().code == 0


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
        f"from :: FromDump({quoted(source)}, ACTIVE false) -> Queue({len(frames)}) -> RatedUnqueue(2000)"
        " -> ToDPDKDevice(net_memif0)"  # which drops packets when a full ring stays so for 100 ms
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
            Control(control).write("from.active", "true")
            bytes_wanted = 24 + sum(16 + len(frame) for frame in frames)
            wait_until(lambda: out.exists() and out.stat().st_size >= bytes_wanted, 60, "the frames")
            results = {second: two.interrupt()}
        results[first] = one.interrupt()
    assert all(result.code == 0 for result in results.values()), results
    report = Report(results[start_mirror].json)
    assert report.received == report.one("ToGPUPort")["packets"] == len(frames)
    right(frames, captures.frames(out))


@pytest.mark.parametrize("keyword", ["SOCKET", "NIC_SOCKET"])
def test_who_calls_nobody_says_so(heddle, place, keyword):
    """Once, after two seconds."""
    path = f"{place}/missing/a.sock"
    chain = f"FromGPUPort(a, {keyword} {path}) -> EtherMirror -> ToGPUPort(a)"
    with heddle.start("run", "-e", chain, *SIMT) as running:
        line = running.process.stderr.readline().decode()
        assert line == f"heddle: GPU port a: its peer is not there: socket '{path}': No such file or directory\n"
        result = running.interrupt()
    assert (result.code, result.err) == (0, "")


def test_a_server_that_cannot_listen_names_its_element(heddle, place):
    chain = f"FromGPUPort(a, SOCKET {place}/missing/a.sock, ROLE server) -> EtherMirror -> p :: ToGPUPort(a)"
    message = "<expression>:1:1: FromGPUPort 'FromGPUPort@1': SOCKET: socket '"
    assert message in heddle.fails("run", "-e", chain, *SIMT)
