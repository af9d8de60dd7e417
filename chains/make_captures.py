#!/usr/bin/python3
"""Makes the captures of chains/ that are not recorded: traffic6.pcap, switch0.pcap to switch2.pcap, and ndn.pcap. Needs
scapy; the same bytes every time.

chains/make_captures.py [FOLDER]
"""

import pathlib
import random
import sys

from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

CLIENT, ROUTER = "02:00:00:00:00:01", "02:00:00:00:00:fe"


def write(path, frames):
    for number, frame in enumerate(frames):
        frame.time = 1_700_000_000 + number / 1000
    wrpcap(str(path), frames)


def traffic6():
    """IPv6 from one client to hosts in and beside the routes of router6.routes, some of it broken."""
    draw = random.Random(6)
    networks = [
        "2001:db8:1::",
        "2001:db8:1:2::",
        "2001:db8:2::",
        "2001:db8:8000::",
        "2a00:1450::",
        "2620:0:1::",
        "fd00::",
    ]
    frames = []
    for number in range(600):
        to = draw.choice(networks) + format(draw.randrange(1, 0xFFFF), "x")
        layer = IPv6(src="2001:db8:ffff::1", dst=to, hlim=draw.choice([64, 64, 64, 255, 2, 1]))
        kind = number % 5
        if kind == 0:
            layer /= ICMPv6EchoRequest(id=1, seq=number) / Raw(bytes(number % 50))
        elif kind == 1:
            layer /= TCP(sport=40000 + number, dport=443, seq=number) / Raw(b"x" * (number % 900))
        elif kind == 2:
            layer /= IPv6ExtHdrFragment(id=number, offset=185) / Raw(b"y" * 64)
        else:
            layer /= UDP(sport=5000, dport=53) / Raw(b"z" * (number % 100))
        frame = Ether(src=CLIENT, dst=ROUTER) / layer
        if number % 50 == 7:
            frame = Ether(bytes(frame)[: draw.randrange(14, 60)])  # ends too early
        elif number % 50 == 19:
            broken = bytearray(bytes(frame))
            broken[14] = 0x40 | broken[14] & 15
            frame = Ether(bytes(broken))
        elif number % 50 == 31:
            frame = Ether(src=CLIENT, dst="ff:ff:ff:ff:ff:ff") / ARP(pdst="192.0.2.1")
        frames.append(frame)
    return frames


def switch_port(port):
    """What the hosts behind one port of a switch send to those behind all ports, to everybody, and to nobody who is
    there."""
    draw = random.Random(port)
    hosts = [f"02:00:00:00:{behind:02x}:{host:02x}" for behind in range(3) for host in range(1, 9)]
    mine = hosts[8 * port : 8 * port + 8]
    others = [*hosts, "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01", "02:00:00:00:77:77"]
    return [
        Ether(src=draw.choice(mine), dst=draw.choice(others), type=0x88B5)
        / Raw(bytes([port, number % 256]) + bytes(44))
        for number in range(200)
    ]


def number(value):
    """A type or length as NDN packets have it."""
    return bytes([value]) if value < 253 else b"\xfd" + value.to_bytes(2, "big")


def tlv(kind, value):
    return number(kind) + number(len(value)) + value


def ndn():
    """Interests in and beside the routes of ndn.names, bare and in LpPackets; some Data packets, and some that are
    broken."""
    draw = random.Random(8624)
    words = ["org", "example", "video", "news", "2026", "a", "b", "index.html", "com", "weather"]
    frames = []
    for count in range(500):
        parts = draw.choice([["org", "example"], ["org"], ["com", "weather"], ["edu"]])
        parts = parts + [draw.choice(words) for _ in range(draw.randrange(0, 5))]
        name = tlv(7, b"".join(tlv(8, part.encode()) for part in parts) + tlv(58, bytes([count % 256])))
        packet = tlv(5, name + tlv(10, count.to_bytes(4, "big")))
        if count % 10 == 3:
            packet = tlv(6, name + tlv(21, b"d" * (count % 300)))
        elif count % 10 == 5:
            packet = tlv(100, tlv(81, bytes(8)) + tlv(80, packet))
        elif count % 50 == 7:
            packet = packet[: draw.randrange(2, len(packet))]
        elif count % 50 == 19:
            packet = tlv(100, tlv(82, b"\0") + tlv(83, b"\2") + tlv(80, packet))
        frames.append(Ether(src=CLIENT, dst=ROUTER, type=0x8624) / Raw(packet.ljust(46, b"\0")))
    return frames


def main():
    folder = pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).parent
    write(folder / "traffic6.pcap", traffic6())
    for port in range(3):
        write(folder / f"switch{port}.pcap", switch_port(port))
    write(folder / "ndn.pcap", ndn())


if __name__ == "__main__":
    main()
