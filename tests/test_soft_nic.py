"""Soft NICs on simt: frames of a DPDK port reach a GPU's rings and come back, as through the descriptors of an
82599."""

import random
import re

import pytest
from whole import captures
from whole.gpu_ports import KERNELS
from whole.program import CHAINS, TIMEOUT_S, Report, quoted, wait_until

SIMT = ["--device", "simt"]
CAPTURES = sorted((CHAINS / "captures").glob("*.pcap"))


def numbered(count, least, most, seed=1):
    """Frames whose bytes say which one it is."""
    values = random.Random(seed)
    return [
        values.randbytes(12) + (number.to_bytes(4, "big") * (most // 4 + 1))[: values.randint(least, most) - 12]
        for number in range(count)
    ]


def mirrored(frame):
    return frame[6:12] + frame[:6] + frame[12:]


def ran(running, received):
    """The report of a run, when the GPU has received so many."""
    with running:
        wait_until(lambda: not running.alive() or running.packets("FromGPUPort@1") == received, TIMEOUT_S, "the frames")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    assert report.received == received
    report.assert_accounted()
    return report


class Wire:
    """A chain between soft NICs of capture files."""

    def __init__(self, heddle, folder, frames, chain="EtherMirror", arguments="", ports=1):
        source, self.out = folder / "in.pcap", folder / "out.pcap"
        captures.write(source, frames)
        if ports == 1:
            last, device = "a", f"net_pcap0,rx_pcap={source},tx_pcap={self.out}"
        else:
            last, device = f'b, SOFTNIC "net_pcap1,tx_pcap={self.out}"{arguments}', f"net_pcap0,rx_pcap={source}"
        text = f"FromGPUPort(a, SOFTNIC {quoted(device)}{arguments}) -> {chain} -> out :: ToGPUPort({last})"
        self.running = heddle.start_ready("run", "--json", "-e", text, *SIMT)

    def end(self, received):
        return ran(self.running, received), captures.frames(self.out)


def statistics(report, word):
    return report.one(word).get("statistics", {})


@KERNELS
@pytest.mark.parametrize("size", [32, 1024])
def test_nothing_is_lost_or_reordered(heddle, tmp_path, size, kernels):
    """Rings go round many times, and frames have every length that there is."""
    frames = numbered(1000, 60, 200) + [bytes(12) + bytes(length - 12) for length in (60, 64, 1514, 9000, 10240)]
    frames += numbered(200, 12, 9000, seed=2)
    arguments = f", NDESC {size}, BUFFER 10240, KERNELS {kernels}"
    report, got = Wire(heddle, tmp_path, frames, arguments=arguments).end(len(frames))
    assert got == [mirrored(frame) for frame in frames]
    for name in ("FromGPUPort", "EtherMirror", "ToGPUPort"):
        assert report.one(name)["packets"] == len(frames)
        assert report.one(name)["bytes"] == sum(map(len, frames))
    assert report.dropped == 0
    assert statistics(report, "FromGPUPort") == statistics(report, "ToGPUPort") == {}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_captures_from_one_port_to_another(heddle, tmp_path, capture):
    frames = captures.frames(capture)
    report, got = Wire(heddle, tmp_path, frames, ports=2, arguments=", BUFFER 16384").end(len(frames))
    assert got == [mirrored(frame) for frame in frames]
    assert report.dropped == 0


def test_the_chain(heddle, tmp_path):
    frames = captures.frames(CHAINS / "traffic.pcap")
    chain = CHAINS / "soft_nic.click"
    ran(heddle.start_ready("run", "--json", chain, f"OUT={tmp_path}/wire", *SIMT), len(frames))
    assert captures.frames(tmp_path / "wire_mirrored.pcap") == [mirrored(frame) for frame in frames]


def test_the_router(heddle, tmp_path):
    """The same elements on the CPU, and on the GPU between the rings."""
    chain = CHAINS / "gpu_router.click"
    source = CHAINS / "traffic.pcap"
    report = ran(heddle.start_ready("run", "--json", chain, f"OUT={tmp_path}/gpu", *SIMT), len(captures.frames(source)))
    for name in ("ip", "fw", "rt", "back"):
        assert report.one(name)["processor"] == "simt"
    text = re.sub(r"FromGPUPort\(.*\)", f"FromDump({quoted(source)})", chain.read_text())
    text = text.replace("ToGPUPort(wire)", f"ToDump({quoted(tmp_path / 'cpu.pcap')})")
    text = re.sub("(, )?DEVICE gpu", "", text)
    on_cpu = Report(heddle.ok("run", "--json", "-e", text).json)
    assert captures.frames(tmp_path / "gpu_out.pcap") == captures.frames(tmp_path / "cpu.pcap") != []
    for name in ("ip", "fw", "rt"):
        assert report.drops(name) == on_cpu.drops(name)
    for name in ("inside", "servers", "host"):
        assert report.one(name)["packets"] == on_cpu.one(name)["packets"] > 0


def test_the_nids_marks_candidates(heddle, tmp_path):
    """Its pattern stage, between the rings and on the CPU; what it suspects goes on changed."""
    source = CHAINS / "traffic.pcap"
    frames = captures.frames(source)
    functions = (
        f"CheckIPHeader(14{{0}}) -> ids :: NIDS({quoted(CHAINS / 'nids.rules')}{{0}}); "
        "ids[1] -> XOR(5{0}) -> n :: EtherMirror{1}; ids[0] -> n; n "
    )
    report, got = Wire(heddle, tmp_path, frames, chain=functions.format(", DEVICE gpu", "(DEVICE gpu)")).end(
        len(frames)
    )
    text = f"FromDump({source}) -> {functions.format('', '')} -> ToDump({tmp_path / 'cpu.pcap'})"
    on_cpu = Report(heddle.ok("run", "--json", "-e", text).json)
    assert got == captures.frames(tmp_path / "cpu.pcap")
    assert report.one("ids")["processor"] == "simt"
    assert report.one("XOR")["packets"] == on_cpu.one("XOR")["packets"] > 0
    assert report.one("n")["packets"] > report.one("XOR")["packets"]


@KERNELS
def test_what_functions_drop_leaves_no_gap(heddle, tmp_path, kernels):
    values = random.Random(3)
    frames = [f if values.random() < 0.7 else f[: values.randint(1, 11)] for f in numbered(2000, 20, 100)]
    kept = [frame for frame in frames if len(frame) >= 12]
    report, got = Wire(heddle, tmp_path, frames, arguments=f", NDESC 64, KERNELS {kernels}").end(len(frames))
    assert got == [mirrored(frame) for frame in kept]
    assert report.drops("EtherMirror") == {"short": len(frames) - len(kept)}


@KERNELS
def test_frames_longer_than_a_buffer_fill_several_and_are_dropped_whole(heddle, tmp_path, kernels):
    """Those that are longer than this program's packets, too, do not reach the ring."""
    frames = numbered(1000, 60, 1500) + numbered(300, 900, 9000, seed=4) + numbered(100, 1020, 1030, seed=5)
    kept = [frame for frame in frames if len(frame) <= 1024]
    pieces = sum(2 for frame in frames if 1024 < len(frame) <= 2048)
    wire = Wire(heddle, tmp_path, frames, arguments=f", BUFFER 1024, NDESC 64, KERNELS {kernels}")
    report, got = wire.end(len(kept) + pieces)
    assert got == [mirrored(frame) for frame in kept]
    # A last piece that begins a tile is known to be one only after the functions: EtherMirror then drops short ones
    # before.
    short = report.drops("EtherMirror").get("short", 0)
    assert short <= sum(1024 < len(frame) < 1024 + 12 for frame in frames)
    assert report.drops("FromGPUPort") == {"chained": pieces - short}
    assert statistics(report, "FromGPUPort") == {"too_large": sum(len(frame) > 2048 for frame in frames)}


def test_neutral_elements_move_the_start(heddle, tmp_path):
    """And the function between them sees what is left."""
    frames = numbered(1000, 60, 2048)
    wire = Wire(heddle, tmp_path, frames, chain="Strip(14) -> XOR(3) -> Unstrip(14)")
    _, got = wire.end(len(frames))
    assert got == [frame[:14] + bytes(byte ^ 3 for byte in frame[14:]) for frame in frames]


@KERNELS
def test_a_port_that_takes_no_more(heddle, tmp_path, kernels):
    """A ring port holds 1023 frames. The rest waits in the rings, and what is there at the end is counted."""
    frames = numbered(6000, 60, 80)
    source = tmp_path / "in.pcap"
    captures.write(source, frames)
    chain = (
        f'FromGPUPort(a, SOFTNIC "net_pcap0,rx_pcap={source}", NDESC 64, KERNELS {kernels}) -> EtherMirror '
        '-> ToGPUPort(b, SOFTNIC "net_ring0", NDESC 64)'
    )
    with heddle.start_ready("run", "--json", "-e", chain, *SIMT) as running:
        wait_until(lambda: running.packets("FromGPUPort@1") > 1023 + 63, TIMEOUT_S, "full rings")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    report.assert_accounted()
    sent = report.one("ToGPUPort")["packets"]
    assert report.received == sent < len(frames)
    assert sent - statistics(report, "ToGPUPort")["unsent"] == 1023
    assert statistics(report, "FromGPUPort").keys() <= {"unprocessed"}
    assert statistics(report, "FromGPUPort").get("unprocessed", 0) <= 63 + 64


@KERNELS
@pytest.mark.parametrize("queues", [1, 2])
def test_without_end(heddle, queues, kernels):
    """A port that always has frames, and stops while they come."""
    chain = (
        f'FromGPUPort(a, SOFTNIC "net_null0", QUEUES {queues}, KERNELS {kernels}) -> EtherMirror -> ToGPUPort(b, SOFTNIC "net_null1", '
        f"QUEUES {queues})"
    )
    with heddle.start_ready("run", "--json", "-e", chain, *SIMT) as running:
        wait_until(lambda: not running.alive() or running.packets("ToGPUPort@3") > 20_000, TIMEOUT_S, "frames")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    assert report.received == report.one("ToGPUPort")["packets"] > 20_000
    assert report.one("ToGPUPort")["bytes"] == 64 * report.received
    assert report.dropped == 0
    assert statistics(report, "FromGPUPort") == statistics(report, "ToGPUPort") == {}


MISTAKES = {
    'FromGPUPort(a, SOFTNIC "net_null0") -> EtherMirror -> ToGPUPort(b, SOFTNIC "net_null0")': "SOFTNIC: port a has this "
    "device already",
    'FromGPUPort(a, SOFTNIC "net_null0") -> EtherMirror -> ToGPUPort(a); FromDPDKDevice(net_null0) -> Discard': "SOFTNIC: a "
    "From- or ToDPDKDevice has this device already",
    'FromGPUPort(a, SOFTNIC "net_null0", SOCKET x) -> EtherMirror -> ToGPUPort(a)': "a port has either these or SOFTNIC",
    'FromGPUPort(a, SOFTNIC "net_null0", ROLE server) -> EtherMirror -> ToGPUPort(a)': "a port has either these or SOFTNIC",
    'FromGPUPort(a, SOFTNIC "net_null0", QUEUES 9) -> EtherMirror -> ToGPUPort(a)': "QUEUES: '9' is not at most 8",
    'FromGPUPort(a, SOFTNIC "net_null0", NDESC 8192) -> EtherMirror -> ToGPUPort(a)': "NDESC: '8192' is not at most 4096",
    'FromGPUPort(a, SOFTNIC "net_null0", BUFFER 2000) -> EtherMirror -> ToGPUPort(a)': "BUFFER: '2000' is not a multiple of 1024",
    'FromGPUPort(a, SOFTNIC "nothing0") -> EtherMirror -> ToGPUPort(a)': "'nothing0' is not a DPDK port",
}


@pytest.mark.parametrize("chain", MISTAKES)
def test_chains_that_are_none(heddle, chain):
    assert MISTAKES[chain] in heddle.fails("plan", "-e", chain, *SIMT)
