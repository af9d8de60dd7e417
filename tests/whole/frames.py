"""Frames for tests: good, damaged and random ones."""

import ipaddress
import random
import struct

from scapy.all import ARP, ICMP, IP, TCP, UDP, Ether, IPOption_RR, IPv6, Raw

SEED = 20240607


def frame(**fields):
    return bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(**fields) / UDP() / Raw(b"payload"))


def _checksum(data):
    """RFC 1071: the sum of 16-bit words with end-around carry is a remainder."""
    return -int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF


def _of_ip4(source, destination, protocol, header, data):
    """An Ethernet frame of IPv4; the transport header has its checksum in its last word but one (TCP) or last (UDP)."""
    source, destination = ipaddress.IPv4Address(source).packed, ipaddress.IPv4Address(destination).packed
    size = len(header) + len(data)
    summed = _checksum(struct.pack("!4s4sHH", source, destination, protocol, size) + header + data) or 0xFFFF
    at = 16 if protocol == 6 else 6
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + size, 1, 0, 64, protocol, 0, source, destination)
    ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
    ether = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0"
    return ether + ip + header[:at] + struct.pack("!H", summed) + header[at + 2 :] + data


FLAGS = {letter: 1 << bit for bit, letter in enumerate("FSRPAUEC")}


def tcp_frame(source, destination, flags, seq, ack, data=b"", window=65000):
    """A frame as Scapy makes it, in a fiftieth of the time; source and destination: (address, port)."""
    bits = sum(FLAGS[letter] for letter in flags)
    header = struct.pack("!HHIIBBHHH", source[1], destination[1], seq, ack, 5 << 4, bits, window, 0, 0)
    return _of_ip4(source[0], destination[0], 6, header, data)


def udp_frame(source, destination, data):
    """The same of UDP."""
    header = struct.pack("!HHHH", source[1], destination[1], 8 + len(data), 0)
    return _of_ip4(source[0], destination[0], 17, header, data)


def damaged(data, offset, *new):
    return data[:offset] + bytes(new) + data[offset + len(new) :]


def strange_frames():
    """IPv4 frames and what can be wrong with them, with the drop reason of CheckIPHeader ("" = valid)."""
    good = frame(src="10.0.0.1", dst="10.2.0.1")
    options = frame(src="10.0.0.1", dst="10.2.0.2", options=[IPOption_RR()])
    return [
        (good, ""),
        (options, ""),
        (bytes(Ether() / IP(dst="10.2.3.4") / TCP()), ""),
        (bytes(Ether() / IP(dst="192.168.2.9") / ICMP()), ""),
        (good + bytes(18), ""),  # Ethernet padding is cut
        (bytes(Ether() / IP(dst="1.2.3.4")), ""),  # a header alone
        (bytes(Ether() / ARP()), "bad_version"),
        (bytes(Ether() / IPv6()), "bad_version"),
        (damaged(good, 14, 0x55), "bad_version"),
        (damaged(good, 14, 0x44), "bad_header_length"),
        (damaged(good, 14, 0x40), "bad_header_length"),
        (damaged(good, 14, 0x4F), "short"),  # 60 bytes of header, more than there are
        (damaged(options, 14, 0x45), "bad_checksum"),
        (damaged(good, 16, 0, 19), "bad_length"),  # total length below the header's
        (damaged(good, 16, 0, 0), "bad_length"),
        (damaged(good, 16, 0, len(good) - 13), "bad_length"),  # one byte more than there is
        (damaged(good, 16, 255, 255), "bad_length"),
        (damaged(good, 24, good[24] ^ 1), "bad_checksum"),
        (damaged(good, 22, 63), "bad_checksum"),
        (good[:34], "bad_length"),
        (good[:33], "short"),
        (good[:15], "short"),
        (good[:14], "short"),
        (good[:13], "short"),
        (b"", "short"),
    ]


def random_frames(number, seed=SEED):
    """Valid, damaged and cut frames with random addresses."""
    rng = random.Random(seed)
    result = []
    for _ in range(number):
        data = frame(src="10.0.0.1", dst=str(ipaddress.ip_address(rng.getrandbits(32))), id=rng.getrandbits(16))
        choice = rng.random()
        if choice < 0.2:
            at = rng.randrange(14, 34)
            data = damaged(data, at, data[at] ^ 1 << rng.randrange(8))
        elif choice < 0.3:
            data = data[: rng.randrange(len(data) + 1)]
        elif choice < 0.4:
            data += bytes(rng.randrange(1, 1000))
        result.append(data)
    return result
