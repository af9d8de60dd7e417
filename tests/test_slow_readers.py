"""Whoever reads what the program writes, by a pipe, a socket or a terminal, may be slow, stop, or never come."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import socket
import struct
import tempfile
import termios
import threading
import time

import pytest
from test_stopping import catches
from whole import captures, judge
from whole.control import Control
from whole.program import TIMEOUT_S, Program, Report, as_nobody, quoted, wait_for_count, wait_until

SOON_S = 30  # the program itself waits for 2 s, but the machine may be busy
GENERATED = "FastUDPFlows(0, {}, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.0.0.2, 4, 1000)"


def alerts(tmp_path, source, eve, message="x"):
    """A chain with an alert for each packet of `source`, in `eve`."""
    rules = tmp_path / "all.rules"
    rules.write_text(f'alert udp any any -> any any (msg:"{message}"; sid:5;)\n')
    return (
        f"{source} -> CheckIPHeader(14) -> ids :: NIDS({quoted(rules)});"
        f" ids[0] -> d :: Discard; ids[1] -> c :: NIDSConfirm(ids, EVE {quoted(eve)}) -> d"
    )


def written_by(what, tmp_path, packets, path):
    """A chain that writes so many packets, or alerts of them, to `path`."""
    source = GENERATED.format(packets)
    if what == "EVE":
        return alerts(tmp_path, source, path)
    ends = {
        "ToDump": f"c :: ToDump({quoted(path)})",
        "ToIPSummaryDump": f"MarkIPHeader(14) -> c :: ToIPSummaryDump({quoted(path)}, FIELDS ip_src)",
        "ToIPFlowDumps": f"CheckIPHeader(14) -> AggregateIPFlows -> c :: ToIPFlowDumps({quoted(path)})",
        "IPPrint": f"MarkIPHeader(14) -> c :: IPPrint(OUTFILE {quoted(path)}) -> Discard",
    }
    return f"{source} -> {ends[what]}"


WRITERS = ["EVE", "ToDump", "ToIPSummaryDump", "IPPrint"]  # which keep the file open
ALL_WRITERS = [*WRITERS, "ToIPFlowDumps"]


def named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def opened_pipe(tmp_path):
    """A named pipe that has a reader, who does not read, and the reader's end."""
    path = named_pipe(tmp_path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    return path, reader


def has_waiting(reader, least):
    return struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, bytes(4)))[0] >= least


def is_full(reader):
    """Whether a pipe has no room for another page; of those that it has some may not be full."""
    writer = os.open(f"/proc/self/fd/{reader}", os.O_WRONLY | os.O_NONBLOCK)
    with os.fdopen(writer, "wb"):
        return not select.select([], [writer], [], 0)[1]


def rest_of(reader):
    with os.fdopen(reader, "rb") as file:
        return file.read()


def ends_soon(running, number=signal.SIGTERM):
    began = time.monotonic()
    running.signal(number)
    result = running.wait()
    assert time.monotonic() - began < SOON_S, result
    return result


TOO_LONG = "whoever reads it has taken too long, and what writes it is to end"


@pytest.mark.parametrize("what", ALL_WRITERS)
def test_a_reader_that_stops(heddle, tmp_path, what):
    """The signal comes in the middle of a write."""
    path, reader = opened_pipe(tmp_path)
    chain = written_by(what, tmp_path, -1, path)
    with heddle.start("run", "--json", "--device", "cpu", "-e", chain) as running:
        wait_until(lambda: is_full(reader), what="a full pipe")
        time.sleep(0.3)
        result = ends_soon(running)
    os.close(reader)
    assert result.code == 1, result
    if what == "IPPrint":
        assert f"could not write all of '{path}'" in result.err, result
        return
    assert f"cannot write '{path}': {TOO_LONG}" in result.err, result
    lost = Report(result.json).one("c")["statistics"]["lost"]
    assert lost > 0 and (what in ("ToIPSummaryDump", "ToIPFlowDumps") or f"lost: {lost}\n" in result.err), result


@pytest.mark.parametrize("what", ALL_WRITERS)
def test_a_reader_that_stops_before_the_flush_at_the_end(heddle, tmp_path, what):
    """All packets have been, and what is left to write is less than a buffer."""
    path, reader = opened_pipe(tmp_path)
    other = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(other, bytes(4096))
    chain = written_by(what, tmp_path, 20, path)
    with heddle.start("run", "--json", "--device", "cpu", "-e", chain) as running:
        time.sleep(1)
        assert running.alive()  # it waits for the reader, as long as nobody asks for the end
        result = ends_soon(running, signal.SIGINT)
    os.close(reader)
    os.close(other)
    assert result.code == 1 and str(path) in result.err, result
    if what == "EVE":
        assert Report(result.json).one("c")["statistics"]["lost"] == 20, result


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("what", ALL_WRITERS)
def test_a_reader_that_never_comes(heddle, tmp_path, what, number):
    path = named_pipe(tmp_path)
    with heddle.start("run", "--json", "--device", "cpu", "-e", written_by(what, tmp_path, -1, path)) as running:
        wait_until(lambda: catches(running.process.pid, number), what="the program's handlers")
        time.sleep(0.5)
        result = ends_soon(running, number)
    assert result.code == 1 or "stopped by a signal while the chain was read" in result.err, result
    if result.code == 1:
        assert f"cannot write '{path}': nobody has opened it to read, and the program is to end" in result.err, result


@pytest.mark.parametrize("what", WRITERS)
def test_a_reader_that_comes_late_and_goes_on_slowly(heddle, tmp_path, what):
    """Nothing is lost of what a source that can wait has made, and nothing written twice."""
    count, path, text = 40_000, named_pipe(tmp_path), b""
    with heddle.start("run", "--json", "--device", "cpu", "-e", written_by(what, tmp_path, count, path)) as running:
        time.sleep(0.3)
        with open(path, "rb") as file:
            while some := file.read1(1 << 18):
                text += some
                time.sleep(0.005)
        result = running.wait()
    assert result.code == 0 and result.err == "", result
    if what == "ToDump":
        (tmp_path / "got.pcap").write_bytes(text)
        assert len(captures.read(tmp_path / "got.pcap")) == count
        return
    lines = [line for line in text.decode().splitlines() if not line.startswith("!")]
    assert len(lines) == count
    if what == "EVE":
        assert all(json.loads(line)["alert"]["signature_id"] == 5 for line in lines)


def test_flow_dumps_for_a_reader_that_goes_on_slowly(heddle, tmp_path):
    """Each piece opens the pipe anew, so the reader holds an end for writing, and sees no end of the file."""
    count, path, text = 20_000, named_pipe(tmp_path), b""
    chain = written_by("ToIPFlowDumps", tmp_path, count, path)
    reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    with heddle.start("run", "--json", "--device", "cpu", "-e", chain) as running:

        def all_is_read():
            nonlocal text
            if has_waiting(reader, 1):
                text += os.read(reader, 1 << 16)
            return not running.alive() and not has_waiting(reader, 1)

        wait_until(all_is_read, TIMEOUT_S, "the end of the program and of what it has written")
        result = running.wait()
    os.close(reader)
    assert result.code == 0 and result.err == "", result
    assert sum(not line.startswith(b"!") for line in text.splitlines()) == count


@pytest.mark.parametrize("what", ["EVE", "ToDump"])
def test_a_reader_that_goes_on_gets_all_when_the_program_is_to_end(heddle, tmp_path, what):
    path, reader = opened_pipe(tmp_path)
    with heddle.start("run", "--json", "--device", "cpu", "-e", written_by(what, tmp_path, -1, path)) as running:
        wait_until(lambda: is_full(reader), what="a full pipe")
        running.signal(signal.SIGINT)
        time.sleep(0.5)
        text = rest_of(reader)
        result = running.wait()
    assert result.code == 0 and result.err == "", result
    statistics = Report(result.json).one("c")["statistics"]
    assert "lost" not in statistics
    if what == "ToDump":
        (tmp_path / "got.pcap").write_bytes(text)
        assert len(captures.read(tmp_path / "got.pcap")) == statistics["written"] > 0
    else:
        assert len([json.loads(line) for line in text.splitlines()]) == statistics["alerts"] > 0


def test_stop_by_a_handler(heddle, tmp_path):
    path, reader = opened_pipe(tmp_path)
    chain = written_by("EVE", tmp_path, -1, path)
    with heddle.start("run", "--quiet", "--device", "cpu", "-u", tmp_path / "control", "-e", chain) as running:
        control = Control(tmp_path / "control")
        wait_until(lambda: is_full(reader), what="a full pipe")
        began = time.monotonic()
        control.write("stop")
        result = running.wait()
        assert time.monotonic() - began < SOON_S and TOO_LONG in result.err, result
    os.close(reader)


# ---- reconfiguration


@contextlib.contextmanager
def read_on(reader):
    """All is read that comes, also if nobody writes for a while."""
    over = threading.Event()

    def read():
        while not over.is_set():
            if has_waiting(reader, 1):
                os.read(reader, 1 << 18)
            else:
                time.sleep(0.002)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def wait_until_it_grows(control, name):
    """The number of packets that have come to an element."""

    def packets():
        return next(each["packets"] for each in json.loads(control.read("report"))["elements"] if each["name"] == name)

    before = packets()
    wait_until(lambda: packets() > before, what=f"packets at {name}")


@pytest.mark.parametrize(
    ("what", "device"), [*((what, "cpu") for what in ALL_WRITERS if what != "IPPrint"), ("ToDump", "simt")]
)
def test_a_reader_that_stops_keeps_no_client_waiting(heddle, tmp_path, what, device):
    """A reconfiguration is refused, also if the arguments of one element alone change; the chain goes on as it was, on
    other threads with packets, and is reconfigured once the reader goes on."""
    path, reader = opened_pipe(tmp_path)
    chain = written_by(what, tmp_path, -1, path).replace(" -> ", " -> EtherMirror -> ", 1)
    chain += "; p :: Paint(1) -> k :: Counter -> Discard; i :: InfiniteSource -> p; StaticThreadSched(i 1)"
    args = ("--json", "--device", device, "-j", "2", "-R", "-u", tmp_path / "control", "-e", chain)
    with heddle.start("run", *args) as running:
        control = Control(tmp_path / "control")
        refusals = []

        def refused(handler, value):
            """Until packets wait for the reader it goes well."""
            code, text, _ = control.command(f"WRITEDATA {handler} {len(value)}", value.encode())
            assert code in (200, 520), text
            refusals.extend([text] if code == 520 else [])
            return code == 520

        wait_until(lambda: is_full(reader), what="a full pipe")
        wait_until(lambda: refused("hotconfig", chain), what="a refusal")
        assert refused("p.config", "2")
        for text in refusals:
            assert f"'c' waits for whoever reads '{path}', and packets wait with it" in text
            assert "the former configuration goes on" in text
        assert control.read("p.config").strip() == "1"
        wait_until_it_grows(control, "k")
        with read_on(reader):
            control.write("p.config", "2")
            control.write("hotconfig", chain)
            wait_until_it_grows(control, "k")
            wait_until_it_grows(control, "c")
            result = running.interrupt()
    os.close(reader)
    assert result.code == 0 and result.err == "", result


def test_a_reader_that_never_comes_keeps_no_client_waiting(heddle, tmp_path):
    """The new configuration is refused; packets go on meanwhile and afterwards, until there is a reader."""
    path, control = named_pipe(tmp_path), tmp_path / "control"
    chain = "InfiniteSource -> k :: Counter -> "
    with heddle.start("run", "--json", "-R", "-u", control, "-e", chain + "Discard") as running:
        wait_for_count(control, "k.count", 1)
        client = Control(control)
        before, began = int(client.read("k.count")), time.monotonic()
        text = client.refused(chain + f"c :: ToDump({quoted(path)})")
        assert time.monotonic() - began < SOON_S
        assert (
            f"ToDump 'c': cannot write '{path}': nobody has opened it to read within 2 seconds; open it to read first"
            in text
        )
        assert int(client.read("k.count")) > before
        wait_until_it_grows(client, "k")
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with read_on(reader):
            client.write("hotconfig", chain + f"c :: ToDump({quoted(path)})")
            wait_for_count(control, "c.count", 1)
            result = running.interrupt()
    os.close(reader)
    assert result.code == 0 and result.err == "", result


# ---- standard output, which others have as well


@pytest.fixture
def program(heddle, kind):
    if kind != "another user's pipe":
        return heddle
    if not as_nobody():
        pytest.skip("takes another user")
    return Program(heddle.path, as_nobody())


@pytest.fixture
def open_path():
    """A folder that other users can look into."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


@contextlib.contextmanager
def standard_output(kind):
    """Somewhere to write to, and the reader's end."""
    if kind == "terminal":
        reader, writer = pty.openpty()
    elif kind == "socket":
        reader, writer = (end.detach() for end in socket.socketpair())
    else:
        reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


@pytest.mark.parametrize("what", ["EVE", "ToDump"])
@pytest.mark.parametrize("kind", ["pipe", "another user's pipe", "socket", "terminal"])
def test_standard_output(program, open_path, kind, what):
    """Its flags stay as they are, and a reader who stops does not keep the program."""
    chain = written_by(what, open_path, -1, "-")
    with standard_output(kind) as (reader, writer):
        flags = fcntl.fcntl(writer, fcntl.F_GETFL)
        with program.start("run", "--quiet", "--device", "cpu", "-e", chain, stdout=writer) as running:
            wait_until(lambda: has_waiting(reader, 4000), what="something to read")
            time.sleep(0.5)
            assert running.alive()
            assert fcntl.fcntl(writer, fcntl.F_GETFL) == flags
            result = ends_soon(running)
        os.close(writer)
    assert result.code == 1 and TOO_LONG in result.err, result


@pytest.mark.parametrize("kind", ["pipe", "another user's pipe", "socket"])
def test_all_of_standard_output(program, open_path, kind):
    text = []
    with (
        standard_output(kind) as (reader, writer),
        program.start(
            "run", "--quiet", "--device", "cpu", "-e", written_by("EVE", open_path, 5000, "-"), stdout=writer
        ) as running,
    ):
        os.close(writer)
        while some := os.read(reader, 1 << 16):
            text.append(some)
        result = running.wait()
    assert result.code == 0 and result.err == "", result
    lines = b"".join(text).splitlines()
    assert len(lines) == 5000 and all(json.loads(line)["alert"]["signature_id"] == 5 for line in lines)


# ---- live traffic


@contextlib.contextmanager
def traffic(path):
    """Packets come to the socket at `path` as fast as they are taken."""
    packet = judge.ip4(b"\12\0\0\1", b"\12\0\0\2", 17, b"\0\5\0\5\0\15\0\0hello")
    over = threading.Event()

    def send():
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client, contextlib.suppress(OSError):
            client.settimeout(60)
            client.connect(str(path))
            while not over.is_set():
                client.send(packet)

    thread = threading.Thread(target=send)
    thread.start()
    yield
    over.set()
    thread.join()


def test_live_traffic_does_not_wait(heddle, tmp_path):
    """Alerts that there is no room for are counted; those that are written are whole, also when the reader goes on."""
    path, reader = opened_pipe(tmp_path)
    chain = alerts(tmp_path, f"Socket(UNIX_DGRAM, {quoted(tmp_path / 'in')})", path, message="x" * 4000)
    control = tmp_path / "control"
    text = b""
    with heddle.start("run", "--json", "--device", "cpu", "-u", control, "-e", chain) as running:
        wait_until((tmp_path / "in").exists, what="the socket")
        with traffic(tmp_path / "in"):
            wait_for_count(control, "c.lost", 1)
            wait_for_count(control, "d.count", int(Control(control).read("d.count")) + 500)  # packets go on
            while len(text) < 6 << 20:  # more than waited for the reader
                text += os.read(reader, 1 << 18)
            lost = int(Control(control).read("c.lost"))
            wait_for_count(control, "c.lost", lost + 1)
        result = ends_soon(running, signal.SIGINT)
    text += rest_of(reader)
    assert result.code == 1 and f"cannot write '{path}': {TOO_LONG}; alerts lost: " in result.err, result
    assert (
        result.err.count(f"'c': alerts come faster than they are read from '{path}'; some are lost from now on\n") == 1
    )
    lines = text.split(b"\n")[:-1]  # the last one may have been cut off
    assert {json.loads(line)["alert"]["signature_id"] for line in lines} == {5}
    statistics = Report(result.json).one("c")["statistics"]
    assert len(lines) + statistics["lost"] == statistics["alerts"]


@contextlib.contextmanager
def with_long_alerts(heddle, tmp_path, eve, handler, count):
    """A run with alerts of live traffic, which has come to an end when `handler` says at least `count`."""
    chain = alerts(tmp_path, f"Socket(UNIX_DGRAM, {quoted(tmp_path / 'in')})", eve, message="x" * 4000)
    control = tmp_path / "control"
    with heddle.start("run", "--json", "--device", "cpu", "-u", control, "-e", chain) as running:
        wait_until((tmp_path / "in").exists, what="the socket")
        with traffic(tmp_path / "in"):
            wait_for_count(control, handler, count)
        yield running


def test_live_traffic_says_what_was_lost(heddle, tmp_path):
    """A reader that has been away for too long, and takes the rest."""
    path, reader = opened_pipe(tmp_path)
    with with_long_alerts(heddle, tmp_path, path, "c.lost", 1) as running:
        running.signal(signal.SIGINT)
        text = rest_of(reader)
        result = running.wait()
    assert result.code == 0, result
    statistics = Report(result.json).one("c")["statistics"]
    assert f"alerts lost, as they came faster than they were read from '{path}': {statistics['lost']}\n" in result.err
    assert len([json.loads(line) for line in text.splitlines()]) + statistics["lost"] == statistics["alerts"]


def test_a_file_is_no_reader_to_wait_for(heddle, tmp_path):
    eve = tmp_path / "eve.json"
    with with_long_alerts(heddle, tmp_path, eve, "c.alerts", 1500) as running:
        result = running.interrupt()
    assert result.code == 0 and result.err == "", result
    assert eve.read_bytes().count(b"\n") == Report(result.json).one("c")["statistics"]["alerts"]
