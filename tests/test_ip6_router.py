"""IPv6 neighbours: chains/ip6_router.click between two namespaces, and IP6NDAdvertiser and IP6NDSolicitor against
scapy's messages."""

import contextlib
import itertools
import re

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import Ether
from scapy.utils import PcapReader, wrpcap
from whole import captures, network
from whole.control import Control
from whole.program import CHAINS, Report

ROUTER, MAC = "2001:db8:1::fe", "02:00:00:00:01:00"
HOST, HOST_MAC = "2001:db8:1::1", "02:00:00:00:00:01"


def solicitation(target=ROUTER, source=HOST, to="ff02::1:ff00:fe", options=True, hlim=255, **fields):
    message = (
        Ether(src=HOST_MAC, dst="33:33:ff:00:00:fe")
        / IPv6(src=source, dst=to, hlim=hlim)
        / ICMPv6ND_NS(tgt=target, **fields)
    )
    return message / ICMPv6NDOptSrcLLAddr(lladdr=HOST_MAC) if options else message


def advertisement(target, mac, source=None, to=ROUTER, hlim=255, override=1, **fields):
    return (
        Ether(src=mac, dst=MAC)
        / IPv6(src=source or target, dst=to, hlim=hlim)
        / ICMPv6ND_NA(R=0, S=1, O=override, tgt=target, **fields)
        / ICMPv6NDOptDstLLAddr(lladdr=mac)
    )


def frames(path):
    with PcapReader(str(path)) as reader:
        return list(reader)


def is_right(packet):
    """Whether the checksum is what scapy computes."""
    again = packet.copy()
    message = again[ICMPv6ND_NA] if ICMPv6ND_NA in again else again[ICMPv6ND_NS]
    had, message.cksum = message.cksum, None
    return Ether(bytes(again)).getlayer(type(message)).cksum == had


def test_solicitations_are_answered(heddle, tmp_path):
    bad_checksum = Ether(bytes(solicitation()))
    bad_checksum[ICMPv6ND_NS].cksum ^= 1
    truncated = Ether(bytes(solicitation())[:-9])
    bad_option = Ether(bytes(solicitation(options=False) / b"\x01\x00\x00\x00\x00\x00\x00\x00"))
    mine = [
        solicitation(),
        solicitation(options=False),
        solicitation(target="2001:db8:9::5", to="ff02::1:ff00:5"),
        solicitation(source="::", options=False),
        solicitation() / (b"\x0e\x01" + bytes(6)),
    ]
    others = [
        solicitation(hlim=254),
        solicitation(code=1),
        solicitation(target="ff02::1"),
        solicitation(source="::"),
        solicitation(source="::", to=ROUTER, options=False),
        bad_checksum,
        truncated,
        bad_option,
        advertisement(HOST, HOST_MAC),
    ]
    not_mine = [solicitation(target="2001:db8:1::fd")]
    wrpcap(str(tmp_path / "in.pcap"), mine + others + not_mine)
    chain = (
        f"FromDump({tmp_path}/in.pcap) -> r :: IP6NDAdvertiser({ROUTER} {MAC}, 2001:db8:8::/45 2:0:0:0:0:9)"
        f" -> ToDump({tmp_path}/out.pcap)"
    )
    report = Report(heddle.ok("run", "--json", "-e", chain).json)
    assert report.drops("r") == {"not_solicitation": len(others), "not_mine": 1}
    got = frames(tmp_path / "out.pcap")
    assert len(got) == len(mine)
    for packet, asked in zip(got, mine):
        answer, option = packet[ICMPv6ND_NA], packet[ICMPv6NDOptDstLLAddr]
        nobody = asked[IPv6].src == "::"
        assert len(packet) == 86 and is_right(packet) and packet[IPv6].hlim == 255
        assert (answer.R, answer.S, answer.O) == (1, 0 if nobody else 1, 1)
        assert answer.tgt == packet[IPv6].src == asked[ICMPv6ND_NS].tgt
        assert option.lladdr == packet.src == ("02:00:00:00:00:09" if "9::5" in answer.tgt else MAC)
        assert (packet[IPv6].dst, packet.dst) == (("ff02::1", "33:33:00:00:00:01") if nobody else (HOST, HOST_MAC))


def datagram(to, serial=0):
    return Ether(src=HOST_MAC, dst=MAC) / IPv6(src="2001:db8:7::1", dst=to) / UDP(sport=serial) / b"data"


SOLICITOR = """FromDump({folder}/in.pcap, BURST 1) -> c :: Classifier(12/86dd 20/3a 54/88, -);
    c[0] -> [1]q; c[1] -> Strip(14) -> CheckIP6Header -> rt :: LookupIP6Route(2001:db8:1::/64 0, ff00::/8 0, ::/0 2001:db8:1::9 0)
    -> q :: IP6NDSolicitor({router}, {mac}, CAPACITY 64) -> ToDump({folder}/out.pcap);"""


def solicitor(heddle, folder, packets, *options, burst=1):
    wrpcap(str(folder / "in.pcap"), packets)
    chain = SOLICITOR.replace("BURST 1", f"BURST {burst}").format(folder=folder, router=ROUTER, mac=MAC)
    report = Report(heddle.ok("run", "--json", *options, "-e", chain).json)
    got = frames(folder / "out.pcap")
    return report, [p for p in got if ICMPv6ND_NS in p], [p for p in got if ICMPv6ND_NS not in p]


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_packets_wait_for_answers(heddle, tmp_path, device):
    gateway, neighbour = "2001:db8:1::9", "2001:db8:1::4:5"
    packets = [
        datagram("2001:db8:5::1", 1),
        datagram(neighbour, 2),
        datagram("2001:db8:6::1", 3),
        datagram("ff0e::1:3", 4),
    ]
    # One packet at a time: answers come after what waits for them.
    packets += [
        advertisement("2001:db8:1::77", "02:00:00:00:00:77"),  # nobody has asked
        advertisement(gateway, "02:00:00:00:00:66", hlim=64),  # from beyond the link
        advertisement(gateway, "03:00:00:00:00:66"),  # a group's
        advertisement(gateway, "02:00:00:00:00:19"),
        advertisement(neighbour, "02:00:00:00:00:45"),
        advertisement(gateway, "02:00:00:00:00:66", override=0),  # known otherwise
        datagram("2001:db8:5::2", 5),
        advertisement(gateway, "02:00:00:00:00:20"),
        datagram("2001:db8:5::3", 6),
    ]
    report, asked, sent = solicitor(heddle, tmp_path, packets, "--device", device)
    assert {p[ICMPv6ND_NS].tgt for p in asked} == {gateway, neighbour}
    for packet in asked:
        assert is_right(packet) and packet[IPv6].src == ROUTER and packet[IPv6].hlim == 255 and packet.src == MAC
        tail = packet[ICMPv6ND_NS].tgt.split(":")[-1].zfill(2)
        assert packet.dst[:8] == "33:33:ff" and packet.dst.endswith(tail)
        assert packet[IPv6].dst.startswith("ff02::1:ff") and packet[ICMPv6NDOptSrcLLAddr].lladdr == MAC
    wanted = {1: "19", 2: "45", 3: "19", 5: "19", 6: "20"}
    assert {p[UDP].sport: p.dst for p in sent} == {k: f"02:00:00:00:00:{v}" for k, v in wanted.items()} | {
        4: "33:33:00:01:00:03"
    }
    assert all(p.src == MAC and p.type == 0x86DD for p in sent)
    assert report.drops("q") == {"learnt": 6, "not_advertisement": 1}
    assert report.one("q")["statistics"]["entries"] == 2


def test_an_answer_counts_for_what_comes_behind_it(heddle, tmp_path):
    """Also in one burst, of packets to one neighbour."""
    gateway = "2001:db8:1::9"
    far = [datagram(f"2001:db8:5::{i}", i) for i in range(1, 6)]
    first, then = (advertisement(gateway, f"02:00:00:00:00:{end}") for end in ("19", "20"))
    packets = [far[0], first, far[1], far[2], far[3], then, far[4]]
    report, asked, sent = solicitor(heddle, tmp_path, packets, burst=4)
    assert len(asked) == 1 and report.drops("q") == {"learnt": 2}
    assert {p[UDP].sport: p.dst[-2:] for p in sent} == {1: "19", 2: "19", 3: "19", 4: "19", 5: "20"}


def play(heddle, folder, arguments, packets):
    """What an IP6NDSolicitor does with packets, each at its time in seconds, in simulated time."""
    timed = [captures.Packet(1_700_000_000_000_000_000 + int(s * 1e9), len(p), bytes(p)) for s, p in packets]
    (folder / "in.pcap").write_bytes(captures.pcap(timed))
    chain = SOLICITOR.replace("BURST 1", "TIMING true").replace("CAPACITY 64", arguments)
    chain = chain.format(folder=folder, router=ROUTER, mac=MAC).replace("-> ToDump", "-> SetTimestamp -> ToDump")
    report = Report(heddle.ok("run", "--json", "--simtime", "-e", chain).json)
    got = [(p.ns / 1e9 - 1e9, Ether(p.data)) for p in captures.read(folder / "out.pcap")]
    return report, [p for p in got if ICMPv6ND_NS in p[1]], [p for p in got if ICMPv6ND_NS not in p[1]]


def test_what_nobody_answers_for_leaves_by_output_2(heddle, tmp_path):
    """As it came, three seconds later; what still waits at the end is dropped."""
    packets = [(0, datagram("2001:db8:5::1", 1)), (1, datagram("2001:db8:1::5", 2)), (2, datagram("2001:db8:5::2", 3))]
    packets += [(9, datagram("2001:db8:5::3", 4))]
    timed = [captures.Packet(1_700_000_000_000_000_000 + int(s * 1e9), len(p), bytes(p)) for s, p in packets]
    (tmp_path / "in.pcap").write_bytes(captures.pcap(timed))
    chain = SOLICITOR.format(folder=tmp_path, router=ROUTER, mac=MAC).replace("BURST 1", "TIMING true")
    chain += f"q[1] -> ToDump({tmp_path}/asked.pcap); q[2] -> SetTimestamp -> ToDump({tmp_path}/back.pcap, ENCAP IP);"
    chain += "DriverManager(wait 9.5s, stop)"
    report = Report(heddle.ok("run", "--json", "--simtime", "-e", chain).json)
    back = captures.read(tmp_path / "back.pcap")
    assert [p.data for p in back] == [bytes(packets[i][1])[14:] for i in (0, 2, 1)]
    # With the first of an address the others go.
    assert [int(p.ns / 1e9 - 1e9) for p in back] == [3, 3, 4]
    assert report.drops("q") == {"unanswered": 1} and frames(tmp_path / "out.pcap") == []
    assert {p[ICMPv6ND_NS].tgt for p in frames(tmp_path / "asked.pcap")} == {"2001:db8:1::9", "2001:db8:1::5"}


def test_a_known_address_is_kept_while_it_is_asked_for_again(heddle, tmp_path):
    neighbour, right, wrong = "2001:db8:1::4:5", "02:00:00:00:00:45", "02:00:00:00:00:66"
    packets = [
        (0, datagram(neighbour, 1)),
        (0.01, advertisement(neighbour, right)),
        (10, datagram(neighbour, 2)),  # old: asked for again
        (10.1, advertisement(neighbour, wrong, override=0)),
        (10.2, datagram(neighbour, 3)),
        (10.3, advertisement(neighbour, right, override=0)),  # it is as it was
        (12, datagram(neighbour, 4)),
        (20, datagram(neighbour, 5)),
        (20.1, advertisement(neighbour, wrong)),
        (20.2, datagram(neighbour, 6)),
    ]
    _, asked, sent = play(heddle, tmp_path, "POLL_TIMEOUT 5", packets)
    assert {p[UDP].sport: p.dst for _, p in sent} == dict.fromkeys(range(1, 6), right) | {6: wrong}
    assert {int(s) for s, _ in asked} == {0, 10, 20}


def test_known_neighbours_are_asked_again_during_a_scan(heddle, tmp_path):
    """However many addresses there are not: POLL_TIMEOUT holds for those that there are."""
    neighbour, ethernet = "2001:db8:1::4:5", "02:00:00:00:00:45"
    packets = [(0, datagram(neighbour, 1)), (0.01, advertisement(neighbour, ethernet))]
    packets += [(10 + i / 1000, datagram(f"2001:db8:1::a:{i:x}")) for i in range(2500)]
    packets += [(12.6 + i / 100, datagram(neighbour, 2)) for i in range(240)]
    report, asked, sent = play(heddle, tmp_path, "POLL_TIMEOUT 5", packets)
    assert report.drops("q")["queue_full"] > 0  # the scan has taken what there is
    assert len(sent) == 241
    times = [s for s, p in asked if p[ICMPv6ND_NS].tgt == neighbour]
    # At first, and then once a second: before the scan has been given up as well.
    assert len(times) == 4 and times[0] < 0.1 and 12.6 <= times[1] < 12.7, times
    assert all(0.85 < b - a < 1.2 for a, b in itertools.pairwise(times[1:])), times


@pytest.mark.parametrize(("arguments", "kept"), [("", 10), (", ENTRY_PACKET_CAPACITY 3", 3)])
def test_one_address_takes_its_share_of_the_room(heddle, tmp_path, arguments, kept):
    nobody, neighbour = "2001:db8:1::dead", "2001:db8:1::4:5"
    packets = [(i / 1000, datagram(nobody, i)) for i in range(1, 201)]
    packets += [(0.3 + i / 1000, datagram(neighbour, 1000 + i)) for i in range(kept)]
    packets += [(0.5, advertisement(neighbour, "02:00:00:00:00:45")), (1, advertisement(nobody, "02:00:00:00:00:99"))]
    report, _, sent = play(heddle, tmp_path, "CAPACITY 80" + arguments, packets)
    assert report.drops("q") == {"queue_full": 200 - kept, "learnt": 2}
    # Those that came last, in their order.
    assert [p[UDP].sport for _, p in sent] == [*range(1000, 1000 + kept), *range(201 - kept, 201)]


def test_a_flood_takes_no_more_than_its_room(heddle, tmp_path):
    packets = [datagram("2001:db8:5::1"), advertisement("2001:db8:1::9", "02:00:00:00:00:19")]
    packets += [datagram(f"2001:db8:1::{i:x}:{i % 7:x}") for i in range(1, 5000)] + [datagram("2001:db8:5::2")]
    packets += [advertisement(f"2001:db8:1::aaaa:{i:x}", "02:00:00:00:00:01") for i in range(5000)]
    packets += [datagram("2001:db8:5::3")]
    # Time stands still until all have come, so nobody gives up before.
    report, _, sent = solicitor(heddle, tmp_path, packets, "--simtime")
    assert {k: v for k, v in report.drops("q").items() if k not in ("learnt", "not_advertisement")} == {
        "queue_full": 4999 - 64,
        "unanswered": 64,
    }
    assert [p[IPv6].dst for p in sent] == [f"2001:db8:5::{i}" for i in (1, 2, 3)]
    assert report.one("q")["statistics"]["entries"] == 1


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("IP6NDSolicitor(1.2.3.4, 2:0:0:0:0:1)", "'1.2.3.4' is not an IPv6 address"),
        ("IP6NDSolicitor(2001:db8::1)", "expected IP6 and ETH"),
        ("IP6NDAdvertiser(2001:db8::1)", "IPv6 addresses or networks and their Ethernet address"),
        ("IP6NDAdvertiser(2001:db8::/129 2:0:0:0:0:1)", "IPv6 addresses or networks and their Ethernet address"),
    ],
)
def test_mistakes_are_named(heddle, element, message):
    assert message in heddle.fails("check", "-e", f"Idle -> {element} -> Discard")


@pytest.mark.parametrize(
    ("element", "nobody"),
    [("ARPQuerier(10.0.0.1, 2:0:0:0:0:1)", "0.0.0.0"), ("IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1)", "::")],
)
def test_nobodys_address_is_refused(heddle, tmp_path, element, nobody):
    chain = f"Idle -> q :: {element} -> Discard; Idle -> [1]q; InfiniteSource(LIMIT 0, STOP false) -> Discard"
    with heddle.start("run", "-u", tmp_path / "socket", "-e", chain) as r:
        control = Control(tmp_path / "socket")
        for line in (f"WRITE q.insert {nobody} 2:0:0:0:0:9", f"WRITE q.delete {nobody}"):
            code, text, _ = control.command(line)
            assert code == 520 and "nobody's address" in text, (line, code, text)
        assert control.read("q.count") == "0"
        assert r.interrupt().code == 0


@contextlib.contextmanager
def two_networks(heddle, *definitions):
    """Two namespaces with a network each, and the routers between them, which know nobody yet."""
    text = (CHAINS / "ip6_router.click").read_text()
    with network.namespaces() as (left, right), network.veth_pairs(left, right) as (a, b):
        for space, net in ((left, "2001:db8:ffff:1"), (right, "2001:db8:ffff:3")):
            space.call("sysctl", "-qw", f"net.ipv6.conf.{space.device}.disable_ipv6=0")
            space.call("ip", "-6", "address", "add", f"{net}::1/64", "dev", space.device, "nodad")
            space.call("ip", "-6", "route", "add", "default", "via", f"{net}::fe")
            space.address = f"{net}::1"
        for old, new in (
            ("FromDump($IN, ACTIVE false)", f'FromDPDKDevice("net_af_packet0,iface={a}")'),
            (":: Idle", f':: FromDPDKDevice("net_af_packet1,iface={b}")'),
            ("ToDump(${OUT}_0.pcap)", f'ToDPDKDevice("net_af_packet0,iface={a}")'),
            ("ToDump(${OUT}_1.pcap)", f'ToDPDKDevice("net_af_packet1,iface={b}")'),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        text = re.sub(r"^Script.*?;$", "", text, flags=re.MULTILINE | re.DOTALL)
        with heddle.start("run", "--json", "-e", text, *definitions) as running:
            network.wait_for_link(left, right, running)
            yield left, right, running


@pytest.mark.usefixtures("root")
def test_ping_across_two_routers(heddle):
    with two_networks(heddle) as (left, right, running):
        assert left.ping(right.address, 50) == 50
        assert right.ping(left.address, 20, size=1400) == 20
        assert MAC in left.call("ip", "-6", "neighbour", "show", "2001:db8:ffff:1::fe")
        # Hosts that there are not take nothing from those that there are.
        left.call("ping", "-q", "-c", "1", "-W", "1", "2001:db8:ffff:3::99", check=False)
        assert left.ping(right.address, 20) == 20
        result = running.interrupt()
        assert result.code == 0, result
        report = Report(result.json)
    by_name = {e["name"]: e["statistics"] for e in report.elements("IP6NDSolicitor")}
    assert {name: s["entries"] for name, s in by_name.items()} == {
        "first/nd0": 1,
        "first/nd1": 1,
        "second/nd0": 1,
        "second/nd1": 1,
    }


def complaint(space, address, *options):
    """Who says that a ping does not get there, and why; None and the end of the way if it does."""
    out = space.call("ping", "-n", "-c", 1, "-W", 10, *options, address, check=False)
    if found := re.search(r"^From ([\da-f:]+)[:]? icmp_seq=1 (.*)$", out, re.MULTILINE):
        return found[1], found[2]
    return re.search(r"bytes from ([\da-f:]+):", out)[1], None


@pytest.mark.usefixtures("root")
def test_hop_limits_and_routes_that_there_are_not(heddle):
    with two_networks(heddle) as (left, right, running):
        first, second = "2001:db8:ffff:1::fe", "2001:db8:ffff:2::2"
        assert complaint(left, right.address, "-t", 1) == (first, "Time exceeded: Hop limit")
        assert complaint(left, right.address, "-t", 2) == (second, "Time exceeded: Hop limit")
        assert complaint(left, right.address, "-t", 3) == (right.address, None)
        assert complaint(right, left.address, "-t", 1)[0] == "2001:db8:ffff:3::fe"
        assert complaint(left, "2001:db8:ffff:3::99") == (second, "Destination unreachable: Address unreachable")
        assert complaint(left, "fd00::5") == (first, "Destination unreachable: No route")
        assert running.interrupt().code == 0


@pytest.mark.usefixtures("root")
def test_path_mtu(heddle):
    with two_networks(heddle, "MTU=1300") as (left, right, running):
        out = left.call("ping", "-n", "-c", 2, "-W", 10, "-M", "do", "-s", 1400, right.address, check=False)
        assert re.search(r"Packet too big: mtu=1300|message too long, mtu.1300", out), out
        left.call("ip", "-6", "route", "flush", "cache")
        assert network.transfer(left, right, 300_000)  # TCP finds out by the same messages
        assert "mtu 1300" in left.call("ip", "-6", "route", "get", right.address)
        result = running.interrupt()
        assert result.code == 0, result
    lengths = {e["name"]: e["drops"] for e in Report(result.json).elements("CheckLength")}
    assert lengths == {name: {} for name in lengths}  # none is dropped without a word
