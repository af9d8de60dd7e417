"""The program as a whole: without root, signals, terminal and pipe, variables, threads, and nothing left behind."""

import itertools
import os
import pathlib
import pty
import select
import signal
import stat
import subprocess
import tempfile

import pytest
from whole import captures
from whole.program import CHAINS, ROOT, Program, Report, as_nobody, environment, quoted, wait_until

TRAFFIC = CHAINS / "traffic.pcap"
NULL = "FromDPDKDevice(net_null0) -> c :: Counter -> ToDPDKDevice(net_null0)"
NULL_MIRROR = "FromDPDKDevice(net_null0) -> EtherMirror -> ToDPDKDevice(net_null0)"


@pytest.fixture(scope="session")
def nobody(heddle):
    """The program as a user without privileges runs it."""
    for folder in [heddle.path, *heddle.path.parents]:
        if os.geteuid() == 0 and not folder.stat().st_mode & stat.S_IXOTH:
            pytest.skip(f"others than root cannot reach {folder}")
    return Program(heddle.path, as_nobody())


@pytest.fixture
def open_folder(tmp_path):
    """A folder that everyone may write to."""
    everyones = pathlib.Path(tempfile.gettempdir())
    for folder in itertools.takewhile(lambda f: f != everyones and f != f.parent, [tmp_path, *tmp_path.parents]):
        if folder.owner() == pathlib.Path.home().owner() or os.geteuid() == 0:
            folder.chmod(folder.stat().st_mode | 0o755)
    tmp_path.chmod(0o777)
    return tmp_path


@pytest.fixture(scope="module")
def large_capture(tmp_path_factory):
    """A capture that takes a while: 200 MB in a sparse file would do, but every record must be one."""
    path = tmp_path_factory.mktemp("large") / "large.pcap"
    body = captures.pcap(captures.packets_of([bytes(60)]))
    head, record = body[:24], body[24:] * 10000
    with path.open("wb") as file:
        file.write(head)
        for _ in range(200):
            file.write(record)
    yield path
    path.unlink()


# ---- without root


def test_captures_without_root(nobody, open_folder, mode):
    out = open_folder / "out.pcap"
    report = nobody.run(f"FromDump({TRAFFIC}) -> EtherMirror -> EtherMirror -> ToDump({quoted(out)})", *mode)
    report.assert_accounted()
    assert captures.read(out) == captures.read(TRAFFIC)


@pytest.mark.parametrize("device", ["net_null0", "net_ring0"])
def test_virtual_ports_without_root(nobody, device, mode):
    chain = f"FromDPDKDevice({device}) -> c :: Counter -> EtherMirror -> ToDPDKDevice({device})"
    report = nobody.run(chain, "--time", "0.3", *mode)
    report.assert_accounted()
    assert (report.received > 1000) == (device == "net_null0")
    assert report.count("c") == report.received


def test_a_ring_gives_back_what_it_was_given(nobody, open_folder):
    out = open_folder / "out.pcap"
    chain = (
        f"FromDump({TRAFFIC}, BURST 32) -> XOR -> ToDPDKDevice(net_ring0); "  # as fast as the ring is emptied
        f"FromDPDKDevice(net_ring0) -> XOR -> ToDump({quoted(out)})"
    )
    report = nobody.run(chain, "--time", "1")
    packets = captures.read(TRAFFIC)
    assert captures.frames(out) == [p.data for p in packets]
    assert report.received == 2 * len(packets) and report.dropped == 0


def test_kernel_interfaces_without_root_are_an_error(nobody):
    if nobody.prefix == [] and os.geteuid() == 0:
        pytest.skip("cannot give root up")
    err = nobody.fails("run", "-e", 'FromDPDKDevice("net_tap0,iface=hdnobody0") -> Discard', "--time", "1")
    assert "root" in err or "permitted" in err or "denied" in err, err


# ---- the end of a run


def assert_interrupted(running):
    wait_until(lambda: running.metric("heddle_received_packets_total") > 0, what="packets")
    result = running.interrupt()
    assert result.code == 0, result
    report = Report(result.json)
    report.assert_accounted()
    return report


def test_interrupt_within_a_large_capture(heddle, large_capture, tmp_path):
    """SIGINT ends a run cleanly: exit code 0, and the output is a whole capture of what was processed."""
    out = tmp_path / "out.pcap"
    chain = f"FromDump({quoted(large_capture)}) -> XOR -> XOR -> ToDump({quoted(out)})"
    # At most one core's worth of ToDump: with simt the run takes far longer than it takes to see its first packets.
    with heddle.start_ready("run", "--json", "-e", chain, "--device", "simt", "--launch", "sync") as running:
        report = assert_interrupted(running)
    assert 0 < report.received < 2_000_000
    assert out.stat().st_size == 24 + report.received * 76
    assert len(captures.frames(out)) == report.received


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_ports(heddle, number, mode):
    with heddle.start_ready("run", "--json", "-e", NULL_MIRROR, *mode) as running:
        wait_until(lambda: running.metric("heddle_received_packets_total") > 0, what="packets")
        running.signal(number)
        result = running.wait()
    assert result.code == 0 and result.err == "", result
    report = Report(result.json)
    report.assert_accounted()
    assert report.received > 0


def test_interrupt_while_a_pipe_is_silent(heddle):
    chain = "FromDump(-) -> Discard"
    with heddle.start_ready("run", "--json", "-e", chain, stdin=subprocess.PIPE) as running:
        running.process.stdin.write(captures.pcap(captures.packets_of([bytes(60)] * 3))[:-1])
        running.process.stdin.flush()
        wait_until(lambda: running.metric("heddle_received_packets_total") == 2, what="the whole packets")
        running.signal(signal.SIGINT)
        assert running.process.wait(60) == 0
        running.process.stdin.close()
        running.process.stdin = None
        assert Report(running.wait().json).received == 2


def test_time_limit(heddle):
    report = heddle.run(NULL, "--time", "0.5")
    assert report.all["wall_s"] >= 0.5
    report.assert_accounted()
    heddle.run(f"FromDump({TRAFFIC}) -> Discard", "--time", "3600")  # sources that end are not waited for


# ---- threads


@pytest.mark.parametrize("end", ["time", "SIGTERM", "DriverManager"])
def test_a_loop_through_a_queue_ends(heddle, end):
    chain = 'InfiniteSource(LIMIT 1) -> q :: Queue(1) -> Unqueue -> q; Script(print "running")'
    if end == "DriverManager":
        chain += "; DriverManager(wait 0.1s)"
    with heddle.start("run", "--json", "-e", chain, *(["--time", "0.1"] if end == "time" else [])) as running:
        assert running.process.stdout.readline() == b"running\n"
        if end == "SIGTERM":
            running.signal(signal.SIGTERM)
        result = running.wait()
    assert result.code == 0, result
    report = Report(result.json)
    assert report.received == report.one("q")["statistics"].get("left", 0) + report.dropped


@pytest.mark.parametrize("threads", [2, 4])
def test_threads(heddle, threads, mode):
    report = heddle.run(NULL_MIRROR, "-j", threads, "--time", "0.4", *mode)
    report.assert_accounted()
    assert report.received > 1000


def test_threads_share_an_output(heddle, tmp_path):
    out = tmp_path / "out.pcap"
    report = heddle.run(
        f"FromDPDKDevice(net_null0) -> ToDump({quoted(out)}); FromDump({TRAFFIC}) -> Discard",
        *("-j", 2, "--time", 0.05),
    )
    assert len(captures.frames(out)) == report.one("ToDump")["packets"] > 0


def test_a_capture_with_many_threads(heddle, tmp_path):
    heddle.run(f"FromDump({TRAFFIC}) -> EtherMirror -> ToDump({quoted(tmp_path / 'out')})", "-j", 4)
    assert len(captures.read(tmp_path / "out")) == len(captures.read(TRAFFIC))


def test_too_many_threads_for_a_port(heddle):
    result = heddle("run", "-e", 'FromDPDKDevice("net_ring0") -> Discard', "-j", "64", "--time", "0.1")
    assert result.code == 1 and "thread" in result.err, result


# ---- chains on the command line


def test_variables(heddle, tmp_path):
    chain = f"define($N 14, $OUT {tmp_path}/default); FromDump($IN) -> Strip($N) -> ToDump($OUT)"
    frames = captures.frames(TRAFFIC)
    heddle.run(chain, f"IN={TRAFFIC}")
    assert captures.frames(tmp_path / "default") == [data[14:] for data in frames]
    heddle.run(chain, f"IN={TRAFFIC}", "N=4", f"OUT={tmp_path}/mine")
    assert captures.frames(tmp_path / "mine") == [data[4:] for data in frames]
    assert "$IN" in heddle.fails("run", "-e", chain)
    assert "NAME=VALUE" in heddle.fails("run", "-e", chain, f"IN={TRAFFIC}", "novalue")


def test_chain_from_file_or_standard_input(heddle, tmp_path):
    chain = b"FromDump($IN) -> Counter -> Discard"
    (tmp_path / "a.click").write_bytes(chain)
    for args in (["-"], ["-f", "-"], [tmp_path / "a.click"], ["-f", tmp_path / "a.click"], ["-e", chain.decode()]):
        result = heddle.ok("run", "--json", *args, f"IN={TRAFFIC}", input=chain)
        assert result.json["received"] == len(captures.frames(TRAFFIC))


def test_compound_elements(heddle, tmp_path):
    chain = (
        "elementclass Twice { $key | input -> XOR($key) -> XOR($key) -> output };"
        f"FromDump({TRAFFIC}) -> Twice(7) -> both :: {{ input -> EtherMirror -> EtherMirror -> output }} "
        f"-> ToDump({quoted(tmp_path / 'out')})"
    )
    report = heddle.run(chain)
    assert captures.read(tmp_path / "out") == captures.read(TRAFFIC)
    assert any(e["name"].startswith("both/") for e in report.all["elements"])


# ---- what is printed where


def run_on_terminal(heddle, *args):
    """Runs with a terminal as standard error; returns what it showed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        heddle.command(args), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=follower, env=environment()
    )
    os.close(follower)
    shown = b""
    try:
        while select.select([leader], [], [], 60)[0]:
            try:
                part = os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return shown.decode()


def test_progress_on_a_terminal_only(heddle):
    args = ["run", "-e", NULL, "--time", "1.3"]
    shown = run_on_terminal(heddle, *args)
    assert shown.count("\r") >= 2 and "Mpps" in shown and "packets" in shown
    assert shown.endswith("\r\x1b[K")  # it cleans up after itself
    assert run_on_terminal(heddle, *args, "--quiet") == ""
    assert "\r" not in heddle.ok(*args).out


def test_quiet_and_table(heddle):
    args = ["run", "-e", f"FromDump({TRAFFIC}) -> in :: Counter -> CheckIPHeader(14) -> Discard"]
    assert heddle.ok(*args, "--quiet").out == ""
    lines = heddle.ok(*args).out.splitlines()
    number = len(captures.frames(TRAFFIC))
    octets = sum(len(data) for data in captures.frames(TRAFFIC))
    assert lines[0].split() == ["element", "class", "on", "packets", "bytes"]
    assert any(line.split()[:5] == ["in", "Counter", "cpu", str(number), str(octets)] for line in lines)
    assert any("dropped:bad_version 26" in line for line in lines)
    assert lines[-1].startswith(f"received {number}, dropped 26")


def test_simt_is_named_in_the_report(heddle):
    out = heddle.ok("run", "-e", f"FromDump({TRAFFIC}) -> EtherMirror -> Discard", "--device", "simt").out
    assert "ran on simt" in out and "for tests" in out


def test_help(heddle):
    for args in (["--help"], ["run", "--help"], ["plan", "--help"], ["routes", "--help"]):
        assert "Usage" in heddle.ok(*args).out


# ---- nothing is left


def leftovers():
    places = [ROOT, pathlib.Path("/tmp"), pathlib.Path("/dev/hugepages"), pathlib.Path("/dev/shm")]
    places += [pathlib.Path("/var/run/dpdk"), pathlib.Path(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")) / "dpdk"]
    words = ("rte", "dpdk", "heddle", "core", "rtemap", "simt")
    return {
        str(path)
        for place in places
        if place.is_dir() and os.access(place, os.R_OK)
        for path in place.iterdir()
        if any(path.name.startswith(word) for word in words) or place.name == "dpdk"
    }


def test_no_files_are_left(heddle, nobody):
    before = leftovers()
    for program in (heddle, nobody):
        program.run(NULL, "--time", "0.1")
        program.run("FromDPDKDevice(net_ring0) -> EtherMirror -> ToDPDKDevice(net_ring0)", "--time", "0.1")
    with heddle.start_ready("run", "-e", NULL) as running:
        assert running.alive()
        running.process.kill()
        running.process.wait()
    assert leftovers() == before
