"""NumberPacket, RecordTimestamp and TimestampDiff, in simulated time: every measurement is known; and home_thread."""

import math
import struct

from test_ip_router_elements import run
from whole import captures


def test_numbers(heddle, tmp_path):
    frames = [bytes(20 + n % 40) for n in range(200)]
    long = [frame for frame in frames if len(frame) >= 50]
    for options, form in (("42", "<Q"), ("OFFSET 42, NET_ORDER true", ">Q")):
        report, [out] = run(heddle, tmp_path, f"FromDump($IN) -> n :: NumberPacket({options}) -> ToDump($out);", frames)
        assert out == [f[:42] + struct.pack(form, n) + f[50:] for n, f in enumerate(long)]
        assert report.drops("n") == {"short": len(frames) - len(long)}


def measured(heddle, chain, *handlers):
    words = [word for name in handlers for word in ("-h", name)]
    out = heddle.ok("run", "--simtime", "--quiet", "-e", chain, *words).out
    return dict(part.strip().split(":\n", 1) for part in out.split("\n\n") if part.strip())


def test_waiting_times_are_exact(heddle):
    """100 packets arrive at once and leave every 10 ms, so that the n-th waits n * 10 ms."""
    chain = (
        "InfiniteSource(LENGTH 64, LIMIT 100) -> NumberPacket -> r :: RecordTimestamp(100) -> Queue(100)"
        " -> RatedUnqueue(100) -> d :: TimestampDiff(r) -> Discard"
    )
    got = measured(heddle, chain, *(f"d.{h}" for h in ("count", "dump", "average", "stddev", "min", "max", "median")))
    wanted = [10_000 * n for n in range(100)]
    times = [float(line) for line in got["d.dump"].splitlines()]
    assert all(abs(a - b) < 1 for a, b in zip(times, wanted, strict=True)) and got["d.count"] == "100"
    mean = sum(wanted) / 100
    model = {"average": mean, "min": 0, "max": 990_000, "median": 490_000}
    model["stddev"] = math.sqrt(sum((x - mean) ** 2 for x in wanted) / 100)
    assert all(abs(float(got[f"d.{name}"]) - value) < 1 for name, value in model.items()), got


def test_percentiles_unknown_packets_and_reset(heddle):
    chain = (
        "InfiniteSource(LENGTH 64, LIMIT 200) -> NumberPacket -> r :: RecordTimestamp(150) -> Queue(200)"
        " -> u :: RatedUnqueue(1000) -> d :: TimestampDiff(r, N 120) -> Discard; Script(label l, wait 1s, goto l $(lt $(u.count) 200),"
        "print $(d.perc 0), print $(d.perc 10), print $(d.perc 99.9), print $(d.perc 100), write d.reset, print $(d.count), stop)"
    )
    out = [float(x) for x in heddle.ok("run", "--simtime", "--quiet", "-e", chain).out.split()]
    assert all(abs(a - b) < 1 for a, b in zip(out, [0, 11_000, 119_000, 119_000, 0], strict=True)), out
    report = heddle.run(chain.split(" Script")[0], "--simtime")
    assert report.one("r")["statistics"] == {"count": 150, "beyond": 50}
    assert report.one("d")["statistics"] == {"count": 120, "unknown": 50}


def test_only_a_recorder_will_do(heddle):
    chain = "c :: Counter; Idle -> c -> TimestampDiff(c) -> Discard"
    assert "'c' is not a RecordTimestamp" in heddle.fails("check", "-e", chain)


def test_home_thread(heddle, tmp_path):
    captures.write(tmp_path / "in.pcap", [bytes(60)])
    chain = (
        f"f :: FromDump({tmp_path}/in.pcap) -> m :: MinBatch(1) -> q :: Queue -> u :: Unqueue -> d :: Discard;"
        "StaticThreadSched(u 1)"
    )
    words = [word for name in ("f", "m", "u") for word in ("-h", f"{name}.home_thread")]
    out = heddle.ok("run", "--quiet", "-j", 2, "-e", chain, *words).out.split()
    assert out == ["f.home_thread:", "0", "m.home_thread:", "-1", "u.home_thread:", "1"]
    assert "No handler" in heddle("run", "--quiet", "-j", 2, "-e", chain, "-h", "d.home_thread").err
