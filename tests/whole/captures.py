"""Captures: written byte by byte, read by Scapy."""

import contextlib
import struct
import typing

from scapy.utils import RawPcapReader


class Packet(typing.NamedTuple):
    ns: int  # time stamp
    wire: int  # length on the wire
    data: bytes


def read(path):
    """The packets of a pcap or pcapng file, as Scapy reads them."""
    packets = []
    with contextlib.closing(RawPcapReader(str(path))) as reader:
        fraction = 1 if getattr(reader, "nano", False) else 1000
        for data, meta in reader:
            if hasattr(meta, "tsresol"):
                ns = ((meta.tshigh << 32) + meta.tslow) * 10**9 // meta.tsresol
            else:
                ns = meta.sec * 10**9 + meta.usec * fraction
            packets.append(Packet(ns, meta.wirelen, data))
    return packets


def frames(path):
    return [packet.data for packet in read(path)]


def plain(data, number=0, wire=None):
    return Packet(1_700_000_000_000_000_000 + number * 1_000_003_000, len(data) if wire is None else wire, data)


def packets_of(list_of_frames):
    return [plain(data, number) for number, data in enumerate(list_of_frames)]


def pcap(packets, order="<", nano=False, snap=262144, link=1):
    """The bytes of a pcap file."""
    unit = 1 if nano else 1000
    out = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snap, link)]
    for p in packets:
        data = p.data[:snap]
        seconds, rest = divmod(p.ns, 10**9)
        out += [struct.pack(order + "IIII", seconds, rest // unit, len(data), p.wire), data]
    return b"".join(out)


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)


def pcapng(packets, order="<", nano=True, snap=0, link=1):
    """The bytes of a pcapng file: a section header, an interface and enhanced packet blocks."""
    header = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    resolution = struct.pack(order + "HHB3xHH", 9, 1, 9 if nano else 6, 0, 0)
    interface = block(1, struct.pack(order + "HHI", link, 0, snap) + resolution, order)
    out = [header, interface]
    for p in packets:
        data = p.data[:snap] if snap else p.data
        ticks = p.ns // (1 if nano else 1000)
        enhanced = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), p.wire)
        out.append(block(6, enhanced + data, order))
    return b"".join(out)


def write(path, list_of_frames, **options):
    path.write_bytes(pcap(packets_of(list_of_frames), **options))
    return path
