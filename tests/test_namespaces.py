"""Two network namespaces whose only connection is the program: ping, TCP and UDP cross it unharmed; stopping,
restarting and new routes lose nothing. Needs root."""

import contextlib
import signal

import pytest
from whole import network
from whole.program import MODES, Report, quoted, wait_until

pytestmark = pytest.mark.usefixtures("root")

WIRE = (
    'FromDPDKDevice("{a}") -> EtherMirror -> EtherMirror -> to_b :: Counter -> ToDPDKDevice("{b}");'
    'FromDPDKDevice("{b}") -> EtherMirror -> EtherMirror -> to_a :: Counter -> ToDPDKDevice("{a}");'
)
# ARP goes around the router, IPv4 through it.
ROUTER = (
    'a :: FromDPDKDevice("{a}"); b :: FromDPDKDevice("{b}"); to_a :: ToDPDKDevice("{a}"); to_b :: ToDPDKDevice("{b}");'
    "a -> ka :: Classifier(12/0806, 12/0800); ka[0] -> to_b; ka[1] -> CheckIPHeader(14) -> rt;"
    "b -> kb :: Classifier(12/0806, 12/0800); kb[0] -> to_a; kb[1] -> CheckIPHeader(14) -> rt;"
    "rt :: DirectIPLookup({routes}); rt[0] -> to_a; rt[1] -> to_b;"
)
ROUTES = "10.77.0.1 0, 10.77.0.2 1"


@contextlib.contextmanager
def joined_by_af_packet():
    """Two namespaces and the names of the ports between them."""
    with network.namespaces() as (left, right), network.veth_pairs(left, right) as (a, b):
        yield left, right, {"a": f"net_af_packet0,iface={a}", "b": f"net_af_packet1,iface={b}"}


@pytest.fixture
def veth():
    with joined_by_af_packet() as parts:
        yield parts


def start(heddle, chain, *args, **options):
    return heddle.start_ready("run", "--json", "-e", chain, *args, **options)


def finish(running, silent=True):
    """Ctrl-C: ends cleanly, with every packet accounted for."""
    result = running.interrupt()
    assert result.code == 0, result
    assert result.err == "" or not silent, result
    report = Report(result.json)
    report.assert_accounted()
    return report


def test_ping_tcp_and_udp_over_af_packet(heddle, veth):
    left, right, ports = veth
    with start(heddle, WIRE.format(**ports)) as running:
        network.wait_for_link(left, right)
        assert left.ping(right.address, 100) == 100
        assert right.ping(left.address, 50, size=1472) == 50
        assert network.transfer(left, right, 3_000_000)
        assert network.iperf3(left, right, "-n", "5M")["sum_sent"]["bytes"] >= 5 * 2**20
        udp = network.iperf3(left, right, "-u", "-b", "8M", "-t", "1")
        assert udp["sum"]["packets"] > 300 and udp["sum"]["lost_packets"] == right.overflown()
        report = finish(running)
    assert report.dropped == 0
    assert report.count("to_a") + report.count("to_b") == report.received


def test_router_over_af_packet(heddle, veth):
    left, right, ports = veth
    with start(heddle, ROUTER.format(**ports, routes=ROUTES)) as running:
        network.wait_for_link(left, right)
        assert left.ping(right.address, 100, size=18) == 100
        assert network.transfer(right, left, 2_000_000)
        assert network.iperf3(right, left, "-n", "2M")["sum_sent"]["bytes"] >= 2**21
        report = finish(running)
    assert report.one("rt")["packets"] > 1000
    assert report.dropped == 0, report.all


@pytest.mark.parametrize("name", ["simt-sync", "simt-persistent"])
def test_functions_on_simt(heddle, veth, name):
    left, right, ports = veth
    with start(heddle, ROUTER.format(**ports, routes=ROUTES), *MODES[name], "--slots", "4") as running:
        network.wait_for_link(left, right)
        assert left.ping(right.address, 40, interval=0.02) == 40
        assert network.transfer(left, right, 50_000)
        report = finish(running)
    assert report.one("rt")["processor"] == "simt" and report.dropped == 0


def test_tap_devices_in_namespaces(heddle):
    with network.namespaces() as (left, right):
        names = [f"hdtap{n}x{left.name[-4:]}"[:15] for n in range(2)]
        ports = {side: f"net_tap{n},iface={names[n]}" for n, side in enumerate("ab")}
        with start(heddle, WIRE.format(**ports)) as running:
            left.adopt(names[0], "10.77.0.1/24", "02:00:00:00:77:01")
            right.adopt(names[1], "10.77.0.2/24", "02:00:00:00:77:02")
            network.wait_for_link(left, right)
            assert left.ping(right.address, 100) == 100
            assert network.transfer(left, right, 500_000)
            report = finish(running, silent=False)  # DPDK's tap driver talks about a kernel without multiq
        assert report.received > 200


def exists(device):
    return device in network.call("ip", "-o", "link", "show")


def test_interrupt_under_traffic_and_restart(heddle, veth):
    left, right, ports = veth
    for _ in range(2):
        with start(heddle, WIRE.format(**ports)) as running:
            network.wait_for_link(left, right)
            with (
                network.serving(left, "ping", "-q", "-f", "-s", "1000", right.address),
                network.serving(right, "ping", "-q", "-f", left.address),
            ):
                wait_until(lambda: running.metric("heddle_received_packets_total") > 500, what="traffic")
                report = finish(running)
        assert report.received > 500


def test_terminate_ends_like_interrupt(heddle, veth):
    left, right, ports = veth
    with start(heddle, WIRE.format(**ports)) as running:
        network.wait_for_link(left, right)
        running.signal(signal.SIGTERM)
        result = running.wait()
    assert result.code == 0, result
    Report(result.json).assert_accounted()


@pytest.mark.parametrize("name", ["cpu", "simt-persistent"])
def test_new_routes_under_traffic(heddle, veth, tmp_path, name):
    left, right, ports = veth
    routes = tmp_path / "routes"
    base = ROUTES.replace(", ", "\n") + "\n"
    routes.write_text(base)
    chain = ROUTER.format(**ports, routes=f"FILE {quoted(routes)}")
    log = tmp_path / "log"
    with log.open("wb") as err, start(heddle, chain, *MODES[name], stderr=err) as running:
        network.wait_for_link(left, right)
        end = network.flood(left, right.address, 400)
        for step in range(10):
            routes.write_text(base + "".join(f"10.{step}.{n}.0/24 {n % 2}\n" for n in range(200)))
            running.signal(signal.SIGHUP)
            wait_until(lambda n=step + 1: log.read_text().count("rt: reloaded") == n, 60, "the new routes")
        routes.write_text("10.77.0.1 0\nnonsense\n")  # changes nothing
        running.signal(signal.SIGHUP)
        wait_until(lambda: "stay as they are" in log.read_text(), 60, "the refusal of the routes")
        routes.write_text(base + "10.1.0.0/16 1\n")
        running.signal(signal.SIGHUP)
        wait_until(lambda: log.read_text().count("rt: reloaded") == 11, 60, "the last routes")
        received = end()
        result = running.interrupt()
    assert received == 400
    report = Report(result.json)
    report.assert_accounted()
    assert report.dropped == 0, report.all
    assert report.one("rt")["statistics"]["routes"] == 3
    assert "routes:2: 'nonsense' is not a route" in log.read_text()


def test_routes_decide_under_traffic(heddle, veth, tmp_path):
    """Taking a route away stops the traffic, giving it back lets it flow."""
    left, right, ports = veth
    routes = tmp_path / "routes"
    routes.write_text("10.77.0.1 0\n10.77.0.2 1\n")
    log = tmp_path / "log"
    chain = ROUTER.format(**ports, routes=f"FILE {quoted(routes)}")
    with log.open("wb") as err, start(heddle, chain, stderr=err) as running:
        network.wait_for_link(left, right)
        routes.write_text("10.77.0.1 0\n")
        running.signal(signal.SIGHUP)
        wait_until(lambda: log.read_text().count("rt: reloaded") == 1, 60, "the new routes")
        assert left.ping(right.address, 3, patience=1) == 0
        routes.write_text("10.77.0.1 0\n10.77.0.0/24 1\n")
        running.signal(signal.SIGHUP)
        wait_until(lambda: log.read_text().count("rt: reloaded") == 2, 60, "the last routes")
        assert left.ping(right.address, 20) == 20
        result = running.interrupt()
    report = Report(result.json)
    report.assert_accounted()
    assert report.drops("rt") == {"no_route": 3}
