"""Wrong captures, wrong configurations, wrong surroundings: a clear error and exit code 1, or packets dropped and
counted; never a crash, never silence."""

import json
import os
import re
import signal
import struct
import subprocess
import time
import zipfile

import pytest
from scapy.all import IP, UDP, Ether, Raw
from whole import captures, oracles
from whole.program import CHAINS, Report, quoted

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


def through_every_element(heddle, source, folder, *mode):
    outs = [folder / "one.pcap", folder / "two.pcap"]
    return heddle("run", "--json", "-e", EVERY_ELEMENT % (quoted(source), *map(quoted, outs)), *mode), outs


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


def test_output_is_the_input(heddle, tmp_path):
    source = tmp_path / "in.pcap"
    source.write_bytes(TRAFFIC.read_bytes())
    heddle.fails("run", "-e", f"FromDump({quoted(source)}) -> ToDump({quoted(source)})")
    assert source.read_bytes() == TRAFFIC.read_bytes()


def test_full_disk(heddle, mode):
    result = heddle("run", "--json", "-e", f"FromDump({TRAFFIC}) -> XOR -> ToDump(/dev/full)", *mode)
    assert result.code == 1 and "No space left" in result.err, result
    report = Report(result.json)
    assert report.received == len(captures.read(TRAFFIC)) and report.problems


def test_closed_pipe(heddle, tmp_path):
    source = captures.write(tmp_path / "in.pcap", [bytes(1000)] * 5000)
    args = ["run", "--quiet", "-e", f"FromDump({quoted(source)}) -> ToDump(-)"]
    with heddle.start(*args) as running:
        running.process.stdout.close()
        assert running.process.wait(20) == 1
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


@pytest.mark.parametrize("size", [0, 13])
def test_only_tiny_frames(heddle, tmp_path, mode, size):
    source = captures.write(tmp_path / "in.pcap", [bytes(size)] * 100)
    result, outs = through_every_element(heddle, source, tmp_path, *mode)
    assert result.code == 0, result
    assert captures.frames(outs[0]) == captures.frames(outs[1]) == []


def assert_survives(heddle, source, folder, mode):
    """Works or says what is wrong; packets that Scapy sees as well are all there."""
    result, _ = through_every_element(heddle, source, folder, *mode)
    assert result.code in (0, 1), result
    if result.code == 1:
        assert re.search(r"heddle: .*\n", result.err), result
    if result.out:
        assert Report(result.json).received >= 0


def test_hostile_captures(heddle, test_data, tmp_path, mode):
    files = sorted((test_data / "hostile").glob("*/*"))
    assert len(files) > 40
    for source in files if mode == ["--device", "cpu"] else files[::4]:
        assert_survives(heddle, source, tmp_path, mode)


def test_hostile_packets(heddle, test_data, tmp_path, mode):
    """Packets that broke other parsers, as frames and as what follows an Ethernet header."""
    frames = []
    for archive in sorted((test_data / "hostile").glob("*.zip")):
        with zipfile.ZipFile(archive) as content:
            frames += [content.read(name)[:60000] for name in content.namelist()]
    assert frames
    frames += [bytes(12) + b"\x08\x00" + data for data in frames]
    assert_survives(heddle, captures.write(tmp_path / "in.pcap", frames), tmp_path, mode)


def test_damaged_captures(heddle, tmp_path):
    """A capture with one byte changed at a time, in its headers and first records."""
    data = captures.pcapng(captures.read(TRAFFIC)[:3])
    for at in range(0, 120, 3):
        source = tmp_path / "in"
        source.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        assert_survives(heddle, source, tmp_path, ["--device", "cpu"])


# ---- configurations


def mistakes(heddle, chain, *args):
    """The error lines as (line, column, message)."""
    err = heddle.fails("check", "-f", "-", *args, input=chain.encode())
    lines = err.splitlines()
    found = [re.fullmatch(r"-:(\d+):(\d+): (.*)", line) for line in lines[:-1]]
    assert all(found), err
    assert re.fullmatch(rf"heddle: {len(found)} mistakes? in the chain; nothing was started", lines[-1]), err
    return [(int(m[1]), int(m[2]), m[3]) for m in found]


def test_all_mistakes_at_once(heddle):
    chain = (
        "in :: FromDump(a.pcap, BRUST 5);\n"
        "in -> Conter -> b :: Strip(abc)\n"
        "   -> c :: Classifier(12/08, xx/11);\n"
        "c[0] -> Discrad;\n"
        "c[1] -> d :: DirectIPLookup(10.0.0.0/33 0, 11.0.0.0/8 7);\n"
        "d[0] -> Discard; d[2] -> Discard;\n"
    )
    found = mistakes(heddle, chain)
    for line, words in (
        (1, ["BRUST", "BURST"]),
        (2, ["Conter", "Counter"]),
        (2, ["LENGTH", "abc", "16384"]),
        (3, ["Classifier 'c'", "xx/11"]),
        (4, ["Discrad", "Discard"]),
        (5, ["10.0.0.0/33 0"]),
        (5, ["11.0.0.0/8 7", "0 to 2"]),
        (5, ["output port 1 is not connected"]),
    ):
        assert any(at == line and all(w in text for w in words) for at, _, text in found), (line, words, found)
    assert len(found) == 8, found
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("Discrad", "Discard"), ("FromDupm", "FromDump"), ("EtherMirorr", "EtherMirror"), ("Classfier", "Classifier")],
)
def test_nearest_name(heddle, wrong, nearest):
    chain = f"FromDump(x) -> {wrong}"
    assert (1, 16, f"unknown element class '{wrong}'; did you mean '{nearest}'?") in mistakes(heddle, chain)
    assert f"did you mean '{nearest}'?" in heddle.fails("elements", wrong)


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ("FromDump(x) -> c :: CheckIPHeader(14)", ["'c'", "output port 0", "c[0] -> Discard"]),
        ("FromDump(x)", ["output port 0 is not connected"]),
        ("Discard", ["input port 0 is not connected"]),
        ("FromDump(x) -> t :: Tee(3); t[0] -> Discard; t[1] -> Discard", ["Tee 't'", "2"]),
        ("FromDump(x) -> [1] Discard", ["input port 1"]),
        ("FromDump(x) -> a :: Counter -> Discard; a -> Discard", ["connected twice", "Tee"]),
        ("FromDump(x) -> c :: Classifier(-); c[0] -> Discard; c[1] -> Discard", ["no output port 1"]),
        ("FromDump(x) -> [300] Discard", ["256"]),
        ("a :: Counter -> b :: Counter -> a", ["cycle"]),
        ("// nothing", ["no source"]),
        ("FromDump(x) -> Discard; ; ->", ["unexpected"]),
        ("FromDump(x", [")"]),
        ("FromDump($X) -> Discard", ["$X"]),
    ],
)
def test_wiring(heddle, chain, words):
    err = heddle.fails("check", "-e", chain)
    assert all(word in err for word in words), err


BAD_ARGUMENTS = {
    "AddressInfo": ["host", "host 10.0.0", "host 10.0.0.256", "host 1.2.3.4 0:1:2:3:4:g"],
    "AverageCounter": ["x", "-1", "0, 2", "MAX -1", "0, true, 3"],
    "CPUPaint": ["21", "PAINT, 1"],
    "CPUSwitch": ["1"],
    "CheckCRC32": ["1", "VARIANT crc", "DEVICE 7", "BLOCKING x"],
    "CheckIPHeader": [
        "-1",
        "x",
        "16385",
        "14, BADSRC 1.2.3",
        "14, CHECKSUM maybe",
        "14, 15",
        "14, NONE 1",
        "14, INTERFACES 1.2.3.4",
    ],
    "Classifier": ["", "12", "12/", "12/0", "12/zz", "-1/00", "12/0800%ff", "12/08 x", "99999/00"],
    "Counter": ["1", "A 1"],
    "DirectIPLookup": ["x", "1.2.3.4/8 0", "10.0.0.0/8", "10.0.0.0/8 1", "10.0.0.0/8 x 0", "FILE none", "0/0 -1"],
    "DecIPTTL": ["1", "ACTIVE 2", "MULTICAST x"],
    "Discard": ["1", "ACTIVE 2", "BURST -1"],
    "EtherEncap": [
        "",
        "0x800",
        "x, 1:2:3:4:5:6, 1:2:3:4:5:6",
        "65536, 1:2:3:4:5:6, 1:2:3:4:5:6",
        "1, 1:2:3:4:5, 1:2:3:4:5:6",
    ],
    "EtherMirror": ["1", "DEVICE fpga", "BLOCKING perhaps"],
    "EtherRewrite": ["", "1:2:3:4:5:6", "1:2:3:4:5:6, 1:2:3:4:5:g", "1:2:3:4:5:6, 1:2:3:4:5:6, 1"],
    "GetIPAddress": ["", "x", "-1", "16385", "1, 2"],
    "LinearIPLookup": ["x", "1.2.3.4/8 0", "10.0.0.0/8 1", "10.0.0.0/8 x 0", "FILE none"],
    "RadixIPLookup": ["x", "1.2.3.4/8 0", "10.0.0.0/8 1", "10.0.0.0/8 x 0", "FILE none"],
    "HashSwitch": ["", "0", "0, 0", "x, 1", "-1, 1", "0, 16385", "0, 1, 2"],
    "IPClassifier": ["", "tcp port", "ip proto nonsense", "10.0.0", "src port 65536", "tcp or", "ip[0:5] 1", "-, -"],
    "IPFilter": ["", "tcp", "allow tcp port", "1 all", "permit all", "-1 all", "deny ip vers 16"],
    "Idle": ["1", "ACTIVE false"],
    "IPPrint": ["a, b", "CONTENTS 7", "MAXLENGTH -2", "CONTENTS HEX, PAYLOAD HEX", "TTL 2"],
    "MarkIPHeader": ["-1", "x", "16385", "1, 2"],
    "MinBatch": ["0", "x", "1, x", "1, -2", "1, 1, 1"],
    "Null": ["1"],
    "Paint": ["", "256", "-1", "1, 21", "1, PAINT, 1"],
    "PaintSwitch": ["21", "PAINT, 1"],
    "Pipeliner": ["0", "-1", "x", "1048577", "1, 2", "SIZE 0", "BLOCKING x"],
    "Print": ["a, x", "a, -2", "a, 65536", "CONTENTS 7", "a, 1, 2"],
    "Queue": ["0", "-1", "x", "1048577", "1, 2", "CAPACITY x"],
    "RoundRobinSwitch": ["1"],
    "SetCRC32": ["1", "VARIANT crc", "DEVICE 7", "BLOCKING x"],
    "SetIPChecksum": ["1"],
    "StaticSwitch": ["", "x", "0, 1"],
    "Strip": ["", "x", "-1", "16385", "1, 2"],
    "Switch": ["x", "1", "0, 1"],
    "Tee": ["0", "x", "2", "257"],
    "Truncate": ["", "-1", "x", "65536", "1, 2", "1, EXTRA_LENGTH 2"],
    "Unqueue": ["x", "1.5", "1, 2", "ACTIVE 2", "LIMIT x"],
    "Unstrip": ["", "x", "-1", "129"],
    "XOR": ["-1", "256", "x", "1, 2", "DEVICE 7"],
}
SOURCES = {"FastUDPFlows", "InfiniteSource", "RatedSource"}
FLOWS = "0, -1, %s, 2:0:0:0:0:1, 10.0.0.1, %s, 10.0.0.2, 4, %s"
BAD_ENDS = {
    "DPDKInfo": ["1", "x", "MBUF_SIZE 1", "MBUF_CACHE_SIZE 513", "NOPE 1", "1000, 2"],
    "FastUDPFlows": [
        "",
        "1, 2",
        FLOWS % (59, "2:0:0:0:0:2", -1),
        FLOWS % (60, "2:0", -1),
        FLOWS % (60, "2:0:0:0:0:2", "x"),
    ],
    "FromDPDKDevice": ["", "eth0", "net_null0, BURST 0", "net_null0, BURST 1025", "net_null0, NDESC 1", "1, x"],
    "FromDevice": ["", "a/b", "eth0, METHOD x", "eth0, SNIFFER false", "eth0, SNAPLEN 1", "eth0, MTU 9217", "eth0, 1"],
    "FromDump": [
        "",
        "x, BURST 0",
        "x, BURST 16385",
        "x, STOP 9",
        "x, y",
        "x, TIMING no way",
        "x, SAMPLE 2",
        "x, END soon",
    ],
    "FromIPSummaryDump": ["", "x, CONTENTS y", "x, PROTO 256", "x, SAMPLE -1", "x, CHECKSUM 2", "x, y"],
    "InfiniteSource": ["a, x", "a, 1, 0", "a, 1, 1, 2", "LENGTH 65408", "LENGTH -2", "BURST 0", "a, 1, 1, true, 1"],
    "RatedSource": ["a, -1", "a, x", "BANDWIDTH fast", "LENGTH 70000", "a, 1, x", "a, 1, 1, 2"],
    "ToDPDKDevice": ["", "eth0", "net_null0, NDESC x", "net_null0, BLOCKING 3"],
    "ToDevice": ["", "a/b", "eth0, METHOD x", "eth0, NDESC 1", "eth0, 1"],
    "ToDump": ["", "x, SNAPLEN -1", "x, SNAPLEN 262145", "x, NANO 3", "x, FORMAT gif", "x, y", "x, ENCAP TOKEN"],
    "ToIPSummaryDump": ["", "x, FIELDS y", "x, HEADER 2", "x, y", "x, FIELDS ip_src ip_nonsense"],
}


# Elements without ports.
BAD_ALONE = {
    "AddressInfo": ["x 1.2.3.4.5"],
    "ControlSocket": [
        "",
        "tcp",
        "tcp, 0",
        "tcp, x",
        "unix",
        'unix, ""',
        "pipe, 1",
        "tcp, 7777, RETRIES x",
        "tcp, 1, 2",
    ],
    "DriverManager": ["bogus", "wait x", "pause -1", "goto nowhere", "stop 1", "TYPE SIGNAL"],
    "Script": [
        "bogus 1",
        "set",
        "set x",
        "label",
        "label a b",
        "goto",
        "write",
        "read",
        "save x",
        "loop 1",
        "TYPE PACKET",
    ],
    "StaticThreadSched": ["nobody 0", "sink", "sink x", "sink -1", "sink 128", "sink 0 0"],
}


def second_name(element):
    """Whether it is another name of a class, such as CounterMP of Counter, whose manual says so."""
    name, title = element["name"], element["manual"].split(": ")[0]
    return title != name and re.search(rf"\b{name}\b", element["manual"]) is not None


def test_bad_arguments_cover_every_element(heddle):
    elements = heddle.ok("elements", "--json").json
    names = {element["name"] for element in elements if not second_name(element)}
    assert names == {*BAD_ARGUMENTS, *BAD_ENDS, *BAD_ALONE}


@pytest.mark.parametrize("element", [*BAD_ARGUMENTS, *BAD_ENDS])
def test_bad_arguments(heddle, element):
    for arguments in (BAD_ARGUMENTS | BAD_ENDS)[element]:
        it = f"\n x :: {element}({arguments})"
        before = "" if element.startswith("From") or element in SOURCES else "FromDump(a) ->"
        after = "" if element.startswith("To") or element == "Discard" else "-> Discard"
        found = mistakes(heddle, f"{before} {it} {after}")
        assert found[0][0] == 2, (arguments, found)
        assert f"{element} 'x'" in found[0][2], (arguments, found)


@pytest.mark.parametrize("element", BAD_ALONE)
def test_bad_arguments_without_ports(heddle, element):
    for arguments in BAD_ALONE[element]:
        found = mistakes(heddle, f"FromDump(a) -> sink :: Discard;\n x :: {element}({arguments})")
        assert found[0][0] == 2, (arguments, found)
        assert f"{element} 'x'" in found[0][2], (arguments, found)


def test_route_file_with_errors_names_each_line(heddle, tmp_path):
    routes = tmp_path / "routes"
    bad = {2: "10.0.0.0/40 0", 4: "hello", 5: "10.1.2.3/8 0", 7: "10.0.0.0/8 1.2.3 0", 9: "10.0.0.0/8 -3"}
    lines = [bad.get(n, f"10.{n}.0.0/16 0") for n in range(1, 12)]
    routes.write_text("\n".join(lines))
    chain = f"FromDump(x) -> GetIPAddress(30) -> DirectIPLookup(FILE {quoted(routes)}) -> Discard"
    for args in (["routes", routes], ["check", "-e", chain]):
        err = heddle.fails(*args)
        found = re.findall(rf"{re.escape(str(routes))}:(\d+): '(.*)' is not a route: (.+)", err)
        assert {int(number): text for number, text, _ in found} == bad, err
    assert "nowhere" in heddle.fails("routes", "nowhere")
    assert "directory" in heddle.fails("routes", tmp_path).lower()
    assert "1.2.3" in heddle.fails("routes", CHAINS / "routes.txt", "1.2.3")


def test_route_file_with_outputs_out_of_range(heddle, tmp_path):
    (tmp_path / "routes").write_text("10.0.0.0/8 0\n11.0.0.0/8 1\n12.0.0.0/8 4294967295\n")
    chain = f"FromDump(x) -> GetIPAddress(30) -> DirectIPLookup(FILE {quoted(tmp_path / 'routes')}) -> Discard"
    err = heddle.fails("check", "-e", chain)
    assert "11.0.0.0/8" in err and "12.0.0.0/8" in err and "output 1 is not connected" in err


def test_function_that_needs_an_annotation(heddle):
    assert "dst" in heddle.fails("check", "-e", "FromDump(x) -> DirectIPLookup(0/0 0) -> Discard")


# ---- devices


def has_gpu(heddle):
    return bool(heddle.ok("gpus", "--json").json["gpus"])


def test_gpu_that_is_not_there(heddle):
    if has_gpu(heddle):
        pytest.skip("this machine has a GPU")
    chain = f"FromDump({TRAFFIC}) -> EtherMirror%s -> Discard"
    for args in (["-e", chain % "(DEVICE gpu)"], ["-e", chain % "", "--device", "gpu"]):
        result = heddle("run", "--json", *args)
        assert result.code == 1 and "no GPU" in result.err and result.out == "", result
    assert "gpu7" in heddle.fails("run", "-e", chain % "", "--device", "gpu7")
    assert "no GPU" in heddle.ok("gpus").out


@pytest.mark.parametrize("device", ["nonsense", "gpux", "GPU", "", "gpu-1", "simt0"])
def test_nonsense_devices(heddle, device):
    err = heddle.fails("run", "-e", f"FromDump({TRAFFIC}) -> EtherMirror -> Discard", "--device", device)
    assert f"'{device}'" in err and "simt" in err


def test_dpdk_devices_that_do_not_exist(heddle):
    for device in ("net_nonsense0", "7", "0000:ff:1f.7", "net_af_packet0,iface=nosuchif0"):
        err = heddle.fails("run", "-e", f'FromDPDKDevice("{device}") -> Discard', "--time", "1")
        assert device.split(",")[0] in err, err


def test_command_line_mistakes(heddle):
    chain = "FromDPDKDevice(net_null0) -> Discard"
    for args in (
        [],
        ["walk"],
        ["run", "-e", chain, "--launch", "soon"],
        ["run", "-e", chain, "-j", "0"],
        ["run", "-e", chain, "--time", "-1"],
        ["run", "-e", chain, "--bogus"],
        ["run", "-e", chain, "nonsense"],
        ["run", "-e", chain, "-f", "x"],
    ):
        result = heddle(*args)
        assert result.code not in (0, 99) and 0 < result.code < 128, result
        assert result.err or result.out, result


# ---- answers for programs


def test_json_answers_parse(heddle, mode):
    chain = f"FromDump({TRAFFIC}) -> c :: CheckIPHeader(14) -> DirectIPLookup(0.0.0.0/0 0) -> ToDump(/dev/null)"
    report = heddle.ok("run", "--json", "-e", chain, *mode).json
    assert {"elements", "received", "dropped", "wall_s", "cpu_s", "device", "problems"} <= set(report)
    assert report["elements"][0]["class"] == "FromDump" and report["wall_s"] > 0
    assert heddle.ok("check", "--json", "-e", chain, *mode).json["elements"] == 4
    segments = heddle.ok("plan", "--json", "-e", chain, *mode).json["segments"]
    assert next(e["class"] for s in segments for e in s["elements"]) == "FromDump"
    assert {s["processor"] for s in segments} == ({"cpu"} if "cpu" in mode else {"cpu", "simt"})
    assert isinstance(heddle.ok("gpus", "--json").json["gpus"], list)
    routes = heddle.ok("routes", "--json", CHAINS / "routes.txt", "10.2.64.1", "8.8.8.8").json
    assert routes["routes"] == 7
    assert routes["lookups"] == [
        {"address": "10.2.64.1", "route": True, "output": 1, "gateway": "10.2.0.254"},
        {"address": "8.8.8.8", "route": False},
    ]


def test_names_that_json_must_quote(heddle, tmp_path):
    source = captures.write(tmp_path / 'in "quoted"\\é.pcap', [b"x" * 60])
    data = heddle.ok("run", "--json", "-e", f"FromDump({quoted(source)}) -> Discard").json
    assert json.dumps(data) and data["received"] == 1
    source.write_bytes(source.read_bytes()[:-1])
    result = heddle("run", "--json", "-e", f"FromDump({quoted(source)}) -> Discard")
    assert result.code == 1 and result.json["problems"]
    odd = os.fsencode(tmp_path) + b"/\xff.pcap"  # not UTF-8
    with open(odd, "wb") as file:
        file.write(source.read_bytes())
    done = subprocess.run(
        [os.fsencode(heddle.path), b"run", b"--json", b"-e", b'FromDump("' + odd + b'") -> Discard'],
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1 and json.loads(done.stdout.decode(errors="replace"))["problems"], done


def test_every_element_has_a_manual_with_an_example_that_passes(heddle, tmp_path):
    captures.write(tmp_path / "in.pcap", [])
    elements = heddle.ok("elements", "--json").json
    assert len(elements) >= 16
    for element in elements:
        name, manual = element["name"], element["manual"]
        if second_name(element):
            continue
        assert manual.startswith(f"{name}: "), name
        assert heddle.ok("elements", name).out == manual
        assert re.search(rf"^\s+{name}", manual, re.MULTILINE), f"{name}: no synopsis"
        parts = re.split(r"^\s*Example.*:$", manual, flags=re.MULTILINE)
        if len(parts) == 1 and name == "Discard":
            continue
        assert len(parts) == 2, f"{name}: no example"
        check_example(heddle, name, parts[1], tmp_path)


def check_example(heddle, name, text, folder):
    outputs = "" if "rt ::" not in text or "rt[" in text else "rt[0] -> Discard; rt[1] -> Discard;"
    result = heddle("check", "-e", text + outputs, cwd=folder)
    assert result.code == 0, f"{name}\n{result}"


def test_full_disk_of_a_summary(heddle):
    result = heddle(
        "run", "--json", "-e", f"FromDump({TRAFFIC}, FORCE_IP true) -> ToIPSummaryDump(/dev/full, UNBUFFERED true)"
    )
    assert result.code == 1 and "No space left on device" in result.err
    report = Report(result.json)
    assert report.drops("ToIPSummaryDump")["write_failed"] > 0
    report.assert_accounted()


def test_closed_pipe_of_a_summary(heddle):
    chain = "InfiniteSource(LENGTH 60, BURST 64) -> ToIPSummaryDump(-, FIELDS timestamp wire_len)"
    with heddle.start("run", "--quiet", "-e", chain) as running:
        running.process.stdout.read(1000)
        running.process.stdout.close()
        time.sleep(0.3)
        assert running.alive()
        running.signal(signal.SIGINT)
        assert running.process.wait(10) == 1
        assert b"Broken pipe" in running.process.stderr.read()
        running.process.stdout = None
