"""BGP and OSPF of BIRD and FRR across chains/control_plane.click, for IPv4 and IPv6: their packets reach the kernel
through taps, and what they learn steers the routes. Needs root."""

import contextlib
import ipaddress
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from test_nat import nat
from whole import network
from whole.network import call
from whole.program import CHAINS, Program, Report, read_handler, wait_until

pytestmark = pytest.mark.usefixtures("root")

CHAIN = [CHAINS / "control_plane.click", *(f"PORT{i}=net_af_packet{i},iface=w{i}" for i in range(2))]

BIRD = """router id {id}; protocol device {{ scan time 1; }}
protocol kernel {{ {family} {{ export where source != RTS_STATIC; }}; }}
protocol static {{ {family}; {static} }}
"""
BIRD_BGP = """protocol bgp {{ local {ours} as {as_}; neighbor {theirs} as {their_as}; connect delay time 1; connect retry time 1;
  error wait time 1, 2; {far} {family} {{ import all; export all; next hop self; }}; }}
"""
BIRD_OSPF = """protocol ospf {version} {{ {family} {{ import all; export all; }};
  area 0 {{ interface "{device}" {{ type ptp; hello 1; dead count 4; }}; }}; }}
"""
FRR_BGP = """router bgp {as_}
 bgp router-id {id}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor {theirs} remote-as {their_as}
 neighbor {theirs} timers connect 1
{far} address-family {family} unicast
  neighbor {theirs} activate
  redistribute static
  redistribute {igp}
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
FRR_OSPF6 = """interface {device}
 ipv6 ospf6 area 0
 ipv6 ospf6 network point-to-point
 ipv6 ospf6 hello-interval 1
 ipv6 ospf6 dead-interval 4
router ospf6
 ospf6 router-id {id}
 redistribute static
 redistribute bgp
"""


class Family(NamedTuple):
    """What differs between IPv4 and IPv6: the routing element, the networks that the hosts announce, their own
    addresses there, and addresses on the links."""

    name: str
    table: str
    far: tuple
    own: tuple
    link: str

    def on_link(self, link, host):
        return self.link.format(link, host)


IP4 = Family("ipv4", "routes", ("203.0.113.0/24", "198.51.100.0/24"), ("203.0.113.1", "198.51.100.1"), "10.0.{}.{}")
IP6 = Family(
    "ipv6",
    "routes6",
    ("2001:db8:a::/48", "2001:db8:b::/48"),
    ("2001:db8:a::1", "2001:db8:b::1"),
    "2001:db8:0:{}::{}",
)


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


def bird(space, folder, family, router_id, static, bgp, ospf, far=None):
    routes = f"route {static} blackhole;" if static else ""
    routes += "route {} via {};".format(*far) if far else ""  # to the peer's network, for what is learned from it
    name = family.name
    text = BIRD.format(id=router_id, static=routes, family=name)
    text += BIRD_BGP.format(**bgp, far="multihop 2;" if far else "", family=name) if bgp else ""
    text += BIRD_OSPF.format(device=ospf, family=name, version="v2" if family is IP4 else "v3") if ospf else ""
    (folder / "bird.conf").write_text(text)
    return processes(space, ["/usr/sbin/bird", "-f", "-c", folder / "bird.conf", "-s", folder / "ctl"])


def frr(space, folder, family, router_id, static, bgp, ospf, far=None):
    word, igp = ("ip", "ospf") if family is IP4 else ("ipv6", "ospf6")
    texts = {"zebra": "", "staticd": f"{word} route {static} blackhole\n" if static else ""}
    if bgp:
        multihop = " neighbor {theirs} ebgp-multihop 2\n".format(**bgp) if far else ""
        texts["bgpd"] = FRR_BGP.format(**bgp, far=multihop, id=router_id, family=family.name, igp=igp)
    if ospf:
        texts[f"{igp}d"] = (FRR_OSPF if family is IP4 else FRR_OSPF6).format(device=ospf, id=router_id)
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
        for space in (left, middle, right):
            space.call("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")  # addresses are good at once
        for i, space in enumerate((left, right)):
            peer = ["type", "veth", "peer", "name", "e0", "netns", space.name]
            call("ip", "-n", middle.name, "link", "add", f"w{i}", *peer)
            middle.call("sysctl", "-qw", f"net.ipv6.conf.w{i}.disable_ipv6=1")  # the kernel has its address at the tap
            for where, device in ((middle, f"w{i}"), (space, "e0")):
                where.call("ethtool", "-K", device, *network.OFFLOADS, check=False)
                where.call("ip", "link", "set", device, "up")
            middle.call("ip", "link", "set", f"w{i}", "arp", "off")
            for family, on_link, own in ((IP4, 24, 32), (IP6, 64, 128)):
                space.call("ip", "address", "add", f"{family.on_link(i, 2)}/{on_link}", "dev", "e0")
                space.call("ip", "address", "add", f"{family.own[i]}/{own}", "dev", "lo")
        for which in ("ipv4.ip_forward", "ipv6.conf.all.forwarding"):
            middle.call("sysctl", "-qw", f"net.{which}=0")  # the kernel itself forwards nothing
        yield left, middle, right


@contextlib.contextmanager
def router(heddle, middle, socket):
    """The chain, which runs in the namespace and ends well."""
    with Program(heddle.path, middle.command()).start("run", "-u", socket, *CHAIN) as running:
        wait_until(lambda: not running.alive() or read_handler(socket, "k6.readings") is not None, what="the start")
        assert running.alive(), running.wait()
        for i in range(2):
            middle.call("ip", "address", "add", f"{IP6.on_link(i, 1)}/64", "dev", f"tap{i}")
        yield
        result = running.interrupt()
        assert result.code == 0, result


def peering(*ends):
    """Both sides of a session between (address, AS) and (address, AS)."""
    return [
        {"ours": ours, "as_": as_, "theirs": theirs, "their_as": their_as}
        for (ours, as_), (theirs, their_as) in (ends, ends[::-1])
    ]


DAEMONS = {"bird": (bird, "/usr/sbin/bird"), "frr": (frr, "/usr/lib/frr/bgpd")}


@pytest.mark.parametrize("family", [IP4, IP6], ids=["ip4", "ip6"])
@pytest.mark.parametrize("daemon", DAEMONS)
def test_bgp_and_ospf_steer_the_router(heddle, tmp_path, daemon, family):
    start, program = DAEMONS[daemon]
    if shutil.which(program) is None:
        pytest.skip(f"needs {program} (Debian's bird2, frr)")
    socket = str(tmp_path / "socket")
    bgp = peering((family.on_link(0, 2), 65001), (family.on_link(0, 1), 65000))

    def output(prefix):
        """Where the router sends what is for the prefix."""
        rows = [line.split() for line in read_handler(socket, f"{family.table}.table").splitlines()]
        found = [row for row in rows if ipaddress.ip_network(row[0]) == ipaddress.ip_network(prefix)]
        assert all(row[1] != "-" for row in found), "there is a gateway"
        return found[0][2] if found else None

    def pings(count, patience=1):
        return left.ping(family.own[1], count, source=family.own[0], patience=patience) == count

    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(3)]
        left, middle, right = stack.enter_context(topology())
        stack.enter_context(router(heddle, middle, socket))
        stack.enter_context(start(left, folders[0], family, "10.0.0.2", family.far[0], bgp[0], None))
        stack.enter_context(start(middle, folders[1], family, "10.0.0.1", None, bgp[1], "tap1"))
        with start(right, folders[2], family, "10.0.1.2", family.far[1], None, "e0"):
            wait_until(lambda: output(family.far[0]) == "0", what="the route by BGP")
            wait_until(lambda: output(family.far[1]) == "1", what="the route by OSPF")
            wait_until(lambda: pings(1), what="a ping across")
            assert pings(50, 10)
        wait_until(lambda: output(family.far[1]) is None, what="that the route goes with its router")
        assert not pings(1)
        assert output(family.far[0]) == "0"


def test_bird_and_frr_peer_across_the_router(heddle, tmp_path):
    """Their session is traffic that Heddle forwards: from one network to the other, two hops."""
    for _, program in DAEMONS.values():
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} (Debian's bird2, frr)")
    bgp = peering(("10.0.0.2", 65001), ("10.0.1.2", 65002))
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        left, middle, right = stack.enter_context(topology())
        far = [("10.0.1.0/24", "10.0.0.1"), ("10.0.0.0/24", "10.0.1.1")]
        for space, (prefix, gateway) in zip((left, right), far, strict=True):
            space.call("ip", "route", "add", prefix, "via", gateway)
        stack.enter_context(router(heddle, middle, str(tmp_path / "socket")))
        stack.enter_context(bird(left, folders[0], IP4, "10.0.0.2", IP4.far[0], bgp[0], None, far[0]))
        stack.enter_context(frr(right, folders[1], IP4, "10.0.1.2", IP4.far[1], bgp[1], None, far[1]))
        for space, prefix, gateway in ((left, IP4.far[1], "10.0.0.1"), (right, IP4.far[0], "10.0.1.1")):
            wait_until(
                lambda s=space, p=prefix, g=gateway: g in s.call("ip", "route", "show", p), what=f"{prefix} by BGP"
            )


def test_bird_and_frr_peer_through_nat(heddle):
    """A BIRD behind the translator peers with an FRR that knows the translator's address alone; what they tell each
    other steers the traffic of either, through the translator."""
    for _, program in DAEMONS.values():
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} (Debian's bird2, frr)")
    inside, _ = peering(("10.1.0.1", 65001), ("10.2.0.1", 65002))
    _, outside = peering(("10.2.0.254", 65001), ("10.2.0.1", 65002))
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        left, right, running = stack.enter_context(nat(heddle))
        far = [("10.2.0.0/16", "10.1.0.254"), ("10.1.0.0/16", "10.2.0.254")]
        for space, own, (prefix, gateway) in zip((left, right), IP4.own, far, strict=True):
            space.call("ip", "route", "add", prefix, "via", gateway)
            space.call("ip", "route", "delete", "default")  # only what they learn leads to the other's own network
            space.call("ip", "address", "add", f"{own}/32", "dev", "lo")
        stack.enter_context(bird(left, folders[0], IP4, "10.1.0.1", IP4.far[0], inside, None, far[0]))
        stack.enter_context(frr(right, folders[1], IP4, "10.2.0.1", IP4.far[1], outside, None, far[1]))
        for space, prefix, gateway in ((left, IP4.far[1], "10.1.0.254"), (right, IP4.far[0], "10.2.0.254")):
            wait_until(
                lambda s=space, p=prefix, g=gateway: g in s.call("ip", "route", "show", p), what=f"{prefix} by BGP"
            )
        wait_until(lambda: left.ping(IP4.own[1], 1, source=IP4.own[0], patience=1) == 1, what="a ping through NAT")
        assert left.ping(IP4.own[1], 20, source=IP4.own[0], patience=10) == 20
        result = running.interrupt()
        assert result.code == 0, result
        assert Report(result.json).one("r")["statistics"]["made"] >= 1
