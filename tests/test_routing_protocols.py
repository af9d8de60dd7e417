"""BGP and OSPF of BIRD and FRR across Heddle: their packets reach the kernel through taps, and what they learn steers
the routes. Needs root."""

import contextlib
import ipaddress
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from whole import network
from whole.network import call
from whole.program import Program, read_handler, wait_until

pytestmark = pytest.mark.usefixtures("root")

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

BIRD = """router id {id}; protocol device {{ scan time 1; }}
protocol kernel {{ ipv4 {{ export where source != RTS_STATIC; }}; }}
protocol static {{ ipv4; {static} }}
"""
BIRD_BGP = """protocol bgp {{ local {ours} as {as_}; neighbor {theirs} as {their_as}; connect delay time 1; connect retry time 1;
  error wait time 1, 2; {far} ipv4 {{ import all; export all; next hop self; }}; }}
"""
BIRD_OSPF = """protocol ospf v2 {{ ipv4 {{ import all; export all; }};
  area 0 {{ interface "{device}" {{ type ptp; hello 1; dead count 4; }}; }}; }}
"""
FRR_BGP = """router bgp {as_}
 bgp router-id {ours}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor {theirs} remote-as {their_as}
 neighbor {theirs} timers connect 1
{far} address-family ipv4 unicast
  redistribute static
  redistribute ospf
 exit-address-family
"""
FRR_OSPF = """interface {device}
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 4
router ospf
 ospf router-id {id}
 redistribute static
 redistribute bgp
 network 10.0.1.0/24 area 0
"""


@contextlib.contextmanager
def processes(space, *commands):
    started = [
        subprocess.Popen(space.command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for words in commands
    ]
    try:
        yield
    finally:
        for process in started[::-1]:
            process.terminate()
            process.wait(60)


def bird(space, folder, address, static, bgp, ospf, far=None):
    routes = f"route {static} blackhole;" if static else ""
    routes += "route {} via {};".format(*far) if far else ""  # to the peer's network, for what is learned from it
    text = BIRD.format(id=address, static=routes)
    text += BIRD_BGP.format(**bgp, far="multihop 2;" if far else "") if bgp else ""
    text += BIRD_OSPF.format(device=ospf) if ospf else ""
    (folder / "bird.conf").write_text(text)
    return processes(space, ["/usr/sbin/bird", "-f", "-c", folder / "bird.conf", "-s", folder / "ctl"])


def frr(space, folder, address, static, bgp, ospf, far=None):
    texts = {"zebra": "", "staticd": f"ip route {static} blackhole\n" if static else ""}
    if bgp:
        multihop = " neighbor {theirs} ebgp-multihop 2\n".format(**bgp) if far else ""
        texts["bgpd"] = FRR_BGP.format(**bgp, far=multihop)
    if ospf:
        texts["ospfd"] = FRR_OSPF.format(device=ospf, id=address)
    options = ["-P", "0", "-z", folder / "zserv", "--vty_socket", folder]
    for name, text in texts.items():
        (folder / f"{name}.conf").write_text(text)
    shutil.chown(folder, "frr", "frr")  # the daemons' user
    return processes(
        space, *([f"/usr/lib/frr/{n}", "-f", folder / f"{n}.conf", "-i", folder / f"{n}.pid", *options] for n in texts)
    )


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


def peering(*ends):
    """Both sides of a session between (address, AS) and (address, AS)."""
    return [
        {"ours": ours, "as_": as_, "theirs": theirs, "their_as": their_as}
        for (ours, as_), (theirs, their_as) in (ends, ends[::-1])
    ]


DAEMONS = {"bird": (bird, "/usr/sbin/bird"), "frr": (frr, "/usr/lib/frr/bgpd")}


@pytest.mark.parametrize("daemon", DAEMONS)
def test_bgp_and_ospf_steer_the_router(heddle, tmp_path, daemon):
    start, program = DAEMONS[daemon]
    if shutil.which(program) is None:
        pytest.skip(f"needs {program} (Debian's bird2, frr)")
    socket = str(tmp_path / "socket")
    bgp = peering(("10.0.0.2", 65001), ("10.0.0.1", 65000))

    def route(prefix):
        rows = [line.split() for line in read_handler(socket, "rt.table").splitlines()]
        return next((row[1:] for row in rows if ipaddress.ip_network(row[0]) == ipaddress.ip_network(prefix)), None)

    def pings(count, patience=1):
        return left.ping(right.address, count, source=left.address, patience=patience) == count

    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(3)]
        left, middle, right = stack.enter_context(topology())
        inside = Program(heddle.path, middle.command())
        running = stack.enter_context(inside.start("run", "-u", socket, "-e", CHAIN))
        wait_until(lambda: not running.alive() or read_handler(socket, "k.readings") is not None, what="the start")
        assert running.alive(), running.wait()
        stack.enter_context(start(left, folders[0], "10.0.0.2", "203.0.113.0/24", bgp[0], None))
        stack.enter_context(start(middle, folders[1], "10.0.0.1", None, bgp[1], "tap1"))
        with start(right, folders[2], "10.0.1.2", "198.51.100.0/24", None, "e0"):
            wait_until(lambda: route("203.0.113.0/24") == ["10.0.0.2", "0"], what="the route by BGP")
            wait_until(lambda: route("198.51.100.0/24") == ["10.0.1.2", "1"], what="the route by OSPF")
            wait_until(lambda: pings(1), what="a ping across")
            assert pings(50, 10)
        wait_until(lambda: route("198.51.100.0/24") is None, what="that the route goes with its router")
        assert not pings(1)
        assert route("203.0.113.0/24") == ["10.0.0.2", "0"]
        result = running.interrupt()
        assert result.code == 0, result


def test_bird_and_frr_peer_across_the_router(heddle, tmp_path):
    """Their session is traffic that Heddle forwards: from one network to the other, two hops."""
    for _, program in DAEMONS.values():
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} (Debian's bird2, frr)")
    socket = str(tmp_path / "socket")
    bgp = peering(("10.0.0.2", 65001), ("10.0.1.2", 65002))
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        left, middle, right = stack.enter_context(topology())
        far = [("10.0.1.0/24", "10.0.0.1"), ("10.0.0.0/24", "10.0.1.1")]
        for space, (prefix, gateway) in zip((left, right), far, strict=True):
            space.call("ip", "route", "add", prefix, "via", gateway)
        inside = Program(heddle.path, middle.command())
        running = stack.enter_context(inside.start("run", "-u", socket, "-e", CHAIN))
        wait_until(lambda: not running.alive() or read_handler(socket, "k.readings") is not None, what="the start")
        assert running.alive(), running.wait()
        stack.enter_context(bird(left, folders[0], "10.0.0.2", "203.0.113.0/24", bgp[0], None, far[0]))
        stack.enter_context(frr(right, folders[1], "10.0.1.2", "198.51.100.0/24", bgp[1], None, far[1]))
        for space, prefix, gateway in ((left, "198.51.100.0/24", "10.0.0.1"), (right, "203.0.113.0/24", "10.0.1.1")):
            wait_until(
                lambda s=space, p=prefix, g=gateway: g in s.call("ip", "route", "show", p), what=f"{prefix} by BGP"
            )
        result = running.interrupt()
        assert result.code == 0, result
