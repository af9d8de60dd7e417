"""FromDPDKDevice and ToDPDKDevice over memif: programs without privileges that hand packets to each other through
shared memory."""

import contextlib
import os

import pytest
from whole import captures
from whole.program import Program, Report, as_nobody, quoted, wait_for_count, wait_until


def nobody(heddle):
    return Program(heddle.path, as_nobody())


def unix_sockets():
    with open("/proc/net/unix", encoding="ascii") as file:
        return file.read()


def test_memif_between_two_programs(heddle):
    """Large packets through shared memory, neither program privileged."""
    user = nobody(heddle)
    out = f"/tmp/hd{os.getpid()}.pcap"
    socket = f"/tmp/hd{os.getpid()}.memif"
    port = f'"net_memif0,role=%s,socket={socket}"'
    data = "\\<" + (bytes.fromhex("020000007702020000007701 0800".replace(" ", "")) + bytes(range(100))).hex() + ">"
    sender = f"RatedSource(DATA {data}, LENGTH 3000, RATE 2000) -> d :: ToDPDKDevice({port % 'server'})"
    receiver = f"FromDPDKDevice({port % 'client'}) -> c :: Counter -> ToDump({out})"
    try:
        with user.start_ready("run", "--json", "-e", sender) as server:
            wait_until(lambda: os.path.exists(socket) or socket in unix_sockets(), what="memif")
            with user.start("run", "--json", "-e", receiver) as client:
                wait_until(lambda: os.path.exists(out) and os.path.getsize(out) > 600 * 3016, 60, "the frames")
                got = client.interrupt()
            sent = server.interrupt()
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(socket)
        frames = captures.frames(out)
        os.remove(out)
    assert (got.code, sent.code) == (0, 0), (got, sent)
    report = Report(got.json)
    report.assert_accounted()
    assert len(frames) == report.count("c") > 500
    assert {len(data) for data in frames} == {3000}
    whole = (bytes.fromhex("0200000077020200000077010800") + bytes(range(100))) * 27
    assert set(frames) == {whole[:3000]}


@pytest.mark.parametrize("sender", ["client", "server"])
def test_memif_with_frames_of_mixed_sizes(heddle, tmp_path, sender):
    sizes, out = [60, 1500, 3000, 5000, 9000], tmp_path / "out.pcap"
    device = f'"net_memif0,role=%s,socket-abstract=no,socket={tmp_path}/memif.sock"'
    one, two = (device % role for role in ("server", "client"))
    receive, send_to = (one, two) if sender == "client" else (two, one)
    sources = "".join(f"RatedSource(LENGTH {size}, RATE 3000) -> d; " for size in sizes)
    chains = {
        receive: f"FromDPDKDevice({receive}) -> ToDump({quoted(out)})",
        send_to: f"d :: ToDPDKDevice({send_to}); {sources}",
    }
    with heddle.start("run", "--json", "-e", chains[one]) as server:
        wait_until((tmp_path / "memif.sock").exists, 60, "the socket")
        with heddle.start("run", "--json", "-e", chains[two]) as client:
            # A ring has 1024 places: it is gone round several times.
            wait_until(lambda: out.exists() and out.stat().st_size > 40_000_000, 60, "the frames")
            results = [client.interrupt()]
        results.append(server.interrupt())
    assert [result.code for result in results] == [0, 0], results
    frames = captures.frames(out)
    assert {len(data) for data in frames} == set(sizes)
    whole = max(frames, key=len)
    assert all(data == whole[: len(data)] for data in frames)


def test_memif_refuses_frames_that_do_not_fit(heddle, tmp_path):
    device = f"net_memif0,role=%s,socket-abstract=no,socket={tmp_path}/memif.sock"
    control = str(tmp_path / "control")
    sender = (
        f'd :: ToDPDKDevice("{device % "server"}"); RatedSource(LENGTH 2000, RATE 1000) -> d; '
        "RatedSource(LENGTH 2045, RATE 1000) -> long :: Counter -> d"
    )
    receiver = f'FromDPDKDevice("{device % "client"},bsize=2048") -> c :: Counter -> Discard'
    with heddle.start("run", "--json", "-e", sender) as server:
        wait_until((tmp_path / "memif.sock").exists, 60, "the socket")
        with heddle.start("run", "--json", "-u", control, "-e", receiver) as client:
            wait_for_count(control, "c.count", 501)
            got = Report(client.interrupt().json)
        sent = Report(server.interrupt().json)
    assert got.one("c")["bytes"] == 2000 * got.count("c")
    assert sent.drops("d")["too_long"] == sent.count("long")


def test_memif_peers_come_and_go_under_load(heddle, tmp_path):
    """DPDK's driver takes the memory away in the middle of bursts; memory for packets does not run out."""
    arguments = f"socket-abstract=no,socket={tmp_path}/memif.sock"
    mine, theirs = (f'"net_memif0,role={role},{arguments}"' for role in ("server", "client"))
    control = tmp_path / "control"
    server, client = (
        f"FromDPDKDevice({p}) -> c :: Counter -> Discard; InfiniteSource -> ToDPDKDevice({p})" for p in (mine, theirs)
    )
    with heddle.start("run", "--json", "-e", server) as running:
        wait_until((tmp_path / "memif.sock").exists, 60, "the socket")
        for _ in range(8):
            with heddle.start("run", "--json", "-u", control, "-e", client) as peer:
                wait_for_count(control, "c.count", 1001)
                result = peer.interrupt()
            assert running.alive() and result.code == 0, result
        result = running.interrupt()
    assert result.code == 0, result
    report = Report(result.json)
    assert report.received > 8000
    report.assert_accounted()


def test_memif_without_a_server_is_an_error(heddle):
    chain = f'FromDPDKDevice("net_memif0,role=client,socket=/tmp/hd{os.getpid()}.none") -> Discard'
    assert "role=server" in nobody(heddle).fails("run", "-e", chain)
