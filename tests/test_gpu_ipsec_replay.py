"""ESP that comes in between GPU ports on simt: numbers that come again, by the letter of RFC 4303, and hostile packets.
Scapy makes what comes."""

import functools
import random
from collections import Counter

import pytest
from scapy.layers.inet import IP
from whole import captures, ipsec, judge
from whole.gpu_ports import Mirror
from whole.program import quoted, read_handler, wait_until


class Window:
    """What has come of an association, by the letter of RFC 4303, 3.4.3."""

    def __init__(self, size, seen=0):
        self.size, self.top, self.seen, self.come = size, seen, seen, set()

    def takes(self, number):
        if self.size == 0:
            return True
        if number <= self.seen or number + self.size <= self.top or number in self.come:
            return False
        self.come.add(number)
        self.top = max(self.top, number)
        return True


def decap(keys):
    return f"d :: IPsecDecap({quoted(keys)}, OFFSET 14, DEVICE gpu) -> r :: IPsecReplay(d, DEVICE gpu)"


def protected(association, number, packet):
    return b"\x02" * 12 + (b"\x86\xdd" if association.ip6 else b"\x08\x00") + association.encrypt(IP(packet), number)


def arrivals(association, count, values):
    """Numbers as a network that is not kind gives them: late, twice, with gaps near and far, and some of old."""
    numbers, highest = [], association.seen
    while len(numbers) < count:
        highest += values.choice([1, 1, 1, 1, 2, 30, 70] + [5000] * (values.random() < 0.1))
        numbers.append(highest)
        if values.random() < 0.3:
            numbers.append(max(1, highest - int(values.expovariate(1 / 40))))
        if values.random() < 0.1:
            numbers += [values.choice(numbers)] * values.randint(1, 3)
        if values.random() < 0.1:
            numbers[-8:] = values.sample(numbers[-8:], len(numbers[-8:]))
    return numbers


@functools.cache
def replays():
    """Associations, frames in which numbers come again, those that are to come out, and how many are dropped for
    what."""
    seen = 70_000
    associations = [
        ipsec.Association(0x1001, window=64),
        ipsec.Association(0x1002, window=4096, hash="sha256"),
        ipsec.Association(0x1003, window=0, cipher="gcm"),
        ipsec.Association(
            0x1004, window=100, seen=seen, lines=f"\tanti-replay context: seq {seen:#x}, oseq 0x0, bitmap 0x0\n"
        ),
        ipsec.Association(0x1005, window=128, cipher="gcm", port=4500, esn=True, seen=(1 << 32) - 3000),
        ipsec.Association(0x1006, window=1024, ip6=True, esn=True, seen=(6 << 32) - 9000),
    ]
    values, windows = random.Random(11), [Window(a.window, a.seen) for a in associations]
    waiting = [arrivals(a, 350, values) for a in associations]
    waiting[3][:3] = [seen, seen + 1, seen - 1]
    frames, wanted, fates = [], [], Counter()
    while any(waiting):
        which = values.choice([i for i, left in enumerate(waiting) if left])
        for number in waiting[which][: values.randint(1, 40)]:
            waiting[which].pop(0)
            packet = judge.ip4(bytes([10, 0, 0, which]), bytes(4), 17, values.randbytes(8))[14:]
            frame = protected(associations[which], number, packet)
            if values.random() < 0.05:  # what is not authentic marks no number
                frame = frame[:-1] + bytes([frame[-1] ^ 1])
                fates["bad_icv"] += 1
            elif windows[which].takes(number):
                wanted.append(frame[:12] + b"\x08\x00" + packet)
            else:
                fates["replayed"] += 1
            frames.append(frame)
    assert min(fates.values()) > 50 and len(wanted) > 500
    return associations, frames, wanted, fates


@pytest.mark.parametrize("warp_batch", [32, 96, 896])
@pytest.mark.parametrize("role", ["client", "server"])
def test_replays_are_judged_in_the_order_of_arrival(heddle, place, tmp_path, role, warp_batch):
    associations, frames, wanted, fates = replays()
    keys = ipsec.write(tmp_path / "tunnels.keys", associations)
    with Mirror(heddle, place, role, size=256, chain=decap(keys), more=f", WARP_BATCH {warp_batch}") as mirror:
        assert mirror.peer().exchange(frames, len(wanted)) == wanted
        report = mirror.end()
    assert report.drops("d") == {"bad_icv": fates["bad_icv"]}
    assert report.drops("r") == {"replayed": fates["replayed"]}


def test_ring_pairs_share_the_windows(heddle, place, tmp_path):
    """What comes by all of them at once is let through once."""
    association = ipsec.Association(0x1001, window=4096)
    keys = ipsec.write(tmp_path / "tunnels.keys", [association])
    packets = [judge.ip4(bytes([10, 0, n // 256, n % 256]), bytes(4), 17, bytes(8))[14:] for n in range(600)]
    frames = [protected(association, number, packet) for number, packet in enumerate(packets, 1)]
    with Mirror(heddle, place, queues=3, size=256, chain=decap(keys), more=", WARP_BATCH 64") as mirror:
        peer, left, got = mirror.peer(), {queue: list(frames) for queue in range(3)}, []

        def exchange():
            for queue, some in left.items():
                del some[: peer.send(some[:40], queue)]
                got.extend(peer.receive(queue))
            return not any(left.values()) and len(got) == len(frames)

        wait_until(exchange, what="all frames")
        wait_until(lambda: read_handler(mirror.control, "FromGPUPort@1.count") == "1800", what="all frames")
        report = mirror.end()
    assert sorted(got) == sorted(frame[:14] + packet for frame, packet in zip(frames, packets, strict=True))
    assert report.drops("r") == {"replayed": 2 * len(frames)}


def test_packets_of_others_come_out_of_no_tunnel(heddle, place, tmp_path):
    """Selectors are judged behind the window: the number of such a packet has come."""
    association = ipsec.Association(0x1001, lines="\tsel src 10.1.0.0/16 dst 0.0.0.0/0\n")
    keys = ipsec.write(tmp_path / "tunnels.keys", [association])
    frames, wanted, fates = [], [], Counter()
    for number in range(1, 301):
        packet = judge.ip4(bytes([10, 1 + number % 3, 0, 0]), bytes(4), 17, number.to_bytes(4, "big"))[14:]
        frames += [protected(association, number, packet)] * (1 + (number % 7 == 0))
        fates["replayed"] += number % 7 == 0
        fates["selector"] += number % 3 != 0
        if number % 3 == 0:
            wanted.append(frames[-1][:14] + packet)
    with Mirror(heddle, place, chain=decap(keys)) as mirror:
        assert mirror.peer().exchange(frames, len(wanted)) == wanted
        report = mirror.end()
    assert report.drops("r") == fates


def test_hostile_packets(heddle, place, tmp_path):
    """Cut, changed and made up: the CPU says what is to become of each."""
    associations = [
        ipsec.Association(0x1001),
        ipsec.Association(0x1002, cipher="gcm"),
        ipsec.Association(0x1003, ip6=True, esn=True, seen=(2 << 32) - 300),
        ipsec.Association(0x1004, port=4500),
        ipsec.Association(0x1005, transport=True, cipher="gcm", esn=True, seen=(2 << 32) - 300),
    ]
    keys = ipsec.write(tmp_path / "tunnels.keys", associations)
    values, frames = random.Random(17), []
    for number in range(1, 1500):
        one = values.choice(associations)
        to = bytes([203, 0, 113, 1]) if one.transport else values.randbytes(4)
        packet = judge.ip4(values.randbytes(4), to, 17, values.randbytes(values.randrange(60)))[14:]
        frame = bytearray(protected(one, one.seen + number, packet))
        match values.randrange(5):
            case 0:
                del frame[values.randrange(1, len(frame)) :]
            case 1:
                frame[values.randrange(12, min(64, len(frame)))] = values.randrange(256)
            case 2:
                at = 18 if one.ip6 else 16
                frame[at : at + 2] = values.randrange(80).to_bytes(2, "big")
            case 3:
                frame = bytearray(values.randbytes(values.randrange(1, 200)))
        frames.append(bytes(frame))
    source, out = captures.write(tmp_path / "in.pcap", frames), tmp_path / "out.pcap"
    on_cpu = heddle.run(
        f"FromDump({quoted(source)}) -> {decap(keys).replace(', DEVICE gpu', '')} -> ToDump({quoted(out)})"
    )
    wanted = captures.frames(out)
    assert len(wanted) > 100
    with Mirror(heddle, place, chain=decap(keys)) as mirror:
        assert mirror.peer().exchange(frames, len(wanted)) == wanted
        report = mirror.end()
    for name in "dr":
        assert report.drops(name) == on_cpu.drops(name)
