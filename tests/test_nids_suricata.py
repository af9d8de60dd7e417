"""NIDS over TCP connections and datagrams, judged by Suricata, which reads the same rules and the same capture."""

import json
import random
import shutil
import subprocess
from collections import namedtuple

import pytest
from scapy.all import IP, TCP, UDP, Ether, Raw
from whole import captures
from whole.frames import SEED

# Segments are inspected when they come (inline), not when they are acknowledged.
SETTINGS = """%YAML 1.1
---
outputs:
  - eve-log: {enabled: yes, filetype: regular, filename: eve.json, types: [alert]}
vars:
  address-groups: {HOME_NET: any, EXTERNAL_NET: any}
stats: {enabled: no}
app-layer: {protocols: {}}
stream: {inline: yes, checksum-validation: no}
"""
CHAIN = """FromDump({0}/in.pcap) -> CheckIPHeader(14) -> flows :: FlowTable(TIMESTAMPS true)
    -> ids :: NIDS({0}/rules, STREAM true); ids[0] -> out :: Discard;
    ids[1] -> NIDSConfirm(ids, FLOWS flows, EVE {0}/ours.json) -> out;"""

Rule = namedtuple("Rule", "text tcp negated placed")  # placed: asks for places in the payload


def random_rule(rng, sid):
    protocol = rng.choice(["tcp", "tcp", "udp"])
    options, no, negated, placed = "", "", False, False
    for number in range(rng.randint(1, 3)):
        text = "".join(rng.choice("abAB") for _ in range(rng.choice([2, 3, 4, 6, 10])))
        if number > 0 and rng.random() < 0.15:
            options += f'pcre:"/{text[0]}+{text[1:3]}/{rng.choice(["", "i", "" if no else "R"])}"; '
            no = ""
            continue
        # Suricata tries all places of a content only if the very next one is relative to it.
        relative = number > 0 and no == "" and rng.random() < 0.5
        no = "!" if number > 0 and rng.random() < 0.25 else ""
        negated = negated or no != ""
        options += f'content:{no}"{text}"; ' + ("nocase; " if rng.random() < 0.5 else "")
        if relative:
            options += f"distance:{rng.randint(0, 10)}; "
            options += f"within:{len(text) + rng.randint(0, 20)}; " if rng.random() < 0.5 else ""
        elif rng.random() < 0.3:
            placed = True
            options += f"offset:{rng.randint(0, 30)}; "
            options += f"depth:{len(text) + rng.randint(0, 60)}; " if rng.random() < 0.6 else ""
    if rng.random() < 0.1:
        options += "dsize:<60; "
    text = f'alert {protocol} any any -> any any (msg:"{sid}"; {options}sid:{sid}; rev:1;)'
    return Rule(text, protocol == "tcp", negated, placed)


def random_text(rng, most):
    return "".join(rng.choice("abABxxxxxx") for _ in range(rng.randint(1, most))).encode()


def random_traffic(rng, flows, in_order):
    """Frames of connections and of datagrams, mixed."""
    timed = []
    for flow in range(flows):
        client, server = f"10.0.0.{flow + 1}", "10.1.0.1"
        if flow % 4 == 0:
            for _ in range(rng.randint(1, 5)):
                packet = IP(src=client, dst=server) / UDP(sport=1000 + flow, dport=53) / Raw(random_text(rng, 200))
                timed.append((rng.random(), packet))
            continue
        sequence, other = rng.getrandbits(32), rng.getrandbits(32)
        there = {"sport": 1000 + flow, "dport": 80, "ack": (other + 1) % 2**32}
        packets = [
            IP(src=client, dst=server) / TCP(**there | {"ack": 0}, flags="S", seq=sequence),
            IP(src=server, dst=client)
            / TCP(sport=80, dport=1000 + flow, flags="SA", seq=other, ack=(sequence + 1) % 2**32),
            IP(src=client, dst=server) / TCP(**there, flags="A", seq=(sequence + 1) % 2**32),
        ]
        text, at, segments = random_text(rng, 900), 0, []
        while at < len(text):
            part = text[at : at + rng.randint(1, 120)]
            seq = (sequence + 1 + at) % 2**32
            segments.append(IP(src=client, dst=server) / TCP(**there, flags="PA", seq=seq) / Raw(part))
            at += len(part)
        for number in range(len(segments) - 1) if not in_order else ():
            if rng.random() < 0.3:
                segments[number], segments[number + 1] = segments[number + 1], segments[number]
        for place in sorted(rng.sample(range(len(segments)), len(segments) // 6), reverse=True):
            segments.insert(rng.randint(place + 1, len(segments)), segments[place].copy())  # sent again
        begin = rng.random() / 2
        timed += [(begin + number * 0.001, packet) for number, packet in enumerate(packets + segments)]
    timed.sort(key=lambda pair: pair[0])
    return [bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet) for _, packet in timed]


def summary(path, rules, in_order):
    """Of datagrams, each alert. Of connections when each rule first alerted: Suricata does so again for bytes that it sees
    again. Rules with negated contents are left out there, which it asks of other stretches; and out of order, times and rules for
    places in the payload, for it looks into what waits for its turn."""
    alerts = []
    for line in path.read_text().splitlines():
        alert = json.loads(line)
        sid, time = alert["alert"]["signature_id"], alert["timestamp"]
        rule = rules[sid - 1]
        if not rule.tcp:
            alerts.append((time, sid))
        elif not rule.negated and (in_order or not rule.placed):
            alerts.append((alert["src_ip"], alert["src_port"], sid) + ((time,) if in_order else ()))
    first = {alert[:3]: alert for alert in sorted(alerts, reverse=True) if len(alert) > 2}
    return sorted(alert for alert in alerts if len(alert) == 2), first


@pytest.mark.parametrize("in_order", [True, False])
def test_suricata_judges_alerts(heddle, tmp_path, in_order):
    if shutil.which("suricata") is None:
        pytest.skip("suricata is not installed (make deps)")
    rng = random.Random(f"{SEED} suricata {in_order}")
    (tmp_path / "suricata.yaml").write_text(SETTINGS)
    compared = 0
    for _ in range(4):
        rules = [random_rule(rng, sid) for sid in range(1, 61)]
        (tmp_path / "rules").write_text("".join(rule.text + "\n" for rule in rules))
        captures.write(tmp_path / "in.pcap", random_traffic(rng, 16, in_order))
        (tmp_path / "eve.json").unlink(missing_ok=True)
        subprocess.run(
            ["suricata", "-c", tmp_path / "suricata.yaml", "-r", tmp_path / "in.pcap", "-S", tmp_path / "rules"]
            + ["-l", tmp_path, "-k", "none", "--runmode", "single"],
            check=True,
            capture_output=True,
        )
        heddle.ok("run", "-e", CHAIN.format(tmp_path))
        ours, theirs = (summary(tmp_path / name, rules, in_order) for name in ("ours.json", "eve.json"))
        assert ours == theirs
        compared += len(ours[0]) + len(ours[1])
    assert compared > 100
