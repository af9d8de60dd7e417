"""`heddle rules`: formats, mistakes, shadowed rules and explanations, judged by ClassBench's expected matches and by
trying all packets; test_rules_kernel.py asks the kernel."""

import itertools
import pathlib
import random
import re
import struct

import pytest
from whole import captures, judge
from whole.frames import SEED

ANY = "0 : 65535"


# ---- explain


def test_explain_finds_the_expected_matches_of_classbench_sets(heddle, test_data, tmp_path):
    for name in ("acl1_1k", "fw5_1k"):
        rules = test_data / "classbench" / name
        trace = [line.split() for line in pathlib.Path(f"{rules}_edge_trace").read_text().splitlines()[:3000]]
        expected = [int(line) for line in pathlib.Path(f"{rules}_edge_expected").read_text().splitlines()[:3000]]
        frames, wanted = [], []
        for (source, destination, sport, dport, protocol, *_), number in zip(trace, expected):
            payload = struct.pack(">HH", int(sport), int(dport)) + bytes(20)
            if int(protocol) not in (6, 17) and (int(sport) or int(dport)):
                continue  # such packets have no ports
            addresses = (int(value).to_bytes(4, "big") for value in (source, destination))
            frames.append(judge.ip4(*addresses, int(protocol), payload))
            wanted.append(number)
        answers = heddle.ok(
            "rules",
            "explain",
            rules,
            captures.write(tmp_path / "trace.pcap", frames),
            "--json",
        ).json
        assert [-1 if answer["rule"] is None else answer["rule"] for answer in answers] == wanted
        assert len(frames) > 500


def test_explain_names_the_field_that_misses(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(
        f"# comment\n@10.0.0.0/8 0/0 {ANY} 22 : 22 0x06/0xFF deny\n@0/0 0/0 {ANY} {ANY} 0x06/0xFF flags=0x02/0x12 vlan=7 deny\n"
        f"\n@2001:db8::/32 ::/0 {ANY} {ANY} 0x00/0x00 allow\n@0/0 0/0 {ANY} {ANY} 0x06/0xFF allow\n"
    )
    out = heddle.ok("rules", "explain", rules, "11.0.0.1", "1.2.3.4", "5", "22", "6", "flags=2").out.splitlines()
    assert out[1] == f"hits rule 3 (line 6): @0.0.0.0/0 0.0.0.0/0 {ANY} {ANY} 0x06/0xFF allow"
    assert out[2:] == [
        "misses rule 0 (line 2): source 11.0.0.1 is not 10.0.0.0 to 10.255.255.255",
        "misses rule 1 (line 3): vlan 0 is not 7",
        "misses rule 2 (line 5): version 4 is not 6",
    ]
    out = heddle.ok("rules", "explain", rules, "11.0.0.1 1.2.3.4 5 22 6 flags=0x12 vlan=7").out.splitlines()
    assert out[3] == "misses rule 1 (line 3): flags 0x12 is not 0x2 in the bits 0x12"
    out = heddle.ok("rules", "explain", rules, "11.0.0.1 1.2.3.4 5 22 17", "--json").json
    assert (out["rule"], [missed["line"] for missed in out["missed"]]) == (
        None,
        [2, 3, 5, 6],
    )
    tagged = (
        b"\xff" * 12
        + b"\x81\x00\x20\x07"
        + judge.ip4(
            judge.packed("9.9.9.9"),
            judge.packed("1.1.1.1"),
            6,
            judge.transport(6, 1, 2, 2),
        )[12:]
    )
    other = judge.ip6(
        judge.packed("2001:db8::1"),
        judge.packed("::1"),
        17,
        judge.transport(17, 1, 2, 0),
    )
    source = captures.write(tmp_path / "in.pcap", [tagged, other, b"\xff" * 12 + b"\x08\x06" + bytes(40)])
    assert [a.get("rule") for a in heddle.ok("rules", "explain", rules, source, "--json").json] == [1, 2, None]
    assert "hits rule 2 (line 5)" in heddle.ok("rules", "explain", rules, source, "--packet", 2).out
    assert "packet 3: no IP packet" in heddle.ok("rules", "explain", rules, source).out
    for wrong in (
        ["1.2.3.4"],
        ["1.2.3.4 1.2.3.4 1 1"],
        ["1.2.3.4 ::1 1 1 6"],
        ["1.2.3.4 1.2.3.4 1 1 6 speed=1"],
    ):
        heddle.fails("rules", "explain", rules, *wrong)
    heddle.fails("rules", "explain", rules, source, "--packet", 9)


# ---- check


def test_check_finds_just_the_rules_that_no_packet_can_hit(heddle, tmp_path):
    rng = random.Random(f"{SEED} shadows")
    found = 0
    for _ in range(25):
        rules = []
        for _ in range(rng.randint(2, 14)):
            ports = [sorted((rng.randrange(6), rng.randrange(6))) for _ in range(2)]
            prefix = rng.choice([29, 30, 31, 32])
            address = rng.randrange(8) >> (32 - prefix) << (32 - prefix)
            flags = rng.choice(["", "", "", f"flags={rng.randrange(4)}/{rng.randrange(4)}"]).split("=")
            if len(flags) == 2:
                value, mask = map(int, flags[1].split("/"))
                flags = [f"flags=0x{value & mask:x}/0x{mask:x}", value & mask, mask]
            rules.append((ports, address, prefix, flags))
        text = "".join(
            f"@0.0.0.{address}/{prefix} 0/0 {ports[0][0]} : {ports[0][1]} {ports[1][0]} : {ports[1][1]} 0x06/0xFF {flags[0]} deny\n"
            for ports, address, prefix, flags in rules
        )
        path = tmp_path / "rules"
        path.write_text(text)
        hit = set()
        for source, sport, dport, flag in itertools.product(range(8), range(6), range(6), range(4)):
            for number, (ports, address, prefix, flags) in enumerate(rules):
                within = source >> (32 - prefix) == address >> (32 - prefix)
                within &= ports[0][0] <= sport <= ports[0][1] and ports[1][0] <= dport <= ports[1][1]
                if within and (len(flags) < 3 or flag & flags[2] == flags[1]):
                    hit.add(number)
                    break
        never = {number + 1 for number in range(len(rules)) if number not in hit}
        report = heddle("rules", "check", path, "--json").json
        shadowed = {rule["line"] for rule in report["shadowed"]}
        assert shadowed <= never <= shadowed | set(report["undecided"]), text
        if "flags" not in text:
            assert shadowed == never, text
        found += len(shadowed)
    assert found > 20


def test_check_reports_every_mistake(heddle, tmp_path):
    rules = tmp_path / "rules"
    good = f"@0/0 0/0 {ANY} {ANY} 0x06/0xFF allow"
    rules.write_text(f"{good}\nx\n{good}\n@0/0 0/0 9 : 8 {ANY} 0x06/0xFF allow\n")
    err = heddle.fails("rules", "check", rules)
    assert f"{rules}:2: 'x' is not a rule: expected @SOURCE" in err
    assert f"{rules}:4: " in err and "its lowest source port, 9, is larger than the highest, 8" in err
    assert "has mistakes; none of its rules counts" in err
    rules.write_text(f"7 {good}\n8 {good}\n7 {good}\n")
    assert f"{rules}:3: number 7 is that of line 1 already" in heddle.fails("rules", "check", rules)
    rules.write_text(f"{good}\n{good}\n")
    done = heddle("rules", "check", rules)
    assert done.code == 0 and done.out == "2 rules (classbench), 1 of them shadowed\n"
    assert (
        done.err
        == f"{rules}:2: warning: no packet can hit this rule: those before it take all of its packets (line 1)\n"
    )


UNSUPPORTED = {
    "iptables": {
        "-A FORWARD -m conntrack --ctstate ESTABLISHED -j ACCEPT": "its match 'conntrack' depends on packets before",
        "-A FORWARD -j MARK": "is not supported: its target 'MARK' is none of ACCEPT, DROP, REJECT and RETURN",
        "-A FORWARD -g LOG": "there is no chain 'LOG' to go to",
        "-A FORWARD -j DROP --reject-with icmp-port-unreachable": "--reject-with is without -j REJECT",
        "-A FORWARD -p udp -j REJECT --reject-with tcp-reset": "tcp-reset needs -p tcp",
        "-A FORWARD -j INPUT": "its target 'INPUT' is none of",
        "-A FORWARD -i eth0 -j DROP": "it asks for an interface",
        "-A FORWARD -m mark --mark 1 -j DROP": "its match 'mark' has no equal here",
        "-A FORWARD -p tcp --dport 9:8 -j DROP": "its lowest port, 9, is larger than the highest, 8",
        "-A FORWARD -s 1.2.3.4/33 -j DROP": "'1.2.3.4/33' is not an IPv4 address",
        "-A FORWARD -p tcp --dport": "nothing follows --dport",
        'FORWARD "a': "a quote is not closed",
    },
    "nft": {
        "ct state established accept": "'ct' depends on packets before",
        'iifname "eth0" drop': "it asks for an interface",
        "ip saddr @blocked drop": "is not a rule: its table has no set '@blocked'",
        "ip saddr $blocked drop": "is not supported: the variable '$blocked'",
        "jump other": "is not a rule: its table has no chain 'other'",
        "goto c": "is not a rule: the chain 'inet t c' leads back to itself",
        "tcp dport vmap { 1 : accept }": "is not supported: a map (vmap)",
        "ip saddr vmap @verdicts": "is not supported: a map (vmap)",
        "ip saddr . tcp dport { 10.0.0.1 . 80 } accept": "is not supported: a concatenation of fields",
        "tcp dport . ip saddr @pairs drop": "is not supported: a concatenation of fields",
        "reject with nothing": "'nothing' is no answer of reject",
        "reject with tcp rest": "expected reject with tcp reset",
        "tcp dport 9-8 drop": "its lowest value, 9, is larger than the highest, 8",
        "meta mark 1 drop": "'meta mark' has no equal here",
        "accept drop": "'drop' follows the verdict",
    },
    "ipfilter": {
        "allow tcp prot 80": "is not a rule",
        "perhaps tcp": "'perhaps' is not an action",
        "allow ip hl > 5": "it compares a part of a field",
    },
    "listing": {
        "1.2.3.0/24 1.2.3.0/24 5-4 1-2 6-6 DROP": "its lowest source port, 5, is larger than the highest, 4",
        "1.2.3.0/24 1.2.3.0/24 1-2 1-2 6-6 PASS": "'PASS' is not an action",
        "1.2.3.0/24 1.2.3.0/24 1-2 DROP": "expected [NUMBER] SOURCE DESTINATION",
    },
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_what_is_not_supported_is_named_with_its_line(heddle, tmp_path, kind):
    lines = list(UNSUPPORTED[kind])
    head, tail = {
        "iptables": (["*filter", ":FORWARD DROP [0:0]"], ["COMMIT"]),
        "nft": (["table inet t {", "chain c {"], ["}", "}"]),
    }.get(kind, ([], []))
    path, out = tmp_path / "rules", tmp_path / "out"
    path.write_text("\n".join([*head, *lines, *tail]) + "\n")
    err = heddle.fails("rules", "convert", path, "--format", kind, "-o", out)
    assert not out.exists()
    for number, line in enumerate(lines, len(head) + 1):
        found = [text for text in err.splitlines() if text.startswith(f"{path}:{number}: ")]
        assert len(found) == 1 and UNSUPPORTED[kind][line] in found[0], (line, err)
    assert len(err.splitlines()) == len(lines) + 1, err


def test_what_is_not_supported_is_skipped_if_asked_for(heddle, tmp_path):
    """And said line by line; what is no rule at all stays a mistake."""
    path = tmp_path / "saved"
    lines = [
        "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
        "-A INPUT -i lo -j ACCEPT",
        "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT",
        "-A INPUT -j REJECT --reject-with icmp-host-prohibited",
    ]
    path.write_text("\n".join(["*filter", ":INPUT ACCEPT [0:0]", *lines, "COMMIT"]) + "\n")
    assert "--ctstate" in heddle.fails("rules", "check", path)
    done = heddle("rules", "check", path, "--skip-unsupported")
    assert (done.code, done.out) == (
        0,
        "2 rules (iptables, chain INPUT), 0 of them shadowed; 2 skipped\n",
    )
    conntrack = "is not supported: its match 'conntrack' depends on packets before; rules here have no state"
    interface = (
        "is not supported: it asks for an interface (-i), which rules here do not see; put a Firewall behind each port"
    )
    assert done.err.splitlines() == [
        f"{path}:3: skipped: '{lines[0]}' {conntrack}",
        f"{path}:4: skipped: '{lines[1]}' {interface}",
        f"{path}:6: warning: reject becomes deny: senders get no answer",
    ]
    report = heddle("rules", "check", path, "--skip-unsupported", "--json").json
    assert (report["rules"], report["skipped"], report["answered"]) == (2, [3, 4], [6])
    done = heddle("rules", "convert", path, "--skip-unsupported")
    assert done.code == 0 and [line.split()[-3:] for line in done.out.splitlines()[1:]] == [
        ["#", "line", "5"],
        ["#", "line", "6"],
    ]
    assert "2 rules; 0 of other chains or without a verdict left out, 2 skipped; give the element" in done.err
    path.write_text(path.read_text().replace("--dport 22", "--dport 99999"))
    assert "'99999' is not a port" in heddle.fails("rules", "check", path, "--skip-unsupported")
    path.write_text(f"@0/0 0/0 {ANY} {ANY} 0x06/0xFF allow\n")
    assert "is for iptables and nft" in heddle.fails("rules", "check", path, "--skip-unsupported")


def test_rules_that_no_packet_can_match_are_named(heddle, tmp_path):
    rules = tmp_path / "rules.nft"
    rules.write_text("table ip t {\nchain c {\ntcp dport 1 tcp dport 2 drop\naccept\n}\n}\n")
    warning = f"{rules}:3: warning: no packet can match this rule: what it asks for contradicts itself\n"
    done = heddle("rules", "check", rules)
    assert (done.code, done.out, done.err) == (
        0,
        "1 rule (nft, chain t c), 0 of them shadowed\n",
        warning,
    )
    assert heddle("rules", "convert", rules).err.startswith(warning)
    assert heddle("rules", "check", rules, "--json").json["impossible"] == [3]


def test_a_line_that_is_several_rules_is_warned_of_once(heddle, tmp_path):
    rules = tmp_path / "rules.nft"
    rules.write_text(
        "table ip t {\nchain c {\ntcp dport { 1, 2 } drop\ntcp dport { 1, 2, 3 } accept\ntcp dport { 2, 3 } accept\n}\n}\n"
    )
    before = "those before take all of their packets"
    assert heddle("rules", "check", rules).err.splitlines() == [
        f"{rules}:4: warning: of the 3 rules that this line is, no packet can hit 2: {before} (line 3)",
        f"{rules}:5: warning: no packet can hit this rule: those before it take all of its packets (line 3, line 4)",
    ]


# ---- hostile files and words


def test_files_that_are_no_rule_files_are_refused(heddle, tmp_path):
    good = f"@0/0 0/0 {ANY} {ANY} 0x06/0xFF allow\n"
    zeros, binary, empty, rules = (tmp_path / name for name in ("zeros", "binary", "empty", "rules"))
    zeros.write_bytes(good.encode() + b"\0" + good.encode())
    binary.write_bytes(random.Random(SEED).randbytes(100_000).replace(b"\0", b"\1"))
    empty.write_text("")
    rules.write_text(good)
    for path, words in {
        zeros: "it holds zero bytes; give the path of a text file",
        "/dev/zero": "it holds zero bytes",
        tmp_path: "cannot read the rule file",
        tmp_path / "none": "cannot read the rule file",
        tmp_path / ("n" * 300): "cannot read the rule file",
        binary: "",
        empty: "it has no rules, so that its format cannot be told",
    }.items():
        assert words in heddle.fails("rules", "check", path)
        assert words in heddle.fails("rules", "convert", path, "-o", tmp_path / "out")
        assert not (tmp_path / "out").exists()
    for kind in ("iptables", "nft"):
        assert "the end, and there is" in heddle.fails("rules", "check", empty, "--format", kind)
    assert "cannot write" in heddle.fails("rules", "convert", rules, "-o", tmp_path)
    assert "cannot write" in heddle.fails("rules", "convert", rules, "-o", "/dev/full")


def test_a_byte_order_mark_is_no_text(heddle, tmp_path):
    saved = "*filter\n:FORWARD DROP [0:0]\n-A FORWARD -s 10.0.0.0/8 -j ACCEPT\nCOMMIT\n"
    plain, marked = tmp_path / "plain", tmp_path / "marked"
    plain.write_text(saved)
    marked.write_text(saved, encoding="utf-8-sig")
    converted = [heddle("rules", "convert", path) for path in (plain, marked)]
    assert [done.code for done in converted] == [0, 0], converted
    assert "@10.0.0.0/8" in converted[0].out
    assert converted[0].out == converted[1].out


def test_options_that_would_not_count_are_refused(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(f"@0/0 0/0 {ANY} {ANY} 0x06/0xFF allow\n")
    source = captures.write(tmp_path / "in.pcap", [b""])
    for words, why in {
        (
            "check",
            rules,
            "--chain",
            "x",
        ): "it has no chains, being of the format classbench",
        (
            "explain",
            rules,
            "1.2.3.4 1.2.3.4 1 1 6",
            "--packet",
            2,
        ): "--packet is for captures",
        (
            "explain",
            rules,
            source,
            "--all",
        ): "of a capture --all is for one packet; give --packet N",
        (
            "explain",
            rules,
            "x" * 5000,
        ): "is neither a capture that exists nor the fields of a packet",
    }.items():
        assert why in heddle.fails("rules", *words)
    assert "--packet: Value 0 not in range" in heddle.fails("rules", "explain", rules, source, "--packet", 0, code=105)


@pytest.mark.parametrize("kind", ["classbench", "listing", "iptables", "nft", "ipfilter"])
def test_one_wrong_byte_is_a_mistake_or_another_rule(heddle, tmp_path, kind):
    """Never a crash, and never a part of the file: every line is a rule, a warning, or a mistake that is named."""
    rng = random.Random(f"{SEED} bytes {kind}")
    text = {
        "classbench": f"@10.0.0.0/8 0/0 {ANY} 22 : 22 0x06/0xFF deny\n@::/0 2001:db8::/32 {ANY} {ANY} 6-17 flags=2/18 allow\n",
        "listing": "10.0.0.0/8 1.2.3.0/24 1-2 1-2 6-6 DROP\n177.237.31.1/32 15.66.202.19/32 123-123 0 ACCEPT\n",
        "iptables": "*filter\n:FORWARD DROP [0:0]\n-A FORWARD ! -s 10.0.0.0/8 -p tcp -m tcp --dport 80:90 -j ACCEPT\nCOMMIT\n",
        "nft": "table inet t {\nchain c {\nip saddr 10.0.0.0/8 tcp dport { 22, 80-90 } accept\n}\n}\n",
        "ipfilter": "allow dst 10.0.0.0/8 and dst tcp port www or https,\n1 tcp opt syn and not tcp opt ack\n",
    }[kind]
    path, out = tmp_path / "rules", tmp_path / "out"
    refused = 0
    for _ in range(60):
        wrong = bytearray(text.encode())
        wrong[rng.randrange(len(wrong))] = rng.choice([*b"0 ,;{}\"'#!:-/\\\n", rng.randrange(1, 256)])
        path.write_bytes(bytes(wrong))
        out.unlink(missing_ok=True)
        done = heddle("rules", "convert", path, "--format", kind, "-o", out)
        assert done.code in (0, 1) and out.exists() == (done.code == 0), (wrong, done)
        if done.code == 1:
            refused += 1
            assert re.search(rf"^{re.escape(str(path))}:\d+: ", done.err, re.MULTILINE), (wrong, done.err)
        else:
            assert heddle("rules", "check", out, "--format", "classbench").code == 0, wrong
    assert refused > 10
