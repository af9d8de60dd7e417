"""ICMP6Error, against scapy's messages."""

import itertools
import random

import pytest
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_Redirect,
    ICMPv6PacketTooBig,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from whole import captures
from whole.program import Report

RANDOM = random.Random(4443)
SOURCE, SENDER, TARGET = "2001:db8::fe", "2001:db8:1::2", "2001:db8:2::3"
OK = {"src": SENDER, "dst": TARGET}


def frame(packet, to="02:00:00:00:00:fe"):
    return bytes(Ether(src="02:00:00:00:00:02", dst=to, type=0x86DD) / packet)


def run(heddle, folder, arguments, frames, *options, source="FromDump({folder}/in.pcap)"):
    """What an ICMP6Error says, and the program's report."""
    captures.write(folder / "in.pcap", frames)
    chain = (
        f"{source.format(folder=folder)} -> Strip(14) -> MarkIP6Header -> e :: ICMP6Error({SOURCE}, {arguments})"
        f" -> EtherEncap(0x86dd, 2:0:0:0:0:fe, 2:0:0:0:0:2) -> ToDump({folder}/out.pcap)"
    )
    report = Report(heddle.ok("run", "--json", *options, "-e", chain).json)
    report.assert_accounted()
    return [data[14:] for data in captures.frames(folder / "out.pcap")], report


def some_packets(number):
    for _ in range(number):
        above = RANDOM.choice([UDP(sport=9, dport=10), TCP(), ICMPv6EchoRequest(id=7)])
        if RANDOM.random() < 0.4:
            above = RANDOM.choice([IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt])(options=PadN(optdata=bytes(4))) / above
        address = f"2001:db8:1::{RANDOM.randrange(1, 1 << 16):x}"
        yield (
            IPv6(src=address, dst=TARGET, hlim=RANDOM.randrange(256))
            / above
            / RANDOM.randbytes(RANDOM.randrange(0, 1400))
        )


@pytest.mark.parametrize(
    ("arguments", "kind", "code", "number"),
    [
        ("timeexceeded", 3, 0, 0),
        ("timeexceeded, reassembly", 3, 1, 0),
        ("unreachable", 1, 0, 0),
        ("unreachable, port", 1, 4, 0),
        ("1, 6", 1, 6, 0),
        ("packettoobig, PMTU 1400", 2, 0, 1400),
        ("parameterproblem, nextheader, POINTER 40", 4, 1, 40),
        ("unreachable, address, MTU 200", 1, 3, 0),
    ],
)
def test_it_says_what_rfc_4443_wants(heddle, tmp_path, arguments, kind, code, number):
    packets = list(some_packets(80))
    out, _ = run(heddle, tmp_path, f"{arguments}, RATE 0", [frame(p) for p in packets])
    most = 200 if "MTU 200" in arguments else 1280
    assert len(out) == len(packets)
    for data, cause in zip(out, packets):
        cause = bytes(cause)
        assert data[48:] == cause[: most - 48]
        got = IPv6(data)
        assert (got.src, got.dst, got.hlim, got.tc, got.fl, got.nh) == (SOURCE, IPv6(cause).src, 255, 0, 0, 58)
        assert got.plen == len(data) - 40 == min(most, 48 + len(cause)) - 40
        assert (data[40], data[41]) == (kind, code) and int.from_bytes(data[44:48], "big") == number
        del got.payload.cksum
        assert IPv6(bytes(got)).payload.cksum == int.from_bytes(data[42:44], "big")


def errors():
    """Packets that report errors, or may do so."""
    error = ICMPv6TimeExceeded() / IPv6(**OK) / UDP()
    yield IPv6(**OK) / error
    yield IPv6(**OK) / ICMPv6PacketTooBig() / IPv6(**OK) / UDP()
    yield IPv6(**OK, nh=58) / Raw(bytes([100, 0, 0, 0, 0, 0, 0, 0]))
    yield IPv6(**OK) / ICMPv6ND_Redirect()
    yield IPv6(**OK) / IPv6ExtHdrHopByHop(options=PadN(optdata=bytes(4))) / error
    yield IPv6(**OK) / IPv6ExtHdrRouting(addresses=[TARGET]) / IPv6ExtHdrDestOpt() / error
    yield IPv6(**OK) / AH(nh=58, payloadlen=4, icv=bytes(12)) / Raw(bytes(error))
    yield IPv6(**OK) / IPv6ExtHdrFragment(m=1) / error
    yield IPv6(**OK) / IPv6ExtHdrFragment(nh=58, offset=3) / Raw(bytes([128]) + bytes(20))
    yield IPv6(**OK, nh=58)  # what it is has been cut
    yield IPv6(**OK, nh=60) / Raw(bytes([58, 0, 1]))
    yield IPv6(**OK, nh=60) / Raw(bytes([58, 9, 1, 4, 0, 0, 0, 0, 128]))  # beyond the end


def informational():
    yield IPv6(**OK) / UDP()
    yield IPv6(**OK) / ICMPv6EchoReply()
    yield IPv6(**OK) / IPv6ExtHdrDestOpt() / ICMPv6EchoRequest()
    yield IPv6(**OK) / IPv6ExtHdrFragment(m=1) / ICMPv6EchoRequest()
    yield IPv6(**OK) / IPv6ExtHdrFragment(nh=17, offset=3) / Raw(bytes(20))
    yield IPv6(**OK, nh=59)


def refused(heddle, folder, arguments, packets):
    """The reason of each that is not answered, None of the others."""
    reasons = []
    for packet in packets:
        out, report = run(heddle, folder, arguments, [packet])
        reasons.append(next(iter(report.drops("e")), None))
        assert (reasons[-1] is None) == (len(out) == 1)
    return reasons


def test_errors_are_not_answered(heddle, tmp_path):
    packets = list(errors())
    out, report = run(heddle, tmp_path, "unreachable, RATE 0", [frame(p) for p in packets])
    assert out == [] and report.drops("e") == {"icmp_error": len(packets)}
    packets = list(informational())
    out, report = run(heddle, tmp_path, "unreachable, RATE 0", [frame(p) for p in packets])
    assert len(out) == len(packets) and report.drops("e") == {}


def test_what_is_broken_harms_nobody(heddle, tmp_path):
    """Headers changed and cut anywhere: the message is whole, or the packet counted."""
    whole = [bytes(p) for p in [*errors(), *informational()]] * 60
    frames = []
    for data in whole:
        changed = bytearray(data)
        for _ in range(RANDOM.randrange(3)):
            changed[RANDOM.randrange(len(changed))] = RANDOM.choice([0, 43, 44, 51, 58, 60, RANDOM.randrange(256)])
        changed[0] = 0x60
        frames.append(frame(Raw(bytes(changed[: RANDOM.randrange(40, len(changed) + 1)]))))
    out, report = run(heddle, tmp_path, "unreachable, RATE 0", frames)
    assert 0 < len(out) < len(frames) == len(out) + report.dropped
    for data in out:
        got = IPv6(data)
        assert got.plen == len(data) - 40 and (got.nh, data[40]) == (58, 1)
        assert any(frame[14:].startswith(data[48:]) for frame in frames)


MULTICAST = [
    frame(IPv6(src=SENDER, dst="ff0e::5") / UDP()),
    frame(IPv6(**OK) / UDP(), to="33:33:00:00:00:05"),
    frame(IPv6(**OK) / UDP(), to="ff:ff:ff:ff:ff:ff"),
]


@pytest.mark.parametrize(
    ("arguments", "answered"),
    [
        ("timeexceeded", False),
        ("unreachable", False),
        ("parameterproblem", False),
        ("parameterproblem, option", True),
        ("packettoobig, PMTU 1280", True),
    ],
)
def test_multicast_is_answered_only_where_senders_need_it(heddle, tmp_path, arguments, answered):
    assert refused(heddle, tmp_path, arguments, MULTICAST) == [None if answered else "multicast"] * len(MULTICAST)


def test_bad_addresses_are_not_answered(heddle, tmp_path):
    packets = [
        IPv6(src=source, dst=destination) / UDP()
        for source, destination in (
            ("::", TARGET),
            ("::1", TARGET),
            ("ff02::1", TARGET),
            ("2001:db8::bad", TARGET),
            (SENDER, "2001:db8::bad"),
            (SENDER, "::1"),
        )
    ]
    packets += [IPv6(src="::2", dst=TARGET) / UDP(), IPv6(src="2001:db8::1", dst=TARGET) / UDP()]
    reasons = refused(heddle, tmp_path, "packettoobig, 0, 2001:db8::bad 2001:db8::b, PMTU 1500", map(frame, packets))
    assert reasons == ["bad_address"] * 6 + [None] * 2


def test_no_more_than_the_rate(heddle, tmp_path):
    """Five at once and one each 10 ms then, of one each millisecond."""
    packets = [
        captures.Packet(1_700_000_000_000_000_000 + i * 1_000_000, 62, frame(IPv6(**OK) / UDP(sport=i)))
        for i in range(1000)
    ]
    (tmp_path / "in.pcap").write_bytes(captures.pcap(packets))
    chain = (
        f"FromDump({tmp_path}/in.pcap, TIMING true) -> Strip(14) -> CheckIP6Header"
        f" -> e :: ICMP6Error({SOURCE}, unreachable, RATE 100, BURST 5) -> ToDump({tmp_path}/out.pcap, ENCAP IP)"
    )
    report = Report(heddle.ok("run", "--json", "--simtime", "-e", chain).json)
    got = [int.from_bytes(p.data[88:90], "big") for p in captures.read(tmp_path / "out.pcap")]
    # The bucket has one more each 10 ms; at most a millisecond lies between when there is one and when somebody asks.
    assert got[:5] == [0, 1, 2, 3, 4]
    assert all(10 <= b - a <= 11 for a, b in itertools.pairwise(got[5:])) and 10 <= got[5] <= 11
    assert report.drops("e") == {"rate_limited": 1000 - len(got)} and 95 <= len(got) <= 105


def test_errors_go_back_through_the_routing_table(heddle, tmp_path):
    captures.write(tmp_path / "in.pcap", [frame(IPv6(**OK, hlim=h) / UDP(sport=h)) for h in (1, 5, 0)])
    chain = (
        f"FromDump({tmp_path}/in.pcap) -> Strip(14) -> CheckIP6Header -> rt :: LookupIP6Route(2001:db8:2::/48 0,"
        f" 2001:db8:1::/48 2001:db8::9 1); rt[0] -> t :: DecIP6HLIM -> ToDump({tmp_path}/out.pcap, ENCAP IP);"
        f" t[1] -> ICMP6Error({SOURCE}, timeexceeded) -> rt; rt[1] -> ToDump({tmp_path}/back.pcap, ENCAP IP)"
    )
    heddle.ok("run", "--quiet", "-e", chain)
    assert [IPv6(data)[UDP].sport for data in captures.frames(tmp_path / "out.pcap")] == [5]
    back = [IPv6(data) for data in captures.frames(tmp_path / "back.pcap")]
    assert [(p.dst, p[ICMPv6TimeExceeded].code) for p in back] == [(SENDER, 0)] * 2
    assert [bytes(p[ICMPv6TimeExceeded].payload)[40:42] for p in back] == [b"\0\1", b"\0\0"]
