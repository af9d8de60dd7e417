"""ESP's algorithms, modes and outer headers against Scapy's IPsec layer and Python's hmac, both ways, on the CPU and,
as far as it knows them, on a GPU."""

import random
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting
from whole import captures, ipsec
from whole.frames import SEED
from whole.program import Report, quoted

ETHER4 = bytes.fromhex("0200000000010200000000020800")
ETHER6 = ETHER4[:12] + b"\x86\xdd"

ALGORITHMS = {
    **{f"ctr-sha256-{bits}": {"cipher": "ctr", "hash": "sha256", "bits": bits} for bits in (128, 192, 256)},
    **{f"cbc-{h}-{bits}": {"cipher": "cbc", "hash": h, "bits": bits} for h, bits in (("sha1", 256), ("sha256", 128))},
    "cbc-sha256-192": {"cipher": "cbc", "hash": "sha256", "bits": 192},
    **{
        f"gcm-{bits}-{icv}": {"cipher": "gcm", "bits": bits, "icv": icv}
        for bits, icv in ((128, 8), (192, 12), (256, 16))
    },
    "gcm-128-16": {"cipher": "gcm"},
}
FORMS = {
    "tunnel4": {},
    "tunnel6": {"ip6": True},
    "transport4": {"transport": True},
    "transport6": {"transport": True, "ip6": True},
    "udp": {"port": 4500},
}
ESN = {"esn": True, "sent": (3 << 32) - 20, "seen": (3 << 32) - 20, "window": 128}
CASES = {f"{a}-tunnel4": {**suite} for a, suite in ALGORITHMS.items()}
CASES |= {f"{a}-{f}": {**ALGORITHMS[a], **FORMS[f]} for a in ("gcm-128-16", "cbc-sha256-128") for f in FORMS}
CASES |= {f"ctr-sha1-{f}": FORMS[f] for f in FORMS if f != "tunnel4"}
CASES |= {f"{a}-esn": {**ALGORITHMS[a], **ESN} for a in ("gcm-192-12", "ctr-sha256-256", "cbc-sha1-256")}
CASES |= {"ctr-sha1-esn": ESN, "ctr-sha1-esn-udp-long": {**ESN, "port": 4501, "window": 4096}}


def fits_gpu(form):
    """Whether a GPU does it."""
    return form.get("cipher") != "cbc"


ON_GPU = {name: form for name, form in CASES.items() if fits_gpu(form)}


@pytest.fixture(params=CASES)
def association(request):
    return ipsec.Association(0x1001, **CASES[request.param])


def ip_packets(association, count=40):
    """Packets that the association may protect: of both families, of its own ends in transport mode."""
    generator = random.Random(f"{SEED} suites")
    packets = []
    for number in range(count):
        text = generator.randbytes(generator.choice([0, 1, 2, 3, 13, 14, 15, 16, 17, 33, 100, 700, 1399]))
        four = IP(src="10.1.2.3", dst="10.9.8.7", tos=0xB8 | number % 4, flags="DF" if number % 2 else 0, id=number)
        six = IPv6(src="2001:db8::5", dst="2001:db8::7", tc=0x2E)
        if association.transport:
            four.dst, six.dst = ipsec.DESTINATION, ipsec.DESTINATION6
        six_chain = [six, six / IPv6ExtHdrHopByHop(), six / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()][number % 3]
        ip = (six_chain if association.ip6 else four) if association.transport else (four, six)[number // 2 % 2]
        packets.append(
            bytes(
                ip
                / [UDP(sport=7, dport=9), TCP(dport=80), UDP(dport=53) if ip.version == 6 else ICMP()][number % 3]
                / text
            )
        )
    return packets


def ether(packet):
    return (ETHER6 if packet[0] >> 4 == 6 else ETHER4) + packet


def files(tmp_path, associations, frames):
    return ipsec.write(tmp_path / "keys", associations), captures.write(tmp_path / "in.pcap", frames)


def encap(keys, source, out, rest="SPI 0x1001"):
    return (
        f"FromDump({quoted(source)}) -> s :: IPsecSequence(esp, {rest}) -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14)"
        f" -> ToDump({quoted(out)})"
    )


def decap(keys, source, out):
    return f"FromDump({quoted(source)}) -> d :: IPsecDecap({quoted(keys)}, OFFSET 14) -> ToDump({quoted(out)})"


def judged_behind(chain):
    """With the windows judged by an IPsecReplay, so that the rest can run on a GPU."""
    return chain.replace("-> ToDump", "-> r :: IPsecReplay(d) -> ToDump")


def first_number(association):
    return association.sent + 1


def test_scapy_takes_out_what_encap_puts_in(heddle, tmp_path, association):
    plain = ip_packets(association)
    keys, source = files(tmp_path, [association], [ether(p) for p in plain])
    out = tmp_path / "out.pcap"
    heddle.run(encap(keys, source, out), "--device", "cpu")
    found = captures.frames(out)
    assert len(found) == len(plain)
    for number, (before, after) in enumerate(zip(plain, found), first_number(association)):
        six = before[0] >> 4 == 6 if association.transport else association.ip6
        assert after[:14] == (ETHER6 if six else ETHER4)
        outer = (IPv6 if six else IP)(after[14:])
        if not association.transport:
            assert (outer.src, outer.dst) == association.ends
        if not six:
            header = after[14 : 14 + outer.ihl * 4]
            del outer.chksum
            assert bytes(outer)[:20] == header[:20]  # checksum
        assert association.decrypt(after[14:], number) == before


def test_decap_takes_out_what_scapy_puts_in(heddle, tmp_path, association):
    plain = ip_packets(association)
    family = IPv6 if association.ip6 else IP
    esp = [
        association.encrypt((IPv6 if p[0] >> 4 == 6 else IP)(p), n)
        for n, p in enumerate(plain, first_number(association))
    ]
    assert all(family(p).version == p[0] >> 4 for p in esp)
    keys, source = files(tmp_path, [association], [ether(p) for p in esp])
    out = tmp_path / "out.pcap"
    report = heddle.run(decap(keys, source, out), "--device", "cpu")
    assert captures.frames(out) == [ether(p) for p in plain]
    assert report.drops("d") == {}


def test_hostile_packets_are_dropped_by_reason(heddle, tmp_path, association):
    """Every packet is flipped in a bit, cut (and its headers say so, or not), for nobody, or sent again."""
    generator = random.Random(f"{SEED} hostile")
    plain = ip_packets(association, 120)
    behind = 8 if association.port else 0
    frames, wanted, drops = [], [], {}

    def refused(frame, *reasons):
        frames.append(frame)
        drops[reasons] = drops.get(reasons, 0) + 1

    for number, packet in enumerate(plain, first_number(association)):
        good = association.encrypt((IPv6 if packet[0] >> 4 == 6 else IP)(packet), number)
        at = good.index(association.spi.to_bytes(4, "big"), 20)
        match number % 6:
            case 0:
                place = generator.randrange(at + 4, len(good))
                flipped = good[:place] + bytes([good[place] ^ 1 << generator.randrange(8)]) + good[place + 1 :]
                # An upper half of the sequence number that is not its own makes the ICV wrong; far below, it is too
                # old.
                refused(ether(flipped), "bad_icv", "replayed")
            case 1:
                refused(ether(good[: generator.randrange(at, len(good))]), "short")
            case 2:
                cut = generator.randrange(at, len(good))
                if association.ip6:
                    short = good[:4] + (cut - 40).to_bytes(2, "big") + good[6:cut]
                else:
                    short = bytearray(good[:cut])
                    short[2:4] = cut.to_bytes(2, "big")
                    if behind:
                        short[at - 4 : at - 2] = (cut - at + 8).to_bytes(2, "big")
                refused(ether(bytes(short)), "short", "bad_icv", "no_sa", "not_esp")
            case 3:
                refused(ether(good[:at] + b"\0\0\x77\x77" + good[at + 4 :]), "no_sa")
            case 4:
                frames.append(ether(good))
                wanted.append(ether(packet))
                refused(ether(good), "replayed")
            case _:
                frames.append(ether(good))
                wanted.append(ether(packet))
    keys, source = files(tmp_path, [association], frames)
    out = tmp_path / "out.pcap"
    report = heddle.run(decap(keys, source, out), "--device", "cpu")
    assert captures.frames(out) == wanted
    found = report.drops("d")
    assert sum(found.values()) == sum(drops.values()) == len(frames) - len(wanted)
    for reasons, count in drops.items():
        if len(reasons) == 1:
            assert found[reasons[0]] >= count
    assert set(found) <= {reason for reasons in drops for reason in reasons}


def test_other_end_and_other_way_are_nobodys(heddle, tmp_path, mode):
    """A packet for another address, with UDP around it or not, and to another port, is no packet of the association."""
    bare, udp = ipsec.Association(0x1001), ipsec.Association(0x1002, port=4500)
    packet = IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / b"x"
    ways = []
    for of, changed in ((bare, {"port": 4500}), (udp, {"port": 0}), (udp, {"port": 4501})):
        ways.append(
            ipsec.Association(of.spi, cipher_key=of.cipher_key, hash_key=of.hash_key, **changed).encrypt(packet, 1)
        )
    good = bytearray(bare.encrypt(packet, 2))
    good[19] ^= 1
    keepalive = bytes(IP(src="192.0.2.1", dst=ipsec.DESTINATION) / UDP(sport=4500, dport=4500) / b"\xff")
    ike = bytes(IP(src="192.0.2.1", dst=ipsec.DESTINATION) / UDP(sport=4500, dport=4500) / (b"\0" * 4 + b"x" * 40))
    keys, source = files(tmp_path, [bare, udp], [ether(bytes(p)) for p in [*ways, good, keepalive, ike]])
    report = heddle.run(judged_behind(decap(keys, source, tmp_path / "out.pcap")), *mode)
    assert report.drops("d") == {"no_sa": 3, "not_esp": 2, "keepalive": 1}


def test_extended_numbers_pass_the_end_of_32_bits(heddle, tmp_path, mode):
    """From Encap to Decap over the boundary, in another order and with some sent again."""
    association = ipsec.Association(
        0x1001, cipher="gcm", esn=True, sent=(1 << 32) - 100, seen=(1 << 32) - 100, window=256
    )
    plain = [bytes(IP(src="10.0.0.1", dst="10.0.0.2", id=k) / UDP() / b"text") for k in range(200)]
    keys, source = files(tmp_path, [association], [ether(p) for p in plain])
    middle, out = tmp_path / "esp.pcap", tmp_path / "out.pcap"
    heddle.run(encap(keys, source, middle), *mode)
    frames = captures.frames(middle)
    numbers = [int.from_bytes(f[38:42], "big") for f in frames]
    assert numbers == [n & 0xFFFFFFFF for n in range((1 << 32) - 99, (1 << 32) + 101)]
    order = list(range(200))
    random.Random(SEED).shuffle(order)
    source = captures.write(tmp_path / "mixed.pcap", [frames[k] for k in order + order[:50]])
    report = heddle.run(judged_behind(decap(keys, source, out)), *mode)
    assert captures.frames(out) == [ether(plain[k]) for k in order]
    assert (report.drops("d"), report.drops("r")) == ({}, {"replayed": 50})


def test_transport_mode_takes_whole_packets_to_its_end(heddle, tmp_path):
    four, six = ipsec.Association(0x1001, transport=True), ipsec.Association(0x1002, transport=True, ip6=True)
    frames = [
        bytes(IP(src="10.0.0.1", dst=ipsec.DESTINATION, flags="MF") / (b"x" * 32)),
        bytes(IP(src="10.0.0.1", dst=ipsec.DESTINATION, frag=4) / (b"x" * 32)),
        bytes(IP(src="10.0.0.1", dst="203.0.113.2") / UDP() / b"x"),
        bytes(IP(src="10.0.0.1", dst=ipsec.DESTINATION) / UDP() / b"x"),
    ]
    keys, source = files(tmp_path, [four, six], [ether(p) for p in frames])
    report = heddle.run(encap(keys, source, tmp_path / "out.pcap"), "--device", "cpu")
    assert report.drops("s") == {"fragment": 2, "no_sa": 1}
    to = IPv6(src="2001:db8::1", dst=ipsec.DESTINATION6)
    frames = [
        bytes(to / IPv6ExtHdrFragment(offset=8) / (b"x" * 32)),
        bytes(to / IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment(m=1) / (b"x" * 32)),
        bytes(to / IPv6ExtHdrHopByHop(len=200) / b"x"),
        bytes(to / IPv6ExtHdrRouting(type=4) / UDP() / b"x"),
        bytes(IP(src="10.0.0.1", dst=ipsec.DESTINATION) / UDP() / b"x"),
    ]
    keys, source = files(tmp_path, [four, six], [ether(p) for p in frames])
    report = heddle.run(encap(keys, source, tmp_path / "out.pcap", "SPI 0x1002"), "--device", "cpu")
    assert report.drops("s") == {"fragment": 2, "malformed": 1, "no_sa": 1}


def test_outer_header_of_ip6_follows_the_association(heddle, tmp_path, mode):
    lines = ["", "\treplay-window 0 flag noecn\n", "\treplay-window 0 flag esn extra-flag dont-encap-dscp\n"]
    for extra, tc in zip(lines, (0xBA, 0xB8, 0x02)):
        association = ipsec.Association(0x1001, ip6=True, cipher="gcm", lines=extra)
        packet = bytes(IP(src="10.0.0.1", dst="10.0.0.2", tos=0xBA) / UDP() / b"x")
        keys, source = files(tmp_path, [association], [ether(packet)])
        heddle.run(encap(keys, source, tmp_path / "out.pcap"), *mode)
        outer = IPv6(captures.frames(tmp_path / "out.pcap")[0][14:])
        assert (outer.tc, outer.fl, outer.nh, outer.hlim) == (tc, 0, 50, 64)
        assert outer.plen == len(bytes(outer)) - 40


def test_selectors_of_both_families(heddle, tmp_path):
    associations = [
        ipsec.Association(0x1001, cipher="gcm", lines="\tsel src 0.0.0.0/0 dst 10.0.0.0/8\n"),
        ipsec.Association(0x1002, cipher="gcm", lines="\tsel src ::/0 dst 2001:db8:1::/48\n"),
        ipsec.Association(0x1003, cipher="gcm", lines="\tsel src 2001:db8:2::/48 dst ::/0\n"),
        ipsec.Association(0x1004, cipher="gcm", lines="\tsel src ::/0 dst 2001:db8:1:2::/64\n"),
    ]
    packets = [
        (IP(src="1.1.1.1", dst="10.2.3.4"), 0x1001),
        (IP(src="1.1.1.1", dst="11.2.3.4"), None),
        (IPv6(src="::1", dst="2001:db8:1:1::5"), 0x1002),
        (IPv6(src="::1", dst="2001:db8:1:2::5"), 0x1004),
        (IPv6(src="2001:db8:2::9", dst="::9"), 0x1003),
        (IPv6(src="2001:db8:3::9", dst="::9"), None),
    ]
    keys, source = files(tmp_path, associations, [ether(bytes(p / UDP() / b"x")) for p, _ in packets])
    report = heddle.run(encap(keys, source, tmp_path / "out.pcap", "BY selector"), "--device", "cpu")
    found = [int.from_bytes(f[34:38], "big") for f in captures.frames(tmp_path / "out.pcap")]
    assert found == [spi for _, spi in packets if spi]
    assert report.drops("s") == {"no_sa": 2}


@pytest.mark.parametrize("limits", ["soft 4(packets), hard 7(packets)", "soft 100(bytes), hard 200(bytes)"])
def test_lifetimes_end_and_are_announced(heddle, tmp_path, limits):
    lines = f"\tlifetime config:\n\t  limit: {limits}\n\tlifetime current:\n\t  0(bytes), 0(packets)\n"
    limited, free = ipsec.Association(0x1001, lines=lines), ipsec.Association(0x1002)
    packet = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / b"xx")  # 30 bytes
    keys, source = files(tmp_path, [limited, free], [ether(packet)] * 20)
    middle, out = tmp_path / "esp.pcap", tmp_path / "out.pcap"
    result = heddle("run", "--device", "cpu", "-e", encap(keys, source, middle), "-h", "esp.lifetimes")
    assert result.code == 0, result
    assert len(captures.frames(middle)) == 7  # of 30 bytes: the seventh begins below 200
    assert "0 0x00001001 7 210 hard" in result.out
    said = [line for line in result.err.splitlines() if "limit" in line]
    assert len(said) == 2 and all(line.startswith("esp: association 0x00001001 has reached its ") for line in said)
    assert "soft limit with " in said[0] and "hard limit with 7 packets, 210 bytes" in said[1]
    # The other end counts for itself, and only what is good.
    frames = [ether(limited.encrypt(IP(packet), n)) for n in range(1, 21)]
    frames = [f for frame in frames for f in (frame[:-1] + bytes([frame[-1] ^ 1]), frame)]
    keys, source = files(tmp_path, [limited, free], frames)
    result = heddle("run", "--json", "--device", "cpu", "-e", decap(keys, source, out))
    assert len(captures.frames(out)) == 7
    assert Report(result.json).drops("d") == {"bad_icv": 20, "expired": 13}
    assert "d: association 0x00001001 has reached its hard limit with 7 packets, 210 bytes" in result.err
    soft = ipsec.Association(0x1001, lines="\tlimit: soft 4(packets), hard (INF)(packets)\n")
    keys, source = files(tmp_path, [soft], [ether(packet)] * 9)
    result = heddle("run", "--device", "cpu", "-e", encap(keys, source, middle))
    assert [line for line in result.err.splitlines() if "soft limit" in line and "needs a successor" in line]
    assert len(captures.frames(middle)) == 9
    assert limited.cipher_key.hex()[:16] not in result.err + result.out


@pytest.mark.parametrize("esn", [False, True])
def test_the_end_of_numbers_is_announced_and_uses_no_lifetime(heddle, tmp_path, esn):
    last = (1 << 63) - 1 if esn else (1 << 32) - 1
    lines = "\tlimit: soft (INF)(packets), hard 5(packets)\n"
    if not esn:
        lines += f"\tanti-replay context: seq 0x0, oseq {last - 3:#x}, bitmap 0x0\n"
    association = ipsec.Association(0x1001, lines=lines, cipher="gcm", esn=esn, sent=last - 3)
    packet = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / b"xx")
    keys, source = files(tmp_path, [association], [ether(packet)] * 9)
    chain, options = encap(keys, source, tmp_path / "out.pcap"), ("--device", "cpu")
    result = heddle("run", "--json", *options, "-e", chain)
    assert result.code == 0 and Report(result.json).drops("s") == {"exhausted": 6}, result
    said = f"esp: association 0x00001001 from {ipsec.SOURCE} to {ipsec.DESTINATION} has "
    assert result.err == (
        f"{said}few sequence numbers left: it needs a successor\n"
        f"{said}used all its sequence numbers: its packets are dropped\n"
    )
    frames = captures.frames(tmp_path / "out.pcap")
    assert [association.decrypt(f[14:], last - 2 + k) for k, f in enumerate(frames)] == [packet] * 3
    result = heddle("run", *options, "-e", chain, "-h", "esp.lifetimes", "-h", "s.numbers")
    assert f"0 0x00001001 3 {3 * len(packet)} fresh" in result.out and f"0 0x00001001 {last}\n" in result.out
    ipsec.write(keys, [ipsec.Association(0x1001, lines=lines.replace("5", "2"), cipher="gcm", esn=esn, sent=last - 3)])
    result = heddle("run", *options, "-e", chain, "-h", "esp.lifetimes", "-h", "s.numbers")
    assert f"0 0x00001001 2 {2 * len(packet)} hard" in result.out and f"0 0x00001001 {last - 1}\n" in result.out


SECONDS = "\tlifetime config:\n\t  expire add: soft {}(sec), hard {}(sec)\n\t  expire use: soft {}(sec), hard {}(sec)\n"


@pytest.mark.parametrize("device", ["cpu", "simt"])
@pytest.mark.parametrize(
    ("encap_limits", "decap_limits", "added", "sent", "received"),
    [
        ((4, 8, 0, 0), (0, 0, 0, 0), None, 7, 7),
        ((0, 0, 0, 0), (3, 5, 0, 0), None, 12, 4),
        ((0, 0, 3, 4), (0, 0, 2, 3), None, 4, 3),  # since their first packets
        ((0, 0, 0, 0), (0, 3605, 0, 0), 3600, 12, 4),  # an hour of them is over
        ((0, 0, 0, 0), (0, 3605, 0, 0), -3600, 12, 12),  # they begin later
    ],
)
def test_lifetimes_in_seconds(heddle, tmp_path, device, encap_limits, decap_limits, added, sent, received):
    begin = 1_767_261_600  # of the router's clock
    current = ""
    if added is not None:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(begin - added))
        current = f"\tlifetime current:\n\t  0(bytes), 0(packets)\n\t  add {when} use -\n"
    for name, lines in (("in", SECONDS.format(*encap_limits)), ("out", SECONDS.format(*decap_limits) + current)):
        ipsec.write(tmp_path / name, [ipsec.Association(0x1001, lines=lines)])
    packet = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / b"xx")  # 30 bytes
    # Packets come after 1.1 seconds, 2.2, and so on to 13.2.
    chain = f"""TimedSource(1100ms, \\<{packet.hex()}>, LIMIT 12) -> s :: IPsecSequence(esp, SPI 0x1001)
        -> esp :: IPsecEncap({quoted(tmp_path / "in")}) -> d :: IPsecDecap({quoted(tmp_path / "out")})
        -> r :: IPsecReplay(d) -> c :: Counter -> Discard"""
    options = [f"--simtime={begin}", "--device", device]
    result = heddle("run", "--json", *options, "-e", chain)
    assert result.code == 0, result
    report = Report(result.json)
    assert report.one("c")["packets"] == received
    assert report.drops("s") == ({"expired": 12 - sent} if sent < 12 else {})
    assert report.drops("r") == ({"expired": sent - received} if received < sent else {})
    result = heddle("run", "--quiet", *options, "-e", chain, "-h", "esp.lifetimes", "-h", "d.lifetimes")
    for element, limits, count, ended in (
        ("esp", encap_limits, sent, sent < 12),
        ("d", decap_limits, received, received < sent),
    ):
        said = (
            f"{element}: association 0x00001001 has reached its hard limit with {count} packets, {30 * count} bytes, "
        )
        assert (said in result.err) == ended, result
        lifetime = f"{element}.lifetimes:\n0 0x00001001 {count} {30 * count} {'hard' if ended else 'fresh'} "
        seconds = 13 + max(added or 0, 0) if element == "d" else 13
        assert (lifetime + f"{seconds} 12\n" in result.out) == any(limits), result
    assert ipsec.Association(0x1001).cipher_key.hex()[:16] not in result.err + result.out


@pytest.mark.parametrize("suite", [{"cipher": "gcm"}, {}])
def test_numbers_taken_for_another_encap_have_their_upper_half(heddle, tmp_path, suite, mode):
    """As in chains c1 to c4: packets of one IPsecSequence go to two IPsecEncaps, of which it names one."""
    association = ipsec.Association(0x1001, **ESN, **suite)
    plain = ip_packets(association)
    keys, source = files(tmp_path, [association], [ether(p) for p in plain])
    heddle.run(
        f"FromDump({quoted(source)}) -> IPsecSequence(named, SPI 0x1001) -> r :: RoundRobinSwitch;"
        f"r[0] -> named :: IPsecEncap({quoted(keys)}, OFFSET 14) -> out :: ToDump({quoted(tmp_path / 'out.pcap')});"
        f"r[1] -> IPsecEncap({quoted(keys)}, OFFSET 14) -> out",
        *mode,
    )
    found = captures.frames(tmp_path / "out.pcap")
    numbers = range(first_number(association), first_number(association) + len(plain))
    assert numbers[0] >> 32 != numbers[-1] >> 32
    assert [association.decrypt(f[14:], n) for f, n in zip(found, numbers)] == plain


@pytest.mark.parametrize("name", ON_GPU)
def test_a_gpu_does_as_scapy_both_ways(heddle, tmp_path, mode, name):
    """Its packets are Scapy's, and what it takes out is what Scapy has put in; what is flipped or cut does not
    leave."""
    generator = random.Random(f"{SEED} gpu suites")
    association = ipsec.Association(0x1001, **ON_GPU[name])
    plain = ip_packets(association, 80)
    keys, source = files(tmp_path, [ipsec.Association(0x1000), association], [ether(p) for p in plain])
    out = tmp_path / "out.pcap"
    report = heddle.run(encap(keys, source, out), *mode)
    assert {e["processor"] for e in report.elements("IPsecEncap")} == {"cpu" if "cpu" in mode else "simt"}
    found = captures.frames(out)
    assert [association.decrypt(f[14:], n) for n, f in enumerate(found, first_number(association))] == plain
    frames, bad = [], 0
    for number, packet in enumerate(plain, first_number(association)):
        good = association.encrypt((IPv6 if packet[0] >> 4 == 6 else IP)(packet), number)
        at = good.index(association.spi.to_bytes(4, "big"), 20)
        frames.append(ether(good))
        if number % 3 == 0:
            place = generator.choice(
                [generator.randrange(at + 4, len(good)), len(good) - 1, len(good) - association.icv_bytes]
            )
            frames.append(ether(good[:place] + bytes([good[place] ^ 1 << generator.randrange(8)]) + good[place + 1 :]))
            frames.append(ether(good[: generator.randrange(20, len(good))]))
            bad += 1
    keys, source = files(tmp_path, [ipsec.Association(0x1000), association], frames)
    report = heddle.run(judged_behind(decap(keys, source, out)), *mode)
    assert {e["processor"] for e in report.elements("IPsecDecap")} == {"cpu" if "cpu" in mode else "simt"}
    assert captures.frames(out) == [ether(p) for p in plain]
    assert report.drops("d") == {"bad_icv": bad, "short": bad}


def test_a_gpu_refuses_what_it_cannot_do(heddle, tmp_path):
    keys, source = files(tmp_path, [ipsec.Association(0x1000), ipsec.Association(0x1001, cipher="cbc")], [])
    chain = encap(keys, source, tmp_path / "out.pcap")
    message = str(heddle.fails("plan", "--device", "simt", "-e", chain))
    assert "IPsecEncap 'esp'" in message and "0x00001001" in message and "DEVICE cpu" in message
    on_cpu = chain.replace("OFFSET 14", "OFFSET 14, DEVICE cpu")
    plan = heddle.ok("plan", "--device", "simt", "-e", on_cpu).out
    assert "chosen: CPU only: association 0x00001001" in plan


def test_decap_stays_on_the_cpu_where_a_gpu_cannot_judge(heddle, tmp_path):
    """Windows, selectors and limits are judged in the order of arrival: with --device on the CPU, with DEVICE gpu
    refused."""
    judged = [{}, {"window": 0, "lines": "\tsel src 0.0.0.0/0 dst 10.0.0.0/8\n"}]
    judged += [{"window": 0, "lines": "\tlimit: soft (INF)(packets), hard 9(packets)\n"}]
    limits = {"transport": True, "lines": "\tlimit: soft (INF)(packets), hard 9(packets)\n"}
    forms = [(form, "IPsecReplay(d)") for form in [*judged, ESN]]
    forms += [(form, "DEVICE cpu") for form in ({"cipher": "cbc"}, limits)]
    for form, remedy in forms:
        keys, source = files(tmp_path, [ipsec.Association(0x1001, **form)], [])
        chain = decap(keys, source, tmp_path / "out.pcap")
        plan = heddle.ok("plan", "--device", "simt", "-e", chain).out
        assert "chosen: CPU only: association 0x00001001" in plan
        message = str(
            heddle.fails("plan", "--device", "simt", "-e", chain.replace("OFFSET 14", "OFFSET 14, DEVICE gpu"))
        )
        assert "IPsecDecap 'd'" in message and "0x00001001" in message and remedy in message
        plan = heddle.ok("plan", "--device", "simt", "-e", judged_behind(chain)).out
        assert ("CPU only" in plan) == (remedy == "DEVICE cpu")
    keys, source = files(tmp_path, [ipsec.Association(0x1001, window=0)], [])
    assert "CPU only" not in heddle.ok("plan", "--device", "simt", "-e", decap(keys, source, tmp_path / "out.pcap")).out


def test_the_load_does_not_decide_about_extended_numbers(heddle, tmp_path):
    keys, source = files(tmp_path, [ipsec.Association(0x1001, **ESN)], [])
    chain = judged_behind(decap(keys, source, tmp_path / "out.pcap"))
    message = str(heddle.fails("plan", "--device", "auto", "-e", chain.replace("OFFSET 14", "OFFSET 14, DEVICE auto")))
    assert "IPsecDecap 'd'" in message and "extended sequence numbers" in message and "DEVICE cpu" in message


@pytest.mark.parametrize(
    "between",
    [
        "-> Counter -> IPsecReplay(d)",
        "-> t :: Tee -> IPsecReplay(d) -> Discard; t[1]",
        "-> r :: IPsecReplay(d); FromDump(x) -> r; r",
    ],
)
def test_replays_are_judged_right_behind(heddle, tmp_path, between):
    keys, source = files(tmp_path, [ipsec.Association(0x1001)], [])
    chain = decap(keys, source, tmp_path / "out.pcap").replace("-> ToDump", f"{between} -> ToDump")
    assert "DECAP" in str(heddle.fails("check", "-e", chain))


def test_keep_alives_are_datagrams_of_one_byte(heddle, tmp_path, mode):
    out = tmp_path / "out.pcap"
    heddle.ok(
        "run",
        "--simtime",
        "-e",
        "TimedSource(20, \\<ff>, LIMIT 3) -> UDPIPEncap(198.51.100.1, 4500, 203.0.113.1, 4500)"
        f" -> EtherEncap(0x0800, 02:00:00:00:00:01, 02:00:00:00:00:02) -> ToDump({quoted(out)})",
    )
    frames = captures.frames(out)
    assert len(frames) == 3 and all(bytes(IP(f[14:])[UDP].payload)[:1] == b"\xff" for f in frames)
    keys, source = files(tmp_path, [ipsec.Association(0x1001, port=4500)], frames)
    report = heddle.run(judged_behind(decap(keys, source, tmp_path / "x.pcap")), *mode)
    assert report.drops("d") == {"keepalive": 3}
