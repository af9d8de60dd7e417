"""Runs the program under test."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHAINS = ROOT / "chains"
TIMEOUT_S = 120

# A sanitizer that finds something ends the program with this, which no test expects.
SANITIZED = {"ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "exitcode=99:halt_on_error=1"}

# Every way to run the functions of a chain here.
MODES = {
    "cpu": ["--device", "cpu"],
    "simt-sync": ["--device", "simt", "--launch", "sync"],
    "simt-persistent": ["--device", "simt", "--launch", "persistent"],
}


def program_path():
    return pathlib.Path(os.environ.get("HEDDLE_BIN") or ROOT / "build/cpu/heddle").resolve()


class Result:
    """What a finished run left: exit code, and output as bytes (`raw`) and text."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.raw = args, code, out
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"heddle {' '.join(self.args)}\nexit code {self.code}\n{self.out[-2000:]}\n{self.err[-4000:]}"


class Program:
    """Callable: heddle("run", ...) runs the program to its end; a run that takes too long is killed and fails."""

    def __init__(self, path, prefix=()):
        self.path, self.prefix = path, list(prefix)

    def command(self, args):
        return [*self.prefix, str(self.path), *map(str, args)]

    def __call__(self, *args, timeout=TIMEOUT_S, input=b"", env=None, cwd=ROOT):
        done = subprocess.run(
            self.command(args),
            check=False,
            input=input,
            capture_output=True,
            timeout=timeout,
            cwd=cwd,
            env=environment(env),
        )
        return Result(list(map(str, args)), done.returncode, done.stdout, done.stderr)

    def ok(self, *args, **options):
        """The same, and the run must succeed in silence."""
        result = self(*args, **options)
        assert result.code == 0, result
        assert result.err == "", result
        return result

    def run(self, chain, *args, **options):
        """Runs a chain given as text, successfully; returns its report."""
        return Report(self.ok("run", "--json", "-e", chain, *args, **options).json)

    def fails(self, *args, code=1, **options):
        """The run must end with an error that is not a crash, and say why; returns the messages."""
        result = self(*args, **options)
        assert result.code == code, result
        assert result.err.strip(), result
        return result.err

    def start(self, *args, **options):
        return Running(self.command(args), list(map(str, args)), **options)

    def start_ready(self, *args, **options):
        """The same of `run`; returns when its ports receive, or it has ended."""
        port = free_port()
        running = self.start(*args, "--metrics", port, **options)
        running.metrics_port = port
        wait_until(lambda: not running.alive() or answers(port), TIMEOUT_S, "the start")
        return running


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    """Whether the metrics are there, which they are when the program has started; waits while it starts."""
    try:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as client:
            client.sendall(b"HEAD /metrics HTTP/1.1\r\n\r\n")
            return client.recv(1) == b"H"
    except OSError:
        return False


def environment(more=None):
    return {**os.environ, **SANITIZED, **(more or {})}


class Running:
    """A run in progress; `with` ends it in any case."""

    def __init__(self, command, args, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        self.args = args
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment(), **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def alive(self):
        return self.process.poll() is None

    def metric(self, metric, /, **labels):
        """A number of a run that start_ready() has started; those that are not there yet are 0."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=TIMEOUT_S) as reply:
            lines = dict(line.rsplit(" ", 1) for line in reply.read().decode().splitlines() if line[0] != "#")
        wanted = {f'{label}="{value}"' for label, value in labels.items()}
        parts = {tuple(re.split("[{,}]", key)): float(value) for key, value in lines.items()}
        found = [value for (name, *of), value in parts.items() if name == metric and wanted <= set(of)]
        assert len(found) < 2, (metric, labels, lines)
        return found[0] if found else 0

    def packets(self, element):
        return self.metric("heddle_packets_total", element=element)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=TIMEOUT_S):
        out, err = self.process.communicate(timeout=timeout)
        return Result(self.args, self.process.returncode, out or b"", err or b"")

    def interrupt(self, timeout=TIMEOUT_S):
        """SIGINT; returns the result."""
        self.signal(signal.SIGINT)
        return self.wait(timeout)


class Report:
    """`heddle run --json`, asked by element name or class."""

    def __init__(self, report):
        self.all = report
        self.received, self.dropped, self.problems = report["received"], report["dropped"], report["problems"]

    def elements(self, word):
        return [e for e in self.all["elements"] if word in (e["name"], e["class"])]

    def one(self, word):
        found = self.elements(word)
        assert len(found) == 1, (word, self.all)
        return found[0]

    def drops(self, word):
        return self.one(word)["drops"]

    def count(self, word):
        return self.one(word)["statistics"]["count"]

    def ended(self):
        """Packets that reached an element without outputs, and were not dropped by it."""
        ends = [
            e
            for c in ("ToDump", "ToIPSummaryDump", "ToDPDKDevice", "ToDevice", "ToGPUPort", "Discard")
            for e in self.elements(c)
        ]
        return sum(e["packets"] - sum(e["drops"].values()) for e in ends)

    def assert_accounted(self):
        assert self.received == self.ended() + self.dropped, self.all


def as_nobody():
    """A prefix that runs the program without privileges."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []


def quoted(path):
    """A path as an argument of an element."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def read_handler(path, name):
    """A handler's value over the ControlSocket at `path` (`heddle run -u`); None while nobody listens there yet."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(TIMEOUT_S)
        try:
            client.connect(str(path))
        except OSError:
            return None
        client.sendall(f"READ {name}\nQUIT\n".encode())
        answer = b"".join(iter(lambda: client.recv(65536), b"")).decode()
    found = re.search(r"^DATA (\d+)\r\n", answer, re.MULTILINE)
    assert found, answer
    return answer[found.end() :][: int(found[1])]


def wait_for_count(path, name, least):
    """Returns when the handler, a number, is at least so much."""
    wait_until(lambda: int(read_handler(path, name) or 0) >= least, 60, f"{name} >= {least}")


def wait_until(condition, seconds=60, what="the condition"):
    end, pause = time.monotonic() + seconds, 0.0005
    while not condition():
        assert time.monotonic() < end, f"{what} did not come true within {seconds} s"
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def mistakes(heddle, chain, *args):
    """The error lines as (line, column, message)."""
    err = heddle.fails("check", "-f", "-", *args, input=chain.encode())
    lines = err.splitlines()
    found = [re.fullmatch(r"-:(\d+):(\d+): (.*)", line) for line in lines[:-1]]
    assert all(found), err
    assert re.fullmatch(rf"heddle: {len(found)} mistakes? in the chain; nothing was started", lines[-1]), err
    return [(int(m[1]), int(m[2]), m[3]) for m in found]
