"""`heddle rules`: formats, mistakes, shadowed rules and explanations. What rules mean is judged by the kernel's own packet
filter, which counts the same packets in a namespace, by ClassBench's expected matches, and by trying all packets."""

import itertools
import pathlib
import random
import re
import socket
import struct
import subprocess
from collections import Counter

import pytest
from whole import captures, judge
from whole.frames import SEED
from whole.program import quoted, wait_until

ANY = "0 : 65535"
ADDRESSES = ["10.0.0.1", "10.0.0.9", "10.0.1.1", "10.1.2.3", "10.9.9.9", "192.0.2.7"]
PORTS = [0, 1, 22, 53, 80, 90, 443, 1023, 1024, 65535]
ADDRESSES6 = ["2001:db8::1", "2001:db8:1::1", "2001:db8:1:2::9", "2001:db9::1"]


def dotted(text):
    return bytes(map(int, text.split(".")))


def bytes6(text):
    return socket.inet_pton(socket.AF_INET6, text)


def random_frames(rng, count, with_ip6):
    """Whole packets and first fragments. Not later ones: nft's matches, and iptables-nft's `-m udp --dport`, which it makes of
    them, read ports from these, where there are none (6.18). What becomes of them is tested in rule_list_test.cc and with the
    element (classifier_test.cc)."""
    frames = []
    for _ in range(count):
        protocol = rng.choice([6, 6, 17, 17, 1, 132, 47])
        flags = rng.choice([2, 0x12, 0x10, 1, 0, 4, 0x3F, rng.randrange(64)])
        payload = judge.transport(protocol, rng.choice(PORTS), rng.choice(PORTS), flags)
        if protocol == 1:
            payload = bytes([rng.choice([0, 3, 8]), rng.randrange(2)]) + payload[2:]
        if with_ip6 and rng.random() < 0.4:
            protocol = 58 if protocol == 1 else protocol
            if protocol == 58:
                payload = bytes([rng.choice([1, 128, 129]), 0]) + payload[2:]
            source, destination = (bytes6(rng.choice(ADDRESSES6)) for _ in "sd")
            frames.append(judge.ip6(source, destination, protocol, payload, rng.choice([2, 63, 64])))
        else:
            source, destination = (dotted(rng.choice(ADDRESSES)) for _ in "sd")
            fragment = rng.choice([0, 0, 0x4000, 0x2000])
            frames.append(judge.ip4(source, destination, protocol, payload, rng.choice([2, 63, 64]), fragment))
    return frames


# ---- nftables


def nft_match(rng, with_ip6):
    def one_of(read, *more):
        values = [str(read()) for _ in range(rng.randint(2, 3))]
        low, high = sorted((rng.choice(PORTS), rng.choice(PORTS)))
        return rng.choice(
            [values[0], "!= " + values[0], "{ " + ", ".join(sorted(set(values))) + " }", f"{low}-{high}", *more]
        )

    address = rng.choice(ADDRESSES)
    port = rng.choice(["tcp", "udp", "tcp", "udp", "sctp"]) + rng.choice([" sport ", " dport "])
    ports = one_of(lambda: rng.choice(PORTS), f"< {rng.choice(PORTS[1:])}", f">= {rng.choice(PORTS)}")
    matches = [
        "ip saddr "
        + rng.choice([address, f"{address}/{rng.choice([8, 15, 24, 31])}", f"!= {address}/24", "10.0.0.5-10.1.0.0"]),
        "ip daddr "
        + rng.choice([f"{{ {address}, 192.0.2.0/24 }}", f"& 255.0.0.255 == 10.0.0.{address[-1]}", f"!= {address}"]),
        port + ports,
        port + ports,
        f"meta l4proto {{ tcp, udp }} th dport {rng.choice(PORTS)}",
        rng.choice(["ip protocol tcp", "ip protocol != udp", "meta l4proto { tcp, icmp }", "meta l4proto 47"]),
        "tcp flags "
        + rng.choice(["syn", "syn / syn,ack", "& (fin | syn | rst | ack) == syn", "== syn | ack", "! ack", "!= syn"]),
        "icmp type " + rng.choice(["echo-request", "!= echo-reply", "{ echo-request, destination-unreachable }"]),
        rng.choice(
            ["ip ttl 64", "ip ttl < 64", "ip ttl != 2", "ip frag-off & 0x2000 != 0", "ip frag-off & 0xe000 == 0x4000"]
        ),
    ]
    if with_ip6:
        address6 = rng.choice(ADDRESSES6)
        matches += [
            f"ip6 {rng.choice(['saddr', 'daddr'])} {rng.choice(['', '!= '])}{address6}/{rng.choice([31, 32, 33, 48, 64, 127, 128])}",
            f"ip6 saddr {ADDRESSES6[0]}-{ADDRESSES6[2]}",
            f"ip6 nexthdr {rng.choice(['tcp', 'udp', 'ipv6-icmp'])}",
            "icmpv6 type echo-request",
            f"meta nfproto {rng.choice(['ipv4', 'ipv6'])}",
        ]
    return rng.choice(matches)


def misread_by_nft(matches):
    """nft 1.0.6 loads "ip ttl != 2 ip protocol != udp" as one comparison of both, and where a rule asks for a protocol by itself
    and by another match, it forgets one of the two when it lists the rule."""
    header = lambda match: "th" if match.split()[0] in ("tcp", "udp", "sctp") else match.split()[0]
    joined = any(
        "!=" in one and "!=" in two and header(one) == header(two) for one, two in itertools.combinations(matches, 2)
    )
    by_itself = sum(match.startswith(("meta l4proto", "ip protocol", "ip6 nexthdr")) for match in matches)
    return joined or (by_itself and by_itself + sum(header(match) in ("th", "icmp", "icmpv6") for match in matches) > 1)


def nft_rules(rng, count, family):
    """A ruleset whose chain `judged` counts what the rules in it hit."""
    table = f"table {family} t {{\n  chain judged {{\n"
    rules = []
    for _ in range(count):
        matches = [nft_match(rng, family == "inet") for _ in range(rng.choice([1, 2, 2, 3, 3]))]
        if misread_by_nft(matches):
            continue
        rules.append(f"    {' '.join(matches)} counter {rng.choice(['accept', 'drop'])}\n")
    rules.sort(key=lambda rule: -rule.count(" "))  # what asks for little comes last, or the others would see nothing
    mac = ":".join(f"{byte:02x}" for byte in judge.MAC)
    entry = f"  chain entry {{\n type filter hook prerouting priority -500;\n ether saddr {mac} jump judged\n  }}\n"
    return table, rules, "  }\n" + entry + "}\n"


def loadable(space, rng, family):
    """Loads rules that nft takes: it refuses some contradictions, and names their lines."""
    head, rules, tail = nft_rules(rng, 120, family)
    while True:
        done = subprocess.run(
            space.command("nft", "-f", "-"),
            input=head + "".join(rules) + tail,
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            break
        bad = {
            int(number) - 1 - head.count("\n")
            for number in re.findall(r"^/dev/stdin:(\d+):", done.stderr, re.MULTILINE)
        }
        kept = [rule for at, rule in enumerate(rules) if at not in bad]
        assert len(kept) < len(rules), done.stderr
        rules = kept
    assert len(rules) > 25, rules


def hits_by_line(heddle, rules, frames, folder, *options):
    source = captures.write(folder / "judged.pcap", frames)
    answers = heddle.ok("rules", "explain", rules, source, "--json", *options).json
    assert len(answers) == len(frames)
    return Counter(answer["line"] for answer in answers if answer["rule"] is not None)


CHECKS = {
    "ip": "FromDump({}) -> CheckIPHeader(14) -> c",
    "inet": "FromDump({}) -> v :: Classifier(12/0800, 12/86dd); v[0] -> CheckIPHeader(14) -> c; v[1] -> CheckIP6Header(OFFSET 14) -> c",
}


ENGINES = [("bitvector", "cpu"), ("tuple", "cpu"), ("hypersplit", "cpu"), ("bitvector", "simt"), ("hypersplit", "simt")]


def engine_hits_by_line(heddle, rules, frames, folder, engine, device, family, *options):
    """The same by a chain with this engine on this device, and its handler `hits`."""
    converted = folder / "converted"
    done = heddle("rules", "convert", rules, "-o", converted, *options)
    assert done.code == 0
    fields = re.search(r"FIELDS \w+", done.err)
    source = captures.write(folder / "judged.pcap", frames)
    chain = f"c :: Firewall(RULES {quoted(converted)}, DEFAULT deny, ENGINE {engine}{', ' + fields[0] if fields else ''}) -> Discard; "
    chain += CHECKS[family].format(quoted(source))
    out = heddle("run", "--quiet", "--device", device, "-e", chain, "-h", "c.hits")
    assert out.code == 0, out
    lines = [int(re.search(r"# line (\d+)$", line)[1]) for line in converted.read_text().splitlines()[1:]]
    found = Counter()
    for number, count in re.findall(r"^(\d+) (\d+)$", out.out, re.MULTILINE):
        found[lines[int(number)]] += int(count)
    return found


def expect_counts(space, list_command, frames, judged):
    """Sends the frames and waits until the judge has seen all that `judged` says are hit."""
    judge.send(space, frames)
    total = sum(judged.values())
    wait_until(lambda: sum(judge.counters(space.call(*list_command)).values()) >= total, what="the kernel's counters")
    text = space.call(*list_command)
    counted = judge.counters(text)
    wrong = [
        f"line {number}: {counted[number]} packets, ours {judged[number]}: {line.strip()}"
        for number, line in enumerate(text.splitlines(), 1)
        if counted.get(number, 0) != judged[number]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("family", ["ip", "inet"])
def test_nftables_judges_rules(heddle, tmp_path, family):
    rng = random.Random(f"{SEED} nft {family}")
    with judge.namespace("nft") as space:
        loadable(space, rng, family)
        rules = tmp_path / "rules.nft"
        rules.write_text(space.call("nft", "list", "ruleset"))
        frames = random_frames(rng, 3000, family == "inet")
        ours = hits_by_line(heddle, rules, frames, tmp_path, "--chain", "judged")
        expect_counts(space, ["nft", "list", "ruleset"], frames, ours)
        assert len(ours) > 15 and sum(ours.values()) > 1000
        for engine in ENGINES:
            assert engine_hits_by_line(heddle, rules, frames, tmp_path, *engine, family, "--chain", "judged") == ours


# ---- iptables


def iptables_rule(rng):
    words = []
    negate = lambda: rng.choice(["", "", "! "])
    if rng.random() < 0.6:
        address = rng.choice(ADDRESSES)
        words.append(
            rng.choice(
                [
                    f"{negate()}-s {address}/{rng.choice([8, 15, 24, 32])}",
                    f"{negate()}-d {address}",
                    f"{negate()}-s 10.0.0.{address[-1]}/255.0.0.255",
                    f"-m iprange {negate()}--src-range 10.0.0.5-10.1.0.0",
                ]
            )
        )
    kind = rng.randrange(7)
    port = rng.choice(PORTS)
    low, high = sorted(rng.sample(PORTS, 2))
    protocol = rng.choice(["tcp", "udp"])
    if kind == 0:
        words.append(
            f"-p {protocol} -m {protocol} {negate()}--{rng.choice(['sport', 'dport'])} {rng.choice([port, f'{low}:{high}'])}"
        )
    elif kind == 1:
        words.append(
            f"-p {protocol} -m multiport {negate()}--{rng.choice(['sports', 'dports', 'ports'])} {port},{low}:{high}"
        )
    elif kind == 2:
        words.append(
            f"-p tcp -m tcp {negate()}--tcp-flags {rng.choice(['FIN,SYN,RST,ACK SYN', 'SYN,ACK NONE', 'ALL ACK'])}"
        )
    elif kind == 3:
        words.append(f"-p icmp -m icmp {negate()}--icmp-type {rng.choice(['8', '3/1', '0'])}")
    elif kind == 4:
        words.append(f"{negate()}-p {rng.choice(['tcp', 'udp', 'icmp', '47'])}")
    elif kind == 5:
        words.append(f"{negate()}-f")
    else:
        words.append(f"-m ttl --ttl-{rng.choice(['eq', 'lt', 'gt'])} 63")
    return f"-A FORWARD {' '.join(words)} -j {rng.choice(['ACCEPT', 'DROP'])}\n"


def with_ttl_to_spare(frame):
    """The chain FORWARD sees packets after their TTL has been decremented."""
    header = bytearray(frame[14:34])
    header[8], header[10:12] = header[8] + 1, bytes(2)
    header[10:12] = judge.checksum(header).to_bytes(2, "big")
    return frame[:14] + bytes(header) + frame[34:]


@pytest.mark.usefixtures("root")
def test_iptables_judges_rules(heddle, tmp_path):
    rng = random.Random(f"{SEED} iptables")
    with judge.namespace("iptables-nft-restore") as space:
        for setting in (
            "ip_forward=1",
            "conf.all.rp_filter=0",
            "conf.default.rp_filter=0",
            f"conf.{judge.DEVICE[1]}.rp_filter=0",
        ):
            space.call("sysctl", "-qw", f"net.ipv4.{setting}")
        space.call("ip", "address", "add", "172.16.0.1/24", "dev", judge.DEVICE[1])
        space.call("ip", "route", "add", "default", "dev", judge.DEVICE[1])
        lines = "".join(sorted((iptables_rule(rng) for _ in range(50)), key=lambda rule: -rule.count(" ")))
        text = f"*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n{lines}COMMIT\n"
        judge.load(space, ["iptables-nft-restore"], text)
        save = ["iptables-nft-save", "-c", "-t", "filter"]
        rules = tmp_path / "rules.iptables"
        rules.write_text(space.call(*save))
        mac = bytes.fromhex(space.call("cat", f"/sys/class/net/{judge.DEVICE[1]}/address").strip().replace(":", ""))
        frames = [mac + frame[6:] for frame in random_frames(rng, 3000, False)]  # broadcasts are not forwarded
        ours = hits_by_line(heddle, rules, frames, tmp_path)
        expect_counts(space, save, [with_ttl_to_spare(frame) for frame in frames], ours)
        assert len(ours) > 10 and sum(ours.values()) > 1000
        for engine in ENGINES:
            assert engine_hits_by_line(heddle, rules, frames, tmp_path, *engine, "ip") == ours


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
        answers = heddle.ok("rules", "explain", rules, captures.write(tmp_path / "trace.pcap", frames), "--json").json
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
    assert (out["rule"], [missed["line"] for missed in out["missed"]]) == (None, [2, 3, 5, 6])
    tagged = (
        b"\xff" * 12
        + b"\x81\x00\x20\x07"
        + judge.ip4(dotted("9.9.9.9"), dotted("1.1.1.1"), 6, judge.transport(6, 1, 2, 2))[12:]
    )
    other = judge.ip6(bytes6("2001:db8::1"), bytes6("::1"), 17, judge.transport(17, 1, 2, 0))
    source = captures.write(tmp_path / "in.pcap", [tagged, other, b"\xff" * 12 + b"\x08\x06" + bytes(40)])
    assert [a.get("rule") for a in heddle.ok("rules", "explain", rules, source, "--json").json] == [1, 2, None]
    assert "hits rule 2 (line 5)" in heddle.ok("rules", "explain", rules, source, "--packet", 2).out
    assert "packet 3: no IP packet" in heddle.ok("rules", "explain", rules, source).out
    for wrong in (["1.2.3.4"], ["1.2.3.4 1.2.3.4 1 1"], ["1.2.3.4 ::1 1 1 6"], ["1.2.3.4 1.2.3.4 1 1 6 speed=1"]):
        heddle.fails("rules", "explain", rules, *wrong)
    heddle.fails("rules", "explain", rules, source, "--packet", 9)


def test_tables_of_both_versions_see_both(heddle, tmp_path):
    """Also where no rule asks for the version, neither by itself nor by an address."""
    rules = tmp_path / "rules.nft"
    rules.write_text("table inet t {\nchain c {\ntcp dport 22 accept\nudp dport 53 drop\n}\n}\n")
    four = judge.ip4(dotted("9.9.9.9"), dotted("1.1.1.1"), 6, judge.transport(6, 1, 22, 2))
    six = [
        judge.ip6(bytes6("2001:db8::1"), bytes6("::1"), protocol, judge.transport(protocol, 1, port, 2))
        for protocol, port in ((6, 22), (17, 53), (17, 54))
    ]
    frames = [four, *six]
    source = captures.write(tmp_path / "in.pcap", frames)
    answers = heddle.ok("rules", "explain", rules, source, "--json").json
    assert [answer["rule"] for answer in answers] == [0, 0, 1, None]
    assert answers[1]["packet"].startswith("2001:db8::1 ::1 1 22 6")
    assert "hits rule 1" in heddle.ok("rules", "explain", rules, "2001:db8::1 ::1 1 53 17").out
    assert "give the element FIELDS version" in heddle("rules", "convert", rules).err
    for engine in ENGINES:
        assert engine_hits_by_line(heddle, rules, frames, tmp_path, *engine, "inet") == {3: 2, 4: 1}
    rules.write_text(rules.read_text().replace("inet", "ip"))
    answers = heddle.ok("rules", "explain", rules, source, "--json").json
    assert [answer.get("rule") for answer in answers] == [0, None, None, None]
    assert answers[1]["problem"] == "no IPv4 packet, and the rules look at no others"
    err = heddle.fails("rules", "explain", rules, "2001:db8::1 ::1 1 53 17")
    assert "'2001:db8::1' is an IPv6 address, and the rules look at IPv4 only" in err
    assert "FIELDS" not in heddle("rules", "convert", rules).err


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
        "-A FORWARD -j LOG": "its target 'LOG' is neither ACCEPT nor DROP",
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
        "ip saddr @blocked drop": "the named set or variable '@blocked'",
        "jump other": "the verdict 'jump' has no equal here",
        "tcp dport vmap { 1 : accept }": "is not a port",
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


def test_rules_that_no_packet_can_match_are_named(heddle, tmp_path):
    rules = tmp_path / "rules.nft"
    rules.write_text("table ip t {\nchain c {\ntcp dport 1 tcp dport 2 drop\naccept\n}\n}\n")
    warning = f"{rules}:3: warning: no packet can match this rule: what it asks for contradicts itself\n"
    done = heddle("rules", "check", rules)
    assert (done.code, done.out, done.err) == (0, "1 rules (nft, chain t c), 0 of them shadowed\n", warning)
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


def test_options_that_would_not_count_are_refused(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(f"@0/0 0/0 {ANY} {ANY} 0x06/0xFF allow\n")
    source = captures.write(tmp_path / "in.pcap", [b""])
    for words, why in {
        ("check", rules, "--chain", "x"): "it has no chains, being of the format classbench",
        ("explain", rules, "1.2.3.4 1.2.3.4 1 1 6", "--packet", 2): "--packet is for captures",
        ("explain", rules, source, "--all"): "of a capture --all is for one packet; give --packet N",
        ("explain", rules, "x" * 5000): "is neither a capture that exists nor the fields of a packet",
    }.items():
        assert why in heddle.fails("rules", *words)


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
