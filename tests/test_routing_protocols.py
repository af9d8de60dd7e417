"""BIRD's BGP and OSPF across Heddle: their packets reach the kernel through taps, and what they learn steers the routes. Needs root."""

import contextlib
import ipaddress
import shutil
import subprocess

import pytest
from whole import network
from whole.network import call
from whole.program import Program, read_handler, wait_until

pytestmark = [
    pytest.mark.usefixtures("root"),
    pytest.mark.skipif(shutil.which("/usr/sbin/bird") is None, reason="needs BIRD (Debian's bird2)"),
]

PORT = """
in{i} :: FromDPDKDevice("net_af_packet{i},iface=w{i}") -> c{i} :: Classifier(12/0806 20/0002, 12/0800, -);
out{i} :: ToDPDKDevice("net_af_packet{i},iface=w{i}"); host{i} :: ToHost(tap{i});
q{i} :: ARPQuerier(10.0.{i}.1, 02:00:00:00:00:0{i}) -> out{i}; KernelNeighbours(q{i}, tap{i});
FromHost(tap{i}, 10.0.{i}.1/24, ETHER 02:00:00:00:00:0{i}) -> out{i};
c{i}[0] -> both{i} :: Tee -> host{i}; both{i}[1] -> [1]q{i};
c{i}[1] -> Paint({i}) -> Strip(14) -> CheckIPHeader -> rt;
c{i}[2] -> host{i};
rt[{i}] -> DecIPTTL -> q{i};
"""
# What is for the host itself, and for groups of routers, goes to the tap of the port by which it came.
CHAIN = """rt :: DirectIPLookup(224.0.0.0/4 2); k :: KernelRoutes(rt, tap0 0, tap1 1, PUNT 2);
rt[2] -> Unstrip(14) -> punt :: PaintSwitch; punt[0] -> host0; punt[1] -> host1;"""
CHAIN += "".join(PORT.format(i=i) for i in range(2))

COMMON = """router id {id}; protocol device {{ scan time 1; }}
protocol kernel {{ ipv4 {{ export where source != RTS_STATIC; }}; }}
protocol static {{ ipv4; {static} }}
"""
BGP = """protocol bgp {{ local {ours} as {as_}; neighbor {theirs} as {their_as}; connect delay time 1; connect retry time 1;
  error wait time 1, 2; ipv4 {{ import all; export all; next hop self; }}; }}
"""
OSPF = """protocol ospf v2 {{ ipv4 {{ import all; export all; }};
  area 0 {{ interface "{device}" {{ type ptp; hello 1; dead count 4; }}; }}; }}
"""


@contextlib.contextmanager
def bird(space, folder, text):
    (folder / "bird.conf").write_text(text)
    words = space.command("/usr/sbin/bird", "-f", "-c", folder / "bird.conf", "-s", folder / "ctl")
    daemon = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        yield daemon
    finally:
        daemon.terminate()
        daemon.wait(10)


@contextlib.contextmanager
def topology():
    """left -- w0 middle w1 -- right; the hosts' own networks are on their loopback interfaces."""
    with network.one_af_packet(), network.namespaces(3) as (left, middle, right):
        for i, (space, own) in enumerate(((left, "203.0.113.1"), (right, "198.51.100.1"))):
            call(
                "ip",
                "-n",
                middle.name,
                "link",
                "add",
                f"w{i}",
                "type",
                "veth",
                "peer",
                "name",
                "e0",
                "netns",
                space.name,
            )
            for where, device in ((middle, f"w{i}"), (space, "e0")):
                where.call("ethtool", "-K", device, *network.OFFLOADS, check=False)
                where.call("sysctl", "-qw", f"net.ipv6.conf.{device}.disable_ipv6=1")
                where.call("ip", "link", "set", device, "up")
            middle.call("ip", "link", "set", f"w{i}", "arp", "off")  # the kernel has its address at the tap
            space.call("ip", "address", "add", f"10.0.{i}.2/24", "dev", "e0")
            space.call("ip", "address", "add", f"{own}/32", "dev", "lo")
            space.address = own
        middle.call("sysctl", "-qw", "net.ipv4.ip_forward=0")  # the kernel itself forwards nothing
        yield left, middle, right


def test_bgp_and_ospf_steer_the_router(heddle, tmp_path):
    folders = [tmp_path / name for name in ("left", "middle", "right")]
    for folder in folders:
        folder.mkdir()
    socket = str(tmp_path / "socket")
    bgp = BGP.format(ours="10.0.0.2", as_=65001, theirs="10.0.0.1", their_as=65000)
    left_text = COMMON.format(id="10.0.0.2", static="route 203.0.113.0/24 blackhole;") + bgp
    bgp = BGP.format(ours="10.0.0.1", as_=65000, theirs="10.0.0.2", their_as=65001)
    middle_text = COMMON.format(id="10.0.0.1", static="") + bgp + OSPF.format(device="tap1")
    right_text = COMMON.format(id="10.0.1.2", static="route 198.51.100.0/24 blackhole;") + OSPF.format(device="e0")

    def route(prefix):
        rows = [line.split() for line in read_handler(socket, "rt.table").splitlines()]
        return next((row[1:] for row in rows if ipaddress.ip_network(row[0]) == ipaddress.ip_network(prefix)), None)

    def pings(count):
        out = left.call(
            "ping", "-q", "-c", count, "-i", "0.02", "-W", "1", "-I", left.address, right.address, check=False
        )
        return f" {count} received" in out

    with contextlib.ExitStack() as stack:
        left, middle, right = stack.enter_context(topology())
        inside = Program(heddle.path, middle.command())
        running = stack.enter_context(inside.start("run", "-u", socket, "-e", CHAIN))
        wait_until(lambda: not running.alive() or read_handler(socket, "k.readings") is not None, what="the start")
        assert running.alive(), running.wait()
        stack.enter_context(bird(left, folders[0], left_text))
        stack.enter_context(bird(middle, folders[1], middle_text))
        with bird(right, folders[2], right_text):
            wait_until(lambda: route("203.0.113.0/24") == ["10.0.0.2", "0"], what="the route by BGP")
            wait_until(lambda: route("198.51.100.0/24") == ["10.0.1.2", "1"], what="the route by OSPF")
            wait_until(lambda: pings(1), what="a ping across")
            assert pings(50)
        wait_until(lambda: route("198.51.100.0/24") is None, what="that the route goes with its router")
        assert not pings(1)
        assert route("203.0.113.0/24") == ["10.0.0.2", "0"]
        result = running.interrupt(20)
        assert result.code == 0, result
