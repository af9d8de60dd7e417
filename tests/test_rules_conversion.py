"""`heddle rules` with what hosts print: chains of one name, both versions, names of types and codes, lines that only
tell of packets; and what the element says of files that are no rule files."""

import re
import shutil
import subprocess

import pytest
from whole import captures, judge
from whole.control import Control
from whole.program import quoted

ANY = "0 : 65535"
ALL = f"@0/0 0/0 {ANY} {ANY} 0x00/0x00"


def table(family, chain, *rules, hook="type filter hook forward priority 0; policy drop;"):
    return f"table {family} filter {{\nchain {chain} {{\n{hook}\n" + "".join(f"{rule}\n" for rule in rules) + "}\n}\n"


def inet(*rules, policy="drop"):
    return table("inet", "c", *rules, hook=f"type filter hook forward priority 0; policy {policy};")


# ---- chains


def test_chains_of_both_versions_are_told_apart(heddle, tmp_path):
    """As iptables-nft and ip6tables-nft leave them behind."""
    rules = tmp_path / "rules.nft"
    rules.write_text(table("ip", "FORWARD", "tcp dport 80 accept") + table("ip6", "FORWARD", "tcp dport 81 accept"))
    for chain in (None, "FORWARD", "filter FORWARD"):
        err = heddle.fails("rules", "check", rules, *(["--chain", chain] if chain else []))
        assert "'ip filter FORWARD', 'ip6 filter FORWARD'" in err, err
        assert ("may be 2 of its chains" in err) == (chain is not None), err
    assert "'x' is not one of its chains; there are 'ip filter" in heddle.fails("rules", "check", rules, "--chain", "x")
    for family, version, port in (("ip", "@0.0.0.0/0", 80), ("ip6", "@::/0", 81)):
        done = heddle("rules", "convert", rules, "--chain", f"{family} filter FORWARD")
        assert done.code == 0 and f"chain {family} filter FORWARD" in done.out
        assert done.out.splitlines()[1].startswith(version) and f"{port} : {port}" in done.out


def test_the_version_of_iptables_is_said_or_asked_for(heddle, tmp_path):
    path = tmp_path / "saved"
    head = "-P FORWARD DROP\n-A FORWARD -p tcp -m tcp --dport 443 -j ACCEPT\n"
    path.write_text(head)
    assert "say so with --family ip or --family ip6" in heddle.fails("rules", "convert", path)
    for family, start in (("ip", "@0.0.0.0/0"), ("ip6", "@::/0")):
        out = heddle("rules", "convert", path, "--family", family).out
        assert out.splitlines()[1].startswith(start)
    for more, start in {
        "-p ipv6-icmp": "@::/0",
        "-p icmp": "@0.0.0.0/0",
        "-s 2001:db8::/32": "@::/0",
        "-s 192.0.2.1/32": "@0.0.0.0/0",
    }.items():
        path.write_text(f"{head}-A FORWARD {more} -j ACCEPT\n")
        assert heddle("rules", "convert", path).out.splitlines()[1].startswith(start), more
        other = "ip6" if start == "@0.0.0.0/0" else "ip"
        assert "--family says the other version" in heddle.fails("rules", "convert", path, "--family", other)
    path.write_text(f"{ALL} allow\n")
    assert "--family is for iptables" in heddle.fails("rules", "check", path, "--family", "ip")


# ---- words of nft


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("icmp type", 0),
        ("icmp code", 1),
        ("icmpv6 type", 0),
        ("icmpv6 code", 1),
        ("ip dscp", None),
    ],
)
def test_all_names_that_nft_has(heddle, tmp_path, field, place):
    if shutil.which("nft") is None:
        pytest.skip("nft is not installed (make deps)")
    described = subprocess.run(["nft", "describe", *field.split()], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^\t(\S+)\s+(0x[0-9a-f]+|\d+)$", described, re.MULTILINE)
    assert len(names) > 5, described
    rules = tmp_path / "rules.nft"
    rules.write_text(inet(*(f"{field} {name} drop" for name, _ in names)))
    lines = heddle("rules", "convert", rules).out.splitlines()[1:]
    assert len(lines) == len(names)
    for (name, value), line in zip(names, lines):
        number = int(value, 0)
        wanted = f"transport[{place}/1]={number} " if place is not None else f"ip[1/1]={4 * number}-{4 * number + 3} "
        assert wanted in line, (name, line)


def test_words_with_hyphens_are_said_whole(heddle, tmp_path):
    rules = tmp_path / "rules.nft"
    rules.write_text(inet("icmpv6 type mld9-listener-report drop", "ip dscp cs1-af11 drop", "tcp dport 1-99999 drop"))
    err = heddle.fails("rules", "check", rules)
    assert "'mld9-listener-report' is not a number up to 255, or a name" in err
    assert "'1-99999' is not a port" in err and "cs1" not in err


# ---- what has no effect on the verdict


def test_lines_that_tell_of_packets_do_not_lose_their_rule(heddle, tmp_path):
    rules = tmp_path / "rules.nft"
    rules.write_text(
        inet(
            'tcp dport 23 log prefix "telnet " level warn flags tcp sequence,options flags ip options drop',
            'tcp dport 24 counter name "c" drop',
            'limit rate 5/minute log prefix "x"',
            "meta mark set 0x1 tcp dport 25 log group 2 snaplen 64 queue-threshold 3 drop",
            'tcp dport 26 log flags all counter drop comment "y"',
        )
    )
    done = heddle("rules", "convert", rules)
    assert done.code == 0, done.err
    ports = [re.search(r"(\d+) : \1 0x06", line)[1] for line in done.out.splitlines()[1:]]
    assert ports == ["23", "24", "25", "26"]
    rules.write_text(inet("ip dscp set cs1", "tcp dport 1 accept"))
    assert "'ip dscp set' changes packets, and rules here only sort them" in heddle.fails("rules", "check", rules)
    saved = tmp_path / "saved"
    saved.write_text(
        "*filter\n:FORWARD DROP [0:0]\n-A FORWARD -s 10.0.0.0/8 -m limit --limit 5/min -j LOG --log-prefix x --log-level 4\n"
        "-A FORWARD -p tcp -j NFLOG --nflog-group 2\n-A FORWARD -s 10.0.0.0/8 -j ACCEPT\nCOMMIT\n"
    )
    done = heddle("rules", "check", saved)
    assert done.code == 0 and "1 rule (iptables, chain FORWARD)" in done.out, done


def test_skipped_lines_that_drop_are_said_loudly(heddle, tmp_path):
    rules = tmp_path / "rules.nft"
    lines = ["ct state invalid drop", "iif lo accept", "ct state new reject", "tcp dport 1 accept"]
    rules.write_text(inet(*lines, policy="accept"))
    done = heddle("rules", "convert", rules, "--skip-unsupported")
    assert done.code == 0
    assert (
        "WARNING: 2 of the skipped lines drop packets, return, or lead to chains that may drop some (line 4, line 6)"
        in done.err
    )
    assert "to the policy, allow" in done.err
    report = heddle("rules", "check", rules, "--skip-unsupported", "--json").json
    assert report["skipped"] == [4, 5, 6] and report["skipped_drops"] == [4, 6]
    rules.write_text(inet(lines[1], lines[3], policy="accept"))
    assert "WARNING" not in heddle("rules", "convert", rules, "--skip-unsupported").err
    saved = tmp_path / "saved"
    saved.write_text("*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -i eth0 -s 10.0.0.0/8 -j DROP\nCOMMIT\n")
    assert "WARNING: 1 of the skipped" in heddle("rules", "check", saved, "--skip-unsupported", "--family", "ip").err
    for line, is_said in {
        "-i eth0 -j RETURN": True,  # the rules behind are not theirs
        "-i eth0 -j SOMETHING": True,
        "-i eth0 -p tcp -j TCPMSS --clamp-mss-to-pmtu": False,
        "-i eth0 -j MARK --set-mark 1": False,
    }.items():
        saved.write_text(f"*filter\n:FORWARD DROP [0:0]\n-A FORWARD {line}\n-A FORWARD -p tcp -j ACCEPT\nCOMMIT\n")
        err = heddle("rules", "check", saved, "--skip-unsupported", "--family", "ip").err
        assert ("WARNING: 1 of the skipped" in err) == is_said, err
    rules.write_text(inet('iifname "eth0" return', "tcp dport 1 accept"))
    assert "WARNING: 1 of the skipped" in heddle("rules", "check", rules, "--skip-unsupported").err


def test_drops_of_other_chains_are_said_loudly(heddle, tmp_path):
    """Of those that the same packets come through, and of chains that these lead to."""
    rules = tmp_path / "rules.nft"
    rules.write_text(
        "table inet a {\nchain side {\ntcp dport 1 drop\n}\nchain early {\n"
        "type filter hook prerouting priority -300; policy drop;\nip saddr 10.0.0.0/8 jump side\ntcp dport 2 accept\n}\n"
        "chain in {\ntype filter hook input priority 0; policy drop;\ntcp dport 3 drop\n}\n}\n" + inet("accept")
    )
    done = heddle("rules", "convert", rules, "--chain", "inet filter c")
    assert "WARNING: 2 lines of other chains or tables through which packets also go drop some" in done.err
    assert "(line 3, line 6)" in done.err and done.code == 0
    assert heddle("rules", "check", rules, "--chain", "c", "--json").json["other_drops"] == [3, 6]
    saved = tmp_path / "saved"
    saved.write_text(
        "*raw\n:PREROUTING ACCEPT [0:0]\n:OUTPUT DROP [0:0]\n:mine - [0:0]\n-A PREROUTING -i eth0 -g mine\n"
        "-A mine -s 10.0.0.0/8 -j DROP\n-A OUTPUT -j DROP\nCOMMIT\n*mangle\n:FORWARD DROP [0:0]\n:INPUT DROP [0:0]\n"
        "-A FORWARD -j MARK --set-mark 1\nCOMMIT\n*filter\n:FORWARD DROP [0:0]\n:INPUT DROP [0:0]\n"
        "-A FORWARD -s 192.0.2.0/24 -j ACCEPT\nCOMMIT\n"
    )
    assert heddle("rules", "check", saved, "--json").json["other_drops"] == [6, 10]


def test_the_remedy_for_extension_headers(heddle, tmp_path):
    """What the warning proposes drops what rules about TCP would miss."""
    rules, mended = tmp_path / "rules.nft", tmp_path / "mended"
    rules.write_text(inet("tcp dport 22 drop", "ip6 saddr 2001:db8::/32 accept"))
    done = heddle("rules", "convert", rules)
    assert "warning: for IPv6 1 of the lines ask for a protocol or what is in its header (line 4)" in done.err
    first = re.search(r"'(@::/0 [^']+ deny)', and the same with (\S+), (\S+), (\S+) and (\S+)$", done.err, re.MULTILINE)
    firsts = [first[1], *(first[1].replace("0x00/0xFF", other) for other in first.groups()[1:])]
    mended.write_text("\n".join(firsts) + "\n" + done.out)
    tcp, hosts = judge.transport(6, 1, 22, 2), [judge.packed(f"2001:db8::{i}") for i in (1, 2)]
    frames = [judge.ip6(*hosts, one, bytes([6, 0, 1, 4, 0, 0, 0, 0]) + tcp) for one in (0, 43, 44, 51, 60)]
    source = captures.write(tmp_path / "in.pcap", [*frames, judge.ip6(*hosts, 6, tcp)])
    actions = lambda path: [one["action"] for one in heddle("rules", "explain", path, source, "--json").json]
    assert actions(rules) == ["allow"] * 5 + ["deny"]
    assert actions(mended) == ["deny"] * 6


# ---- explain as the chain


def test_explain_does_not_guess_what_the_capture_lacks(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(f"@0/0 0/0 {ANY} 80 : 80 0x06/0xFF flags=2/18 deny\n{ALL} allow\n")
    frame = judge.ip4(b"\12\0\0\1", b"\12\0\0\2", 6, judge.transport(6, 1, 80, 2) + bytes(20))
    sizes = {len(frame): "", 50: "", 48: "", 47: "cut", 36: "cut", 30: "cut", 14: "cut", 13: "cut", 0: "cut"}
    source = tmp_path / "in.pcap"
    source.write_bytes(captures.pcap([captures.Packet(10**18, len(frame), frame[:size]) for size in sizes]))
    lines = heddle.ok("rules", "explain", rules, source).out.splitlines()
    assert len(lines) == len(sizes)
    for (size, is_cut), line in zip(sizes.items(), lines):
        lack = f"the capture has only {size} of its {len(frame)} bytes; the rules ask for bytes behind them"
        assert lack in line if is_cut else "rule 0 (line 1), deny" in line, line


def test_explain_looks_at_the_packet_up_to_its_end(heddle, tmp_path):
    """What lies behind an IP packet is none of it, and headers that contradict themselves are not valid."""
    rules = tmp_path / "rules"
    rules.write_text(f"@0/0 0/0 {ANY} 80 : 80 0x06/0xFF allow\n{ALL} deny\n")
    whole = judge.ip4(b"\12\0\0\1", b"\12\0\0\2", 6, judge.transport(6, 1, 80, 2))

    def changed(frame, at, value):
        header = bytearray(frame[14:34])
        header[at] = value
        header[10:12] = bytes(2)
        header[10:12] = judge.checksum(header).to_bytes(2, "big")
        return frame[:14] + bytes(header) + frame[34:]

    six = judge.ip6(judge.packed("2001:db8::1"), judge.packed("::1"), 6, judge.transport(6, 1, 80, 2))
    frames = [whole, changed(whole, 3, 20), changed(whole, 0, 0x44), changed(whole, 3, 200), whole + bytes(30)]
    source = captures.write(tmp_path / "in.pcap", [*frames, six[:19] + b"\0" + six[20:]])
    lines = heddle.ok("rules", "explain", rules, source).out.splitlines()
    assert [line.split(": ", 1)[1].split(",")[0] for line in lines] == [
        "10.0.0.1 10.0.0.2 1 80 6: rule 0 (line 1)",
        "short",
        "its IP header says that it has 16 bytes itself",
        "its IP header says that it has 200 bytes",
        "10.0.0.1 10.0.0.2 1 80 6: rule 0 (line 1)",
        "no IPv4 packet",
    ]
    chain = f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> f :: Firewall(RULES {quoted(rules)}, DEFAULT deny) -> Discard"
    assert heddle.ok("run", "--quiet", "-e", chain, "-h", "f.hits").out.split() == ["0", "2"]


# ---- the element's own file


FOREIGN = {
    "iptables-save": "# Generated by iptables-save v1.8.9\n*filter\n:FORWARD DROP [0:0]\n-A FORWARD -j DROP\nCOMMIT\n",
    "nft": "table ip t {\nchain c {\ntcp dport 1 drop\n}\n}\n",
    "Click's IPFilter": "allow tcp\ndeny all\n",
}


@pytest.mark.parametrize("program", FOREIGN)
def test_files_of_others_are_to_be_converted(heddle, tmp_path, program):
    path = tmp_path / "rules"
    path.write_text(FOREIGN[program])
    err = heddle.fails(
        "check", "-e", f"Idle -> MarkIPHeader -> Firewall(RULES {quoted(path)}, DEFAULT deny) -> Discard"
    )
    assert f"{path}: these are rules of {program}; make a rule file of them with `heddle rules convert {path} -o" in err
    assert "1 mistake in the chain" in err


def test_no_rules_are_none_only_if_the_file_says_so(heddle, tmp_path):
    path = tmp_path / "rules"
    chain = f"Idle -> MarkIPHeader -> f :: Firewall(RULES {quoted(path)}, DEFAULT deny) -> Discard"
    no_rules = f"{path}: it has no rules; if that is meant, say so in it by a comment (#)"
    for text in ("", "\n \n"):
        path.write_text(text)
        assert no_rules in heddle.fails("check", "-e", chain)
    path.write_text(f"{ALL} allow\n")
    with heddle.start("run", "--quiet", "-u", tmp_path / "control", "-e", chain) as running:
        control = Control(tmp_path / "control")
        path.write_text("")
        code, text, _ = control.command("WRITE f.reload x")
        assert code == 520 and no_rules in text and control.read("f.count") == "1"
        path.write_text("# none for now\n")
        control.write("f.reload")
        assert control.read("f.count") == "0"
        code, text, _ = control.command(f"WRITE f.add {ALL} allow")
        assert code == 520 and "expected add NUMBER @SOURCE DESTINATION" in text
        assert f"'{ALL.split()[0]}' is not a number" in text
        control.write("stop")
        running.wait()


def test_numbers_that_are_too_large(heddle, tmp_path):
    path = tmp_path / "rules"
    path.write_text(f"4294967295 {ALL} allow\n")
    assert "its number is larger than 4294967294" in heddle.fails("rules", "check", path, "--format", "classbench")


def test_no_numbers_are_left_behind_the_largest(heddle, tmp_path):
    path = tmp_path / "rules"
    path.write_text(f"4294967294 {ALL} allow\n")
    chain = f"Idle -> MarkIPHeader -> Firewall({ALL} deny, RULES {quoted(path)}, DEFAULT deny) -> Discard"
    assert "the last rule of RULES has number 4294967294, and those of the arguments" in heddle.fails(
        "check", "-e", chain
    )


def test_rules_that_no_packet_can_hit_are_counted_at_the_start(heddle, tmp_path):
    path = tmp_path / "rules"
    path.write_text(f"{ALL} allow\n@10.0.0.0/8 0/0 {ANY} {ANY} 0x06/0xFF deny\n@::/0 ::/0 {ANY} {ANY} 0x06/0xFF deny\n")
    chain = f"Idle -> MarkIPHeader -> f :: Firewall(RULES {quoted(path)}, DEFAULT deny) -> Discard"
    warning = "heddle: f: warning: no packet can hit 2 of its 3 rules, for others before take them all (1, 2)"
    assert warning in heddle("check", "-e", chain).err
    assert warning in heddle("run", "--time", "0.1", "-e", chain).err
    assert "warning" not in heddle("run", "--quiet", "--time", "0.1", "-e", chain).err
    path.write_text(f"{ALL} allow\n")
    assert "warning" not in heddle("check", "-e", chain).err


@pytest.mark.parametrize("text", ["allow tcp dst port 80, deny udp, allow all\n", "IPFilter(allow tcp, deny all)\n"])
def test_one_rule_of_ipfilter_a_line(heddle, tmp_path, text):
    path = tmp_path / "rules"
    path.write_text(text)
    assert "; give each rule a line of its own, without IPFilter( and )" in heddle.fails("rules", "convert", path)
