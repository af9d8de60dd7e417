"""The program under the name `click`, and Click's switches."""

import os
import re
import socket
import subprocess

import pytest
from whole import captures
from whole.program import CHAINS, Program

TRAFFIC = CHAINS / "traffic.pcap"
QUEUE = "Idle -> q :: Queue($N) -> Unqueue -> d :: Discard; define($N 5); q2 :: Queue(6); Idle -> q2 -> Discard"
ENDS = QUEUE + "; DriverManager"


@pytest.fixture(params=["click", "heddle run"])
def click(request, heddle, tmp_path):
    """The program by either name."""
    if request.param == "click":
        link = tmp_path / "bin/click"
        link.parent.mkdir()
        link.symlink_to(heddle.path)
        return Program(link, heddle.prefix)
    return lambda *args, **options: heddle("run", *args, **options)


def test_the_build_makes_the_link(heddle):
    assert (heddle.path.parent / "click").resolve() == heddle.path


def test_handlers_at_the_end(click):
    one = click("-e", ENDS, "-h", "q.capacity")
    assert (one.code, one.out, one.err) == (0, "5\n", "")
    several = click("-e", ENDS, "-h", "q.capacity", "-h", "d.class", "N=8")
    assert several.out == "q.capacity:\n8\n\nd.class:\nDiscard\n\n"
    for pattern in ("Queue.capacity", "q*.capacity"):
        assert click("-e", ENDS, "-h", pattern).out == "q.capacity:\n5\n\nq2.capacity:\n6\n\n"
    assert click("-e", ENDS, "-h", "version").out == "2.1\n"
    for wrong, why in (("q.nosuch", "No handler"), ("nobody.count", "no element 'nobody'"), ("q.reset", "write-only")):
        result = click("-e", ENDS, "-h", wrong)
        assert result.code == 1 and result.out == "" and why in result.err, result


def test_exit_handler(click):
    for value, code in (("3", 3), ("true", 0), ("false", 1), ("what", 255)):
        result = click("-e", f"s :: Script(export x {value}, stop)", "-x", "s.x")
        assert result.code == code, result


def test_quit_does_not_run(click):
    result = click("-q", "-h", "q.capacity", "-e", "Script(print 'ran'); " + QUEUE)
    assert (result.code, result.out) == (0, "5\n")
    assert click("-q", "-e", "Nonsense").code == 1


def test_output_is_the_flat_configuration(click, tmp_path):
    chain = f"elementclass Pair {{ input -> a :: Counter -> b :: Counter -> output }}; FromDump({TRAFFIC}) -> Pair -> Discard"
    result = click("-q", "-o", tmp_path / "flat", "-e", chain, "-u", tmp_path / "socket")
    assert result.code == 0 and result.out == "", result
    flat = (tmp_path / "flat").read_text()
    assert "Pair@2/a :: Counter;" in flat and "ControlSocket" not in flat
    assert click("-q", "-o", "-", "-f", tmp_path / "flat").out == flat  # reading it gives it again
    assert click("-q", "-o", tmp_path / "no/such", "-e", chain).code == 1


def test_time_switch(click):
    assert re.fullmatch(r"\d+\.\d{3}u \d+\.\d{3}s \d+:\d\d\.\d\d\n", click("-q", "-t", "-e", QUEUE).out)


def test_switches_that_are_accepted_or_refused(click):
    assert click("-w", "-C", "/nowhere", "-j", "1", "-q", "-e", QUEUE).code == 0
    assert click("-R", "-q", "-e", QUEUE, "-h", "reconfigurations").out == "0 0\n"
    for version in ("-V", "-v", "--version"):
        result = click(version)
        assert result.code == 0 and "Click 2.1" in result.out
    assert click("-e", QUEUE, "-e", QUEUE).code != 0
    assert click("--help").code == 0


def test_operands_in_any_order(click, tmp_path):
    (tmp_path / "a.click").write_text(ENDS)
    for words in (["N=4", tmp_path / "a.click"], [tmp_path / "a.click", "N=4"], ["N=4", "-f", tmp_path / "a.click"]):
        assert click(*words, "-h", "q.capacity").out == "4\n"
    assert click(tmp_path / "a.click", tmp_path / "a.click").code == 1


@pytest.mark.parametrize("arguments", [["--no-huge", "-m", "64", "--"], ["--no-huge -m 64"]])
def test_dpdk_arguments(click, arguments):
    chain = "FromDPDKDevice(net_null0) -> Discard"
    result = click("--dpdk", *arguments, "-e", chain, "--time", "0.1")
    assert result.code == 0 and result.err == "", result
    assert click("--dpdk", "--nonsense", "--", "-e", chain, "--time", "0.1").code == 1


@pytest.mark.parametrize("words", ["-l {}", "-l{}", "-c {:#x}", "--lcores {}", "--lcores={}"])
def test_dpdk_cores_are_those_of_packet_threads(click, words):
    core = max(os.sched_getaffinity(0))
    words = words.format(1 << core if words.startswith("-c") else core)
    chain = "FromDPDKDevice(net_null0) -> Discard; Script(print $(cat /proc/self/status), wait 0.1s, stop)"
    result = click("--dpdk", words, "-e", chain)
    assert result.code == 0 and result.err == "", result
    assert re.search(r"^Cpus_allowed_list:\t(.*)$", result.out, re.MULTILINE)[1] == str(core)


def test_click_is_quiet_and_reads_standard_input(heddle):
    click = Program(heddle.path.parent / "click", heddle.prefix)
    result = click(input=f"FromDump({TRAFFIC}) -> c :: Counter -> Discard".encode())
    assert (result.code, result.out, result.err) == (0, "", "")
    assert click("--nonsense").code == 1
    with click.start("-e", 'FromDPDKDevice(net_null0) -> Discard; Script(print "running")') as running:
        assert running.process.stdout.readline() == b"running\n"
        result = running.interrupt()
    assert (result.code, result.out) == (0, ""), result


def test_bytes_in_the_report(heddle):
    report = heddle.run(f"FromDump({TRAFFIC}) -> c :: Counter -> Strip(14) -> d :: Discard")
    frames = captures.frames(TRAFFIC)
    octets = sum(len(frame) for frame in frames)
    assert report.all["received_bytes"] == report.one("c")["bytes"] == octets
    assert report.one("d")["bytes"] == octets - 14 * len(frames)


def test_click_options_of_the_driver(click, tmp_path):
    assert click("-a", "-q", "-e", QUEUE).code == 0 and click("--affinity", "-q", "-e", QUEUE).code == 0
    assert re.fullmatch(r"\d+\.\d{3}u \d+\.\d{3}s \d+:\d\d\.\d\d\n", click("--time", "-q", "-e", QUEUE).out)
    assert click("-e", "FromDPDKDevice(net_null0) -> Discard", "--time", "0.05").code == 0


def test_the_next_free_port(click):
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    result = click("-e", f"c :: ControlSocket(tcp, {port}+); Script(print $(c.port), stop)")
    with taken:
        assert result.code == 0 and port < int(result.out.split()[0]) < port + 100, result
    result = click("-p", f"{port}+", "-e", "Script(stop)")
    assert result.code == 0, result
    assert click("-p", "70000+", "-e", QUEUE).code != 0 and click("-p", "x", "-e", QUEUE).code != 0


def test_control_by_an_open_socket(heddle):
    ours, theirs = socket.socketpair()
    command = [*heddle.prefix, heddle.path, "run", "--quiet", "--socket", str(theirs.fileno()), "-e", QUEUE]
    with ours, theirs, subprocess.Popen(command, pass_fds=[theirs.fileno()], env={**os.environ}) as running:
        ours.settimeout(60)
        ours.sendall(b"READ q2.capacity\r\nWRITE stop\r\n")
        said = b""
        while b"DATA 1\r\n6" not in said:
            said += ours.recv(4096)
        assert said.startswith(b"Click::ControlSocket/1.3\r\n")
        assert running.wait(60) == 0
    assert heddle("run", "--socket", "0", "-e", QUEUE, input=b"").code == 1


def test_libraries(click, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/pair.click").write_text('require(library "more/one.click") elementclass Pair { -> One -> One -> }')
    (tmp_path / "lib/more").mkdir()
    (tmp_path / "lib/more/one.click").write_text("elementclass One { -> c :: Counter -> }")
    chain = "require(library pair.click, library pair.click) InfiniteSource(LIMIT 3) -> p :: Pair -> Discard"
    assert click("-C", f"/nowhere:{tmp_path}/lib", "-e", chain, "-h", "p/One@2/c.count").out == "3\n"
    (tmp_path / "lib/here.click").write_text(chain)
    assert click(tmp_path / "lib/here.click", "-h", "p/One@1/c.count").out == "3\n"
    assert "library 'pair.click' cannot be read" in click("-e", chain).err
    assert "cannot be read" in click("-e", "require(library /)").err
