"""`heddle softnic`: a NIC in a process of its own, its wire DPDK's memif, and GPU ports on simt that drive its
rings."""

import contextlib
import os
import re
import signal
import stat

import pytest
from test_gpu_port_reconfiguration import MIRRORS, changing
from whole import captures, memif, nic
from whole.control import Control
from whole.gpu_ports import KERNELS, SIMT, numbered, right
from whole.program import Report, read_handler, wait_until


class Nic:
    """A NIC, and the peer on its wire."""

    def __init__(self, heddle, place, stack, name="n", queues=1, extra=()):
        self.path = f"{place}/{name}.nic"
        listener = stack.enter_context(memif.Listener(f"{place}/{name}.wire"))
        device = f"net_memif_{name},role=client,socket-abstract=no,socket={place}/{name}.wire"
        self.running = stack.enter_context(
            heddle.start("softnic", "--json", self.path, device, "--queues", queues, *SIMT, *extra)
        )
        self.wire = stack.enter_context(listener.accept(queues))
        wait_until(lambda: os.path.exists(self.path), what="the NIC's socket")

    def end(self, number=signal.SIGTERM):
        """What it counts, but for what is 0."""
        self.running.signal(number)
        result = self.running.wait()
        assert result.code == 0, result
        assert not os.path.exists(self.path)
        self.errors = result.err
        return {name: count for name, count in result.json.items() if count}


class Port:
    """A running chain between the GPU ports of one NIC, or from the first to the second."""

    def __init__(self, heddle, place, stack, *paths, kernels="fused", more="", extra=()):
        self.paths, self.keywords, self.control = paths, f", NDESC 64, KERNELS {kernels}{more}", f"{place}/control"
        self.running = stack.enter_context(
            heddle.start("run", "--json", "-u", self.control, "-e", self.text("EtherMirror"), *SIMT, *extra)
        )
        wait_until(lambda: read_handler(self.control, "FromGPUPort@1.connected") is not None, what="the start")

    def text(self, chain):
        ports = [f"{name}, NIC_SOCKET {path}{self.keywords}" for name, path in zip("ab", self.paths, strict=False)]
        last = ports[1] if len(ports) > 1 else "a"
        return f"FromGPUPort({ports[0]}) -> {chain} -> out :: ToGPUPort({last})"

    def wait_until_connected(self, value="true"):
        for name in ("FromGPUPort@1", "out"):
            wait_until(lambda name=name: read_handler(self.control, f"{name}.connected") == value, what="the NIC")

    def end(self, errors="", gone=False):
        """`gone`: its NIC has been away, perhaps for so long that the port has said so."""
        result = self.running.interrupt()
        assert result.code == 0, result
        said = "".join(line for line in result.err.splitlines(True) if not (gone and "its peer is not there" in line))
        assert re.search(errors, said) if errors else said == "", result
        report = Report(result.json)
        report.assert_accounted()
        return report


@KERNELS
@pytest.mark.parametrize("queues", [1, 2])
def test_nothing_is_lost_or_reordered(heddle, place, kernels, queues):
    frames = numbered(1000, least=60, most=1500)
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack, queues=queues)
        port = Port(heddle, place, stack, of.path, kernels=kernels, more=f", QUEUES {queues}")
        for queue in range(queues):
            # A NIC's queue and its wire's are the same.
            right(frames, of.wire.exchange(frames, queue=queue))
        report, counts = port.end(), of.end()
    assert report.received == report.one("ToGPUPort")["packets"] == queues * len(frames)
    assert report.one("FromGPUPort")["statistics"] == {"connections": 1}
    assert counts == {"connections": 1, "received": queues * len(frames), "sent": queues * len(frames)}
    assert of.errors == ""


def test_a_capture_goes_through(heddle, place, tmp_path):
    """Whichever of the two is there first: here the port waits for its NIC."""
    frames = numbered(3000, least=60)
    captures.write(tmp_path / "in.pcap", frames)
    device = f"net_pcap0,rx_pcap={tmp_path}/in.pcap,tx_pcap={tmp_path}/out.pcap"
    with contextlib.ExitStack() as stack:
        port = Port(heddle, place, stack, f"{place}/nic")
        running = stack.enter_context(heddle.start("softnic", f"{place}/nic", device, *SIMT))
        wait_until(lambda: read_handler(port.control, "out.count") == str(len(frames)), what="all frames")
        port.end()
        running.signal(signal.SIGINT)
        result = running.wait()
    assert (result.code, result.err) == (0, "")
    assert re.search(rf"^sent +{len(frames)}$", result.out, re.MULTILINE), result
    right(frames, captures.frames(tmp_path / "out.pcap"))


def test_from_one_nic_to_another(heddle, place):
    frames = numbered(1000, least=60)
    with contextlib.ExitStack() as stack:
        one, other = (Nic(heddle, place, stack, name) for name in "mn")
        port = Port(heddle, place, stack, one.path, other.path)
        port.wait_until_connected()
        got, sent = [], 0

        def forward():
            nonlocal sent
            sent += one.wire.send(frames[sent : sent + 64])
            got.extend(other.wire.receive())
            return len(got) == len(frames)

        wait_until(forward, what="all frames")
        right(frames, got)
        port.end()
        # What it shared for the direction that has no rings is nothing.
        assert (one.end(), other.end()) == (
            {"connections": 1, "received": len(frames)},
            {"connections": 1, "sent": len(frames)},
        )


@KERNELS
def test_nics_come_and_go(heddle, place, kernels):
    """Killed while frames are under way, with full rings. What was lost is counted."""
    frames = numbered(500, least=60)
    with contextlib.ExitStack() as stack:
        port = Port(heddle, place, stack, f"{place}/n.nic", kernels=kernels)
        for time in range(3):
            with contextlib.ExitStack() as short:
                of = Nic(heddle, place, short)
                right(frames, of.wire.exchange(frames))
                assert read_handler(port.control, "out.connected") == "true"
                count = int(read_handler(port.control, "out.count"))
                if time < 2:
                    of.wire.send(frames[:40])
                    wait_until(lambda count=count: int(read_handler(port.control, "out.count")) > count, what="a frame")
                    of.running.process.kill()
                    port.wait_until_connected("false")
                    os.remove(f"{place}/n.wire")
                else:
                    of.end()
        report = port.end(gone=True)
    assert report.one("FromGPUPort")["statistics"]["connections"] == 3
    assert report.received >= 3 * len(frames)


def test_ports_come_and_go(heddle, place):
    frames = numbered(500, least=60)
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        for time in range(3):
            with contextlib.ExitStack() as short:
                port = Port(heddle, place, short, of.path)
                right(frames, of.wire.exchange(frames))
                if time < 2:
                    port.running.process.kill()
                    port.running.process.wait()
                    os.remove(port.control)
                else:
                    port.end()
        counts = of.end()
    assert counts == {"connections": 3, "received": 3 * len(frames), "sent": 3 * len(frames)}


@KERNELS
def test_it_goes_on_over_reconfigurations(heddle, place, kernels):
    frames, sent = numbered(300, least=60), 0
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        port = Port(heddle, place, stack, of.path, kernels=kernels, extra=["-R"])
        with changing(port, MIRRORS) as busy:
            while busy() or sent == 0:
                right(frames, of.wire.exchange(frames))
                sent += len(frames)
        refused = Control(port.control).refused(port.text("EtherMirror").replace(of.path, f"{place}/other"))
        assert "port a runs, and its NIC_SOCKET is" in refused.replace("\n", "")
        report, counts = port.end(), of.end()
    assert report.received == report.one("ToGPUPort")["packets"] == sent
    assert counts == {"connections": 1, "received": sent, "sent": sent}


def test_only_the_user_may_connect(heddle, place):
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        assert stat.S_IMODE(os.stat(of.path).st_mode) == 0o600
        with nic.Driver(of.path), nic.Driver(of.path, connect=False) as second:
            assert "another program has this NIC already" in second.why()
        assert of.end(signal.SIGINT) == {"connections": 1}


@pytest.mark.parametrize(
    ("port", "why"),
    [
        (", QUEUES 2", r"the NIC has 1 queues \(--queues\), QUEUES says 2"),
        (", BUFFER 4096", r"the NIC's buffers have 2048 bytes \(--buffer\), BUFFER says 4096"),
    ],
)
def test_what_does_not_fit_together(heddle, place, port, why):
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        chain = Port(heddle, place, stack, of.path, more=port)
        line = chain.running.process.stderr.readline().decode()
        assert re.fullmatch(f"heddle: GPU port a: no connection at {of.path}: {why}; let both be the same\n", line)
        assert read_handler(chain.control, "FromGPUPort@1.connected") == "false"
        assert chain.running.interrupt().err == ""  # it tells once, and tries again and again
        of.end()


LIES = {
    "no_message": (lambda driver: driver.channel.send(b"x"), "a message has"),
    "too_long": (lambda driver: driver.channel.send(bytes(nic.MESSAGE.size + 1)), "a message has"),
    "another_protocol": (lambda driver: driver.say(nic.SETUP, magic=1), "no message of a soft NIC"),
    "another_version": (lambda driver: driver.setup(version=2), "speaks version 2"),
    "an_unknown_type": (lambda driver: driver.say(77), "type 77"),
    "close_without_rings": (lambda driver: driver.say(nic.CLOSE), "is not expected now"),
    "no_files": (lambda driver: driver.say(nic.SETUP), "0 files have come, 4 are expected"),
    "queues": (lambda driver: driver.setup(queues=2), "QUEUES is not 1"),
    "many_queues": (lambda driver: driver.setup(queues=0xFFFFFFFF), "QUEUES is not 1"),
    "buffer": (lambda driver: driver.setup(buffer=1024), "BUFFER is not 2048"),
    "no_power_of_two": (lambda driver: setattr(driver, "size", 63) or driver.setup(), "a ring of 63 descriptors"),
    "no_descriptors": (lambda driver: setattr(driver, "size", 0) or driver.say(nic.SETUP, size=0), "a ring of 0"),
    "many_descriptors": (lambda driver: driver.say(nic.SETUP, size=1 << 31), "a ring of 2147483648"),
    "no_direction": (lambda driver: driver.setup(directions=0), "in no direction"),
    "many_directions": (lambda driver: driver.setup(directions=7), "in no direction"),
    "another_gpu": (lambda driver: driver.setup(gpu=b"0000:ff:1f.0"), "on another GPU"),
    "more_than_there_is": (lambda driver: driver.setup(pool=1 << 30), "its file has"),
    "no_pool": (lambda driver: driver.setup(pool=0), "a size of 1 to"),
    "all_pool": (lambda driver: driver.setup(pool=(1 << 64) - 1), "a size of 1 to"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_is_no_port_is_refused(heddle, place, lie):
    """And the next one is served."""
    act, why = LIES[lie]
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        with nic.Driver(of.path, connect=False) as liar:
            liar.hello()
            act(liar)
            assert why in liar.why()
        with nic.Driver(of.path) as driver:
            driver.send(bytes(range(60)))
            got = []
            wait_until(lambda: got.extend(of.wire.receive()) or got, what="the frame")
            assert got == [bytes(range(60))]
        of.end()
        assert why in of.errors


def test_memory_that_could_become_shorter(heddle, place):
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        with nic.Driver(of.path, connect=False) as liar:
            liar.hello()
            files = [nic.memory(size, seal=False)[0] for size in (1024, 1 << 20)]
            liar.say(nic.SETUP, [files[0], files[1]], directions=1, pool=1 << 20)
            assert "can become shorter" in liar.why()
        of.end()


def test_descriptors_that_lie(heddle, place):
    """Addresses outside of the pool are not touched; frames before and behind are right."""
    pool = 2 * 64 * nic.STRIDE
    frame = bytes(range(100))
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        driver = stack.enter_context(nic.Driver(of.path))
        places = [pool, pool - 99, 1 << 32, (1 << 64) - 1, (1 << 64) - 50, (1 << 63) + 5]
        for place_of_frame in places:
            driver.send(frame, address=place_of_frame)
        driver.send(frame, length=0)
        driver.send(frame, length=3000)  # no packet of the NIC's holds it
        driver.send(frame, command=nic.COMMAND ^ 0x01000000)
        driver.send(frame)
        got = []
        wait_until(lambda: got.extend(of.wire.receive()) or got, what="the frame")
        assert got == [frame]
        # Those that it has are used up, then such as lie.
        of.wire.exchange([frame] * 63, 0)
        got = []
        wait_until(lambda: got.extend(driver.received()) or len(got) == 63, what="the frames")
        assert got == [frame] * 63
        for at in places:
            driver.give(1, address=at)
        of.wire.exchange([frame] * len(places), 0)
        got = []
        wait_until(lambda: got.extend(driver.received()) or len(got) == len(places), what="their descriptors")
        assert got == [nic.DONE | nic.LAST | nic.ERRORS] * len(places)
        driver.give(20)
        of.wire.exchange([frame] * 20, 0)
        got = []
        wait_until(lambda: got.extend(driver.received()) or len(got) == 20, what="the frames")
        assert got == [frame] * 20
        driver.close()
        counts = of.end()
    assert counts["malformed"] == 2 * len(places) + 3
    assert counts["sent"] == 1


def test_a_tail_that_never_stands_still(heddle, place):
    """Rung with any number: all descriptors behind it are looked at, none outside the ring."""
    with contextlib.ExitStack() as stack:
        of = Nic(heddle, place, stack)
        driver = stack.enter_context(nic.Driver(of.path))
        for tail in [*range(0, 1 << 16, 97), 0xFFFFFFFF, 1 << 31, 77]:
            nic.struct.pack_into("<I", driver.registers, 128, tail & 0xFFFFFFFF)
        driver.close()
        with nic.Driver(of.path) as next_one:
            next_one.send(bytes(60))
            got = []
            wait_until(lambda: got.extend(of.wire.receive()) or got, what="the frame")
            assert got == [bytes(60)]
        of.end()


def test_mistakes(heddle, place):
    for arguments, message in {
        "NIC_SOCKET x, SOCKET y": "SOCKET, ROLE, ID and SECRET are a memif's; a port has either these or NIC_SOCKET",
        'NIC_SOCKET x, SOFTNIC "net_null0"': "SOFTNIC is a NIC that this program plays, NIC_SOCKET that of a process",
        "NIC_SOCKET x, QUEUES 9": "QUEUES: '9' is not at most 8 with NIC_SOCKET",
        "NIC_SOCKET x, NDESC 8192": "NDESC: '8192' is not at most 4096 with NIC_SOCKET",
        "NIC_SOCKET x, BUFFER 1500": "BUFFER: '1500' is not a multiple of 1024",
        f"NIC_SOCKET {'x' * 108}": "is not a path of at most 107 bytes",
    }.items():
        chain = f"FromGPUPort(a, {arguments}) -> EtherMirror -> ToGPUPort(a)"
        assert message in heddle.fails("check", "-e", chain, *SIMT)
    chain = "FromGPUPort(a, NIC_SOCKET x) -> EtherMirror -> ToGPUPort(b, NIC_SOCKET y/../x)"
    assert "FromGPUPort 'FromGPUPort@1' has the NIC there; start one for each port" in heddle.fails(
        "check", "-e", chain, *SIMT
    )
    for command, message in {
        (f"{place}/n", "net_nothing0", *SIMT): "net_nothing0",
        (f"{place}/n", "net_null0", "--queues", 9): "--queues: Value 9 not in range",
        (f"{place}/n", "net_null0", "--device", "cpu"): "give the GPU that the port is on, or simt if it is there",
        (f"{place}/no/n", "net_null0", *SIMT): "cannot be made",
        (f"{place}/n", "net_null0", "--buffer", 1500, *SIMT): "--buffer: 1500 is no multiple of 1024",
    }.items():
        result = heddle("softnic", *command)
        assert result.code != 0
        assert message in result.err, result
