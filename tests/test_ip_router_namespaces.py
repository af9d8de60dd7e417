"""chains/ip_router.click between two namespaces: ARP, ping, traceroute, path MTU discovery, fragments. Needs root."""

import contextlib
import re

import pytest
from whole import network
from whole.program import CHAINS, Report

pytestmark = pytest.mark.usefixtures("root")

NETS = [("10.1.0.1/16", "10.1.0.254"), ("10.2.0.1/16", "10.2.0.254")]


def with_interfaces(text, a, b):
    """A chain of captures with real interfaces in place of them."""
    text, n = re.subn(
        r"wire :: FromDump\(\$IN, ACTIVE false\) -> side.*?in1 :: Input\(2\);", "$FROM", text, flags=re.DOTALL
    )
    assert n == 1
    text = text.replace("$FROM", f'FromDPDKDevice("{a}") -> in0 :: Input(1); FromDPDKDevice("{b}") -> in1 :: Input(2);')
    text = text.replace("ToDump(${OUT}_0.pcap)", f'ToDPDKDevice("{a}")').replace(
        "ToDump(${OUT}_1.pcap)", f'ToDPDKDevice("{b}")'
    )
    return re.sub(r"^Script.*$", "", text, flags=re.MULTILINE)


@contextlib.contextmanager
def two_networks():
    """Two namespaces on networks of their own, each with its default route to the router; and the router's ports."""
    with network.namespaces() as (left, right), network.veth_pairs(left, right) as (a, b):
        for space, (address, gateway) in zip((left, right), NETS):
            space.call("ip", "address", "flush", "dev", space.device)
            space.call("ip", "address", "add", address, "dev", space.device)
            space.call("ip", "route", "add", "default", "via", gateway)
            space.address = address.split("/")[0]
        yield left, right, f"net_af_packet0,iface={a}", f"net_af_packet1,iface={b}"


@contextlib.contextmanager
def router(heddle, *definitions):
    with two_networks() as (left, right, a, b):
        text = with_interfaces((CHAINS / "ip_router.click").read_text(), a, b)
        with heddle.start("run", "--json", "-e", text, *definitions) as running:
            network.wait_for_link(left, right, running)
            yield left, right, running


def traceroute(space, address):
    """The routers on the way and the end of it, as pings with a short life find them."""
    hops = []
    for ttl in range(1, 8):
        out = space.call("ping", "-n", "-c", 1, "-W", 5, "-t", ttl, address, check=False)
        hops.append(re.search(r"[Ff]rom ([\d.]+)[: ]", out)[1])
        if "Time to live exceeded" not in out:
            break
    return hops


def finish(running):
    result = running.interrupt()
    assert result.code == 0, result
    return Report(result.json)


def test_ping_arp_traceroute_and_tcp(heddle):
    with router(heddle) as (left, right, running):
        assert left.ping(right.address, 50) == 50
        assert right.ping(left.address, 20, size=1472) == 20
        assert left.ping("10.1.0.254", 10) == 10 and right.ping("10.1.0.254", 10) == 10
        assert traceroute(left, right.address) == ["10.1.0.254", "10.2.0.1"]
        assert network.transfer(left, right, 1_000_000)
        assert "02:00:00:00:01:00" in left.call("ip", "neighbour", "show", "10.1.0.254")
        refused = left.call(
            "/usr/bin/python3",
            "-c",
            "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('10.1.0.254', 9)); s.settimeout(60)\n"
            "s.send(b'x')\ntry: s.recv(1)\nexcept OSError as error: print(type(error).__name__, error.errno)",
        )
        assert refused.split()[0] in ("OSError", "ConnectionRefusedError"), refused  # ICMP's refusal, no time-out
        report = finish(running)
    for querier in report.elements("ARPQuerier"):
        assert querier["statistics"]["entries"] == 1 and querier["statistics"]["queries"] >= 1


def test_path_mtu_and_fragments(heddle):
    with router(heddle, "MTU=1000") as (left, right, running):
        out = left.call("ping", "-c", "2", "-M", "do", "-s", "1400", right.address, check=False)
        assert re.search(r"Frag needed and DF set \(mtu = 1000\)|message too long, mtu.1000", out), out
        left.call("ip", "route", "flush", "cache")
        assert network.transfer(left, right, 300_000)  # TCP finds the path's MTU by the same messages
        # Not longer than one frame: net_af_packet has the kernel put fragments together, and cuts what is too long
        # then.
        assert left.ping(right.address, 20, size=1400, fragments=True) == 20
        report = finish(running)
    assert sum(e["statistics"]["fragments"] for e in report.elements("IPFragmenter")) >= 40
