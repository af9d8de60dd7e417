"""ProtocolTranslator64 against IPv4 packets that Scapy makes (RFC 7915)."""

import random

import pytest
from scapy.all import ICMP, IP, TCP, UDP, Raw
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from test_ip_router_elements import run

RANDOM = random.Random(7915)
CHAIN = "FromDump($IN) -> t :: ProtocolTranslator64 -> ToDump($out);"
V4 = {"src": "192.0.2.33", "dst": "198.51.100.7"}
V6 = {"src": "64:ff9b::192.0.2.33", "dst": "64:ff9b::198.51.100.7"}


def translated(heddle, tmp_path, packets):
    """What comes out, as bytes but for the identification, and what was dropped."""
    report, [out] = run(heddle, tmp_path, CHAIN, [bytes(p) for p in packets])
    return out, report.drops("t")


def anonymous(frame):
    """Without identification, where it is the translator's own."""
    packet = IP(frame)
    if not packet.flags.DF and not packet.flags.MF and packet.frag == 0:
        packet.id, packet.chksum = 0, None
    return bytes(packet)


def test_transport_packets(heddle, tmp_path):
    wanted, given = [], []
    for _ in range(200):
        layer = RANDOM.choice([UDP, TCP])(sport=RANDOM.randrange(65536), dport=RANDOM.randrange(65536))
        payload = layer / Raw(RANDOM.randbytes(RANDOM.choice([0, 1, 7, 500, 1232 - len(layer), 1400])))
        prefix = RANDOM.choice(["64:ff9b::", "::ffff:", "::ffff:0:"])
        addresses = [".".join(str(RANDOM.randrange(256)) for _ in range(4)) for _ in range(2)]
        ttl, tos = RANDOM.randrange(1, 256), RANDOM.randrange(256)
        given.append(IPv6(src=prefix + addresses[0], dst=prefix + addresses[1], hlim=ttl, tc=tos) / payload)
        flags = "DF" if len(given[-1]) - 20 > 1260 else 0
        wanted.append(IP(src=addresses[0], dst=addresses[1], ttl=ttl, tos=tos, flags=flags, id=0) / payload)
    out, drops = translated(heddle, tmp_path, given)
    assert [anonymous(frame) for frame in out] == [bytes(packet) for packet in wanted] and drops == {}
    own = [IP(frame).id for frame in out if not IP(frame).flags.DF]
    assert len(set(own)) == len(own) > 50


def test_every_udp_checksum_is_right(heddle, tmp_path):
    """Also those that come out as 0, which UDP writes as 0xffff."""
    given = [IPv6(**V6) / UDP(sport=1, dport=2) / Raw(n.to_bytes(2, "big")) for n in range(0, 65536, 31)]
    out, _ = translated(heddle, tmp_path, given)
    for frame, before in zip(out, given, strict=True):
        wanted = IP(**V4, flags=0, id=0) / UDP(sport=1, dport=2) / before[Raw]
        assert frame[20:] == bytes(wanted)[20:]
    no_checksum = bytearray(bytes(given[0]))
    no_checksum[46:48] = b"\0\0"
    out, _ = translated(heddle, tmp_path, [bytes(no_checksum)])
    assert out[0][26:28] == b"\0\0"


def test_extension_headers_and_padding(heddle, tmp_path):
    inner = UDP(sport=5, dport=6) / b"text"
    chains = [
        IPv6(**V6, nh=0) / IPv6ExtHdrHopByHop() / inner,
        IPv6(**V6) / IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting(segleft=0, addresses=[]) / inner,
    ]
    out, drops = translated(heddle, tmp_path, [bytes(c) + b"padding" for c in chains])
    assert [anonymous(f) for f in out] == [bytes(IP(**V4, id=0) / inner)] * 2 and drops == {}
    loose = IPv6(**V6) / IPv6ExtHdrRouting(segleft=1, addresses=["::1"]) / inner
    assert translated(heddle, tmp_path, [loose]) == ([], {"not_translatable": 1})


def test_fragments_stay_fragments(heddle, tmp_path):
    whole = IP(**V4) / UDP(sport=5, dport=6) / Raw(RANDOM.randbytes(2000))
    text = bytes(IPv6(**V6) / whole[UDP].copy())[40:]
    text = text[:6] + bytes(IPv6(**V6) / UDP(sport=5, dport=6) / whole[Raw])[46:48] + text[8:]
    pieces = [(0, 1, text[:800]), (100, 1, text[800:1600]), (200, 0, text[1600:])]
    given = [IPv6(**V6, nh=44) / IPv6ExtHdrFragment(nh=17, offset=o, m=m, id=0xABCD1234) / Raw(t) for o, m, t in pieces]
    out, _ = translated(heddle, tmp_path, given)
    wanted = bytes(whole)[20:]
    for frame, (offset, more, piece) in zip(out, pieces, strict=True):
        start = offset * 8
        assert frame == bytes(
            IP(**V4, id=0x1234, frag=offset, flags="MF" if more else 0, proto=17)
            / Raw(wanted[start : start + len(piece)])
        )


def test_pings(heddle, tmp_path):
    given = [
        IPv6(**V6) / echo(id=7, seq=n, data=RANDOM.randbytes(n))
        for n in range(60)
        for echo in (ICMPv6EchoRequest, ICMPv6EchoReply)
    ]
    out, drops = translated(heddle, tmp_path, given)
    for frame, before in zip(out, given, strict=True):
        kind = {128: 8, 129: 0}[before[1].type]
        assert anonymous(frame) == bytes(
            IP(**V4, id=0) / ICMP(type=kind, id=7, seq=before[1].seq) / Raw(before[1].data)
        )
    assert drops == {}
    bad = bytearray(bytes(given[9]))
    bad[-1] ^= 1
    assert translated(heddle, tmp_path, [bytes(bad)]) == ([], {"bad_checksum": 1})


QUOTED6 = IPv6(src=V6["dst"], dst=V6["src"], hlim=3) / UDP(sport=1, dport=2) / Raw(b"what was sent")
QUOTED4 = IP(src=V4["dst"], dst=V4["src"], ttl=3, id=0) / UDP(sport=1, dport=2) / Raw(b"what was sent")


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        *[(ICMPv6DestUnreach(code=c), ICMP(type=3, code=w)) for c, w in ((0, 1), (1, 10), (2, 1), (3, 1), (4, 3))],
        (ICMPv6PacketTooBig(mtu=1400), ICMP(type=3, code=4, nexthopmtu=1380)),
        (ICMPv6PacketTooBig(mtu=900), ICMP(type=3, code=4, nexthopmtu=1260)),
        (ICMPv6PacketTooBig(mtu=1 << 20), ICMP(type=3, code=4, nexthopmtu=65535)),
        (ICMPv6TimeExceeded(code=0), ICMP(type=11, code=0)),
        (ICMPv6TimeExceeded(code=1), ICMP(type=11, code=1)),
        (ICMPv6ParamProblem(code=1, ptr=40), ICMP(type=3, code=2)),
        *[
            (ICMPv6ParamProblem(code=0, ptr=p), ICMP(type=12, code=0, ptr=w))
            for p, w in ((0, 0), (1, 1), (4, 2), (5, 2), (6, 9), (7, 8), (8, 12), (23, 12), (24, 16), (39, 16))
        ],
    ],
)
def test_errors_with_what_they_are_about(heddle, tmp_path, error, wanted):
    out, _ = translated(heddle, tmp_path, [IPv6(**V6) / error / QUOTED6])
    assert [anonymous(f) for f in out] == [bytes(IP(**V4, id=0) / wanted / QUOTED4)]


def test_an_error_about_a_ping_and_one_that_is_cut(heddle, tmp_path):
    ping6 = IPv6(src=V6["dst"], dst=V6["src"]) / ICMPv6EchoRequest(id=3, seq=4, data=bytes(range(200)))
    ping4 = IP(src=V4["dst"], dst=V4["src"], id=0) / ICMP(id=3, seq=4) / Raw(bytes(range(200)))
    cut = [IPv6(**V6) / ICMPv6TimeExceeded() / Raw(bytes(ping6)[:n]) for n in (248, 100, 48, 44)]
    out, _ = translated(heddle, tmp_path, cut)
    ping4 = bytes(IP(bytes(ping4)))
    for frame, n in zip(out, (248, 100, 48, 44), strict=True):
        assert anonymous(frame) == bytes(IP(**V4, id=0) / ICMP(type=11) / Raw(ping4[: n - 20]))


def test_what_ipv4_does_not_have(heddle, tmp_path):
    given = {
        "address": [IPv6(src="2001:db8::1", dst=V6["dst"]) / UDP(), IPv6(src=V6["src"], dst="64:ff9b:1::1") / UDP()],
        "not_translatable": [
            IPv6(**V6) / ICMPv6ND_NS(tgt="::1"),
            IPv6(**V6) / ICMPv6ParamProblem(code=2) / QUOTED6,
            IPv6(**V6) / ICMPv6ParamProblem(code=0, ptr=3) / QUOTED6,
            IPv6(**V6) / ICMPv6DestUnreach(code=6) / QUOTED6,
            IPv6(**V6) / ICMPv6TimeExceeded() / Raw(bytes(QUOTED6)[:39]),
            IPv6(**V6, nh=44) / IPv6ExtHdrFragment(nh=58, m=1) / Raw(bytes(16)),
        ],
        "bad_header": [
            b"",
            bytes(IPv6(**V6) / UDP())[:39],
            bytes(IPv6(**V6, plen=100) / UDP()),
            bytes(IP() / UDP()) + bytes(40),
            bytes(IPv6(**V6, nh=0, plen=2) / Raw(b"\x11\x00")),
            bytes(IPv6(**V6, nh=44, plen=7) / Raw(bytes(7))),
            bytes(IPv6(**V6, nh=58, plen=7) / Raw(bytes(7))),
        ],
    }
    out, drops = translated(heddle, tmp_path, [p for some in given.values() for p in some])
    assert out == [] and drops == {reason: len(some) for reason, some in given.items()}


def test_random_damage_is_survived(heddle, tmp_path):
    good = [bytes(IPv6(**V6) / ICMPv6TimeExceeded() / QUOTED6), bytes(IPv6(**V6) / TCP() / (b"x" * 99))]
    good.append(bytes(IPv6(**V6) / IPv6ExtHdrDestOpt() / IPv6ExtHdrFragment() / UDP() / (b"y" * 50)))
    damaged = []
    for _ in range(3000):
        frame = bytearray(RANDOM.choice(good))
        for _ in range(RANDOM.randrange(1, 6)):
            frame[RANDOM.randrange(8)] = RANDOM.choice([0, 6, 43, 44, 58, 60, 255, RANDOM.randrange(256)])
            frame[RANDOM.randrange(40, len(frame))] = RANDOM.randrange(256)
        damaged.append(bytes(frame[: RANDOM.randrange(len(frame) + 1)]))
    out, drops = translated(heddle, tmp_path, damaged)
    assert len(out) + sum(drops.values()) == len(damaged)
    for frame in out:
        assert IP(frame).version == 4 and IP(frame).len == len(frame)
