"""NIDS on captures of others: patterns that are known to be in them, and alerts that Suricata has written."""

import ast
import json
import os
import pathlib
import re
from collections import Counter

import pytest
from whole import captures
from whole.program import Report, quoted

DATA = pathlib.Path(os.environ.get("HEDDLE_TEST_DATA", "/nonexistent"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="HEDDLE_TEST_DATA is not set")


FROM_ETHERNET = (
    "FromDump({}) -> c :: Classifier(12/0800, 12/8100 16/0800, -) -> ip :: CheckIPHeader(14, CHECKSUM false);"
    " c[1] -> VLANDecap -> ip; c[2] -> out; ip"
)
FROM_ANY_LINK = "FromDump({}, FORCE_IP true)"


def run_rules(heddle, folder, rules, source, *options, stream=False):
    """The report, and the alerts as JSON. Checksums may be wrong, as suricata-verify has it (-k none)."""
    (folder / "x.rules").write_text(rules)
    eve = folder / "eve.json"
    done = heddle(
        "run",
        "--json",
        "-e",
        f"{source} -> {'flows :: FlowTable(TIMESTAMPS true) -> ' if stream else ''}"
        f"ids :: NIDS({quoted(folder / 'x.rules')}, SKIP_UNSUPPORTED true, STREAM {str(stream).lower()});"
        f" ids[0] -> out :: Discard; ids[1] -> confirm :: NIDSConfirm(ids, {'FLOWS flows, CHECKSUM false, ' if stream else ''}"
        f"EVE {quoted(eve)}); confirm[0] -> out; confirm[1] -> out;",
        *options,
    )
    assert done.code == 0, done
    report = Report(done.json)
    assert ("leaves out" in done.err) == (report.one("ids")["statistics"]["unsupported"] > 0), done
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
    _, alerts = run_rules(heddle, tmp_path, rules, FROM_ETHERNET.format(quoted(capture)), *mode)
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


VERIFY = DATA / "suricata-verify"
PADDING = "what pads a frame counts as payload where no CheckIPHeader has cut it off"
TUNNELS = "packets in tunnels are not looked into"
ONE_SIDE = "its settings take a side for a connection; here it is established when both have been seen"
HOSTS = "overlaps: what was in order counts, whatever the host's system is"
INLINE = "Suricata rewrites the segment that overlaps before it looks at the packet, and nothing here changes packets"
# Where alerts differ from those that Suricata is to give: why, and how many of each sid there are here.
DIFFERENT = {
    "bug-2491-01": (ONE_SIDE, {2: 0}),
    "bug-2491-02": (ONE_SIDE, {1: 1, 2: 0}),  # and it counts what two versions find
    "bug-4571-01": (TUNNELS, {1: 0}),
    "bug-4571-02": (TUNNELS, {1: 0}),
    "bug-4571-03": (TUNNELS, {1: 0}),
    "bug-4571-04": (TUNNELS, {1: 0}),
    "bug-4571-06": (TUNNELS, {1: 0}),
    "bug-8021-alert-max-verdict-01": ("a packet may have any number of alerts, not six", {8002107: 1}),
    "decode-nsh-type1": (TUNNELS, {1: 0}),
    "decode-nsh-type2": (TUNNELS, {1: 0}),
    "eve-overlap-payload-02-policy-oldlinux": (HOSTS, {1: 0, 2: 1}),
    "eve-overlap-payload-03-ips": (INLINE, {2: 1, 3: 1, 4: 1}),
    "eve-payload-02-tcp-exact-overlap-policy-oldlinux": (HOSTS, {1: 0, 2: 1}),
    "eve-payload-03-tcp-exact-overlap-ips": (INLINE, {2: 1, 3: 1, 4: 1}),
    "issue-4220-01-ids": (PADDING, {1000009: 0}),
    "util-action-tests/util-action-06": ("its settings put drop before pass; here pass comes first", {3: 0}),
}


def suricata_cases():
    """Those that have a capture; the others' are in folders of other cases, which are not there."""
    folders = (path.parent for path in VERIFY.rglob("test.yaml"))
    return sorted(str(folder.relative_to(VERIFY)) for folder in folders if any(folder.glob("*.pcap")))


@needs_data
@pytest.mark.parametrize("name", suricata_cases())
def test_alerts_are_those_of_suricata(heddle, tmp_path, mode, name):
    """The cases of suricata-verify. With STREAM where a rule is for connections or an application's protocol."""
    (capture,) = (VERIFY / name).glob("*.pcap")
    (rules,) = (path.read_text() for path in (VERIFY / name).glob("*.rules"))
    lines = (VERIFY / "plain_content_tests.tsv").read_text().splitlines()
    (checks,) = (ast.literal_eval(line.split("\t")[5]) for line in lines if line.startswith(name + "\t"))
    theirs = Counter()
    for sid, count, _ in checks:
        theirs[sid] += count
    wanted = dict(theirs)
    if name in DIFFERENT:
        wanted |= DIFFERENT[name][1]
        assert wanted != theirs, f"no longer different: {name}"
    source = FROM_ANY_LINK.format(quoted(capture))
    stream = re.search("alert (tcp-stream|http|smtp|dns|ssh)", rules) is not None
    variables = "".join(f"ipvar {name} any\n" for name in ("HOME_NET", "SMTP_SERVERS") if "$" + name in rules)
    report, alerts = run_rules(heddle, tmp_path, variables + rules, source, *mode, stream=stream)
    got = Counter(alert["alert"]["signature_id"] for alert in alerts)
    assert {sid: got[sid] for sid in wanted} == wanted
    assert report.one("ids")["statistics"]["unsupported"] == 0


@needs_data
def test_every_difference_to_suricata_is_of_a_case():
    assert set(DIFFERENT) <= set(suricata_cases())
