"""IPsecDecap, where a GPU does it too, with packets that are authentic and yet wrong or rare; sealed by hand, so that all may lie."""

import hmac

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from scapy.layers.inet import IP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt
from test_ipsec_rules import LEAVES, inner, marked
from test_ipsec_suites import ether, files
from whole import captures, ipsec
from whole.program import Report, quoted

KEYS = ipsec.Association(0x1001)


def padded(packet, padding=None, next_header=None):
    """With the trailer that RFC 4303 (2.4) wants, unless it is said otherwise."""
    if padding is None:
        padding = bytes(range(1, 1 + (-len(packet) - 2) % 4))
    if next_header is None:
        next_header = 41 if packet[0] >> 4 == 6 else 4
    return packet + padding + bytes([len(padding), next_header])


def sealed(text, number, outer=None, icv_of=None):
    """A packet that is authentic whatever `text` is: RFC 3686, RFC 2404."""
    iv = number.to_bytes(8, "big")
    key, nonce = KEYS.cipher_key[:-4], KEYS.cipher_key[-4:]
    cipher = Cipher(AES(key), CTR(nonce + iv + b"\0\0\0\1")).encryptor()
    esp = KEYS.spi.to_bytes(4, "big") + (number & 0xFFFFFFFF).to_bytes(4, "big") + iv + cipher.update(text)
    esp += hmac.digest(KEYS.hash_key, icv_of(esp) if icv_of else esp, "sha1")[:12]
    outer = outer or IP(src=ipsec.SOURCE, dst=ipsec.DESTINATION)
    if isinstance(outer, IP):
        outer.proto = 50
    return bytes(outer / esp)


def opened(heddle, tmp_path, frames, mode, association=KEYS, run=None):
    keys, source = files(tmp_path, [association], frames)
    chain = (
        f"FromDump({quoted(source)}) -> d :: IPsecDecap({quoted(keys)}, OFFSET 14) -> r :: IPsecReplay(d)"
        f" -> ToDump({quoted(tmp_path / 'out.pcap')})"
    )
    report = run(chain) if run else heddle.run(chain, *mode)
    return captures.frames(tmp_path / "out.pcap"), report.drops("d"), report.drops("r")


def test_padding_and_content_may_lie(heddle, tmp_path, mode):
    packet = inner(text=b"y" * 30)  # 58 bytes: needs no padding
    six = inner(6, text=b"y" * 30)
    short = packet[:2] + (len(packet) + 1).to_bytes(2, "big") + packet[4:]
    right = {
        "none": padded(packet),
        "most": padded(packet, bytes(range(1, 253))),
        "six": padded(six),
        "more behind": padded(packet + bytes(38)),  # RFC 4303, 2.7: traffic flow confidentiality
    }
    wrong = {
        "bad_padding": [
            padded(packet, b"\1\2\3\5"),
            padded(packet, b"\0" * 4),
            padded(packet, b"\2\3\4\5"),
            packet + bytes([len(packet) + 1, 4]),
            packet + bytes([255, 4]),
            b"\0\0\3\4",
        ],
        "not_ip": [
            padded(packet, next_header=59),  # dummy packets (RFC 4303, 2.6)
            padded(packet, next_header=41),
            padded(six, next_header=4),
            padded(packet, next_header=6),
            padded(short),
            padded(b"\x44" + packet[1:]),
            padded(b"\x54" + packet[1:]),
            padded(packet[:18]),
            padded(six[:38]),
            padded(b"", next_header=4),
            b"\1\2\2\4",
        ],
    }
    texts = [(text, None) for text in right.values()]
    texts += [(text, reason) for reason, list_ in wrong.items() for text in list_]
    texts = [(text, reason) for text, reason in texts if len(text) % 4 == 0]
    assert len(texts) >= 18
    frames = [ether(sealed(text, number)) for number, (text, _) in enumerate(texts, 1)]
    found, drops, behind = opened(heddle, tmp_path, frames, mode)
    plain = [ether(six if text == right["six"] else packet) for text, reason in texts if reason is None]
    assert found == plain and len(plain) == len(right)
    reasons = [reason for _, reason in texts if reason]
    assert drops == {reason: reasons.count(reason) for reason in wrong}
    assert behind == {}


def test_outer_headers_of_all_kinds(heddle, tmp_path, mode):
    packet = inner(text=b"z" * 100)
    ends = {"src": ipsec.SOURCE, "dst": ipsec.DESTINATION}
    good = [
        IP(**ends),
        IP(**ends, options=[IPOption_NOP()] * 4),
        IP(**ends, options=[IPOption_NOP()] * 40),
        IP(src="1.2.3.4", dst=ipsec.DESTINATION, ttl=1, flags="DF"),
    ]
    bad = [
        (IP(src=ipsec.SOURCE, dst="203.0.113.2"), "no_sa"),
        (IP(**ends, flags="MF"), "not_esp"),
        (IP(**ends, frag=1), "not_esp"),
        (IPv6(src=ipsec.SOURCE6, dst=ipsec.DESTINATION6, nh=50), "no_sa"),
        (IPv6(src=ipsec.SOURCE6, dst=ipsec.DESTINATION6, nh=60) / IPv6ExtHdrDestOpt(nh=50), "no_sa"),
        (IPv6(src=ipsec.SOURCE6, dst=ipsec.DESTINATION6, nh=60) / IPv6ExtHdrDestOpt(nh=50, len=200), "short"),
        (IPv6(src=ipsec.SOURCE6, dst=ipsec.DESTINATION6, nh=51), "not_esp"),
        (IPv6(src=ipsec.SOURCE6, dst=ipsec.DESTINATION6, nh=50, plen=2000), "short"),
        (IP(**ends, len=2000), "short"),
        (IP(**ends, len=19), "short"),
        (IP(**ends, ihl=4), "not_esp"),
    ]
    text = padded(packet)
    frames = [ether(sealed(text, n, outer)) for n, outer in enumerate(good + [outer for outer, _ in bad], 1)]
    for one in (IP(**ends, proto=6) / bytes(60), IP(**ends) / UDP(sport=4500, dport=4500) / bytes(60)):
        frames.append(ether(bytes(one)))
        bad.append((one, "not_esp"))
    found, drops, _ = opened(heddle, tmp_path, frames, mode)
    assert found == [ether(packet)] * len(good), drops
    reasons = [reason for _, reason in bad]
    assert drops == {reason: reasons.count(reason) for reason in set(reasons)}


def test_what_is_authenticated_is_all_of_it(heddle, tmp_path, mode):
    """An ICV over less than SPI to trailer, of another key or cut to other places is wrong."""
    text = padded(inner(text=b"q" * 200))
    good = sealed(text, 1)
    frames = [
        sealed(text, 2, icv_of=lambda esp: esp[8:]),
        sealed(text, 3, icv_of=lambda esp: esp[:-1]),
        sealed(text, 4, icv_of=lambda esp: esp + b"\0"),
        sealed(text, 5, icv_of=lambda esp: esp + b"\0\0\0\0"),
        good[:-12] + good[-11:] + b"\0",
        good[:-4] + b"\0\0\0\0",
        good[:-12] + b"\0" * 12,
    ]
    found, drops, _ = opened(heddle, tmp_path, [ether(f) for f in [*frames, good]], mode)
    assert found == [ether(inner(text=b"q" * 200))]
    assert drops == {"bad_icv": len(frames)}


@pytest.mark.parametrize("noecn", [False, True])
def test_congestion_marks_leave_a_tunnel(heddle, tmp_path, mode, noecn):
    association = ipsec.Association(0x1001, lines="\treplay-window 64 flag noecn\n" * noecn)
    frames, wanted, dropped = [], [], 0
    for version in (4, 6):
        for before, row in LEAVES.items():
            for outer, leaves in row.items():
                for dscp in (0x00, 0xB8, 0xFC):
                    packet = inner(version, dscp | before, src=len(frames) + 1, text=b"y" * len(frames))
                    frames.append(ether(marked(sealed(padded(packet), len(frames) + 1), outer)))
                    if noecn:
                        wanted.append(ether(packet))
                    elif leaves is None:
                        dropped += 1
                    else:
                        wanted.append(ether(marked(packet, leaves)))
    found, drops, _ = opened(heddle, tmp_path, frames, mode, association)
    assert found == wanted
    assert drops == ({"ecn": dropped} if dropped else {})


def test_selectors_and_lifetimes_are_judged_behind(heddle, tmp_path, mode):
    packets = [inner(src=1), inner(src=2), inner(6, src=1)]
    frames = [ether(sealed(padded(p), n)) for n, p in enumerate(packets * 4, 1)]
    only = ipsec.Association(0x1001, lines="\tsel src 10.1.0.1/32 dst 0.0.0.0/0\n")
    found, drops, behind = opened(heddle, tmp_path, frames, mode, only)
    assert found == [ether(packets[0])] * 4
    assert (drops, behind) == ({}, {"selector": 8})

    limited = ipsec.Association(0x1001, lines="\tlimit: soft (INF)(packets), hard 5(packets)\n")

    def run(chain):
        result = heddle("run", "--json", *mode, "-e", chain)
        assert result.code == 0 and "d: association 0x00001001 has reached its hard limit with 5 packets" in result.err
        return Report(result.json)

    found, drops, behind = opened(heddle, tmp_path, [f for f in frames for f in (f, f)], mode, limited, run)
    assert found == [ether(p) for p in (packets * 4)[:5]]
    assert (drops, behind) == ({}, {"replayed": 12, "expired": 7})
