"""`heddle top` and `heddle trace`, which watch a running router over its control socket."""

import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest
from whole.control import Control
from whole.program import TIMEOUT_S, wait_for_count, wait_until

CHAIN = "s :: RatedSource(RATE 20000, LENGTH 60) -> c :: Counter -> q :: Queue(50) -> u :: RatedUnqueue(5000) -> d :: Discard"


@contextlib.contextmanager
def router(heddle, tmp_path, chain, *args):
    path = tmp_path / "control"
    with heddle.start("run", "--quiet", "-u", path, "-e", chain, *args) as running:
        wait_until(path.exists, TIMEOUT_S, "the control socket")
        yield path
        result = running.interrupt()
        assert result.code == 0 and result.err == "", result


def test_top_prints_tables(heddle, tmp_path):
    with router(heddle, tmp_path, CHAIN) as path:
        wait_for_count(path, "d.count", 10)
        out = heddle.ok("top", path, "-n", "2", "-i", "0.5").out
    tables = out.split("heddle top")[1:]
    assert len(tables) == 2
    for table in tables:
        assert re.search(r"threads  0 +\d+%", table)
        rows = {line.split()[0]: line.split() for line in table.splitlines() if re.match(r"[scqud] ", line)}
        assert list(rows) == ["s", "c", "q", "u", "d"]
        assert rows["q"][1] == "Queue" and rows["q"][2] == "cpu" and rows["q"][-1] == "full"
        assert int(rows["q"][-2]) > 0 and int(rows["c"][5]) > int(rows["d"][5])
    packets = [int(re.search(r"all (\d+) packets", table)[1]) for table in tables]
    assert packets[0] < packets[1]


class Screen:
    """A terminal of so many rows and columns in which a program runs."""

    def __init__(self, command, rows=20, columns=100):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, pattern):
        end = time.monotonic() + TIMEOUT_S
        while not (found := re.search(pattern, self.text, re.DOTALL)):
            assert time.monotonic() < end, (pattern, self.text[-3000:])
            if select.select([self.fd], [], [], 0.5)[0]:
                self.text += os.read(self.fd, 65536).decode()
        self.text = self.text[found.end() :]
        return found

    def press(self, key):
        os.write(self.fd, key.encode())

    def end(self):
        """The exit code."""
        while True:
            try:
                self.text += os.read(self.fd, 65536).decode()
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_top_on_a_terminal(heddle, tmp_path):
    with router(heddle, tmp_path, CHAIN) as path:
        screen = Screen(heddle.command(["top", path, "-i", "0.2"]))
        screen.wait_for(r"\x1b\[\?1049h.*ELEMENT +CLASS +ON")  # the other screen
        screen.wait_for(r"\r\ns +RatedSource.*\r\nd +Discard.*q: quit")
        screen.press("d")  # by drops: the queue comes first
        screen.wait_for(r"ELEMENT[^\r]*\r\nq +Queue")
        screen.press("c")
        screen.wait_for(r"ELEMENT[^\r]*\r\ns +RatedSource")
        screen.press("q")
        assert screen.end() == 0
        assert screen.text.endswith("\x1b[?25h\x1b[?1049l")  # as it was


def test_top_under_tmux(heddle, tmp_path):
    """A terminal with a screen of its own, which is asked for what it shows."""

    def tmux(*words):
        command = ["tmux", "-f", "/dev/null", "-S", tmp_path / "tmux", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout

    def shows(pattern):
        wait_until(lambda: re.search(pattern, tmux("capture-pane", "-p"), re.DOTALL), TIMEOUT_S, pattern)

    with router(heddle, tmp_path, CHAIN) as path:
        top = shlex.join([*map(str, heddle.command(["top", path, "-i", "0.2"]))])
        tmux("new-session", "-d", "-x", "100", "-y", "16", f"{top}; echo ended with $?; read line")
        try:
            shows(r"heddle top.*ELEMENT +CLASS +ON.*\ns +RatedSource.*\nd +Discard.*q: quit")
            tmux("send-keys", "d")  # by drops: the queue comes first
            shows(r"ELEMENT[^\n]*\nq +Queue")
            tmux("resize-window", "-x", "60", "-y", "10")
            shows(r"ELEMENT[^\n]*\nq +Queue")
            assert all(len(line) <= 60 for line in tmux("capture-pane", "-p").splitlines())
            tmux("send-keys", "c")
            shows(r"ELEMENT[^\n]*\ns +RatedSource")
            tmux("send-keys", "q")
            shows(r"\Aended with 0\n\s*\Z")  # what stood there before is back
        finally:
            tmux("kill-server")


def test_top_and_graph_of_an_element_whose_class_has_changed(heddle, tmp_path):
    """What counts is the one that is there now, not the one of the same name that has gone."""
    chain = "s :: RatedSource(RATE 10000, LENGTH 60) -> x :: Counter -> d :: Discard"
    with router(heddle, tmp_path, chain, "-R") as path:
        wait_for_count(path, "x.count", 5000)
        control = Control(path)
        control.write("hotconfig", chain.replace("Counter", "RandomSample(0.5)"))
        wait_until(lambda: int(re.search(r"sampled (\d+)", "sampled 0 " + control.read("x.drops"))[1]) >= 0, TIMEOUT_S)
        out = heddle.ok("top", path, "-n", "1", "-i", "0.5").out
        rows = {
            tuple(line.split()[:2]): line.split() for line in out.splitlines() if line.startswith(("s ", "x ", "d "))
        }
        assert set(rows) == {("s", "RatedSource"), ("x", "RandomSample"), ("d", "Discard"), ("x", "Counter")}
        number = lambda text: float(text.replace("k", "e3"))
        assert number(rows["x", "RandomSample"][3]) == pytest.approx(number(rows["s", "RatedSource"][3]), rel=0.5)
        assert number(rows["x", "Counter"][3]) == 0 and int(rows["x", "Counter"][5]) >= 5000
        drawn = heddle.ok("graph", "-r", path, "-i", "0.5").out
        (label,) = re.findall(r'"x" \[label="x\\n([^"]*)"', drawn)
        found = re.fullmatch(r"RandomSample\\n(\d+) packets/s, (\d+) dropped/s", label)
        assert found and int(found[1]) > int(found[2]) > 0, label


def test_top_says_what_is_wrong(heddle, tmp_path):
    assert "heddle run CHAIN -u FILE" in heddle.fails("top", tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    assert "control socket" in heddle.fails("top", tmp_path / "file")
    assert "heddle top: " in heddle.fails("top", code=106)
    for port in ("99999", "localhost:0"):
        assert "is no port (1 to 65535)" in heddle.fails("top", port)
    for words in (("top", "-i", "nan"), ("trace", "--time", "nan"), ("graph", "-i", "nan", "-r")):
        assert "Value nan not in range" in heddle.fails(*words, tmp_path / "nothing", code=105)


@contextlib.contextmanager
def impostor(path, *says):
    """What listens at `path`, says one thing a command, the first before any, and then nothing. Gives an event: it has
    got a command."""
    heard = threading.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve():
            # The other end may leave before it has heard all.
            with listener.accept()[0] as client, contextlib.suppress(ConnectionError):
                for text in says:
                    client.sendall(text.encode())
                    if client.recv(65536):
                        heard.set()
                while client.recv(65536):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield heard
        thread.join()


GREETING = "Click::ControlSocket/1.3\r\n"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["trace", "--time", "1"], []),
        (["trace"], ["HTTP/1.0 200 OK\r\n"]),
        (["top", "-n", "1"], []),
        (["top", "-n", "1"], [GREETING, "200 ok\r\nfoo\r\n"]),
        (["top", "-n", "1"], [GREETING, "200 ok\r\nDATA x\r\n"]),
        (["top", "-n", "1"], [GREETING, "200 ok\r\nDATA 99999999999999999999\r\n"]),
        (["graph", "-r"], []),
        (["trace"], [GREETING, "x" * (2 << 20)]),
    ],
)
def test_no_control_socket_answers(heddle, tmp_path, command, says):
    path = tmp_path / "socket"
    with impostor(path, *says):
        assert heddle.fails(*command, path) == f"heddle: {path}: no control socket answers there\n"


def test_top_of_no_heddle_router(heddle, tmp_path):
    with impostor(tmp_path / "socket", GREETING, "200 ok\r\nDATA 2\r\n{}"):
        assert "is no Heddle router" in heddle.fails("top", "-n", "1", tmp_path / "socket")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_trace_ends_by_a_signal(heddle, tmp_path, number):
    """With what there is, or, where the router says nothing any more, with an error."""
    chain = "InfiniteSource(ACTIVE false) -> d :: Discard; Script(wait 1000s)"
    with router(heddle, tmp_path, chain) as path, heddle.start("trace", path, "--time", "1000") as trace:
        control = Control(path)
        wait_until(lambda: control.read("tracing") == "true", TIMEOUT_S, "the trace")
        trace.signal(number)
        result = trace.wait()
        assert (result.code, result.out) == (0, "no packet has come that matches\n"), result
    path = tmp_path / "silent"
    with impostor(path, GREETING) as heard, heddle.start("trace", path) as trace:
        assert heard.wait(TIMEOUT_S)
        trace.signal(number)
        result = trace.wait()
        assert result.code == 1 and "the router has not answered for" in result.err, result


TRACED = (
    "s :: InfiniteSource(DATA \\<020000000001 020000000002 0800 45000026 00010000 4011 66c4 0a000001 0a000002"
    " 03e80050 0012 0000 00000000 00000000 0000>, ACTIVE true, BURST 1)"
    "-> st :: Strip(14) -> ch :: CheckIPHeader -> rt :: RadixIPLookup(10.0.0.0/8 0) -> ttl :: DecIPTTL"
    "-> q :: Queue -> u :: Unqueue -> d :: Discard"
)


def steps(text):
    """Elements and what each has changed, a list a packet."""
    packets = []
    for line in text.splitlines():
        if line.startswith("packet "):
            packets.append([])
        elif found := re.fullmatch(r" +[0-9.]+ us  (.*)", line):
            packets[-1].append((found[1], []))
        else:
            packets[-1][-1][1].append(line.strip())
    return packets


def test_trace_tells_the_way_and_what_changes(heddle, tmp_path):
    with router(heddle, tmp_path, TRACED) as path:
        out = heddle.ok("trace", path, "-n", "3", "udp dst port 80").out
    packets = steps(out)
    assert len(packets) == 3
    for way in packets:
        names = [name.split(" ::")[0] for name, _ in way]
        assert names == ["s", "st", "ch", "rt", "ttl", "q", "u", "d"]
        changes = dict(zip(names, (list(found) for _, found in way), strict=True))
        assert changes["st"] == ["takes 14 bytes off"]
        assert "l3 = byte 0" in changes["ch"]
        # RFC 1141: one less at byte 8 is 0x100 more in the checksum.
        assert changes["ttl"] == ["8: 40 -> 3f", "10: 66 -> 67"]
        assert changes["d"] == changes["q"] == []


def test_trace_shows_drops_and_filters(heddle, tmp_path):
    chain = TRACED.replace("10.0.0.0/8 0", "11.0.0.0/8 0")
    with router(heddle, tmp_path, chain) as path:
        (way,) = steps(heddle.ok("trace", path).out)
        assert way[-1][0] == "dropped by rt: no_route"
        out = heddle.ok("trace", path, "tcp", "--time", "0.3").out
        assert out == "no packet has come that matches\n"
        assert "is not" in heddle.fails("trace", path, "tcp dst prot 80")
        wait_for_count(path, "s.count", 1000)


def test_trace_follows_copies(heddle, tmp_path):
    chain = (
        TRACED.replace("-> ttl", "-> t :: Tee(2) -> ttl")
        + "; t[1] -> e :: EtherEncap(0x0800, 2:0:0:0:0:3, 2:0:0:0:0:4) -> Discard"
    )
    with router(heddle, tmp_path, chain) as path:
        (way,) = steps(heddle.ok("trace", path).out)
    names = [name for name, _ in way]
    assert "d :: Discard" in names and "e :: EtherEncap" in names
    assert ["8: 40 -> 3f", "10: 66 -> 67"] in [changes for _, changes in way]
    assert any(changes[:1] == ["puts 14 bytes before"] for _, changes in way)


def two_fragments(heddle, tmp_path, count):
    """The ways of `count` packets: the second of two fragments, and the first, which comes after it."""
    header = "0001 {} 402f 0000 0a000001 0a000002"
    chain = "".join(
        f"{name} :: InfiniteSource(DATA \\<4500 {bytes} {header.format(offset)} {data}>, LIMIT 1, ACTIVE false, STOP false)"
        " -> m;"
        for name, bytes, offset, data in [("a", "001c", "2000", "61" * 8), ("b", "0018", "0001", "62" * 4)]
    )
    with router(heddle, tmp_path, chain + "m :: MarkIPHeader -> r :: IPReassembler -> d :: Discard") as path:
        control = Control(path)
        control.write("trace", str(count))
        control.write("b.active", "true")
        wait_until(lambda: control.read("r.waiting") == "1", TIMEOUT_S, "the second fragment")
        control.write("a.active", "true")
        return traced(control, count)


def test_trace_follows_a_fragment_into_its_packet(heddle, tmp_path):
    (way,) = two_fragments(heddle, tmp_path, 1)
    assert [name.split(" ::")[0] for name, _ in way] == ["b", "m", "r", "d"]
    assert "length 24 -> 32" in way[2][1] and way[3][1] == []


def test_trace_of_two_fragments_of_a_packet_goes_on_as_one(heddle, tmp_path):
    second, first = two_fragments(heddle, tmp_path, 2)
    assert [name.split(" ::")[0] for name, _ in first] == ["a", "m", "r", "d"]
    assert [name.split(" ::")[0] for name, _ in second] == ["b", "m", "r", "goes on in packet 2"]


@pytest.mark.parametrize("launch", ["persistent", "sync"])
def test_trace_through_a_gpu_segment(heddle, tmp_path, launch):
    chain = "s :: InfiniteSource(LENGTH 60, BURST 8) -> m :: EtherMirror -> x :: XOR(1) -> d :: Discard"
    with router(heddle, tmp_path, chain, "--device", "simt", "--launch", launch) as path:
        (way,) = steps(heddle.ok("trace", path).out)
    names = [name for name, _ in way]
    assert names == ["s :: InfiniteSource", "m :: EtherMirror, x :: XOR (simt)", "d :: Discard"]
    assert way[1][1], "nothing has changed"


def traced(control, count):
    wait_until(lambda: int(control.read("traced")) >= count, TIMEOUT_S, "traced")
    return steps(control.read("trace"))


def test_packets_that_a_segment_loses_have_got_to_an_end(heddle, tmp_path):
    chain = "s :: InfiniteSource(LENGTH 60, BURST 20) -> x :: XOR(1, MAX_BATCH 1) -> d :: Discard"
    with router(heddle, tmp_path, chain, "--device", "simt", "--launch", "sync") as path:
        ways = steps(heddle.ok("trace", path, "-n", "20").out)
    ends = [way[-1][0] for way in ways]
    assert ends.count("d :: Discard") == 1 and ends.count("dropped by x: max_batch") == 19


def test_packets_of_an_earlier_trace_are_not_taken_for_those_of_a_later_one(heddle, tmp_path):
    chain = TRACED.replace("u :: Unqueue", "u :: Unqueue(ACTIVE false)").replace("q :: Queue", "q :: SimpleQueue(5)")
    chain = chain.replace("ACTIVE true", "ACTIVE false")
    with router(heddle, tmp_path, chain) as path:
        control = Control(path)
        control.write("trace", "3")
        control.write("s.active", "true")  # three packets wait in the queue, and two more
        wait_for_count(path, "s.count", 1000)
        control.write("trace", "3")
        assert [way[-1][0] for way in traced(control, 3)] == ["dropped by q: full"] * 3
        control.write("u.active", "true")
        wait_for_count(path, "d.count", 100)
        assert [way[-1][0] for way in traced(control, 3)] == ["dropped by q: full"] * 3


FULL = {
    "q :: SimpleQueue(5)": "q: full",
    "q :: FrontDropQueue(5)": "q: full",
    "q :: MixedQueue(5)": "q: full",
    "q :: NotifierQueue(5)": "q: full",
}


@pytest.mark.parametrize("queue", FULL)
def test_packets_that_a_full_queue_drops_have_got_to_an_end(heddle, tmp_path, queue):
    chain = TRACED.replace("q :: Queue", queue).replace("u :: Unqueue", "u :: Unqueue(ACTIVE false)")
    chain += "; Idle -> [1]q" if "Mixed" in queue else ""
    with router(heddle, tmp_path, chain) as path:
        wait_for_count(path, "s.count", 1000)
        (way,) = steps(heddle.ok("trace", path).out)
    assert [name.split(" ::")[0] for name, _ in way][-3:] == ["ttl", "q", f"dropped by {FULL[queue]}"]


def test_packets_that_go_round_are_not_followed_for_ever(heddle, tmp_path):
    chain = "s :: InfiniteSource(LENGTH 60, LIMIT 4, ACTIVE false, STOP false) -> q :: Queue -> u :: Unqueue -> n :: Null -> q"
    with router(heddle, tmp_path, chain) as path:
        control = Control(path)
        control.write("trace", "4")
        control.write("s.active", "true")
        ways = traced(control, 4)
    assert all(way[-1][0] == "not followed beyond 256 steps" for way in ways)


def test_a_trace_that_is_killed_leaves_the_router_alone(heddle, tmp_path):
    """What it has begun ends with its connection; not what another one has begun since."""
    with router(heddle, tmp_path, CHAIN) as path:
        control = Control(path)
        with heddle.start("trace", path, "tcp") as watching:
            wait_until(lambda: control.read("tracing") == "true", TIMEOUT_S, "the trace")
            watching.signal(signal.SIGKILL)
            wait_until(lambda: control.read("tracing") == "false", TIMEOUT_S, "the end of the trace")
        other = Control(path)
        other.write("trace", "1 tcp")
        control.write("trace", "1")
        other.socket.shutdown(socket.SHUT_RDWR)
        other.file.close(), other.socket.close()
        for _ in range(3):
            assert Control(path).read("tracing") == "true"
        assert traced(control, 1)


def test_a_trace_that_is_ended_leaves_the_router_alone(heddle, tmp_path):
    with router(heddle, tmp_path, CHAIN) as path:
        control = Control(path)
        with heddle.start("trace", path, "tcp") as watching:
            wait_until(lambda: control.read("tracing") == "true", TIMEOUT_S, "the trace")
            watching.signal(signal.SIGTERM)
            assert watching.wait().out == "no packet has come that matches\n"
        assert control.read("tracing") == "false"
