"""Frames for tests: good, damaged and random ones."""

import ipaddress
import random

from scapy.all import ARP, ICMP, IP, TCP, UDP, Ether, IPOption_RR, IPv6, Raw

SEED = 20240607


def frame(**fields):
    return bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(**fields) / UDP() / Raw(b"payload"))


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
