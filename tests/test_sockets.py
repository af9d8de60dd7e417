"""McastSocket, Socket, and the host's own interfaces, against Python's sockets and ping."""

import os
import random
import socket
import subprocess

import pytest
from whole import captures, network
from whole.control import Control
from whole.program import Program, free_port, quoted, read_handler, wait_for_count, wait_until

RANDOM = random.Random(1917)


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
    assert heddle.run(chain, "--simtime").drops("s") == {"no_peer": 5}
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
