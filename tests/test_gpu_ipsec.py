"""ESP that leaves between GPU ports on simt, and a gateway both ways: Scapy deciphers it. What comes:
test_gpu_ipsec_replay.py."""

import contextlib
import random
import re
from collections import Counter, defaultdict

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from test_gpu_ipsec_replay import decap
from test_gpu_nids import alerts
from whole import captures, ipsec, judge, memif
from whole.control import Control
from whole.gpu_ports import SIMT, Mirror
from whole.program import CHAINS, TIMEOUT_S, Report, quoted, read_handler, wait_until

SELECTORS = ["10.1.0.0/16", "10.2.0.0/16", "10.0.0.0/8"]


def selects(prefix):
    return f"\tsel src 0.0.0.0/0 dst {prefix}\n"


def three():
    """One of each suite that a GPU does; the third gets what the others of its network do not."""
    suites = [{}, {"hash": "sha256", "bits": 256}, {"cipher": "gcm"}]
    return [
        ipsec.Association(0x1001 + i, lines=selects(prefix), **suite)
        for i, (prefix, suite) in enumerate(zip(SELECTORS, suites))
    ]


@pytest.fixture
def keys(tmp_path):
    return ipsec.write(tmp_path / "tunnels.keys", three())


def plain(count, seed=1, most=200):
    """IPv4 packets to all three, some to nobody, and some that are none or are cut."""
    values, frames = random.Random(seed), []
    for number in range(count):
        destination = bytes([*values.choice([(10, 1), (10, 2), (10, 3), (11, 1)]), 0, values.randrange(256)])
        payload = (
            judge.transport(17, 1000, 2000, 0) + number.to_bytes(4, "big") + values.randbytes(values.randint(0, most))
        )
        frame = judge.ip4(bytes([11, 0, 0, 1]), destination, 17, payload)
        match values.randrange(20):
            case 0:
                frame = frame[: values.randint(1, len(frame) - 1)]
            case 1:
                frame = frame[:14] + bytes([values.randrange(256)]) + frame[15:]
            case 2:
                frame += bytes(values.randrange(20))  # as a link pads
        frames.append(frame)
    return frames


def fate(frame):
    """The association's number of a frame and the packet in it; or why it is dropped."""
    packet = frame[14:]
    if len(packet) < 20 or packet[0] >> 4 not in (4, 6) or (packet[0] >> 4 == 6 and len(packet) < 40):
        return "no_sa"
    if packet[0] >> 4 == 6:
        chosen, length = None, 40 + int.from_bytes(packet[4:6], "big")
    else:
        chosen = {(10, 1): 0, (10, 2): 1}.get(tuple(packet[16:18]), 2 if packet[16] == 10 else None)
        length = int.from_bytes(packet[2:4], "big")
    if chosen is None:
        return "no_sa"
    if packet[0] & 15 < 5 or length < 4 * (packet[0] & 15) or length > len(packet):
        return "malformed"
    return chosen, packet[:length]


def opened(associations, frame):
    """The association's number of an ESP packet, its sequence number, and what Scapy takes out of it."""
    assert frame[12:14] == b"\x08\x00"
    number = int.from_bytes(frame[34:38], "big") - 0x1001
    return number, int.from_bytes(frame[38:42], "big"), bytes(associations[number].decrypt(frame[14:], 0))


def expect(associations, frames, got, links=True):
    """Each packet once, in order, with the numbers of its association one after the other."""
    wanted = [(*fate(frame), frame[:12]) for frame in frames if not isinstance(fate(frame), str)]
    assert len(got) == len(wanted)
    numbers, ivs = Counter(), defaultdict(set)
    for (number, packet, link), frame in zip(wanted, got, strict=True):
        numbers[number] += 1
        assert opened(associations, frame) == (number, numbers[number], packet)
        ivs[number].add(frame[42:50])
        assert not links or frame[:12] == link
    assert numbers == {number: len(seen) for number, seen in ivs.items()}
    return numbers


def drops(frames):
    return Counter(reason for frame in frames if isinstance(reason := fate(frame), str))


def kept(frames):
    return len(frames) - sum(drops(frames).values())


def encap(keys, sequence="esp, DEVICE gpu"):
    return f"q :: IPsecSequence({sequence}) -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14)"


@pytest.mark.parametrize(
    ("warp_batch", "kernels"), [(32, "fused"), (64, "fused"), (448, "fused"), (896, "fused"), (448, "split")]
)
def test_numbers_are_in_the_order_of_arrival(heddle, place, keys, warp_batch, kernels):
    frames = plain(2000)
    more = f", WARP_BATCH {warp_batch}"
    with Mirror(heddle, place, kernels=kernels, size=256, chain=encap(keys), more=more) as mirror:
        got = mirror.peer().exchange(frames, kept(frames))
        last = read_handler(mirror.control, "q.numbers")
        report = mirror.end()
    numbers = expect(three(), frames, got)
    assert report.drops("q") == drops(frames)
    assert report.drops("esp") == {}
    assert last.splitlines() == [f"{i} {0x1001 + i:#010x} {numbers[i]}" for i in range(3)]


def forms():
    """One of each form; packets choose theirs by destination."""
    extended = {"esn": True, "sent": (4 << 32) - 30, "seen": (4 << 32) - 30}
    four, six = f"{ipsec.DESTINATION}/32", f"{ipsec.DESTINATION6}/128"
    return [
        ipsec.Association(0x1001, ip6=True, lines=selects("10.1.0.0/16")),
        ipsec.Association(0x1002, port=4500, cipher="gcm", lines=selects("10.2.0.0/16")),
        ipsec.Association(0x1003, hash="sha256", lines=selects("10.0.0.0/8"), **extended),
        ipsec.Association(0x1004, transport=True, lines=selects(four)),
        ipsec.Association(
            0x1005, transport=True, ip6=True, cipher="gcm", lines=f"\tsel src ::/0 dst {six}\n", **extended
        ),
    ]


@pytest.mark.parametrize("kernels", ["fused", "split"])
def test_every_form(heddle, place, tmp_path, kernels):
    associations, values, frames, wanted = forms(), random.Random(5), [], []
    numbers = [a.sent for a in associations]
    keys = ipsec.write(tmp_path / "forms.keys", associations)
    for _ in range(600):
        which, text = values.randrange(5), values.randbytes(values.randrange(120))
        to = [f"10.{n}.0.1" for n in (1, 2, 3)] + [ipsec.DESTINATION, ipsec.DESTINATION6]
        six = which == 4
        head = IPv6(src="2001:db8::5", dst=to[which]) if six else IP(src="11.0.0.1", dst=to[which])
        packet = bytes(head / UDP(sport=1, dport=2) / text)
        frames.append(b"\x02" * 12 + (b"\x86\xdd" if six else b"\x08\x00") + packet)
        numbers[which] += 1
        wanted.append((which, numbers[which], packet))
    with Mirror(heddle, place, kernels=kernels, size=256, chain=encap(keys)) as mirror:
        got = mirror.peer().exchange(frames, len(frames))
        report = mirror.end()
    for (which, number, packet), frame in zip(wanted, got, strict=True):
        association = associations[which]
        assert frame[12:14] == (b"\x86\xdd" if association.ip6 else b"\x08\x00")
        assert association.decrypt(frame[14:], number) == packet
    assert report.drops("q") == report.drops("esp") == {}


def test_ring_pairs_share_the_numbers(heddle, place, keys):
    """Each has rising ones, and none has another's."""
    associations, seen = three(), defaultdict(list)
    with Mirror(heddle, place, queues=3, size=256, chain=encap(keys), more=", WARP_BATCH 64") as mirror:
        peer = mirror.peer()
        sent = {queue: plain(400, seed=queue) for queue in range(3)}
        left = {queue: list(frames) for queue, frames in sent.items()}
        got = {queue: [] for queue in sent}

        def exchange():
            for queue in sent:
                del left[queue][: peer.send(left[queue][:48], queue)]
                got[queue] += peer.receive(queue)
            return all(len(got[queue]) == kept(sent[queue]) for queue in sent)

        wait_until(exchange, what="all frames")
        mirror.end()
    for queue, frames in sent.items():
        wanted = [fate(frame) for frame in frames if not isinstance(fate(frame), str)]
        found = [opened(associations, frame) for frame in got[queue]]
        assert [(number, packet) for number, _, packet in found] == wanted
        for number in range(3):
            rising = [sequence for n, sequence, _ in found if n == number]
            assert rising == sorted(rising)
            seen[number] += rising
    for numbers in seen.values():
        assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_numbers_go_on_when_the_kernel_ends_and_begins(heddle, place, keys):
    """For a table that changes, and for a peer that comes anew."""
    chain = f"GetIPAddress(30) -> l :: DirectIPLookup(0.0.0.0/0 0); l[0] -> {encap(keys)}"
    frames = [plain(300, seed=seed) for seed in range(6)]
    frames = [[frame for frame in some if len(frame) >= 34] for some in frames]
    with Mirror(heddle, place, chain=chain) as mirror:
        peer, got = mirror.peer(), []
        for turn, some in enumerate(frames):
            if turn == 3:
                peer.close()
                peer = mirror.peer()
            elif turn > 0:
                Control(mirror.control).write("l.add", f"11.{turn}.2.0/25 0")
            got += peer.exchange(some, kept(some))
        mirror.end()
    expect(three(), [frame for some in frames for frame in some], got)


def test_numbers_from_the_file_on_and_up_to_the_last(heddle, place, tmp_path):
    last = 2**32 - 1
    lines = f"\tanti-replay context: seq 0x0, oseq {last - 50:#x}, bitmap 0x00000000\n"
    association = ipsec.Association(0x1001, lines=lines)
    keys = ipsec.write(tmp_path / "tunnels.keys", [association])
    frames = [judge.ip4(bytes(4), bytes(4), 17, bytes(8)) for _ in range(80)]
    with Mirror(heddle, place, chain=encap(keys, "esp, SPI 0x1001, DEVICE gpu")) as mirror:
        got = mirror.peer().exchange(frames, 50)
        wait_until(lambda: read_handler(mirror.control, "FromGPUPort@1.count") == "80", what="all frames")
        assert read_handler(mirror.control, "q.numbers") == f"0 0x00001001 {last}\n"
        report = mirror.end()
    assert [opened([association], frame)[:2] for frame in got] == [(0, n) for n in range(last - 49, last + 1)]
    assert report.drops("q") == {"exhausted": 30}


@pytest.mark.parametrize("connected", [True, False])
def test_packets_that_would_be_too_big(heddle, place, keys, connected):
    """The limit changes while packets flow; what is beyond it takes no number."""
    chain = f"GetIPAddress(30) -> {encap(keys, 'esp, MTU 256, DEVICE gpu')} -> m :: XOR(0); "
    chain = chain + ("q[1] -> XOR(255) -> m; m " if connected else "m ")
    frames = [frame for frame in plain(600, most=400) if len(frame) >= 34]
    associations, numbers = three(), Counter()

    def is_big(frame, mtu):
        icv = associations[fate(frame)[0]].icv_bytes
        return 36 + (len(fate(frame)[1]) + 2 + 3) // 4 * 4 + icv > mtu

    with Mirror(heddle, place, chain=chain) as mirror:
        peer, big = mirror.peer(), 0
        for mtu in (256, 400, 65535):
            Control(mirror.control).write("q.mtu", str(mtu))
            wanted = [f for f in frames if not isinstance(fate(f), str) and (connected or not is_big(f, mtu))]
            for frame, found in zip(wanted, peer.exchange(frames, len(wanted)), strict=True):
                if is_big(frame, mtu):
                    assert found == bytes(byte ^ 255 for byte in frame)
                    continue
                number, packet = fate(frame)
                numbers[number] += 1
                assert opened(associations, found) == (number, numbers[number], packet)
            big += sum(not isinstance(fate(f), str) and is_big(f, mtu) for f in frames)
        report = mirror.end()
    assert big > 100
    assert report.drops("q") == {reason: 3 * n for reason, n in drops(frames).items()} | (
        {} if connected else {"too_big": big}
    )


def test_two_ways_take_numbers_in_turn(heddle, place, keys):
    """Of packets that go on, that are dropped before, and that part before and meet again."""
    chain = (
        "GetIPAddress(30) -> l :: DirectIPLookup(10.1.0.0/16 0, 10.2.0.0/16 1, 10.3.0.0/16 2); "
        f"l[0] -> q :: IPsecSequence(esp, SPI 0x1001, DEVICE gpu) -> esp :: IPsecEncap({quoted(keys)}, OFFSET 14) -> m :: XOR(0); "
        "l[1] -> XOR(0) -> r :: IPsecSequence(esp, SPI 0x1002, DEVICE gpu) -> esp; l[2] -> m; m "
    )
    values, frames = random.Random(5), []
    for run in range(150):  # whole tiles of a kind, and mixed ones
        way = values.choice([(10, 1), (10, 2), (10, 3), (11, 1), None, None])
        for number in range(values.randint(1, 70)):
            to = way or values.choice([(10, 1), (10, 2), (10, 3), (11, 1)])
            payload = judge.transport(17, 1, 2, 0) + run.to_bytes(2, "big") + number.to_bytes(2, "big")
            frames.append(judge.ip4(bytes(4), bytes([*to, 0, 1]), 17, payload))
    wanted = [frame for frame in frames if frame[30:32] != bytes([11, 1])]
    with Mirror(heddle, place, size=256, chain=chain, more=", WARP_BATCH 96") as mirror:
        got = mirror.peer().exchange(frames, len(wanted))
        mirror.end()
    numbers, associations = Counter(), three()
    for frame, found in zip(wanted, got, strict=True):
        if frame[31] == 3:
            assert found == frame
            continue
        numbers[frame[31]] += 1
        assert opened(associations, found) == (frame[31] - 1, numbers[frame[31]], frame[14:])


# The chains of Gaviss.
def run_soft_nic(heddle, received, *arguments):
    with heddle.start_ready("run", "--json", *arguments, *SIMT) as running:
        wait_until(lambda: not running.alive() or running.packets("FromGPUPort@1") == received, TIMEOUT_S, "the frames")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    report.assert_accounted()
    return report


def demonstration(frame):
    """What is in an ESP packet of the demonstration's keys: SPI, number, packet."""
    spi = int.from_bytes(frame[34:38], "big")
    key = bytes.fromhex("de3000000000000000000000000000000000") + bytes([spi - 0x1001, 0xDE])
    association = ipsec.Association(spi, cipher_key=key, hash_key=key)
    return spi, int.from_bytes(frame[38:42], "big"), bytes(association.decrypt(frame[14:], 0))


@pytest.mark.usefixtures("demonstration_keys")
@pytest.mark.parametrize("chain", ["gpu_c1", "gpu_c2", "gpu_c3", "gpu_c4"])
def test_chains_of_security_functions(heddle, tmp_path, chain):
    """The same elements on the CPU, and on the GPU between the rings."""
    path, source = CHAINS / f"{chain}.click", CHAINS / "traffic.pcap"
    report = run_soft_nic(heddle, len(captures.frames(source)), path, f"OUT={tmp_path}/gpu")
    assert {e["processor"] for e in report.all["elements"] if e["class"] not in ("FromGPUPort", "ToGPUPort")} == {
        "simt"
    }
    text = re.sub(r"FromGPUPort\(.*\)", f"FromDump({quoted(source)})", path.read_text())
    text = text.replace("ToGPUPort(wire)", f"ToDump({quoted(tmp_path / 'cpu.pcap')})")
    text = text.replace(", DEVICE gpu", "")
    on_cpu = Report(heddle.ok("run", "--json", "-e", text, f"OUT={tmp_path}/cpu").json)
    got, wanted = captures.frames(tmp_path / "gpu_tunnel.pcap"), captures.frames(tmp_path / "cpu.pcap")
    assert [demonstration(frame) for frame in got] == [demonstration(frame) for frame in wanted] != []
    assert alerts(tmp_path / "gpu_alerts.json") == alerts(tmp_path / "cpu_alerts.json") != []
    for one in on_cpu.all["elements"]:
        if not re.match("FromDump|ToDump", one["class"]):
            assert report.one(one["name"])["packets"] == one["packets"], one
            assert report.drops(one["name"]) == on_cpu.drops(one["name"])


def test_a_gateway_in_both_directions(heddle, place, keys):
    """One port is the office's, the other the network's, whose peer sends everything back, and much of it twice."""
    files = [f"{place}/{name}.sock" for name in "ab"]
    text = (
        f"FromGPUPort(a, SOCKET {files[0]}) -> {encap(keys)} -> ToGPUPort(b, SOCKET {files[1]}); "
        f"FromGPUPort(b) -> {decap(keys)} -> ToGPUPort(a)"
    )
    frames, values = [f for f in plain(1500) if not isinstance(fate(f), str)], random.Random(4)
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(memif.Listener(file)) for file in files]
        running = stack.enter_context(heddle.start_ready("run", "--json", "-e", text, *SIMT))
        office, network = (stack.enter_context(listener.accept()) for listener in listeners)
        back, left, got, twice = [], list(frames), [], 0

        def exchange():
            nonlocal twice
            del left[: office.send(left[:64])]
            for frame in network.receive():
                back.extend([frame] * (1 + (again := values.random() < 0.3)))
                twice += again
            del back[: network.send(back[:64])]
            got.extend(office.receive())
            return len(got) == len(frames) and not back and running.packets("r") >= len(frames) + twice

        wait_until(exchange, TIMEOUT_S, what="all frames")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    assert got == [frame[:14] + fate(frame)[1] for frame in frames]
    assert Report(result.json).drops("r") == {"replayed": twice}


# What a plan refuses, and how.
PORTS = "FromGPUPort(a, SOCKET x) -> {} -> ToGPUPort(a)"
DEVICE = "q :: IPsecSequence(esp, SPI 0x1001, DEVICE gpu) -> esp :: IPsecEncap({keys}, OFFSET 14)"
MISTAKES = {
    PORTS.format(
        DEVICE.replace(", DEVICE gpu", "")
    ): "IPsecSequence 'q', on its way, does not run with it there; give q DEVICE gpu",
    f"FromDump(x) -> {DEVICE} -> Discard": "IPsecSequence 'q': DEVICE: it wants packets in the order of arrival, which a GPU gives "
    "it between GPU ports only; leave DEVICE out, or put it between FromGPUPort and ToGPUPort",
    "FromDump(x) -> d :: IPsecDecap({keys}, OFFSET 14) -> IPsecReplay(d, DEVICE gpu) -> Discard": "between GPU ports only",
    PORTS.format(DEVICE).replace(
        "SOCKET x", "SOCKET x, ROLE server"
    ): "FromGPUPort 'FromGPUPort@1': ROLE: packets of a client lie in "
    "its buffers, which have no room for what IPsecEncap 'esp', on their way, puts around them",
    PORTS.format(DEVICE)
    + "; FromDump(x) -> r :: IPsecSequence(esp, SPI 0x1001) -> e :: IPsecEncap({keys}, OFFSET 14, DEVICE cpu) "
    "-> Discard": "IPsecSequence 'q': a GPU keeps the numbers of its associations for itself, and 'r' takes them as well",
}


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_chains_that_are_none(heddle, tmp_path, number):
    keys = ipsec.write(tmp_path / "tunnels.keys", [ipsec.Association(0x1001), ipsec.Association(0x1002)])
    chain, message = list(MISTAKES.items())[number]
    assert message in heddle.fails("plan", "-e", chain.replace("{keys}", quoted(keys)), *SIMT)


@pytest.mark.parametrize(
    "wanting, message",
    [
        ({"cipher": "cbc"}, "wants something else"),
        ({"lines": "\tlifetime config:\n\t  limit: soft 9(packets), hard 10(packets)\n"}, "has limits"),
    ],
)
def test_associations_that_a_gpu_numbers_not(heddle, tmp_path, wanting, message):
    keys = ipsec.write(tmp_path / "tunnels.keys", [ipsec.Association(0x1001), ipsec.Association(0x1002, **wanting)])
    said = str(heddle.fails("plan", "-e", PORTS.format(DEVICE.format(keys=quoted(keys))), *SIMT))
    line = next(line for line in said.splitlines() if "IPsecSequence 'q': a GPU" in line)
    assert "association 0x00001002 (" in line and message in line
    assert "take it out of ENCAP's FILE, or use FromDPDKDevice" in line
