"""RED, MixedQueue, Bypass and the capacity of queues, against models."""

import collections
import random

import pytest
from whole import captures
from whole.program import quoted

RANDOM = random.Random(1917)


# --- RED


def red(heddle, length, arguments, packets):
    """The gaps between drops of RED where `length` packets wait in the queue that it looks at."""
    chain = f"""InfiniteSource(LIMIT {length}, STOP false) -> q :: Queue(1000) -> Unqueue(ACTIVE false) -> Discard;
        i :: InfiniteSource(DATA x, LIMIT {packets}, ACTIVE false, STOP false) -> r :: RED({arguments}, QUEUES q)
          -> a :: Counter -> Discard; r [1] -> b :: Counter -> Discard;
        Script(label l, wait 1ms, goto l $(lt $(q.length) {length}), write i.active true,
          label m, wait 1ms, goto m $(lt $(add $(a.count) $(b.count)) {packets}), print $(r.avg_queue_size), stop)"""
    result = heddle.ok("run", "--simtime", "--quiet", "-e", chain, "-h", "a.count", "-h", "b.count", "-h", "r.drops")
    average, *rest = result.out.split()
    passed, dropped, drops = (int(rest[i]) for i in (1, 3, 5))
    assert passed + dropped == packets and drops == dropped
    return float(average), dropped / packets


def paper(length, low, high, most, packets):
    """The share that the algorithm of the paper drops, method 2, gentle; the average is the length."""
    if length <= low:
        return 0
    p = most * (length - low) / (high - low) if length <= high else most + (1 - most) * (length - high) / high
    count = drops = 0
    for _ in range(packets):
        if p >= 1 or RANDOM.random() < p / max(1 - count * p, 1e-12):
            drops, count = drops + 1, 0
        else:
            count += 1
    return drops / packets


@pytest.mark.parametrize("length", [5, 10, 15, 20, 30, 39, 41])
def test_red_drops_the_share_of_the_paper(heddle, length):
    average, share = red(heddle, length, "10, 20, 0.1, STABILITY 0", 40_000)
    assert average == length
    wanted = paper(length, 10, 20, 0.1, 400_000)
    assert wanted in (0, 1) and share == wanted or abs(share - wanted) < 0.03 * max(wanted, 0.2), (share, wanted)


def test_red_follows_the_queue_slowly(heddle):
    for packets in (1, 7, 30):
        average, _ = red(heddle, 15, "100, 200, 0.1, STABILITY 3", packets)
        assert abs(average - 15 * (1 - (1 - 1 / 8) ** packets)) < 0.001


def test_red_counts_what_it_lets_into_its_queue(heddle):
    """Nobody pulls: with gentle drops up to twice MAX_THRESH no more than that many get in, at least MIN_THRESH do."""
    chain = "InfiniteSource(LIMIT 5000, BURST 64) -> r :: RED(10, 20, 0.5, STABILITY 0) -> q :: Queue(1000) -> Unqueue(ACTIVE false) -> Discard"
    report = heddle.run(chain)
    left = report.one("q")["statistics"]["left"]
    assert 20 <= left <= 41 and report.drops("r") == {"early": 5000 - left} and report.drops("q") == {}


def test_red_pulled_finds_the_queue_before_it(heddle):
    chain = (
        "InfiniteSource(LIMIT 10) -> q1 :: Queue -> r :: RED(1, 2, 1) -> Unqueue -> q2 :: Queue -> Unqueue -> Discard;"
        "s :: InfiniteSource(LIMIT 10) -> p :: RED(1, 2, 1) -> Null -> q3 :: Queue -> Unqueue -> Discard"
    )
    out = heddle.ok("run", "--quiet", "-e", chain, "-h", "r.queues", "-h", "p.queues", "-h", "r.min_thresh").out
    assert out.replace("\n", " ").split() == ["r.queues:", "q1", "p.queues:", "q3", "r.min_thresh:", "1"]


def test_red_mistakes(heddle):
    for chain, message in (
        ("Idle -> RED(5, 4, 0.1) -> Queue -> Discard", "MIN_THRESH is greater"),
        ("Idle -> RED(5, 10, 1.5) -> Queue -> Discard", "MAX_P"),
        ("Idle -> RED(5, 10, 0.5) -> Discard", "no queue"),
        ("c :: Counter; Idle -> RED(5, 10, 0.5, QUEUES c) -> c -> Discard", "'c' is no queue"),
        ("Idle -> RED(5, 10, 0.5, QUEUES x) -> Queue -> Discard", "no element is called 'x'"),
    ):
        assert message in heddle.fails("check", "-e", chain)


# --- MixedQueue


def test_mixed_queue_against_a_model(heddle, tmp_path):
    capacity, waiting, dropped = 40, collections.deque(), []
    frames = [b"%03d" % n + (b"L" if RANDOM.random() < 0.4 else b"F") for n in range(200)]
    for frame in frames:
        if len(waiting) < capacity:
            waiting.appendleft(frame) if frame.endswith(b"L") else waiting.append(frame)
        elif frame.endswith(b"L"):
            dropped.append(waiting.pop())
            waiting.appendleft(frame)
        else:
            dropped.append(frame)
    captures.write(tmp_path / "in.pcap", frames)
    for burst in (1, 1024):  # all at once, or a packet after the other
        chain = (
            f"FromDump({quoted(tmp_path / 'in.pcap')}, BURST {burst}) -> c :: Classifier(3/46, 3/4c);"
            f"c -> m :: MixedQueue({capacity}); c[1] -> [1] m; m -> u :: Unqueue(ACTIVE false) -> ToDump({tmp_path}/out.pcap);"
            "Script(label l, wait 1ms, goto l $(lt $(add $(m.length) $(m.drops)) 200), write u.active true, end)"
        )
        if burst == 1:
            report = heddle.run(chain)
            assert captures.frames(tmp_path / "out.pcap") == list(waiting)
            assert report.drops("m") == {"full": len(dropped)}
            assert report.one("m")["statistics"]["highwater_length"] == capacity


def test_mixed_queue_of_another_capacity(heddle, tmp_path):
    """Those that wait stay, in their order; the new capacity holds for those that come."""
    capacities, waiting, drops = (40, 70, 20, 90), collections.deque(), 0
    chain, steps = (
        "m :: MixedQueue(40) -> u :: Unqueue(ACTIVE false) -> ToDump($out); all :: Null -> c :: Classifier(3/46, 3/4c);",
        [],
    )
    chain += "c -> m; c[1] -> [1]m;"
    for phase, capacity in enumerate(capacities):
        frames = [b"%d%02d" % (phase, n) + (b"L" if RANDOM.random() < 0.3 else b"F") for n in range(60)]
        for frame in frames:
            if len(waiting) >= capacity:
                drops += 1
                if frame.endswith(b"F"):
                    continue
                waiting.pop()
            waiting.appendleft(frame) if frame.endswith(b"L") else waiting.append(frame)
        captures.write(tmp_path / f"{phase}.pcap", frames)
        chain += f"s{phase} :: FromDump({quoted(tmp_path / f'{phase}.pcap')}, BURST 1, ACTIVE false, STOP false) -> n{phase} :: Counter -> all;"
        steps += [f"write m.capacity {capacity}", f"write s{phase}.active true"]
        steps += [f"label l{phase}, wait 1ms, goto l{phase} $(lt $(add $(m.length) $(m.drops)) {len(waiting) + drops})"]
    chain += f"Script({', '.join(steps)}, print $(m.capacity) $(m.drops) $(m.length), write u.active true,"
    chain += " label m, wait 1ms, goto m $(gt $(m.length) 0), stop)"
    result = heddle.ok("run", "--quiet", "-e", chain.replace("$out", quoted(tmp_path / "out.pcap")))
    assert result.out.split() == ["90", str(drops), str(len(waiting))]
    assert captures.frames(tmp_path / "out.pcap") == list(waiting)


def test_mixed_queue_keeps_annotations(heddle):
    chain = (
        "InfiniteSource(LIMIT 300) -> Paint(1) -> m :: MixedQueue(1000) -> u :: Unqueue -> s :: PaintSwitch;"
        "InfiniteSource(LIMIT 200) -> Paint(2) -> [1] m; s[0] -> z :: Counter -> Discard;"
        "s[1] -> a :: Counter -> Discard; s[2] -> b :: Counter -> Discard"
    )
    report = heddle.run(chain)
    assert [report.count(name) for name in "zab"] == [0, 300, 200]


# --- Bypass


def test_bypass_switches(heddle):
    chain = (
        "i :: InfiniteSource(LIMIT 10, STOP false) -> b :: Bypass({}) -> d :: Discard; b[1] -> c :: Counter -> d;"
        "Script(label l, wait 1ms, goto l $(lt $(i.count) 10), wait 1s, print $(b.active) $(c.count), write b.active true,"
        "write i.reset, label m, wait 1ms, goto m $(lt $(c.count) 10), wait 1s, print $(b.active) $(c.count), stop)"
    )
    out = heddle.ok("run", "--simtime", "--quiet", "-e", chain.format("")).out.splitlines()
    assert out == ["false 0", "true 10"]
    assert (
        heddle.run("InfiniteSource(LIMIT 7) -> b :: Bypass(true) -> Discard; b[1] -> c :: Counter -> Discard").count(
            "c"
        )
        == 7
    )


# --- Queue's capacity


@pytest.mark.parametrize("queue", ["Queue", "FrontDropQueue"])
def test_capacity_can_be_written(heddle, tmp_path, queue):
    frames = [b"%060d" % n for n in range(200)]
    captures.write(tmp_path / "in.pcap", frames)
    chain = (
        f"in :: FromDump({quoted(tmp_path / 'in.pcap')}, BURST 1, STOP false) -> s :: Switch(0) -> q :: {queue}(10);"
        f"q -> u :: Unqueue(ACTIVE false) -> ToDump({tmp_path}/out.pcap); s[1] -> Discard"
    )
    script = "Script(label l, wait 1ms, goto l $(lt $(in.count) 200), print $(q.length) $(q.drops) $(q.capacity),"
    script += "write q.capacity 300, print $(q.length) $(q.capacity), write in.reset_counts, write q.capacity 4,"
    script += "print $(q.length) $(q.capacity), write u.active true,"
    script += "label m, wait 1ms, goto m $(lt 0 $(q.length)), stop)"
    out = heddle.ok("run", "--quiet", "-e", f"{chain}; {script}").out.splitlines()
    assert out == ["10 190 10", "10 300", "10 4"]
    assert captures.frames(tmp_path / "out.pcap") == (frames[:10] if queue == "Queue" else frames[-10:])


@pytest.mark.parametrize("queue", ["Queue", "FrontDropQueue"])
def test_capacity_changes_while_packets_flow(heddle, tmp_path, queue):
    count = 200_000
    chain = (
        f"InfiniteSource(LENGTH 60, LIMIT {count}, STOP false) -> n :: NumberPacket(40) -> q :: {queue}(64)"
        f" -> u :: Unqueue -> o :: Counter -> ToDump({tmp_path}/out.pcap); StaticThreadSched(u 1);"
        "Script(set n 1, label l, wait 100us, write q.capacity $n, set n $(add 1 $(mod $(mul $n 17) 301)),"
        f"goto l $(lt $(add $(o.count) $(q.drops)) {count}), stop)"
    )
    report = heddle.run(chain, "-j", "2")
    numbers = [int.from_bytes(frame[40:48], "little") for frame in captures.frames(tmp_path / "out.pcap")]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + sum(report.drops("q").values()) == count
    assert report.drops("q")["full"] > 0
