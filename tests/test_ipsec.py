"""IPsecEncap and IPsecDecap against Scapy's IPsec layer, both ways; keys stay where they are."""

import pytest
from scapy.all import Ether
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from whole import captures, ipsec
from whole.program import CHAINS, quoted

TRAFFIC = CHAINS / "traffic.pcap"


@pytest.fixture
def keys(tmp_path):
    return ipsec.write(tmp_path / "tunnels.keys", [ipsec.Association(0x1001), ipsec.Association(0x1002)])


def ip_frames(count=400):
    """Real IPv4 packets, without what their link has padded."""
    list_ = [Ether(f) for f in captures.frames(TRAFFIC)]
    packets = [bytes(p)[: 14 + p[IP].len] for p in list_ if IP in p and p[IP].ihl == 5]
    packets = [p for p in packets if len(p) == 14 + int.from_bytes(p[16:18], "big")]
    assert len(packets) > 20
    return packets[:count]


def test_scapy_deciphers_what_encap_makes(heddle, keys, tmp_path, mode):
    plain = ip_frames()
    source, out = captures.write(tmp_path / "in.pcap", plain), tmp_path / "out.pcap"
    heddle.run(
        f"FromDump({quoted(source)}) -> IPsecSequence(esp, SPI 0x1002) -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14)"
        f" -> ToDump({quoted(out)})",
        *mode,
    )
    association = ipsec.Association(0x1002).scapy()
    found = captures.frames(out)
    assert len(found) == len(plain)
    for number, (before, after) in enumerate(zip(plain, found), 1):
        outer = Ether(after)[IP]
        assert (outer.src, outer.dst, outer.proto) == (ipsec.SOURCE, ipsec.DESTINATION, 50)
        assert int.from_bytes(after[38:42], "big") == number
        assert bytes(association.decrypt(outer, verify=True)) == before[14:]


def decap(keys, source, out):
    return (
        f"FromDump({quoted(source)}) -> d :: IPsecDecap({quoted(keys)}, OFFSET 14) -> r :: IPsecReplay(d)"
        f" -> ToDump({quoted(out)})"
    )


def test_decap_takes_what_scapy_makes(heddle, keys, tmp_path, mode):
    plain = ip_frames()
    plain += [bytes(Ether(plain[0][:12] + b"\x86\xdd") / IPv6(dst="2001:db8::1") / (b"x" * n)) for n in range(9)]
    association = ipsec.Association(0x1001).scapy()
    esp = []
    for frame in plain:
        inner = IP(frame[14:]) if frame[14] >> 4 == 4 else IPv6(frame[14:])
        esp.append(frame[:12] + b"\x08\x00" + bytes(association.encrypt(inner)))
    source, out = captures.write(tmp_path / "in.pcap", esp), tmp_path / "out.pcap"
    report = heddle.run(decap(keys, source, out), *mode)
    assert captures.frames(out) == plain
    assert report.drops("d") == {}


def test_decap_refuses_what_is_bad(heddle, keys, tmp_path, mode):
    """Each packet of Scapy's is good, flipped, cut, for nobody or sent again: what becomes of it is known."""
    plain = ip_frames(60)
    association = ipsec.Association(0x1001).scapy()
    frames, wanted, drops = [], [], {"bad_icv": 0, "short": 0, "no_sa": 0, "replayed": 0}
    for number, frame in enumerate(plain):
        esp = frame[:14] + bytes(association.encrypt(IP(frame[14:])))
        match number % 5:
            case 0:
                frames.append(esp[:-1] + bytes([esp[-1] ^ 0x80]))
                drops["bad_icv"] += 1
            case 1:
                frames.append(esp[:-3])
                drops["short"] += 1
            case 2:
                frames.append(esp[:34] + b"\0\0\x10\x03" + esp[38:])
                drops["no_sa"] += 1
            case 3:
                frames += [esp, esp]
                wanted.append(frame)
                drops["replayed"] += 1
            case _:
                frames.append(esp)
                wanted.append(frame)
    source, out = captures.write(tmp_path / "in.pcap", frames), tmp_path / "out.pcap"
    report = heddle.run(decap(keys, source, out), *mode)
    assert captures.frames(out) == wanted
    replayed = drops.pop("replayed")
    assert report.drops("d") == drops
    assert report.drops("r") == {"replayed": replayed}


def test_decap_refuses_what_scapy_made_with_another_key(heddle, keys, tmp_path, mode):
    other = ipsec.Association(0x1001, cipher_key=bytes(20), hash_key=bytes(20)).scapy()
    esp = [frame[:14] + bytes(other.encrypt(IP(frame[14:]))) for frame in ip_frames(30)]
    source, out = captures.write(tmp_path / "in.pcap", esp), tmp_path / "out.pcap"
    report = heddle.run(decap(keys, source, out), *mode)
    assert captures.frames(out) == []
    assert report.drops("d") == {"bad_icv": len(esp)}


@pytest.mark.parametrize("bits", [192, 256])
def test_long_keys_as_scapy_has_them(heddle, tmp_path, mode, bits):
    long = ipsec.Association(0x1002, cipher_key=bytes(range(7, 7 + bits // 8 + 4)))
    keys = ipsec.write(tmp_path / "tunnels.keys", [ipsec.Association(0x1001), long])
    plain = ip_frames(60)
    source, out = captures.write(tmp_path / "in.pcap", plain), tmp_path / "out.pcap"
    heddle.run(
        f"FromDump({quoted(source)}) -> IPsecSequence(esp, SPI 0x1002) -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14)"
        f" -> ToDump({quoted(out)})",
        *mode,
    )
    deciphered = [bytes(long.scapy().decrypt(Ether(frame)[IP], verify=True)) for frame in captures.frames(out)]
    assert deciphered == [frame[14:] for frame in plain]
    association = long.scapy()
    esp = [frame[:14] + bytes(association.encrypt(IP(frame[14:]))) for frame in plain]
    source = captures.write(tmp_path / "esp.pcap", esp)
    assert heddle.run(decap(keys, source, out), *mode).drops("d") == {}
    assert captures.frames(out) == plain


@pytest.mark.parametrize(
    "between",
    [
        "t :: Tee -> esp; t[1] -> SetIPDSCP(10) -> esp",
        "t :: PaintTee(0) -> esp; t[1] -> esp",
        "t :: EtherSwitch -> esp; t[1] -> Discard; Idle -> [1]t",
        "t :: IPFragmenter(600) -> esp",
        "t :: ICMPError(10.0.0.1, unreachable) -> esp",
        "t :: {} -> esp",
    ],
)
def test_a_number_is_for_one_packet(heddle, keys, between):
    """AES-CTR and AES-GCM are broken when two packets have one initialisation vector."""
    encap = f"IPsecEncap({quoted(keys)}, OFFSET 14)"
    between = between.format(encap)
    chain = f"FromDump(a) -> CheckIPHeader(14) -> {{}} -> Discard; esp :: {encap} -> Discard;"
    number = "q :: IPsecSequence(esp, SPI 0x1001)"
    wrong = chain.replace("-> {} -> Discard", f"-> {number} -> {between}")
    said = str(heddle.fails("check", "-e", wrong))
    assert "IPsecEncap 'esp': the esp_iv annotation is good for one packet" in said
    assert " 't' " in said and "put 'q' between the two" in said
    if "IPsecEncap" not in between:
        first, rest = between.split(" -> esp", 1)
        rest = rest.replace("-> esp", "-> q")
        heddle.ok("check", "-e", chain.replace("-> {} -> Discard", f"-> {first} -> {number} -> esp{rest}"))


def test_others_may_not_read_the_file(heddle, keys):
    keys.chmod(0o644)
    chain = f"FromDump(a) -> IPsecDecap({quoted(keys)}) -> Discard;"
    message = heddle.fails("check", "-e", chain)
    assert "0644" in str(message) and "chmod 0600" in str(message)


def test_keys_appear_nowhere(heddle, keys, tmp_path):
    source = captures.write(tmp_path / "in.pcap", ip_frames(3))
    chain = (
        f"FromDump({quoted(source)}) -> IPsecSequence(esp, SPI 0x1001) -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14)"
        f" -> d :: IPsecDecap({quoted(keys)}, OFFSET 14) -> Discard;"
    )
    handlers = ["esp.config", "esp.associations", "d.config", "d.associations"]
    said = [heddle.ok(command, "--json", "-e", chain).out for command in ("check", "run")]
    said += [heddle.ok("run", "-e", chain, *(word for h in handlers for word in ("-h", h))).out]
    assert "0x00001001" in said[-1]
    broken = keys.read_text().replace(" 96", " 95").replace("rfc3686", "cbc")
    keys.write_text(broken)
    said.append(str(heddle.fails("check", "-e", chain)))
    for association in (ipsec.Association(0x1001), ipsec.Association(0x1002)):
        for key in (association.cipher_key, association.hash_key):
            assert not any(key.hex()[:16] in text.lower() for text in said)
