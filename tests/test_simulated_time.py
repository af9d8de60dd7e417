"""heddle run --simtime: time stands still while there is anything to do, so every time is known in advance."""

import itertools

import pytest
from scapy.all import IP, UDP, Ether, Raw
from whole import captures
from whole.program import MODES, Report, quoted

BEGIN_S = 1_000_000_000
MS = 1_000_000
FLOWS = (
    "FastUDPFlows(RATE 100, LIMIT -1, LENGTH 64, SRCETH 0:0:0:0:0:1, SRCIP 1.0.0.1, DSTETH 0:0:0:0:0:2,"
    "DSTIP 1.0.0.2, FLOWS 1, FLOWSIZE -1, DURATION 1)"
)


def simulated(heddle, chain, *args):
    return Report(heddle.ok("run", "--json", "--simtime", *args, "-e", chain).json)


def times_of(path, unit_ns=MS):
    """When its packets came, in milliseconds from the beginning; none is in between."""
    ns = [packet.ns - BEGIN_S * 1000 * MS for packet in captures.read(path)]
    assert all(n % unit_ns == 0 for n in ns), ns
    return [n // unit_ns for n in ns]


def test_a_day_of_packets(heddle, tmp_path):
    simulated(heddle, f"TimedSource(1h, LIMIT 24) -> ToDump({tmp_path}/out.pcap)")
    assert times_of(tmp_path / "out.pcap") == [3_600_000 * n for n in range(1, 25)]


def test_it_begins_where_it_is_told(heddle, tmp_path):
    chain = f"TimedSource(500ms, LIMIT 2) -> ToDump({tmp_path}/out.pcap)"
    assert heddle.ok("run", "--quiet", "--simtime=5.25", "-e", chain)
    assert [packet.ns for packet in captures.read(tmp_path / "out.pcap")] == [5_750 * MS, 6_250 * MS]


def test_two_sources_in_their_order(heddle, tmp_path):
    chain = f'd :: ToDump({tmp_path}/out.pcap); TimedSource(3s, "three", LIMIT 5) -> d; TimedSource(5s, "five", LIMIT 3) -> d;'
    report = simulated(heddle, chain)
    assert report.received == 8
    packets = captures.read(tmp_path / "out.pcap")
    wanted = sorted([(3 * n, b"three") for n in range(1, 6)] + [(5 * n, b"five") for n in range(1, 4)])
    got = [(packet.ns // (1000 * MS) - BEGIN_S, packet.data) for packet in packets]
    assert got[:-2] == wanted[:-2] and sorted(got) == wanted  # both are due at 15 s


def test_threads_agree_on_the_time(heddle, tmp_path):
    chain = "StaticThreadSched(a 0, b 1, c 2); "
    for name, period in (("a", 7), ("b", 11), ("c", 13)):
        chain += f"{name} :: TimedSource({period}ms, LIMIT 200) -> ToDump({tmp_path}/{name}.pcap);"
    simulated(heddle, chain, "-j", 3)
    for name, period in (("a", 7), ("b", 11), ("c", 13)):
        assert times_of(tmp_path / f"{name}.pcap") == [period * n for n in range(1, 201)]


@pytest.mark.parametrize("mode", MODES)
def test_a_gpu_takes_no_time(heddle, tmp_path, mode):
    chain = (
        f'TimedSource(10ms, "0123456789abcdef", LIMIT 50) -> EtherMirror -> SetTimestamp -> ToDump({tmp_path}/out.pcap)'
    )
    simulated(heddle, chain, *MODES[mode])
    assert times_of(tmp_path / "out.pcap") == [10 * n for n in range(1, 51)]
    assert captures.frames(tmp_path / "out.pcap")[0][:12] == b"6789ab012345"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("RatedSource(RATE 1000, LIMIT 100)", range(100)),
        ("RatedSource(LENGTH 125, BANDWIDTH 1Mbps, LIMIT 100)", range(100)),
        ("InfiniteSource(LIMIT 50) -> Queue(50) -> RatedUnqueue(100) -> SetTimestamp", range(0, 500, 10)),
        ("InfiniteSource(LIMIT 50) -> Queue(50) -> Shaper(100) -> Unqueue -> SetTimestamp", range(0, 500, 10)),
        (f"{FLOWS} -> SetTimestamp", range(0, 1000, 10)),
    ],
)
def test_rates_are_exact(heddle, tmp_path, source, wanted):
    simulated(heddle, f"{source} -> ToDump({tmp_path}/out.pcap)")
    ns = [packet.ns - BEGIN_S * 1000 * MS for packet in captures.read(tmp_path / "out.pcap")]
    assert len(ns) == len(wanted)
    assert all(abs(got - MS * due) < 1000 for got, due in zip(ns, wanted, strict=True)), ns  # tokens are rounded


def test_scripts_wait_in_it(heddle):
    chain = (
        "TimedSource(1s) -> c :: Counter -> Discard;"
        "Script(print $(now), wait 2.5s, print $(c.count), wait 1h, print $(c.count), print $(now), stop);"
    )
    out = heddle.ok("run", "--simtime", "--quiet", "-e", chain).out.splitlines()
    assert out == [f"{BEGIN_S}.000000000", "2", "3602", f"{BEGIN_S + 3602}.500000000"]


def test_scripts_wait_for_each_other(heddle):
    chain = (
        'InfiniteSource(LIMIT 0, STOP false) -> Discard; a :: Script(wait 1s, print "a1", wait 2s, print "a3", wait 100s, stop);'
        'b :: Script(wait 2s, print "b2", wait 2s, print "b4"); c :: Script(wait 5s, print "end", stop);'
    )
    assert heddle.ok("run", "--simtime", "--quiet", "-e", chain).out.split() == ["a1", "b2", "a3", "b4", "end"]


def test_a_run_ends_at_its_time(heddle, tmp_path):
    simulated(heddle, f"TimedSource(1m) -> ToDump({tmp_path}/out.pcap)", "--time", "3599.5")
    assert times_of(tmp_path / "out.pcap") == [60_000 * n for n in range(1, 60)]


def test_captures_are_played_in_it(heddle, tmp_path):
    offsets = [0, 1, 17, 17, 4000, 86_400_000]
    packets = [captures.Packet((1_700_000_000_000 + ms) * MS, 60, bytes(60)) for ms in offsets]
    (tmp_path / "in.pcap").write_bytes(captures.pcap(packets))
    chain = f"FromDump({quoted(tmp_path / 'in.pcap')}, TIMING true) -> SetTimestamp -> ToDump({tmp_path}/out.pcap)"
    simulated(heddle, chain)
    assert times_of(tmp_path / "out.pcap") == offsets


def test_batches_wait_no_longer_than_they_may(heddle, tmp_path):
    chain = f"TimedSource(10ms, LIMIT 20) -> MinBatch(8, 35ms) -> SetTimestamp -> ToDump({tmp_path}/out.pcap)"
    simulated(heddle, chain)
    assert times_of(tmp_path / "out.pcap")[:16] == [45] * 4 + [85] * 4 + [125] * 4 + [165] * 4


def test_pings_and_fragments_time_out(heddle, tmp_path):
    out = heddle.ok(
        "run", "--simtime", "--quiet", "-e",
        "p :: ICMPPingSource(1.0.0.1, 1.0.0.2, INTERVAL 2s, LIMIT 10, ACTIVE true) -> c :: Counter -> Discard;"
        "Script(wait 7s, print $(c.count), wait 100s, print $(c.count), stop)",
    ).out.split()  # fmt: skip
    assert out == ["4", "10"]
    piece = Ether() / IP(src="1.0.0.1", dst="1.0.0.2", id=1, flags="MF", proto=17) / Raw(bytes(64))
    captures.write(tmp_path / "in.pcap", [bytes(piece)])
    chain = (
        f"FromDump({tmp_path}/in.pcap, STOP false) -> CheckIPHeader(14) -> r :: IPReassembler -> Discard; r[1] -> "
        f"SetTimestamp -> ToDump({tmp_path}/late.pcap); Script(wait 1h, stop)"
    )
    heddle.ok("run", "--simtime", "--quiet", "-e", chain)
    [late] = times_of(tmp_path / "late.pcap")
    assert 30_000 <= late <= 30_020, late


def test_addresses_are_asked_for_again(heddle, tmp_path):
    captures.write(tmp_path / "in.pcap", [bytes(Ether() / IP(src="1.0.0.1", dst="1.0.0.2") / UDP())])
    chain = (
        f"FromDump({tmp_path}/in.pcap, STOP false) -> Strip(14) -> CheckIPHeader -> GetIPAddress(16)"
        f" -> q :: ARPQuerier(1.0.0.1, 02:00:00:00:00:01) -> SetTimestamp -> ToDump({tmp_path}/out.pcap);"
        " Idle -> [1] q; Script(wait 60s, stop)"
    )
    heddle.ok("run", "--simtime", "--quiet", "-e", chain)
    ns = [packet.ns - BEGIN_S * 1000 * MS for packet in captures.read(tmp_path / "out.pcap")]
    assert len(ns) > 1 and ns[0] < 2 * MS and all(b - a >= 100 * MS for a, b in itertools.pairwise(ns))


@pytest.mark.parametrize(
    ("chain", "out"),
    [
        ('Script(wait 1h, print "hi")', "hi\n"),
        ('DriverManager(wait 1h, print "hi")', "hi\n"),
        ('s :: Script(pause, print "hi"); Script(wait 1h, write s.step 1)', "hi\n"),
    ],
)
def test_it_goes_on_without_packets(heddle, chain, out):
    assert heddle.ok("run", "--quiet", "--simtime", "-e", chain).out == out


def test_ticks(heddle):
    chain = "InfiniteSource(LIMIT 0, STOP false) -> Discard; Script(print $(now), print $(now), print $(now), stop)"
    a, b, c = (
        float(x) - BEGIN_S
        for x in heddle.ok("run", "--simtime", "--simtick", "0.25", "--quiet", "-e", chain).out.split()
    )
    assert b - a >= 0.25 and c - b >= 0.25  # packet threads may have asked meanwhile
    units = [float(x) for x in heddle.ok("run", "--simtime", "--simtick", "250ms", "--quiet", "-e", chain).out.split()]
    assert units[1] - units[0] >= 0.25 and units[2] - units[1] >= 0.25
    out = heddle.ok("run", "--simtime", "--quiet", "-e", chain).out.split()
    assert out == [f"{BEGIN_S}.000000000"] * 3


def test_bad_times_are_refused(heddle):
    for option in ("--simtime=-1", "--simtime=soon", "--simtick=-1", "--simtick=2s", "--simtick=1 horse"):
        assert option.split("=")[0] in heddle.fails("run", option, "-e", "Idle -> Discard", code=105)
