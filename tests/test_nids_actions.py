"""What a NIDS does beyond alerts: thresholds by the time of packets, and answers to what it rejects."""

import json

from scapy.all import Ether
from scapy.layers.inet import ICMP, IP, TCP, UDP
from whole import captures
from whole.program import quoted

LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def frame(layers, source="10.0.0.1", destination="192.0.2.2"):
    return bytes(LINK / IP(src=source, dst=destination) / layers)


def run(heddle, folder, rules, frames, rest, *options):
    (folder / "x.rules").write_text(rules)
    source = captures.write(folder / "in.pcap", frames)
    return heddle.run(
        f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> ids :: NIDS({quoted(folder / 'x.rules')});"
        f" ids[0] -> out :: ToDump({quoted(folder / 'out.pcap')});"
        f" ids[1] -> c :: NIDSConfirm(ids, EVE {quoted(folder / 'eve.json')}) -> out; {rest}",
        *options,
    )


def alerts(folder):
    """Which packets each rule has alerts of: captures.write() has them 1.000003 seconds apart."""
    found = {}
    for line in (folder / "eve.json").read_text().splitlines():
        alert = json.loads(line)
        seconds = int(alert["timestamp"][11:13]) * 3600 + int(alert["timestamp"][14:16]) * 60
        seconds += int(alert["timestamp"][17:19])
        found.setdefault(alert["alert"]["signature_id"], []).append(seconds)
    first = 22 * 3600 + 13 * 60 + 20  # of 1,700,000,000
    return {sid: [second - first for second in seconds] for sid, seconds in found.items()}


def test_thresholds_go_by_the_time_of_packets(heddle, tmp_path, mode):
    kinds = {
        1: "threshold: type limit, track by_src, count 2, seconds 5;",
        2: "threshold: type threshold, track by_src, count 3, seconds 60;",
        3: "threshold: type both, track by_src, count 3, seconds 60;",
        4: "detection_filter: track by_src, count 10, seconds 60;",
        5: "threshold: type limit, track by_rule, count 1, seconds 100;",
        6: "",
    }
    rules = "".join(
        f'alert udp any any -> any any (content:"evil"; {text} sid:{sid};)\n' for sid, text in kinds.items()
    )
    # Two sources in turn, a packet a second.
    frames = [frame(UDP(dport=53) / b"an evil text", source=f"10.0.0.{1 + k % 2}") for k in range(24)]
    report = run(heddle, tmp_path, rules, frames, "", *mode)
    assert alerts(tmp_path) == {
        # By each source: at 0, 2, [4], 6, 8, [10] ...; at 1, 3, [5], 7, 9 ...
        1: [k for k in range(24) if k // 2 % 3 != 2],
        2: [k for k in range(24) if k // 2 % 3 == 2],
        3: [4, 5],
        4: [20, 21, 22, 23],
        5: [0],
        6: list(range(24)),
    }
    assert report.drops("c") == {}


def test_a_drop_rule_waits_for_its_filter(heddle, tmp_path, mode):
    rules = (
        'drop udp any any -> any any (content:"evil"; detection_filter: track by_src, count 3, seconds 60; sid:1;)\n'
        'drop udp any any -> any any (content:"loud"; threshold: type limit, track by_src, count 1, seconds 60; sid:2;)\n'
    )
    frames = [frame(UDP(sport=n) / b"evil") for n in range(1, 6)] + [frame(UDP(sport=n) / b"loud") for n in (6, 7)]
    report = run(heddle, tmp_path, rules, frames, "", *mode)
    assert captures.frames(tmp_path / "out.pcap") == frames[:3]
    assert report.drops("c") == {"drop": 4}
    assert alerts(tmp_path) == {1: [3, 4], 2: [5]}


def test_each_source_has_its_own_count(heddle, tmp_path, mode):
    """However alike addresses are, and whatever comes from others: a filter would else be evaded by false sources."""
    rules = (
        'alert udp any any -> any any (content:"evil"; threshold: type limit, track by_src, count 1, seconds 600; sid:1;)\n'
        'drop udp any any -> any any (content:"evil"; detection_filter: track by_src, count 3, seconds 600; sid:2;)\n'
    )
    others = [frame(UDP(dport=53) / b"evil", source=f"10.{n}.0.1") for n in range(1, 40)]
    real = frame(UDP(dport=53) / b"evil")
    frames = [f for k in range(0, 39, 3) for f in [*others[k : k + 3], real, real, real]]
    report = run(heddle, tmp_path, rules, frames, "", *mode)
    assert [len(found) for _, found in sorted(alerts(tmp_path).items())] == [40, 3 * 13 - 3]
    assert report.drops("c") == {"drop": 3 * 13 - 3}


def test_both_addresses_count_in_both_directions(heddle, tmp_path, mode):
    rules = 'alert udp any any -> any any (content:"evil"; threshold: type limit, track by_both, count 1, seconds 600; sid:1;)\n'
    ways = [("10.0.0.1", "10.9.9.9"), ("10.9.9.9", "10.0.0.1"), ("10.0.0.1", "10.9.9.8"), ("10.9.9.8", "10.9.9.9")]
    frames = [frame(UDP() / b"evil", *way) for way in ways * 2]
    run(heddle, tmp_path, rules, frames, "", *mode)
    assert alerts(tmp_path) == {1: [0, 2, 3]}


def test_a_pass_rule_waits_for_its_filter(heddle, tmp_path, mode):
    rules = (
        'drop udp any any -> any any (content:"evil"; sid:1;)\n'
        'pass udp any any -> any any (content:"evil"; detection_filter: track by_src, count 3, seconds 60; sid:2;)\n'
        'alert udp any any -> any any (content:"loud"; sid:3;)\n'
        'pass udp any any -> any any (content:"loud"; threshold: type limit, track by_src, count 1, seconds 60; sid:4;)\n'
    )
    frames = [frame(UDP(sport=n) / b"evil") for n in range(5)] + [frame(UDP(sport=n) / b"loud") for n in range(3)]
    report = run(heddle, tmp_path, rules, frames, "", *mode)
    assert captures.frames(tmp_path / "out.pcap") == frames[3:]
    assert report.drops("c") == {"drop": 3}
    assert alerts(tmp_path) == {1: [0, 1, 2]}  # a limit says how often there is an alert, not how often a rule matches


def test_rejected_segments_are_reset(heddle, tmp_path, mode):
    rules = (
        'reject ip any any -> any any (content:"evil"; sid:1;)\ndrop tcp any any -> any any (content:"worse"; sid:2;)\n'
    )
    frames = [
        frame(TCP(sport=5000, dport=80, seq=1000, ack=7000, flags="PA") / b"an evil text"),
        frame(TCP(sport=5001, dport=80, seq=0xFFFFFFFF, ack=5, flags="SF") / b"evil"),
        frame(TCP(sport=5002, dport=80, seq=9, flags="", options=[("NOP", None)] * 4) / b"evil"),
        frame(TCP(sport=5003, dport=80, seq=9, flags="R") / b"evil"),
        frame(TCP(sport=5004, dport=80) / b"evil and worse"),
        frame(UDP(sport=5005, dport=53) / b"evil"),
        frame(TCP(sport=5006, dport=80) / b"harmless"),
    ]
    frames[0] += b"\0" * 6  # the link's
    rest = (
        "c[1] -> Discard; c[2] -> what :: IPClassifier(tcp, -); what[0] -> r :: TCPReset -> EtherMirror"
        f" -> ToDump({quoted(tmp_path / 'resets.pcap')}); what[1] -> Strip(14)"
        f" -> ICMPError(198.51.100.1, unreachable, port) -> Unstrip(14) -> ToDump({quoted(tmp_path / 'errors.pcap')});"
    )
    report = run(heddle, tmp_path, rules, frames, rest, *mode)
    assert captures.frames(tmp_path / "out.pcap") == frames[6:]
    assert report.drops("r") == {"is_reset": 1}
    wanted = []
    # RFC 9293, 3.10.7.1, if the connection does not exist.
    for sport, seq, ack, flags in (
        (5000, 7000, 0, "R"),
        (5001, 0, (0xFFFFFFFF + 4 + 2) % 2**32, "RA"),
        (5002, 0, 13, "RA"),
    ):
        segment = TCP(sport=80, dport=sport, seq=seq, ack=ack, flags=flags, window=0)
        reset = IP(src="192.0.2.2", dst="10.0.0.1", id=0, flags="DF") / segment
        wanted.append(bytes(Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / reset))
    assert captures.frames(tmp_path / "resets.pcap") == wanted
    errors = [IP(f[14:]) for f in captures.frames(tmp_path / "errors.pcap")]
    assert [(e.dst, e[ICMP].type, e[ICMP].code) for e in errors] == [("10.0.0.1", 3, 3)]


def test_reset_refuses_what_is_no_segment(heddle, tmp_path):
    whole = frame(TCP(sport=5000, dport=80) / b"text")
    cut = whole[:16] + (30).to_bytes(2, "big") + whole[18:44]
    broken = whole[:46] + b"\x40" + whole[47:]
    frames = [frame(UDP() / (b"x" * 40)), whole, cut, broken, whole[:20] + b"\0\x08" + whole[22:]]
    source = captures.write(tmp_path / "in.pcap", frames)
    report = heddle.run(
        f"FromDump({quoted(source)}) -> CheckIPHeader(14, CHECKSUM false) -> r :: TCPReset"
        f" -> ToDump({quoted(tmp_path / 'out.pcap')})"
    )
    assert report.drops("r") == {"not_tcp": 4}
    assert len(captures.frames(tmp_path / "out.pcap")) == 1


def test_alerts_have_the_generator_class_and_priority_of_their_rules(heddle, tmp_path):
    kinds = {
        1: ("gid:5; priority:2;", (5, "", 2)),
        2: ("classtype:web-activity;", (1, "access to a page, perhaps", 2)),
        3: ("classtype:web-activity; priority:1;", (1, "access to a page, perhaps", 1)),
        4: ("classtype:none-such;", (1, "none-such", 3)),
        5: ("", (1, "", 3)),
    }
    classes = tmp_path / "classification.config"
    classes.write_text("# classes\nconfig classification: web-activity,access to a page, perhaps,2\n")
    source = captures.write(tmp_path / "in.pcap", [frame(UDP(dport=53) / b"evil")])
    rules = "".join(
        f'alert udp any any -> any any (content:"evil"; {text} sid:{sid};)\n' for sid, (text, _) in kinds.items()
    )
    (tmp_path / "x.rules").write_text(rules)
    chain = (
        f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> ids :: NIDS({quoted(tmp_path / 'x.rules')},"
        f" CLASSIFICATION {quoted(classes)}, EVE {quoted(tmp_path / 'eve.json')}) -> Discard;"
        'DriverManager(wait_stop, print "$(ids.counts)", stop)'
    )
    assert "2 1\n3 1\n4 1\n5 1\n5:1 1\n" in heddle.ok("run", "--quiet", "-e", chain).out
    found = {}
    for line in (tmp_path / "eve.json").read_text().splitlines():
        alert = json.loads(line)["alert"]
        found[alert["signature_id"]] = (alert["gid"], alert["category"], alert["severity"])
    assert found == {sid: wanted for sid, (_, wanted) in kinds.items()}
    classes.write_text("config classification: web-activity,access to a page\n")
    assert f"{classes}:1: 'config classification: web-activity,access to a page' is not" in heddle.fails(
        "check", "-e", chain
    )
