"""Segments with a wrong TCP checksum, which no host takes, hide nothing that a connection says."""

import json

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from whole import captures
from whole.program import quoted

CHAIN = (
    "FromDump({}) -> v :: Classifier(12/0800, 12/86dd); v[0] -> CheckIPHeader(14) -> flows :: FlowTable(TIMESTAMPS true);"
    " v[1] -> CheckIP6Header(OFFSET 14) -> flows -> ids :: NIDS({}, STREAM true); ids[0] -> out :: Discard;"
    " ids[1] -> c :: NIDSConfirm(ids, FLOWS flows, EVE {}{}) -> out"
)
NETWORKS = {
    "ip": IP(src="10.0.0.1", dst="10.0.0.2"),
    "ip6": IPv6(src="2001:db8::1", dst="2001:db8::2"),
    "ip6-options": IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrDestOpt(),
    "ip6-whole-fragment": IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrFragment(offset=0, m=0, id=7),
}


@pytest.mark.parametrize("network", NETWORKS)
def test_wrong_checksums_hide_nothing(heddle, tmp_path, network):
    def segment(sequence, flags, payload, wrong=0):
        tcp = TCP(sport=1000, dport=80, seq=sequence, flags=flags) / payload
        frame = bytearray(bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / NETWORKS[network] / tcp))
        frame[len(frame) - len(payload) - 4] ^= wrong  # the checksum's first byte
        return bytes(frame)

    for first, junk, rest in ((b"an evil", b"xxxxx", b" word"), (b"an evil ", b"xxxx", b"word")):
        after = 100 + len(first)
        frames = [
            segment(99, "S", b""),
            segment(100, "A", first),
            segment(after, "A", junk, wrong=1),
            segment(after, "A", rest),
        ]
        capture = captures.write(tmp_path / "in.pcap", frames)
        (tmp_path / "x.rules").write_text('alert tcp any any -> any any (content:"an evil word"; sid:1;)\n')
        for keyword, alerts, wrong in (("", 1, 1), (", CHECKSUM false", 0, 0)):
            eve = tmp_path / "eve.json"
            report = heddle.run(CHAIN.format(quoted(capture), quoted(tmp_path / "x.rules"), quoted(eve), keyword))
            found = [json.loads(line)["alert"]["signature_id"] for line in eve.read_text().splitlines()]
            assert found == [1] * alerts, (keyword, rest)
            assert report.one("c")["statistics"]["bad_checksum"] == wrong


def segment_of(back, sequence, acknowledgement, flags, payload=b"", wrong=False):
    """Of a connection between two hosts, back or there."""
    ends, ports = [("10.0.0.1", "10.0.0.2"), (1000, 80)]
    tcp = TCP(sport=ports[back], dport=ports[not back], seq=sequence, ack=acknowledgement, flags=flags) / payload
    packet = IP(src=ends[back], dst=ends[not back]) / tcp
    frame = bytearray(bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet))
    frame[len(frame) - len(payload) - 4] ^= wrong  # the checksum's first byte
    return bytes(frame)


@pytest.mark.parametrize("case", ["answer", "data"])
def test_wrong_checksums_do_not_count(heddle, tmp_path, case):
    """Neither for whether there is a connection, nor for what has been sent."""
    frames = [
        segment_of(False, 99, 0, "S"),
        segment_of(True, 499, 100, "SA", wrong=case == "answer"),
        segment_of(False, 200, 500, "A", b"x" * 100, wrong=case == "data"),
        segment_of(False, 100, 500, "A", b"mark"),
    ]
    if case == "answer":
        del frames[2]
    (tmp_path / "x.rules").write_text(
        'alert tcp-pkt any any -> any any (flow:established; content:"mark"; sid:1;)\n'
        'alert tcp-pkt any any -> any any (flow:not_established; content:"mark"; sid:2;)\n'
        'alert tcp-pkt any any -> any any (stream_size:client,<,50; content:"mark"; sid:3;)\n'
    )
    capture, eve = captures.write(tmp_path / "in.pcap", frames), tmp_path / "eve.json"
    for keyword, wanted in (
        ("", {"answer": [2, 3], "data": [1, 3]}),
        (", CHECKSUM false", {"answer": [1, 3], "data": [1]}),
    ):
        heddle.run(CHAIN.format(quoted(capture), quoted(tmp_path / "x.rules"), quoted(eve), keyword))
        found = [json.loads(line)["alert"]["signature_id"] for line in eve.read_text().splitlines()]
        assert sorted(found) == wanted[case], keyword


@pytest.mark.parametrize(
    ("right", "wrong", "after", "said"),
    [
        (0, 9, 0, None),
        (0, 10, 0, "10 of the first 10"),
        (90, 10, 0, None),
        (90, 11, 0, "11 of the first 101"),
        (900, 100, 500, None),
        (899, 101, 500, "101 of the first 1000"),
    ],
)
def test_says_that_checksums_are_yet_to_be_filled_in(heddle, tmp_path, right, wrong, after, said):
    one, bad = segment_of(False, 100, 500, "A", b"mark"), segment_of(False, 100, 500, "A", b"mark", wrong=True)
    capture = captures.write(tmp_path / "in.pcap", [one] * right + [bad] * (wrong + after))
    (tmp_path / "x.rules").write_text('alert tcp any any -> any any (content:"mark"; sid:1;)\n')
    for keyword in ("", ", CHECKSUM false"):
        chain = CHAIN.format(quoted(capture), quoted(tmp_path / "x.rules"), quoted(tmp_path / "eve.json"), keyword)
        result = heddle("run", "-e", chain)
        assert result.code == 0, result
        warnings = [line for line in result.err.splitlines() if "checksum" in line]
        if said is None or keyword:
            assert not warnings
        else:
            assert len(warnings) == 1 and said in warnings[0] and "CHECKSUM false" in warnings[0]
