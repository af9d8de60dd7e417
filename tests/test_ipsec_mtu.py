"""IPsecSequence's MTU: what would get too long is cut before the tunnel, or its sender is told (RFC 4301, 8.2)."""

import re

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6
from test_ipsec_suites import encap, ether, files
from whole import captures, ipsec
from whole.program import ROOT, quoted

FORMS = {
    "ctr-sha1": {},
    "ctr-sha256": {"hash": "sha256"},
    "cbc-sha1": {"cipher": "cbc"},
    "gcm-ip6": {"cipher": "gcm", "ip6": True},
    "gcm-udp": {"cipher": "gcm", "port": 4500},
}
MTU = 1280


def packet(length, flags="", number=1):
    return bytes(IP(src="10.1.2.3", dst="10.9.8.7", flags=flags, id=number) / UDP() / bytes(length - 28))


def sent(heddle, tmp_path, association, packets, rest, *options):
    keys, source = files(tmp_path, [association], [ether(p) for p in packets])
    report = heddle.run(encap(keys, source, tmp_path / "out.pcap", rest), *options)
    return report, captures.frames(tmp_path / "out.pcap")


@pytest.mark.parametrize("form", FORMS)
def test_inner_mtu_is_what_fits(heddle, tmp_path, form):
    association = ipsec.Association(0x1001, **FORMS[form])
    packets = [packet(length) for length in range(1150, 1290)]
    _, frames = sent(heddle, tmp_path, association, packets, "SPI 0x1001", "--device", "cpu")
    fit = [len(p) for p, f in zip(packets, frames) if len(f) - 14 <= MTU]
    assert fit == list(range(1150, max(fit) + 1)) and max(fit) < 1289
    report, frames = sent(heddle, tmp_path, association, packets, f"SPI 0x1001, MTU {MTU}", "--device", "cpu")
    assert [len(association.decrypt(f[14:], n)) for n, f in enumerate(frames, 1)] == fit, "numbers are not used in vain"
    assert report.drops("s") == {"too_big": len(packets) - len(fit)}
    keys, source = tmp_path / "keys", tmp_path / "in.pcap"
    chain = encap(keys, source, tmp_path / "out.pcap", f"SPI 0x1001, MTU {MTU}")
    said = heddle.ok("run", "--device", "cpu", "-e", chain, "-h", "s.inner_mtu", "-h", "s.mtu").out
    assert str(max(fit)) in said.split() and str(MTU) in said.split()


def test_six_in_transport_mode_has_its_headers_counted(heddle, tmp_path):
    association = ipsec.Association(0x1001, transport=True, ip6=True, cipher="gcm")
    ends = dict(zip(("src", "dst"), association.ends))
    packets = [bytes(IPv6(**ends) / UDP() / bytes(length - 48)) for length in range(1200, 1281)]
    _, frames = sent(heddle, tmp_path, association, packets, "SPI 0x1001", "--device", "cpu")
    fit = sum(len(f) - 14 <= MTU for f in frames)
    report, frames = sent(heddle, tmp_path, association, packets, f"SPI 0x1001, MTU {MTU}", "--device", "cpu")
    assert 0 < len(frames) == fit < len(packets)
    assert report.drops("s") == {"too_big": len(packets) - fit}


def test_long_packets_are_cut_or_their_senders_told(heddle, tmp_path, mode):
    association = ipsec.Association(0x1001)
    inner = 1230  # 1280 less 20 (IP), 16 (ESP, IV), 12 (ICV), 2 (trailer)
    lengths = [100, inner, inner + 1, 1400, 3000, 200]
    packets = [packet(n, flags, k) for k, (n, flags) in enumerate((n, f) for f in ("", "DF") for n in lengths)]
    keys, source = files(tmp_path, [association], [ether(p) for p in packets])
    esp = f"esp :: IPsecEncap({quoted(keys)}, OFFSET 14) -> ToDump({quoted(tmp_path / 'out.pcap')})"
    chain = (
        f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> s :: IPsecSequence(esp, MTU {MTU}) -> {esp};"
        f"s[1] -> f :: IPFragmenter({inner}) -> IPsecSequence(esp, MTU {MTU}) -> esp;"
        f"f[1] -> ICMPError(192.0.2.1, unreachable, needfrag, PMTU {inner})"
        f" -> ToDump({quoted(tmp_path / 'back.pcap')}, ENCAP IP)"
    )
    heddle.run(chain, *mode)
    frames = captures.frames(tmp_path / "out.pcap")
    assert all(len(f) - 14 <= MTU for f in frames)
    assert [int.from_bytes(f[38:42], "big") for f in frames] == list(range(1, len(frames) + 1))
    texts = {}
    for number, frame in enumerate(frames, 1):
        one = IP(association.decrypt(frame[14:], number))
        texts.setdefault(one.id, {})[one.frag] = bytes(one)[20:]
    whole = {number: b"".join(parts[at] for at in sorted(parts)) for number, parts in texts.items()}
    kept = [k for k, p in enumerate(packets) if k < len(lengths) or len(p) <= inner]
    assert whole == {k: packets[k][20:] for k in kept}
    told = [IP(f) for f in captures.frames(tmp_path / "back.pcap")]
    refused = [p for k, p in enumerate(packets) if k not in kept]
    assert [(m.dst, m[ICMP].type, m[ICMP].code, m[ICMP].nexthopmtu) for m in told] == [("10.1.2.3", 3, 4, inner)] * 3
    assert [bytes(m[ICMP].payload)[:28] for m in told] == [p[:28] for p in refused]


def test_the_example_of_the_manual(heddle, tmp_path):
    """Packets of IPv4 are cut, or their senders are told, and those of IPv6 are told, and nothing gets too long."""
    page = (ROOT / "docs/elements/IPsecSequence.md").read_text(encoding="utf-8")
    chain = re.search(r"Example:\n\n((?:    .*\n)+)", page)[1]
    association = ipsec.Association(0x1001, cipher="gcm")
    ends6 = {"src": "2001:db8::7", "dst": "2001:db8::8"}
    packets = [packet(n, flags, 1 + n) for flags in ("", "DF") for n in range(1446, 1501)]
    packets += [bytes(IPv6(**ends6) / UDP() / bytes(n - 48)) for n in (1280, 1446, 1447, 1500)]
    keys, source = files(tmp_path, [association], [ether(p) for p in packets])
    for name, path in (("in.pcap", source), ("tunnels.keys", keys)):
        chain = chain.replace(name, quoted(path))
    for name in ("out.pcap", "back.pcap"):
        chain = chain.replace(name, quoted(tmp_path / name))
    result = heddle.ok("run", "--device", "cpu", "-e", chain, "-h", "s.inner_mtu")
    assert "1446" in result.out.split()
    frames = captures.frames(tmp_path / "out.pcap")
    assert max(map(len, frames)) == 14 + 1500
    texts = [association.decrypt(f[14:], number) for number, f in enumerate(frames, 1)]
    parts = {}
    for one in (IP(text) for text in texts if text[0] >> 4 == 4):
        parts.setdefault((one.id, "DF" in one.flags), {})[one.frag] = bytes(one)[20:]
    whole = {key: b"".join(of[at] for at in sorted(of)) for key, of in parts.items()}
    assert whole == {
        (1 + n, flags == "DF"): packet(n, flags, 1 + n)[20:]
        for n in range(1446, 1501)
        for flags in ("", "DF")
        if n == 1446 or not flags
    }
    assert sorted(len(text) for text in texts if text[0] >> 4 == 6) == [1280, 1446]
    told = captures.frames(tmp_path / "back.pcap")
    told4 = [IP(m) for m in told if m[0] >> 4 == 4]
    assert {(m.dst, m[ICMP].type, m[ICMP].code, m[ICMP].nexthopmtu) for m in told4} == {("10.1.2.3", 3, 4, 1446)}
    assert len(told4) == 54
    told6 = [IPv6(m) for m in told if m[0] >> 4 == 6]
    assert [(m.dst, m[ICMPv6PacketTooBig].mtu) for m in told6] == [("2001:db8::7", 1446)] * 2


@pytest.mark.parametrize("mtu", ["255", "65536", "x"])
def test_mtus_have_bounds(heddle, tmp_path, mtu):
    keys, source = files(tmp_path, [ipsec.Association(0x1001)], [])
    assert "MTU" in str(heddle.fails("check", "-e", encap(keys, source, tmp_path / "out", f"MTU {mtu}")))
