"""ControlSocket over real sockets: the protocol as Click's clients see it, and clients that mean no good."""

import contextlib
import os
import socket
import stat
import time
import urllib.request

import pytest
from whole import captures
from whole.control import Control
from whole.program import CHAINS, TIMEOUT_S, Program, free_port, wait_until

CHAIN = "Idle -> q :: Queue(7) -> Unqueue -> Discard; s :: Script(TYPE PASSIVE, return $(add $args))"
TRAFFIC = CHAINS / "traffic.pcap"
GREETING = b"Click::ControlSocket/1.3\r\n"


def connect(address, seconds=60):
    """Connects as soon as somebody listens."""
    end = time.monotonic() + seconds
    while True:
        client = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        client.settimeout(60)
        try:
            client.connect(address)
            return client
        except OSError:
            client.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def read_all(client):
    return b"".join(iter(lambda: client.recv(65536), b""))


@contextlib.contextmanager
def serving(heddle, *args, chain=CHAIN):
    with heddle.start("run", "--quiet", "-e", chain, *args) as running:
        yield running
        if running.alive():
            result = running.interrupt()
            assert result.code == 0, result


@pytest.fixture(params=["unix", "tcp"])
def server(request, heddle, tmp_path):
    """The address of a ControlSocket."""
    path, port = str(tmp_path / "socket"), free_port()
    args = ["-u", path] if request.param == "unix" else ["-p", port]
    with serving(heddle, *args):
        yield path if request.param == "unix" else ("127.0.0.1", port)


TRANSCRIPTS = {
    "read": (b"read q.capacity\r\n", b"200 Read handler 'q.capacity' OK\r\nDATA 1\r\n7"),
    "global": (b"READ version\n", b"200 Read handler 'version' OK\r\nDATA 3\r\n2.1"),
    "number": (b"READ 2.name\r", b"200 Read handler '2.name' OK\r\nDATA 1\r\nq"),
    "arguments": (b"READ s.run 1 2 39\n", b"200 Read handler 's.run' OK\r\nDATA 2\r\n42"),
    "readdata": (b"READDATA s.run 3\r\n1 2", b"200 Read handler 's.run' OK\r\nDATA 1\r\n3"),
    "readuntil": (b"READUNTIL s.run end\n1 2\n3 \nend \n", b"200 Read handler 's.run' OK\r\nDATA 1\r\n6"),
    "write": (b"WRITE q.reset_counts\n", b"200 Write handler 'q.reset_counts' OK\r\n"),
    "writedata": (
        b"WRITEDATA s.set 5\r\nx 1\r\nREAD s.get x\r\n",
        b"200 Write handler 's.set' OK\r\n200 Read handler 's.get' OK\r\nDATA 1\r\n1",
    ),
    "writeuntil": (
        b"WRITEUNTIL s.set .\r\nx a\r\n.\r\nREAD s.get x\r\n",
        b"200 Write handler 's.set' OK\r\n200 Read handler 's.get' OK\r\nDATA 1\r\na",
    ),
    "writeuntil a number": (
        b"WRITEUNTIL q.capacity .\r\n5\r\n.\r\nREAD q.capacity\r\n",
        b"200 Write handler 'q.capacity' OK\r\n200 Read handler 'q.capacity' OK\r\nDATA 1\r\n5",
    ),
    "check": (
        b"CHECKREAD q.length\nCHECKWRITE q.length\nCHECKWRITE q.reset\n",
        b"200 Read handler 'q.length' OK\r\n511 Handler 'q.length' not writable\r\n200 Write handler 'q.reset' OK\r\n",
    ),
    "no element": (b"READ nobody.count\n", b"510 No element named 'nobody'\r\n"),
    "no handler": (b"READ q.nosuch\n", b"511 No handler named 'q.nosuch'\r\n"),
    "no global": (b"WRITE nosuch 1\n", b"511 No handler named 'nosuch'\r\n"),
    "read-only": (b"WRITE q.length 1\n", b"530 Handler 'q.length' read-only\r\n"),
    "write-only": (b"READ q.reset\n", b"530 Handler 'q.reset' write-only\r\n"),
    "bad value": (
        b"WRITE s.step x\n",
        b"520-Write handler 's.step' error:\r\n520 'x' is not an integer from 0 to 2147483647\r\n",
    ),
    "bad argument": (
        b"READ s.add x\n",
        b"590-Read handler 's.add' error:\r\n590 expected list of numbers\r\n",
    ),
    "syntax": (b"READ\nREADDATA q.length\n", b"500 Wrong number of arguments\r\n" * 2),
    "length": (b"READDATA q.length -1\n", b"500 Syntax error in 'READDATA'\r\n"),
    "unknown": (b"FETCH q.length\n", b"501 Command 'FETCH' unimplemented\r\n"),
    "llrpc": (
        b"LLRPC q#1 4\nQUITREAD version\n",
        b"501 Command 'LLRPC' unimplemented\r\n200 Read handler 'version' OK\r\nDATA 3\r\n2.1",
    ),
    "binary": (b"\x00\x01\xff \x02\n", b"501 Command '\\000\\001\xff' unimplemented\r\n"),
    "blank lines": (b"\r\n\n\r \n", b""),
    "too much": (
        b"WRITEDATA s.set 1048577\n" + b"Q" * 1048577 + b"READ version\n",
        b"521 Data too large; at most 1048576 bytes\r\n200 Read handler 'version' OK\r\nDATA 3\r\n2.1",
    ),
}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcripts(server, name):
    said, answered = TRANSCRIPTS[name]
    with connect(server) as client:
        client.sendall(said + b"QUIT\r\n")
        assert read_all(client) == GREETING + answered + b"200 Goodbye!\r\n"
    with connect(server) as client:  # the same without QUIT, a few bytes at a time
        step = 1 if len(said) < 100 else 65536
        for i in range(0, len(said), step):
            client.sendall(said[i : i + step])
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == GREETING + answered


def test_half_commands(server):
    for said, answered in (
        (b"READ version", b"200 Read handler 'version' OK\r\nDATA 3\r\n2.1"),
        (b"WRITEDATA s.set 9\nx", b"500 Not enough data\r\n"),
        (b"READUNTIL s.run\n1 2", b"500 Connection closed\r\n"),
    ):
        with connect(server) as client:
            client.sendall(said)
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == GREETING + answered


def test_endless_line(server):
    with connect(server) as client:
        with contextlib.suppress(OSError):
            for _ in range(40):
                client.sendall(b"A" * 65536)
        assert read_all(client) == GREETING + b"500 Line too long\r\n"


def test_slow_clients_block_nobody(server):
    """Clients that send much and read nothing, and clients in the middle of a command."""
    lazy = [connect(server) for _ in range(4)]
    for client in lazy:
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(2000):
                client.send(b"READ classes\n" * 100)
    half = connect(server)
    half.sendall(b"WRITEDATA s.set 1000000\nx")
    with connect(server) as client:
        client.sendall(b"READ version\nQUIT\n")
        assert b"2.1200 Goodbye" in read_all(client)
    for client in [*lazy, half]:
        client.close()


def test_many_clients(server):
    clients = [connect(server) for _ in range(100)]
    for client in clients:
        client.sendall(b"READ version\nQUIT\n")
    assert all(read_all(client).endswith(b"2.1200 Goodbye!\r\n") for client in clients)
    for client in clients:
        client.close()


def test_idle_clients_lock_nobody_out(server):
    """Whoever has said nothing for longest makes room; who talks stays."""
    talking = connect(server)
    assert talking.recv(64) == GREETING
    idle = []
    for _ in range(300):
        idle.append(connect(server))
        assert idle[-1].recv(64) == GREETING
        talking.sendall(b"READ version\n")
        assert talking.recv(4096).startswith(b"200")
    for client in idle[:40]:
        assert client.recv(64) == b""
    talking.sendall(b"QUIT\n")
    assert read_all(talking).endswith(b"200 Goodbye!\r\n")
    idle[-1].sendall(b"QUIT\n")
    assert read_all(idle[-1]) == b"200 Goodbye!\r\n"
    for client in idle:
        client.close()


def test_clients_take_all_descriptors(heddle, tmp_path):
    path = str(tmp_path / "socket")
    limited = Program(heddle.path, ["prlimit", "--nofile=64"])
    with serving(limited, "-u", path):
        clients = [connect(path) for _ in range(120)]
        with connect(path) as client:
            client.sendall(b"QUIT\n")
            assert read_all(client) == GREETING + b"200 Goodbye!\r\n"
        for each in clients:
            each.close()


def test_stop_through_the_socket(heddle, tmp_path):
    path = str(tmp_path / "socket")
    with serving(heddle, "-u", path) as running:
        with connect(path) as client:
            client.sendall(b"WRITE stop\n")
            assert read_all(client) == GREETING + b"200 Write handler 'stop' OK\r\n"
        assert running.wait().code == 0
    assert not os.path.exists(path)


def test_a_socket_file_is_its_users_own(heddle, tmp_path):
    path = str(tmp_path / "socket")
    with serving(heddle, "-u", path):
        connect(path).close()
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        err = heddle.fails("run", "-e", CHAIN, "-u", path)  # somebody listens
        assert "another program listens" in err
        connect(path).close()
    assert not os.path.exists(path)
    with heddle.start("run", "-e", CHAIN, "-u", path) as running:
        connect(path).close()
        running.process.kill()
        running.wait()
    assert os.path.exists(path)  # what a dead process leaves is replaced
    with serving(heddle, "-u", path):
        connect(path).close()
    with heddle.start("run", "-e", CHAIN, "-u", path) as first:
        connect(path).close()
        os.remove(path)
        with serving(heddle, "-u", path):
            connect(path).close()
            assert first.interrupt().code == 0
            connect(path, 0).close()  # the end of the first does not take the socket of the second away
    (tmp_path / "file").write_text("mine")
    assert "in use" in heddle.fails("run", "-e", CHAIN, "-u", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_tcp_is_loopback_only(heddle):
    port = free_port()
    with serving(heddle, "-p", port):
        connect(("127.0.0.1", port)).close()
        with pytest.raises(OSError), connect(("127.0.0.2", port), 0.1):
            pass
        assert "in use" in heddle.fails("run", "-e", CHAIN, "-p", port)


def test_readonly_and_configuration(heddle, tmp_path):
    path = str(tmp_path / "socket")
    with (
        serving(heddle, chain=f'{CHAIN}; ControlSocket("UNIX", "{path}", READONLY true)'),
        connect(path) as client,
    ):
        client.sendall(b"WRITE q.reset\nCHECKWRITE q.reset\nREAD q.length\nQUIT\n")
        assert read_all(client) == (
            GREETING
            + b"530 Permission denied for 'q.reset'\r\n" * 2
            + b"200 Read handler 'q.length' OK\r\nDATA 1\r\n0200 Goodbye!\r\n"
        )
    for proxy in ("q", "nobody"):
        failure = heddle.fails("run", "-e", f"{CHAIN}; ControlSocket(tcp, 7777, PROXY {proxy})")
        assert f"PROXY: there is no element '{proxy}'" in failure
    assert "tcp, unix or socket" in heddle.fails("run", "-e", f"{CHAIN}; ControlSocket(pipe, 7777)")
    assert "1 to 65535" in heddle.fails("run", "-e", f"{CHAIN}; ControlSocket(tcp, 0)")


def test_a_proxy_answers_for_elements(heddle, tmp_path):
    """Click's PROXY: handlers of all elements are asked of one, those of the router are not."""
    path = str(tmp_path / "socket")
    script = (
        'goto write $write, returnq "<$0|$args>", label write, goto bad $(ne $0 gone.size), write q.capacity $args, end,'
        ' label bad, errorq "no such thing"'
    )
    chain = f'{CHAIN}; p :: Script(TYPE PROXY, {script}); c :: ControlSocket(UNIX, "{path}", PROXY p)'
    with serving(heddle, chain=chain), connect(path) as client:
        client.sendall(
            b"READ q.capacity\nREAD gone/x.add 1  2\nWRITE gone.size 9\nWRITE q.capacity 3\nREAD version\nCHECKREAD a.b\n"
            b"READ nothing\nREADDATA a.b 3\nx y\nQUIT\n"
        )
        answer = lambda name, data: f"200 Read handler '{name}' OK\r\nDATA {len(data)}\r\n{data}"
        assert read_all(client).decode() == (
            GREETING.decode()
            + answer("q.capacity", "<q.capacity|>")
            + answer("gone/x.add", "<gone/x.add|1  2>")
            + "200 Write handler 'gone.size' OK\r\n"
            + "520-Write handler 'q.capacity' error:\r\n520 no such thing\r\n"
            + answer("version", "2.1")
            + "200 Read handler 'a.b' OK\r\n"
            + "511 No handler named 'nothing'\r\n"
            + answer("a.b", "<a.b|x y>")
            + "200 Goodbye!\r\n"
        )


def test_a_proxy_stays_over_a_reconfiguration(heddle, tmp_path):
    path = str(tmp_path / "socket")
    chain = f"""{CHAIN}; p :: Script(TYPE PROXY, returnq "{{}} $0"); c :: ControlSocket(UNIX, "{path}", PROXY p{{}})"""
    with serving(heddle, "-R", "-u", tmp_path / "other", chain=chain.format("first", "")), connect(path) as client:
        other = Control(tmp_path / "other")
        reader = client.makefile("rb")
        assert reader.readline() == GREETING

        def read(name):
            client.sendall(f"READ {name}\n".encode())
            assert reader.readline().startswith(b"200 ")
            return reader.read(int(reader.readline().split()[1])).decode()

        assert read("a.b") == "first a.b"
        other.write("hotconfig", chain.format("second", ""))
        assert read("a.b") == "second a.b"
        assert "PROXY" in other.refused(chain.format("third", "x"))
        assert read("a.b") == "second a.b"


def test_what_changes_in_a_reconfiguration(heddle, tmp_path):
    """Clients stay at a file that stays, and find the new READONLY and PROXY; another file takes the place of the one
    before, whose clients are told and let go."""
    path, moved = str(tmp_path / "socket"), str(tmp_path / "moved")
    chain = f'{CHAIN}; p :: Script(TYPE PROXY, returnq "<$0>"); c :: ControlSocket(UNIX, {{}})'
    with serving(heddle, "-R", "-u", tmp_path / "other", chain=chain.format(f'"{path}"')):
        other, client = Control(tmp_path / "other"), Control(path)
        inode = os.stat(path).st_ino
        client.write("q.reset")
        client.write("hotconfig", chain.format(f'"{path}", READONLY true'))
        assert client.command("WRITE q.reset")[0] == 530
        for manners, value in ((", PROXY p", "<q.capacity>"), (", VERBOSE true", "7"), (", RETRIES 3", "7")):
            other.write("hotconfig", chain.format(f'"{path}"{manners}'))
            assert client.read("q.capacity") == value
        assert "PROXY" in other.refused(chain.format(f'"{path}", PROXY nobody, READONLY true'))
        client.write("hotconfig", chain.format(f'"{path}"'))  # which is the one before's to allow
        assert os.stat(path).st_ino == inode
        client.write("hotconfig", chain.format(f'"{moved}"'))
        assert client.file.readline() == b""
        wait_until(lambda: not os.path.exists(path), 60, "the end of the former socket")
        assert Control(moved).read("c.config").startswith(f'UNIX, "{moved}"')
        # One without a name is another one, which finds the file taken.
        unnamed = chain.replace("c ::", "").format(f'"{moved}", VERBOSE true')
        assert "a ControlSocket of the former chain" in other.refused(unnamed)
        assert Control(moved).read("q.capacity") == "7"


def test_ports_that_change_in_a_reconfiguration(heddle, tmp_path):
    first, second = free_port(), free_port()
    chain = f"{CHAIN}; c :: ControlSocket(tcp, {{}})"
    with serving(heddle, "-R", "-u", tmp_path / "other", chain=chain.format(first)):
        other = Control(tmp_path / "other")
        assert "LOCALHOST cannot change while the port stays" in other.refused(
            chain.format(f"{first}, LOCALHOST false")
        )
        assert other.read("c.port") == str(first)
        connect(("127.0.0.1", first)).close()
        other.write("c.config", f"tcp, {second}")
        assert other.read("c.port") == str(second)
        with connect(("127.0.0.1", second)) as client:
            client.sendall(b"READ q.capacity\nQUIT\n")
            assert b"DATA 1\r\n7" in read_all(client)

        def refused():
            with contextlib.suppress(ConnectionRefusedError):
                connect(("127.0.0.1", first), 0).close()
                return False
            return True

        wait_until(refused, 60, "the end of the former port")


def test_names_of_the_programs_own_elements_are_its_own(heddle, tmp_path):
    """Those that the command line asks for are called click_driver@@ControlSocket, @1 ..."""
    chain = "click_driver@@ControlSocket@0 :: Idle -> Discard"
    err = heddle.fails("run", "-e", chain, "-u", tmp_path / "socket")
    assert "<expression>:1:1: element name 'click_driver@@ControlSocket@0' begins as those of control sockets" in err
    flat = heddle.ok("flatten", "-e", "Discard@3 :: Discard; Idle@2 :: Idle; Idle -> Discard; Idle@2 -> Discard@3").out
    names = [line.split(" ::")[0] for line in flat.splitlines() if " :: " in line]
    assert len(names) == len(set(names)) == 4


def test_global_handlers(heddle, tmp_path):
    path = str(tmp_path / "socket")
    chain = "require(click); i :: Idle -> q :: Queue(7) -> u :: Unqueue -> d :: Discard;"
    with serving(heddle, "-u", path, chain=chain), connect(path) as client:
        text = client.makefile("rwb")
        assert text.readline() == GREETING

        def read(name):
            text.write(b"READ " + name.encode() + b"\n")
            text.flush()
            assert text.readline().startswith(b"200 ")
            return text.read(int(text.readline().split()[1])).decode()

        assert read("config") == chain
        assert read("flatconfig") == (
            "i :: Idle;\nq :: Queue(7);\nu :: Unqueue;\nd :: Discard;\n\ni -> q\n    -> u\n    -> d;\n"
        )
        assert read("requirements") == "click\n"
        assert "click\n" in read("packages")
        assert read("list").splitlines()[:5] == ["5", "i", "q", "u", "d"]
        assert "Queue\n" in read("classes")
        assert read("load").startswith("0 0.")
        assert {"version", "stop", "flatconfig"} <= {line.split("\t")[0] for line in read("handlers").splitlines()}


def test_metrics_agree_with_the_report(heddle):
    chain = f"FromDump({TRAFFIC}) -> c :: CheckIPHeader(14) -> Discard; DriverManager(pause 60)"
    number = len(captures.frames(TRAFFIC))
    with heddle.start_ready("run", "--json", "-e", chain) as running:
        port = running.metrics_port
        wait_until(lambda: running.metric("heddle_received_packets_total") == number, what="the packets")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT_S) as reply:
            lines = dict(line.rsplit(" ", 1) for line in reply.read().decode().splitlines() if line[0] != "#")
        with pytest.raises(OSError), connect(("127.0.0.2", port), 0.1):
            pass
        report = running.interrupt().json
    labels = 'element="c",class="CheckIPHeader"'
    assert report["received"] == number == float(lines["heddle_received_packets_total"])
    assert float(lines["heddle_received_bytes_total"]) == report["received_bytes"]
    entry = next(e for e in report["elements"] if e["name"] == "c")
    assert float(lines[f"heddle_packets_total{{{labels}}}"]) == entry["packets"] == number
    assert float(lines[f"heddle_bytes_total{{{labels}}}"]) == entry["bytes"]
    assert float(lines[f'heddle_drops_total{{{labels},reason="bad_version"}}']) == entry["drops"]["bad_version"] == 26
    assert 'heddle_thread_load{thread="0"}' in lines
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "in use" in heddle.fails("run", "-e", chain, "--metrics", taken.getsockname()[1])


def test_idle_clients_of_the_metrics_lock_nobody_out(heddle):
    port = free_port()
    with heddle.start("run", "--quiet", "-e", CHAIN + "; DriverManager(pause 2)", "--metrics", port) as running:
        idle = [connect(("127.0.0.1", port)) for _ in range(300)]
        for client in idle[::3]:
            with contextlib.suppress(OSError):  # some have been closed
                client.sendall(b"GET /metrics HTTP/1.1\r\n")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT_S) as reply:
            assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"heddle_received_packets_total 0\n" in reply.read()
        for client in idle:
            client.close()
        assert running.interrupt().code == 0


@pytest.mark.parametrize(
    ("request_bytes", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 404 Not Found\r\n"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 405 Method Not Allowed\r\n"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n"),
        (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", b"HTTP/1.1 200 OK\r\n"),
        (b"x" * 20000, b"HTTP/1.1 431 Request Header Fields Too Large\r\n"),
        (b"\r\n\r\n", b"HTTP/1.1 405 Method Not Allowed\r\n"),
        (b"GET\r\n\r\n", b"HTTP/1.1 405 Method Not Allowed\r\n"),
        (b"GET \r\n\r\n", b"HTTP/1.1 404 Not Found\r\n"),
    ],
)
def test_requests_to_the_metrics(heddle, request_bytes, answer):
    port = free_port()
    with heddle.start("run", "--quiet", "-e", CHAIN + "; DriverManager(pause 2)", "--metrics", port) as running:
        with connect(("127.0.0.1", port)) as client:
            client.sendall(request_bytes)
            client.shutdown(socket.SHUT_WR)
            assert read_all(client).startswith(answer)
        assert running.interrupt().code == 0
