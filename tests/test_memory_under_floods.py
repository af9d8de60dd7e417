"""What keeps something of the packets that come holds its memory under floods: ten times as many take no more."""

import struct

import pytest
from scapy.all import ARP, IP, TCP, UDP, Ether, IPv6, IPv6ExtHdrFragment, Raw
from test_ip_router_elements import MY_MAC, NEXT_MAC, YOUR_MAC
from whole import captures
from whole.control import Control
from whole.program import Report, quoted, wait_until

FIRST, SECOND = 10_000, 100_000
MOST_KB = 1024  # more: some ten bytes of each packet are kept

ETHER = Ether(src=YOUR_MAC, dst=MY_MAC)
IP4 = "-> Strip(14) -> CheckIPHeader(CHECKSUM false)"
IP6 = "-> Strip(14) -> CheckIP6Header -> LookupIP6Route(::/0 0)"


def numbered(frame, *places):
    """Frames that differ by their number, four bytes at each of the places."""

    whole = bytes(frame)

    def of(number):
        data = bytearray(whole)
        for place in places:
            data[place : place + 4] = struct.pack(">I", number)
        return bytes(data)

    return of


DATAGRAM = ETHER / IP(src="10.0.0.9", dst="10.0.0.1") / UDP(sport=1, dport=2) / Raw(bytes(18))
SYN = ETHER / IP(src="10.0.0.9", dst="10.0.0.1") / TCP(flags="S") / Raw(bytes(6))
DATA = ETHER / IP(src="10.0.0.9", dst="10.0.0.1") / TCP(flags="A", seq=100) / Raw(b"attack")
PART6 = ETHER / IPv6(src="2001:db8::9", dst="2001:db8::1") / IPv6ExtHdrFragment(nh=17, m=1) / Raw(bytes(64))
PART = ETHER / IP(src="10.0.0.9", dst="10.0.0.1", flags="MF") / Raw(bytes(64))
DATAGRAM6 = ETHER / IPv6(src="2001:db8::9", dst="2001:db8::1") / UDP(sport=1, dport=2) / Raw(bytes(18))
ANSWER = ETHER / ARP(op=2, hwsrc=NEXT_MAC, psrc="10.0.0.9", hwdst=MY_MAC, pdst="10.0.0.1")
SOURCE, DESTINATION = 26, 30  # of IPv4

# Name: (the frames, the chain behind their source; the element that is flooded is called x).
FLOODS = {
    "ARPQuerier": (
        numbered(DATAGRAM, DESTINATION),
        f"{IP4} -> x :: ARPQuerier(10.0.0.1, {MY_MAC}) -> Discard; Idle -> [1] x",
    ),
    "ARPQuerier's answers": (
        numbered(ANSWER, 28),
        f"-> [1] x :: ARPQuerier(10.0.0.1, {MY_MAC}) -> Discard; Idle -> x",
    ),
    "IP6NDSolicitor": (
        numbered(DATAGRAM6, 50),
        f"{IP6} -> x :: IP6NDSolicitor(2001:db8::1, {MY_MAC}) -> Discard; Idle -> [1] x",
    ),
    "EtherSwitch": (
        numbered(DATAGRAM, 8),
        "-> x :: EtherSwitch(CAPACITY 1000) -> Discard; Idle -> [1] x [1] -> Discard",
    ),
    "L2Switch": (
        numbered(DATAGRAM, 8),
        "-> Paint(0) -> x :: L2Switch(CAPACITY 1000) -> Discard; x[1] -> Discard",
    ),
    "IPReassembler": (numbered(PART, SOURCE), f"{IP4} -> x :: IPReassembler -> Discard"),
    "IP6Reassembler": (numbered(PART6, 34), "-> Strip(14) -> CheckIP6Header -> x :: IP6Reassembler -> Discard"),
    "NIDSConfirm": (
        numbered(DATA, SOURCE),
        (
            "-> CheckIPHeader(14, CHECKSUM false) -> f :: FlowTable(CAPACITY 1000) -> ids :: NIDS(RULES, STREAM true) -> Discard;"
            "ids[1] -> x :: NIDSConfirm(ids, FLOWS f, EVE EVENTS, MEMORY 1, CHECKSUM false) -> Discard"
        ),
    ),
    "IPRewriter": (
        numbered(DATAGRAM, SOURCE),
        f"{IP4} -> x :: IPRewriter(pattern 1.0.0.1 1024-65535# - - 0 0, MAPPING_CAPACITY 1000) -> Discard",
    ),
    "FlowTable": (
        numbered(SYN, SOURCE),
        "-> CheckIPHeader(14, CHECKSUM false) -> x :: FlowTable(CAPACITY 1000) -> Discard",
    ),
    "NAT": (
        numbered(DATAGRAM, SOURCE),
        "-> CheckIPHeader(14, CHECKSUM false) -> f :: FlowTable(CAPACITY 1000) -> x :: NAT(f, 1.0.0.1) -> Discard; x[1] -> Discard",
    ),
    "AggregateIPFlows": (
        numbered(SYN, SOURCE),
        "-> CheckIPHeader(14, CHECKSUM false) -> x :: AggregateIPFlows(CAPACITY 1000) -> Discard",
    ),
    "AggregateIPFlows's fragments": (
        numbered(PART, SOURCE),
        "-> CheckIPHeader(14, CHECKSUM false) -> x :: AggregateIPFlows(CAPACITY 1000, FRAGMENTS true) -> Discard",
    ),
}


def private_kb(process):
    """What the process has of memory that nobody else has and no file backs."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(next(line.split()[1] for line in status if line.startswith("RssAnon:")))


@pytest.mark.parametrize("name", FLOODS)
def test_memory_stays_what_it_was(heddle, tmp_path, name):
    frame, chain = FLOODS[name]
    captures.write(tmp_path / "first.pcap", [frame(n + 0x0B000000) for n in range(FIRST)])
    captures.write(tmp_path / "second.pcap", [frame(n + 0x0C000000) for n in range(SECOND)])
    rules, events = tmp_path / "flood.rules", tmp_path / "events"
    rules.write_text('alert tcp any any -> any any (msg:"x"; content:"attacks"; sid:1;)\n')
    chain = chain.replace("RULES", quoted(rules)).replace("EVENTS", quoted(events))
    chain = (
        f"first :: FromDump({quoted(tmp_path / 'first.pcap')}, STOP false) -> in :: Counter {chain};"
        f"second :: FromDump({quoted(tmp_path / 'second.pcap')}, STOP false, ACTIVE false) -> in"
    )
    with heddle.start("run", "--json", "-u", tmp_path / "control", "-e", chain) as run:
        control = Control(tmp_path / "control")
        wait_until(lambda: control.read("in.count") == str(FIRST), what="the first flood")
        before = private_kb(run.process)
        control.write("second.active", "true")
        wait_until(lambda: control.read("in.count") == str(FIRST + SECOND), what="the second flood")
        after = private_kb(run.process)
        result = run.interrupt()
    assert result.code == 0, result
    assert Report(result.json).one("x")["packets"] == FIRST + SECOND
    assert after - before < MOST_KB, f"{before} kB before, {after} behind {SECOND} packets more"
