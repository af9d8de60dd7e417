"""Alerts go on in their file when the chain is reconfigured: all of them, in order, none twice and none cut."""

import json
import os
import select
import socket
import time

import pytest
from test_hotconfig import running
from whole import captures, judge
from whole.control import Control
from whole.program import quoted, wait_for_count, wait_until

CONFIRMED = "ids :: NIDS({rules}); ids[0] -> d :: Discard; ids[1] -> c :: NIDSConfirm(ids, EVE {eve}) -> d"
MONITORED = "c :: NIDS({rules}, EVE {eve}) -> d :: Discard"
PACKETS = 6000


@pytest.fixture
def chain(tmp_path):
    """Makes a chain with an alert for each packet, whose source ports count, and which come for some seconds."""
    frames = [
        judge.ip4(b"\12\0\0\1", b"\12\0\0\2", 17, (n + 1).to_bytes(2, "big") + b"\0\5\0\15\0\0hello")
        for n in range(PACKETS)
    ]
    source = captures.write(tmp_path / "in.pcap", frames)
    rules = tmp_path / "x.rules"
    rules.write_text('alert udp any any -> any any (content:"ell"; sid:5;)\n')

    def make(nids, eve, more="", rate=2000):
        return (
            f"f :: FromDump({quoted(source)}, STOP false) -> q :: Queue({PACKETS}) -> RatedUnqueue({rate}) {more}"
            f" -> CheckIPHeader(14) -> {nids.format(rules=quoted(rules), eve=quoted(eve))}; Script(wait 1000s)"
        )

    return make


def wait_for_drained(control):
    """Until all packets have been judged."""
    wait_until(lambda: control.read("f.count") == str(PACKETS) and control.read("q.length") == "0", 60, "all packets")


def ports(*files):
    lines = b"".join(file.read_bytes() for file in files)
    assert lines.endswith(b"\n")
    return [json.loads(line)["src_port"] for line in lines.splitlines()]


@pytest.mark.parametrize("nids", [CONFIRMED, MONITORED], ids=["NIDSConfirm", "monitor"])
def test_alerts_go_on(heddle, tmp_path, chain, nids):
    eve, control_path = tmp_path / "eve.json", tmp_path / "control"
    with running(heddle, tmp_path, chain(nids, eve), "--device", "cpu") as (_, control):
        for i in range(4):
            wait_for_count(control_path, "d.count", 1)
            control.write("hotconfig", chain(nids, eve, "-> Null" * (i % 2)))
            control.write("c.config", control.read("c.config"))
        control.write("hotconfig", chain(nids, eve, rate=1_000_000))
        wait_for_drained(control)
    assert ports(eve) == list(range(1, PACKETS + 1))


@pytest.mark.parametrize("nids", [CONFIRMED, MONITORED], ids=["NIDSConfirm", "monitor"])
def test_a_file_that_has_been_moved_away(heddle, tmp_path, chain, nids):
    """As logs are rotated: what comes after the change is in a new file of the old name."""
    eve, moved, control_path = tmp_path / "eve.json", tmp_path / "eve.1", tmp_path / "control"
    with running(heddle, tmp_path, chain(nids, eve), "--device", "cpu") as (_, control):
        wait_for_count(control_path, "d.count", 1)
        eve.rename(moved)
        control.write("hotconfig", chain(nids, eve, rate=1_000_000))
        wait_for_drained(control)
    assert moved.stat().st_size > 0 and eve.stat().st_size > 0
    assert ports(moved, eve) == list(range(1, PACKETS + 1))


def test_a_pipe_that_has_got_another_reader(heddle, tmp_path, chain):
    """What could not be written is not gone on with, and what was lost before does not count for the new element."""
    eve, control_path = tmp_path / "eve", tmp_path / "control"
    os.mkfifo(eve)
    reader = os.open(eve, os.O_RDONLY | os.O_NONBLOCK)
    arguments = ("--json", "-R", "-u", control_path, "-e", chain(CONFIRMED, eve), "--device", "cpu")
    with heddle.start("run", *arguments) as started:
        control = Control(control_path)
        wait_for_count(control_path, "d.count", 1)
        os.close(reader)
        wait_until(lambda: int(control.read("c.lost")) > 0, 30, "that alerts are lost")
        reader = os.open(eve, os.O_RDONLY | os.O_NONBLOCK)
        control.write("hotconfig", chain(CONFIRMED, eve))
        wait_until(lambda: select.select([reader], [], [], 0)[0] != [], 30, "alerts")
        assert control.read("c.lost") == "0"
        result = started.interrupt()
    assert b'"signature_id":5' in os.read(reader, 65536)
    os.close(reader)
    assert "heddle: 'c': cannot write" in result.err and "alerts are lost from now on" in result.err


@pytest.mark.parametrize("nids", [CONFIRMED, MONITORED], ids=["NIDSConfirm", "monitor"])
def test_what_fails_leaves_the_file_to_the_one_that_goes_on(heddle, tmp_path, chain, nids):
    """What is wrong is found before anything is handed over, when all has been started, and afterwards."""
    eve, control_path = tmp_path / "eve.json", tmp_path / "control"
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(tmp_path / "other"))
    other.listen()
    with other, running(heddle, tmp_path, chain(nids, eve), "--device", "cpu") as (_, control):
        wait_for_count(control_path, "d.count", 1)
        good = chain(nids, eve)
        for bad, why in [
            (good + "; Nonsense", "unknown element class"),
            (good + f"; Idle -> ToDump({quoted(tmp_path / 'no' / 'file')})", "cannot write"),
            (good + f"; Idle -> ToDump({quoted(eve)})", "it is being written by 'c'"),
            (good + f"; ControlSocket(unix, {quoted(tmp_path / 'other')})", "in use"),
        ]:
            assert why in control.refused(bad)
        control.write("hotconfig", chain(nids, eve, rate=1_000_000))
        wait_for_drained(control)
    assert ports(eve) == list(range(1, PACKETS + 1))


@pytest.mark.parametrize("nids", [CONFIRMED, MONITORED], ids=["NIDSConfirm", "monitor"])
def test_another_file(heddle, tmp_path, chain, nids):
    files = [tmp_path / f"eve{i}.json" for i in range(3)]
    control_path = tmp_path / "control"
    with running(heddle, tmp_path, chain(nids, files[0]), "--device", "cpu") as (_, control):
        wait_for_count(control_path, "d.count", 1)
        control.write("c.config", control.read("c.config").replace("eve0", "eve1"))
        wait_for_count(control_path, "d.count", 100)
        refused = control.refused(chain(nids, files[2]) + f"; ControlSocket(unix, {quoted(control_path)})")
        assert "in use" in refused, refused
        wait_for_count(control_path, "d.count", 1000)
        control.write("hotconfig", chain(nids, files[2], rate=1_000_000))
        wait_for_drained(control)
    assert all(ports(file) for file in files)
    assert ports(*files) == list(range(1, PACKETS + 1))


@pytest.mark.parametrize("stuck", ["the old pipe", "the new pipe"])
def test_a_signal_ends_a_change_that_waits_for_a_reader(heddle, tmp_path, stuck):
    """Of the old pipe nobody reads, so packets and with them the change wait; or of the new one, which nobody opens."""
    old, new = tmp_path / "old", tmp_path / "new"
    os.mkfifo(old)
    os.mkfifo(new)
    reader = os.open(old, os.O_RDONLY | os.O_NONBLOCK)
    chain = "InfiniteSource(LENGTH 60) -> d :: ToDump({}); Script(wait 1000s)"
    to = old if stuck == "the old pipe" else "/dev/null"
    with heddle.start("run", "--json", "-R", "-u", tmp_path / "control", "-e", chain.format(to)) as run:
        control = Control(tmp_path / "control")
        wait_for_count(tmp_path / "control", "d.count", 10_000)
        time.sleep(0.5)
        text = chain.format("/dev/null" if stuck == "the old pipe" else new).encode()
        control.socket.sendall(b"WRITEDATA hotconfig %d\r\n" % len(text) + text)
        time.sleep(0.5)
        began = time.monotonic()
        result = run.interrupt()
        assert time.monotonic() - began < 30, result
    os.close(reader)
    assert "taken too long" in result.err or stuck == "the new pipe", result


def test_another_file_when_nobody_reads_the_old_one(heddle, tmp_path):
    """Packets of a socket do not wait; what the old file's reader has not taken is lost, and counted."""
    pipe, eve, control_path = tmp_path / "pipe", tmp_path / "eve.json", tmp_path / "control"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    rules = tmp_path / "x.rules"
    rules.write_text(f'alert udp any any -> any any (msg:"{"x" * 4000}"; sid:5;)\n')
    packet = judge.ip4(b"\12\0\0\1", b"\12\0\0\2", 17, b"\0\5\0\5\0\15\0\0hello")
    chain = (
        f"Socket(UNIX_DGRAM, {quoted(tmp_path / 'in')}) -> CheckIPHeader(14)"
        f" -> {MONITORED.format(rules=quoted(rules), eve=quoted(pipe))}; Script(wait 1000s)"
    )
    with heddle.start("run", "--quiet", "--device", "cpu", "-R", "-u", control_path, "-e", chain) as run:
        control = Control(control_path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.connect(str(tmp_path / "in"))
            for _ in range(100):
                client.send(packet)
            wait_for_count(control_path, "c.alerts", 100)
            control.write("c.config", control.read("c.config").replace(str(pipe), str(eve)))
            for _ in range(10):
                client.send(packet)
            wait_for_count(control_path, "c.alerts", 10)
        closed = select.poll()
        closed.register(reader, 0)  # which is told of POLLHUP, when nobody writes there any more
        assert closed.poll(60_000) and run.alive()
        result = run.interrupt()
    with os.fdopen(reader, "rb") as file:
        read = file.read().count(b"\n")
    assert result.code == 1 and eve.read_bytes().count(b"\n") == 10
    assert f"cannot write '{pipe}': " in result.err and f"alerts lost: {100 - read}\n" in result.err, result
