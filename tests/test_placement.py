"""Functions on the CPU or on a GPU, by load (auto), and what cannot be; on simt."""

import random

import pytest
from whole import captures

RANDOM = random.Random(24)
# Many packets wait at a capture, so the CPU does not keep up, and the GPU is tried.
FRAMES = [
    RANDOM.randbytes(12)
    + b"\x08\x00\x45"
    + RANDOM.randbytes(15)
    + bytes([10, RANDOM.randrange(3), 0, 1])
    + RANDOM.randbytes(60)
    for _ in range(20000)
]
CHAIN = """FromDump({0}/in.pcap) -> MarkIPHeader(14) -> GetIPAddress(30)
    -> rt :: DirectIPLookup(10.0.0.0/16 0, 10.1.0.0/16 1, 10.2.0.0/16 2{1});
    rt[0] -> EtherMirror -> all :: Counter; rt[1] -> XOR(7) -> all; rt[2] -> all; all -> SetCRC32 -> ToDump({0}/{2}.pcap);"""


def report_of(heddle, folder, *args, argument="", name="out"):
    captures.write(folder / "in.pcap", FRAMES)
    return heddle.run(CHAIN.format(folder, argument, name), *args), captures.frames(folder / f"{name}.pcap")


@pytest.mark.parametrize("launch", ["persistent", "async"])
def test_both_sides_give_the_same_in_the_same_order(heddle, tmp_path, launch):
    _, wanted = report_of(heddle, tmp_path, name="cpu")
    report, got = report_of(heddle, tmp_path, "--device", "auto:simt", "--launch", launch)
    assert got == wanted
    assert len(got) == len(FRAMES)
    (segment,) = report.all["traffic"]
    assert 0 < segment["packets_on_cpu"] < len(FRAMES)
    assert segment["changes"] > 0
    assert report.dropped == 0


# The stand-in for a GPU is much slower than the CPU, so it is tried now and then, and not for long.
@pytest.mark.parametrize(
    "chain",
    [
        "InfiniteSource(LIMIT 3000000, BURST 64) -> x :: XOR(1) -> Discard",
        # A second source that never gives a full batch, and packets that wait behind, say nothing of the first.
        """InfiniteSource(LIMIT 3000000, BURST 64) -> x :: XOR(1) -> q :: Queue -> Unqueue(BURST 8) -> Discard;
           RatedSource(RATE 10000, LIMIT 1000) -> Counter -> Discard""",
        # Pulled by a scheduler alone.
        """InfiniteSource(LIMIT 3000000, BURST 64) -> q :: Queue(1000) -> [0] s :: RoundRobinSched -> Unqueue(BURST 64)
           -> x :: XOR(1) -> Discard; Idle -> Queue -> [1] s; StaticThreadSched(q 0)""",
    ],
)
def test_what_the_cpu_cannot_keep_up_with_is_tried_elsewhere_and_comes_back(heddle, chain):
    report = heddle.run(chain, "--device", "auto:simt")
    (segment,) = report.all["traffic"]
    assert segment["changes"] >= 2
    assert segment["packets_on_cpu"] > 2000000


def test_plan_says_so(heddle):
    text = heddle.ok("plan", "--device", "auto:simt", "-e", "Idle -> XOR(1) -> Discard").out
    assert "on simt or cpu, by load" in text
    text = heddle.ok("plan", "--device", "simt", "-e", "Idle -> XOR(1, ON_GPU_ERROR cpu) -> Discard").out
    assert "on simt, on cpu after a failure" in text
    # What has a place of its own stays there.
    text = heddle.ok("plan", "--device", "auto:simt", "-e", "Idle -> XOR(1, DEVICE cpu) -> Discard").out
    assert "by load" not in text


@pytest.mark.parametrize(
    ("args", "chain", "message"),
    [
        (["--device", "autos"], "Idle -> XOR(1) -> Discard", "'autos' is not cpu"),
        (["--device", "auto:cpu"], "Idle -> XOR(1) -> Discard", "'auto:cpu' is not cpu"),
        ([], "Idle -> XOR(1, DEVICE automatic) -> Discard", "'automatic' is not cpu, auto"),
        ([], "Idle -> XOR(1, ON_GPU_ERROR carry_on) -> Discard", "'carry_on' is not cpu or stop"),
        (
            ["--device", "auto:simt"],
            "FromGPUPort(p, SOCKET /nowhere/p) -> XOR(1) -> ToGPUPort(p)",
            "the functions behind it may be on the CPU as well; give them DEVICE gpu",
        ),
    ],
)
def test_what_cannot_be_is_named(heddle, args, chain, message):
    assert message in heddle.fails("check", *args, "-e", chain)


def test_without_a_gpu_it_is_an_error(heddle):
    if "no GPU" not in heddle("gpus").out:
        pytest.skip("there is one")
    assert "no GPU" in heddle.fails("run", "--device", "auto", "-e", "Idle -> XOR(1) -> Discard")
