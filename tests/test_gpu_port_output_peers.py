"""Several ToGPUPorts behind one FromGPUPort, whose peers are missing, die, lie and come back, on simt."""

import contextlib
from collections import Counter

import pytest
from whole.gpu_ports import numbered
from whole.gpu_router import Router, forward, frames_to, lookup, traffic
from whole.program import read_handler, wait_until

ROLES = pytest.mark.parametrize("role", ["client", "server"])


@ROLES
def test_peers_die_and_return(heddle, place, role):
    """While one that packets leave by is not there, they are dropped there and counted, and the other ones go on;
    without the one that they come from nothing happens."""
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": role, "o0": role, "o1": role})
        peers, lost = router.peers(), Counter()
        for seed, dies in enumerate(("o1", "in", "o0", "o1")):
            forward(peers, "in", traffic(300, ["o0", "o1"], seed=seed))
            peers.pop(dies).close()
            router.wait_for(dies, "false")
            if dies != "in":
                ways = traffic(300, ["o0", "o1"], seed=10 + seed)
                lost[dies] += len(frames_to(ways, dies))
                forward(peers, "in", [(frame, None if name == dies else name) for frame, name in ways])
            peers[dies] = router.peer(dies)
            router.wait_for(dies)
        forward(peers, "in", traffic(300, ["o0", "o1"], seed=9))
        report = router.end()
    assert report.received == 8 * 300
    assert report.one("o1")["statistics"]["connections"] == 3
    for name, count in lost.items():
        assert report.drops(name) == {"no_peer": count}


def test_a_port_without_a_peer_so_far_stops_no_other(heddle, place):
    """Without the one, and then without the other: what comes while no port has a peer waits."""
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": "server", "o0": "client", "o1": "server"})
        peers = {"in": router.peer("in")}
        router.wait_for("in")
        first = traffic(32, ["o0", "o1"], seed=1)
        assert peers["in"].send([frame for frame, _ in first]) == len(first)
        assert read_handler(router.control, "FromGPUPort@1.count") == "0"
        peers["o1"] = router.peer("o1")
        router.wait_for("o1")
        wanted, got = frames_to(first, "o1"), []
        wait_until(lambda: got.extend(peers["o1"].receive()) or len(got) == len(wanted), what="what has waited")
        assert got == wanted
        second = traffic(300, ["o0", "o1"], seed=2)
        forward(peers, "in", [(frame, name if name == "o1" else None) for frame, name in second])
        peers["o0"] = router.peer("o0")
        router.wait_for("o0")
        forward(peers, "in", traffic(300, ["o0", "o1"], seed=3))
        report = router.end()
    assert report.drops("o0") == {"no_peer": len(frames_to(first + second, "o0"))}
    assert report.drops("o1") == {}


@pytest.mark.parametrize("comes_again", [True, False])
def test_peers_come_and_go_as_often_as_they_like(heddle, place, comes_again):
    """Their memory is given back while the kernels of all ports stand still, also where packets leave by others
    meanwhile; one of them comes for the first time then, or has come often. A second chain has kernels of its own."""
    with contextlib.ExitStack() as stack:
        chain = lookup(range(2)) + f"; FromGPUPort(x, SOCKET {place}/x.sock, ROLE server, NDESC 64) -> EtherMirror"
        router = Router(
            heddle, place, stack, {"in": "server", "o0": "server", "o1": "server"}, chain + " -> x :: ToGPUPort(x)"
        )
        peers = {"in": router.peer("in"), "o0": router.peer("o0")}
        if comes_again:
            peers["o1"] = router.peer("o1")
        for name in peers:
            router.wait_for(name)
        router.kinds["x"] = "server"
        for _ in range(40):
            x = router.peer("x")
            router.wait_for("x")
            x.close()
            router.wait_for("x", "false")
        if comes_again:
            peers.pop("o1").close()
            router.wait_for("o1", "false")
        peers["o1"] = router.peer("o1")
        router.wait_for("o1")
        forward(peers, "in", traffic(300, ["o0", "o1"]))
        report = router.end()
    assert report.drops("o0") == report.drops("o1") == {}


def test_the_end_when_peers_have_gone(heddle, place):
    """No kernel runs, so nobody takes what the NIC has received, and the end does not wait for that: it is counted."""
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": "nic", "o0": "client", "o1": "client"})
        peers = router.peers()
        forward(peers, "in", traffic(100, ["o0", "o1"]))
        for name in ("o0", "o1"):
            peers[name].close()
            router.wait_for(name, "false")
        waiting = peers["in"].room()  # on the wire; of what is sent beyond that, the NIC has received some
        frames, sent = numbered(waiting + 63, least=60), 0

        def step():
            nonlocal sent
            sent += peers["in"].send(frames[sent:])
            return sent == len(frames)

        wait_until(step, what="the NIC to receive")
        report = router.end()
    assert report.received == 100
    assert report.one("FromGPUPort@1")["statistics"]["unprocessed"] > 0


@ROLES
@pytest.mark.parametrize("liar", ["o0", "o1"])
def test_an_index_that_lies_ends_that_connection_alone(heddle, place, role, liar):
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": role, "o0": role, "o1": role})
        peers = router.peers()
        ways = traffic(300, ["o0", "o1"])
        forward(peers, "in", ways)
        ring = peers[liar].back[0]
        if peers[liar].server:
            ring.tail = ring.position + 100
        else:
            ring.head = ring.position + ring.size + 100
        router.wait_for(liar, "false")
        assert "has emptied more descriptors than were filled" in peers[liar].why()
        peers[liar] = router.peer(liar)
        router.wait_for(liar)
        forward(peers, "in", ways)
        result = router.running.interrupt()
    assert result.code == 0
    assert f"GPU port {liar}: the peer says that it has emptied" in result.err


@pytest.mark.parametrize("role", ["client", "server"])
def test_what_lies_in_the_rings_of_a_peer_that_goes_is_counted(heddle, place, role):
    """What it has not taken, and what it has sent and nobody has received, for the other port has no peer by then."""
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": role, "out": role}, chain="")
        peers = router.peers()
        out = peers["out"]
        peers["in"].send_all(numbered(100)[:30])
        wait_until(lambda: len(out.receive()) + out.back[0].position >= 20, what="some frames")
        taken = out.back[0].position
        peers["in"].send_all(numbered(10))
        wait_until(lambda: (out.filled() - taken) & 0xFFFF == 40 - taken, what="all frames")
        out.close()
        router.wait_for("out", "false")
        peers["in"].send_all(numbered(5))
        peers["in"].close()
        router.wait_for("in", "false")
        report = router.end()
    assert report.one("out")["packets"] == 40
    assert report.one("out")["statistics"]["unsent"] == 40 - taken
    assert report.one("FromGPUPort@1")["statistics"]["unprocessed"] == 5
