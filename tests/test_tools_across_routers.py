"""traceroute, tracepath, iperf3 and fragments between two namespaces, through the IP router and through NAT. Needs
root."""

import contextlib
import json
import os
import re
import socket

import pytest
from test_ip_router_namespaces import finish, router, two_networks, with_interfaces
from test_nat import nat
from whole import network
from whole.program import CHAINS, wait_until

pytestmark = pytest.mark.usefixtures("root")

ROUTER = "10.1.0.254"


def hops(out):
    """The addresses that traceroute's lines name, in order."""
    return [found[1] for line in out.splitlines()[1:] if (found := re.match(r" *\d+ +([\d.]+) ", line))]


@pytest.mark.parametrize("method", ["UDP", "--icmp", "--tcp"])
def test_traceroute_names_router_and_end(heddle, method):
    options = [] if method == "UDP" else [method]
    with router(heddle) as (left, right, running):
        with network.serving(right, "/usr/bin/python3", "-m", "http.server", "80"):
            out = left.call("traceroute", "-n", "-q", 1, "-N", 1, "-w", 10, *options, right.address, timeout=120)
        assert hops(out) == [ROUTER, right.address], out
        finish(running)


@pytest.mark.parametrize("method", ["UDP", "--icmp"])
def test_traceroute_through_nat(heddle, method):
    """The translator is no router and so no hop, but the end's answers find their way back."""
    options = [] if method == "UDP" else [method]
    with nat(heddle) as (left, right, running):
        out = left.call("traceroute", "-n", "-q", 1, "-N", 1, "-w", 10, *options, right.address, timeout=120)
        assert hops(out) == [right.address], out
        finish(running)


def test_tracepath_finds_the_path_mtu(heddle):
    with router(heddle, "MTU=1000") as (left, right, running):
        out = left.call("tracepath", "-n", right.address, timeout=120)
        assert "pmtu 1000" in out and re.search(r"Resume: pmtu 1000 hops 2 back 2", out), out
        back = right.call("tracepath", "-n", left.address, timeout=120)
        assert "Resume: pmtu 1000" in back, back
        finish(running)


# Sends datagrams that must not be fragmented until the kernel knows a smaller MTU of the path.
MTU_BY_UDP = """
import socket, sys, time
IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU = 10, 2, 14
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
s.connect((sys.argv[1], 9))
while (mtu := s.getsockopt(socket.IPPROTO_IP, IP_MTU)) == 1500:
    s.send(bytes(1400))
    time.sleep(0.01)
print(mtu)
"""


def test_path_mtu_through_nat(heddle):
    """A router behind the translator has a link with a smaller MTU; its messages reach the host inside."""
    with nat(heddle) as (left, right, running):
        right.call("ip", "link", "add", "far0", "mtu", 1000, "type", "veth", "peer", "name", "far1", "mtu", 1000)
        for far in ("far0", "far1"):
            right.call("ip", "link", "set", far, "up")
        right.call("ip", "address", "add", "10.9.0.1/24", "dev", "far0")
        right.call("sysctl", "-qw", "net.ipv4.ip_forward=1")
        right.call("sysctl", "-qw", f"net.ipv4.conf.{right.device}.proxy_arp=1")  # the translator has no routes
        assert left.call("/usr/bin/python3", "-c", MTU_BY_UDP, "10.9.0.2", timeout=60).strip() == "1000"
        finish(running)


def check_iperf3(client, server, both_ways):
    size = 2 << 20
    for options in ([], ["-R"]) if both_ways else ([],):
        assert network.iperf3(client, server, "-n", size, *options)["sum_sent"]["bytes"] >= size
        end = network.iperf3(client, server, "-u", "-b", "20M", "-l", "1200", "-n", size, *options)["sum"]
        assert end["packets"] >= size // 1200 and end["lost_packets"] < end["packets"] / 2, json.dumps(end)


def test_iperf3_through_the_router(heddle):
    with router(heddle) as (left, right, running):
        check_iperf3(left, right, both_ways=True)
        finish(running)


def test_iperf3_through_nat(heddle):
    with nat(heddle) as (left, right, running):
        check_iperf3(left, right, both_ways=True)
        report = finish(running)
    assert report.one("r")["statistics"]["made"] >= 8


# ---- fragments: by taps in bridges, for a packet socket's fragments are put together before the program sees them


def interfaces():
    """The names of those of this network namespace."""
    return [name for _, name in socket.if_nameindex()]


@contextlib.contextmanager
def bridges(*outer):
    """A bridge for each of these interfaces."""
    names = [f"hb{os.getpid()}n{next(network.SERIAL)}" for _ in outer]
    try:
        for bridge, interface in zip(names, outer, strict=True):
            network.call("ip", "link", "add", bridge, "type", "bridge")
            network.call("sysctl", "-qw", f"net.ipv6.conf.{bridge}.disable_ipv6=1")
            network.call("ip", "link", "set", bridge, "up")
            network.call("ip", "link", "set", interface, "master", bridge)
        yield names
    finally:
        for bridge in names:
            network.call("ip", "link", "delete", bridge, check=False)


@contextlib.contextmanager
def through_taps(heddle, make_chain, *definitions):
    """Runs a chain of two ports between the two networks; they are taps, each in a bridge with one network."""
    with two_networks() as (left, right, a, b), bridges(a.split("=")[1], b.split("=")[1]) as names:
        taps = [f"ht{os.getpid()}n{next(network.SERIAL)}" for _ in names]
        chain = make_chain(*(f"net_tap{i},iface={tap}" for i, tap in enumerate(taps)))
        with heddle.start("run", "--json", "-e", chain, *definitions) as running:
            for tap, bridge in zip(taps, names, strict=True):
                wait_until(lambda tap=tap: tap in interfaces(), what=f"the interface {tap}")
                network.call("sysctl", "-qw", f"net.ipv6.conf.{tap}.disable_ipv6=1")
                network.call("ip", "link", "set", tap, "master", bridge, "up")
            network.wait_for_link(left, right, running)
            yield left, right, running


ECHO = """
import socket
s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(("", 7))
while True:
    data, whom = s.recvfrom(65536)
    s.sendto(data[::-1], whom)
"""

ASK = """
import os, socket, sys
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER: never, so that packets may be cut on the way
s.connect((sys.argv[1], 7))
s.settimeout(1)
good = 0
for size in [int(word) for word in sys.argv[2:]]:
    data = os.urandom(size)
    for attempt in range(30):
        s.send(data)
        try:
            while (answer := s.recv(65536))[::-1] != data:
                pass
        except OSError:
            continue
        good += 1
        break
print(good)
"""

SIZES = [100, 1472, 1473, 2000, 2960, 4000, 9000, 30000]


def ask(left, right):
    """Datagrams of all sizes from left to right and back; how many came back as they should."""
    with network.serving(right, "/usr/bin/python3", "-c", ECHO):
        wait_until(lambda: ":7 " in right.call("ss", "-uln"), what="the echo server")
        return int(left.call("/usr/bin/python3", "-c", ASK, right.address, *SIZES, timeout=600))


@pytest.mark.parametrize("mtu", [1500, 700])
def test_fragments_both_ways_through_the_router(heddle, mtu):
    text = (CHAINS / "ip_router.click").read_text()
    chain = lambda a, b: with_interfaces(text, a, b)
    with through_taps(heddle, chain, f"MTU={mtu}") as (left, right, running):
        assert ask(left, right) == len(SIZES)
        report = finish(running)
    made = sum(e["statistics"]["fragments"] for e in report.elements("IPFragmenter"))
    assert made == 0 if mtu == 1500 else made > 100  # the hosts' own pass as they are, or are cut again


def nat_of_fragments(a, b):
    """Packets are put together before they are translated, and cut again behind."""
    return f"""
        r :: IPRewriter(pattern 10.2.0.254 1024-65535 - - 0 1, drop);
        p :: ICMPPingRewriter(pattern 10.2.0.254 1024-65535 - - 0 1, drop);
        elementclass Port {{ $ip, $mac |
          input -> k :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
          k[0] -> ARPResponder($ip $mac) -> [0]output; k[1] -> [1]output; k[3] -> Discard;
          k[2] -> Strip(14) -> CheckIPHeader -> IPReassembler -> c :: IPClassifier(tcp or udp, icmp);
          c[0] -> [2]output; c[1] -> [3]output; }}
        to0 :: ToDPDKDevice("{a}"); to1 :: ToDPDKDevice("{b}");
        q0 :: ARPQuerier(10.1.0.254, 02:00:00:00:01:00) -> to0; q1 :: ARPQuerier(10.2.0.254, 02:00:00:00:02:00) -> to1;
        f0 :: IPFragmenter(1500, HONOR_DF false) -> q0; f1 :: IPFragmenter(1500, HONOR_DF false) -> q1;
        FromDPDKDevice("{a}") -> p0 :: Port(10.1.0.254, 02:00:00:00:01:00);
        FromDPDKDevice("{b}") -> p1 :: Port(10.2.0.254, 02:00:00:00:02:00);
        p0[0] -> to0; p1[0] -> to1; p0[1] -> [1]q0; p1[1] -> [1]q1;
        p0[2] -> [0]r; p1[2] -> [1]r; p0[3] -> [0]p; p1[3] -> [1]p;
        r[0] -> f1; r[1] -> f0; p[0] -> f1; p[1] -> f0;
    """


def test_fragments_both_ways_through_nat(heddle):
    with through_taps(heddle, nat_of_fragments) as (left, right, running):
        assert ask(left, right) == len(SIZES)
        report = finish(running)
    assert sum(e["statistics"]["fragments"] for e in report.elements("IPFragmenter")) > 40
    assert report.one("r")["statistics"]["made"] == 1
