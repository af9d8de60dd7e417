"""`--workers`: the last packet thread drives the GPU for the others. The whole program, on simt."""

import random
import signal

import pytest
from whole import captures
from whole.control import Control
from whole.program import CHAINS, Report, read_handler, wait_for_count

RANDOM = random.Random(12)
FRAMES = [RANDOM.randbytes(RANDOM.randrange(60, 600)) for _ in range(4000)]
MODES = {
    "persistent": ["--device", "simt"],
    "gather": ["--device", "simt", "--transport", "gather"],
    "landing": ["--device", "simt", "--transport", "landing"],
    "sync-commlist": ["--device", "simt", "--launch", "sync", "--transport", "commlist"],
    "async-coalescent": ["--device", "simt", "--launch", "async", "--transport", "coalescent"],
    "graph-zerocopy": ["--device", "simt", "--launch", "graph", "--transport", "zerocopy"],
    "auto": ["--device", "auto:simt"],
}


def changed(frame):
    """Mirrored, and every bit inverted."""
    return bytes(byte ^ 0xFF for byte in frame[6:12] + frame[:6] + frame[12:])


@pytest.fixture(params=MODES, name="ways")
def _ways(request):
    return [*MODES[request.param], "--workers"]


@pytest.mark.parametrize("threads", [2, 4])
def test_all_packets_come_back_in_order(heddle, tmp_path, ways, threads):
    """Each thread that may be a worker has a capture of its own; two segments, and what is between them on the CPU."""
    workers = threads - 1
    chain, homes = "", []
    for worker in range(workers):
        captures.write(tmp_path / f"in{worker}.pcap", FRAMES[worker::workers])
        chain += f"in{worker} :: FromDump({tmp_path}/in{worker}.pcap) -> Paint({worker}) -> m; "
        chain += f"back[{worker}] -> ToDump({tmp_path}/out{worker}.pcap); "
        homes.append(f"in{worker} {worker}")
    chain += "m :: EtherMirror -> XOR(90) -> n :: XOR(1, DEVICE cpu) -> x :: XOR(164) -> back :: PaintSwitch; "
    report = heddle.run(chain + f"StaticThreadSched({', '.join(homes)})", *ways, "-j", threads)
    for worker in range(workers):
        assert captures.frames(tmp_path / f"out{worker}.pcap") == [changed(f) for f in FRAMES[worker::workers]]
    assert report.received == len(FRAMES) and report.dropped == 0
    assert report.one("n")["packets"] == report.one("back")["packets"] == len(FRAMES)
    report.assert_accounted()


def test_bytes_on_the_bus_are_counted_once(heddle):
    """Of all workers there is one lane: a word of eight bytes a packet, and those of slots that are not full."""
    chain = "InfiniteSource(LIMIT 16000, BURST 64) -> XOR(1) -> Discard"
    (segment,) = heddle.run(chain, "--device", "simt", "--workers", "-j", 4).all["traffic"]
    assert 8 * 16000 <= segment["bytes_to_gpu"] < 2 * 8 * 16000


def test_what_finds_no_room_is_counted(heddle):
    chain = "InfiniteSource(LIMIT {}, BURST 64) -> x :: XOR(1{}) -> d :: Discard"
    args = ["--device", "simt", "--slots", 1, "--workers", "-j", 2]
    report = heddle.run(chain.format(20000, ", BLOCKING false"), *args)
    assert report.one("d")["packets"] + report.drops("x").get("no_slot", 0) == report.received == 20000
    assert report.drops("x")["no_slot"] > 0
    report = heddle.run(chain.format(5000, ""), *args)
    assert report.one("d")["packets"] == report.received == 5000


REFUSED = {
    "give -j 2 or more": ("InfiniteSource -> XOR(1) -> Discard", ["-j", "1"]),
    "'s' is to run on thread 1, which with --workers drives the GPU": (
        "s :: InfiniteSource -> XOR(1) -> Discard; StaticThreadSched(s 1)",
        ["-j", "2"],
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_says_what_to_do(heddle, message):
    chain, threads = REFUSED[message]
    assert message in heddle.fails("run", "-e", chain, "--device", "simt", "--workers", *threads)


def test_the_plan_says_who_drives_what(heddle):
    chain = "FromDump(x) -> XOR(1) -> XOR(2, DEVICE cpu) -> EtherMirror -> Discard"
    text = heddle.ok("plan", "-e", chain, "--device", "simt", "--workers").out
    assert text.count("driven by   the last packet thread (--workers)") == 2
    assert "nothing to drive" in heddle.ok("plan", "-e", chain, "--workers").out
    for ways, who in ((["--workers"], "last packet thread"), ([], "each packet thread")):
        plan = heddle.ok("plan", "-e", chain, "--device", "simt", "--json", *ways).json
        assert [s["driven_by"] for s in plan["segments"] if s["processor"] == "simt"] == [who] * 2
    rings = heddle.ok("plan", CHAINS / "gpu_ports.click", "--device", "simt", "--workers", "--json").json
    assert "gpu" in {s.get("driven_by") for s in rings["segments"]}


def test_every_worker_has_a_queue_of_a_port(heddle, tmp_path):
    """Two workers, two queues: what came to a third one would stay there."""
    chain = """InfiniteSource(LIMIT 1000, STOP false) -> ToDPDKDevice(net_ring0);
        f :: FromDPDKDevice(net_ring0) -> XOR(1) -> d :: Discard"""
    path = tmp_path / "control"
    args = ["run", "--json", "-u", path, "-e", chain, "--device", "simt", "--workers", "-j", 3]
    with heddle.start(*args) as running:
        wait_for_count(path, "d.count", 1000)
        assert read_handler(path, "f.nb_rx_queues").strip() == "2"
        assert running.interrupt().code == 0


@pytest.mark.parametrize("launch", ["persistent", "async"])
def test_interrupted_all_is_accounted_for(heddle, tmp_path, launch):
    chain = "s :: InfiniteSource(LENGTH 60, BURST 64) -> XOR(1) -> XOR(2, DEVICE cpu) -> EtherMirror -> d :: Discard"
    control = tmp_path / "control"
    with heddle.start(
        "run", "--json", "-u", control, "-e", chain, "--device", "simt", "--launch", launch, "--workers", "-j", 2
    ) as running:
        wait_for_count(control, "d.count", 1000)
        loads = Control(control).read("load").splitlines()
        assert [line.split()[0] for line in loads] == ["0", "1"] and float(loads[1].split()[1]) > 0
        running.signal(signal.SIGINT)
        result = running.wait()
    report = Report(result.json)
    assert result.code == 0 and report.one("d")["packets"] == report.received > 1000, result
    report.assert_accounted()


def test_reconfigured_while_packets_flow(heddle, tmp_path):
    """The number of workers stays; what the master drives comes and goes."""
    functions = ["XOR(1)", "XOR(1) -> XOR(2, DEVICE cpu) -> m :: EtherMirror", "XOR(1, DEVICE cpu)"]
    source = "s :: InfiniteSource(LENGTH 60, BURST 64) -> c :: Counter"
    chains = [f"{source} -> x :: {way} -> d :: Discard" for way in functions]
    path = tmp_path / "control"
    with heddle.start(
        "run", "--json", "-R", "-u", path, "-e", chains[0], "--device", "simt", "--workers", "-j", 2
    ) as running:
        control = Control(path)
        for turn in (1, 2, 0, 1, 0):
            count = int(control.read("d.count"))
            wait_for_count(path, "d.count", count + 1000)
            control.write("hotconfig", chains[turn])
        count = int(control.read("d.count"))
        wait_for_count(path, "d.count", count + 1000)
        assert control.read("reconfigurations").split()[0] == "5"
        text = control.refused(chains[0] + "; StaticThreadSched(s 1)")
        assert "drives the GPU" in text
        result = running.interrupt()
    report = Report(result.json)
    assert result.code == 0 and report.dropped == 0, result
    assert report.one("c")["packets"] == report.one("d")["packets"] == report.received
    report.assert_accounted()
