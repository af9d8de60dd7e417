"""ECMP: routes with several next hops divide flows among them, and reorder none."""

import random
from collections import Counter, defaultdict

import pytest
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from whole import captures

RANDOM = random.Random(17)
FLOWS, PACKETS = 1500, 4


def flows(make):
    """Frames of many flows, mixed; each has its flow's number and its own in the payload. The checksum of TCP or UDP,
    at which nobody looks, is right in a flow's first frame only."""
    order = [number for number in range(FLOWS) for _ in range(PACKETS)]
    RANDOM.shuffle(order)
    first = {number: bytes(make(number) / f"{number} 0".encode()) for number in range(FLOWS)}
    seen, frames = Counter(), []
    for number in order:
        frames.append(first[number][:-1] + b"%d" % seen[number])
        seen[number] += 1
    return frames


def ip4(number):
    protocol = (TCP, UDP)[number % 2]
    return (
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / IP(src=f"172.16.{number % 3}.1", dst="10.1.2.3")
        / protocol(sport=1000 + number, dport=80)
    )


def ip6(number):
    protocol = (TCP, UDP)[number % 2]
    return (
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / IPv6(src=f"2001:db8::{number % 3}", dst="2001:db8:5::1")
        / protocol(sport=1000 + number, dport=80)
    )


CHAINS = {
    "DirectIPLookup": """-> Strip(14) -> CheckIPHeader -> rt :: DirectIPLookup(10.0.0.0/8 0.0.0.1 1, 0/0 0); rt[0] -> Discard;
        rt[1] -> e :: ECMP(1 {hops}); arp :: ARPQuerier(10.9.0.1, 2:0:0:0:0:1) -> ToDump({folder}/out.pcap); Idle -> [1]arp;
        e[0] -> Paint(0) -> arp; e[1] -> Paint(1) -> arp;""",
    "LookupIP6Route": """-> Strip(14) -> CheckIP6Header -> rt :: LookupIP6Route(2001:db8::/32 ::1 1, ::/0 0); rt[0] -> Discard;
        rt[1] -> e :: ECMP(1 {hops}); arp :: IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1) -> ToDump({folder}/out.pcap);
        Idle -> [1]arp; e[0] -> Paint(0) -> arp; e[1] -> Paint(1) -> arp;""",
}


HOPS = {
    "DirectIPLookup": [f"10.9.{i}.7" for i in range(4)],
    "LookupIP6Route": [f"2001:db8:9:{i}::7" for i in range(4)],
}


def group(element, *hops):
    """A group of the hops of these numbers; the odd leave by output 1."""
    return " ".join(f"{HOPS[element][hop]} {hop % 2}" for hop in hops)


def run(heddle, folder, frames, element, hops, *options, source="", more=""):
    """What leaves, with the number of the next hop."""
    captures.write(folder / "in.pcap", frames)
    inserts = ", ".join(f"write arp.insert {hop} 02:00:00:00:09:0{i}" for i, hop in enumerate(HOPS[element]))
    chain = f"in :: FromDump({folder}/in.pcap, ACTIVE false{source}) "
    chain += CHAINS[element].format(folder=folder, hops=group(element, *hops))
    heddle.ok("run", *options, "-e", chain + f"Script({inserts}, write in.active true); {more}")
    return [(frame, frame[5]) for frame in captures.frames(folder / "out.pcap")]


def ways(sent):
    """{flow: [(serial, next hop), ...]}"""
    of = defaultdict(list)
    for frame, hop in sent:
        protocol, header = (frame[20], 40) if frame[14] >> 4 == 6 else (frame[23], 20)
        flow, serial = map(int, frame[14 + header + {6: 20, 17: 8}[protocol] :].split())
        of[flow].append((serial, hop))
    return of


@pytest.mark.parametrize("device", ["cpu", "simt"])
@pytest.mark.parametrize("element", CHAINS)
def test_flows_are_divided_and_stay_in_order(heddle, tmp_path, element, device):
    packets = flows(ip4 if element == "DirectIPLookup" else ip6)
    of = ways(run(heddle, tmp_path, packets, element, (0, 1, 1, 2), "--device", device))
    assert len(of) == FLOWS
    for sent in of.values():
        assert [serial for serial, _ in sent] == list(range(PACKETS))
        assert len({hop for _, hop in sent}) == 1
    shares = Counter(sent[0][1] for sent in of.values())
    assert set(shares) == {0, 1, 2}
    # Of 256 buckets 64, 128 and 64, by chance: five standard deviations.
    for hop, share in enumerate((0.25, 0.5, 0.25)):
        assert abs(shares[hop] / FLOWS - share) < 5 * (share * (1 - share) / 256) ** 0.5


def test_when_a_hop_goes_the_flows_of_others_stay(heddle, tmp_path):
    packets = flows(ip4)
    again = f"again :: FromDump({tmp_path}/in.pcap, ACTIVE false) -> Strip(14) -> CheckIPHeader -> rt;"
    change = f"write e.set 1 {group('DirectIPLookup', 0, 2, 3)}, write again.active true"
    sent = run(
        heddle,
        tmp_path,
        packets,
        "DirectIPLookup",
        (0, 1, 2, 3),
        source=", END_CALL change.run",
        more=f"{again} change :: Script(TYPE PASSIVE, {change});",
    )
    assert len(sent) == 2 * len(packets)
    before, after = ways(sent[: len(packets)]), ways(sent[len(packets) :])
    was = {flow: of[0][1] for flow, of in before.items()}
    now = {flow: of[0][1] for flow, of in after.items()}
    assert Counter(was.values()).keys() == {0, 1, 2, 3}
    assert all(now[flow] == hop for flow, hop in was.items() if hop != 1)
    assert {now[flow] for flow, hop in was.items() if hop == 1} == {0, 2, 3}


def test_fragments_of_a_packet_go_one_way(heddle, tmp_path):
    whole = [
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / IP(src=f"172.16.{i}.1", dst="10.1.2.3", id=i)
        / UDP(sport=i, dport=53)
        / bytes(3000)
        for i in range(200)
    ]
    sent = run(heddle, tmp_path, [bytes(f) for p in whole for f in fragment(p, 1000)], "DirectIPLookup", (0, 1, 2, 3))
    of = defaultdict(set)
    for frame, hop in sent:
        of[frame[18:20]].add(hop)
    assert len(of) == 200 and all(len(hops) == 1 for hops in of.values())
    assert {hop for hops in of.values() for hop in hops} == {0, 1, 2, 3}


def test_what_has_no_group_is_dropped(heddle, tmp_path):
    wrpcap(str(tmp_path / "in.pcap"), [ip4(1)] * 3)
    chain = f"""FromDump({tmp_path}/in.pcap) -> Strip(14) -> CheckIPHeader -> rt :: DirectIPLookup(0/0 0.0.0.2 0)
        -> e :: ECMP(1 - 0) -> Discard"""
    report = heddle.ok("run", "--json", "-e", chain).json
    assert next(e for e in report["elements"] if e["name"] == "e")["drops"] == {"no_group": 3}


def test_groups_of_all_kinds_share_evenly(heddle, tmp_path):
    """Of each group's 256 buckets one of two hops gets about half: as often as chance has it, not more."""
    groups, of_each = 200, 512
    frames, frame = [], bytearray(bytes(ip4(1)))
    for number in range(1, groups + 1):
        for _ in range(of_each):
            frame[26:30] = RANDOM.randbytes(4)
            frame[30:34] = bytes([10, 0, number, 1])
            frames.append(bytes(frame))
    captures.write(tmp_path / "in.pcap", frames)
    routes = ", ".join(f"10.0.{number}.0/24 0.0.0.{number} 0" for number in range(1, groups + 1))
    sets = ", ".join(f"write e.set {n} 10.9.0.{n} 0 10.9.1.{n} 1" for n in range(1, groups + 1))
    heddle.ok(
        "run",
        "-e",
        f"in :: FromDump({tmp_path}/in.pcap, ACTIVE false) -> MarkIPHeader(14) -> GetIPAddress(30)"
        f" -> DirectIPLookup({routes}) -> e :: ECMP; e[0] -> ToDump({tmp_path}/0.pcap); e[1] -> ToDump({tmp_path}/1.pcap);"
        f"Script({sets}, write in.active true)",
    )
    got = [Counter(data[32] for data in captures.frames(tmp_path / f"{out}.pcap")) for out in (0, 1)]
    assert all(got[0][n] + got[1][n] == of_each for n in range(1, groups + 1))
    shares = [got[0][n] / of_each for n in range(1, groups + 1)]
    # By chance, of buckets and then of flows; the deviation of 200 is known to a twentieth, of which five are allowed.
    by_chance = (0.25 / 256 + 0.25 / of_each) ** 0.5
    deviation = (sum((share - 0.5) ** 2 for share in shares) / groups) ** 0.5
    assert 0.75 * by_chance < deviation < 1.25 * by_chance
    assert abs(sum(shares) / groups - 0.5) < 5 * by_chance / groups**0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1", "expected GROUP GATEWAY OUT"),
        ("0 - 0", "expected GROUP GATEWAY OUT"),
        ("65536 - 0", "expected GROUP GATEWAY OUT"),
        ("1 - 0 10.0.0.1", "expected GROUP GATEWAY OUT"),
        ("1 there 0", "'there' is not a gateway's address or -"),
        ("1 - 1", "'1' is not a connected output, 0 to 0"),
    ],
)
def test_mistakes_are_named(heddle, text, message):
    assert message in heddle.fails(
        "check", "-e", f"Idle -> MarkIPHeader -> DirectIPLookup(0/0 0) -> ECMP({text}) -> Discard"
    )
