"""IPsecDecap, where a GPU does it too, with packets that are authentic and yet wrong or rare; sealed by hand, so that
all may lie."""

import hmac

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC, CTR
from scapy.layers.inet import IP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting
from test_ipsec_rules import LEAVES, inner, ip, marked
from test_ipsec_suites import ETHER4, ETHER6, ether, files, fits_gpu
from whole import captures, ipsec
from whole.program import Report, quoted

KEYS = ipsec.Association(0x1001)


FORMS = {
    "ctr-sha1": {},
    "ctr-sha256": {"hash": "sha256", "bits": 256},
    "gcm": {"cipher": "gcm"},
    "gcm-8": {"cipher": "gcm", "icv": 8},
    "cbc-sha256": {"cipher": "cbc", "hash": "sha256"},
    "gcm-udp": {"cipher": "gcm", "port": 4500},
    "ctr-tunnel6": {"ip6": True},
}


@pytest.fixture(params=FORMS)
def form(request, mode):
    if "cpu" not in mode and not fits_gpu(FORMS[request.param]):
        pytest.skip("no GPU does this")
    return FORMS[request.param]


def padded(packet, padding=None, next_header=None, of=KEYS):
    """With the trailer that RFC 4303 (2.4) wants, unless it is said otherwise."""
    if padding is None:
        padding = bytes(range(1, 1 + (-len(packet) - 2) % of.alignment))
    if next_header is None:
        next_header = 41 if packet[0] >> 4 == 6 else 4
    return packet + padding + bytes([len(padding), next_header])


def sealed(text, number, outer=None, icv_of=None, of=KEYS):
    """A packet that is authentic whatever `text` is: RFC 3686, RFC 3602 or RFC 4106, RFC 2404 or RFC 4868."""
    iv, head = number.to_bytes(of.iv_bytes, "big"), of.spi.to_bytes(4, "big") + (number & 0xFFFFFFFF).to_bytes(4, "big")
    key, nonce = (of.cipher_key, b"") if of.cipher == "cbc" else (of.cipher_key[:-4], of.cipher_key[-4:])
    if of.cipher == "gcm":
        esp = head + iv + AESGCM(key).encrypt(nonce + iv, text, head)
        esp = esp[: len(esp) - 16 + of.icv_bytes]
    else:
        cipher = Cipher(AES(key), CBC(iv) if of.cipher == "cbc" else CTR(nonce + iv + b"\0\0\0\1")).encryptor()
        esp = head + iv + cipher.update(text)
        esp += hmac.digest(of.hash_key, icv_of(esp) if icv_of else esp, of.hash)[: of.icv_bytes]
    outer = outer or (IPv6 if of.ip6 else IP)(src=of.ends[0], dst=of.ends[1])
    if of.port:
        return bytes(outer / UDP(sport=of.port, dport=of.port, chksum=0) / esp)
    if isinstance(outer, IP):
        outer.proto = 50
    elif outer.nh == 59:
        outer.nh = 50
    return bytes(outer / esp)


def opened(heddle, tmp_path, frames, mode, association=KEYS, run=None):
    keys, source = files(tmp_path, [association], frames)
    chain = (
        f"FromDump({quoted(source)}) -> d :: IPsecDecap({quoted(keys)}, OFFSET 14) -> r :: IPsecReplay(d)"
        f" -> ToDump({quoted(tmp_path / 'out.pcap')})"
    )
    report = run(chain) if run else heddle.run(chain, *mode)
    return captures.frames(tmp_path / "out.pcap"), report.drops("d"), report.drops("r")


def test_padding_and_content_may_lie(heddle, tmp_path, form, mode):
    of = ipsec.Association(0x1001, **form)
    packet, six = inner(text=b"y" * 30), inner(6, text=b"y" * 30)  # 58 and 78 bytes: need no padding to four

    def text(content, tail=None, next_header=None):
        """With its own padding, or zeros (RFC 4303, 2.7: traffic flow confidentiality) before `tail`."""
        if tail is None:
            return padded(content, next_header=next_header, of=of)
        return content + bytes(-(len(content) + len(tail)) % of.alignment) + tail

    def says(length):
        return packet[:2] + length.to_bytes(2, "big") + packet[4:]

    right = {
        "none": text(packet),
        "most": text(packet, bytes(range(1, 256)) + b"\xff\4"),
        "six": text(six),
        "more behind": text(packet + bytes(38)),
    }
    wrong = {
        "bad_padding": [
            text(packet, b"\1\2\3\5\4\4"),
            text(packet, b"\0\0\0\0\4\4"),
            text(packet, b"\2\3\4\5\4\4"),
            text(packet, b"\1\2\3\4\5\4"),
            text(packet, bytes([len(text(packet)) - 1, 4])),
            text(packet, b"\xff\4"),
            text(b"", b"\0\0\3\4"),
        ],
        "not_ip": [
            text(packet, next_header=59),  # dummy packets (RFC 4303, 2.6)
            text(packet, next_header=41),
            text(six, next_header=4),
            text(packet, next_header=6),
            text(packet, next_header=0),
            text(says(len(packet) + 17)),
            text(says(65535)),
            text(says(19)),
            text(b"\x44" + packet[1:]),
            text(b"\x54" + packet[1:], next_header=4),
            text(packet[:18]),
            text(six[:38]),
            text(b"", next_header=4),
            text(b"", b"\1\2\2\4"),
        ],
        # No multiple of what the cipher wants, or nothing at all; CBC has none of these.
        "short": [packet[:size] for size in (0, 1, 2, 3, 5, 57)] if of.cipher != "cbc" else [],
    }
    texts = [(text, None) for text in right.values()]
    texts += [(text, reason) for reason, list_ in wrong.items() for text in list_]
    frames = [ether(sealed(text, number, of=of)) for number, (text, _) in enumerate(texts, 1)]
    found, drops, behind = opened(heddle, tmp_path, frames, mode, of)
    assert found == [ether(six if name == "six" else packet) for name in right]
    assert drops == {reason: len(list_) for reason, list_ in wrong.items() if list_}
    assert behind == {}


def test_content_of_transport_mode_may_lie(heddle, tmp_path, mode):
    """Any protocol may be inside, but for that of dummy packets, with any content."""
    of = ipsec.Association(0x1001, transport=True)
    texts = [padded(b"", next_header=protocol) for protocol in range(256)]
    bad = [b"\1\2\3\3\3\6", b"\xff\6", b"\0\0\3\6", b"\1\2\4\6"]
    bad = [bytes(-len(tail) % 4) + tail for tail in bad]
    frames = [ether(sealed(text, number, of=of)) for number, text in enumerate(texts + bad, 1)]
    found, drops, _ = opened(heddle, tmp_path, frames, mode, of)
    assert [(frame[23], len(frame)) for frame in found] == [(p, 34) for p in range(256) if p != 59]
    assert drops == {"not_ip": 1, "bad_padding": len(bad)}


@pytest.mark.parametrize("name", ["gcm-udp", "ctr-tunnel6", "transport4", "transport6", "cbc-sha256"])
def test_every_bit_and_every_length(heddle, tmp_path, name, mode):
    """No bit of a packet from ESP on is another, no packet is cut, and what leaves is what came in."""
    if "cpu" not in mode and name == "cbc-sha256":
        pytest.skip("no GPU does this")
    transport = {"transport": True, "ip6": name == "transport6"} if name.startswith("transport") else None
    of = ipsec.Association(0x1001, window=0, **(transport or FORMS[name]))
    if transport:
        packet = bytes((IPv6 if of.ip6 else IP)(dst=of.ends[1]) / UDP(sport=7, dport=9) / b"text")
        good = of.encrypt(ip(packet), 1)
    else:
        packet = inner(text=b"text")
        good = sealed(padded(packet, of=of), 1, of=of)
    at = good.index(of.spi.to_bytes(4, "big"), 20)
    flipped = [
        good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :]
        for place in range(len(good))
        for bit in range(8)
    ]
    cut = [good[:size] for size in range(len(good))]
    said = []
    for size in range(at, len(good)):
        part = bytearray(good[:size])
        if of.ip6:
            part[4:6] = (size - 40).to_bytes(2, "big")
        else:
            part[2:4] = size.to_bytes(2, "big")
        if of.port:
            part[at - 4 : at - 2] = (size - 20).to_bytes(2, "big")
        said.append(bytes(part))
    frames = [ETHER6 + f if of.ip6 else ETHER4 + f for f in [good, *flipped, *cut, *said]]
    found, drops, _ = opened(heddle, tmp_path, frames, mode, of)
    assert found[0] == ether(packet)
    assert sum(drops.values()) == len(frames) - len(found)
    # The outer header is not authenticated: such flips alone may go unseen.
    assert len(found) < 1 + 8 * at
    if not transport:
        assert found == [ether(packet)] * len(found)
    assert drops["no_sa"] >= 32 and drops["short"] >= len(cut) // 2 and drops["bad_icv"] >= 8 * (len(good) - at - 4)


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


def test_outer_headers_of_ip6(heddle, tmp_path, mode):
    of, packet = ipsec.Association(0x1001, ip6=True), inner(text=b"z" * 100)
    to = {"src": ipsec.SOURCE6, "dst": ipsec.DESTINATION6}
    good = [
        IPv6(**to),
        IPv6(src="2001:db8::9", dst=ipsec.DESTINATION6, hlim=1),
        IPv6(**to, nh=60) / IPv6ExtHdrDestOpt(nh=50),
        IPv6(**to, nh=0) / IPv6ExtHdrHopByHop(nh=43) / IPv6ExtHdrRouting(nh=60) / IPv6ExtHdrDestOpt(nh=50),
    ]
    bad = [
        (IPv6(src=ipsec.SOURCE6, dst=ipsec.SOURCE6), "no_sa"),
        (IP(src=ipsec.SOURCE, dst=ipsec.DESTINATION), "no_sa"),
        (IPv6(**to, nh=44) / IPv6ExtHdrFragment(nh=50), "not_esp"),
        (IPv6(**to, nh=60) / IPv6ExtHdrDestOpt(nh=44) / IPv6ExtHdrFragment(nh=50), "not_esp"),
        (IPv6(**to, nh=51), "not_esp"),
        (IPv6(**to, nh=60) / IPv6ExtHdrDestOpt(nh=50, len=200), "short"),
        (IPv6(**to, nh=0) / IPv6ExtHdrHopByHop(nh=60, len=60), "short"),
        (IPv6(**to, plen=2000), "short"),
        (IPv6(**to, plen=7), "short"),
    ]
    text = padded(packet)
    outers = good + [outer for outer, _ in bad]
    frames = [ether(sealed(text, n, outer, of=of)) for n, outer in enumerate(outers, 1)]
    found, drops, _ = opened(heddle, tmp_path, frames, mode, of)
    assert found == [ether(packet)] * len(good), drops
    reasons = [reason for _, reason in bad]
    assert drops == {reason: reasons.count(reason) for reason in set(reasons)}


def test_udp_without_room_for_its_header_is_short(heddle, tmp_path, mode):
    of = ipsec.Association(0x1001, cipher="gcm", port=4500)
    ends = {"src": ipsec.SOURCE, "dst": ipsec.DESTINATION}
    udp = bytes(UDP(sport=4500, dport=4500)) + bytes(60)
    cut = [IP(**ends, proto=17, len=20 + size) / udp for size in range(8)]
    whole = [
        (IP(**ends) / UDP(sport=4500, dport=port) / (b"\xff" * n)) for port, n in ((4500, 1), (4501, 1), (4500, 0))
    ]
    found, drops, _ = opened(heddle, tmp_path, [ether(bytes(one)) for one in cut + whole], mode, of)
    assert found == []
    assert drops == {"short": 9, "keepalive": 1, "not_esp": 1}


def test_receivers_may_choose_one_spi(heddle, tmp_path, mode):
    """An association is that of SPI and destination (RFC 4301, 4.1), also of one key."""
    ends = [("192.0.2.9", "192.0.2.1"), ("192.0.2.9", "192.0.2.2"), ("2001:db8::9", "2001:db8::1")]
    ends += [("2001:db8::9", "2001:db8::2")]
    all_ = [ipsec.Association(0x1001, ends=one, ip6=":" in one[0], cipher="gcm") for one in ends]
    all_[1].cipher_key, all_[2].cipher_key = bytes(range(20)), bytes(range(20, 40))
    packets = [inner(src=k + 1) for k in range(len(all_))]
    esp = [sealed(padded(p), 5, of=of) for of, p in zip(all_, packets, strict=True)]
    wrong = [
        sealed(padded(packets[0]), 6, of=all_[k], outer=(IPv6 if k > 1 else IP)(src=ends[k][0], dst=to))
        for k, to in ((0, "192.0.2.2"), (0, "192.0.2.3"), (2, "2001:db8::2"), (2, "2001:db8::3"))
    ]
    keys, source = files(tmp_path, all_, [ether(f) for f in [*esp, *wrong, *esp]])
    chain = (
        f"FromDump({quoted(source)}) -> d :: IPsecDecap({quoted(keys)}, OFFSET 14) -> r :: IPsecReplay(d)"
        f" -> ToDump({quoted(tmp_path / 'out.pcap')})"
    )
    report = heddle.run(chain, *mode)
    assert captures.frames(tmp_path / "out.pcap") == [ether(p) for p in packets]
    assert (report.drops("d"), report.drops("r")) == ({"bad_icv": 2, "no_sa": 2}, {"replayed": 4})


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
