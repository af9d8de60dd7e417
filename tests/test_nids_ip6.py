"""IPv6 in the NIDS: headers and fields judged by Suricata, and answers to what is rejected by Scapy."""

import random
import re

import pytest
from scapy.all import IP, TCP, UDP, Ether, Raw
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from test_nids_suricata import compare_packets
from whole import captures
from whole.frames import SEED

HOSTS6 = ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "fe80::ffff"]
HOSTS4 = ["10.0.0.1", "10.0.0.2", "192.0.2.1"]
PARTS6 = [*HOSTS6, "2001:db8::/32", "2001:db8::/64", "2001:db8::1-2001:db8::2", "fe80::/10", "::/0", "::/1"]
PARTS4 = [*HOSTS4, "10.0.0.0/8", "10.0.0.2-192.0.2.0", "0.0.0.0/0"]


def extensions(rng):
    """Extension headers that hosts take, as bytes behind their number."""
    kinds = [IPv6ExtHdrHopByHop(), IPv6ExtHdrRouting(addresses=[HOSTS6[0]]), IPv6ExtHdrDestOpt()]
    kinds += [IPv6ExtHdrFragment(id=rng.getrandbits(32))]  # of a packet that is whole
    return [header.copy() for header in kinds if rng.random() < 0.3] + [IPv6ExtHdrDestOpt()] * rng.choice(
        [0, 0, 0, 1, 9]
    )


def between_hosts(rng, behind):
    if rng.random() < 0.3:
        return (
            IP(src=rng.choice(HOSTS4), dst=rng.choice(HOSTS4), ttl=rng.randint(1, 6), tos=rng.choice([0, 8])) / behind
        )
    packet = IPv6(src=rng.choice(HOSTS6), dst=rng.choice(HOSTS6), hlim=rng.randint(1, 6), tc=rng.choice([0, 8]))
    for header in extensions(rng):
        packet /= header
    return packet / behind


def random_behind(rng, number):
    """TCP, UDP, or ICMP of either version; flows of their own, for Suricata decides some things once a flow."""
    kind = rng.choice(["tcp", "udp", "icmp"])
    port = 1000 + number
    data = Raw("".join(rng.choice(["mark", "ma", "rk", "MARK", "xx"]) for _ in range(rng.randint(1, 4))).encode())
    if kind == "tcp":
        return (
            TCP(sport=port, dport=rng.choice([80, 443]), flags=rng.choice(["A", "PA", "S"]), seq=rng.randint(0, 2))
            / data
        )
    if kind == "udp":
        return UDP(sport=port, dport=rng.choice([53, 80])) / data
    return None


def icmp(rng, ip6):
    """Of ICMPv6 echoes, for of other types Suricata looks into little."""
    kind = rng.choice([128, 129] if ip6 else [8, 0, 3, 11])
    few = [0 if ip6 else rng.randint(0, 2), rng.randint(0, 2), rng.randint(0, 2)]
    return Raw(bytes([kind, few[0], 0, 0, 0, few[1], 0, few[2]]) + bytes(24) + b"mark")


def random_packets(rng, count):
    packets = []
    for number in range(count):
        behind = random_behind(rng, number)
        packet = between_hosts(rng, behind if behind is not None else Raw(b""))
        if behind is None:
            ip6 = IPv6 in packet
            packet = (
                IPv6(src=packet.src, dst=packet.dst, hlim=packet.hlim) if ip6 else IP(src=packet.src, dst=packet.dst)
            )
            if ip6 and rng.random() < 0.5:
                packet = packet / IPv6ExtHdrDestOpt(nh=58)
            else:
                packet = packet.__class__(**packet.fields | ({"nh": 58} if ip6 else {"proto": 1}))
            packet = packet / icmp(rng, ip6)
        if IP in packet:
            packet[IP].id, packet[IP].flags = rng.randint(0, 2), rng.choice(("", "DF"))
        packets.append(packet)
    return packets


def random_set(rng):
    if rng.random() < 0.3:
        return "any"
    parts = rng.sample(PARTS6 + PARTS4, rng.randint(1, 4))
    # Suricata refuses what negates all addresses of a version.
    parts = [("!" if rng.random() < 0.3 and not part.endswith("/0") else "") + part for part in parts]
    return parts[0] if len(parts) == 1 else f"[{','.join(parts)}]"


def without_empty_sets(heddle, folder, rules):
    """Less those whose addresses leave nothing: an error here, while Suricata takes some and never alerts."""
    text = "".join(f"alert {header} ({options}; sid:{sid};)\n" for sid, (header, options) in enumerate(rules, 1))
    (folder / "all").write_text(text)
    done = heddle("check", "-e", f"Idle -> CheckIPHeader -> NIDS({folder}/all) -> Discard")
    mistakes = [line for line in done.err.splitlines() if "/all:" in line]
    assert all("leaves nothing that could match" in line for line in mistakes), done.err
    empty = {int(re.search(r": sid (\d+): ", line)[1]) for line in mistakes}
    return [rule for sid, rule in enumerate(rules, 1) if sid not in empty]


def test_suricata_judges_addresses(heddle, tmp_path):
    rng = random.Random(f"{SEED} suricata ip6 addresses")
    alerting = 0
    for _ in range(3):
        rules = []
        for _ in range(150):
            protocol = rng.choice(["ip", "ip", "tcp", "udp", "icmp", "icmpv6", "icmpv4", "ipv6", "ip6", "ipv4", "ip4"])
            port = rng.choice(["any", "any", "53", "!80"]) if protocol in ("tcp", "udp") else "any"
            header = f"{protocol} {random_set(rng)} any -> {random_set(rng)} {port}"
            rules.append((header, "ttl:<200"))
        rules = without_empty_sets(heddle, tmp_path, rules)
        assert len(rules) > 100
        counts = compare_packets(heddle, tmp_path, rules, random_packets(rng, 300))
        alerting += sum(counts.values())
    assert alerting > 10000


def test_suricata_judges_fields(heddle, tmp_path):
    """Of either version, and behind extension headers."""
    rng = random.Random(f"{SEED} suricata ip6 fields")
    fields = ["ttl:2", "ttl:<3", "ttl:!4", "tos:0", "tos:8", "id:1", "id:2", "fragbits:D", "fragbits:!D", "sameip"]
    fields += [f"ttl:<200; ip_proto:{p}" for p in ("6", "17", "58", "ipv6-icmp", "1", "!58", "60", "44", "0", ">50")]
    fields += ["flags:S", "flags:A", "seq:1", "itype:128", "itype:129", "itype:8", "itype:>3", "icode:0", "icode:>0"]
    fields += ["icmp_id:1", "icmp_seq:2", "icmp_id:0; icmp_seq:0", "ttl:<200; fragoffset:0"]
    rules = [(protocol, field) for field in fields for protocol in ("ip", "ip6", "ip4")]
    rules += [("udp", field) for field in ("ttl:1", "sameip")] + [("icmpv6", "itype:>100"), ("icmpv4", "icode:1")]
    counts = compare_packets(heddle, tmp_path, rules, random_packets(rng, 1000))
    silent = set(fields) - set(counts)
    assert silent == {"ttl:<200; ip_proto:60", "ttl:<200; ip_proto:44", "ttl:<200; ip_proto:0"}, silent


def test_suricata_judges_contents(heddle, tmp_path):
    rng = random.Random(f"{SEED} suricata ip6 contents")
    options = ['content:"mark"', 'content:"mark"; nocase', 'content:"mark"; offset:0; depth:4', 'content:"rkma"']
    options += ['content:!"mark"; content:"xx"', 'content:"mark"; content:"xx"; distance:0', 'pcre:"/ma+rk(xx)+/"']
    options += ['content:"xx"; dsize:<6', 'content:"MARK"; threshold:type limit, track by_src, count 2, seconds 60']
    options += [f'content:"mark"; threshold:type both, track {by}, count 3, seconds 60' for by in ("by_src", "by_dst")]
    options += ['content:"rk"; depth:9', 'content:"mark"; detection_filter:track by_src, count 2, seconds 60']
    rules = [(protocol, option) for option in options for protocol in ("udp", "tcp-pkt", "icmp", "ip6", "icmpv6")]
    counts = compare_packets(heddle, tmp_path, rules, random_packets(rng, 1000))
    assert set(options) == set(counts), set(options) - set(counts)


ANSWERS = """FromDump({0}/in.pcap) -> CheckIP6Header(OFFSET 14) -> ids :: NIDS({0}/rules); ids[0] -> passed :: ToDump({0}/passed);
    ids[1] -> judge :: NIDSConfirm(ids); judge[0] -> passed; judge[1] -> dropped :: ToDump({0}/dropped);
    judge[2] -> tcp :: TCPReset -> resets :: ToDump({0}/resets);
    tcp[1] -> Strip(14) -> ICMP6Error(2001:db8::fe, unreachable, port, RATE 0) -> ToDump({0}/errors, ENCAP IP);"""


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_rejected_packets_are_answered(heddle, tmp_path, device):
    """By resets and errors of ICMPv6 whose checksums are right and which say what they answer."""
    rng = random.Random(f"{SEED} ip6 answers")
    (tmp_path / "rules").write_text(
        'reject ip any any -> 2001:db8::2 any (content:"kill"; sid:1;)\n'
        'drop udp any any -> any 99 (content:"kill"; sid:2;)\nalert ip6 any any -> any any (content:"kill"; sid:3;)\n'
    )
    packets, wanted = [], {"passed": [], "dropped": [], "resets": [], "errors": []}
    for number in range(200):
        text = rng.choice([b"kill", b"a kill", b"kil", b""])
        flags = rng.choice(["A", "PA", "S", "FA", "R"])
        transport = TCP(sport=1000 + number, dport=80, flags=flags, seq=rng.getrandbits(32), ack=rng.getrandbits(32))
        if rng.random() < 0.4:
            transport = UDP(sport=1000 + number, dport=rng.choice([53, 99]))
        packet = IPv6(src="2001:db8::1", dst=rng.choice(["2001:db8::2", "2001:db8::3"]))
        for header in extensions(rng):
            packet /= header
        packet = IPv6(bytes(packet / transport / Raw(text)))
        packets.append(packet)
        is_tcp, hit = TCP in packet, b"kill" in text
        if hit and not is_tcp and packet[UDP].dport == 99:
            wanted["dropped"].append(packet)
        elif not hit or packet.dst != "2001:db8::2":
            wanted["passed"].append(packet)
        elif not is_tcp:
            wanted["errors"].append(packet)
        elif "R" not in packet[TCP].flags:
            wanted["resets"].append(packet)
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    captures.write(tmp_path / "in.pcap", [bytes(ether / packet) for packet in packets])
    heddle.ok("run", "--device", device, "-e", ANSWERS.format(tmp_path))
    for name in ("passed", "dropped"):
        assert captures.frames(tmp_path / name) == [bytes(ether / packet) for packet in wanted[name]]
    resets = captures.frames(tmp_path / "resets")
    assert len(resets) == len(wanted["resets"]) > 10
    for frame, packet in zip(resets, wanted["resets"], strict=True):
        segment, text = packet[TCP], bytes(packet[TCP].payload)
        length = len(text) + ("S" in segment.flags) + ("F" in segment.flags)
        reset = TCP(sport=80, dport=segment.sport, flags="R", seq=segment.ack, ack=0, window=0)
        if "A" not in segment.flags:
            reset.flags, reset.seq, reset.ack = "RA", 0, (segment.seq + length) % 2**32
        assert frame == bytes(ether / IPv6(src=packet.dst, dst=packet.src, hlim=64) / reset)
    errors = captures.frames(tmp_path / "errors")
    assert len(errors) == len(wanted["errors"]) > 5
    for frame, packet in zip(errors, wanted["errors"], strict=True):
        answer = IPv6(frame)
        message = answer[ICMPv6DestUnreach]
        assert (answer.src, answer.dst, message.code) == ("2001:db8::fe", packet.src, 4)
        assert bytes(message)[8:] == bytes(packet)[: len(bytes(message)) - 8]
