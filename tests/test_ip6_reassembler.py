"""IP6Reassembler against Scapy and the Linux kernel: what they make of fragments, and of their ECN (IPReassembler's as
well)."""

import contextlib
import itertools
import random
import select
import socket
import struct
import subprocess

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
    defragment6,
    fragment6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from whole import captures, judge, network
from whole.frames import SEED
from whole.program import Report, quoted, wait_until

SENDER, HOST, PORT = "2001:db8:1::2", "2001:db8::1", 9
SENDER4, HOST4 = "10.1.0.2", "10.1.0.1"
ETHER = bytes.fromhex("02000000bb02 02000000bb01 86dd")


def run(heddle, folder, frames, *options, more="", version="6"):
    """The frames that come out, and the report."""
    source = captures.write(folder / "in.pcap", frames)
    chain = (
        f"FromDump({quoted(source)}) -> Strip(14) -> CheckIP{version}Header -> r :: IP{version}Reassembler(HIMEM 10000000)"
        f" -> Unstrip(14) -> ToDump({quoted(folder / 'out.pcap')});"
    )
    report = Report(heddle.ok("run", "--json", *options, "-e", chain + more).json)
    return captures.frames(folder / "out.pcap"), report


def test_makes_of_fragments_what_scapy_does(heddle, tmp_path):
    rng = random.Random(f"{SEED} scapy's fragments")
    extensions = [IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt, lambda **_: IPv6ExtHdrRouting(addresses=[HOST])]
    frames, wanted = [], []
    for number in range(100):
        packet = IPv6(src=SENDER, dst=HOST, hlim=rng.randrange(256), tc=rng.randrange(256), fl=rng.randrange(1 << 20))
        for extension in extensions:
            if rng.random() < 0.3:
                packet /= extension(options=PadN(optdata=bytes(4)))
        packet /= (
            IPv6ExtHdrFragment(id=number) / UDP(sport=number, dport=PORT) / Raw(rng.randbytes(rng.randint(50, 3000)))
        )
        parts = [IPv6(bytes(part)) for part in fragment6(packet, rng.randint(150, 1500))]
        frames += [ETHER + bytes(part) for part in parts]
        wanted.append(ETHER + bytes(defragment6(parts) if len(parts) > 1 else without_fragment_header(parts[0])))
    rng.shuffle(frames)
    got, report = run(heddle, tmp_path, frames)
    assert sorted(got) == sorted(wanted)
    assert report.one("r")["statistics"] == {"whole": 100, "waiting": 0}
    assert report.drops("r") == {}


def without_fragment_header(packet):
    """A packet that was not worth cutting: Scapy's fragment6 leaves it as it is."""
    if IPv6ExtHdrFragment not in packet:
        return packet
    header = packet[IPv6ExtHdrFragment]
    header.underlayer.nh = header.nh
    header.underlayer.remove_payload()
    packet /= header.payload
    del packet.plen
    return packet


def test_an_error_tells_who_sent_what_does_not_become_whole(heddle, tmp_path):
    packet = IPv6(src=SENDER, dst=HOST) / IPv6ExtHdrFragment(id=1) / UDP(sport=1, dport=PORT) / Raw(bytes(3000))
    parts = [ETHER + bytes(part) for part in fragment6(packet, 1280)]
    late = tmp_path / "late.pcap"
    more = (
        f"r[1] -> ICMP6Error({HOST}, timeexceeded, reassembly) -> EtherEncap(0x86dd, 2:0:0:0:0:1, 2:0:0:0:0:2)"
        f" -> ToDump({quoted(late)});"
    )
    for frames in (parts[:-1], parts[1:]):
        got, _ = run(heddle, tmp_path, frames, "--simtime", more=more)
        assert got == []
        errors = [Ether(frame)[IPv6] for frame in captures.frames(late)]
        assert [(e.dst, e[ICMPv6TimeExceeded].code) for e in errors] == [(SENDER, 1)] * (parts[0] in frames)


# Prints what comes to a UDP port, with its traffic class (of IPv4: type of service), until that is "end".
RECEIVER = """
import socket, sys
sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
sock.bind(("::", int(sys.argv[1])))
sock.settimeout(100)
print("ready", flush=True)
while True:
    got, ((_, _, traffic_class),), _, _ = sock.recvmsg(65536, 100)
    if got == b"end":
        break
    print(got.hex(), traffic_class[0], flush=True)
"""
# One processor, so that the kernel takes frames in the order in which they are sent.
SENDER_PROGRAM = "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + judge.SENDER


@contextlib.contextmanager
def host():
    """A namespace that has HOST and HOST4, behind a pair of devices."""
    with network.namespaces(1) as (space,):
        space.call("ip", "link", "add", judge.DEVICE[0], "type", "veth", "peer", "name", judge.DEVICE[1])
        for device, address in zip(judge.DEVICE, ["02:00:00:00:bb:01", "02:00:00:00:bb:02"], strict=True):
            space.call("ip", "link", "set", device, "address", address, "mtu", "9000", "up")
        space.call("ip", "address", "add", f"{HOST4}/24", "dev", judge.DEVICE[1])
        if subprocess.run(
            space.command("ip", "address", "add", f"{HOST}/64", "dev", judge.DEVICE[1], "nodad"), check=False
        ).returncode:
            pytest.skip("this kernel has no IPv6")
        yield space


def what_the_kernel_makes(frames):
    """The payloads that a UDP socket gets of them, with their traffic class."""
    first = b"begin"
    with host() as space:
        sender = space.command("/usr/bin/python3", "-c", SENDER_PROGRAM, judge.DEVICE[0])

        def send(some):
            data = b"".join(struct.pack("!H", len(frame)) + frame for frame in some)
            subprocess.run(sender, input=data, check=True, timeout=100)

        command = space.command("/usr/bin/python3", "-c", RECEIVER, PORT)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
            try:
                assert receiver.stdout.readline() == "ready\n"

                def listens():  # the kernel drops what comes before the device is all up
                    send(datagram(first))
                    return select.select([receiver.stdout], [], [], 0.2)[0]

                wait_until(listens, what="the first datagram")
                send([*frames, *datagram(b"end")])
                got = [line.split() for line in receiver.communicate(timeout=100)[0].splitlines()]
                return [(bytes.fromhex(text), int(number)) for text, number in got if text != first.hex()]
            finally:
                receiver.kill()


PAD = bytes([1, 4, 0, 0, 0, 0])


def chained(numbers, last):
    """Extension headers, each of 8 bytes of padding, in front of `last`: the first one's number, and the bytes."""
    following = [*numbers[1:], last]
    return (numbers or [last])[0], b"".join(bytes([number, 0]) + PAD for number in following[: len(numbers)])


def udp(payload):
    """With a right checksum."""
    length = struct.pack("!H", 8 + len(payload))
    header = struct.pack("!HH", 1000, PORT) + length
    pseudo = socket.inet_pton(socket.AF_INET6, SENDER) + socket.inet_pton(socket.AF_INET6, HOST) + bytes(2) + length
    text = pseudo + bytes([0, 0, 0, 17]) + header + bytes(2) + payload
    return header + struct.pack("!H", judge.checksum(text + bytes(len(text) % 2)) or 0xFFFF) + payload


class Cut:
    """A datagram to be cut: extension headers before the Fragment header and behind it, and UDP."""

    def __init__(self, number, payload, before=(), behind=()):
        self.id = number
        self.first, self.before = chained(list(before), 44)
        self.next, inner = chained(list(behind), 17)
        self.payload = inner + udp(payload)

    def part(self, start, end, more=None, payload=None):
        payload = self.payload[start:end] if payload is None else payload
        more = end < len(self.payload) if more is None else more
        header = struct.pack("!BBHI", self.next, 0, start | more, self.id)
        text = self.before + header + payload
        return ETHER + judge.ip6(judge.packed(SENDER), judge.packed(HOST), self.first, text)[14:]

    def cuts(self, rng):
        """Where two or more fragments begin and end."""
        places = range(8, len(self.payload), 8)
        inner = sorted(rng.sample(places, rng.randint(1, 6)))
        return list(zip([0, *inner], [*inner, len(self.payload)], strict=True))


def datagram(payload):
    return [ETHER + judge.ip6(judge.packed(SENDER), judge.packed(HOST), 17, udp(payload))[14:]]


KINDS = [
    "whole",
    "in order",
    "reversed",
    "any order",
    "twice",
    "one missing",
    "overlap",
    "two ends",
    "uneven",
    "atomic",
]
KINDS += ["nested", "anew", "cut header"]


def frames_of(rng, number):
    """Frames about one datagram. Where fragments overlap, the second one does, and reaches further than the first: the
    kernel takes one within those that are there for the same again, whatever its bytes are."""
    kind = KINDS[number % len(KINDS)]
    payload = number.to_bytes(4, "big") + rng.randbytes(rng.randint(60, 3000))
    cut = Cut(number, payload, rng.choice([[], [], [0], [60], [0, 60]]), rng.choice([[], [], [60]]))
    if kind == "whole":
        return datagram(payload)
    if kind == "atomic":
        return [cut.part(0, len(cut.payload))]
    if kind == "nested":
        cut.payload = bytes([cut.next, 0, 0, 0]) + rng.randbytes(4) + cut.payload
        cut.next = 44
        return [cut.part(0, 24), cut.part(24, len(cut.payload))]
    if kind == "cut header":  # UDP's is not there
        cut = Cut(number, payload, [], [60])
        return [cut.part(0, 8), cut.part(8, len(cut.payload))]
    cuts = cut.cuts(rng)
    end_part = cut.part(*cuts[-1])
    if kind == "reversed":
        cuts.reverse()
    elif kind != "in order":
        rng.shuffle(cuts)
    if kind in ("overlap", "two ends") and cuts[0][1] == len(cut.payload):
        cuts.reverse()
    parts, (start, end) = [cut.part(*each) for each in cuts], cuts[0]
    if kind == "twice":
        parts.insert(rng.randrange(1, len(parts)), parts[0])
    elif kind == "one missing":
        parts.pop()
    elif kind == "overlap":
        parts.insert(1, cut.part(end - 8, end + 8, True, rng.randbytes(16)))
    elif kind == "two ends":
        size = 16 if end + 8 == len(cut.payload) else 8
        parts[1:1] = [end_part, cut.part(end, end + size, False, rng.randbytes(size))]
    elif kind == "uneven":
        parts[0] = cut.part(start, end, True, cut.payload[start : end - 3])
    elif kind == "anew":  # of another identification
        again = Cut(number + (1 << 20), payload)
        parts = parts[1:] + [again.part(*each) for each in again.cuts(rng)]
    return parts


def test_makes_of_fragments_what_the_kernel_does(heddle, tmp_path, root):
    rng = random.Random(f"{SEED} the kernel's fragments")
    lists, frames = [frames_of(rng, number) for number in range(260)], []
    for at in range(0, len(lists), 20):  # those of some come in between each other
        left = [each for each in lists[at : at + 20] if each]
        while left:
            frames.append(rng.choice(left).pop(0))
            left = [each for each in left if each]
    kernel = what_the_kernel_makes(frames)
    got, report = run(heddle, tmp_path, frames)
    whole = [Ether(frame)[IPv6] for frame in got]
    assert [(bytes(packet[UDP].payload), packet.tc) for packet in whole if UDP in packet] == kernel
    assert len(kernel) > 100
    assert set(report.drops("r")) == {"bad_fragment", "duplicate", "header_chain", "overlap", "timeout"}


@pytest.mark.parametrize("version", ["", "6"])
def test_loses_no_sign_of_congestion(heddle, tmp_path, root, version):
    """All codepoints that three fragments can have."""
    frames = []
    for number, codepoints in enumerate(itertools.product(range(4), repeat=3)):
        text = udp(bytes([number] * 16))
        if not version:
            text = text[:6] + bytes(2) + text[8:]  # no checksum
        for at, codepoint in enumerate(codepoints):
            more, tos = at < 2, 4 * at + codepoint
            if version:
                header = IPv6(src=SENDER, dst=HOST, tc=tos) / IPv6ExtHdrFragment(nh=17, id=number, offset=at, m=more)
            else:
                header = IP(src=SENDER4, dst=HOST4, tos=tos, proto=17, id=number, frag=at, flags="MF" * more)
            part = bytes(header / Raw(text[8 * at : 8 * at + 8]))
            frames.append(ETHER[:12] + (b"\x86\xdd" if version else b"\x08\0") + part)
    kernel = what_the_kernel_makes(frames)
    got, report = run(heddle, tmp_path, frames, version=version)
    whole = [Ether(frame).payload for frame in got]
    assert [(bytes(packet[UDP].payload), packet.tc if version else packet.tos) for packet in whole] == kernel
    assert len(kernel) == 28 and report.drops("r") == {"mixed_ecn": 3 * (64 - 28)}
