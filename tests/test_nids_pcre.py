"""`pcre` in rules, against Python's re over the same payloads; and that no payload keeps the program busy."""

import functools
import json
import random
import re

import pytest
from scapy.all import Ether
from scapy.layers.inet import IP, TCP, UDP
from whole import captures
from whole.program import Report, quoted

LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def run(heddle, folder, rules, payloads, *options):
    """The report, and (packet, sid) of each alert."""
    (folder / "x.rules").write_text(rules)
    frames = [
        bytes(LINK / IP(src="10.0.0.1", dst="192.0.2.2") / UDP(sport=n, dport=53) / p) for n, p in enumerate(payloads)
    ]
    source = captures.write(folder / "in.pcap", frames)
    report = heddle.run(
        f"FromDump({quoted(source)}) -> CheckIPHeader(14, CHECKSUM false) -> ids :: NIDS({quoted(folder / 'x.rules')});"
        f" ids[0] -> out :: Discard; ids[1] -> c :: NIDSConfirm(ids, EVE {quoted(folder / 'eve.json')}) -> out;",
        *options,
    )
    alerts = [json.loads(line) for line in (folder / "eve.json").read_text().splitlines()]
    assert all(alert["event_type"] == "alert" and alert["proto"] == "UDP" for alert in alerts)
    return report, [(alert["src_port"], alert["alert"]["signature_id"]) for alert in alerts]


class Content:
    def __init__(self, text, distance=None):
        self.text, self.distance = text, distance

    def __str__(self):
        return f'content:"{self.text.decode()}"; ' + ("" if self.distance is None else f"distance:{self.distance}; ")

    def ends(self, payload, end):
        start = 0 if self.distance is None else max(end + self.distance, 0)
        places = range(start, len(payload) - len(self.text) + 1)
        return {k + len(self.text) for k in places if payload[k:].startswith(self.text)}


class Pcre:
    """`text` as in a rule; `same`: for Python, if it is another; `relative`: has R."""

    def __init__(self, text, letters="", same=None, negated=False):
        self.text, self.letters, self.negated, self.relative = text, letters, negated, "R" in letters
        flags = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}
        self.regex = re.compile((same or text).encode(), sum(flags.get(letter, 0) for letter in letters))

    def __str__(self):
        return f'pcre:{"!" if self.negated else ""}"/{self.text}/{self.letters}"; '

    def ends(self, payload, end):
        start = end if self.relative else 0
        text = payload[start:]
        first = [0] if "A" in self.letters else range(len(text) + 1)
        found = {start + match.end() for k in first if (match := self.regex.match(text, k))}
        return found if not self.negated else set() if found else {end}


def holds(parts, payload, end=0):
    return not parts or any(holds(parts[1:], payload, after) for after in parts[0].ends(payload, end))


RULES = [
    [Pcre("b[ac]{2}d")],
    [Pcre("B[AC]+D", "i")],
    [Pcre("^ab")],
    [Pcre("^ab", "m")],
    [Pcre("dd$")],
    [Pcre("dd$", "m")],
    [Pcre("dd$", "E", same="dd\\Z")],
    [Pcre("ab.cd")],
    [Pcre("ab.cd", "s")],
    [Pcre("a b # remark", "x")],
    [Pcre("[ab]*c", "A")],
    [Pcre("\\x00\\xff|\\\\|\\;|\\x22", same='\\x00\\xff|\\\\|;|"')],
    [Pcre("(a|bc)\\1d")],
    [Pcre("a(?=bb)|c(?!c)d")],
    [Pcre("acca", negated=True)],
    [Content(b"abc"), Pcre("cab", negated=True)],
    [Content(b"abc"), Pcre("d+a", "R")],
    [Content(b"abc"), Pcre("^.?d", "R")],
    [Content(b"ab"), Pcre("^[cd]", "R", negated=True)],
    [Content(b"ab"), Pcre("a", "RA"), Content(b"b", 0)],
    [Pcre("ab+"), Content(b"c", 0)],
    [Pcre("ab+?", "G", same="ab+"), Content(b"bc", 0)],
    [Pcre("a.*", "G", same="a.*?"), Content(b"dda", 1)],
    [Content(b"ba"), Pcre("c+", "R"), Content(b"d", 1), Pcre("a$", "R")],
    [Content(b"bb"), Pcre("ca|ac", "i"), Content(b"dd")],
    [Pcre("a.."), Pcre("d", "RA")],  # matches that overlap
    [Pcre("a*", "R"), Pcre("b", "RA"), Pcre("c", "RA", negated=True)],
]


def text_of(parts, sid):
    return f"alert udp any any -> any any ({''.join(map(str, parts))}sid:{sid};)\n"


@functools.cache
def payloads_and_alerts():
    source = random.Random(31)
    letters = [b"a", b"b", b"c", b"d", b"ab", b"dd", b"A", b"\n", b"\x00\xff", b"\\", b";", b'"']
    weights = [9, 9, 9, 9, 5, 3, 1, 1, 0.3, 0.1, 0.1, 0.1]
    payloads = [b"", b"\n", b"a", b"dd", b"dd\n", b"\ndd\n\n"]
    payloads += [b"".join(source.choices(letters, weights, k=source.randrange(60))) for _ in range(400)]
    return payloads, [
        (n, sid) for n, p in enumerate(payloads) for sid, parts in enumerate(RULES, 1) if p and holds(parts, p)
    ]


def test_matches_are_those_of_python(heddle, tmp_path, mode):
    payloads, wanted = payloads_and_alerts()
    report, got = run(heddle, tmp_path, "".join(map(text_of, RULES, range(1, 100))), payloads, *mode)
    assert got == wanted
    often = [sum(s == sid for _, s in wanted) for sid in range(1, len(RULES) + 1)]
    assert all(3 <= count <= len(payloads) - 3 for count in often), often
    assert report.one("c")["statistics"]["gave_up"] == 0


@pytest.mark.parametrize(
    ("options", "payload", "matches", "gives_up"),
    [
        ('pcre:"/(a+)+[bc]/";', b"a" * 1400, False, 1),
        ('pcre:"/(a+)+[bc]/";', b"aaab", True, 0),
        ('pcre:!"/(a+)+[bc]/";', b"a" * 1400, False, 1),
        ('content:"a"; pcre:!"/(a+)+[bc]/R";', b"a" * 1400, False, 1),
        ('pcre:"/(.*)(.*)(.*)(.*)(.*)[^a]x/s";', b"a" * 1399 + b"x", False, 1),
        # Many places where one may go on: so many are tried, and no more.
        ('pcre:"/a/"; content:"b"; distance:0;', b"b" + b"a" * 1400, False, 1),
        ('pcre:"/a/"; content:"b"; distance:0;', b"b" + b"a" * 900, False, 0),
        ('pcre:"/a/"; content:"b"; distance:0;', b"a" * 1400 + b"b", True, 1),
        ('content:"a"; pcre:"/^b/R";', b"a" * 1400 + b"b", False, 1),
        ('content:"a"; pcre:"/^b/R";', b"a" * 900 + b"b", True, 0),
    ],
    ids=lambda value: str(value)[:30],
)
def test_no_payload_keeps_it_busy(heddle, tmp_path, options, payload, matches, gives_up):
    rules = f"alert udp any any -> any any ({options} sid:1;)\nalert udp any any -> any any (dsize:>0; sid:2;)\n"
    report, got = run(heddle, tmp_path, rules, [payload])
    assert got == [(0, 1), (0, 2)][not matches :]
    assert report.one("c")["statistics"]["gave_up"] == gives_up


def test_a_rule_drops_by_its_expression(heddle, tmp_path, mode):
    (tmp_path / "x.rules").write_text(
        'drop tcp any any -> any 80 (msg:"a \\"shell\\""; content:"GET"; pcre:"/^ \\/(bin|sh)\\x2f/Ri"; sid:9; rev:3;)\n'
    )
    requests = [b"GET /bin/x", b"GET /SH/", b"GET /index", b"PUT /bin/x", b"GET  /bin/x"]
    frames = [bytes(LINK / IP(src="10.0.0.1", dst="192.0.2.2") / TCP(sport=7, dport=80) / r) for r in requests]
    source = captures.write(tmp_path / "in.pcap", frames)
    report = heddle.run(
        f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> ids :: NIDS({quoted(tmp_path / 'x.rules')});"
        f" ids[0] -> out :: ToDump({quoted(tmp_path / 'out.pcap')});"
        f" ids[1] -> c :: NIDSConfirm(ids, EVE {quoted(tmp_path / 'eve.json')}) -> out;",
        *mode,
    )
    assert captures.frames(tmp_path / "out.pcap") == frames[2:]
    assert report.drops("c") == {"drop": 2}
    alerts = [json.loads(line)["alert"] for line in (tmp_path / "eve.json").read_text().splitlines()]
    wanted = {"action": "blocked", "gid": 1, "signature_id": 9, "rev": 3, "signature": 'a "shell"', "category": ""}
    wanted["severity"] = 3
    assert alerts == [wanted, wanted]


def test_errors_name_the_line(heddle, tmp_path):
    (tmp_path / "x.rules").write_text(
        'alert udp any any -> any any (pcre:"/a/"; sid:1;)\n'
        'alert udp any any -> any any (pcre:"/a[/"; sid:2;)\n'
        'alert udp any any -> any any (content:"x"; \\\n pcre:"/a/O"; sid:3;)\n'
    )
    chain = f"Idle -> ids :: NIDS({quoted(tmp_path / 'x.rules')}, SKIP_UNSUPPORTED {{}}); ids[0] -> Discard; ids[1] -> NIDSConfirm(ids) -> Discard;"
    errors = heddle.fails("run", "-e", chain.format("false"))
    assert ":2: sid 2: pcre '\"/a[/\"' is wrong at byte 2: missing terminating ] for character class" in errors
    assert ":3: sid 3: pcre '\"/a/O\"' has the options 'O', which are not supported" in errors
    errors = heddle.fails("run", "-e", chain.format("true"))
    assert ":2: sid 2:" in errors and ":3: sid 3:" not in errors


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("option", ["skip=true", "--skip-unsupported"])
def test_unsupported_rules_are_skipped_by_command_line(heddle, tmp_path, command, option):
    rules = tmp_path / "x.rules"
    rules.write_text(
        'alert udp any any -> any any (content:"a"; sid:1;)\nalert udp any any -> any any (pcre:"/a/O"; sid:2;)\n'
        'alert nfs any any -> any any (content:"a"; sid:3;)\nalert udp any any -> any any (pcre:"/b/O"; sid:4;)\n'
    )
    by_variable = "=" in option
    (tmp_path / "chain").write_text(
        ("define($skip false); " if by_variable else "")
        + f"Idle -> ids :: NIDS({quoted(rules)}{', SKIP_UNSUPPORTED $skip' if by_variable else ''});"
        " ids[0] -> Discard; ids[1] -> NIDSConfirm(ids) -> Discard;"
    )
    assert ":2: sid 2: pcre" in heddle.fails(command, tmp_path / "chain")
    done = heddle(command, tmp_path / "chain", option)
    assert done.code == 0
    assert done.err == (
        f"heddle: warning: NIDS 'ids' leaves out 3 rules of '{rules}':\n"
        "2: the pcre options 'O' are not supported (line 2, sid 2; line 4, sid 4)\n"
        "1: protocol 'nfs' is not supported: ip, any, ipv4, ipv6, tcp, tcp-pkt, tcp-stream, udp, icmp, icmpv4, "
        "icmpv6, http, smtp, ftp, ssh, smb, tls and dns are (line 3, sid 3)\n"
    )
    statistics = Report(heddle("run", "--json", tmp_path / "chain", option).json).one("ids")["statistics"]
    assert (statistics["rules"], statistics["unsupported"]) == (1, 3)


def test_a_chain_may_refuse_what_the_command_line_skips(heddle, tmp_path):
    (tmp_path / "rules").write_text("alert nfs any any -> any any (sid:1;)\n")
    chain = f"Idle -> MarkIPHeader -> NIDS({quoted(tmp_path / 'rules')}, SKIP_UNSUPPORTED false) -> Discard"
    assert "protocol 'nfs'" in heddle.fails("check", "--skip-unsupported", "-e", chain)


def test_candidates_that_nobody_confirms_are_warned_of(heddle, tmp_path):
    (tmp_path / "rules").write_text('alert udp any any -> any any (content:"a"; sid:1;)\n')
    begin = f"Idle -> MarkIPHeader -> ids :: NIDS({quoted(tmp_path / 'rules')}); ids[0] -> out :: Discard;"
    warning = "heddle: warning: NIDS 'ids': candidates go nowhere but to Discard, so no alert comes of them;"
    for lost in ("Discard", "out", "Counter -> Queue -> Discard"):
        done = heddle("check", "-e", f"{begin} ids[1] -> {lost}")
        assert done.code == 0 and done.err.startswith(warning), done
    for kept in ("NIDSConfirm(ids) -> out", "Counter -> NIDSConfirm(ids) -> Discard", "ToDump(/dev/null)"):
        heddle.ok("check", "-e", f"{begin} ids[1] -> {kept}")
