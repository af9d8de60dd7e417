"""Wrong captures and lying frames: what came before is there, packets are dropped and counted, errors are clear; never
a crash, never silence."""

import os
import random
import re
import struct
import zipfile

import pytest
from scapy.all import IP, UDP, Ether, Raw
from whole import captures, oracles
from whole.program import CHAINS, Report, quoted, wait_until

TRAFFIC = CHAINS / "traffic.pcap"

# Every element that handles packets, in one chain; XOR last, so that it meets what all others left.
EVERY_ELEMENT = (
    "FromDump(%s) -> all :: Counter -> t :: Tee(3); "
    "t[0] -> CheckIPHeader(14) -> rt :: DirectIPLookup(0.0.0.0/1 0, 128.0.0.0/2 1); "
    "rt[0] -> EtherMirror -> ToDump(%s); rt[1] -> Strip(14) -> Unstrip(14) -> XOR -> Discard; "
    "t[1] -> Print(x, -1, ACTIVE false) -> Strip(14) -> GetIPAddress(16) -> r2 :: DirectIPLookup(0.0.0.0/0 0) "
    "-> Unstrip(14) -> XOR -> ToDump(%s); "
    "t[2] -> c :: Classifier(12/0800 23/11, 12/0806 20/0001, 14/4?%%f0 !22/00, -); "
    "c[0] -> EtherMirror -> Discard; c[1] -> XOR -> Discard; c[2] -> CheckIPHeader(14, CHECKSUM false) -> Discard; "
    "c[3] -> CheckIPHeader(0) -> Discard"
)

# Those that parse more than addresses, or keep something of packets: flows, streams, fragments, associations. The
# buckets of RateLimiter never become empty, for packets that are on a GPU together may overtake each other there.
EVERY_STATE = """
FromDump($IN) -> t :: Tee(5);
t[0] -> CheckIPHeader(14, CHECKSUM false) -> flows :: FlowTable(TIMESTAMPS true) -> FlowCounter(flows)
  -> LoadBalancer(flows, 10.0.0.1, 10.0.0.2) -> RateLimiter(flows, 1000000, BURST 65535) -> ids :: NIDS($RULES, STREAM true);
ids[0] -> passed :: ToDump($PASSED);
ids[1] -> judge :: NIDSConfirm(ids, FLOWS flows, EVE $EVE) -> passed;
judge[1] -> stopped :: ToDump($STOPPED);
judge[2] -> answered :: IPClassifier(tcp, -);
answered[0] -> TCPReset -> EtherMirror -> CheckIPHeader(14) -> CheckTCPHeader -> resets :: ToDump($RESETS);
answered[1] -> Discard;
t[1] -> CheckIPHeader(14) -> inner :: FlowTable(TIMESTAMPS true) -> nat :: NAT(inner, 192.0.2.1) -> Discard;
nat[1] -> Discard;
t[2] -> CheckIPHeader(14, CHECKSUM false) -> IPReassembler -> wall :: Firewall(RULES $WALL, DEFAULT allow)
  -> monitor :: NIDS($WATCHED) -> search :: AhoCorasick($PATTERNS) -> small :: IPFragmenter(1400, false) -> Discard;
wall[1] -> ToDump($DENIED);
search[1] -> ToDump($FOUND);
t[3] -> CheckIPHeader(14, CHECKSUM false) -> IPsecSequence(esp) -> esp :: IPsecEncap($KEYS, OFFSET 14)
  -> decap :: IPsecDecap($KEYS, OFFSET 14) -> IPsecReplay(decap) -> ToDump($INNER);
t[4] -> d :: Classifier(12/0800, 12/86dd, -);
d[0] -> IPsecDecap($KEYS, OFFSET 14) -> Discard;
d[1] -> CheckIP6Header(14) -> flows6 :: FlowTable -> watch6 :: NIDS($WATCHED) -> wall6 :: Firewall(RULES $WALL, DEFAULT deny) -> ToDump($ALLOWED6);
d[2] -> Discard;
"""
STATE_FILES = {
    "RULES": """\
alert ip any any -> any any (content:"a"; sid:1;)
drop tcp any any -> any any (content:"|00 00|"; startswith; flow:only_stream; sid:2;)
reject tcp any any -> any any (content:"GET"; flow:to_server; pcre:"/GET [^ ]+/"; sid:3;)
pass udp any any -> any any (content:"|00 01|"; dsize:<40; sid:4;)
reject ip any any -> any any (content:"payload"; endswith; threshold:type both, track by_src, count 2, seconds 9; sid:5;)
""",
    "WATCHED": 'alert ip any any -> any any (content:"|00|"; pcre:"/\\x00.\\x00/s"; sid:1;)\n',
    "PATTERNS": "ip any |00 00|\ntcp any ab\nudp 53 |00|\nicmp any a\n",
    "WALL": """\
@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 1023 0x06/0xFF flags=0x02/0x12 deny
@10.0.0.0/8 10.0.0.0-10.2.0.1 0 : 65535 53 : 65535 0x11/0xFF deny
@::/0 fe80::/10 0 : 65535 0 : 65535 0x00/0x00 allow
@::/0 ::/0 0 : 65535 0 : 9999 0x11/0xFF transport[4/2]=0-99 allow
""",
    "KEYS": """\
src 198.51.100.1 dst 203.0.113.1
\tproto esp spi 0x61626364 mode tunnel
\treplay-window 0 flag esn
\taead rfc4106(gcm(aes)) 0xde300000000000000000000000000000000001de 64
\tanti-replay esn context:
\t seq-hi 0x1, seq 0xfffffff0, oseq-hi 0x1, oseq 0xfffffff0
\t replay_window 64, bitmap-length 2
\t 00000000 00000000
\tsel src 0.0.0.0/0 dst 0.0.0.0/1
src 2001:db8::1 dst 2001:db8::2
\tproto esp spi 0x61626365 mode tunnel
\treplay-window 32
\tauth-trunc hmac(sha1) 0xde300000000000000000000000000000000000de 96
\tenc rfc3686(ctr(aes)) 0xde300000000000000000000000000000000000de
""",
}


def through_every_element(heddle, source, folder, *mode):
    outs = [folder / "one.pcap", folder / "two.pcap"]
    return heddle("run", "--json", "-e", EVERY_ELEMENT % (quoted(source), *map(quoted, outs)), *mode), outs


def through_every_state(heddle, source, folder, *mode):
    """The result, and what came out: frames by output, drops by element, alerts."""
    folder.mkdir(exist_ok=True)
    paths = {"IN": source, "EVE": folder / "eve.json"}
    for name in ("PASSED", "STOPPED", "RESETS", "DENIED", "FOUND", "INNER", "ALLOWED6"):
        paths[name] = folder / f"{name.lower()}.pcap"
    for name, text in STATE_FILES.items():
        paths[name] = folder / name.lower()
        paths[name].write_text(text)
        paths[name].chmod(0o600)
    chain = re.sub(r"\$([A-Z0-9]+)", lambda found: quoted(paths[found[1]]), EVERY_STATE)
    result = heddle("run", "--json", "-e", chain, *mode)
    if not result.out:
        return result, None
    came = {path.stem: captures.frames(path) for path in paths.values() if path.suffix == ".pcap" and path != source}
    came["drops"] = {e["name"]: e["drops"] for e in result.json["elements"] if any(e["drops"].values())}
    came["alerts"] = paths["EVE"].read_text().splitlines()
    return result, came


# ---- captures


@pytest.mark.parametrize("write", [captures.pcap, captures.pcapng], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
def test_truncated_capture_gives_what_came_before(heddle, tmp_path, write, piped):
    packets = captures.read(TRAFFIC)[:50]
    data, out = write(packets), tmp_path / "out.pcap"
    for cut in (1, 3, 20, len(packets[-1].data) + 3):
        source = tmp_path / "in"
        source.write_bytes(data[:-cut])
        name, given = ("-", data[:-cut]) if piped else (quoted(source), b"")
        result = heddle("run", "--json", "-e", f"FromDump({name}) -> ToDump({quoted(out)})", input=given)
        assert result.code == 1, result
        assert "record 50 at byte" in result.err and "ends after" in result.err, result
        assert captures.read(out) == packets[:49]
        assert result.json["problems"] and result.json["received"] == 49


@pytest.mark.parametrize("cut", [1, 4, 23])
def test_truncated_file_header(heddle, tmp_path, cut):
    (tmp_path / "in").write_bytes(captures.pcap([])[:cut])
    err = heddle.fails("run", "-e", f"FromDump({quoted(tmp_path / 'in')}) -> Discard")
    assert "not a capture" in err if cut < 4 else f"ends after {cut}" in err


def test_absurd_record_length(heddle, tmp_path):
    good = captures.pcap(captures.packets_of([b"one", b"two"]))
    (tmp_path / "in").write_bytes(good + struct.pack("<IIII", 0, 0, 0xFFFFFFF0, 60) + bytes(100))
    result = heddle("run", "--json", "-e", f"FromDump({quoted(tmp_path / 'in')}) -> Discard")
    assert result.code == 1 and "4294967280" in result.err and result.json["received"] == 2


@pytest.mark.parametrize("write", [captures.pcap, captures.pcapng], ids=["pcap", "pcapng"])
def test_wrong_link_type(heddle, tmp_path, write):
    (tmp_path / "in").write_bytes(write(captures.packets_of([bytes(40)]), link=101))
    err = heddle.fails("run", "-e", f"FromDump({quoted(tmp_path / 'in')}) -> Discard")
    assert "link type 101" in err and "Ethernet" in err


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"", "empty"),
        (b"\x1f\x8b\x08\x00rest", "gzip"),
        (b"// text\n", "not a capture"),
        (b"\x7fELF....", "not a capture"),
    ],
)
def test_no_capture(heddle, tmp_path, content, hint):
    (tmp_path / "in").write_bytes(content)
    err = heddle.fails("run", "-e", f"FromDump({quoted(tmp_path / 'in')}) -> Discard")
    assert hint in err and "in'" in err
    assert hint in heddle.fails("run", "-e", "FromDump(-) -> Discard", input=content)


def test_missing_file_and_directory(heddle, tmp_path):
    assert "No such file" in heddle.fails("run", "-e", "FromDump(nowhere.pcap) -> Discard")
    assert "directory" in heddle.fails("run", "-e", f"FromDump({quoted(tmp_path)}) -> Discard")
    assert "nowhere.click" in heddle.fails("run", "nowhere.click")
    assert str(tmp_path) in heddle.fails("run", tmp_path)
    assert "chain" in heddle.fails("run")


def test_output_that_cannot_be_created(heddle, tmp_path):
    chain = f"FromDump({TRAFFIC}) -> ToDump(%s)"
    assert "No such file" in heddle.fails("run", "-e", chain % quoted(tmp_path / "no/out.pcap"))
    assert "directory" in heddle.fails("run", "-e", chain % quoted(tmp_path)).lower()


def test_capture_shortened_while_it_is_read(heddle, tmp_path):
    packets = [
        captures.plain(bytes([n % 256]) * 1000)._replace(ns=10**18 + n * 10**7) for n in range(9000)
    ]  # a minute and a half
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    source.write_bytes(captures.pcap(packets))
    chain = f"in :: FromDump({quoted(source)}, TIMING true) -> ToDump({quoted(out)})"
    with heddle.start_ready("run", "--json", "-e", chain) as running:
        wait_until(lambda: running.packets("in") > 20, what="some packets")
        os.truncate(source, 4096)
        result = running.wait()
    assert result.code == 1 and "was shortened while it was read" in result.err, result
    Report(result.json).assert_accounted()
    got = captures.read(out)
    assert 10 < len(got) < 9000 and [p.data for p in got] == [p.data for p in packets[: len(got)]]


@pytest.mark.parametrize("sink", ["ToDump(%s)", "ToIPSummaryDump(%s)", "IPPrint(OUTFILE %s) -> Discard"])
def test_output_is_the_input(heddle, tmp_path, sink):
    source = tmp_path / "in.pcap"
    source.write_bytes(TRAFFIC.read_bytes())
    message = heddle.fails("run", "-e", f"FromDump({quoted(source)}, FORCE_IP true) -> {sink % quoted(source)}")
    assert "it is being read or written; name another file" in message
    assert source.read_bytes() == TRAFFIC.read_bytes()


def test_full_disk(heddle, mode):
    result = heddle("run", "--json", "-e", f"FromDump({TRAFFIC}) -> XOR -> ToDump(/dev/full)", *mode)
    assert result.code == 1 and "No space left" in result.err, result
    report = Report(result.json)
    assert report.received == len(captures.read(TRAFFIC)) and report.problems


def test_problems_at_the_start_name_element_and_place(heddle, tmp_path):
    chain = tmp_path / "chain.click"
    chain.write_text("// a comment\nin :: FromDump(/nonexistent)\n    -> Discard;\n")
    message = heddle.fails("run", chain)
    assert f"heddle: {chain}:2:1: FromDump 'in': cannot read '/nonexistent'" in message
    assert heddle.fails("run", "/dev/null").startswith("/dev/null:1:1: the chain has no source of packets")


def test_closed_pipe(heddle, tmp_path):
    source = captures.write(tmp_path / "in.pcap", [bytes(1000)] * 5000)
    args = ["run", "--quiet", "-e", f"FromDump({quoted(source)}) -> ToDump(-)"]
    with heddle.start(*args) as running:
        running.process.stdout.close()
        assert running.process.wait(60) == 1
        assert b"Broken pipe" in running.process.stderr.read()
        running.process.stdout = None


# ---- frames


def lying_frames():
    """Ethernet frames whose lengths are not what they say, and very short ones."""
    good = bytes(Ether() / IP(src="10.0.0.1", dst="10.2.0.1") / UDP() / Raw(b"some payload"))
    yield from (good[:n] for n in range(len(good) + 1))
    for total in (0, 1, 19, 20, 21, 27, 28, 39, 40, 41, 255, 1500, 32768, 65535):
        yield good[:16] + struct.pack("!H", total) + good[18:]
    for first in range(256):
        header = bytearray(good)
        header[14] = first
        yield bytes(header)
        header[24:26] = b"\0\0"  # the same with a checksum that fits, where there are that many bytes
        size = max(20, (first & 15) * 4)
        if len(header) >= 14 + size:
            header[24:26] = struct.pack("!H", oracles.checksum(bytes(header[14 : 14 + size])))
        yield bytes(header)
    for number in (6, 17, 1, 255):
        yield bytes(Ether() / IP(dst="10.2.0.1", proto=number))


def test_short_and_lying_frames(heddle, tmp_path, mode):
    frames = list(lying_frames())
    source = captures.write(tmp_path / "in.pcap", frames)
    result, outs = through_every_element(heddle, source, tmp_path, *mode)
    assert result.code == 0, result
    valid = [v for v in map(oracles.valid_frame, frames) if v is not None]
    assert captures.frames(outs[0]) == [oracles.mirrored(v) for v in valid if v[30] < 128]
    assert captures.frames(outs[1]) == [bytes(b ^ 0x5A for b in data) for data in frames if len(data) >= 34]
    assert Report(result.json).received == len(frames)
    assert_survives(heddle, source, tmp_path, mode)


@pytest.mark.parametrize("size", [0, 13])
def test_only_tiny_frames(heddle, tmp_path, mode, size):
    source = captures.write(tmp_path / "in.pcap", [bytes(size)] * 100)
    result, outs = through_every_element(heddle, source, tmp_path, *mode)
    assert result.code == 0, result
    assert captures.frames(outs[0]) == captures.frames(outs[1]) == []


def assert_works_or_says_why(result):
    assert result.code in (0, 1), result
    if result.code == 1:
        assert re.search(r"heddle: .*\n", result.err), result
    if result.out:
        assert Report(result.json).received >= 0


def assert_survives(heddle, source, folder, mode):
    """Both chains do, and what elements keep of packets is the same on each processor."""
    assert_works_or_says_why(through_every_element(heddle, source, folder, *mode)[0])
    result, came = through_every_state(heddle, source, folder / "state", *mode)
    assert_works_or_says_why(result)
    if "cpu" not in mode:
        on_cpu, wanted = through_every_state(heddle, source, folder / "state_cpu", "--device", "cpu")
        assert_works_or_says_why(on_cpu)
        assert came == wanted


def test_hostile_captures(heddle, test_data, tmp_path, mode):
    files = sorted((test_data / "hostile").glob("*/*"))
    assert len(files) > 40
    for source in files if mode == ["--device", "cpu"] else files[::4]:
        assert_survives(heddle, source, tmp_path, mode)


def test_hostile_packets(heddle, test_data, tmp_path, mode):
    """Packets that broke other parsers, as frames and as what follows an Ethernet header. Files of Zeek's have several,
    each behind a mark and a byte."""
    files = []
    for archive in sorted((test_data / "hostile").glob("*.zip")):
        with zipfile.ZipFile(archive) as content:
            files += [content.read(name)[:60000] for name in content.namelist()]
    packets = [part[1:] for data in files for part in data.split(b"\x01PKT")[1:]]
    assert len(packets) > len(files) > 0
    frames = files + [bytes(12) + b"\x08\x00" + data for data in files]
    frames += [bytes(12) + (b"\x86\xdd" if data[:1] == b"\x60" else b"\x08\x00") + data for data in packets]
    assert_survives(heddle, captures.write(tmp_path / "in.pcap", frames), tmp_path, mode)


def test_damaged_packets(heddle, tmp_path, mode):
    """Packets of real traffic with bytes of their headers changed, and cut anywhere."""
    numbers = random.Random(7)
    telling = (0, 1, 5, 6, 17, 0x45, 0x4F, 50, 255)

    def damaged(data):
        changed = bytearray(data)
        for _ in range(numbers.choice((0, 1, 1, 2, 4))):
            changed[numbers.randrange(min(len(data), 80))] = numbers.choice((*telling, numbers.randrange(256)))
        return bytes(changed[: numbers.choice((len(data), len(data), numbers.randrange(len(data))))])

    source = tmp_path / "in.pcap"
    packets = [captures.plain(damaged(p.data))._replace(ns=p.ns) for p in captures.read(TRAFFIC) for _ in range(2)]
    source.write_bytes(captures.pcap(packets))
    assert_survives(heddle, source, tmp_path, mode)
    result, came = through_every_state(heddle, source, tmp_path / "state", *mode)
    assert result.code == 0 and Report(result.json).received == len(packets), result
    assert all(came[name] for name in ("passed", "resets", "denied", "found", "inner", "alerts")), came


def test_damaged_captures(heddle, tmp_path):
    """A capture with one byte changed at a time, in its headers and first records."""
    data = captures.pcapng(captures.read(TRAFFIC)[:3])
    for at in range(0, 120, 3):
        source = tmp_path / "in"
        source.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        assert_works_or_says_why(through_every_element(heddle, source, tmp_path, "--device", "cpu")[0])
