"""GPU ports on simt with peers in interrupt mode: no GPU can wake them, so the program does."""

import contextlib
import os
import random
import select

import pytest
from whole.gpu_ports import Mirror, mirrored, numbered, right
from whole.program import wait_until

FULL = 2**64 - 2  # of an eventfd: write() would wait


def interrupts(ring):
    """How many are there, which stay."""
    with open(f"/proc/self/fdinfo/{ring.event}", encoding="ascii") as file:
        return int(dict(line.split(":", 1) for line in file)["eventfd-count"], 16)


@pytest.mark.parametrize("role", ["client", "server"])
def test_a_peer_that_waits_for_interrupts(heddle, place, role):
    """It looks at no ring before it is woken, and packets come at once, in turns, and after pauses."""
    values, queues = random.Random(4), 3
    with Mirror(heddle, place, role, queues=queues) as mirror:
        peer = mirror.peer(waits=True)
        for turn in range(300):
            sent = {q: numbered(values.choice([0, 1, 1, 5, 64]), seed=3 * turn + q) for q in range(queues)}
            for queue, frames in sent.items():
                peer.send_all(frames, queue)
            got = peer.receive_woken(sum(map(len, sent.values())))
            assert got == {q: [mirrored(frame) for frame in frames] for q, frames in sent.items()}
            if turn % 10 == 0:
                select.select([], [], [], values.choice([0.001, 0.01, 0.1]))
        mirror.end()


@pytest.mark.parametrize("role", ["client", "server"])
def test_from_one_port_to_a_peer_that_waits(heddle, place, role):
    frames = numbered(2000)
    with Mirror(heddle, place, role, ports=2) as mirror:
        one, other = mirror.peer(0), mirror.peer(1, waits=True)
        for at in range(0, len(frames), 50):
            one.send_all(frames[at : at + 50])
            right(frames[at : at + 50], other.receive_woken(50)[0])
        assert interrupts(one.back[0]) == 0
        mirror.end()


@pytest.mark.parametrize("role", ["client", "server"])
def test_a_peer_that_polls_gets_no_interrupts(heddle, place, role):
    with Mirror(heddle, place, role, queues=2) as mirror:
        peer = mirror.peer()
        for queue in (0, 1):
            frames = numbered(1000, seed=queue)
            right(frames, peer.exchange(frames, queue=queue))
        mirror.end()
        assert [interrupts(ring) for ring in peer.back + peer.out] == [0] * 4


@pytest.mark.parametrize("role", ["client", "server"])
def test_a_peer_that_unmasks_late(heddle, place, role):
    """With packets there already. It does so again and again."""
    with Mirror(heddle, place, role) as mirror:
        peer, seen = mirror.peer(), 0
        for turn in range(40):
            peer.mask()
            frames = numbered(1 + turn, seed=turn)
            peer.send_all(frames)
            seen += len(frames)
            wait_until(lambda: peer.filled() == seen, what="the frames")  # noqa: B023
            assert turn > 0 or interrupts(peer.back[0]) == 0
            peer.mask(False)
            right(frames, peer.receive_woken(len(frames))[0])
        mirror.end()


@pytest.mark.parametrize("role", ["client", "server"])
def test_a_full_eventfd_stops_nobody(heddle, place, role):
    """Not even one where write() waits."""
    frames = numbered(60)
    with Mirror(heddle, place, role, queues=2) as mirror:
        peer = mirror.peer(waits=True)
        full = peer.back[0].event
        os.set_blocking(full, True)
        os.eventfd_write(full, FULL)
        for _ in range(3):
            peer.send_all(frames)
            there = peer.back[0].position + 60
            wait_until(lambda: peer.filled() == there & 0xFFFF, what="the frames")  # noqa: B023
            peer.send_all(frames, queue=1)
            got = []
            while len(got) < 60:
                assert select.select([peer.back[1].event], [], [], 60)[0], "not woken"
                os.eventfd_read(peer.back[1].event)
                got += peer.receive(1)
            right(frames, got)
            right(frames, peer.receive())
        assert interrupts(peer.back[0]) >= FULL
        mirror.end()


@pytest.mark.parametrize("role", ["client", "server"])
def test_peers_that_close_their_eventfds(heddle, place, role):
    frames = numbered(60)
    with Mirror(heddle, place, role) as mirror:
        for _ in range(3):
            with mirror.peer(waits=True) as peer:
                peer.send_all(frames)
                right(frames, peer.receive_woken(60)[0])
                peer.close_events()
                right(frames * 20, peer.exchange(frames * 20))
        mirror.end()


def test_a_peer_whose_eventfd_is_none(heddle, place):
    """A pipe that is full: write() would wait."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    frames = numbered(1000)
    with Mirror(heddle, place, "server", queues=2) as mirror:
        peer = mirror.peer(waits=True, new_event=lambda: os.dup(writing))
        for queue in (0, 1):
            right(frames, peer.exchange(frames, queue=queue))
        peer.close()
        with mirror.peer(waits=True) as peer:
            peer.send_all(frames[:60])
            right(frames[:60], peer.receive_woken(60)[0])
        mirror.end()
    os.close(reading), os.close(writing)


@pytest.mark.parametrize("role", ["client", "server"])
def test_peers_that_wait_die_and_return(heddle, place, role):
    with Mirror(heddle, place, role) as mirror:
        for turn in range(6):
            with mirror.peer(waits=turn != 3) as peer:
                frames = numbered(50 + turn, seed=turn)
                if turn == 3:
                    right(frames, peer.exchange(frames))
                    assert interrupts(peer.back[0]) == 0
                else:
                    peer.send_all(frames)
                    right(frames, peer.receive_woken(len(frames))[0])
                peer.send(frames)
        assert mirror.end().one("FromGPUPort")["statistics"]["connections"] == 6
