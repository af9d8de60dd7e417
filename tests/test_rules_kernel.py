"""What `heddle rules` says of a packet is what the kernel's own packet filter does with it, in a namespace."""

import contextlib
import itertools
import random
import re
import subprocess
from collections import Counter

import pytest
from whole import captures, judge
from whole.frames import SEED
from whole.program import quoted, wait_until

ADDRESSES = ["10.0.0.1", "10.0.0.9", "10.0.1.1", "10.1.2.3", "10.9.9.9", "192.0.2.7"]
PORTS = [0, 1, 22, 53, 80, 90, 443, 1023, 1024, 65535]
ADDRESSES6 = ["2001:db8::1", "2001:db8:1::1", "2001:db8:1:2::9", "2001:db9::1"]


def random_frames(rng, count, with_ip6):
    """Whole packets and first fragments. Not later ones: nft's matches, and iptables-nft's `-m udp --dport`, which it
    makes of them, read ports from these, where there are none (6.18). What becomes of them is tested in
    rule_list_test.cc and with the element (classifier_test.cc)."""
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
            source, destination = (judge.packed(rng.choice(ADDRESSES6)) for _ in "sd")
            frames.append(judge.ip6(source, destination, protocol, payload, rng.choice([2, 63, 64])))
        else:
            source, destination = (judge.packed(rng.choice(ADDRESSES)) for _ in "sd")
            fragment, tos = (
                rng.choice([0, 0, 0x4000, 0x2000]),
                rng.choice([0, 0, 3, 0x28, 0x2B, 0xB8]),
            )
            frames.append(
                judge.ip4(
                    source,
                    destination,
                    protocol,
                    payload,
                    rng.choice([2, 63, 64]),
                    fragment,
                    tos,
                )
            )
    return frames


# ---- nftables


def nft_match(rng, with_ip6):
    def one_of(read, *more):
        values = [str(read()) for _ in range(rng.randint(2, 3))]
        low, high = sorted((rng.choice(PORTS), rng.choice(PORTS)))
        return rng.choice(
            [
                values[0],
                "!= " + values[0],
                "{ " + ", ".join(sorted(set(values))) + " }",
                f"{low}-{high}",
                *more,
            ]
        )

    address = rng.choice(ADDRESSES)
    port = rng.choice(["tcp", "udp", "tcp", "udp", "sctp"]) + rng.choice([" sport ", " dport "])
    ports = one_of(
        lambda: rng.choice(PORTS),
        f"< {rng.choice(PORTS[1:])}",
        f">= {rng.choice(PORTS)}",
    )
    matches = [
        "ip saddr "
        + rng.choice(
            [
                address,
                f"{address}/{rng.choice([8, 15, 24, 31])}",
                f"!= {address}/24",
                "10.0.0.5-10.1.0.0",
            ]
        ),
        "ip daddr "
        + rng.choice(
            [
                f"{{ {address}, 192.0.2.0/24 }}",
                f"& 255.0.0.255 == 10.0.0.{address[-1]}",
                f"!= {address}",
            ]
        ),
        port + ports,
        port + ports,
        f"meta l4proto {{ tcp, udp }} th dport {rng.choice(PORTS)}",
        f"th dport {rng.choice(PORTS)}",
        rng.choice(
            [
                "ip protocol tcp",
                "ip protocol != udp",
                "meta l4proto { tcp, icmp }",
                "meta l4proto 47",
            ]
        ),
        "tcp flags "
        + rng.choice(
            [
                "syn",
                "syn / syn,ack",
                "& (fin | syn | rst | ack) == syn",
                "== syn | ack",
                "! ack",
                "!= syn",
                "!= syn / syn,ack",
                "!= { syn, ack }",
            ]
        ),
        "ip dscp " + rng.choice(["ef", "!= cs0", "{ cs0, af11 }", "< af11", "10-46"]),
        rng.choice(
            [
                "ip saddr @hosts",
                "ip saddr != @hosts",
                "ip daddr @nets",
                "tcp dport @services",
                "udp sport @services",
            ]
        ),
        "icmp type "
        + rng.choice(
            [
                "echo-request",
                "!= echo-reply",
                "{ echo-request, destination-unreachable }",
            ]
        ),
        rng.choice(
            [
                "ip ttl 64",
                "ip ttl < 64",
                "ip ttl != 2",
                "ip frag-off & 0x2000 != 0",
                "ip frag-off & 0xe000 == 0x4000",
            ]
        ),
    ]
    if with_ip6:
        address6 = rng.choice(ADDRESSES6)
        matches += [
            f"ip6 {rng.choice(['saddr', 'daddr'])} {rng.choice(['', '!= '])}{address6}/{rng.choice([31, 32, 33, 48, 64, 127, 128])}",
            f"ip6 saddr {rng.choice(['', '!= '])}{ADDRESSES6[0]}-{ADDRESSES6[2]}",
            f"ip6 daddr {rng.choice(['', '!= '])}{{ {ADDRESSES6[0]}-{ADDRESSES6[1]}, {ADDRESSES6[3]} }}",
            f"ip6 nexthdr {rng.choice(['tcp', 'udp', 'ipv6-icmp'])}",
            "icmpv6 type echo-request",
            f"meta nfproto {rng.choice(['ipv4', 'ipv6'])}",
        ]
    return rng.choice(matches)


def misread_by_nft(matches):
    """nft 1.0.6 loads "ip ttl != 2 ip protocol != udp" as one comparison of both, and where a rule asks for a protocol
    by itself and by another match, it forgets one of the two when it lists the rule. The port of any transport becomes
    a checksum of ICMP."""
    header = lambda match: "th" if match.split()[0] in ("tcp", "udp", "sctp") else match.split()[0]
    joined = any(
        "!=" in one and "!=" in two and header(one) == header(two) for one, two in itertools.combinations(matches, 2)
    )
    by_itself = sum(match.startswith(("meta l4proto", "ip protocol", "ip6 nexthdr")) for match in matches)
    any_port = any(match.startswith("th ") for match in matches)
    icmp = sum(header(match) in ("icmp", "icmpv6") for match in matches)
    return (
        joined
        or (by_itself and by_itself + icmp + sum(header(match) == "th" for match in matches) > 1)
        or (any_port and icmp > 0)
    )


def match_for_acl(rng, _with_ip6):
    """What rte_acl can hold: prefixes, and ports other than 0, which what has no ports counts as."""
    address, length = rng.choice(ADDRESSES), rng.choice([8, 15, 24, 31, 32])
    low, high = sorted(rng.sample(PORTS[1:], 2))
    port = rng.choice(["tcp", "udp", "sctp"]) + rng.choice([" sport ", " dport "])
    return rng.choice(
        [
            f"ip saddr {address}/{length}",
            f"ip daddr {{ {address}, 192.0.2.0/24 }}",
            port + rng.choice([f"{low}", f"{low}-{high}", f"{{ {low}, {high} }}"]),
            rng.choice(["ip protocol tcp", "meta l4proto { tcp, icmp }", "meta l4proto 47"]),
        ]
    )


SETS = """
  set hosts {
    type ipv4_addr
    elements = { 10.0.0.1, 10.9.9.9, 192.0.2.7 }
  }
  set nets {
    type ipv4_addr
    flags interval
    elements = { 10.0.0.0/24, 10.1.0.0-10.1.2.3 comment "a, b" }
  }
  set services {
    type inet_service
    flags interval
    elements = { 22, 80-443 }
  }
"""


def nft_side_chains(rng):
    """Chains to which others lead, out of which some packets return."""
    verdicts = lambda count: [
        f"{match_for_acl(rng, False)} counter {rng.choice(['accept', 'drop'])}\n" for _ in range(count)
    ]
    returns = rng.sample(
        [
            "ip saddr 10.0.0.0/23 return\n",
            "meta l4proto tcp return\n",
            "tcp dport >= 80 return\n",
        ],
        2,
    )
    deep = "".join([*verdicts(4), returns[0], *verdicts(4)])
    side = "".join(
        [
            *verdicts(3),
            returns[1],
            *verdicts(2),
            "ip daddr 10.0.0.0/8 jump deep\n",
            *verdicts(3),
        ]
    )
    return f"  chain deep {{\n{deep}  }}\n  chain side {{\n{side}  }}\n"


def nft_rules(rng, count, family, match):
    """A ruleset whose chain `judged` counts what the rules in it, and those that it leads to, hit."""
    table = f"table {family} t {{\n{SETS}{nft_side_chains(rng) if match is nft_match else ''}  chain judged {{\n"
    rules = []
    for _ in range(count):
        matches = [match(rng, family == "inet") for _ in range(rng.choice([1, 2, 2, 3, 3]))]
        if misread_by_nft(matches):
            continue
        rules.append(f"    {' '.join(matches)} counter {rng.choice(['accept', 'drop'])}\n")
    rules.sort(key=lambda rule: -rule.count(" "))  # what asks for little comes last, or the others would see nothing
    if match is nft_match:
        for ways in (
            "udp dport >= 53 jump side\n",
            "ip saddr 10.1.0.0/16 goto deep\n",
            "ip ttl 64 jump side\n",
        ):
            rules.insert(rng.randrange(len(rules) // 2), "    " + ways)
    mac = ":".join(f"{byte:02x}" for byte in judge.MAC)
    entry = f"  chain entry {{\n type filter hook prerouting priority -500;\n ether saddr {mac} jump judged\n  }}\n"
    return table, rules, "  }\n" + entry + "}\n"


def loadable(space, rng, family, match=nft_match):
    """Loads rules that nft takes: it refuses some contradictions, and names their lines."""
    head, rules, tail = nft_rules(rng, 120, family, match)
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


def explain(heddle, *args):
    """Says nothing beside the answers, except of extension headers, which frames here do not have."""
    done = heddle("rules", "explain", *args)
    assert done.code == 0 and re.fullmatch(r"(\S+: warning: for IPv6 \d+ of the lines [^\n]+\n)?", done.err), done
    return done


def hits_by_line(heddle, rules, frames, folder, *options):
    source = captures.write(folder / "judged.pcap", frames)
    answers = explain(heddle, rules, source, "--json", *options).json
    assert len(answers) == len(frames)
    return Counter(answer["line"] for answer in answers if answer["rule"] is not None)


CHECKS = {
    "ip": "FromDump({}) -> CheckIPHeader(14) -> c",
    "inet": "FromDump({}) -> v :: Classifier(12/0800, 12/86dd); v[0] -> CheckIPHeader(14) -> c; v[1] -> CheckIP6Header(OFFSET 14) -> c",
}


ENGINES = [(engine, device) for engine in ("bitvector", "tuple", "hypersplit") for device in ("cpu", "simt")]


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
    """Sends the frames and waits until the judge has seen all that `judged` says are hit. What lines hit that only lead
    elsewhere says nothing here."""
    judge.send(space, frames)
    leads = re.compile(r" -g |-j (side|RETURN)")
    lines = {
        number: line for number, line in enumerate(space.call(*list_command).splitlines(), 1) if not leads.search(line)
    }
    counters = lambda: {number: n for number, n in judge.counters(space.call(*list_command)).items() if number in lines}
    total = sum(judged[number] for number in lines)
    with contextlib.suppress(AssertionError):  # what is missing is named below
        wait_until(lambda: sum(counters().values()) >= total, what="the kernel's counters")
    counted = counters()
    wrong = [
        f"line {number}: {counted.get(number, 0)} packets, ours {judged[number]}: {line.strip()}"
        for number, line in lines.items()
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
            assert (
                engine_hits_by_line(
                    heddle,
                    rules,
                    frames,
                    tmp_path,
                    *engine,
                    family,
                    "--chain",
                    "judged",
                )
                == ours
            )


@pytest.mark.usefixtures("root")
def test_nftables_judges_rules_that_rte_acl_can_hold(heddle, tmp_path):
    rng = random.Random(f"{SEED} nft acl")
    with judge.namespace("nft") as space:
        loadable(space, rng, "ip", match_for_acl)
        rules = tmp_path / "rules.nft"
        rules.write_text(space.call("nft", "list", "ruleset"))
        frames = random_frames(rng, 3000, False)
        ours = hits_by_line(heddle, rules, frames, tmp_path, "--chain", "judged")
        expect_counts(space, ["nft", "list", "ruleset"], frames, ours)
        assert len(ours) > 15 and sum(ours.values()) > 1000
        for engine in [("acl", "cpu"), *ENGINES]:
            assert engine_hits_by_line(heddle, rules, frames, tmp_path, *engine, "ip", "--chain", "judged") == ours


# ---- iptables


def iptables_rule(rng, chain="FORWARD"):
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
    kind = rng.randrange(8)
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
    elif kind == 6:
        words.append(f"-m dscp {negate()}--dscp {rng.choice(['0x2e', '0x0a', '0x00'])}")
    else:
        words.append(f"-m ttl --ttl-{rng.choice(['eq', 'lt', 'gt'])} 63")
    return f"-A {chain} {' '.join(words)} -j {rng.choice(['ACCEPT', 'ACCEPT', 'DROP', 'DROP', 'REJECT'])}\n"


def iptables_lines(rng):
    """Rules of FORWARD, and of a chain to which some of them lead and out of which some packets return."""
    lines = sorted((iptables_rule(rng) for _ in range(50)), key=lambda rule: -rule.count(" "))
    for way in (
        "-p udp -j side",
        "-s 10.1.0.0/16 -g side",
        "-p tcp -m tcp --dport 80:443 -j side",
        "-d 10.9.9.9 -j RETURN",
    ):
        lines.insert(rng.randrange(len(lines) // 2), f"-A FORWARD {way}\n")
    side = [iptables_rule(rng, "side") for _ in range(12)]
    side.insert(4, "-A side -s 10.0.0.0/23 -j RETURN\n")
    side.insert(8, "-A side -p tcp -m tcp ! --dport 443 -j RETURN\n")
    return "".join(lines + side)


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
        chains = ":INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n:side - [0:0]\n"
        text = f"*filter\n{chains}{iptables_lines(rng)}COMMIT\n"
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


def ip6tables_rule(rng, chain="FORWARD"):
    words, negate = [], lambda: rng.choice(["", "", "! "])
    if rng.random() < 0.7:
        address = rng.choice(ADDRESSES6)
        length = rng.choice([16, 31, 32, 33, 48, 64, 127, 128])
        words.append(
            rng.choice(
                [
                    f"{negate()}-s {address}/{length}",
                    f"{negate()}-d {address}/{length}",
                    f"{negate()}-d {address}/ffff:ffff::ffff",
                    f"-m iprange {negate()}--src-range {ADDRESSES6[0]}-{ADDRESSES6[2]}",
                    f"-m iprange {negate()}--dst-range {ADDRESSES6[1]}-{ADDRESSES6[3]}",
                ]
            )
        )
    kind, port, protocol = rng.randrange(6), rng.choice(PORTS), rng.choice(["tcp", "udp"])
    low, high = sorted(rng.sample(PORTS, 2))
    ports = rng.choice([port, f"{low}:{high}"])
    words.append(
        [
            f"-p {protocol} -m {protocol} {negate()}--{rng.choice(['sport', 'dport'])} {ports}",
            f"-p {protocol} -m multiport {negate()}--{rng.choice(['sports', 'dports', 'ports'])} {port},{low}:{high}",
            f"-p tcp -m tcp {negate()}--tcp-flags {rng.choice(['FIN,SYN,RST,ACK SYN', 'SYN,ACK NONE', 'ALL ACK'])}",
            f"-p ipv6-icmp -m icmp6 {negate()}--icmpv6-type {rng.choice(['1/0', '1', '128', '129'])}",
            f"{negate()}-p {rng.choice(['tcp', 'udp', 'ipv6-icmp', '47', 'sctp'])}",
            "",
        ][kind if words or kind < 5 else 4]
    )
    return f"-A {chain} {' '.join(words)} -j {rng.choice(['ACCEPT', 'ACCEPT', 'DROP', 'DROP', 'REJECT'])}\n"


@pytest.mark.usefixtures("root")
def test_ip6tables_judges_rules(heddle, tmp_path):
    rng = random.Random(f"{SEED} ip6tables")
    with judge.namespace("ip6tables-nft-restore") as space:
        space.call("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
        space.call("ip", "-6", "address", "add", "2001:db8:ffff::1/64", "dev", judge.DEVICE[1], "nodad")
        space.call("ip", "-6", "route", "add", "default", "dev", judge.DEVICE[1])
        lines = sorted((ip6tables_rule(rng) for _ in range(50)), key=lambda rule: -rule.count(" "))
        for way in ("-p udp -j side", f"-s {ADDRESSES6[0]} -g side", f"-d {ADDRESSES6[3]} -j RETURN"):
            lines.insert(rng.randrange(len(lines) // 2), f"-A FORWARD {way}\n")
        side = [ip6tables_rule(rng, "side") for _ in range(12)]
        side.insert(5, "-A side -s 2001:db8:1::/48 -j RETURN\n")
        chains = ":INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n:side - [0:0]\n"
        judge.load(space, ["ip6tables-nft-restore"], f"*filter\n{chains}{''.join(lines + side)}COMMIT\n")
        save = ["ip6tables-nft-save", "-c", "-t", "filter"]
        rules = tmp_path / "rules.ip6tables"
        rules.write_text(space.call(*save))
        mac = bytes.fromhex(space.call("cat", f"/sys/class/net/{judge.DEVICE[1]}/address").strip().replace(":", ""))
        frames = [mac + frame[6:] for frame in random_frames(rng, 7500, True) if frame[12:14] == b"\x86\xdd"]
        ours = hits_by_line(heddle, rules, frames, tmp_path)
        expect_counts(space, save, frames, ours)
        assert len(ours) > 10 and sum(ours.values()) > 1000
        for engine in ENGINES:
            assert engine_hits_by_line(heddle, rules, frames, tmp_path, *engine, "inet") == ours


def test_tables_of_both_versions_see_both(heddle, tmp_path):
    """Also where no rule asks for the version, neither by itself nor by an address."""
    rules = tmp_path / "rules.nft"
    rules.write_text("table inet t {\nchain c {\ntcp dport 22 accept\nudp dport 53 drop\n}\n}\n")
    four = judge.ip4(
        judge.packed("9.9.9.9"),
        judge.packed("1.1.1.1"),
        6,
        judge.transport(6, 1, 22, 2),
    )
    six = [
        judge.ip6(
            judge.packed("2001:db8::1"),
            judge.packed("::1"),
            protocol,
            judge.transport(protocol, 1, port, 2),
        )
        for protocol, port in ((6, 22), (17, 53), (17, 54))
    ]
    frames = [four, *six]
    source = captures.write(tmp_path / "in.pcap", frames)
    answers = explain(heddle, rules, source, "--json").json
    assert [answer["rule"] for answer in answers] == [0, 0, 1, None]
    assert answers[1]["packet"].startswith("2001:db8::1 ::1 1 22 6")
    assert "hits rule 1" in explain(heddle, rules, "2001:db8::1 ::1 1 53 17").out
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
    six[0] = six[0][: 14 + 12] + judge.packed("9.9.9.9") + judge.packed("1.1.1.1") + six[0][14 + 20 :]
    rules.write_text(
        "table ip t {\nchain c {\nip saddr 9.9.9.9 accept\ntcp dport 22 accept\nmeta l4proto tcp drop\n}\n}\n"
    )
    for engine in [("acl", "cpu"), *ENGINES]:
        found = engine_hits_by_line(heddle, rules, [four, *six], tmp_path, *engine, "inet")
        assert found == {3: 1}, engine
