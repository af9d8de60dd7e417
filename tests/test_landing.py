"""Transport landing and latency budgets, on simt: `heddle run`, `heddle plan` and what they refuse."""

import random

import pytest
from whole import captures

RANDOM = random.Random(23)
SIMT = ("--device", "simt")


def xored(frame, key=90):
    """What XOR does."""
    return bytes(byte ^ key for byte in frame)


def run(heddle, tmp_path, sent, functions, *args):
    """The report of a chain with these functions, and what it made of the frames."""
    captures.write(tmp_path / "in.pcap", sent)
    chain = f"FromDump({tmp_path}/in.pcap) -> {functions} -> ToDump({tmp_path}/out.pcap);"
    report = heddle.run(chain, *SIMT, *args)
    return report, captures.frames(tmp_path / "out.pcap")


def some_frames(number):
    """Of many lengths."""
    return [RANDOM.randbytes(RANDOM.randrange(60, 1500)) for _ in range(number)]


@pytest.mark.parametrize("launch", ["sync", "async", "graph", "persistent"])
def test_packets_land(heddle, tmp_path, launch):
    sent = some_frames(500)
    report, got = run(heddle, tmp_path, sent, "XOR(90)", "--transport", "landing", "--launch", launch)
    assert got == [xored(frame) for frame in sent]
    [traffic] = report.all["traffic"]
    assert (traffic["packets_landed"], traffic["landing_full"]) == (len(sent), 0)
    unit = 16 if launch == "persistent" else 64
    whole = sum(-(-len(frame) // unit) * unit for frame in sent)
    assert 0 < traffic["bytes_from_gpu"] - whole < 4 * len(sent) + 4 * 32 * 16  # result words beside the packets


def test_the_place_of_landing_is_said_and_counted(heddle, tmp_path):
    sent = some_frames(200)
    captures.write(tmp_path / "in.pcap", sent)
    chain = f"FromDump({tmp_path}/in.pcap) -> XOR(90, TRANSPORT landing) -> ToDump({tmp_path}/out.pcap);"
    assert "segment 1: 200 packets have landed, 0 came back" in heddle.ok("run", *SIMT, "-e", chain).out
    plan = heddle.ok("plan", *SIMT, "-e", "Idle -> x :: XOR(90, TRANSPORT landing) -> Print -> Discard;").out
    assert "transport   landing: TRANSPORT of 'x'" in plan


def test_a_budget_changes_no_packet(heddle, tmp_path):
    sent = some_frames(700)
    for options in (("--latency", "200us"), ("--latency", "1s", "--launch", "async"), ("--latency", "1s", "-j", "2")):
        _, got = run(heddle, tmp_path, sent, "XOR(90)", *options)
        assert got == [xored(frame) for frame in sent]


def test_the_plan_says_the_budget(heddle):
    chain = "Idle -> XOR(90) -> XOR(3{}) -> Discard;"
    said = "latency     packets wait for others while they can be back within {} us"
    assert said.format(200) in heddle.ok("plan", *SIMT, "--latency", "200us", "-e", chain.format("")).out
    both = heddle.ok("plan", *SIMT, "--latency", "200us", "-e", chain.format(", LATENCY 1ms")).out
    assert said.format(1000) in both  # an element's own comes before the option
    assert "latency  " not in heddle.ok("plan", *SIMT, "-e", chain.format("")).out


@pytest.mark.parametrize("time", ["soon", "0"])
def test_a_budget_is_a_time(heddle, time):
    assert "such as 200us" in heddle.fails("run", *SIMT, "--latency", time, "-e", "Idle -> XOR -> Discard;", code=105)
