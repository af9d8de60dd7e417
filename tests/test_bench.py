"""`heddle bench`: what it measures is counted, kept, taken up again and never mixed with another machine's.

Rates are low and queues long, so that nothing is lost although other programs have the cores.
"""

import json
import os
import re
import time

import pytest
from whole.program import CHAINS, ROOT, Program

BOUNCE = CHAINS / "bounce.click"
EASY = [
    "--no-pin",
    "--trial",
    "0.1",
    "--warmup",
    "0.02",
    "--drain",
    "0.5",
    "--repetitions",
    "2",
    "--descriptors",
    "32768",
    "--flows",
    "20",
]


@pytest.fixture
def bench(heddle):
    """Runs `heddle bench` successfully; returns its result."""

    def run(*args):
        result = heddle("bench", *args, *EASY, timeout=120)
        assert result.code == 0, result
        return result

    return run


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def median(record, name):
    return record["values"][name]["median"]


# ---- what is measured


def test_latency_of_a_chain_that_forwards_all(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    result = bench(BOUNCE, "--rate", "20k", "--json", file)
    (record,) = records(file)
    assert record["schema"] == "heddle-bench/1" and record["measure"] == "latency"
    assert record["chain"] == str(BOUNCE) and record["parameters"]["rate"] == 20000
    for value in record["values"].values():
        assert 1 <= len(value["samples"]) <= 2
        assert value["low"] <= value["median"] <= value["high"] and value["unit"]
    assert median(record, "loss") == 0
    assert 0 < median(record, "latency_p50_us") <= median(record, "latency_p99_us") <= median(record, "latency_max_us")
    assert 0 <= median(record, "cpu_utilisation") <= 1 and 0 < median(record, "core_share") <= 1
    assert not any(name.startswith("gpu") or "joule" in name for name in record["values"])  # absent, not 0
    machine = record["machine"]
    assert machine["cpu"] and machine["cores"] > 0 and machine["flags"] and machine["kernel"] and "gpu" not in machine
    assert record["command"].endswith(" ".join(EASY)) and re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["date"]
    )
    assert "p99 us" in result.out and "net_null0" in result.err  # what became of the chain's ports


def test_throughput_of_the_router(bench, tmp_path):
    """Most destinations have no route: what the chain discards is not lost."""
    file = tmp_path / "out.jsonl"
    result = bench(CHAINS / "router.click", "--json", file, f"OUT={tmp_path}/router")
    (record,) = records(file)
    assert record["measure"] == "throughput" and median(record, "offered_mpps") > 0
    assert record["parameters"]["OUT"] == f"{tmp_path}/router"
    assert "curl.pcap (sent to)" in result.err and "router_clients.pcap (received from)" in result.err
    assert not list(tmp_path.glob("router*"))  # captures have become ports: none is written


def test_zero_loss(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    bench(BOUNCE, *["--measure", "zero-loss", "--start", "20k", "--loss", "10%", "--resolution", "30%"], "--json", file)
    (record,) = records(file)
    assert record["measure"] == "zero-loss" and record["parameters"]["loss"] == 0.1
    assert median(record, "mpps") > 0 and median(record, "trials") >= 1
    assert median(record, "latency_p99_us") > 0


def test_a_chain_that_changes_the_ends_of_packets(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    bench(ROOT / "bench/figures/chains/crc.click", "--rate", "20k", "--json", file)
    (record,) = records(file)
    assert median(record, "loss") == 0 and median(record, "latency_p50_us") > 0
    assert median(record, "gbps") == pytest.approx(median(record, "mpps") * 68 * 8 / 1000)
    assert median(record, "intended_mpps") == pytest.approx(0.02, rel=0.01)


def test_packets_that_are_not_recognised(bench, heddle, tmp_path):
    file = tmp_path / "out.jsonl"
    chain = ["-e", "FromDevice(a) -> Truncate(40) -> ToDevice(b)"]
    result = bench(*chain, "--rate", "20k", "--json", file)
    (record,) = records(file)
    assert median(record, "mpps") > 0 and median(record, "unrecognised") > 0
    assert not any(name.startswith(("loss", "latency", "reordered")) for name in record["values"])
    assert "not recognised" in record["warnings"][0] and "not recognised" in result.out
    err = heddle.fails("bench", *chain, "--measure", "zero-loss", "--start", "20k", *EASY)
    assert "not recognised" in err and "--measure throughput" in err


def test_sizes_are_checked_against_what_the_chain_says(heddle):
    start = time.monotonic()
    chain = "DPDKInfo(MBUF_SIZE 2304); FromDevice(a) -> ToDevice(b)"
    err = heddle.fails("bench", "-e", chain, "--sweep", "size=64,9216", "--trial", "60")
    assert "frames of 9216 bytes, but" in err and time.monotonic() - start < 20


def test_a_chain_that_makes_its_own_packets(bench):
    result = bench("-e", "InfiniteSource(LENGTH 60, BURST 32) -> Counter -> ToDevice(eth0)", "--json", "-")
    record = json.loads(result.out)
    assert median(record, "mpps") > 0 and "loss" not in record["values"]


def test_too_few_cores_are_told(heddle):
    on_one_core = Program(heddle.path, ["taskset", "-c", str(min(os.sched_getaffinity(0)))])
    result = on_one_core("bench", BOUNCE, "--rate", "5k", *EASY, timeout=120)
    assert result.code == 0 and "1 packet threads and 1 generators share 1 cores" in result.out, result


# ---- sweeps


def test_sweep(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    chain = "FromDevice(a) -> Truncate($N) -> Discard"
    result = bench("-e", chain, "--rate", "5k", "--sweep", "size=64,imix", "--sweep", "N=20..22", "--json", file)
    found = [(r["parameters"]["size"], r["parameters"]["N"]) for r in records(file)]
    assert found == [(size, n) for size in (64, "imix") for n in (20, 21, 22)]
    assert len(re.findall(r"^ *(?:64|imix)  2\d ", result.out, re.MULTILINE)) == 6


def test_comparison(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    result = bench(BOUNCE, "--rate", "10k", "--compare", "size=64,1024", "--json", file)
    first, second, ratio = records(file)
    assert ratio["measure"] == "latency-ratio" and ratio["parameters"]["size"] == "1024/64"
    expected = [
        b / a for a, b in zip(*(r["values"]["latency_p50_us"]["samples"] for r in (first, second)), strict=True)
    ]
    assert ratio["values"]["latency_p50_us"]["samples"] == pytest.approx(expected)
    assert "size=1024 against 64, latency: median of paired ratios" in result.out


def test_interrupted_sweeps_go_on(heddle, bench, tmp_path):
    file = tmp_path / "out.jsonl"
    command = ["bench", BOUNCE, "--rate", "5k", "--sweep", "size=64..2048*2", "--json", file, *EASY]
    with heddle.start(*command) as running:
        end = time.monotonic() + 60
        while not (file.exists() and file.read_text().count("\n") >= 2):
            assert running.alive() and time.monotonic() < end
            time.sleep(0.02)
        result = running.interrupt(20)
    assert result.code == 130 and "the same command goes on here" in result.err, result
    before = file.read_text()
    kept = before.count("\n")
    assert 2 <= kept < 6 and before.endswith("\n")
    assert len(re.findall(r"^ +\d+ ", result.out, re.MULTILINE)) == kept  # a table of what is done
    with file.open("a") as out:
        out.write(before.splitlines()[0][:700])  # and one that was cut off
    result = heddle(*command, timeout=120)
    assert result.code == 0, result
    assert file.read_text().startswith(before)
    assert [r["parameters"]["size"] for r in records(file)] == [64, 128, 256, 512, 1024, 2048]
    assert result.err.count("(measured before)") == kept


def test_interrupt_within_a_long_trial(heddle):
    with heddle.start("bench", BOUNCE, "--rate", "1k", "--trial", "60", "--no-pin") as running:
        time.sleep(1.5)
        result = running.interrupt(20)
    assert result.code == 130 and result.seconds < 10, result


# ---- other machines and commits


def test_other_machines_are_refused(heddle, bench, tmp_path):
    file, other = tmp_path / "out.jsonl", tmp_path / "other.jsonl"
    bench(BOUNCE, "--rate", "5k", "--json", file, "--commit", "old")
    result = bench(BOUNCE, "--rate", "5k", "--against", file, "--commit", "new")
    assert "against commit old" in result.out and re.search(r"gbps +\d", result.out)
    result = bench(BOUNCE, "--rate", "6k", "--against", file)
    assert "does not have this point" in result.out
    (record,) = records(file)
    record["machine"].update(id="0" * 16, cores=1234)
    other.write_text(json.dumps(record) + "\n")
    for option in ("--against", "--json"):
        err = heddle.fails("bench", BOUNCE, "--rate", "5k", option, other)
        assert "another machine" in err and "cores: 1234 there" in err
    assert len(records(other)) == 1


# ---- pictures


def test_pictures(bench, heddle, tmp_path):
    file, page = tmp_path / "out.jsonl", tmp_path / "out.html"
    if not (ROOT / "bench/figures/draw.py").exists():
        pytest.skip("bench/figures/draw.py is not in this tree")
    bench(BOUNCE, "--rate", "5k", "--sweep", "size=64,512", "--json", file, "--html", page, "--svg", tmp_path / "o.svg")
    assert "<svg" in page.read_text() and "<svg" in (tmp_path / "o.svg").read_text()
    # Results are safe when nothing can be drawn.
    result = heddle(
        "bench", BOUNCE, "--rate", "5k", "--html", page, *EASY, env={"PATH": "/nowhere", "PYTHONHOME": "/nowhere"}
    )
    assert result.code == 1 and "apt-get install python3" in result.err, result
    assert len(records(tmp_path / "out.html.jsonl")) == 1


# ---- mistakes


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--size", "63"], "size: '63' is not an integer from 64 to 9216"),
        (["--sweep", "sizes=64"], "did you mean 'size'?"),
        (["--sweep", "size=64", "--sweep", "size=128"], "swept twice"),
        (["--sweep", "cores=4..1"], "'4..1' is not a range such as 1..8"),
        (["--sweep", "cores=0..2"], "cores: '0' is not an integer from 1"),
        (["--measure", "zero_loss"], "did you mean 'zero-loss'?"),
        (["--measure", "latency"], "add --rate"),
        (["--sweep", "rate=1M", "--measure", "throughput"], "it matters to --measure latency only"),
        (["--compare", "size=64"], "at least two values"),
        (["--size", "nowhere.pcap"], "nowhere.pcap"),
        (["--addresses", "routes:/nowhere"], "/nowhere"),
        (["--rate", "0.0000001"], "not a rate from 0.001 to 1e+09"),
        (["--rate", "900000G"], "not a rate from 0.001 to 1e+09"),
        (["--rate", "0.01"], "no packet is due in a trial of 60 s"),
        (["--packets", "100"], "at least 384 packets"),
        (["--descriptors", "100"], "power of two"),
        (["--cores", "17"], "a port of the wire has 16 queues at most"),
        (["--against", "/nowhere"], "/nowhere"),
        (["--json", ROOT / "README.md"], "README.md:1: it is not a record"),
        (["--json", "/nowhere/out"], "/nowhere/out: cannot be written"),
        (["PORT=zzz"], "not a DPDK port"),
    ],
)
def test_mistakes(heddle, args, expected):
    start = time.monotonic()
    err = heddle.fails("bench", BOUNCE, "--trial", "60", *args)
    assert expected in err and "Traceback" not in err
    assert time.monotonic() - start < 20  # before anything is measured


def test_mistakes_of_chains(heddle):
    def error(chain, *args):
        return heddle.fails("bench", "-e", chain, *args)

    assert "1:21: unknown element class 'Foo'" in error("FromDevice(eth0) -> Foo -> Discard")
    assert "COLOUR" in error("FromDump(x, COLOUR red) -> Discard")  # although it will be replaced
    assert "LIMIT" in error("InfiniteSource(LIMIT 5) -> Discard")
    assert "--measure throughput" in error("InfiniteSource -> Discard", "--rate", "1M")
    assert "--device cpu" in error("FromDevice(a) -> Discard", "--device", "gpu77")
