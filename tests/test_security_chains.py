"""The chains with firewall, NIDS and IPsec, judged by what their rules say in words of their own."""

import functools
import json
import re

import pytest
from scapy.layers.inet import IP, TCP
from whole import captures, oracles
from whole.chains import TRAFFIC, run_chain
from whole.program import CHAINS

pytestmark = pytest.mark.usefixtures("demonstration_keys")


@functools.cache  # the tests judge the same frames
def ip_of(frame):
    return IP(frame[14:])


@functools.cache
def allowed_by_firewall(frame):
    """What chains/firewall.rules lets through, in words of its own."""
    ip = ip_of(frame)
    source, destination = ip.src.split("."), ip.dst.split(".")
    sport, dport = (ip.sport, ip.dport) if ip.frag == 0 and ip.proto in (6, 17) else (0, 0)
    if ip.proto == 17:
        if dport == 53:
            return source[:2] == ["10", "1"] and ip.dst == "10.1.0.1"
        return sport == 53 and dport >= 1024
    if ip.proto == 6:
        to_server = destination[:2] == ["10", "2"] and dport == 80 and sport >= 1024
        return to_server or (source[:2] == ["10", "2"] and sport == 80 and dport >= 1024)
    return ip.proto == 1 and not (source[0] == "172" and 16 <= int(source[1]) < 32)


@pytest.mark.parametrize("engine", ["bitvector", "acl", "tuple"])
def test_firewall_is_the_same_with_every_engine(heddle, tmp_path, engine):
    _, files = run_chain(heddle, "firewall", tmp_path / "out")
    _, same = run_chain(heddle, "firewall", tmp_path / "engine", f"ENGINE={engine}")
    assert files == same


def test_firewall_lets_through_what_its_rules_allow(ran, tmp_path, mode):
    report, _ = ran("firewall", *mode)
    expected = {"allowed": [], "denied": []}
    for packet in captures.read(TRAFFIC):
        if oracles.valid_for_scapy(packet.data):
            frame = oracles.valid_frame(packet.data)
            expected["allowed" if allowed_by_firewall(frame) else "denied"].append(packet._replace(data=frame))
    for name, packets in expected.items():
        assert len(packets) > 50
        assert captures.read(tmp_path / "out" / f"firewall_{name}.pcap") == packets
        assert report.count(name) == len(packets)


@functools.cache
def alerts_of_nids(frame):
    """The sids of chains/nids.rules that match, in words of its own."""
    ip = ip_of(frame)
    if ip.frag > 0 or ip.proto not in (6, 17):
        return []
    text, sids = bytes(ip.payload.payload), []
    servers = [address.split(".")[:2] in (["10", "2"], ["10", "3"]) for address in (ip.src, ip.dst)]
    web = [port == 80 or 8000 <= port <= 8080 for port in (ip.sport, ip.dport)]
    if ip.proto == 6 and servers[1] and web[1] and re.match(rb"GET .[\s\S]{0,192}HTTP/1\.", text):
        sids.append(1000001)
    if ip.proto == 6 and servers[0] and web[0] and re.match(rb"HTTP/1\.[\s\S][\s\S]{0,2}200", text):
        sids += [] if b"nosniff" in text.lower() else [1000002]
    if ip.proto == 17 and ip.dport == 53 and b"\2w7\7example\3org\0" in text[12:].lower():
        sids.append(1000003)
    if ip.proto == 17 and ip.sport == 53 and len(text) < 100 and re.search(rb"\x03w1[\s\S]\x07example", text):
        sids.append(1000004)
    return sids


@pytest.mark.parametrize("name", ["c1", "c2", "c3", "c4"])
def test_chains_of_gaviss(ran, tmp_path, mode, name):
    """What comes out of the tunnel is what firewall, NIDS and router let through, and alerts are those of the rules."""
    report, _ = ran(name, *mode)
    routes = oracles.Routes((CHAINS / "routes.txt").read_text().splitlines())
    expected, alerts = {"inside": [], "servers": [], "others": [], "out": []}, []
    for packet in captures.read(TRAFFIC):
        if not oracles.valid_for_scapy(packet.data):
            continue
        frame = oracles.valid_frame(packet.data)
        ip = ip_of(frame)
        denied = ip.proto == 1 and ip.src.startswith("172.16.")
        denied = denied or (ip.proto == 17 and ip.dport == 53 and not allowed_by_firewall(frame))
        if name in ("c3", "c4") and denied:
            continue
        sids = alerts_of_nids(frame)
        alerts += sids
        if 1000003 in sids:
            continue
        if name in ("c2", "c4"):
            to = ("inside", "servers", "others")[routes.output(oracles.destination(frame))]
            frame = with_ttl_decremented(frame)
        else:
            to = "out"
        expected[to].append(packet._replace(data=frame))
    for to in ("inside", "servers", "others") if name in ("c2", "c4") else ("out",):
        assert captures.read(tmp_path / "out" / f"{name}_{to}.pcap") == expected[to], to
    lines = (tmp_path / "out" / f"{name}_alerts.json").read_text().splitlines()
    assert [json.loads(line)["alert"]["signature_id"] for line in lines] == alerts
    assert {1000001, 1000004} <= set(alerts)
    assert {e["processor"] for e in report.elements("NIDS")} == ({"cpu"} if "cpu" in mode else {"simt"})


@pytest.mark.parametrize("name", ["c1", "c2", "c3", "c4"])
def test_chains_of_gaviss_cross_to_the_gpu_once(heddle, name):
    plan = heddle.ok("plan", "--json", CHAINS / f"{name}.click", "--device", "simt").json
    segments = [s for s in plan["segments"] if s["processor"] != "cpu"]
    assert len(segments) == 1, segments


@pytest.mark.parametrize("name", ["c1", "c2", "c3", "c4"])
def test_isolated_functions_do_the_same_and_each_gets_its_packets_anew(heddle, tmp_path, name):
    mode = ("--device", "simt", "--transport", "gather")
    report, files = run_chain(heddle, name, tmp_path / "out", *mode)
    alone, same = run_chain(heddle, name, tmp_path / "alone", *mode, "--isolate")
    alerts = f"{name}_alerts.json"
    assert [json.loads(line)["alert"] for line in files.pop(alerts).splitlines()] == [
        json.loads(line)["alert"] for line in same.pop(alerts).splitlines()
    ]
    assert files == same and len(files) > 0
    functions = {"c1": 2, "c2": 3, "c3": 3, "c4": 4}[name]
    assert (len(report.all["traffic"]), len(alone.all["traffic"])) == (1, functions)
    # Headers are parsed once, or for each function; in these chains the first one has what CheckIPHeader has found.
    parsed_again = ["parsed_again" in each.one("CheckIPHeader").get("statistics", {}) for each in (report, alone)]
    assert parsed_again == [False, True]
    (check,) = alone.elements("CheckIPHeader")
    entered = [e["packets"] for e in alone.all["elements"] if e["processor"] == "simt"]
    assert check["statistics"]["parsed_again"] == sum(entered) - max(entered)
    # Back comes what functions have written, which here is IPsec's alone.
    together, isolated = (sum(s["bytes_to_gpu"] for s in each.all["traffic"]) for each in (report, alone))
    assert isolated > 1.25 * together


def test_plan_says_what_is_isolated(heddle):
    plan = heddle.ok("plan", CHAINS / "c4.click", "--device", "simt", "--isolate").out
    assert len(re.findall("^segment .* on simt", plan, re.MULTILINE)) == 4
    assert "isolated  each function on a GPU is a segment of its own" in plan
    assert "packets are in GPU memory already" not in plan
    assert len(re.findall("headers are parsed again first, as by CheckIPHeader", plan)) == 3
    plan = heddle.ok("plan", "--json", CHAINS / "c4.click", "--device", "simt", "--isolate").json
    assert plan["isolate"] and not any(segment.get("shares_packets") for segment in plan["segments"])
    assert "--isolate changes nothing" in heddle.ok("plan", CHAINS / "c4.click", "--isolate").out


def test_functions_between_gpu_ports_cannot_be_isolated(heddle):
    said = heddle.fails("check", CHAINS / "gpu_c4.click", "--device", "simt", "--isolate")
    assert "between GPU ports the CPU sees no packets; leave --isolate out, or use FromDPDKDevice" in said


def test_rules_are_found_across_segments(ran, mode, tmp_path):
    ran("nids_stream", *mode)
    sids, passed = [], []
    for packet in captures.read(CHAINS / "captures/curl.pcap"):
        if not oracles.valid_for_scapy(packet.data):
            continue
        ip = IP(oracles.valid_frame(packet.data)[14:])
        text = bytes(ip[TCP].payload) if TCP in ip else b""
        if text.startswith(b"GET /"):
            sids.append(1000012)
        # The answers' headers are segments of their own.
        if text.startswith(b"<!DOCTYPE HTML>"):
            sids.append(1000010)
        if text.startswith(b"Heddle"):
            sids.append(1000011)
        else:
            passed.append(packet)
    lines = (tmp_path / "out/nids_stream_alerts.json").read_text().splitlines()
    assert [json.loads(line)["alert"]["signature_id"] for line in lines] == sids
    assert set(sids) == {1000010, 1000011, 1000012}
    assert captures.read(tmp_path / "out/nids_stream_out.pcap") == passed


def with_ttl_decremented(frame):
    header = bytearray(frame[14 : 14 + (frame[14] & 15) * 4])
    header[8] -= 1
    header[10:12] = b"\0\0"
    header[10:12] = oracles.checksum(bytes(header)).to_bytes(2, "big")
    return frame[:14] + bytes(header) + frame[14 + len(header) :]
