"""Several ToGPUPorts behind one FromGPUPort, and ports of both kinds in one chain, on simt."""

import contextlib
import ipaddress
import os
import random
import re
from collections import Counter

import pytest
from test_soft_nic_process import Nic
from whole import judge, memif
from whole.control import Control
from whole.gpu_ports import SIMT, mirrored, numbered
from whole.gpu_router import Router, forward, frames_to, lookup, to, traffic
from whole.program import CHAINS, Report, quoted, read_handler, wait_until

ROLES = pytest.mark.parametrize("role", ["client", "server"])


@pytest.mark.parametrize("outputs", [2, 3])
@pytest.mark.parametrize(
    "kinds",
    [
        "client client",
        "server server",
        "client server",
        "nic nic",
        "client nic",
        "nic client",
        "nic server",
        "server nic",
    ],
)
def test_each_packet_leaves_by_its_port(heddle, place, kinds, outputs):
    """Rings go round many times; whichever kind they are, in order, and none is lost."""
    first, rest = kinds.split()
    names = [f"o{i}" for i in range(outputs)]
    kinds = {"in": first} | dict.fromkeys(names, rest)
    ways = traffic(1500, names)
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, kinds)
        peers = router.peers()
        forward(peers, "in", ways)
        report = router.end()
    assert report.received == len(ways)
    for name in names:
        frames = frames_to(ways, name)
        assert report.one(name)["packets"] == len(frames)
        assert report.one(name)["bytes"] == sum(map(len, frames))
    assert sum(report.drops("rt").values()) == report.dropped == len(frames_to(ways, None))


@pytest.mark.parametrize("kinds", ["client nic", "nic client", "nic server", "server nic"])
def test_from_one_kind_to_the_other(heddle, place, kinds):
    """By one port: when its ring is full, nothing more is received, and nothing is dropped."""
    first, second = kinds.split()
    frames = numbered(2000, least=60, most=1500)
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": first, "out": second}, chain="")
        peers = router.peers()
        got, sent = [], 0

        def step():
            nonlocal sent
            sent += peers["in"].send(frames[sent:])
            got.extend(peers["out"].receive()[:])
            return len(got) == len(frames)

        wait_until(step, 120, "all frames")
        assert got == [mirrored(frame) for frame in frames]
        report = router.end()
    assert report.received == len(frames)
    assert report.dropped == 0


@ROLES
def test_there_and_back(heddle, place, role):
    """Between a memif and a soft NIC, in both directions, so both ports have both kinds of rings beside them."""
    frames = numbered(1000, least=60)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(memif.Listener(f"{place}/wire"))
        if role == "client":
            server = stack.enter_context(memif.Listener(f"{place}/a.sock"))
        wire = f"net_memif0,role=client,socket-abstract=no,socket={place}/wire"
        chain = (
            f"FromGPUPort(a, SOCKET {place}/a.sock, ROLE {role}, NDESC 64) -> EtherMirror -> ToGPUPort(n, SOFTNIC "
            f"{quoted(wire)}, NDESC 64); FromGPUPort(n) -> XOR(5) -> ToGPUPort(a)"
        )
        running = stack.enter_context(heddle.start("run", "--json", "-e", chain, *SIMT))
        nic = stack.enter_context(listener.accept())
        if role == "client":
            peer = stack.enter_context(server.accept())
        else:
            wait_until(lambda: os.path.exists(f"{place}/a.sock"), what="the socket")
            peer = stack.enter_context(memif.Client(f"{place}/a.sock", 1, 6))
        there, back, sent, returned = [], [], 0, 0

        def step():
            nonlocal sent, returned
            sent += peer.send(frames[sent:])
            there.extend(nic.receive())
            returned += nic.send(there[returned:])
            back.extend(peer.receive())
            return len(back) == len(frames)

        wait_until(step, 120, "all frames")
        assert there == [mirrored(frame) for frame in frames]
        assert back == [bytes(byte ^ 5 for byte in frame) for frame in there]
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    assert Report(result.json).received == 2 * len(frames)


@pytest.mark.parametrize("kinds", ["client client", "server server", "nic nic", "client nic", "nic client"])
def test_a_port_that_takes_nothing_stops_no_other(heddle, place, kinds):
    """What it cannot take is dropped there and counted; its ring holds the first."""
    first, rest = kinds.split()
    frames = [to(index % 2, frame) for index, frame in enumerate(numbered(4000, least=60))]
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": first, "o0": rest, "o1": rest})
        peers, got, sent = router.peers(), [], 0
        wanted = [frame for index, frame in enumerate(frames) if index % 2 == 1]

        def step():
            nonlocal sent
            got.extend(peers["o1"].receive())
            if len(got) >= sent // 2:
                sent += peers["in"].send(frames[sent : sent + 32])
            return len(got) == len(wanted)

        wait_until(step, 120, "the other port's frames")
        assert got == wanted
        held = []
        wait_until(lambda: held.extend(peers["o0"].receive()) or len(held) >= 63, what="what its rings hold")
        assert held[:63] == frames[0:126:2]
        report = router.end()
    drops = report.drops("o0")
    assert report.drops("o1") == {}
    assert drops.keys() == {"full"}
    assert report.one("o0")["packets"] == 2000
    assert 2000 - drops["full"] >= len(held)
    assert drops["full"] > 0


def test_a_frame_too_long_for_one_port(heddle, place):
    frames = [to(index % 2, frame) for index, frame in enumerate(numbered(1000, least=60, most=200))]
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": "server", "o0": "server", "o1": "server"})
        peers = {"in": router.peer("in"), "o0": router.peer("o0", buffer_bytes=100), "o1": router.peer("o1")}
        for name in peers:
            router.wait_for(name)
        ways = [(frame, "o1" if i % 2 else "o0" if len(frame) <= 100 else None) for i, frame in enumerate(frames)]
        forward(peers, "in", ways)
        report = router.end()
    assert report.drops("o0") == {"too_long": len(frames_to(ways, None))}
    assert report.drops("o1") == {}


@ROLES
def test_several_rings(heddle, place, role):
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": role, "o0": role, "o1": role}, queues=3, more=", WARP_BATCH 64")
        peers = router.peers()
        for queue in (2, 0, 1, 2):
            forward(peers, "in", traffic(400, ["o0", "o1"], seed=queue), queue)
        assert router.end().received == 1600


def test_it_goes_on_over_reconfigurations(heddle, place):
    """Ports change from one chain to another, and what was one way to two ports is one to one."""
    with contextlib.ExitStack() as stack:
        router = Router(heddle, place, stack, {"in": "server", "o0": "server", "o1": "server"}, extra=["-R"])
        peers, control = router.peers(), Control(router.control)
        for round_ in range(4):
            forward(peers, "in", traffic(300, ["o0", "o1"], seed=round_))
            control.write("hotconfig", router.text(lookup([1, 0])))
            forward(peers, "in", traffic(300, ["o1", "o0"], seed=round_))
            control.write("hotconfig", router.text(None))
        report = router.end()
    assert report.received == 2400
    assert report.one("o0")["statistics"]["connections"] == 1


@pytest.mark.parametrize("first", ["to", "from", "both"])
@pytest.mark.parametrize("process", [False, True])
def test_a_soft_nic_that_goes_on_keeps_its_directions(heddle, place, process, first):
    with contextlib.ExitStack() as stack:
        a = f"a, SOCKET {place}/a.sock, NDESC 64"
        if process:
            nic = Nic(heddle, place, stack)
            n = f"n, NIC_SOCKET {nic.path}, NDESC 64"
        else:
            listener = stack.enter_context(memif.Listener(f"{place}/wire"))
            wire = f"net_memif0,role=client,socket-abstract=no,socket={place}/wire"
            n = f"n, SOFTNIC {quoted(wire)}, NDESC 64"
        server = stack.enter_context(memif.Listener(f"{place}/a.sock"))
        chains = {
            "to": f"FromGPUPort({a}) -> EtherMirror -> ToGPUPort({n})",
            "from": f"FromGPUPort({n}) -> EtherMirror -> ToGPUPort({a})",
        }
        chains["both"] = f"{chains['to']}; FromGPUPort(n) -> EtherMirror -> ToGPUPort(a)"
        running = stack.enter_context(
            heddle.start("run", "--json", "-R", "-u", f"{place}/control", "-e", chains[first], *SIMT)
        )
        far = nic.wire if process else stack.enter_context(listener.accept(1))
        near, control = stack.enter_context(server.accept(1)), Control(f"{place}/control")
        frames = numbered(200, least=60)
        source, sink = (far, near) if first == "from" else (near, far)
        for round_ in range(2):
            got, sent = [], 0

            def step(got=got):
                nonlocal sent
                sent += source.send(frames[sent:])
                got.extend(sink.receive())
                return len(got) == len(frames)

            wait_until(step, 120, "all frames")
            assert got == [mirrored(frame) for frame in frames]
            for name, chain in chains.items():
                if name == first:
                    control.write("hotconfig", chain)
                elif round_ == 0:
                    assert re.search(
                        "soft NIC n runs with(out)? a (From|To)GPUPort; leave it so", control.refused(chain)
                    )
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result


def test_with_nics_in_processes_of_their_own(heddle, place):
    with contextlib.ExitStack() as stack:
        nics = {name: Nic(heddle, place, stack, name) for name in ("a", "b", "c")}
        chain = f"FromGPUPort(a, NIC_SOCKET {nics['a'].path}) -> {lookup(range(3))}; rt[0] -> b :: ToGPUPort(b, NIC_SOCKET {nics['b'].path})"
        chain += f"; rt[1] -> c :: ToGPUPort(c, NIC_SOCKET {nics['c'].path}); rt[2] -> a :: ToGPUPort(a)"
        control = f"{place}/control"
        running = stack.enter_context(heddle.start("run", "--json", "-u", control, "-e", chain, *SIMT))
        for name in ("b", "c", "FromGPUPort@1"):
            wait_until(lambda name=name: read_handler(control, f"{name}.connected") == "true", what=name)
        ways = traffic(1000, ["b", "c", "a"])
        forward({name: nic.wire for name, nic in nics.items()}, "a", ways)
        result = running.interrupt()
        assert (result.code, result.err) == (0, ""), result
        counts = {name: nic.end() for name, nic in nics.items()}
    assert counts["a"] == {"connections": 1, "received": len(ways), "sent": len(frames_to(ways, "a"))}
    assert counts["b"] == {"connections": 1, "sent": len(frames_to(ways, "b"))}
    assert counts["c"] == {"connections": 1, "sent": len(frames_to(ways, "c"))}


def test_the_chain_routes(heddle, place):
    """Against Python's ipaddress: the longest prefix of the route file decides, and what has no route, or a wrong
    checksum, is dropped."""
    routes = []
    for line in (CHAINS / "routes.txt").read_text().splitlines():
        if words := line.partition("#")[0].split():
            routes.append((ipaddress.ip_network(words[0]), int(words[-1])))
    ports, values = ["inside", "servers", "lan"], random.Random(5)
    ways, fates = [], Counter()
    for number in range(2000):
        network = values.choice(routes)[0]
        within = network[values.randrange(network.num_addresses)]
        address = values.choice([within, network[0], network[-1], ipaddress.ip_address("8.8.8.8")])
        payload = judge.transport(17, 1, 2, 4) + number.to_bytes(4, "big")
        frame = judge.ip4(bytes([10, 1, 1, 1]), address.packed, 17, payload)
        matches = [(net.prefixlen, output) for net, output in routes if address in net]
        name = ports[max(matches)[1]] if matches else None
        if number % 10 == 0:
            frame = frame[:24] + bytes([frame[24] ^ 1]) + frame[25:]
            name = None
            fates["bad_checksum"] += 1
        elif name is None:
            fates["no_route"] += 1
        ways.append((frame, name))
    assert {name for _, name in ways} == {*ports, None}
    control = f"{place}/control"
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(
            heddle.start("run", "--json", "-u", control, CHAINS / "gpu_ip_router.click", f"SOCKETS={place}", *SIMT)
        )
        peers = {}
        for name in ports:
            wait_until(lambda name=name: os.path.exists(f"{place}/{name}.sock"), what="the socket")
            peers[name] = stack.enter_context(memif.Client(f"{place}/{name}.sock", 1, 10, back=3))
            wait_until(lambda name=name: read_handler(control, f"{name}.connected") == "true", what=name)
        forward(peers, "lan", ways)
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    report.assert_accounted()
    assert report.drops("ip") == {"bad_checksum": fates["bad_checksum"]}
    assert sum(report.drops("rt").values()) == fates["no_route"]


def test_the_plan_says_so(heddle):
    chain = CHAINS / "gpu_ip_router.click"
    text = heddle.ok("plan", chain, *SIMT).out
    assert "packets for a port whose ring is full, or that has no peer, are dropped there" in text
    (segment,) = heddle.ok("plan", "--json", chain, *SIMT).json["segments"]
    assert (segment["rings_routed"], segment["rings_spread"], segment["rings_split"]) == (True, False, False)


def test_mistakes(heddle):
    two = "FromGPUPort(a, SOCKET x{}) -> GetIPAddress(30) -> l :: DirectIPLookup(0/0 0, 1/8 1); l[0] -> ToGPUPort(a); "
    two += "l[1] -> ToGPUPort(b, SOCKET y{})"
    mixed = "FromGPUPort(a, SOCKET x{}) -> EtherMirror -> ToGPUPort(b, SOFTNIC net_null0)"
    many = "FromGPUPort(a, SOCKET a) -> GetIPAddress(30) -> l :: DirectIPLookup(" + ", ".join(
        f"{i}/8 {i}" for i in range(9)
    )
    many += ")" + "".join(f"; l[{i}] -> ToGPUPort(p{i}, SOCKET p{i})" for i in range(9))
    for chain, message in {
        two.format(", KERNELS split", ""): "KERNELS: its packets leave by 2 ToGPUPorts, which one kernel takes them to",
        two.format(", WARP_BATCH 480", ""): "WARP_BATCH: its packets leave by 2 ToGPUPorts, which one multiprocessor",
        two.format("", ", QUEUES 2"): "QUEUES: it has 2 ring pairs, and packets of 1 leave by it; leave QUEUES out",
        mixed.format(", KERNELS split"): "KERNELS: packets go from a memif to a soft NIC, or the other way",
        many: "its packets leave by 9 ToGPUPorts, and 8 can be",
    }.items():
        assert message in heddle.fails("plan", "-e", chain, *SIMT), chain
