"""What elements ought to do, written from the standards and sharing no code with the program."""

import functools
import ipaddress
import struct

from scapy.layers.inet import IP


def mirrored(frame):
    return frame[6:12] + frame[:6] + frame[12:]


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4_fault(packet):
    """Why bytes are no valid IPv4 packet (RFC 791, RFC 1812 5.2.2), "" if they are."""
    if len(packet) < 20:
        return "short"
    if packet[0] >> 4 != 4:
        return "bad_version"
    header = (packet[0] & 15) * 4
    if header < 20:
        return "bad_header_length"
    if len(packet) < header:
        return "short"
    total = struct.unpack_from("!H", packet, 2)[0]
    if total < header or total > len(packet):
        return "bad_length"
    return "bad_checksum" if checksum(packet[:header]) else ""


def valid_frame(frame):
    """The frame without what follows the IPv4 packet, or None when it is no valid one."""
    if ipv4_fault(frame[14:]):
        return None
    return frame[: 14 + struct.unpack_from("!H", frame, 16)[0]]


@functools.cache  # many tests ask about the same frames
def valid_for_scapy(frame):
    """The same by Scapy: it dissects the header, and must compute the same checksum when asked to fill it in."""
    if len(frame) < 34 or frame[14] >> 4 != 4:
        return False
    header = IP(frame[14:])
    size = header.ihl * 4
    if size < 20 or not size <= header.len <= len(frame) - 14:
        return False
    again = bytearray(frame[14 : 14 + size])
    again[10:12] = b"\0\0"
    return header.chksum == checksum(bytes(again)) and header.version == 4


def destination(frame):
    return ipaddress.ip_address(frame[30:34])


class Routes:
    """Longest prefix by looking at every route. Lines as in a route file; a later line replaces an equal prefix."""

    def __init__(self, lines):
        table = {}
        for line in lines:
            words = line.split("#")[0].split()
            if words:
                prefix = "0.0.0.0/0" if words[0] == "default" else words[0]
                table[ipaddress.ip_network(prefix)] = (words[1] if len(words) == 3 else None, int(words[-1]))
        self.routes = sorted(table.items(), key=lambda route: -route[0].prefixlen)

    def output(self, address):
        return next((hop[1] for network, hop in self.routes if address in network), None)


class Reassembly:
    """IPv4 packets put together from fragments in any order (RFC 791, 3.2). Fragments that overlap, or do not agree
    about the end, are dropped with all others of their packet that have come, as RFC 5722 wants it for IPv6; one that
    has come before is dropped alone, and one that is not the last and has no multiple of 8 bytes is none."""

    def __init__(self):
        self.waiting = {}

    def take(self, packet):
        """What is behind the header of the packet that is whole with this one, or None."""
        payload, word = packet[(packet[0] & 15) * 4 :], struct.unpack_from("!H", packet, 6)[0]
        start, last = (word & 0x1FFF) * 8, not word & 0x2000
        if start == 0 and last:
            return payload
        if not last and len(payload) % 8 != 0:
            return None
        key = packet[4:6] + packet[9:10] + packet[12:20]
        parts = self.waiting.setdefault(key, [])
        if (start, payload, last) in parts:
            return None
        parts.append((start, payload, last))
        places = [start + i for start, payload, _ in parts for i in range(len(payload))]
        end = min((start + len(payload) for start, payload, last in parts if last), default=None)
        if len(set(places)) < len(places) or (end is not None and max(places) >= end):
            del self.waiting[key]
            return None
        if len(places) != end:
            return None
        del self.waiting[key]
        return b"".join(payload for _, payload, _ in sorted(parts))
