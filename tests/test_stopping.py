"""Programs can be stopped, whatever they read or wait for."""

import os
import random
import signal
import subprocess
import time

import pytest
from whole import captures
from whole.captures import packets_of
from whole.control import Control
from whole.program import Report, quoted, wait_until

LIMIT = ["--time", "0.2"]
STOPPED_WHILE_READING = "heddle: stopped by a signal while the chain was read; nothing was started\n"


def endless(text):
    """A pipe that `text` comes out of without end."""
    return subprocess.Popen(["yes", text], stdout=subprocess.PIPE)


@pytest.mark.parametrize("line", ["# comment", "!data ip_src", ""])
def test_lines_that_make_no_packet(heddle, line):
    with endless(line) as source:
        chain = "FromIPSummaryDump(-) -> Discard"
        with heddle.start("run", "--json", "-e", chain, *LIMIT, stdin=source.stdout) as running:
            result = running.wait()
        source.kill()
    assert result.code == 0 and Report(result.json).received == 0, result


def test_a_summary_without_lines(heddle):
    err = heddle.fails("run", "--quiet", "-e", "FromIPSummaryDump(/dev/zero) -> Discard", *LIMIT)
    assert "/dev/zero:1: no !data line before" in err


def test_records_that_make_no_packet(heddle):
    """An endless capture of packets that are not IP."""
    chain = "FromDump(-, FORCE_IP true) -> Discard"
    with heddle.start("run", "--json", "-e", chain, *LIMIT, stdin=subprocess.PIPE) as running:
        data = captures.pcap(packets_of([b"\0" * 60]))
        with pytest.raises(BrokenPipeError):
            running.process.stdin.write(data[:24])
            while True:
                running.process.stdin.write(data[24:] * 1000)
                running.process.stdin.flush()
        running.process.stdin = None
        result = running.wait()
    assert result.code == 0 and Report(result.json).one("FromDump")["statistics"]["not_ip"] > 0, result


CAPTURE = captures.pcapng(packets_of([bytes(60)]))
# A section of the other byte order has come but for its last byte; then, a block that holds no packet has come.
OTHER_SECTION = bytes.fromhex("0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c".replace(" ", ""))
OTHER_BLOCK = (99).to_bytes(4, "little") + (12).to_bytes(4, "little") * 2


@pytest.mark.parametrize(
    ("arrived", "packets"),
    [
        (b"", 0),
        (captures.pcap([])[:3], 0),
        (captures.pcap([])[:20], 0),
        (CAPTURE[:11], 0),
        (CAPTURE[:27], 0),
        (CAPTURE[:40], 0),
        (CAPTURE + OTHER_SECTION[:-1], 1),
        (CAPTURE + OTHER_BLOCK, 1),
    ],
)
@pytest.mark.parametrize("how", ["signal", "time"])
def test_a_capture_that_has_not_come_whole(heddle, arrived, packets, how):
    limit = ["--time", "2"] if how == "time" else []
    with heddle.start("run", "--json", "-e", "FromDump(-) -> Discard", *limit, stdin=subprocess.PIPE) as running:
        running.process.stdin.write(arrived)
        running.process.stdin.flush()
        if how == "signal":
            wait_until(lambda: catches(running.process.pid, signal.SIGINT), what="the program's handlers")
            running.signal(signal.SIGINT)
        running.process.wait(60)  # the pipe is open
        running.process.stdin.close()
        running.process.stdin = None
        result = running.wait()
        if how == "signal" and result.code == 128 + signal.SIGINT:  # so early that the chain was still being read
            assert result.err == STOPPED_WHILE_READING
            return
        assert result.code == 0, result
        report = Report(result.json)
    assert report.received == packets or (how == "signal" and report.received == 0)


@pytest.mark.parametrize("chain", ["FromDump({})", "FromIPSummaryDump({})"])
def test_a_named_pipe_that_nobody_writes_to(heddle, tmp_path, chain):
    os.mkfifo(tmp_path / "pipe")
    report = heddle.run(chain.format(quoted(tmp_path / "pipe")) + " -> Discard", *LIMIT)
    assert report.received == 0


def test_a_named_pipe(heddle, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with heddle.start("run", "--json", "-e", f"FromDump({quoted(pipe)}) -> Discard") as running:
        with open(pipe, "wb") as file:
            file.write(captures.pcap(packets_of([bytes(60)] * 3)))
        result = running.wait()
    assert result.code == 0 and Report(result.json).received == 3, result


def test_what_is_wrong_with_the_header_of_a_pipe(heddle):
    chain = "FromDump(-) -> Discard"
    assert "'-' is not a capture: it starts with 47 49 46 38" in heddle.fails("run", "-e", chain, input=b"GIF89a" * 9)
    assert "'-' is empty" in heddle.fails("run", "-e", chain)
    assert "link type 113" in heddle.fails("run", "-e", chain, input=captures.pcap([], link=113))


def tees(number):
    """Tees in a row, each of which gives both its copies to the next one."""
    chain = "InfiniteSource(LIMIT 1) -> t0; "
    for i in range(number):
        chain += f"t{i} :: Tee; t{i}[0, 1] => [0, 0] n{i} :: Null -> " + (f"t{i + 1}; " if i + 1 < number else "d; ")
    return chain + "d :: Discard"


def test_tees_in_a_row(heddle):
    assert heddle.run(tees(6)).one("d")["packets"] == 64
    err = heddle.fails("check", "-e", tees(27))
    assert "a packet becomes 8192 copies from here on, at most 4096 are possible" in err


# ---- while tables load


def catches(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_while_tables_load(heddle, tmp_path, number):
    pipe = tmp_path / "routes"
    os.mkfifo(pipe)
    chain = f"InfiniteSource -> GetIPAddress(30) -> DirectIPLookup(FILE {quoted(pipe)}) -> Discard"
    with heddle.start("run", "--json", "-e", chain) as running, open(pipe, "w", encoding="ascii"):  # it is being read
        running.signal(number)
        result = running.wait()
    assert result.code == 128 + number, result
    assert result.err == STOPPED_WHILE_READING


def test_hangup_while_tables_load(heddle, tmp_path):
    """It is remembered: the routes are read again when the program runs."""
    pipe, later = tmp_path / "routes", tmp_path / "later"
    os.mkfifo(pipe)
    later.write_text("0.0.0.0/1 0\n")
    chain = f"InfiniteSource(LIMIT 5, LENGTH 60) -> GetIPAddress(30) -> l :: DirectIPLookup(FILE {quoted(pipe)})"
    with heddle.start("run", "--quiet", "-e", chain + " -> Discard; DriverManager(wait 30, stop)") as running:
        with open(pipe, "w", encoding="ascii") as file:
            later.rename(pipe)
            running.signal(signal.SIGHUP)
            file.write("0.0.0.0/0 0\n")
        assert running.process.stderr.readline() == b"heddle: l: reloaded\n"
        assert running.interrupt().code == 0


def large_firewall(count):
    """Rules of which any structure takes long to build."""
    rng = random.Random(1)

    def prefix():
        length = rng.choice([0, 0, 4, 8, 16, 24])
        return f"{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}.0/{length}"

    def ports():
        low, high = sorted(rng.sample(range(65536), 2))
        return f"{low} : {high}"

    return "".join(f"@{prefix()} {prefix()} {ports()} {ports()} 0x00/0x00 deny\n" for _ in range(count))


@pytest.mark.parametrize("by_signal", [True, False])
def test_a_signal_ends_a_long_reload(heddle, tmp_path, by_signal):
    """Whoever has asked for it: the rules stay, and all that has been dropped is in the report."""
    file = tmp_path / "rules"
    file.write_text("@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00 allow\n")
    chain = f"Idle -> CheckIPHeader(14) -> f :: Firewall(RULES {quoted(file)}, ENGINE hypersplit, MEMORY 100000, DEFAULT deny) -> Discard"
    with heddle.start("run", "--json", "-u", tmp_path / "control", "-e", chain) as running:
        control = Control(tmp_path / "control")
        assert control.read("f.count") == "1"
        file.write_text(large_firewall(20000))
        if by_signal:
            running.process.send_signal(signal.SIGHUP)
        else:
            control.socket.sendall(b"WRITE f.reload x\r\n")
        time.sleep(1.5)
        begun = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        result = running.wait()
    assert time.monotonic() - begun < 5
    assert result.code == 0 and Report(result.json).one("f")["statistics"]["rules"] == 1
    if by_signal:
        assert "f: the program is about to end; the rules stay as they are" in result.err
