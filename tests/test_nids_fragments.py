"""A NIDS behind IPReassembler: alerts are those of packets that a plain oracle puts together, whatever order fragments
come in, where they cut a pattern, and what overlaps."""

import json
import random
from collections import Counter

from whole import captures, judge
from whole.frames import SEED
from whole.oracles import Reassembly
from whole.program import quoted

RULES = """alert udp any any -> any any (content:"attack vector"; sid:1;)
alert udp any any -> any any (content:"ATTACK"; nocase; content:"vector"; distance:1; within:6; sid:2;)
alert udp any any -> any 53 (content:"name"; offset:40; depth:60; sid:3;)
alert udp any any -> any any (content:"attack"; content:!"harmless"; sid:4;)
alert tcp any any -> any 80 (content:"attack vector"; sid:5;)
alert udp any any -> any any (content:"vector"; endswith; dsize:>100; sid:6;)
"""
UDP, TCP = 17, 6
WORDS = [b"attack vector", b"Attack vector", b"attack  vector", b"name", b"harmless", b"attac", b"k vector", b"vector"]


def wanted_of(protocol, whole):
    """The sids that alert of what is behind an IP header."""
    port, text = int.from_bytes(whole[2:4], "big"), whole[20 if protocol == TCP else 8 :]
    if protocol == TCP:
        return [5] if port == 80 and b"attack vector" in text else []
    rules = {
        1: b"attack vector" in text,
        2: any(text[i : i + 6].lower() == b"attack" and b"vector" == text[i + 7 : i + 13] for i in range(len(text))),
        3: port == 53 and b"name" in text[40:100],
        4: b"attack" in text and b"harmless" not in text,
        6: text.endswith(b"vector") and len(text) > 100,
    }
    return [sid for sid, holds in rules.items() if holds]


class Sender:
    """Fragments of one datagram, of a sender of its own."""

    def __init__(self, rng, number):
        self.rng, self.id = rng, rng.getrandbits(16)
        self.source = bytes([10, 0, number >> 8, number & 255])
        self.protocol = rng.choice([UDP, UDP, TCP])
        text = b""
        while len(text) < 60 or rng.random() < 0.7:
            text += rng.choice(WORDS) if rng.random() < 0.3 else rng.randbytes(rng.randint(1, 20)).hex().encode()
        header = judge.transport(self.protocol, 1000, rng.choice([53, 80]), 0x10)[: 20 if self.protocol == TCP else 8]
        if self.protocol == UDP:
            header = header[:4] + (8 + len(text)).to_bytes(2, "big") + header[6:]
        self.payload = header + text

    def fragment(self, start, end, payload=None, more=None):
        payload, total = payload or self.payload[start:end], len(self.payload)
        word = start // 8 | (0x2000 if (end < total if more is None else more) else 0)
        packet = bytearray(judge.ip4(self.source, bytes([192, 0, 2, 1]), self.protocol, payload, fragment=word)[14:])
        packet[4:6], packet[10:12] = self.id.to_bytes(2, "big"), b"\0\0"
        packet[10:12] = judge.checksum(packet[:20]).to_bytes(2, "big")
        return bytes(packet)

    def cuts(self):
        """Where fragments begin and end. The first may be shorter than a transport header."""
        places = range(8, len(self.payload), 8)
        inner = sorted(self.rng.sample(places, self.rng.randint(1, min(8, len(places)))))
        return list(zip([0, *inner], [*inner, len(self.payload)], strict=True))

    def fragments(self):
        rng, cuts = self.rng, self.cuts()
        parts = [self.fragment(*cut) for cut in cuts]
        kind = rng.choice(
            ["whole", "in order", "reversed", "any order", "one missing", "same again", "other again"]
            + ["two ends", "across", "all again"]
        )
        if kind == "whole":
            return [self.fragment(0, len(self.payload))]
        if kind == "reversed":
            return parts[::-1]
        if kind != "in order":
            rng.shuffle(parts)
        start, end = cuts[rng.randrange(len(cuts))]
        hostile = (b"attack vector" * 60)[: end - start]
        if kind == "one missing":
            parts.pop()
        elif kind in ("same again", "all again"):
            parts.insert(rng.randrange(len(parts)), self.fragment(start, end))
        elif kind == "other again":
            parts.insert(rng.randrange(len(parts) + 1), self.fragment(start, end, payload=hostile))
        elif kind == "two ends":
            parts.insert(rng.randrange(len(parts)), self.fragment(start, end, more=end == len(self.payload)))
        elif kind == "across":  # the border between two
            start = max(0, end - 8)
            parts.insert(rng.randrange(len(parts)), self.fragment(start, start + 16, payload=hostile[:16].ljust(16)))
        if kind == "all again":  # a packet anew
            parts += [self.fragment(*cut) for cut in self.cuts()]
        return parts


def mixed(rng, lists):
    """The lists' items, in an order that keeps that of each."""
    left, got = [list(items) for items in lists], []
    while left:
        items = rng.choice(left)
        got.append(items.pop(0))
        left = [items for items in left if items]
    return got


def traffic(rng):
    """IP packets. Those that stay in pieces are fewer than may wait (IPReassembler)."""
    senders = [Sender(rng, number) for number in range(320)]
    return [packet for at in range(0, 320, 20) for packet in mixed(rng, [s.fragments() for s in senders[at : at + 20]])]


def test_alerts_are_those_of_whole_packets(heddle, tmp_path, mode):
    rng = random.Random(f"{SEED} fragments")
    packets, oracle, whole_packets, wanted, by_piece = traffic(rng), Reassembly(), 0, Counter(), Counter()
    for packet in packets:
        source = ".".join(str(byte) for byte in packet[12:16])
        if (whole := oracle.take(packet)) is not None:
            whole_packets += 1
            wanted.update((source, sid) for sid in wanted_of(packet[9], whole))
        by_piece.update((source, sid) for sid in wanted_of(packet[9], packet[20:]))
    assert {sid for _, sid in wanted} == {1, 2, 3, 4, 5, 6}
    # Patterns that no fragment has, and fragments that have one for nobody.
    assert len(wanted - by_piece) > 20 and len(by_piece - wanted) > 20
    (tmp_path / "rules").write_text(RULES)
    source = captures.write(tmp_path / "in.pcap", [bytes(12) + b"\x08\x00" + packet for packet in packets])
    eve = tmp_path / "eve.json"
    report = heddle.run(
        f"FromDump({quoted(source)}) -> Strip(14) -> CheckIPHeader -> r :: IPReassembler -> Unstrip(14)"
        f" -> CheckIPHeader(14) -> ids :: NIDS({quoted(tmp_path / 'rules')}); ids[0] -> out :: Discard;"
        f" ids[1] -> NIDSConfirm(ids, EVE {quoted(eve)}) -> out;",
        *mode,
    )
    lines = [json.loads(line) for line in eve.read_text().splitlines()]
    assert Counter((line["src_ip"], line["alert"]["signature_id"]) for line in lines) == wanted
    assert report.one("ids")["packets"] == whole_packets
    assert set(report.drops("r")) == {"duplicate", "overlap", "timeout", "bad_fragment"}


def test_alerts_over_ip6_fragments(heddle, tmp_path, mode):
    """A pattern that lies across the border of two fragments is found behind an IP6Reassembler, and only there."""
    rng = random.Random(f"{SEED} IPv6 fragments")
    (tmp_path / "rules").write_text(RULES)
    frames, wanted = [], Counter()
    for number in range(64):
        source, target = (judge.packed(f"2001:db8::{host}:{number:x}") for host in (1, 2))
        text = bytes(8 * rng.randint(0, 40) + rng.randint(3, 7)) + rng.choice(WORDS[:3]) + bytes(20)
        payload = judge.transport(UDP, 1000, 9, 0)[:4] + (8 + len(text)).to_bytes(2, "big") + bytes(2) + text
        border = (payload.lower().index(b"attack") + 7) // 8 * 8  # within the word
        parts = [(1, payload[:border]), (border, payload[border:])]
        rng.shuffle(parts)
        for place, part in parts:
            header = bytes([UDP, 0]) + place.to_bytes(2, "big") + number.to_bytes(4, "big")
            frames.append(judge.ip6(source, target, 44, header + part))
        wanted.update((number, sid) for sid in wanted_of(UDP, payload))
    source = captures.write(tmp_path / "in.pcap", frames)
    for reassembler, alerts in ((" -> r :: IP6Reassembler", wanted), ("", Counter())):
        eve = tmp_path / "eve.json"
        heddle.run(
            f"FromDump({quoted(source)}) -> CheckIP6Header(OFFSET 14){reassembler} -> ids ::"
            f" NIDS({quoted(tmp_path / 'rules')}); ids[0] -> out :: Discard;"
            f" ids[1] -> NIDSConfirm(ids, EVE {quoted(eve)}) -> out;",
            *mode,
        )
        lines = [json.loads(line) for line in eve.read_text().splitlines()]
        assert (
            Counter((int(line["src_ip"].split(":")[-1], 16), line["alert"]["signature_id"]) for line in lines) == alerts
        )
