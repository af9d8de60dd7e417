"""What RFC 4301 and RFC 6040 want of IPsecSequence, IPsecEncap and IPsecDecap beyond ESP itself; packets are
Scapy's."""

import re

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from test_hotconfig import running
from test_ipsec_suites import decap, encap, ether, files
from whole import captures, ipsec
from whole.program import ROOT, Report, quoted, wait_for_count

GCM = {"cipher": "gcm"}


def inner(version=4, tos=0, src=1, text=b"x"):
    if version == 4:
        return bytes(IP(src=f"10.1.0.{src}", dst="10.2.0.1", tos=tos) / UDP() / text)
    return bytes(IPv6(src=f"2001:db8:1::{src}", dst="2001:db8:2::1", tc=tos) / UDP() / text)


def ip(packet):
    return (IPv6 if packet[0] >> 4 == 6 else IP)(packet)


def marked(packet, ecn):
    """An IP packet with these ECN bits, and the checksum that goes with them."""
    changed = ip(packet)
    if changed.version == 6:
        changed.tc = changed.tc & 0xFC | ecn
    else:
        changed.tos = changed.tos & 0xFC | ecn
        del changed.chksum
    return bytes(changed)


# RFC 6040, figure 4: by inner and outer bits, what leaves; None is a drop.
NOT_ECT, ECT1, ECT0, CE = range(4)
LEAVES = {
    NOT_ECT: {NOT_ECT: NOT_ECT, ECT0: NOT_ECT, ECT1: NOT_ECT, CE: None},
    ECT0: {NOT_ECT: ECT0, ECT0: ECT0, ECT1: ECT1, CE: CE},
    ECT1: {NOT_ECT: ECT1, ECT0: ECT1, ECT1: ECT1, CE: CE},
    CE: {NOT_ECT: CE, ECT0: CE, ECT1: CE, CE: CE},
}


@pytest.mark.parametrize("form", [{}, GCM, {"ip6": True, **GCM}, {"port": 4500}])
@pytest.mark.parametrize("noecn", [False, True])
def test_congestion_marks_leave_a_tunnel(heddle, tmp_path, form, noecn):
    association = ipsec.Association(0x1001, lines="\treplay-window 64 flag noecn\n" * noecn, **form)
    frames, wanted, dropped = [], [], 0
    for version in (4, 6):
        for before, row in LEAVES.items():
            for outer, leaves in row.items():
                # Checksums of every kind: those that carry, and 0.
                for dscp in (0x00, 0xB8, 0xFC):
                    packet = inner(version, dscp | before, src=len(frames) + 1, text=b"y" * len(frames))
                    esp = association.encrypt(ip(packet), len(frames) + 1)
                    frames.append(ether(marked(esp, outer)))
                    if noecn:
                        wanted.append(ether(packet))
                    elif leaves is None:
                        dropped += 1
                    else:
                        wanted.append(ether(marked(packet, leaves)))
    keys, source = files(tmp_path, [association], frames)
    report = heddle.run(decap(keys, source, tmp_path / "out.pcap"), "--device", "cpu")
    assert captures.frames(tmp_path / "out.pcap") == wanted
    assert report.drops("d") == ({"ecn": dropped} if dropped else {})


@pytest.mark.parametrize(
    ("sel", "right"),
    [
        ("src 10.1.0.1/32 dst 10.2.0.0/16", [0]),
        ("src 10.1.0.0/24 dst 10.2.0.1/32", [0, 1]),
        ("src 10.2.0.0/16 dst 10.1.0.0/16", []),
        ("src 0.0.0.0/0 dst 0.0.0.0/0", [0, 1]),
        ("src ::/0 dst 2001:db8:2::/48", [2, 3]),
        ("src 2001:db8:1::2/128 dst ::/0", [3]),
        ("", [0, 1, 2, 3]),
    ],
)
def test_a_tunnel_gives_its_own_packets_only(heddle, tmp_path, sel, right):
    association = ipsec.Association(0x1001, lines=f"\tsel {sel}\n" if sel else "", **GCM)
    packets = [inner(4, src=1), inner(4, src=2), inner(6, src=1), inner(6, src=2)]
    frames = [ether(association.encrypt(ip(p), n)) for n, p in enumerate(packets, 1)]
    keys, source = files(tmp_path, [association], frames)
    report = heddle.run(decap(keys, source, tmp_path / "out.pcap"), "--device", "cpu")
    assert captures.frames(tmp_path / "out.pcap") == [ether(packets[k]) for k in right]
    assert report.drops("d") == ({"selector": 4 - len(right)} if len(right) < 4 else {})


def test_transport_mode_gives_its_own_packets_only(heddle, tmp_path):
    association = ipsec.Association(0x1001, transport=True, lines="\tsel src 10.1.0.1/32 dst 0.0.0.0/0\n")
    packets = [bytes(IP(src=f"10.1.0.{k}", dst=ipsec.DESTINATION) / UDP() / b"x") for k in (1, 2)]
    frames = [ether(association.encrypt(ip(p), n)) for n, p in enumerate(packets, 1)]
    keys, source = files(tmp_path, [association], frames)
    report = heddle.run(decap(keys, source, tmp_path / "out.pcap"), "--device", "cpu")
    assert captures.frames(tmp_path / "out.pcap") == [ether(packets[0])]
    assert report.drops("d") == {"selector": 1}


def limited_run(heddle, chain):
    """The report of a run in which a limit is reached."""
    result = heddle("run", "--json", "--device", "cpu", "-e", chain)
    assert result.code == 0 and "hard limit" in result.err, result
    return Report(result.json)


def test_replays_use_up_no_lifetime(heddle, tmp_path):
    association = ipsec.Association(0x1001, lines="\tlimit: soft (INF)(packets), hard 5(packets)\n")
    packet = inner()
    esp = [ether(association.encrypt(ip(packet), n)) for n in range(1, 7)]
    keys, source = files(tmp_path, [association], [esp[k] for k in (0, 0, 0, 1, 1, 0, 1, 2, 2, 2, 3, 4, 5)])
    report = limited_run(heddle, decap(keys, source, tmp_path / "out.pcap"))
    assert captures.frames(tmp_path / "out.pcap") == [ether(packet)] * 5
    assert report.drops("d") == {"replayed": 7, "expired": 1}


def test_numbers_and_lifetimes_are_for_good_packets(heddle, tmp_path):
    limit = "\tlimit: soft (INF)(packets), hard 2(packets)\n"
    tunnel = ipsec.Association(0x1001, lines=limit)
    transport = ipsec.Association(0x1002, lines=limit, transport=True)
    good = inner()
    bad = [good[:-1], b"\x44" + good[1:], b"\x54" + good[1:], good[:10], good[:1]]
    keys, source = files(tmp_path, [tunnel, transport], [ether(p) for p in [*bad, good, *bad, good]])
    report = limited_run(heddle, encap(keys, source, tmp_path / "out.pcap"))
    assert [int.from_bytes(f[38:42], "big") for f in captures.frames(tmp_path / "out.pcap")] == [1, 2]
    assert report.drops("s") == {"malformed": 10}
    own = bytes(IP(src="10.0.0.1", dst=ipsec.DESTINATION) / UDP() / b"x")
    part = bytes(IP(src="10.0.0.1", dst=ipsec.DESTINATION, flags="MF") / (b"x" * 32))
    keys, source = files(tmp_path, [tunnel, transport], [ether(p) for p in (good, part, own, part, good, own, own)])
    report = limited_run(heddle, encap(keys, source, tmp_path / "out.pcap", "SPI 0x1002"))
    assert [int.from_bytes(f[38:42], "big") for f in captures.frames(tmp_path / "out.pcap")] == [1, 2]
    assert report.drops("s") == {"no_sa": 2, "fragment": 2, "expired": 1}


def test_offset_is_where_headers_have_been_found(heddle, tmp_path):
    """With another one every packet would be lost, as no_sa."""
    keys = quoted(ipsec.write(tmp_path / "keys", [ipsec.Association(0x1001)]))

    def encap(before, offset):
        return f"FromDump(a) -> {before} -> IPsecSequence(e) -> e :: IPsecEncap({keys}{offset}) -> Discard"

    def decap(before, offset):
        return f"FromDump(a) -> {before} -> e :: IPsecDecap({keys}{offset}) -> Discard"

    found = "c :: CheckIPHeader(14) -> Counter"
    for chain in (encap, decap):
        message = str(heddle.fails("check", "-e", chain(found, "")))
        assert "'c' before it has found the IP header at byte 14, and OFFSET of 'e' says 0" in message, message
        assert "OFFSET 14" in message
        assert "OFFSET 10" in str(heddle.fails("check", "-e", chain(found + " -> Strip(4)", ", OFFSET 14")))
        for before, offset in (
            (found, ", OFFSET 14"),
            (found + " -> Strip(14)", ""),
            ("CheckIPHeader(0) -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)", ", OFFSET 14"),
            ("Null", ""),
        ):
            heddle.ok("check", "-e", chain(before, offset))


def test_two_associations_have_two_selectors(heddle, tmp_path):
    def check(lines, rest):
        associations = [ipsec.Association(0x1001 + k, lines=line, **GCM) for k, line in enumerate(lines)]
        return encap(*files(tmp_path, associations, []), tmp_path / "out.pcap", rest)

    one, other = "\tsel src 10.0.0.0/8 dst 10.2.3.4/16\n", "\tsel src 10.9.9.9/8 dst 10.2.0.0/16\n"
    for lines in (["", ""], [one, "", other]):
        said = str(heddle.fails("check", "-e", check(lines, "BY selector")))
        assert "0x00001001" in said and f"{0x1000 + len(lines):#010x}" in said and "one selector" in said
        by_column = check(lines, "BY column").replace("-> s ::", f"-> IPsecDecap({quoted(tmp_path / 'keys')}) -> s ::")
        heddle.ok("check", "-e", by_column)
        heddle.ok("check", "-e", check(lines, "SPI 0x1001"))
    heddle.ok("check", "-e", check([one, "", other.replace("10.2", "10.3")], "BY selector"))


def test_one_element_takes_the_numbers_of_an_association(heddle, tmp_path):
    """Two IPsecEncaps with one FILE both begin with number 1; that is right only if one IPsecSequence serves them."""
    keys = ipsec.write(tmp_path / "keys", [ipsec.Association(0x1001)])
    more = ipsec.write(tmp_path / "more", [ipsec.Association(0x1002), ipsec.Association(0x1001)])
    rekeyed = ipsec.write(tmp_path / "rekeyed", [ipsec.Association(0x1001, cipher_key=bytes(20))])
    chain = (
        f"FromDump(a) -> first :: IPsecSequence(x, SPI 0x1001) -> x :: IPsecEncap({quoted(keys)}) -> Discard;"
        "FromDump(b) -> second :: IPsecSequence({}, SPI 0x1001) -> y :: IPsecEncap({}) -> Discard"
    )
    for file in (keys, more):
        said = str(heddle.fails("check", "-e", chain.format("y", quoted(file))))
        assert "'x' and 'y'" in said or "'y' and 'x'" in said
        assert "0x00001001" in said and "IPsecSequence" in said
    heddle.ok("check", "-e", chain.format("x", quoted(keys)))
    heddle.ok("check", "-e", chain.format("y", quoted(rekeyed)))


@pytest.mark.parametrize("suite", [{}, GCM])
def test_a_new_configuration_counts_on_with_upper_halves(heddle, tmp_path, mode, suite):
    """Both ends know them from the configuration before; what comes then is too far from where FILE begins."""
    at = (2 << 32) - 3
    association = ipsec.Association(0x1001, esn=True, sent=at - 1, seen=at - 1, **suite)
    packet = inner()
    keys, source = files(tmp_path, [association], [ether(packet)] * 5)
    arrive = {n: range(at + far, at + far + 5) for n, far in ((1, 1 << 31), (2, 1 << 32))}
    esp = {
        n: captures.write(tmp_path / f"esp{n}.pcap", [ether(association.encrypt(ip(packet), k)) for k in numbers])
        for n, numbers in arrive.items()
    }

    def chain(n):
        return (
            f"x{n} :: FromDump({quoted(source)}) -> in{n} :: Counter -> IPsecSequence(esp, SPI 0x1001)"
            f" -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14) -> ToDump({quoted(tmp_path / f'encap{n}.pcap')});"
            f"y{n} :: FromDump({quoted(esp[n])}) -> out{n} :: Counter -> d :: IPsecDecap({quoted(keys)}, OFFSET 14)"
            f" -> r :: IPsecReplay(d) -> ToDump({quoted(tmp_path / f'decap{n}.pcap')});"
        )

    with running(heddle, tmp_path, chain(1), *mode) as (_, control):
        for n in (1, 2):
            if n == 2:
                control.write("hotconfig", chain(2))
            wait_for_count(tmp_path / "control", f"in{n}.count", 5)
            wait_for_count(tmp_path / "control", f"out{n}.count", 5)
    for n in (1, 2):
        numbers = range(at + 5 * (n - 1), at + 5 * n)
        found = captures.frames(tmp_path / f"encap{n}.pcap")
        assert [association.decrypt(f[14:], k) for f, k in zip(found, numbers, strict=True)] == [packet] * 5
        assert captures.frames(tmp_path / f"decap{n}.pcap") == [ether(packet)] * 5


@pytest.mark.parametrize("apart", [False, True])
def test_a_new_configuration_counts_on(heddle, tmp_path, apart):
    """Numbers are not used twice, what has come does not come again, and lifetimes end when they should."""
    suite, judge = ({}, " -> r :: IPsecReplay(d)") if apart else (GCM, "")
    association = ipsec.Association(0x1001, lines="\tlimit: soft (INF)(packets), hard 8(packets)\n", **suite)
    packet = inner()
    keys, source = files(tmp_path, [association], [ether(packet)] * 5)
    esp = captures.write(tmp_path / "esp.pcap", [ether(association.encrypt(ip(packet), n)) for n in range(1, 6)])

    def chain(n):
        return (
            f"x{n} :: FromDump({quoted(source)}) -> in{n} :: Counter -> IPsecSequence(esp, SPI 0x1001)"
            f" -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14) -> ToDump({quoted(tmp_path / f'encap{n}.pcap')});"
            f"y{n} :: FromDump({quoted(esp)}) -> out{n} :: Counter -> d :: IPsecDecap({quoted(keys)}, OFFSET 14){judge}"
            f" -> ToDump({quoted(tmp_path / f'decap{n}.pcap')});"
        )

    said = "(esp: association .* hard limit .*\n)+"
    with running(heddle, tmp_path, chain(1), "--device", "cpu", err=said) as (run, control):
        for n in (1, 2):
            if n == 2:
                control.write("hotconfig", chain(2))
            wait_for_count(tmp_path / "control", f"in{n}.count", 5)
            wait_for_count(tmp_path / "control", f"out{n}.count", 5)
    numbers = [[int.from_bytes(f[38:42], "big") for f in captures.frames(tmp_path / f"encap{n}.pcap")] for n in (1, 2)]
    assert numbers == [[1, 2, 3, 4, 5], [6, 7, 8]]
    assert [len(captures.frames(tmp_path / f"decap{n}.pcap")) for n in (1, 2)] == [5, 0]
    assert run.report.drops("r" if apart else "d") == {"replayed": 5}


def test_messages_of_ike_are_kept(heddle, tmp_path):
    """By the Classifier of IPsecEncap's manual: zeros there are a message's only of UDP to port 4500."""
    page = (ROOT / "docs/elements/IPsecEncap.md").read_text(encoding="utf-8")
    kept = re.search(r"Classifier\([^)]*42/00000000[^)]*\)", page)[0]
    ends = {"src": ipsec.SOURCE, "dst": ipsec.DESTINATION}
    ike = IP(**ends) / UDP(sport=500, dport=4500) / bytes(12)
    others = [
        IP(**ends) / UDP(sport=4500, dport=4501) / bytes(12),
        IP(**ends) / UDP(sport=4500, dport=4500) / (b"\0\0\0\1" + bytes(8)),
        IP(**ends, proto=6) / bytes(UDP(sport=500, dport=4500) / bytes(12)),
        IP(**ends, proto=50) / bytes(32),
    ]
    source = captures.write(tmp_path / "in.pcap", [ether(bytes(p)) for p in (ike, *others)])
    chain = f"FromDump({quoted(source)}) -> c :: {kept}"
    chain += f"; c[0] -> ToDump({quoted(tmp_path / 'ike.pcap')}); c[1] -> ToDump({quoted(tmp_path / 'esp.pcap')})"
    heddle.run(chain)
    assert captures.frames(tmp_path / "ike.pcap") == [ether(bytes(ike))]
    assert captures.frames(tmp_path / "esp.pcap") == [ether(bytes(p)) for p in others]
