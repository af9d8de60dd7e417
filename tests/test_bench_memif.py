"""`heddle bench` of a router in another process, which it reaches over memif."""

import contextlib

import pytest
from whole.measured import BOUNCE, median, records
from whole.program import wait_until


@contextlib.contextmanager
def measured_over_memif(heddle, tmp_path, *args):
    """`heddle bench` of two sockets, to which `heddle run` is connected; yields both."""
    ends = [tmp_path / "in.sock", tmp_path / "out.sock"]
    command = ["--memif", ends[0], "--memif", f"{ends[1]}:receive", *args]
    with heddle.start("bench", *command, "--no-pin", "--drain", "0.5", "--repetitions", "2") as bench:
        wait_until(lambda: all(end.exists() for end in ends) or not bench.alive(), 60, "sockets")
        assert {end.stat().st_mode & 0o077 for end in ends} == {0}
        devices = [f'"net_memif{i},role=client,socket-abstract=no,socket={end}"' for i, end in enumerate(ends)]
        chain = f"FromDPDKDevice({devices[0]}) -> EtherMirror -> ToDPDKDevice({devices[1]})"
        with heddle.start_ready("run", "-e", chain) as router:
            yield bench, router, chain
    assert not any(end.exists() for end in ends)


def test_a_router_in_another_process(heddle, tmp_path):
    file = tmp_path / "out.jsonl"
    args = ["--rate", "5k", "--sweep", "size=64,512", "--generators", "2", "--trial", "0.1", "--json", file]
    with measured_over_memif(heddle, tmp_path, *args) as (bench, router, chain):
        result = bench.wait()
        assert router.interrupt().code == 0
    assert result.code == 0 and f"heddle run -e '{chain.replace('EtherMirror -> ', '')}'" in result.err, result
    assert [r["parameters"]["size"] for r in records(file)] == [64, 512]
    for record in records(file):
        assert median(record, "loss") == 0 and median(record, "latency_p50_us") > 0
        assert not {"cycles_per_packet", "cpu_utilisation"} & record["values"].keys()
        assert not {"cores", "device", "batch"} & record["parameters"].keys()  # nobody knows


def test_a_router_in_another_process_goes(heddle, tmp_path):
    with measured_over_memif(heddle, tmp_path, "--trial", "30") as (bench, router, _):
        wait_until(lambda: router.metric("heddle_received_packets_total") > 100, what="packets")
        router.interrupt()
        result = bench.wait()
    assert result.code == 1 and "the router has disconnected" in result.err, result


def test_a_router_with_small_buffers(heddle, tmp_path):
    """DPDK's memif driver makes other frames of those that do not fit."""
    end = tmp_path / "a.sock"
    with heddle.start("bench", "--memif", end, "--sweep", "size=64,4000", "--generators", "2", "--no-pin") as bench:
        wait_until(lambda: end.exists() or not bench.alive(), 60, "the socket")
        device = f"net_memif0,role=client,socket-abstract=no,socket={end},bsize=2048"
        with heddle.start("run", "-e", f'FromDPDKDevice("{device}") -> ToDPDKDevice(net_memif0)'):
            result = bench.wait()
    assert result.code == 1, result
    assert "the router has buffers of 2048 bytes, but frames have up to" in result.err, result


def test_no_router_connects(heddle, tmp_path):
    socket_file = tmp_path / "a.sock"
    with heddle.start("bench", "--memif", socket_file) as bench:
        wait_until(socket_file.exists, 60, "the socket")
        result = bench.interrupt()
    assert result.code == 130 and not socket_file.exists(), result


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([BOUNCE], "give no chain here"),
        (["--cores", "2"], "cores: with --memif that is a matter of the other process"),
        (["--sweep", "batch=32,64"], "batch: with --memif"),
        (["--generators", "3"], "at most 2"),
        (["--packets", "5000"], "are for chains"),
        (["PORT=1"], "give no chain here"),
        (["--memif", "/dev/null"], "/dev/null: it exists"),
        (["--memif", "/tmp/b.sock,role=client"], "none of , :"),
        (["--memif", "b.sock:recieve"], "only :receive may follow"),
        (["--memif", ""], "is not empty"),
        (["--memif", "/tmp/b.sock", "--memif", "/tmp/../tmp/b.sock"], "a socket of its own"),
        (["--memif", "/nowhere/a.sock"], "/nowhere/a.sock: cannot be made there: No such file"),
        (["--memif", "/tmp/" + 110 * "a"], "at most 107 bytes"),
    ],
)
def test_mistakes_of_memif(heddle, tmp_path, args, expected):
    assert expected in heddle.fails("bench", "--memif", tmp_path / "a.sock", *args)


def test_memif_that_nothing_is_sent_to(heddle):
    assert "packets must be sent somewhere" in heddle.fails("bench", "--memif", "/tmp/a.sock:receive")
