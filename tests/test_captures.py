"""Captures through the program: formats, link types and pipes, compared with Scapy's view."""

import subprocess

import pytest
from scapy.all import IP, UDP, Raw
from whole import captures, oracles
from whole.captures import packets_of, plain
from whole.program import CHAINS, quoted

TRAFFIC = CHAINS / "traffic.pcap"


def copy(heddle, source, target, *options):
    report = heddle.run(f"FromDump({quoted(source)}) -> ToDump({', '.join([quoted(target), *options])})")
    report.assert_accounted()
    return captures.read(target)


# ---- formats


@pytest.mark.parametrize("write", [captures.pcap, captures.pcapng], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nano", [True, False], ids=["ns", "us"])
@pytest.mark.parametrize("out", ["pcap", "pcapng"])
def test_formats_keep_bytes_times_and_lengths(heddle, tmp_path, write, order, nano, out):
    packets = [plain(bytes([i & 255]) * (i * 5), i, wire=i * 5 + i % 3) for i in range(310)]
    if not nano:
        packets = [p._replace(ns=p.ns // 1000 * 1000) for p in packets]
    source = tmp_path / "in"
    source.write_bytes(write(packets, order=order, nano=nano))
    assert captures.read(source) == packets
    assert copy(heddle, source, tmp_path / f"out.{out}") == packets
    microseconds = [p._replace(ns=p.ns // 1000 * 1000) for p in packets]
    assert copy(heddle, source, tmp_path / f"us.{out}", "NANO false") == microseconds


def test_format_follows_name_or_keyword(heddle, tmp_path):
    for name, keyword, magic in (
        ("a.pcap", "", "4d3cb2a1"),
        ("a.pcapng", "", "0a0d0d0a"),
        ("b.pcapng", ", FORMAT pcap", "4d3cb2a1"),
        ("b.cap", ", FORMAT pcapng", "0a0d0d0a"),
        ("c.pcap", ", NANO false", "d4c3b2a1"),
    ):
        heddle.run(f"FromDump({TRAFFIC}) -> ToDump({quoted(tmp_path / name)}{keyword})")
        assert (tmp_path / name).read_bytes()[:4].hex() == magic, name


@pytest.mark.parametrize("snap", [1, 14, 64, 96, 1514, 65535])
@pytest.mark.parametrize("out", ["pcap", "pcapng"])
def test_snap_lengths(heddle, tmp_path, snap, out):
    packets = captures.read(TRAFFIC)
    cut = copy(heddle, TRAFFIC, tmp_path / f"out.{out}", f"SNAPLEN {snap}")
    assert cut == [p._replace(data=p.data[:snap]) for p in packets]
    # What was cut stays known: the length on the wire survives a second copy.
    assert copy(heddle, tmp_path / f"out.{out}", tmp_path / "again.pcap") == cut


@pytest.mark.parametrize("out", ["pcap", "pcapng"])
def test_large_frames(heddle, tmp_path, out):
    sizes = [1514, 1515, 2048, 2049, 9000, 9014, 16000, 65000, 65407, 65408, 65535, 100000, 60]
    source = captures.write(tmp_path / "in.pcap", [bytes([n]) * size for n, size in enumerate(sizes)])
    chain = f"FromDump({quoted(source)}) -> ToDump({quoted(tmp_path / 'out')}, FORMAT {out})"
    report = heddle.run(chain)
    fits = [p for p in captures.read(source) if len(p.data) <= 65407]
    assert captures.read(tmp_path / "out") == fits
    assert report.one("FromDump")["statistics"]["too_long"] == len(sizes) - len(fits)
    assert report.received == len(fits)


def test_more_large_frames_than_buffers(heddle, tmp_path):
    source = captures.write(tmp_path / "in.pcap", [n.to_bytes(2, "big") * 5000 for n in range(1500)])
    assert copy(heddle, source, tmp_path / "out.pcap") == captures.read(source)


def test_no_packets_is_no_error(heddle, tmp_path, mode):
    for name, write in (("in.pcap", captures.pcap), ("in.pcapng", captures.pcapng)):
        (tmp_path / name).write_bytes(write([]))
        out = tmp_path / f"out_{name}"
        report = heddle.run(f"FromDump({quoted(tmp_path / name)}) -> EtherMirror -> ToDump({quoted(out)})", *mode)
        assert report.received == 0 and captures.read(out) == []


@pytest.mark.parametrize("source", sorted((CHAINS / "captures").glob("*.pcap")), ids=lambda path: path.stem)
@pytest.mark.parametrize("out", ["pcap", "pcapng"])
def test_captures_of_real_programs(heddle, tmp_path, source, out):
    packets = captures.read(source)
    assert len(packets) > 20
    assert copy(heddle, source, tmp_path / f"out.{out}") == packets


def test_force_ip_reads_other_link_types(heddle, tmp_path):
    """Raw IP, Linux cooked and loopback captures, with Scapy's view of the packets."""
    packets = [bytes(IP(src="10.0.0.1", dst=f"10.2.0.{n}") / UDP(sport=n, dport=7) / Raw(b"x" * n)) for n in range(9)]
    vlan = bytes.fromhex("020000000002020000000001") + bytes.fromhex("8100000581000006 0800".replace(" ", ""))
    for link, header in ((101, b""), (113, bytes(14) + b"\x08\x00"), (0, b"\x02\0\0\0"), (1, vlan)):
        source = tmp_path / f"{link}.pcap"
        odd = (
            [header[:-2] + b"\x86\xdd" + packets[0], header + b"\x45" + bytes(10)]
            if link in (1, 113)
            else [b"\x60" * 60]
        )
        frames = [header + data for data in packets]
        source.write_bytes(captures.pcap(packets_of([*frames, *odd]), link=link))
        chain = (
            f"f :: FromDump({quoted(source)}, FORCE_IP true) -> ToDump({quoted(tmp_path / 'out')}, USE_ENCAP_FROM f)"
        )
        report = heddle.run(chain)
        assert captures.frames(tmp_path / "out") == frames, link
        assert report.one("f")["statistics"]["not_ip"] == len(odd)
        assert (tmp_path / "out").read_bytes()[20:24] == link.to_bytes(4, "little")
        result = heddle.ok(
            "run",
            "--quiet",
            "-e",
            f"FromDump({quoted(source)}, FORCE_IP true) -> ToIPSummaryDump(-, HEADER false,"
            " FIELDS ip_src ip_dst sport dport ip_proto payload_len)",
        )
        expected = [f"10.0.0.1 10.2.0.{n} {n} 7 U {n}" for n in range(9)]
        assert result.out.splitlines() == expected


@pytest.mark.parametrize("name", ["tcpdump_eth", "zeek_sample_10000"])
@pytest.mark.parametrize("out", ["pcap", "pcapng"])
def test_copies_real_captures(heddle, test_data, tmp_path, name, out):
    source = test_data / "pcap" / f"{name}.pcap"
    assert copy(heddle, source, tmp_path / f"out.{out}") == captures.read(source)


# ---- pipes


@pytest.mark.parametrize("write", [captures.pcap, captures.pcapng], ids=["pcap", "pcapng"])
def test_standard_input_and_output(heddle, tmp_path, write):
    packets = [p._replace(data=oracles.mirrored(p.data)) for p in captures.read(TRAFFIC)]
    result = heddle.ok(
        "run", "--quiet", "-e", "FromDump(-) -> EtherMirror -> ToDump(-)", input=write(captures.read(TRAFFIC))
    )
    out = tmp_path / "out.pcap"
    out.write_bytes(result.raw)
    assert captures.read(out) == packets


def test_two_programs_in_a_pipe(heddle, tmp_path):
    out = tmp_path / "out.pcap"
    first = heddle.command(["run", "--quiet", "-e", f"FromDump({TRAFFIC}) -> EtherMirror -> ToDump(-)"])
    second = heddle.command(["run", "--quiet", "-e", f"FromDump(-) -> EtherMirror -> ToDump({quoted(out)})"])
    with subprocess.Popen(first, stdout=subprocess.PIPE, cwd=CHAINS.parent) as left:
        right = subprocess.run(second, stdin=left.stdout, timeout=120, check=False)
    assert (left.returncode, right.returncode) == (0, 0)
    assert captures.read(out) == captures.read(TRAFFIC)


def test_a_pipe_sees_packets_while_it_is_open(heddle):
    chain = "FromDump(-) -> ToDump(-)"
    data = captures.pcap(packets_of([b"first frame of some length", b"second"]))
    with heddle.start("run", "--quiet", "-e", chain, stdin=subprocess.PIPE) as running:
        running.process.stdin.write(data)
        running.process.stdin.flush()
        expected = captures.pcap(packets_of([b"first frame of some length"]), nano=True)
        got = running.process.stdout.read(len(expected))  # hangs when nothing is flushed; the pipe stays open
        assert got[40:] == expected[40:]


# ---- text


@pytest.mark.parametrize("sequence_numbers", ["relative", "absolute"])
@pytest.mark.parametrize("name", sorted(path.stem for path in (CHAINS / "captures").glob("*.pcap")))
def test_what_tcpdump_prints_is_read(heddle, tmp_path, name, sequence_numbers):
    source, text = CHAINS / f"captures/{name}.pcap", tmp_path / "text"
    options = ["-S"] if sequence_numbers == "absolute" else []
    printed = subprocess.run(
        ["tcpdump", "-tt", "-n", *options, "-r", source], capture_output=True, text=True, check=True, timeout=60
    )
    text.write_text(printed.stdout)
    fields = (
        "timestamp ip_src sport ip_dst dport ip_proto tcp_flags tcp_seq tcp_ack tcp_win tcp_opt payload_len icmp_type"
        " icmp_flowid icmp_seq"
    )
    out = f"IPClassifier(tcp or udp or icmp type echo or icmp type echo-reply) -> ToIPSummaryDump(-, FIELDS {fields})"
    wanted = heddle.ok("run", "--quiet", "-e", f"FromDump({quoted(source)}, FORCE_IP true) -> {out}").out
    assert wanted.count("\n") > 10
    assert heddle.ok("run", "--quiet", "-e", f"FromTcpdump({quoted(text)}) -> {out}").out == wanted
