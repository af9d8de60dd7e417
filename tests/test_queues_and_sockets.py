"""RED, MixedQueue, Bypass, Socket, and the host's own interface, against models and Python's sockets."""

import collections
import os
import random
import socket
import subprocess

import pytest
from whole import captures, network
from whole.control import Control
from whole.program import Program, free_port, quoted, read_handler, wait_for_count, wait_until

RANDOM = random.Random(1917)


def run(heddle, chain, *args):
    return heddle.run(chain, *args)


# --- RED


def red(heddle, length, arguments, packets):
    """The gaps between drops of RED where `length` packets wait in the queue that it looks at."""
    chain = f"""InfiniteSource(LIMIT {length}, STOP false) -> q :: Queue(1000) -> Unqueue(ACTIVE false) -> Discard;
        i :: InfiniteSource(DATA x, LIMIT {packets}, ACTIVE false, STOP false) -> r :: RED({arguments}, QUEUES q)
          -> a :: Counter -> Discard; r [1] -> b :: Counter -> Discard;
        Script(label l, wait 1ms, goto l $(lt $(q.length) {length}), write i.active true,
          label m, wait 1ms, goto m $(lt $(add $(a.count) $(b.count)) {packets}), print $(r.avg_queue_size), stop)"""
    result = heddle.ok("run", "--simtime", "--quiet", "-e", chain, "-h", "a.count", "-h", "b.count", "-h", "r.drops")
    average, *rest = result.out.split()
    passed, dropped, drops = (int(rest[i]) for i in (1, 3, 5))
    assert passed + dropped == packets and drops == dropped
    return float(average), dropped / packets


def paper(length, low, high, most, packets):
    """The share that the algorithm of the paper drops, method 2, gentle; the average is the length."""
    if length <= low:
        return 0
    p = most * (length - low) / (high - low) if length <= high else most + (1 - most) * (length - high) / high
    count = drops = 0
    for _ in range(packets):
        if p >= 1 or RANDOM.random() < p / max(1 - count * p, 1e-12):
            drops, count = drops + 1, 0
        else:
            count += 1
    return drops / packets


@pytest.mark.parametrize("length", [5, 10, 15, 20, 30, 39, 41])
def test_red_drops_the_share_of_the_paper(heddle, length):
    average, share = red(heddle, length, "10, 20, 0.1, STABILITY 0", 40_000)
    assert average == length
    wanted = paper(length, 10, 20, 0.1, 400_000)
    assert wanted in (0, 1) and share == wanted or abs(share - wanted) < 0.03 * max(wanted, 0.2), (share, wanted)


def test_red_follows_the_queue_slowly(heddle):
    for packets in (1, 7, 30):
        average, _ = red(heddle, 15, "100, 200, 0.1, STABILITY 3", packets)
        assert abs(average - 15 * (1 - (1 - 1 / 8) ** packets)) < 0.001


def test_red_counts_what_it_lets_into_its_queue(heddle):
    """Nobody pulls: with gentle drops up to twice MAX_THRESH no more than that many get in, at least MIN_THRESH do."""
    chain = "InfiniteSource(LIMIT 5000, BURST 64) -> r :: RED(10, 20, 0.5, STABILITY 0) -> q :: Queue(1000) -> Unqueue(ACTIVE false) -> Discard"
    report = run(heddle, chain)
    left = report.one("q")["statistics"]["left"]
    assert 20 <= left <= 41 and report.drops("r") == {"early": 5000 - left} and report.drops("q") == {}


def test_red_pulled_finds_the_queue_before_it(heddle):
    chain = (
        "InfiniteSource(LIMIT 10) -> q1 :: Queue -> r :: RED(1, 2, 1) -> Unqueue -> q2 :: Queue -> Unqueue -> Discard;"
        "s :: InfiniteSource(LIMIT 10) -> p :: RED(1, 2, 1) -> Null -> q3 :: Queue -> Unqueue -> Discard"
    )
    out = heddle.ok("run", "--quiet", "-e", chain, "-h", "r.queues", "-h", "p.queues", "-h", "r.min_thresh").out
    assert out.replace("\n", " ").split() == ["r.queues:", "q1", "p.queues:", "q3", "r.min_thresh:", "1"]


def test_red_mistakes(heddle):
    for chain, message in (
        ("Idle -> RED(5, 4, 0.1) -> Queue -> Discard", "MIN_THRESH is greater"),
        ("Idle -> RED(5, 10, 1.5) -> Queue -> Discard", "MAX_P"),
        ("Idle -> RED(5, 10, 0.5) -> Discard", "no queue"),
        ("c :: Counter; Idle -> RED(5, 10, 0.5, QUEUES c) -> c -> Discard", "'c' is no queue"),
        ("Idle -> RED(5, 10, 0.5, QUEUES x) -> Queue -> Discard", "no element is called 'x'"),
    ):
        assert message in heddle.fails("check", "-e", chain)


# --- MixedQueue


def test_mixed_queue_against_a_model(heddle, tmp_path):
    capacity, waiting, dropped = 40, collections.deque(), []
    frames = [b"%03d" % n + (b"L" if RANDOM.random() < 0.4 else b"F") for n in range(200)]
    for frame in frames:
        if len(waiting) < capacity:
            waiting.appendleft(frame) if frame.endswith(b"L") else waiting.append(frame)
        elif frame.endswith(b"L"):
            dropped.append(waiting.pop())
            waiting.appendleft(frame)
        else:
            dropped.append(frame)
    captures.write(tmp_path / "in.pcap", frames)
    for burst in (1, 1024):  # all at once, or a packet after the other
        chain = (
            f"FromDump({quoted(tmp_path / 'in.pcap')}, BURST {burst}) -> c :: Classifier(3/46, 3/4c);"
            f"c -> m :: MixedQueue({capacity}); c[1] -> [1] m; m -> u :: Unqueue(ACTIVE false) -> ToDump({tmp_path}/out.pcap);"
            "Script(label l, wait 1ms, goto l $(lt $(add $(m.length) $(m.drops)) 200), write u.active true, end)"
        )
        if burst == 1:
            report = run(heddle, chain)
            assert captures.frames(tmp_path / "out.pcap") == list(waiting)
            assert report.drops("m") == {"full": len(dropped)}
            assert report.one("m")["statistics"]["highwater_length"] == capacity


def test_mixed_queue_of_another_capacity(heddle, tmp_path):
    """Those that wait stay, in their order; the new capacity holds for those that come."""
    capacities, waiting, drops = (40, 70, 20, 90), collections.deque(), 0
    chain, steps = (
        "m :: MixedQueue(40) -> u :: Unqueue(ACTIVE false) -> ToDump($out); all :: Null -> c :: Classifier(3/46, 3/4c);",
        [],
    )
    chain += "c -> m; c[1] -> [1]m;"
    for phase, capacity in enumerate(capacities):
        frames = [b"%d%02d" % (phase, n) + (b"L" if RANDOM.random() < 0.3 else b"F") for n in range(60)]
        for frame in frames:
            if len(waiting) >= capacity:
                drops += 1
                if frame.endswith(b"F"):
                    continue
                waiting.pop()
            waiting.appendleft(frame) if frame.endswith(b"L") else waiting.append(frame)
        captures.write(tmp_path / f"{phase}.pcap", frames)
        chain += f"s{phase} :: FromDump({quoted(tmp_path / f'{phase}.pcap')}, BURST 1, ACTIVE false, STOP false) -> n{phase} :: Counter -> all;"
        steps += [f"write m.capacity {capacity}", f"write s{phase}.active true"]
        steps += [f"label l{phase}, wait 1ms, goto l{phase} $(lt $(add $(m.length) $(m.drops)) {len(waiting) + drops})"]
    chain += f"Script({', '.join(steps)}, print $(m.capacity) $(m.drops) $(m.length), write u.active true,"
    chain += " label m, wait 1ms, goto m $(gt $(m.length) 0), stop)"
    result = heddle.ok("run", "--quiet", "-e", chain.replace("$out", quoted(tmp_path / "out.pcap")))
    assert result.out.split() == ["90", str(drops), str(len(waiting))]
    assert captures.frames(tmp_path / "out.pcap") == list(waiting)


def test_mixed_queue_keeps_annotations(heddle):
    chain = (
        "InfiniteSource(LIMIT 300) -> Paint(1) -> m :: MixedQueue(1000) -> u :: Unqueue -> s :: PaintSwitch;"
        "InfiniteSource(LIMIT 200) -> Paint(2) -> [1] m; s[0] -> z :: Counter -> Discard;"
        "s[1] -> a :: Counter -> Discard; s[2] -> b :: Counter -> Discard"
    )
    report = run(heddle, chain)
    assert [report.count(name) for name in "zab"] == [0, 300, 200]


# --- Bypass


def test_bypass_switches(heddle):
    chain = (
        "i :: InfiniteSource(LIMIT 10, STOP false) -> b :: Bypass({}) -> d :: Discard; b[1] -> c :: Counter -> d;"
        "Script(label l, wait 1ms, goto l $(lt $(i.count) 10), wait 1s, print $(b.active) $(c.count), write b.active true,"
        "write i.reset, label m, wait 1ms, goto m $(lt $(c.count) 10), wait 1s, print $(b.active) $(c.count), stop)"
    )
    out = heddle.ok("run", "--simtime", "--quiet", "-e", chain.format("")).out.splitlines()
    assert out == ["false 0", "true 10"]
    assert (
        run(heddle, "InfiniteSource(LIMIT 7) -> b :: Bypass(true) -> Discard; b[1] -> c :: Counter -> Discard").count(
            "c"
        )
        == 7
    )


# --- McastSocket


def multicast_namespace(space):
    space.call("ip", "link", "set", "lo", "multicast", "on")
    space.call("ip", "route", "add", "224.0.0.0/4", "dev", "lo")


MEMBER = """
import socket, struct, sys
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("239.7.7.7", 9000))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.7.7.7") + socket.inet_aton("127.0.0.1"))
s.settimeout(60)
print("ready", flush=True)
for _ in range(20):
    data, (address, port) = s.recvfrom(2048)
    print(data.decode(), address, port, flush=True)
out = socket.socket(type=socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
for i in range(20):
    out.sendto(b"back %d" % i, ("239.7.7.7", 9000))
sys.stdin.read()
"""


@pytest.mark.usefixtures("root")
def test_mcast_socket_sends_and_receives_but_not_its_own(heddle, tmp_path):
    """20 packets to a member of the group; its 20 answers come back, and none of the own ones."""
    captures.write(tmp_path / "in.pcap", [b"number %02d...." % n for n in range(20)])
    chain = f"""f :: FromDump({quoted(tmp_path / "in.pcap")}, ACTIVE false) -> Truncate(9) -> m :: McastSocket(239.7.7.7, 9000, 127.0.0.1, 9001)
        -> c :: Counter -> ToDump({quoted(tmp_path / "out.pcap")});
        Script(write f.active true, label l, wait 1ms, goto l $(lt $(c.count) 20), stop);"""
    with network.namespaces(1) as (space,):
        multicast_namespace(space)
        with subprocess.Popen(
            space.command("/usr/bin/python3", "-c", MEMBER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as member:
            assert member.stdout.readline() == "ready\n"
            inside = Program(heddle.path, space.command())
            report = inside.run(chain)
            got = [member.stdout.readline().strip() for _ in range(20)]
            member.stdin.close()
    assert got == [f"number {n:02} 127.0.0.1 9001" for n in range(20)]
    assert captures.frames(tmp_path / "out.pcap") == [b"back %d" % n for n in range(20)]
    assert report.count("c") == 20 and report.all["dropped"] == 0


@pytest.mark.usefixtures("root")
def test_mcast_socket_loops(heddle):
    # What another sends behind them says that all have come that will.
    chain = """InfiniteSource(hello, 5, STOP false) -> m :: McastSocket(239.7.7.8, 9000, LOOP {}) -> k :: Classifier(0/68, -);
        k[0] -> c :: Counter -> Discard; k[1] -> e :: Counter -> Discard;
        last :: InfiniteSource(x, 1, ACTIVE false, STOP false) -> McastSocket(239.7.7.8, 9000);
        Script(label l, wait 1ms, goto l $(lt $(m.sent) 5), write last.active true, label n, wait 1ms, goto n $(lt $(e.count) 1),
               print "$(m.sent) $(c.count)", stop);"""
    with network.namespaces(1) as (space,):
        # Not by lo, which brings back all that leaves.
        space.call("ip", "link", "add", "near", "type", "veth", "peer", "name", "far")
        space.call("ip", "address", "add", "10.5.0.1/24", "dev", "near")
        space.call("ip", "link", "set", "far", "up")
        space.call("ip", "link", "set", "near", "up", "multicast", "on")
        space.call("ip", "route", "add", "224.0.0.0/4", "dev", "near")
        inside = Program(heddle.path, space.command())
        for loop, heard in (("true", 5), ("false", 0)):
            assert inside.ok("run", "--quiet", "-e", chain.format(loop)).out.split() == ["5", str(heard)]
        assert "no interface has SOURCEIP" in inside.fails(
            "run", "-e", "Idle -> McastSocket(239.7.7.7, 9000, 192.0.2.77)"
        )


# --- Socket


def messages(count, longest=1400):
    return [b"%d:" % n + RANDOM.randbytes(RANDOM.randrange(longest)) for n in range(count)]


@pytest.mark.parametrize("kind", ["UDP", "UNIX_DGRAM"])
def test_datagrams_come_back(heddle, tmp_path, kind):
    control = tmp_path / "control"
    if kind == "UDP":
        address = ("127.0.0.1", free_port())
        arguments, client = f"UDP, 127.0.0.1, {address[1]}", socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    else:
        address = str(tmp_path / "server")
        arguments, client = f"UNIX_DGRAM, {quoted(address)}", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        client.bind(str(tmp_path / "client"))
    with (
        client,
        heddle.start_ready(
            "run", "--json", "-u", control, "-e", f"s :: Socket({arguments}) -> c :: Counter -> s"
        ) as running,
    ):
        client.settimeout(60)
        for message in messages(50):
            client.sendto(message, address)
            assert client.recv(2048) == message
        wait_for_count(control, "s.sent", 50)
        result = running.interrupt()
    assert result.code == 0 and not os.path.exists(str(tmp_path / "server")), result
    assert result.json["dropped"] == 0


TABLES = """allow :: RadixIPLookup({}) -> Discard; deny :: DirectIPLookup({}) -> Discard;
    Idle -> GetIPAddress(16) -> allow; Idle -> GetIPAddress(16) -> deny;"""


@pytest.mark.parametrize("kind", ["UDP", "TCP"])
def test_a_server_serves_those_that_allow_and_deny_say(heddle, tmp_path, kind):
    control, address = tmp_path / "control", ("127.0.0.1", free_port())
    chain = TABLES.format("127.0.0.2/32 0", "127.0.0.0/8 0") + (
        f"s :: Socket({kind}, 127.0.0.1, {address[1]}, ALLOW allow, DENY deny) -> s"
    )

    def denied():
        return int(read_handler(control, "s.denied"))

    def asks(source, served):
        before = denied()
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "TCP" else socket.SOCK_DGRAM) as client:
            client.settimeout(60)
            client.bind((source, 0))
            client.connect(address)
            client.sendall(b"hello")
            if served:
                assert client.recv(100) == b"hello"
            else:
                wait_until(lambda: denied() == before + 1)
        assert denied() == before + (0 if served else 1)

    with heddle.start_ready("run", "--json", "-u", control, "-e", chain) as running:
        asks("127.0.0.2", served=True)
        asks("127.0.0.3", served=False)
        asks("127.0.0.2", served=True)  # it serves on
        Control(control).write("deny.remove", "127.0.0.0/8")
        asks("127.0.0.3", served=True)
        result = running.interrupt()
    assert result.code == 0, result


def test_allow_and_deny_are_tables_of_a_server(heddle):
    socket_of = "Socket(UDP, 127.0.0.1, 9, {}) -> Discard".format
    assert "DENY: 'd' is no table of routes" in heddle.fails(
        "check", "-e", "d :: Idle -> Discard; " + socket_of("DENY d")
    )
    assert "ALLOW: 'x' is no table of routes" in heddle.fails("check", "-e", socket_of("ALLOW x"))
    assert "this is a client" in heddle.fails("check", "-e", socket_of("ALLOW x, CLIENT true"))
    assert "unknown keyword 'DENY'" in heddle.fails("check", "-e", "Socket(UNIX_DGRAM, x, DENY d) -> Discard")


@pytest.mark.parametrize("kind", ["TCP", "UNIX"])
def test_streams_serve_one_client_after_the_other(heddle, tmp_path, kind):
    address = ("127.0.0.1", free_port()) if kind == "TCP" else str(tmp_path / "server")
    family = socket.AF_INET if kind == "TCP" else socket.AF_UNIX
    arguments = f"TCP, 127.0.0.1, {address[1]}" if kind == "TCP" else f"UNIX, {quoted(address)}"
    with heddle.start_ready("run", "--json", "-e", f"s :: Socket({arguments}) -> s") as running:
        for size in (1, 1000, 300_000):
            text = RANDOM.randbytes(size)
            with socket.socket(family) as client:
                client.settimeout(60)
                client.connect(address)
                received = b""
                for start in range(0, size, 50_000):
                    client.sendall(text[start : start + 50_000])
                    while len(received) < min(size, start + 50_000):
                        received += client.recv(65536)
                assert received == text
        result = running.interrupt()
    assert result.code == 0 and result.json["dropped"] == 0, result


def test_clients_connect(heddle, tmp_path):
    frames = messages(40)
    captures.write(tmp_path / "in.pcap", frames)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(60)
        heddle.ok(
            "run",
            "--quiet",
            "-e",
            f"FromDump({quoted(tmp_path / 'in.pcap')}) -> Socket(UDP, 127.0.0.1, {server.getsockname()[1]})",
        )
        assert [server.recv(2048) for _ in frames] == frames
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(60)
        chain = f"FromDump({quoted(tmp_path / 'in.pcap')}) -> s :: Socket(TCP, 127.0.0.1, {server.getsockname()[1]}, CLIENT true) -> ToDump({tmp_path}/out.pcap)"
        with heddle.start("run", "--json", "-e", chain) as running:
            peer, _ = server.accept()
            with peer:
                peer.settimeout(60)
                wanted, got = b"".join(frames), b""
                while len(got) < len(wanted):
                    got += peer.recv(65536)
                assert got == wanted
                peer.sendall(b"and back")
            result = running.wait()  # it ends with its connection
    assert result.code == 0, result
    assert b"".join(captures.frames(tmp_path / "out.pcap")) == b"and back"


@pytest.mark.parametrize("transport", ["direct", "gather", "coalescent", "commlist"])
def test_a_gpu_between_a_socket_and_itself(heddle, transport):
    """The chain goes back: what the GPU has changed is read where it began."""
    address = ("127.0.0.1", free_port())
    chain = f"s :: Socket(UDP, {address[0]}, {address[1]}) -> EtherMirror -> s"
    gpu = ("--device", "simt", "--launch", "async", "--transport", transport)
    with (
        heddle.start_ready("run", "--json", *gpu, "-e", chain) as running,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        client.settimeout(60)
        for size in (64, 12, 1400):
            frame = RANDOM.randbytes(size)
            client.sendto(frame, address)
            assert client.recv(2048) == frame[6:12] + frame[:6] + frame[12:]
        result = running.interrupt()
    assert result.code == 0, result


def test_sockets_without_a_peer(heddle, tmp_path):
    chain = f"InfiniteSource(LIMIT 5) -> s :: Socket(UNIX_DGRAM, {quoted(tmp_path / 'x')}) -> Discard; Script(wait 1s, stop)"
    assert run(heddle, chain, "--simtime").drops("s") == {"no_peer": 5}
    assert "cannot connect" in heddle.fails("run", "-e", f"Idle -> Socket(UNIX, {quoted(tmp_path / 'nobody')})")
    for arguments, message in (
        ("SCTP, 1.2.3.4, 5", "TYPE"),
        ("TCP, 1.2.3.4", "PORT"),
        (f"UNIX, {'x' * 200}", "has fewer than 108 bytes"),
        ("TCP, 127.0.0.1, 80, CLIENT false", "a server needs an output"),
    ):
        assert message in heddle.fails("check", "-e", f"Idle -> Socket({arguments})")


# --- FromHost, ToHost


def test_the_host_pings_the_program(heddle, root):
    name = f"hd{os.getpid()}h"
    chain = (
        f"h :: FromHost({name}, 198.51.100.1/24, ETHER 02:00:00:00:01:01) -> c :: Classifier(12/0806 20/0001, 12/0800, -);"
        f"t :: ToHost({name}); c[0] -> ARPResponder(198.51.100.0/24 02:00:00:00:01:02) -> t; c[2] -> Discard;"
        "c[1] -> CheckIPHeader(14) -> Strip(14) -> ICMPPingResponder -> EtherEncap(0x0800, 02:00:00:00:01:02, 02:00:00:00:01:01) -> t;"
    )
    with network.namespaces() as (left, _):
        inside = heddle.__class__(heddle.path, left.command())
        with inside.start("run", "--json", "-e", chain) as running:
            wait_until(
                lambda: not running.alive() or "198.51.100.1/24" in left.call("ip", "-o", "address", check=False),
                what="the address",
            )
            assert running.alive(), running.wait()
            assert left.ping("198.51.100.77", 5) == 5
            assert "02:00:00:00:01:01" in left.call("ip", "-o", "link", "show", name)
            result = running.interrupt()
        assert result.code == 0, result
        assert name not in left.call("ip", "-o", "link")


def test_the_host_pings_through_a_tun(heddle, root, tmp_path):
    """The program answers pings to whatever the default route leads to."""
    control = tmp_path / "control"
    chain = "t :: KernelTun(198.51.100.1/24, 198.51.100.2, DEVNAME hdtun0, MTU 1400) -> CheckIPHeader -> ICMPPingResponder -> t"
    with network.namespaces() as (left, _):
        inside = heddle.__class__(heddle.path, left.command())
        with inside.start("run", "--json", "-u", control, "-e", chain) as running:
            wait_until(
                lambda: not running.alive() or read_handler(control, "t.dev_name") == "hdtun0", what="the interface"
            )
            assert running.alive(), running.wait()
            assert left.ping("203.0.113.5", 5, size=1300) == 5
            assert "mtu 1400" in left.call("ip", "link", "show", "hdtun0")
            assert int(read_handler(control, "t.received")) >= 5
            result = running.interrupt()
        assert result.code == 0, result
        assert "hdtun0" not in left.call("ip", "-o", "link")


def test_the_host_pings_through_a_tap(heddle, root, tmp_path):
    """The kernel asks by ARP, is answered, and gets Ethernet frames back that are addressed to ETHER."""
    control = tmp_path / "control"
    chain = (
        "t :: KernelTap(198.51.100.1/24, ETHER 2:0:0:0:0:1, DEVNAME hdtap0, MTU 1400) -> n :: Counter"
        " -> c :: Classifier(12/0806 20/0001, 12/0800); c[0] -> ARPResponder(198.51.100.0/24 2:0:0:0:0:2) -> t;"
        "c[1] -> Strip(14) -> CheckIPHeader -> ICMPPingResponder"
        " -> EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:1) -> t"
    )
    with network.namespaces() as (left, _):
        inside = heddle.__class__(heddle.path, left.command())
        with inside.start("run", "--json", "-u", control, "-e", chain) as running:
            wait_until(
                lambda: not running.alive() or read_handler(control, "t.dev_name") == "hdtap0", what="the interface"
            )
            assert running.alive(), running.wait()
            assert left.ping("198.51.100.5", 5, size=1372) == 5  # frames of MTU and header
            said = left.call("ip", "link", "show", "hdtap0")
            assert "mtu 1400" in said and "02:00:00:00:00:01" in said
            assert int(read_handler(control, "t.received")) >= 6  # ARP, and what the kernel sends by IPv6
            assert int(read_handler(control, "t.received")) == int(read_handler(control, "n.count"))
            assert int(read_handler(control, "t.sent")) >= 6
            result = running.interrupt()
        assert result.code == 0, result
        assert "hdtap0" not in left.call("ip", "-o", "link")


def test_from_host_mistakes(heddle):
    for arguments, message in (
        ("tap0, 10.0.0.1", "such as 192.0.2.1/24"),
        ("tap0, 10.0.0.1/24, 10.0.1.1", "GATEWAY is not in the network"),
        ("'a name', 10.0.0.1/24", "is not the name of a kernel interface"),
    ):
        assert message in heddle.fails("check", "-e", f"FromHost({arguments}) -> Discard")


# --- Queue's capacity


@pytest.mark.parametrize("queue", ["Queue", "FrontDropQueue"])
def test_capacity_can_be_written(heddle, tmp_path, queue):
    frames = [b"%060d" % n for n in range(200)]
    captures.write(tmp_path / "in.pcap", frames)
    chain = (
        f"in :: FromDump({quoted(tmp_path / 'in.pcap')}, BURST 1, STOP false) -> s :: Switch(0) -> q :: {queue}(10);"
        f"q -> u :: Unqueue(ACTIVE false) -> ToDump({tmp_path}/out.pcap); s[1] -> Discard"
    )
    script = "Script(label l, wait 1ms, goto l $(lt $(in.count) 200), print $(q.length) $(q.drops) $(q.capacity),"
    script += "write q.capacity 300, print $(q.length) $(q.capacity), write in.reset_counts, write q.capacity 4,"
    script += "print $(q.length) $(q.capacity), write u.active true,"
    script += "label m, wait 1ms, goto m $(lt 0 $(q.length)), stop)"
    out = heddle.ok("run", "--quiet", "-e", f"{chain}; {script}").out.splitlines()
    assert out == ["10 190 10", "10 300", "10 4"]
    assert captures.frames(tmp_path / "out.pcap") == (frames[:10] if queue == "Queue" else frames[-10:])


@pytest.mark.parametrize("queue", ["Queue", "FrontDropQueue"])
def test_capacity_changes_while_packets_flow(heddle, tmp_path, queue):
    count = 200_000
    chain = (
        f"InfiniteSource(LENGTH 60, LIMIT {count}, STOP false) -> n :: NumberPacket(40) -> q :: {queue}(64)"
        f" -> u :: Unqueue -> o :: Counter -> ToDump({tmp_path}/out.pcap); StaticThreadSched(u 1);"
        "Script(set n 1, label l, wait 100us, write q.capacity $n, set n $(add 1 $(mod $(mul $n 17) 301)),"
        f"goto l $(lt $(add $(o.count) $(q.drops)) {count}), stop)"
    )
    report = run(heddle, chain, "-j", "2")
    numbers = [int.from_bytes(frame[40:48], "little") for frame in captures.frames(tmp_path / "out.pcap")]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + sum(report.drops("q").values()) == count
    assert report.drops("q")["full"] > 0
