"""Elements compared with oracles of our own, on our frames and on the captures and tables of others."""

import gzip
import ipaddress
import random
import zlib

import pytest
import radix
from scapy.all import Ether
from whole import captures, judge, oracles
from whole.captures import packets_of
from whole.frames import SEED, damaged, frame, random_frames, strange_frames
from whole.program import CHAINS, quoted

TRAFFIC = CHAINS / "traffic.pcap"


# ---- elements against oracles


def test_mirror(heddle, tmp_path, mode):
    packets = [p for p in captures.read(TRAFFIC)] + packets_of([bytes(range(n)) for n in range(20)])
    source = tmp_path / "in.pcap"
    source.write_bytes(captures.pcap(packets))
    out = tmp_path / "out.pcap"
    report = heddle.run(f"FromDump({quoted(source)}) -> EtherMirror -> ToDump({quoted(out)})", *mode)
    long_enough = [p for p in packets if len(p.data) >= 12]
    assert report.drops("EtherMirror") == {"short": 12}
    assert captures.read(out) == [p._replace(data=oracles.mirrored(p.data)) for p in long_enough]
    for before, after in zip(long_enough[:300], captures.read(out)):  # by Scapy's names
        one, other = Ether(before.data), Ether(after.data)
        assert (one.src, one.dst, bytes(one.payload)) == (other.dst, other.src, bytes(other.payload))


def test_check_ip_header_reasons(heddle, tmp_path):
    frames = strange_frames()
    source = captures.write(tmp_path / "in.pcap", [data for data, _ in frames])
    out = tmp_path / "out.pcap"
    report = heddle.run(f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> ToDump({quoted(out)})")
    reasons = {}
    for data, reason in frames:
        assert oracles.ipv4_fault(data[14:]) == reason, data.hex()
        assert oracles.valid_for_scapy(data) == (reason == ""), data.hex()
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
    assert report.drops("CheckIPHeader") == reasons
    assert captures.frames(out) == [oracles.valid_frame(data) for data, reason in frames if not reason]


def test_check_ip_header_second_output(heddle, tmp_path):
    frames = random_frames(2000)
    source = captures.write(tmp_path / "in.pcap", frames)
    good, bad = tmp_path / "good.pcap", tmp_path / "bad.pcap"
    report = heddle.run(
        f"FromDump({quoted(source)}) -> c :: CheckIPHeader(14); "
        f"c[0] -> ToDump({quoted(good)}); c[1] -> ToDump({quoted(bad)})"
    )
    valid = [oracles.valid_frame(data) for data in frames]
    assert captures.frames(good) == [data for data in valid if data is not None]
    assert captures.frames(bad) == [data for data, v in zip(frames, valid) if v is None]
    assert 500 < len(captures.frames(bad)) < 1500 and report.dropped == 0


def test_check_ip_header_arguments(heddle, tmp_path):
    out = tmp_path / "out.pcap"
    frames = [frame(src=src, dst=dst) for src in ("10.0.0.1", "10.0.0.2") for dst in ("10.9.9.9", "10.8.8.8")]
    broken = damaged(frames[0], 24, 1)
    source = captures.write(tmp_path / "in.pcap", [*frames, broken])
    for arguments, expected in (
        ("14", frames),
        ("14, CHECKSUM false", [*frames, broken]),
        ("14, BADSRC 10.0.0.1", frames[2:]),
        ("OFFSET 14, BADSRC 10.0.0.1 10.0.0.2, GOODDST 10.8.8.8", frames[1::2]),
    ):
        heddle.run(f"FromDump({quoted(source)}) -> CheckIPHeader({arguments}) -> ToDump({quoted(out)})")
        assert captures.frames(out) == expected, arguments


ROUTES = [
    "0.0.0.0/1 0",
    "128.0.0.0/2 1",
    "10.0.0.0/8 2",
    "10.2.0.0/16 192.0.2.1 0",
    "10.2.3.0/24 1",
    "10.2.3.4/32 2",
    "10.2.3.128/25 2",
    "200.200.0.0/255.255.0.0 1",
    "77.0.0.0/8 1",
    "77.77.0.0/17 2",
    "77.77.77.77 0",
]


def near_corners():
    """Addresses at and beside the ends of every route."""
    for line in ROUTES:
        network = ipaddress.ip_network(line.split()[0])
        for end in (int(network.network_address), int(network.broadcast_address)):
            for address in (end - 1, end, end + 1):
                yield str(ipaddress.ip_address(address & 0xFFFFFFFF))


@pytest.mark.parametrize("from_file", [True, False])
def test_routes(heddle, tmp_path, mode, from_file):
    rng = random.Random(SEED)
    wanted = [*near_corners(), *(str(ipaddress.ip_address(rng.getrandbits(32))) for _ in range(300))]
    wanted += [f"10.2.3.{rng.randrange(256)}" for _ in range(100)]
    frames = [frame(src="10.0.0.1", dst=address) for address in wanted]
    source = captures.write(tmp_path / "in.pcap", frames)
    (tmp_path / "routes").write_text("# routes\n" + "\n".join(ROUTES) + "\n")
    arguments = f"FILE {quoted(tmp_path / 'routes')}" if from_file else ", ".join(ROUTES)
    outs = [tmp_path / f"{n}.pcap" for n in range(3)]
    report = heddle.run(
        f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> rt :: DirectIPLookup({arguments}); "
        + "; ".join(f"rt[{n}] -> ToDump({quoted(out)})" for n, out in enumerate(outs)),
        *mode,
    )
    oracle = oracles.Routes(ROUTES)
    outputs = [oracle.output(oracles.destination(data)) for data in frames]
    for n, out in enumerate(outs):
        assert captures.frames(out) == [data for data, output in zip(frames, outputs) if output == n]
    assert report.drops("rt") == {"no_route": outputs.count(None)}
    assert report.one("rt")["statistics"]["routes"] == len(ROUTES)
    report.assert_accounted()


def test_get_ip_address_replaces_check(heddle, tmp_path, mode):
    frames = [frame(dst="10.1.1.1"), frame(dst="11.1.1.1"), frame(dst="10.1.1.2")[:34], frame()[:33], b"", bytes(14)]
    source = captures.write(tmp_path / "in.pcap", frames)
    chain = (
        "FromDump(%s) -> Strip(14) -> get :: GetIPAddress(16) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1); "
        "rt[0] -> Unstrip(14) -> ToDump(%s); rt[1] -> Discard"
    )
    report = heddle.run(chain % (quoted(source), quoted(tmp_path / "out.pcap")), *mode)
    assert captures.frames(tmp_path / "out.pcap") == [frames[0], frames[2]]
    assert report.drops("get") == {"short": 2} and report.drops("Strip") == {"short": 1}
    report.assert_accounted()


@pytest.mark.parametrize("bytes_moved", [0, 1, 14, 60, 128])
def test_strip_and_unstrip(heddle, tmp_path, mode, bytes_moved):
    frames = [bytes(range(n)) for n in range(200)]
    source = captures.write(tmp_path / "in.pcap", frames)
    chain = (
        f"FromDump({quoted(source)}) -> Strip({bytes_moved}) -> t :: Tee(2); t[0] -> XOR(255) -> "
        f"ToDump({quoted(tmp_path / 'strip.pcap')}); "
        f"t[1] -> Unstrip({bytes_moved}) -> XOR(0) -> ToDump({quoted(tmp_path / 'back.pcap')})"
    )
    report = heddle.run(chain, *mode)
    kept = [data for data in frames if len(data) >= bytes_moved]
    expected = [bytes(byte ^ 255 for byte in data[bytes_moved:]) for data in kept]
    assert captures.frames(tmp_path / "strip.pcap") == expected
    assert captures.frames(tmp_path / "back.pcap") == kept
    assert report.drops("Strip").get("short", 0) == len(frames) - len(kept)


def test_unstrip_beyond_the_buffer_drops(heddle, tmp_path):
    report = heddle.run(f"FromDump({TRAFFIC}) -> Unstrip(128) -> Unstrip(1) -> Discard")
    dropped = [e["drops"] for e in report.elements("Unstrip")]
    assert dropped == [{}, {"no_headroom": report.received}]


def test_classifier_patterns(heddle, tmp_path):
    frames = [
        bytes.fromhex(text) for text in ("00112233", "00aa2233", "0f112234", "ff", "", "0011", "70112233ee", "00")
    ]
    source = captures.write(tmp_path / "in.pcap", frames)
    patterns = ["0/0011 3/33", "1/?a", "0/0f%0f 3/34", "0/00%80 !1/11", "!0/ff 4/ee", "-"]
    chain = f"FromDump({quoted(source)}) -> c :: Classifier({', '.join(patterns)}); " + "; ".join(
        f"c[{n}] -> ToDump({quoted(tmp_path / str(n))})" for n in range(len(patterns))
    )
    heddle.run(chain)
    got = [[data.hex() for data in captures.frames(tmp_path / str(n))] for n in range(len(patterns))]
    assert got == [["00112233"], ["00aa2233"], ["0f112234"], [], ["70112233ee"], ["ff", "", "0011", "00"]]


def test_classifier_drops_what_matches_nothing(heddle):
    report = heddle.run(f"FromDump({TRAFFIC}) -> c :: Classifier(12/0800) -> Discard")
    other = sum(data[12:14] != b"\x08\x00" for data in captures.frames(TRAFFIC))
    assert other > 0 and report.drops("c") == {"no_match": other}
    report.assert_accounted()


def test_tee_copies_are_independent(heddle, tmp_path, mode):
    outs = [tmp_path / f"{n}.pcap" for n in range(3)]
    heddle.run(
        f"FromDump({TRAFFIC}) -> t :: Tee(3); t[0] -> EtherMirror -> ToDump({quoted(outs[0])}); "
        f"t[1] -> ToDump({quoted(outs[1])}); t[2] -> XOR -> ToDump({quoted(outs[2])})",
        *mode,
    )
    packets = captures.read(TRAFFIC)
    assert captures.read(outs[0]) == [p._replace(data=oracles.mirrored(p.data)) for p in packets]
    assert captures.read(outs[1]) == packets
    assert captures.read(outs[2]) == [p._replace(data=bytes(b ^ 0x5A for b in p.data)) for p in packets]


def test_counter_counts(heddle, mode):
    report = heddle.run(f"FromDump({TRAFFIC}) -> EtherMirror -> c :: Counter -> XOR -> Discard", *mode)
    frames = captures.frames(TRAFFIC)
    assert report.one("c")["statistics"] == {"count": len(frames), "byte_count": sum(map(len, frames))}


def test_print(heddle, tmp_path):
    source = captures.write(tmp_path / "in.pcap", [bytes(range(30)), b"\xab", b""])
    result = heddle(
        "run", "--quiet", "-e", f"FromDump({quoted(source)}) -> Print(in, 6) -> Print(CONTENTS false) -> Discard"
    )
    assert result.code == 0
    lines = [line.split() for line in result.err.splitlines()]
    assert ["in:", "30", "|", "00010203", "0405"] in lines and ["in:", "1", "|", "ab"] in lines
    assert ["30"] in lines and len(lines) == 6
    assert (
        heddle.ok("run", "--quiet", "-e", f"FromDump({quoted(source)}) -> Print(x, ACTIVE false) -> Discard").out == ""
    )


def test_xor_keys(heddle, tmp_path, mode):
    frames = [bytes(range(n)) for n in [*range(70), 255]]
    source = captures.write(tmp_path / "in.pcap", frames)
    for key in (0, 1, 255):
        out = tmp_path / f"{key}.pcap"
        heddle.run(f"FromDump({quoted(source)}) -> XOR({key}) -> ToDump({quoted(out)})", *mode)
        assert captures.frames(out) == [bytes(byte ^ key for byte in data) for data in frames]


def test_two_sources(heddle, tmp_path):
    out = tmp_path / "out.pcap"
    one, other = captures.write(tmp_path / "1", [b"one"] * 700), captures.write(tmp_path / "2", [b"other"] * 900)
    report = heddle.run(
        f"out :: ToDump({quoted(out)}); FromDump({quoted(one)}) -> out; FromDump({quoted(other)}) -> out"
    )
    got = captures.frames(out)
    assert sorted(got) == [b"one"] * 700 + [b"other"] * 900 and report.received == 1600


# ---- captures and tables of others


def test_frames_have_their_known_checksums(heddle, test_data, tmp_path):
    heddle.run(f"FromDump({quoted(test_data / 'pcap/tcpdump_eth.pcap')}) -> ToDump({quoted(tmp_path / 'out.pcap')})")
    lines = gzip.decompress((test_data / "pcap/tcpdump_crc32.tsv.gz").read_bytes()).decode().split("\n")
    known = [line.split("\t") for line in lines if line and line[0].isdigit()]
    frames = captures.frames(tmp_path / "out.pcap")
    assert len(known) == len(frames)
    for number, size, crc in known:
        data = frames[int(number) - 1]
        assert (len(data), zlib.crc32(data)) == (int(size), int(crc, 16)), number


@pytest.mark.parametrize("name", ["tcpdump_eth", "zeek_sample_10000"])
def test_real_captures_on_every_backend(heddle, test_data, tmp_path, name, mode):
    source = test_data / "pcap" / f"{name}.pcap"
    out, other = tmp_path / "out.pcap", tmp_path / "other.pcap"
    report = heddle.run(
        f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> rt :: DirectIPLookup(0.0.0.0/1 0, 128.0.0.0/1 1); "
        f"rt[0] -> EtherMirror -> ToDump({quoted(out)}); rt[1] -> ToDump({quoted(other)})",
        *mode,
    )
    report.assert_accounted()
    valid = [p._replace(data=v) for p in captures.read(source) if (v := oracles.valid_frame(p.data)) is not None]
    # The wire was longer where the capture was cut, and where padding was.
    assert [p.data for p in captures.read(out)] == [oracles.mirrored(p.data) for p in valid if p.data[30] < 128]
    assert [p.data for p in captures.read(other)] == [p.data for p in valid if p.data[30] >= 128]
    assert [p.ns for p in captures.read(other)] == [p.ns for p in valid if p.data[30] >= 128]


def test_half_a_million_routes(heddle, test_data, tmp_path):
    routes = tmp_path / "routes"
    dump = gzip.decompress((test_data / "routing/ipasn_20140513_v12.dat.gz").read_bytes())
    routes.write_bytes(dump)
    known = [line.split() for line in (test_data / "routing/sample_10000_expected.tsv").read_text().splitlines()]
    addresses = [str(ipaddress.ip_address(int(number))) for number, _ in known]
    answers = []
    for first in range(0, len(addresses), 5000):
        report = heddle.ok("routes", "--json", routes, *addresses[first : first + 5000]).json
        assert report["lines"] == 512490
        answers += report["lookups"]
    assert [a["address"] for a in answers] == addresses
    assert [str(a["output"]) if a["route"] else "None" for a in answers] == [asn for _, asn in known]


def librarys_routes(table, version):
    """The prefixes of an IP-ASN file in python3-radix's tree, with their systems."""
    tree = radix.Radix()
    for line in gzip.decompress(table.read_bytes()).decode().splitlines():
        if line[:1] not in ("", ";") and (":" in line) == (version == 6):
            prefix, system = line.split()
            tree.add(prefix).data["system"] = system
    return tree


def addresses_near(tree, rng, bits):
    """At and beside the ends of prefixes, within them, and anywhere."""
    for prefix in rng.sample(tree.prefixes(), 1500):
        network = ipaddress.ip_network(prefix)
        low, high = int(network.network_address), int(network.broadcast_address)
        for address in (low, high, low - 1, high + 1, rng.randint(low, high), rng.getrandbits(bits)):
            yield (ipaddress.IPv4Address if bits == 32 else ipaddress.IPv6Address)(address % 2**bits)


def test_a_library_judges_routes_of_ip4(heddle, test_data, tmp_path):
    table = test_data / "routing/ipasn_20140513_v12.dat.gz"
    (tmp_path / "routes").write_bytes(gzip.decompress(table.read_bytes()))
    tree = librarys_routes(table, 4)
    addresses = [str(address) for address in addresses_near(tree, random.Random(f"{SEED} radix 4"), 32)]
    found = heddle.ok("routes", "--json", tmp_path / "routes", *addresses[:4500]).json["lookups"]
    found += heddle.ok("routes", "--json", tmp_path / "routes", *addresses[4500:]).json["lookups"]
    assert [answer["address"] for answer in found] == addresses
    for address, answer in zip(addresses, found):
        node = tree.search_best(address)
        assert (str(answer["output"]) if answer["route"] else None) == (node and node.data["system"]), address


@pytest.mark.parametrize("engine", ["tree", "trie"])
def test_a_library_judges_routes_of_ip6(heddle, test_data, tmp_path, engine):
    """By the element: each system leaves by the output that is its number modulo 16."""
    outputs = 16
    tree = librarys_routes(test_data / "routing/ipasn6_20151101.dat.gz", 6)
    output_of = lambda node: int(node.data["system"]) % outputs
    lines = [f"{node.prefix} {output_of(node)}\n" for node in tree.nodes()]
    assert len(lines) == 27693
    (tmp_path / "routes").write_text("".join(lines))
    wanted = [address.packed for address in addresses_near(tree, random.Random(f"{SEED} radix 6"), 128)]
    frames = [judge.ip6(bytes(15) + b"\1", address, 17, bytes(20)) for address in wanted]
    source = captures.write(tmp_path / "in.pcap", frames)
    outs = [tmp_path / f"{n}.pcap" for n in range(outputs)]
    report = heddle.run(
        f"FromDump({quoted(source)}) -> CheckIP6Header(OFFSET 14) -> rt :: LookupIP6Route(FILE {quoted(tmp_path / 'routes')}, ENGINE {engine}); "
        + "; ".join(f"rt[{n}] -> ToDump({quoted(out)})" for n, out in enumerate(outs))
    )
    nodes = [tree.search_best(str(ipaddress.IPv6Address(address))) for address in wanted]
    for n, out in enumerate(outs):
        assert captures.frames(out) == [frame for frame, node in zip(frames, nodes) if node and output_of(node) == n], n
    without = sum(node is None for node in nodes)
    assert without > 100 and report.drops("rt") == {"no_route": without}


def test_half_a_million_routes_in_a_chain(heddle, test_data, tmp_path, mode):
    """All systems leave by output 0: who has a route passes, who has none is dropped."""
    dump = gzip.decompress((test_data / "routing/ipasn_20140513_v12.dat.gz").read_bytes()).decode()
    lines = [line.split()[0] for line in dump.splitlines() if line[:1].isdigit()]
    (tmp_path / "routes").write_text("".join(f"{prefix} 0\n" for prefix in lines))
    known = [line.split() for line in (test_data / "routing/sample_10000_expected.tsv").read_text().splitlines()]
    frames = [bytes(30) + int(number).to_bytes(4, "big") for number, _ in known]
    source = captures.write(tmp_path / "in.pcap", frames)
    report = heddle.run(
        f"FromDump({quoted(source)}) -> GetIPAddress(30) -> rt :: DirectIPLookup(FILE {quoted(tmp_path / 'routes')}) "
        f"-> ToDump({quoted(tmp_path / 'out.pcap')})",
        *mode,
    )
    assert captures.frames(tmp_path / "out.pcap") == [f for f, (_, asn) in zip(frames, known) if asn != "None"]
    assert report.drops("rt") == {"no_route": sum(asn == "None" for _, asn in known)}
