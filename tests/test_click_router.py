"""A whole IP router in the shape of Click's conf/fake-iprouter.click, with ARP at both sides: what leaves it, byte for
byte, against Scapy and RFC 791, 792, 826, 1812."""

import socket
from collections import Counter

import pytest
from scapy.all import ARP, ICMP, IP, UDP, Ether, IPOption, Raw
from test_ip_router_elements import checked, run

# Two networks with a host each; the first one also has the gateway to everything else.
MAC0, MAC1 = "02:00:00:00:00:aa", "02:00:00:00:01:aa"  # the router's
HOST0, HOST0_MAC = "192.0.2.7", "02:00:00:00:00:07"
GATEWAY, GATEWAY_MAC = "192.0.2.254", "02:00:00:00:00:fe"
HOST1, HOST1_MAC = "198.51.100.9", "02:00:00:00:01:09"
ADDRESS = {0: "192.0.2.1", 1: "198.51.100.1"}
ROUTER_MAC = {0: MAC0, 1: MAC1}
MTU = 300

# The fifth byte of a frame's sender says which wire it comes from.
ROUTER = f"""
FromDump($IN) -> wire :: Classifier(6/0200000000, 6/0200000001);
c0, c1 :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
wire[0] -> c0; wire[1] -> c1;
out0 :: Queue(2000) -> ToDump($out0);
out1 :: Queue(2000) -> ToDump($out1);
tol :: ToDump($host);

arpq0 :: ARPQuerier(192.0.2.1, {MAC0});
arpq1 :: ARPQuerier(198.51.100.1, {MAC1});
t :: Tee(3);
c0[1] -> t; c1[1] -> t;
t[0] -> tol; t[1] -> [1]arpq0; t[2] -> [1]arpq1;
arpq0 -> out0; arpq1 -> out1;

ar0 :: ARPResponder(192.0.2.1 {MAC0}, 198.51.100.0/24 {MAC0});
ar1 :: ARPResponder(198.51.100.1 {MAC1});
c0[0] -> ar0 -> out0; c1[0] -> ar1 -> out1;

rt :: StaticIPLookup(192.0.2.1/32 0, 192.0.2.255/32 0, 192.0.2.0/32 0, 198.51.100.1/32 0, 198.51.100.255/32 0,
                     198.51.100.0/32 0, 192.0.2.0/24 1, 198.51.100.0/24 2, 0.0.0.0/0 192.0.2.254 1);
ip :: Strip(14) -> CheckIPHeader(192.0.2.255 198.51.100.255) -> [0]rt;
c0[2] -> Paint(1) -> ip; c1[2] -> Paint(2) -> ip;
rt[0] -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> tol;

rt[1] -> DropBroadcasts -> cp1 :: PaintTee(1) -> gio1 :: IPGWOptions(192.0.2.1) -> FixIPSrc(192.0.2.1)
      -> dt1 :: DecIPTTL -> fr1 :: IPFragmenter({MTU}) -> [0]arpq0;
rt[2] -> DropBroadcasts -> cp2 :: PaintTee(2) -> gio2 :: IPGWOptions(198.51.100.1) -> FixIPSrc(198.51.100.1)
      -> dt2 :: DecIPTTL -> fr2 :: IPFragmenter({MTU}) -> [0]arpq1;
dt1[1] -> ICMPError(192.0.2.1, timeexceeded) -> [0]rt; dt2[1] -> ICMPError(192.0.2.1, timeexceeded) -> [0]rt;
fr1[1] -> ICMPError(192.0.2.1, unreachable, needfrag, PMTU {MTU}) -> [0]rt;
fr2[1] -> ICMPError(192.0.2.1, unreachable, needfrag, PMTU {MTU}) -> [0]rt;
gio1[1] -> ICMPError(192.0.2.1, parameterproblem) -> [0]rt; gio2[1] -> ICMPError(192.0.2.1, parameterproblem) -> [0]rt;
cp1[1] -> ICMPError(192.0.2.1, redirect, host) -> [0]rt; cp2[1] -> ICMPError(198.51.100.1, redirect, host) -> [0]rt;
c0[3] -> other0 :: Print(c3, ACTIVE false) -> Discard; c1[3] -> other1 :: Print(c3, ACTIVE false) -> Discard;
"""


def arp(op, sender_mac, sender, target_mac, target):
    return ARP(op=op, hwsrc=sender_mac, psrc=sender, hwdst=target_mac, pdst=target)


def reply(mac, address, side):
    """What a host says when the router has asked for it."""
    return bytes(Ether(src=mac, dst=ROUTER_MAC[side]) / arp(2, mac, address, ROUTER_MAC[side], ADDRESS[side]))


KNOWN = [reply(HOST0_MAC, HOST0, 0), reply(GATEWAY_MAC, GATEWAY, 0), reply(HOST1_MAC, HOST1, 1)]


def padded(packet):
    return bytes(packet).ljust(60, b"\0")


def from0(packet, dst=MAC0):
    return bytes(Ether(src=HOST0_MAC, dst=dst) / packet)


def from1(packet, dst=MAC1):
    return bytes(Ether(src=HOST1_MAC, dst=dst) / packet)


def to0(packet):
    return bytes(Ether(src=MAC0, dst=HOST0_MAC) / packet)


def to1(packet):
    return bytes(Ether(src=MAC1, dst=HOST1_MAC) / packet)


def hop(packet, **fields):
    """What is to become of a packet that is forwarded: its life is shorter, and its checksum right."""
    later = packet.copy()
    later.ttl -= 1
    for name, value in fields.items():
        setattr(later, name, value)
    return later


def udp(src, dst, payload=b"hello", **fields):
    return IP(src=src, dst=dst, **fields) / UDP(sport=1111, dport=2222) / Raw(payload)


def icmp_error(side, cause, kind, code, rest=b"\0\0\0\0"):
    """What ICMPError says of it, one router later: by the interface that leads to the sender, and as it is sent."""
    message = bytes([kind, code, 0, 0]) + rest + bytes(cause)
    total = sum(int.from_bytes(message[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(message), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    message = message[:2] + (~total & 0xFFFF).to_bytes(2, "big") + message[4:]
    return IP(src=ADDRESS[side], dst=cause.src, proto=1, ttl=254) / Raw(message)


def without_ids(frames):
    """Errors have identifications of the router's choice: they count as 0, and their headers' checksums with them."""
    result = []
    for frame in frames:
        packet = Ether(frame)
        if IP in packet and packet[IP].proto == 1:
            checked(frame)
            frame = frame[:18] + b"\0\0" + frame[20:24] + b"\0\0" + frame[26:]
        result.append(frame)
    return result


def route(heddle, tmp_path, frames, known=KNOWN, more=0):
    """What leaves by both wires, and what the host sees but for ARP replies; and the report. `more`: packets that are
    made on the way, but for the copies of ARP replies."""
    report, outs = run(heddle, tmp_path, ROUTER, [*known, *frames], ("out0", "out1", "host"))
    more += 2 * report.one("t")["packets"]
    assert report.received + more == report.ended() + report.dropped
    out0, out1, host = outs
    assert host[: len(known)] == known  # Click's host sees replies, too
    return out0, out1, host[len(known) :], report


def test_arp_for_itself_and_by_proxy(heddle, tmp_path):
    def ask(src, mac, target):
        return bytes(Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / arp(1, mac, src, "00:00:00:00:00:00", target))

    out0, out1, host, report = route(
        heddle,
        tmp_path,
        [
            ask(HOST0, HOST0_MAC, "192.0.2.1"),
            ask(HOST0, HOST0_MAC, HOST1),  # the router stands for the other network
            ask(HOST0, HOST0_MAC, "192.0.2.99"),
            ask(HOST1, HOST1_MAC, "198.51.100.1"),
            ask(HOST1, HOST1_MAC, HOST0),  # and for nobody at this side
        ],
    )
    answers = [("192.0.2.1", out0[0]), (HOST1, out0[1])]
    assert [frame for _, frame in answers] == [
        padded(Ether(src=MAC0, dst=HOST0_MAC) / arp(2, MAC0, address, HOST0_MAC, HOST0)) for address, _ in answers
    ]
    assert out1 == [padded(Ether(src=MAC1, dst=HOST1_MAC) / arp(2, MAC1, "198.51.100.1", HOST1_MAC, HOST1))]
    assert len(out0) == 2 and host == []
    assert sum(report.drops("ar0").values()) == sum(report.drops("ar1").values()) == 1


def test_packets_wait_for_an_address_that_is_asked_for(heddle, tmp_path):
    packets = [udp(HOST0, HOST1, bytes([n] * 20), id=n) for n in range(3)]
    frames = [from0(packet) for packet in packets] + [reply(HOST1_MAC, HOST1, 1), from0(packets[0])]
    _, out1, host, _ = route(heddle, tmp_path, frames, known=[], more=1)
    assert host == [reply(HOST1_MAC, HOST1, 1)]
    query = padded(Ether(src=MAC1, dst="ff:ff:ff:ff:ff:ff") / arp(1, MAC1, "198.51.100.1", "00:00:00:00:00:00", HOST1))
    assert out1 == [query, *(to1(hop(packet)) for packet in [*packets, packets[0]])]


def test_packets_go_on_both_ways_and_to_the_gateway(heddle, tmp_path):
    there = [udp(HOST0, HOST1, bytes(n), id=n, ttl=2 + n, tos=n) for n in range(0, 250, 7)]
    back = [udp(HOST1, HOST0, bytes(n), id=n, ttl=255 - n) for n in range(0, 250, 9)]
    away = [udp(HOST1, "203.0.113.5", bytes(n), id=n) for n in range(5)]
    out0, out1, host, _ = route(heddle, tmp_path, [*map(from0, there), *map(from1, back + away)])
    assert out1 == [to1(hop(packet)) for packet in there]
    assert out0 == [to0(hop(packet)) for packet in back] + [
        bytes(Ether(src=MAC0, dst=GATEWAY_MAC) / hop(packet)) for packet in away
    ]
    assert host == []


@pytest.mark.parametrize("address", ["192.0.2.1", "192.0.2.255", "192.0.2.0", "198.51.100.1", "198.51.100.255"])
def test_what_is_for_the_router_goes_to_its_host(heddle, tmp_path, address):
    """With the header that ToHost wants; padding is gone."""
    packet = udp(HOST0, address, b"x", ttl=1)
    out0, out1, host, _ = route(heddle, tmp_path, [padded(from0(packet))])
    assert host == [bytes(Ether(src="01:01:01:01:01:01", dst="02:02:02:02:02:02") / packet)]
    assert out0 == out1 == []


def test_what_nobody_may_send_goes_nowhere(heddle, tmp_path):
    broken = bytearray(from0(udp(HOST0, HOST1)))
    broken[24] ^= 1  # the header's checksum
    frames = [
        bytes(broken),
        from0(udp("192.0.2.255", HOST1)),
        from0(udp("255.255.255.255", HOST1)),
        from0(udp("0.0.0.0", HOST1)),
        from0(udp(HOST0, HOST1))[:40],  # less than its length says
        from0(udp(HOST0, HOST1), dst="ff:ff:ff:ff:ff:ff"),  # RFC 1812, 5.3.4
        bytes(Ether(src=HOST0_MAC, dst=MAC0, type=0x86DD) / Raw(bytes(40))),
    ]
    out0, out1, host, report = route(heddle, tmp_path, frames)
    assert out0 == out1 == host == []
    reasons = sum((Counter(element["drops"]) for element in report.elements("CheckIPHeader")), Counter())
    assert reasons == {"bad_checksum": 1, "bad_source": 3, "bad_length": 1}
    assert sum(sum(element["drops"].values()) for element in report.elements("DropBroadcasts")) == 1
    assert report.one("other0")["packets"] == 1


def test_a_life_that_ends_is_told(heddle, tmp_path):
    """By the interface that leads to the sender (FixIPSrc), and not about errors."""
    there, back = udp(HOST0, HOST1, b"x" * 40, ttl=1, id=5), udp(HOST1, HOST0, b"y" * 41, ttl=1)
    error = IP(src=HOST0, dst=HOST1, ttl=1) / ICMP(type=3, code=1) / udp(HOST1, HOST0)
    out0, out1, _, _ = route(heddle, tmp_path, [from0(there), from1(back), from0(error)])
    assert without_ids(out0) == without_ids([to0(icmp_error(0, there, 11, 0))])
    assert without_ids(out1) == without_ids([to1(icmp_error(1, back, 11, 0))])


def test_long_packets_are_cut(heddle, tmp_path):
    """Into what RFC 791 makes of them; the errors about those that must not be cut say how long they may be."""
    payload = bytes(n & 0xFF for n in range(1000))
    long, whole = udp(HOST0, HOST1, payload, id=77), udp(HOST0, HOST1, payload[:200], id=78, flags="DF")
    uncut = udp(HOST0, HOST1, payload[:300], id=79, flags="DF")
    out0, out1, _, report = route(heddle, tmp_path, [from0(long), from0(whole), from0(uncut)], more=3 + 1)
    assert out1.count(to1(hop(whole))) == 1
    pieces = [frame for frame in out1 if Ether(frame)[IP].id == 77]  # they leave by themselves, later
    assert len(out1) == 1 + len(pieces)
    data, above = b"", bytes(long)[20:]
    for frame in pieces:
        packet = checked(frame)[IP]
        assert (packet.src, packet.dst, packet.id, packet.ttl) == (HOST0, HOST1, 77, 63)
        assert len(frame) == 14 + packet.len <= 14 + MTU and packet.frag * 8 == len(data)
        data += frame[34:]
        assert bool(packet.flags.MF) == (len(data) < len(above))
        assert len(frame) == 14 + 20 + 280 or not packet.flags.MF
    assert data == above
    assert len(out0) == 2  # the error is longer than 300 bytes itself: two pieces
    first, _ = (checked(frame)[IP] for frame in out0)
    assert (first.src, first.dst, first.ttl, first.proto) == ("192.0.2.1", HOST0, 254, 1)
    message = out0[0][34:] + out0[1][34:]
    assert message == bytes(icmp_error(0, hop(uncut), 3, 4, b"\0\0" + MTU.to_bytes(2, "big")))[20:]
    assert report.one("fr2")["statistics"]["fragments"] == len(pieces)


def test_options_are_the_outgoing_interfaces_and_their_mistakes_are_told(heddle, tmp_path):
    room = IPOption(bytes([7, 11, 4]) + bytes(8))
    bad = IPOption(bytes([7, 11, 5]) + bytes(8))  # points between two addresses
    record, wrong = udp(HOST0, HOST1, options=[room]), udp(HOST0, HOST1, options=[bad])
    out0, out1, _, _ = route(heddle, tmp_path, [from0(record), from0(wrong)])
    recorded = IPOption(bytes([7, 11, 8]) + socket.inet_aton("198.51.100.1") + bytes(4))
    assert out1 == [to1(hop(record, options=[recorded]))]
    assert without_ids(out0) == without_ids([to0(icmp_error(0, wrong, 12, 0, bytes([22, 0, 0, 0])))])


def test_a_better_way_is_told(heddle, tmp_path):
    """What leaves by the wire that it has come from goes on, and its sender hears of the gateway (RFC 792)."""
    packet = udp(HOST0, "203.0.113.5", b"z" * 30)
    out0, out1, _, _ = route(heddle, tmp_path, [from0(packet)], more=1)
    wanted = [
        bytes(Ether(src=MAC0, dst=GATEWAY_MAC) / hop(packet)),
        to0(icmp_error(0, packet, 5, 1, socket.inet_aton(GATEWAY))),
    ]
    assert sorted(without_ids(out0)) == sorted(without_ids(wanted))
    assert out1 == []
