"""KernelRoutes and KernelNeighbours: the kernel's routes steer the program; in a network namespace of the test's
own."""

import contextlib
import ipaddress
import random
import subprocess

import pytest
from whole.control import Control
from whole.network import call, namespaces
from whole.program import Program, read_handler, wait_until

pytestmark = pytest.mark.usefixtures("root")

RANDOM = random.Random(31)
# What leaves by d0, by d1, and what the host is to have.
CHAIN = """rt :: DirectIPLookup(255.255.255.255/32 3); k :: KernelRoutes(rt, d0 0, d1 1, PUNT 2);
    Idle -> rt; rt[0] -> Discard; rt[1] -> Discard; rt[2] -> Discard; rt[3] -> Discard;"""


@pytest.fixture
def kernel():
    """A namespace with the interfaces d0, d1 and, unknown to the chain, d2."""
    with namespaces(1) as (namespace,):
        for i in range(3):
            call("ip", "-n", namespace.name, "link", "add", f"d{i}", "type", "veth", "peer", "name", f"peer{i}")
            call("ip", "-n", namespace.name, "link", "set", f"peer{i}", "up")
            call("ip", "-n", namespace.name, "address", "add", f"10.9.{i}.1/24", "dev", f"d{i}")
            call("ip", "-n", namespace.name, "link", "set", f"d{i}", "up")
        yield namespace


class Router:
    def __init__(self, socket, running):
        self.socket, self.running = socket, running

    def read(self, name):
        return read_handler(self.socket, name)

    def table(self):
        """{network: (gateway or None, output)} but for the chain's own route."""
        rows = [line.split() for line in self.read("rt.table").splitlines()]
        routes = {ipaddress.ip_network(row[0]): (None if row[1] == "-" else row[1], int(row[2])) for row in rows}
        del routes[ipaddress.ip_network("255.255.255.255/32")]
        return routes

    def wait_for(self, prefix, wanted, what=""):
        network = ipaddress.ip_network(prefix)
        wait_until(lambda: self.table().get(network) == wanted, what=f"{prefix} {wanted} {what}")


@contextlib.contextmanager
def router(heddle, namespace, folder, chain=CHAIN, *options):
    socket = str(folder / "socket")
    inside = Program(heddle.path, namespace.command())
    with inside.start("run", "-u", socket, *options, "-e", chain) as running:
        wait_until(
            lambda: not running.alive() or read_handler(socket, "k.readings") not in (None, "0"), what="the start"
        )
        yield Router(socket, running)
        assert running.interrupt().code == 0


def test_routes_come_change_and_go(heddle, kernel, tmp_path):
    route = lambda *words: kernel.call("ip", "route", *words)
    route("add", "10.0.0.0/8", "via", "10.9.0.7")
    route("add", "198.51.100.0/24", "dev", "d1")
    with router(heddle, kernel, tmp_path) as r:
        r.wait_for("10.0.0.0/8", ("10.9.0.7", 0), "from before the start")
        r.wait_for("198.51.100.0/24", (None, 1))
        r.wait_for("10.9.0.0/24", (None, 0), "a connected network")
        r.wait_for("10.9.1.1/32", (None, 2), "an address of the host")
        route("add", "203.0.113.0/24", "via", "10.9.1.9")
        r.wait_for("203.0.113.0/24", ("10.9.1.9", 1))
        route("replace", "203.0.113.0/24", "via", "10.9.0.9")
        r.wait_for("203.0.113.0/24", ("10.9.0.9", 0))
        # The lowest metric counts.
        route("add", "203.0.113.0/24", "via", "10.9.1.8", "metric", "50")
        route("add", "192.0.2.0/24", "via", "10.9.1.8", "metric", "50")
        route("add", "192.0.2.0/24", "via", "10.9.0.8", "metric", "20")
        r.wait_for("192.0.2.0/24", ("10.9.0.8", 0))
        assert r.table()[ipaddress.ip_network("203.0.113.0/24")] == ("10.9.0.9", 0)
        route("del", "192.0.2.0/24", "metric", "20")
        r.wait_for("192.0.2.0/24", ("10.9.1.8", 1))
        route("del", "203.0.113.0/24", "metric", "0")
        r.wait_for("203.0.113.0/24", ("10.9.1.8", 1))
        # One with the same metric, behind the first, shows when that goes.
        route("append", "192.0.2.0/24", "via", "10.9.0.3", "metric", "50")
        route("del", "192.0.2.0/24", "via", "10.9.1.8")
        r.wait_for("192.0.2.0/24", ("10.9.0.3", 0))
        # Also when the first has been replaced in between.
        for verb, gateway in (("add", "10.9.0.4"), ("append", "10.9.0.5"), ("replace", "10.9.1.6")):
            route(verb, "100.64.0.0/16", "via", gateway, "metric", "9")
        r.wait_for("100.64.0.0/16", ("10.9.1.6", 1))
        route("del", "100.64.0.0/16", "via", "10.9.1.6")
        r.wait_for("100.64.0.0/16", ("10.9.0.5", 0))
        # A next-hop object that goes takes its routes with it, of which the kernel says nothing either.
        kernel.call("ip", "nexthop", "add", "id", "7", "via", "10.9.1.5", "dev", "d1")
        route("add", "100.65.0.0/16", "nhid", "7")
        r.wait_for("100.65.0.0/16", ("10.9.1.5", 1))
        kernel.call("ip", "nexthop", "del", "id", "7")
        r.wait_for("100.65.0.0/16", None)
        # What the chain cannot take is the host's.
        for words in (["blackhole", "172.16.0.0/16"], ["unreachable", "172.17.0.0/16"], ["172.18.0.0/16", "dev", "d2"]):
            route("add", *words)
        for i in range(3):
            r.wait_for(f"172.{16 + i}.0.0/16", (None, 2))
        assert int(r.read("k.punted")) > 3
        # An interface that goes down takes its routes with it, of which the kernel says nothing.
        kernel.call("ip", "link", "set", "d1", "down")
        r.wait_for("198.51.100.0/24", None)
        r.wait_for("203.0.113.0/24", None)
        kernel.call("ip", "link", "set", "d1", "up")
        r.wait_for("10.9.1.0/24", (None, 1))
        assert r.read("k.failed") == "0"


def test_several_next_hops_share_the_prefixes(heddle, kernel, tmp_path):
    with router(heddle, kernel, tmp_path) as r:
        hops = ["nexthop", "via", "10.9.0.7", "nexthop", "via", "10.9.1.7"]
        for i in range(64):
            kernel.call("ip", "route", "add", f"172.20.{i}.0/24", *hops)
        r.wait_for("172.20.63.0/24", r.table().get(ipaddress.ip_network("172.20.63.0/24")))
        wait_until(lambda: sum(n.prefixlen == 24 and str(n).startswith("172.20.") for n in r.table()) == 64)
        ways = [hop for network, hop in r.table().items() if str(network).startswith("172.20.")]
        assert set(ways) == {("10.9.0.7", 0), ("10.9.1.7", 1)}
        assert 10 < ways.count(("10.9.0.7", 0)) < 54


ECMP_CHAIN = CHAIN.replace("PUNT 2)", "PUNT 2, ECMP e, ECMP_OUT 4)").replace("Idle -> rt", "Idle -> MarkIPHeader -> rt")
ECMP_CHAIN += "rt[4] -> e :: ECMP; e[0] -> Discard; e[1] -> Discard;"


def test_several_next_hops_are_a_group(heddle, kernel, tmp_path):
    route = lambda *words: kernel.call("ip", "route", *words)
    two = ["nexthop", "via", "10.9.0.7", "nexthop", "via", "10.9.1.7", "weight", "3"]
    with router(heddle, kernel, tmp_path, ECMP_CHAIN) as r:
        groups = lambda: {row.split()[0]: row.split(" ", 1)[1] for row in r.read("e.groups").splitlines()}
        for i in range(3):
            route("add", f"172.20.{i}.0/24", *two)
        wait_until(lambda: len([n for n in r.table() if str(n).startswith("172.20.")]) == 3)
        (number,) = groups()
        assert groups()[number] == "10.9.0.7 0" + 3 * " 10.9.1.7 1"
        for i in range(3):
            assert r.table()[ipaddress.ip_network(f"172.20.{i}.0/24")] == (f"0.0.0.{number}", 4)
        route("replace", "172.20.0.0/24", *two[:3], "nexthop", "via", "10.9.1.8")
        wait_until(lambda: sorted(groups().values()) == ["10.9.0.7 0" + 3 * " 10.9.1.7 1", "10.9.0.7 0 10.9.1.8 1"])
        other = next(n for n, hops in groups().items() if hops == "10.9.0.7 0 10.9.1.8 1")
        r.wait_for("172.20.0.0/24", (f"0.0.0.{other}", 4))
        # One next hop is none of a group; a group without routes goes.
        route("replace", "172.20.0.0/24", "via", "10.9.0.7")
        r.wait_for("172.20.0.0/24", ("10.9.0.7", 0))
        route("del", "172.20.1.0/24")
        route("del", "172.20.2.0/24")
        wait_until(lambda: groups() == {}, what="the groups' end")
        assert r.read("k.failed") == "0"


def groups_of(r):
    return {row.split()[0]: row.split(" ", 1)[1] for row in r.read("e.groups").splitlines()}


def two_groups(route, r):
    """The kernel lists the prefix of the second group first."""
    ours = lambda: {str(n): hop for n, hop in r.table().items() if str(n).startswith("172.20.")}
    for prefix, gateway in (("172.20.9.0/24", "10.9.1.7"), ("172.20.1.0/24", "10.9.1.8")):
        route("add", prefix, "nexthop", "via", "10.9.0.7", "nexthop", "via", gateway)
        wait_until(lambda p=prefix: p in ours(), what=prefix)
    assert groups_of(r) == {"1": "10.9.0.7 0 10.9.1.7 1", "2": "10.9.0.7 0 10.9.1.8 1"}
    assert ours() == {"172.20.9.0/24": ("0.0.0.1", 4), "172.20.1.0/24": ("0.0.0.2", 4)}
    return ours


def test_groups_keep_their_numbers_over_a_reconfiguration(heddle, kernel, tmp_path):
    route = lambda *words: kernel.call("ip", "route", *words)
    with router(heddle, kernel, tmp_path, ECMP_CHAIN, "-R") as r:
        ours = two_groups(route, r)
        groups, routes = groups_of(r), ours()
        control = Control(r.socket)
        read_again = lambda: wait_until(lambda: int(control.read("k.readings")) > 0 and control.read("k.routes") != "0")
        for chain in (ECMP_CHAIN, ECMP_CHAIN.replace("PUNT 2", "PUNT 2, TABLE 254"), ECMP_CHAIN):
            control.write("hotconfig", chain)
            read_again()
            assert (groups_of(r), ours()) == (groups, routes)
        # A new ECMP is told all of them again.
        control.write("hotconfig", ECMP_CHAIN.replace(":: ECMP;", ":: ECMP(65535 10.9.0.7 0);"))
        read_again()
        assert (groups_of(r), ours()) == (groups | {"65535": "10.9.0.7 0"}, routes)
        control.write("hotconfig", ECMP_CHAIN)
        read_again()
        # Routes with one next hop that is left are no group's, so groups go.
        control.write("hotconfig", ECMP_CHAIN.replace("d1 1, ", ""))
        wait_until(lambda: ours() == dict.fromkeys(routes, ("10.9.0.7", 0)), what="single next hops")
        wait_until(lambda: groups_of(r) == {}, what="the groups' end")


def test_groups_stay_when_a_reconfiguration_fails(heddle, kernel, tmp_path):
    route = lambda *words: kernel.call("ip", "route", *words)
    with router(heddle, kernel, tmp_path, ECMP_CHAIN, "-R") as r:
        ours = two_groups(route, r)
        groups = groups_of(r)
        control = Control(r.socket)
        for i in range(3, 7):
            control.refused(ECMP_CHAIN.replace("PUNT 2", "PUNT 2, TABLE 254") + "KernelNeighbours(nobody, d0);")
            # It goes on following the kernel.
            route("add", f"172.20.{i}.0/24", "nexthop", "via", f"10.9.0.{i}", "nexthop", "via", "10.9.1.7")
            wait_until(lambda p=f"172.20.{i}.0/24": p in ours(), what="a new route")
            groups[str(i)] = f"10.9.0.{i} 0 10.9.1.7 1"
            assert groups_of(r) == groups
            assert ours()[f"172.20.{i}.0/24"] == (f"0.0.0.{i}", 4)
        for i in (9, 1, *range(3, 7)):
            route("del", f"172.20.{i}.0/24")
        wait_until(lambda: ours() == {} and groups_of(r) == {}, what="the end of routes and groups")
        assert r.read("k.failed") == "0"


def test_a_configuration_that_fails_tells_nothing(heddle, kernel, tmp_path):
    """One without name takes over from none: it must not tell the running table what its own arguments would have."""
    chain = CHAIN.replace("d0 0, d1 1", "d0 0")
    with router(heddle, kernel, tmp_path, chain, "-R") as r:
        r.wait_for("10.9.0.0/24", (None, 0))
        table = r.table()
        other = CHAIN.replace("k :: KernelRoutes(rt, d0 0, d1 1", "KernelRoutes(rt, d0 1, d1 0")
        control = Control(r.socket)
        for _ in range(10):
            control.refused(other + "KernelNeighbours(nobody, d0);")
        kernel.call("ip", "route", "add", "172.20.9.0/24", "via", "10.9.0.7")
        r.wait_for("172.20.9.0/24", ("10.9.0.7", 0))
        assert r.table() == table | {ipaddress.ip_network("172.20.9.0/24"): ("10.9.0.7", 0)}


def test_routes_by_interfaces_that_are_left_out_go(heddle, kernel, tmp_path):
    route = lambda *words: kernel.call("ip", "route", *words)
    for i in range(300):
        route("add", f"172.20.{i % 200}.{i // 200 * 128}/25", "via", f"10.9.{i % 2}.7")
    with router(heddle, kernel, tmp_path, CHAIN, "-R") as r:
        ours = lambda: {n: hop for n, hop in r.table().items() if str(n).startswith("172.20.")}
        wait_until(lambda: len(ours()) == 300, what="the routes")
        control = Control(r.socket)
        control.write("rt.add", "198.18.0.0/15 10.9.1.9 1")  # another's
        before = ours()
        control.write("hotconfig", CHAIN.replace("d1 1, PUNT 2", "TABLE 254"))
        kept = {n: hop for n, hop in before.items() if hop[1] == 0}
        wait_until(lambda: ours() == kept, what="that routes by d1 go")
        assert len(kept) == 150
        assert r.table()[ipaddress.ip_network("198.18.0.0/15")] == ("10.9.1.9", 1)
        assert ipaddress.ip_network("10.9.1.0/24") not in r.table()
        # Back again, and with other routes of the element's own: a new table.
        control.write("hotconfig", CHAIN)
        wait_until(lambda: ours() == before, what="that they come back")
        control.write("hotconfig", CHAIN.replace("255.255.255.255/32 3", "255.255.255.255/32 3, 198.18.0.0/15 0"))
        wait_until(lambda: ours() == before, what="the routes in the new table")
        assert r.table()[ipaddress.ip_network("198.18.0.0/15")] == (None, 0)


def random_routes(count):
    routes = {}
    while len(routes) < count:
        length = RANDOM.choice([16, 20, 22, 24, 24, 24, 24])
        network = ipaddress.ip_network(((11 << 24) + RANDOM.getrandbits(25) & -1 << 32 - length, length))
        routes[network] = RANDOM.randrange(2)
    return routes


def change(namespace, lines):
    subprocess.run(
        namespace.command("ip", "-force", "-batch", "-"), input="\n".join(lines).encode(), check=True, timeout=60
    )


def test_many_changes_at_once(heddle, kernel, tmp_path):
    routes = random_routes(6000)
    with router(heddle, kernel, tmp_path) as r:
        change(kernel, (f"route add {network} via 10.9.{out}.7" for network, out in routes.items()))
        gone = RANDOM.sample(sorted(routes), 1500)
        moved = RANDOM.sample(sorted(set(routes) - set(gone)), 1500)
        change(
            kernel, [f"route del {n}" for n in gone] + [f"route replace {n} via 10.9.{1 - routes[n]}.7" for n in moved]
        )
        wanted = {n: (f"10.9.{out}.7", out) for n, out in routes.items()}
        for n in gone:
            del wanted[n]
        wanted |= {n: (f"10.9.{1 - routes[n]}.7", 1 - routes[n]) for n in moved}
        ours = lambda: {n: hop for n, hop in r.table().items() if n.network_address.packed[0] in (11, 12)}
        wait_until(lambda: ours() == wanted, what="the routes")


def test_bird_steers_it(heddle, kernel, tmp_path):
    (tmp_path / "bird.conf").write_text(
        "router id 192.0.2.1;\nprotocol device {}\nprotocol kernel { ipv4 { export all; }; }\n"
        "protocol static { ipv4; route 203.0.113.0/24 via 10.9.1.9; route 198.51.100.0/24 blackhole; }\n"
    )
    with router(heddle, kernel, tmp_path) as r:
        bird = kernel.command("/usr/sbin/bird", "-f", "-c", tmp_path / "bird.conf", "-s", tmp_path / "bird.ctl")
        daemon = subprocess.Popen(bird, stderr=subprocess.DEVNULL)
        try:
            r.wait_for("203.0.113.0/24", ("10.9.1.9", 1))
            r.wait_for("198.51.100.0/24", (None, 2))
            text = (tmp_path / "bird.conf").read_text().replace("10.9.1.9", "10.9.0.9")
            (tmp_path / "bird.conf").write_text(text)
            kernel.call("/usr/sbin/birdc", "-s", tmp_path / "bird.ctl", "configure")
            r.wait_for("203.0.113.0/24", ("10.9.0.9", 0))
        finally:
            daemon.terminate()
            daemon.wait(60)
        r.wait_for("203.0.113.0/24", None, "when the daemon has ended")


def test_neighbours_are_told(heddle, kernel, tmp_path):
    chain = """Idle -> q :: ARPQuerier(10.9.0.1, 2:0:0:0:0:1) -> Discard; Idle -> [1]q; k :: KernelNeighbours(q, d0);"""
    neighbour = lambda *words: kernel.call("ip", "neighbour", *words)
    neighbour("add", "10.9.0.5", "lladdr", "2:0:0:0:0:5", "dev", "d0")
    neighbour("add", "10.9.1.5", "lladdr", "2:0:0:0:0:9", "dev", "d1")
    with router(heddle, kernel, tmp_path, chain) as r:
        known = lambda: {row.split()[0]: row.split()[2].lower() for row in r.read("q.table").splitlines()}
        wait_until(lambda: known().get("10.9.0.5", "").replace("-", ":").endswith("05"), what="a neighbour from before")
        neighbour("add", "10.9.0.6", "lladdr", "2:0:0:0:0:6", "dev", "d0")
        wait_until(lambda: "10.9.0.6" in known(), what="a new neighbour")
        neighbour("replace", "10.9.0.6", "lladdr", "2:0:0:0:0:7", "dev", "d0")
        wait_until(lambda: known()["10.9.0.6"].replace("-", ":").endswith("07"), what="its new address")
        neighbour("del", "10.9.0.6", "dev", "d0")
        wait_until(lambda: "10.9.0.6" not in known(), what="its end")
        assert "10.9.1.5" not in known()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rt", "no interface is given"),
        ("rt, d0", "'d0' is not an interface and an output"),
        ("rt, d0 x", "'d0 x' is not an interface and an output"),
        ("rt, d0 0, d0 1", "'d0' has an output already"),
        ("nobody, d0 0", "nobody"),
        ("rt, d0 0, ECMP rt", "expected both ECMP and ECMP_OUT"),
        ("d, d0 0", "ctrl"),
    ],
)
def test_mistakes_are_named(heddle, arguments, message):
    chain = f"Idle -> rt :: DirectIPLookup -> d :: Discard; KernelRoutes({arguments})"
    assert message in heddle.fails("run", "-e", chain)


CHAIN6 = """rt :: LookupIP6Route(::/128 3); k :: KernelIP6Routes(rt, d0 0, d1 1, PUNT 2);
    Idle -> rt; rt[0] -> Discard; rt[1] -> Discard; rt[2] -> Discard; rt[3] -> Discard;"""


@pytest.fixture
def kernel6(kernel):
    for i in range(3):
        kernel.call("sysctl", "-qw", f"net.ipv6.conf.d{i}.disable_ipv6=0")
        call("ip", "-n", kernel.name, "-6", "address", "add", f"2001:db8:{i}::1/64", "dev", f"d{i}", "nodad")
    return kernel


class Router6(Router):
    def table(self):
        rows = [line.split() for line in self.read("rt.table").splitlines()]
        return {ipaddress.ip_network(row[0]): (None if row[1] == "-" else row[1], int(row[2])) for row in rows}


def test_ip6_routes_come_change_and_go(heddle, kernel6, tmp_path):
    route = lambda *words: kernel6.call("ip", "-6", "route", *words)
    route("add", "2001:db8:f000::/36", "via", "2001:db8:0::7")
    with router(heddle, kernel6, tmp_path, CHAIN6) as r4:
        r = Router6(r4.socket, r4.running)
        r.wait_for("2001:db8:f000::/36", ("2001:db8::7", 0), "from before the start")
        r.wait_for("2001:db8:1::/64", (None, 1), "a connected network")
        r.wait_for("2001:db8:1::1/128", (None, 2), "an address of the host")
        r.wait_for("2001:db8:2::/64", (None, 2), "of an interface that the chain does not know")
        route("add", "2001:db8:aa::/48", "via", "2001:db8:1::9")
        r.wait_for("2001:db8:aa::/48", ("2001:db8:1::9", 1))
        route("replace", "2001:db8:aa::/48", "via", "2001:db8:0::9")
        r.wait_for("2001:db8:aa::/48", ("2001:db8::9", 0))
        route("add", "2001:db8:bb::/48", "via", "2001:db8:1::8", "metric", "50")
        route("add", "2001:db8:bb::/48", "via", "2001:db8:0::8", "metric", "20")
        r.wait_for("2001:db8:bb::/48", ("2001:db8::8", 0))
        route("del", "2001:db8:bb::/48", "metric", "20")
        r.wait_for("2001:db8:bb::/48", ("2001:db8:1::8", 1))
        route("add", "unreachable", "2001:db8:cc::/48")
        r.wait_for("2001:db8:cc::/48", (None, 2))
        hops = ["nexthop", "via", "2001:db8:0::7", "nexthop", "via", "2001:db8:1::7"]
        for i in range(32):
            route("add", f"2001:db9:{i:x}::/48", *hops)
        ways = lambda: [hop for network, hop in r.table().items() if str(network).startswith("2001:db9:")]
        wait_until(lambda: len(ways()) == 32, what="routes of several hops")
        assert set(ways()) == {("2001:db8::7", 0), ("2001:db8:1::7", 1)}
        kernel6.call("ip", "link", "set", "d1", "down")
        r.wait_for("2001:db8:bb::/48", None)
        r.wait_for("2001:db8:1::/64", None)
        assert r.read("k.failed") == "0"


def test_several_ip6_next_hops_are_a_group(heddle, kernel6, tmp_path):
    route = lambda *words: kernel6.call("ip", "-6", "route", *words)
    chain = CHAIN6.replace("PUNT 2)", "PUNT 2, ECMP e, ECMP_OUT 4)").replace(
        "Idle -> rt", "Idle -> MarkIP6Header -> rt"
    )
    with router(heddle, kernel6, tmp_path, chain + "rt[4] -> e :: ECMP; e[0] -> Discard; e[1] -> Discard;") as r4:
        r = Router6(r4.socket, r4.running)
        hops = ["nexthop", "via", "2001:db8:0::7", "nexthop", "via", "2001:db8:1::7", "weight", "2"]
        route("add", "2001:db8:aa::/48", *hops)
        r.wait_for("2001:db8:aa::/48", ("::1", 4))
        assert r.read("e.groups") == "1 2001:db8:1::7 1 2001:db8:1::7 1 2001:db8::7 0\n"
        assert r.read("rt.lookup 2001:db8:aa::5").split() == ["4", "::1"]
        route("replace", "2001:db8:aa::/48", "via", "2001:db8:1::7")
        r.wait_for("2001:db8:aa::/48", ("2001:db8:1::7", 1))
        wait_until(lambda: r.read("e.groups") == "", what="the group's end")
        assert r.read("k.failed") == "0"


def test_ip6_neighbours_are_told(heddle, kernel6, tmp_path):
    chain = """Idle -> MarkIP6Header -> LookupIP6Route(::/0 0) -> q :: IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1) -> Discard;
        Idle -> [1]q; k :: KernelIP6Neighbours(q, d0);"""
    neighbour = lambda *words: kernel6.call("ip", "-6", "neighbour", *words)
    neighbour("add", "2001:db8::5", "lladdr", "2:0:0:0:0:5", "dev", "d0")
    neighbour("add", "2001:db8:1::5", "lladdr", "2:0:0:0:0:9", "dev", "d1")
    with router(heddle, kernel6, tmp_path, chain) as r:
        rows = lambda: [row.split() for row in r.read("q.table").splitlines()]
        known = lambda: {row[0]: row[2].lower().replace("-", ":") for row in rows()}
        wait_until(lambda: known().get("2001:db8::5", "").endswith("05"), what="a neighbour from before")
        neighbour("add", "2001:db8::6", "lladdr", "2:0:0:0:0:6", "dev", "d0")
        wait_until(lambda: "2001:db8::6" in known(), what="a new neighbour")
        neighbour("replace", "2001:db8::6", "lladdr", "2:0:0:0:0:7", "dev", "d0")
        wait_until(lambda: known()["2001:db8::6"].endswith("07"), what="its new address")
        neighbour("del", "2001:db8::6", "dev", "d0")
        wait_until(lambda: "2001:db8::6" not in known(), what="its end")
        assert "2001:db8:1::5" not in known()
