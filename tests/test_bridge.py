"""The firewall of chains/bridge.click, and of bridge_events.click, between two network namespaces: a client behind a
packet socket, and fw0, which its server has. What arrives is compared frame by frame with the rules as read here, one
after the other. Needs root."""

import contextlib
import random
import subprocess
import threading
from collections import Counter

import pytest
from whole import judge, network
from whole.frames import SEED
from whole.program import CHAINS, MODES, TIMEOUT_S, Report, wait_until

pytestmark = pytest.mark.usefixtures("root")

LAUNCHES = {**MODES, "simt-async": ["--device", "simt", "--launch", "async"]}

# source, destination, source ports, destination ports, protocol, action; None: any
RULES = [
    ("10.77.0.0/24", None, (0, 65535), (53, 53), 17, "allow"),
    (None, None, (0, 65535), (53, 90), 17, "deny"),
    (None, "10.77.0.2/32", (1024, 65535), (80, 80), 6, "allow"),
    (None, None, (0, 65535), (22, 22), None, "deny"),
    ("192.0.2.0/24", None, (0, 65535), (0, 65535), 1, "deny"),
    (None, None, (0, 65535), (0, 65535), 1, "allow"),
    (None, "10.77.0.0/16", (0, 1023), (0, 1023), None, "allow"),
]
ADDRESSES = ["10.77.0.1", "10.77.0.2", "10.77.9.2", "192.0.2.7", "203.0.113.4"]
PORTS = [0, 21, 22, 53, 80, 90, 91, 1023, 1024, 65535]
WITH_PORTS = (6, 17, 33, 132, 136)


def number(address):
    return int.from_bytes(bytes(map(int, address.split("."))), "big")


def rule_text(rule):
    source, destination, sources, destinations, protocol, action = rule
    asked = "0x00/0x00" if protocol is None else f"0x{protocol:02x}/0xFF"
    ranges = "{} : {} {} : {}".format(*sources, *destinations)
    return f"@{source or '0.0.0.0/0'} {destination or '0.0.0.0/0'} {ranges} {asked} {action}\n"


def lies_in(address, prefix):
    if prefix is None:
        return True
    network_, length = prefix.split("/")
    return int.from_bytes(address, "big") >> (32 - int(length)) == number(network_) >> (32 - int(length))


def fate(frame, default):
    """Where a frame from the port ends, by the chain's stated policy: "allow", or what drops it."""
    kind, ip = frame[12:14], frame[14:]
    if kind == b"\x08\x06":
        return "allow"
    if kind != b"\x08\x00":
        return "other"
    header = (ip[0] & 15) * 4 if ip else 0
    size = int.from_bytes(ip[2:4], "big")
    whole = len(ip) >= 20 and ip[0] >> 4 == 4 and 20 <= header <= size <= len(ip)
    if not whole or judge.checksum(ip[:header]) != 0:
        return "ip"
    offset, protocol, payload = int.from_bytes(ip[6:8], "big") & 0x1FFF, ip[9], ip[header:size]
    if offset == 1 and protocol == 6:
        return "tiny"
    ports = (0, 0)
    if offset == 0 and protocol in WITH_PORTS:
        if len(payload) < 4:
            return "short"
        ports = int.from_bytes(payload[:2], "big"), int.from_bytes(payload[2:4], "big")
    for source, destination, sources, destinations, wanted, action in RULES:
        if (
            lies_in(ip[12:16], source)
            and lies_in(ip[16:20], destination)
            and sources[0] <= ports[0] <= sources[1]
            and destinations[0] <= ports[1] <= destinations[1]
            and wanted in (None, protocol)
        ):
            return action
    return default


def random_frame(rng, serial):
    source, destination = (bytes(map(int, rng.choice(ADDRESSES).split("."))) for _ in "sd")
    protocol = rng.choice([6, 6, 17, 17, 1, 132, 47])
    payload = judge.transport(protocol, rng.choice(PORTS), rng.choice(PORTS), 2) + serial.to_bytes(4, "big")
    fragment = rng.choice([0, 0, 0, 0x4000, 0x2000, 0x2001, 1, 185])
    if rng.random() < 0.15:
        payload = payload[: rng.randrange(9)]
    if rng.random() < 0.08:
        address = bytes.fromhex("20010db8" + "00" * 11 + "01")
        return judge.ip6(address, address, protocol, payload)
    frame = judge.ip4(source, destination, protocol, payload, fragment=fragment)
    change = rng.random()
    if change < 0.04:
        return frame[: rng.randrange(15, 34)]  # in the middle of the IP header
    if change < 0.08:
        return frame[:24] + bytes([frame[24] ^ 0xFF]) + frame[25:]  # a wrong checksum
    if change < 0.12:
        return frame[:12] + rng.choice([b"\x08\x06", b"\x81\x00", b"\x08\x01"]) + frame[14:]
    return frame


# Prints, as hexadecimal lines, what arrives at an interface; a line "ready" first. It ends with the interface.
LISTENER = """
import socket, sys
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
sock.bind((sys.argv[1], 0))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
print("ready", flush=True)
while True:
    try:
        frame, address = sock.recvfrom(65536)
    except OSError:
        break
    if address[2] != socket.PACKET_OUTGOING and frame[6:12].hex() == sys.argv[2]:
        print(frame.hex(), flush=True)
"""


@contextlib.contextmanager
def listening(space, device):
    words = space.command("/usr/bin/python3", "-c", LISTENER, device, judge.MAC.hex())
    frames = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            reader = threading.Thread(target=lambda: frames.extend(bytes.fromhex(line) for line in process.stdout))
            reader.start()
            yield frames, reader
        finally:
            process.kill()
            reader.join()


@contextlib.contextmanager
def veth(client):
    """A port by packet sockets, whose driver puts fragments together (PACKET_FANOUT_FLAG_DEFRAG)."""
    outer, inner = f"hdo{client.name[3:]}", f"hdi{client.name[3:]}"
    with network.one_af_packet():
        try:
            network.call("ip", "link", "add", outer, "mtu", "1500", "type", "veth", "peer", "name", inner)
            network.call("sysctl", "-qw", f"net.ipv6.conf.{outer}.disable_ipv6=1")
            network.call("ethtool", "-K", outer, *network.OFFLOADS, check=False)
            network.call("ip", "link", "set", outer, "up")
            yield f"net_af_packet0,iface={outer}", inner
        finally:
            network.call("ip", "link", "delete", outer, check=False)


@contextlib.contextmanager
def tap(client):
    """A port that gives frames as they are."""
    name = f"hdp{client.name[3:]}"
    yield f"net_tap7,iface={name}", name


@contextlib.contextmanager
def bridge(heddle, folder, port, default, *options, chain="bridge"):
    """The program between two namespaces: the client is behind its port, and the server has fw0."""
    rules = folder / "fw.rules"
    rules.write_text("".join(map(rule_text, RULES)))
    with network.namespaces() as (client, server), port(client) as (device, inner):
        fw0 = f"hdf{client.name[3:]}"
        variables = [f"PORT={device}", f"TAP={fw0}", f"RULES={rules}", f"DEFAULT={default}"]
        words = ["run", "--json", CHAINS / f"{chain}.click", *variables]
        with heddle.start_ready(*words, *options) as running:
            assert running.alive(), running.wait()
            client.adopt(inner, "10.77.0.1/24", "02:00:00:00:77:01")
            server.adopt(fw0, "10.77.0.2/24", "02:00:00:00:77:02")
            network.wait_for_link(client, server, running)
            yield client, server, running


def finish(running):
    """Ctrl-C; every packet is accounted for."""
    result = running.interrupt()
    assert result.code == 0, result  # DPDK's tap driver talks about a kernel without multiq
    report = Report(result.json)
    host = report.one("ToHost")
    assert report.received == report.ended() + host["packets"] - sum(host["drops"].values()) + report.dropped
    return report


@pytest.mark.parametrize("default", ["deny", "allow"])
@pytest.mark.parametrize("queues", [1, 2])
@pytest.mark.parametrize("name", LAUNCHES)
def test_frames_arrive_as_the_rules_say(heddle, tmp_path, name, queues, default):
    burst = {"cpu": 64, "simt-sync": 1024, "simt-async": 512, "simt-persistent": 256}[name]
    options = [*LAUNCHES[name], f"BURST={burst}", "-j", queues]
    expect_frames(heddle, tmp_path, name, queues == 1, default, options)


@pytest.mark.parametrize("sender", [0, 1])
@pytest.mark.parametrize("name", LAUNCHES)
def test_frames_arrive_by_a_thread_of_their_own(heddle, tmp_path, name, sender):
    options = [*LAUNCHES[name], "-j", sender + 1, f"SENDER={sender}", "BURST=512"]
    expect_frames(heddle, tmp_path, name, sender == 0, "allow", options, chain="bridge_events")


def expect_frames(heddle, tmp_path, name, in_order, default, options, **chain):
    rng = random.Random(SEED + len(default))
    frames = [random_frame(rng, serial) for serial in range(240)]
    fates = [fate(frame, default) for frame in frames]
    expected = [frame for frame, what in zip(frames, fates, strict=True) if what == "allow"]
    assert min(Counter(fates)[what] for what in ("allow", "deny", "short", "tiny", "ip", "other")) > 0
    with (
        bridge(heddle, tmp_path, tap, default, *options, **chain) as (client, server, running),
        listening(server, server.device) as (arrived, reader),
    ):
        send(client, frames)
        wait_until(lambda: len(arrived) >= len(expected), TIMEOUT_S, what="the frames")
        report = finish(running)
        reader.join(TIMEOUT_S)  # the interface is gone
    if in_order:
        assert arrived == expected
    assert sorted(arrived) == sorted(expected)
    counted = Counter(fates)
    assert report.one("tiny")["packets"] - report.one("fw")["packets"] == counted["tiny"]
    assert report.count("other") >= counted["other"]
    assert report.drops("fw").get("denied", 0) == counted["deny"]
    assert report.drops("fw").get("short", 0) == counted["short"]
    assert sum(report.drops("ip").values()) == counted["ip"]
    assert report.one("fw")["processor"] == ("cpu" if name == "cpu" else "simt")


def send(client, frames):
    data = b"".join(len(frame).to_bytes(2, "big") + frame for frame in frames)
    words = client.command("/usr/bin/python3", "-c", judge.SENDER, client.device)
    subprocess.run(words, input=data, check=True, timeout=60)


@pytest.mark.parametrize(
    ("port", "name"), [*((tap, name) for name in LAUNCHES), (veth, "cpu"), (veth, "simt-persistent")]
)
def test_hosts_talk_through_the_bridge(heddle, tmp_path, port, name):
    """Pings, in fragments as well; what the host sends is not sorted."""
    with bridge(heddle, tmp_path, port, "deny", *LAUNCHES[name], "-j", 2, "BURST=1024") as (client, server, running):
        assert client.ping(server.address, 40) == 40
        assert server.ping(client.address, 40) == 40
        if port is tap:
            assert client.ping(server.address, 5, size=4000) == 5
        network.call("ip", "-n", client.name, "address", "add", "192.0.2.7/32", "dev", client.device)
        server.call("ip", "route", "add", "192.0.2.7", "dev", server.device)
        assert "100% packet loss" in client.call(
            "ping", "-c", "3", "-i", "0.1", "-W", "1", "-I", "192.0.2.7", server.address, check=False
        )
        report = finish(running)
    assert report.drops("fw")["denied"] == 3
    assert report.count("arp") > 0


def test_a_default_action_is_mandatory(heddle):
    policy = "library/bridge_policy.click"
    without = (CHAINS / policy).read_text().replace(", DEFAULT $DEFAULT", "")
    text = (CHAINS / "bridge.click").read_text().replace(f"require(library {policy});", without)
    assert "missing DEFAULT" in heddle.fails("check", "-e", text)
    assert "DEFAULT" in heddle.fails("check", CHAINS / "bridge.click", "DEFAULT=perhaps")
