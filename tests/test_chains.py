"""The chains of chains/: they run on every backend with equal results, and do what they say."""

import os

import pytest
from whole import captures, oracles
from whole.program import CHAINS, MODES, ROOT, Report

TRAFFIC = CHAINS / "traffic.pcap"
FILES = sorted(path.stem for path in CHAINS.glob("*.click"))
WITH_CAPTURE = [name for name in FILES if name != "bounce"]


def run_chain(heddle, name, folder, *options):
    folder.mkdir(exist_ok=True)
    args = ["run", "--json", CHAINS / f"{name}.click", f"OUT={folder / name}", *options]
    return Report(heddle.ok(*args).json), {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def ran(heddle, tmp_path):
    return lambda name, *options: run_chain(heddle, name, tmp_path / "out", *options)


def test_there_are_chains():
    assert {"demo", "split", "xor", "bounce"} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_check_accepts(heddle, name):
    assert heddle.ok("check", "--json", CHAINS / f"{name}.click").json["ok"] is True


@pytest.mark.parametrize("name", FILES)
def test_header_says_how_to_run(name):
    assert f"heddle run chains/{name}.click" in (CHAINS / f"{name}.click").read_text()


@pytest.mark.parametrize("name", WITH_CAPTURE)
def test_same_bytes_on_every_backend(heddle, name, tmp_path):
    reports, files = {}, {}
    for label, options in MODES.items():
        reports[label], files[label] = run_chain(heddle, name, tmp_path / label, *options)
        reports[label].assert_accounted() if name != "xor" else None  # Tee makes packets
    assert files["cpu"] and all(files["cpu"].values())
    for label in MODES:
        assert files[label] == files["cpu"], label
        assert reports[label].received == reports["cpu"].received
        assert [e["drops"] for e in reports[label].all["elements"]] == [
            e["drops"] for e in reports["cpu"].all["elements"]
        ]


@pytest.mark.parametrize("name", ["demo", "xor"])
def test_functions_run_where_they_were_told(ran, name):
    report, _ = ran(name, "--device", "simt")
    assert report.all["device"].startswith("simt")
    for function in ("EtherMirror", "DirectIPLookup", "XOR"):
        assert {e["processor"] for e in report.elements(function)} <= {"simt"}
    report, _ = ran(name)
    assert report.all["device"] == ""
    assert {e["processor"] for e in report.all["elements"]} == {"cpu"}


@pytest.mark.parametrize("options", [*MODES.values(), ["--device", "simt", "--slots", "1"]])
def test_demo_routes_and_mirrors(ran, tmp_path, options):
    report, _ = ran("demo", *options)
    routes = oracles.Routes((CHAINS / "routes.txt").read_text().splitlines())
    expected = [[], [], []]
    invalid = 0
    for packet in captures.read(TRAFFIC):
        if not oracles.valid_for_scapy(packet.data):
            invalid += 1
            continue
        frame = oracles.valid_frame(packet.data)
        output = routes.output(oracles.destination(frame))
        expected[output].append(packet._replace(data=oracles.mirrored(frame) if output == 0 else frame))
    assert invalid > 0 and all(len(packets) > 500 for packets in expected)
    for name, packets in zip(("inside.pcap", "servers.pcap", "others.pcapng"), expected):
        assert captures.read(tmp_path / "out" / f"demo_{name}") == packets
    assert report.received == len(captures.read(TRAFFIC))
    assert report.dropped == sum(report.drops("CheckIPHeader").values()) == invalid
    assert report.count("inside") == len(expected[0])


def test_demo_runs_as_the_readme_says(heddle):
    if not os.access(ROOT / "build", os.W_OK):
        pytest.skip("needs a build folder that it may write to")
    table = heddle.ok("run", "chains/demo.click").out
    assert "received" in table and "DirectIPLookup" in table
    assert captures.frames(ROOT / "build/demo_inside.pcap")


def test_split_sorts_by_protocol(ran, tmp_path):
    report, _ = ran("split")
    parts = {"tcp": [], "udp": [], "icmp": [], "arp": [], "rest": []}
    for packet in captures.read(TRAFFIC):
        parts[protocol(packet.data)].append(packet)
    for name, packets in parts.items():
        assert packets, f"the recording has no {name}"
        assert captures.read(tmp_path / "out" / f"split_{name}.pcap") == packets
        assert report.count(name) == len(packets)
    assert report.dropped == 0


def protocol(frame):
    if frame[12:14] == b"\x08\x06":
        return "arp"
    if frame[12:14] != b"\x08\x00":
        return "rest"
    return {6: "tcp", 17: "udp", 1: "icmp"}.get(frame[23], "rest")


def test_xor_twice_gives_the_input_back(ran, tmp_path, mode):
    ran("xor", *mode)
    packets = captures.read(TRAFFIC)
    assert captures.read(tmp_path / "out/xor_back.pcap") == packets
    changed = [packet._replace(data=bytes(byte ^ 165 for byte in packet.data)) for packet in packets]
    assert captures.read(tmp_path / "out/xor_changed.pcap") == changed


def test_bounce(heddle, mode):
    report = Report(heddle.ok("run", "--json", "chains/bounce.click", "--time", "0.3", *mode).json)
    assert report.received > 1000
    assert report.count("frames") == report.received
    report.assert_accounted()
