"""AggregateIPFlows against a model, on one thread and on two at once, and with garbage."""

import functools
import random

from scapy.all import ICMP, IP, TCP, UDP, Raw
from test_ip_router_elements import ether
from whole import captures
from whole.program import CHAINS, quoted

RANDOM = random.Random(77)
FIELDS = "ip_src sport ip_dst dport ip_proto aggregate direction"


def some_flows(count):
    ends = [(f"10.0.{RANDOM.randrange(4)}.{RANDOM.randrange(1, 9)}", RANDOM.randrange(1, 5)) for _ in range(count)]
    return [(RANDOM.choice([TCP, UDP]), RANDOM.choice(ends), RANDOM.choice(ends)) for _ in range(count)]


@functools.cache  # Scapy takes a millisecond for each
def packet_from(layer, one, other):
    return ether(IP(src=one[0], dst=other[0]) / layer(sport=one[1], dport=other[1]) / Raw(bytes(8)))


def packets_of(flows, count):
    for _ in range(count):
        layer, one, other = RANDOM.choice(flows)
        yield packet_from(layer, one, other) if RANDOM.random() < 0.5 else packet_from(layer, other, one)


def lines_of(path):
    return [tuple(line.split()) for line in path.read_text().splitlines() if not line.startswith("!")]


def key(line):
    return (line[4], *sorted([line[0:2], line[2:4]]))


def test_numbers_and_directions(heddle, tmp_path):
    captures.write(tmp_path / "in.pcap", list(packets_of(some_flows(300), 5000)))
    heddle.run(
        f"FromDump({quoted(tmp_path / 'in.pcap')}) -> CheckIPHeader(14) -> AggregateIPFlows(UDP_TIMEOUT 24h)"
        f"-> ToIPSummaryDump({quoted(tmp_path / 'out')}, FIELDS {FIELDS});"
    )
    first = {}
    lines = lines_of(tmp_path / "out")
    assert len(lines) == 5000
    for line in lines:
        number, source = first.setdefault(key(line), (len(first) + 1, line[0:2]))
        assert line[5] == str(number) and line[6] == (">" if line[0:2] == source else "<"), line


def test_two_threads_number_the_same_flows(heddle, tmp_path):
    flows = some_flows(400)
    for name in "ab":
        captures.write(tmp_path / f"{name}.pcap", list(packets_of(flows, 20_000)))
    a, b = quoted(tmp_path / "a.pcap"), quoted(tmp_path / "b.pcap")
    report = heddle.run(
        f"x :: FromDump({a}) -> CheckIPHeader(14) -> f :: AggregateIPFlows(UDP_TIMEOUT 24h); y :: FromDump({b}) -> CheckIPHeader(14) -> f;"
        f"f -> ToIPSummaryDump({quoted(tmp_path / 'out')}, FIELDS {FIELDS}); StaticThreadSched(x 0, y 1);",
        "-j",
        2,
    )
    numbers = {}
    for line in lines_of(tmp_path / "out"):
        numbers.setdefault(key(line), set()).add(int(line[5]))
    assert all(len(of_flow) == 1 for of_flow in numbers.values())
    assert sorted(n for of_flow in numbers.values() for n in of_flow) == list(range(1, len(numbers) + 1))
    assert report.one("f")["statistics"] == {"flows": len(numbers), "forgotten": 0, "held": 0, "unheld": 0}


def test_memory_is_bounded(heddle, tmp_path):
    frames = [ether(IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=n, dport=7)) for n in range(1, 2001)]
    captures.write(tmp_path / "in.pcap", frames)
    report = heddle.run(
        f"FromDump({quoted(tmp_path / 'in.pcap')}) -> CheckIPHeader(14) -> f :: AggregateIPFlows(CAPACITY 256, UDP_TIMEOUT 24h) -> Discard"
    )
    assert report.one("f")["statistics"]["flows"] == 2000
    assert 2000 - 256 <= report.one("f")["statistics"]["forgotten"] < 2000


def test_icmp_errors_are_of_the_flow_in_them(heddle, tmp_path):
    packet = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=5, dport=7) / Raw(b"x")
    error = IP(src="10.9.9.9", dst="10.0.0.1") / ICMP(type=3, code=3) / packet
    other = (
        IP(src="10.9.9.9", dst="10.0.0.1") / ICMP(type=3, code=3) / IP(src="10.0.0.1", dst="10.0.0.3") / UDP(sport=5)
    )
    ping = IP(src="10.9.9.9", dst="10.0.0.1") / ICMP()
    captures.write(tmp_path / "in.pcap", [ether(p) for p in (packet, error, other, ping)])
    for icmp, wanted in (
        ("true", [("10.0.0.1", "1", ">"), ("10.9.9.9", "1", "<")]),
        ("false", [("10.0.0.1", "1", ">")]),
    ):
        report = heddle.run(
            f"FromDump({quoted(tmp_path / 'in.pcap')}) -> CheckIPHeader(14) -> f :: AggregateIPFlows(ICMP {icmp})"
            f"-> ToIPSummaryDump({quoted(tmp_path / 'out')}, FIELDS ip_src aggregate direction);"
        )
        assert lines_of(tmp_path / "out") == wanted
        assert report.drops("f") == {"no_flow": 4 - len(wanted)}


def test_garbage(heddle, tmp_path):
    good = captures.frames(CHAINS / "traffic.pcap")
    frames = []
    for _ in range(5000):
        frame = bytearray(RANDOM.choice(good))
        for _ in range(RANDOM.choice([1, 3, 9])):
            frame[RANDOM.randrange(len(frame))] = RANDOM.randrange(256)
        frames.append(bytes(frame[: RANDOM.choice([len(frame), RANDOM.randrange(1, len(frame) + 1)])]))
    captures.write(tmp_path / "in.pcap", frames)
    chain = f"""FromDump({quoted(tmp_path / "in.pcap")}) -> Strip(14) -> MarkIPHeader -> AggregateIPFlows(ICMP true, CAPACITY 64)
        -> m :: IPRateMonitor(BYTES, 1, 0, 100) -> Discard;"""
    heddle.run(chain).assert_accounted()
