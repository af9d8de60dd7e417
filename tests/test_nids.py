"""NIDS on captures of others: patterns that are known to be in them, and alerts that Suricata has written."""

import ast
import json
import os
import pathlib
import re
from collections import Counter

import pytest
from whole import captures
from whole.program import quoted

DATA = pathlib.Path(os.environ.get("HEDDLE_TEST_DATA", "/nonexistent"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="HEDDLE_TEST_DATA is not set")


def run_rules(heddle, folder, rules, capture, *options):
    """The report, and the alerts as JSON."""
    (folder / "x.rules").write_text(rules)
    eve = folder / "eve.json"
    report = heddle.run(
        f"FromDump({quoted(capture)}) -> c :: Classifier(12/0800, 12/8100 16/0800, -) -> ip :: CheckIPHeader(14, CHECKSUM"
        f" false); c[1] -> VLANDecap -> ip; c[2] -> out;"
        f" ip -> ids :: NIDS({quoted(folder / 'x.rules')}, SKIP_UNSUPPORTED true); out :: Discard;"
        f" ids[0] -> out; ids[1] -> NIDSConfirm(ids, EVE {quoted(eve)}) -> out;",
        *options,
    )
    return report, [json.loads(line) for line in eve.read_text().splitlines()]


@needs_data
def test_patterns_of_emerging_threats(heddle, tmp_path, mode):
    """Each pattern that is in a packet of a real capture is an alert of it, and no other is."""
    capture = DATA / "pcap/tcpdump_eth.pcap"
    table = [
        line.split("\t") for line in (DATA / "nids/tcpdump_eth_frame_proto_patternid.tsv").read_text().splitlines()
    ]
    excluded = {
        int(line.split("\t")[0]) for line in (DATA / "nids/tcpdump_eth_excluded_frames.tsv").read_text().splitlines()
    }
    found = {int(row[2]) for row in table}
    wanted = Counter((int(row[0]), int(row[2])) for row in table if int(row[0]) not in excluded)
    rules, left_out = "", set()
    for line in (DATA / "nids/patterns_et.tsv").read_text().splitlines()[1:]:
        number, text, nocase = line.split("\t")[:3]
        # All that are there, and some that are not. Contents have at most 255 bytes.
        if (int(number) not in found and int(number) % 100 != 0) or len(text) > 510:
            left_out.add(int(number))
            continue
        case = "nocase; " if nocase == "1" else ""
        for protocol, first in (("tcp", 1), ("udp", 100001)):
            sid = first + int(number)
            rules += f'alert {protocol} any any -> any any (content:"|{text}|"; {case}sid:{sid};)\n'
    frames = captures.read(capture)
    ipv4 = {n for n, packet in enumerate(frames, 1) if b"\x08\x00" in (packet.data[12:14], packet.data[16:18])}
    wanted = {key: n for key, n in wanted.items() if key[0] in ipv4 and key[1] not in left_out}
    times = Counter(packet.ns // 1000 for packet in frames)
    by_time = {packet.ns // 1000: number for number, packet in enumerate(frames, 1)}
    _, alerts = run_rules(heddle, tmp_path, rules, capture, *mode)
    got = Counter()
    for alert in alerts:
        microseconds = time_of(alert["timestamp"])
        sid = alert["alert"]["signature_id"]
        frame = by_time[microseconds]
        if times[microseconds] == 1 and frame not in excluded:
            got[frame, (sid - 1) % 100000] += 1
    wanted = {key for key in wanted if times[frames[key[0] - 1].ns // 1000] == 1}
    assert set(got) == wanted and len(wanted) > 5000


def time_of(text):
    """Microseconds since 1970 of 2026-11-22T05:02:56.000001+0000."""
    import datetime

    when = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")
    return round((when - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(microseconds=1))


JUDGED = [f"eve-payload-{name}" for name in ("01-tcp-exact-overlap", "04-partial-overlap", "05-tcp-data-gap")]


@needs_data
@pytest.mark.parametrize("name", JUDGED)
def test_alerts_by_packet_are_those_of_suricata(heddle, tmp_path, mode, name):
    """Of rules that look at packets one by one (tcp-pkt); those of streams are left out."""
    folder = DATA / "suricata-verify" / name
    (capture,) = folder.glob("*.pcap")
    (rules,) = (path.read_text() for path in folder.glob("*.rules"))
    by_packet = {int(sid) for sid in re.findall(r"^alert tcp-pkt .*sid:(\d+)", rules, re.MULTILINE)}
    lines = (DATA / "suricata-verify/plain_content_tests.tsv").read_text().splitlines()
    (checks,) = (ast.literal_eval(line.split("\t")[5]) for line in lines if line.startswith(name + "\t"))
    report, alerts = run_rules(heddle, tmp_path, rules, capture, *mode)
    got = Counter(alert["alert"]["signature_id"] for alert in alerts)
    assert by_packet and {sid: got[sid] for sid in by_packet} == {s: n for s, n, _ in checks if s in by_packet}
    assert report.one("ids")["statistics"]["unsupported"] > 0
