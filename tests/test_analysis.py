"""The elements that analyse traffic: chains/analysis.click against counts made here, and addresses that keep
prefixes."""

import collections
import ipaddress
import random
import struct

import pytest
from scapy.all import ICMP, IP, TCP, UDP, IPerror, Raw, TCPerror
from test_hotconfig import running
from test_ip_router_elements import ether
from whole import captures, oracles
from whole.chains import TRAFFIC
from whole.program import quoted, wait_until

MASK = (1 << 64) - 1


def sip_hash(key0, key1, message):
    """SipHash-2-4 of eight bytes, from its paper."""
    v = [
        key0 ^ 0x736F6D6570736575,
        key1 ^ 0x646F72616E646F6D,
        key0 ^ 0x6C7967656E657261,
        key1 ^ 0x7465646279746573,
    ]

    def rotated(x, by):
        return (x << by | x >> (64 - by)) & MASK

    def rounds(count):
        for _ in range(count):
            for a, b, by in ((0, 1, 13), (2, 3, 16)):
                v[a] = (v[a] + v[b]) & MASK
                v[b] = rotated(v[b], by) ^ v[a]
            v[0] = rotated(v[0], 32)
            for a, b, by in ((2, 1, 17), (0, 3, 21)):
                v[a] = (v[a] + v[b]) & MASK
                v[b] = rotated(v[b], by) ^ v[a]
            v[2] = rotated(v[2], 32)

    for word in (message, 8 << 56):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_sip_hash_of_the_paper():
    """The test vector of 8 bytes of its authors' code (key 00 01 ... 0f, message 00 01 ... 07)."""
    key = struct.unpack("<QQ", bytes(range(16)))
    assert sip_hash(*key, int.from_bytes(bytes(range(8)), "little")) == 0x93F5F5799A932462


def flips(seed, depth, prefix):
    """Whether the bit behind a prefix of `depth` bits changes: one hash decides for six levels of the tree."""
    top = max(start for start in (0, 4, 10, 16, 22, 28) if start <= depth)
    levels = depth - top
    node = 1 << levels | prefix & ((1 << levels) - 1)
    return sip_hash(seed, 0, top << 32 | prefix >> levels) >> node & 1


def anonymous(seed, address, ones=0, networks=()):
    if address in (0, 0xFFFFFFFF):
        return address
    while True:
        out = 0
        for depth in range(32):
            prefix = address >> (32 - depth)
            kept = depth < ones and prefix == (1 << depth) - 1
            kept = kept or (depth < 8 and any(prefix == network >> (8 - depth) for network in networks))
            out = out << 1 | (address >> (31 - depth) & 1) ^ (0 if kept else flips(seed, depth, prefix))
        if out not in (0, 0xFFFFFFFF):
            return out
        address = out


def text(counts, *lines, key=str):
    head = ["!IPAggregate 1.0", f"!num_nonzero {len(counts)}", *lines]
    return "\n".join(head + [f"{key(a)} {n}" for a, n in sorted(counts.items())]) + "\n"


def u16(data, at):
    return int.from_bytes(data[at : at + 2], "big")


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "big")


def ports_at(frame):
    return 14 + (frame[14] & 15) * 4 if frame[23] in (6, 17) and not u16(frame, 20) & 0x1FFF else None


def test_the_chain_counts_what_python_counts(ran, tmp_path, mode):
    report, files = ran("analysis", *mode)
    packets = [p._replace(data=frame) for p in captures.read(TRAFFIC) if (frame := oracles.valid_frame(p.data))]
    frames = [p.data for p in packets]
    destinations = collections.Counter(u32(f, 30) for f in frames)
    networks, ports = collections.Counter(), collections.Counter()
    for frame in frames:
        networks[u16(frame, 26) << 8 | frame[23]] += u16(frame, 16)
        if ports_at(frame):
            ports[u16(frame, ports_at(frame) + 2)] += 1
    lengths = collections.Counter(collections.Counter(u16(f, 16) for f in frames).values())
    assert min(map(len, (destinations, networks, ports, lengths))) > 4
    assert files["analysis_destinations.txt"].decode() == text(destinations, "!ip", key=ipaddress.IPv4Address)
    assert files["analysis_networks.txt"].decode() == text(networks)
    assert files["analysis_lengths.txt"].decode() == text(lengths)
    packed = b"".join(struct.pack("<II", *pair) for pair in sorted(ports.items()))
    head = f"!IPAggregate 1.0\n!num_nonzero {len(ports)}\n!packed_le\n".encode()
    assert files["analysis_ports.bin"] == head + packed
    times = [p.ns // 1000 for p in packets]
    start, end = (f"{time // 10**6}.{time % 10**6:06}" for time in (min(times), max(times)))
    assert files["analysis_range.txt"].decode() == f"{start} {end}\n"
    assert report.count("others") == len(frames) - sum(ports.values()) > 0
    assert report.one("destinations")["statistics"]["full"] == 0

    wanted, seen = [], set()
    first_ns = next(p.ns for p in packets if ports_at(p.data))
    for packet in packets:
        frame, at = packet.data, ports_at(packet.data)
        if not at or not first_ns + 5_000_000 <= packet.ns < first_ns + 15_000_000:
            continue
        ends = (frame[26:30], frame[at : at + 2]), (frame[30:34], frame[at + 2 : at + 4])
        flow = (frame[23], *sorted(ends))
        if flow not in seen:
            wanted.append(packet)
            seen.add(flow)
    got = captures.read(tmp_path / "out/analysis_flows.pcap")
    assert len(got) == len(wanted) > 50
    for before, after in zip(wanted, got):
        assert after.ns == before.ns and after.data[:24] == before.data[:24]
        assert [u32(after.data, i) for i in (26, 30)] == [anonymous(2026, u32(before.data, i)) for i in (26, 30)]
        assert same_checksums(before.data[14:]) == same_checksums(after.data[14:])


def same_checksums(packet):
    """Whether the header's and the one behind it are right, by Scapy."""
    ip = IP(packet)
    again = IP(packet)
    del again.chksum
    layer = TCP if TCP in ip else UDP
    del again[layer].chksum
    again = IP(bytes(again))
    return again.chksum == ip.chksum, again[layer].chksum == ip[layer].chksum


def mapped(heddle, addresses, arguments):
    """What a chain makes of addresses, as a dictionary."""
    words = ", ".join(f"print $(a.map {ipaddress.IPv4Address(address)})" for address in addresses)
    result = heddle.ok(
        "run",
        "--quiet",
        "-e",
        f"Idle -> MarkIPHeader -> a :: AnonymizeIPAddr({arguments}) -> Discard; DriverManager({words}, stop)",
    )
    return dict(zip(addresses, (int(ipaddress.IPv4Address(line)) for line in result.out.split())))


def common(one, other):
    return 32 - (one ^ other).bit_length()


ARGUMENTS = [
    ("SEED 1", 1, {}),
    ("SEED 18446744073709551615", MASK, {}),
    ("SEED 7, CLASS 4", 7, {"ones": 4}),
    ("SEED 7, CLASS 99", 7, {"ones": 32}),
    ("SEED false, PRESERVE_8 10 192", 0, {"networks": (10, 192)}),
]


@pytest.mark.parametrize(
    ("arguments", "seed", "kept"), ARGUMENTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_addresses_of_a_seed(heddle, arguments, seed, kept):
    rng = random.Random(arguments)
    some = [rng.randrange(1 << 32) for _ in range(60)]
    near = [address ^ 1 << rng.randrange(32) for address in some]
    edges = [0, 1, 0x0A000001, 0xC0A80001, 0xE0000001, 0xFFFFFFFE, 0xFFFFFFFF]
    addresses = list(dict.fromkeys(some + near + edges))
    found = mapped(heddle, addresses, arguments)
    assert found == {address: anonymous(seed, address, **kept) for address in addresses}
    for one, other in zip(some, near):
        assert common(one, other) == common(found[one], found[other])
    for address in addresses:
        if "PRESERVE_8" in arguments:
            assert (address >> 24 in (10, 192)) == (found[address] >> 24 in (10, 192))
        if "CLASS 4" in arguments:
            assert min(common(address, 0xFFFFFFFF), 4) == min(common(found[address], 0xFFFFFFFF), 4)


def test_secret_addresses_differ_and_keep_prefixes(heddle):
    addresses = [0x0A000000 + i for i in range(64)]
    one, other = (mapped(heddle, addresses, "SPECIAL false") for _ in range(2))
    assert one != other
    for found in (one, other):
        assert len(set(found.values())) == 64
        assert all(common(a, b) == common(found[a], found[b]) for a in addresses for b in addresses if a < b)


def test_errors_have_the_addresses_of_the_packets_in_them(heddle, tmp_path):
    inner = IP(src="10.0.0.1", dst="192.0.2.7") / TCP(sport=7, dport=80) / Raw(b"hello")
    error = IP(src="192.0.2.9", dst="10.0.0.1") / ICMP(type=11) / inner
    short = IP(src="192.0.2.9", dst="10.0.0.1") / ICMP(type=3, code=1) / Raw(bytes(inner)[:28])
    other = IP(src="192.0.2.9", dst="10.0.0.1") / ICMP(type=8) / inner
    captures.write(tmp_path / "in.pcap", [ether(p) for p in (error, short, other)])
    chain = (
        f"FromDump({quoted(tmp_path / 'in.pcap')}) -> CheckIPHeader(14) -> AnonymizeIPAddr(SEED 5) -> CheckICMPHeader "
        f"-> ToDump({quoted(tmp_path / 'out.pcap')})"
    )
    assert heddle.run(chain).dropped == 0  # so the checksums of ICMP are right
    packets = [IP(frame[14:]) for frame in captures.frames(tmp_path / "out.pcap")]

    def new(address):
        return str(ipaddress.IPv4Address(anonymous(5, int(ipaddress.IPv4Address(address)))))

    for packet in packets:
        assert (packet.src, packet.dst) == (new("192.0.2.9"), new("10.0.0.1"))
    for packet in packets[:2]:
        assert (packet[IPerror].src, packet[IPerror].dst) == (new("10.0.0.1"), new("192.0.2.7"))
        assert oracles.checksum(bytes(packet[IPerror])[:20]) == 0
    quoted_packet = IP(bytes(packets[0][IPerror]))
    sum_there = quoted_packet[TCP].chksum
    del quoted_packet[TCP].chksum
    assert IP(bytes(quoted_packet))[TCP].chksum == sum_there == packets[0][TCPerror].chksum
    assert bytes(packets[2])[28:] == bytes(inner)


def test_memory_of_counts_is_bounded(heddle, tmp_path):
    frames = [ether(IP(src="10.0.0.1", dst=f"10.0.{n // 250}.{n % 250 + 1}") / UDP()) for n in range(600)]
    captures.write(tmp_path / "in.pcap", frames * 2)
    report = heddle.run(
        f"FromDump({quoted(tmp_path / 'in.pcap')}) -> CheckIPHeader(14) -> AggregateIP(ip dst) -> a :: AggregateCounter(CAPACITY 500)"
        "-> yes :: Counter -> Discard; a[1] -> no :: Counter -> Discard"
    )
    assert report.one("a")["statistics"] == {"aggregates": 500, "count": 1000, "full": 200}
    assert (report.count("yes"), report.count("no")) == (1000, 200)


def test_two_threads_count_together(heddle, tmp_path):
    rng = random.Random(5)
    counts = collections.Counter()
    for name in "ab":
        numbers = [rng.randrange(3000) for _ in range(20_000)]
        counts.update(numbers)
        some = [bytes(ether(IP(src="10.0.0.1", dst="10.0.0.2", id=n) / UDP())) for n in range(3000)]
        captures.write(tmp_path / f"{name}.pcap", [some[n] for n in numbers])
    a, b = quoted(tmp_path / "a.pcap"), quoted(tmp_path / "b.pcap")
    heddle.run(
        f"x :: FromDump({a}) -> MarkIPHeader(14) -> i :: AggregateIP(ip id); y :: FromDump({b}) -> MarkIPHeader(14) -> i;"
        f"i -> c :: AggregateCounter -> f :: AggregateFirst -> ToIPSummaryDump({quoted(tmp_path / 'first')}, HEADER false, FIELDS aggregate);"
        f"f[1] -> Discard; DriverManager(wait_stop, write c.write_text_file {quoted(tmp_path / 'counts')}, stop);"
        "StaticThreadSched(x 0, y 1);",
        "-j",
        2,
    )
    assert (tmp_path / "counts").read_text() == text(counts)
    assert sorted(map(int, (tmp_path / "first").read_text().split())) == sorted(counts)


def test_a_file_is_whole_or_as_it_was(heddle, tmp_path):
    """In place of what was there, by the name of a link as well; what cannot be written is told and changes nothing."""
    (tmp_path / "real").write_text("before")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "folder").mkdir()
    chain = (
        "InfiniteSource(LIMIT 3, LENGTH 100, STOP false) -> AggregateLength -> a :: AggregateCounter -> Discard;"
        "DriverManager(wait_stop, write a.write_text_file {}, stop)"
    )
    heddle.ok("run", "--quiet", "-e", chain.format(quoted(tmp_path / "link")))
    assert (tmp_path / "real").read_text() == "!IPAggregate 1.0\n!num_nonzero 1\n100 3\n"
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    for path in (tmp_path / "folder", tmp_path / "none/file", "/dev/full"):
        result = heddle("run", "--quiet", "-e", chain.format(quoted(path)))
        assert f"cannot write '{path}'" in result.err, result
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "link", "real"]


def test_counts_and_secrets_survive_a_new_configuration(heddle, tmp_path):
    chain = (
        "s :: InfiniteSource(LIMIT 100, LENGTH 60, STOP false) -> AggregateLength -> c :: AggregateCounter -> r :: TimeRange"
        "-> f :: AggregateFirst -> l :: AggregateLast -> {} Discard; f[1] -> rest :: Counter -> Discard;"
        "Idle -> MarkIPHeader -> a :: AnonymizeIPAddr -> Discard"
    )
    names = ["c.count", "c.nagg", "f.nagg", "l.nagg", "r.range", "a.map 10.0.0.1"]
    with running(heddle, tmp_path, chain.format("")) as (_, control):
        wait_until(lambda: control.read("rest.count") == "99", 60, "all packets")
        control.write("c.freeze", "true")
        before = [control.read(name) for name in names]
        assert before[:4] == ["100", "1", "1", "1"]
        control.write("hotconfig", chain.format("Null ->"))
        assert [control.read(name) for name in names] == before
        assert control.read("c.freeze") == "true"


def test_garbage(heddle, tmp_path):
    rng = random.Random(11)
    good = captures.frames(TRAFFIC)
    frames = []
    for _ in range(5000):
        frame = bytearray(rng.choice(good))
        for _ in range(rng.choice([1, 3, 9])):
            frame[rng.randrange(len(frame))] = rng.randrange(256)
        frames.append(bytes(frame[: rng.choice([len(frame), rng.randrange(1, len(frame) + 1)])]))
    captures.write(tmp_path / "in.pcap", frames)
    fields = [
        "ip src",
        "ip[58:2]",
        "tcp urp",
        "sport",
        "udp sum",
        "icmp sum",
        "transp{250-259}",
        "data[0-3]",
        "ip proto 1[4]",
    ]
    some = "".join(
        f"-> a{i} :: AggregateIP({field}) -> n{i} :: Null; a{i}[1] -> n{i}; n{i} " for i, field in enumerate(fields)
    )
    report = heddle.run(
        f"FromDump({quoted(tmp_path / 'in.pcap')}) -> Strip(14) -> MarkIPHeader {some} -> c :: AggregateCounter(BYTES true, IP_BYTES true)"
        "-> y :: AnonymizeIPAddr -> l :: AggregateLength(IP true) -> f :: AggregateFirst(CAPACITY 64) -> z :: AggregateLast -> Discard;"
        "y[1] -> Discard; l[1] -> Discard; f[1] -> Discard; z[1] -> Discard"
    )
    report.assert_accounted()
    assert report.one("a7")["packets"] > 3000 and report.one("n7")["packets"] == report.one("a7")["packets"]
