"""The example programs: they build, and do what their first lines say."""

import collections
import contextlib
import subprocess

import pytest
from scapy.layers.inet import IP
from whole import captures, memif, oracles
from whole.gpu_ports import SIMT
from whole.program import CHAINS, Report, program_path, wait_until

TRAFFIC = CHAINS / "traffic.pcap"


def command(name, *args):
    if not (program_path().parent / "CMakeCache.txt").is_file():
        pytest.skip("examples are not part of a bundle")
    return [program_path().parent / "examples" / name, *map(str, args)]


def example(name, *args):
    return subprocess.run(command(name, *args), capture_output=True, text=True, check=False, timeout=120)


@contextlib.contextmanager
def started(name, *args):
    """An example that runs; ended with the test."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command(name, *args), **pipes) as running:
        try:
            yield running
        finally:
            running.kill()


def mirror(heddle, path):
    """A chain that sends back what comes by the memif socket at `path`."""
    port = f"FromGPUPort(a, SOCKET {path}, ROLE server)"
    return heddle.start("run", "--json", "-e", f"{port} -> EtherMirror -> ToGPUPort(a)", *SIMT)


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_protocols_are_counted(device):
    counts, valid = collections.Counter(), 0
    packets = captures.read(TRAFFIC)
    for packet in packets:
        if oracles.valid_for_scapy(packet.data):
            ip = IP(packet.data[14:])
            counts["inside" if ip.dst.startswith("10.") else "outside", ip.proto] += 1
            valid += 1
    done = example("protocols", TRAFFIC, device)
    assert done.returncode == 0, done.stderr
    wanted = [f"{where}: protocol {proto}: {count} packets" for (where, proto), count in sorted(counts.items())]
    last = f"{len(packets)} packets received, {len(packets) - valid} dropped"
    assert len(wanted) > 4 and done.stdout.splitlines() == [*wanted, last]


def test_mistakes_are_told():
    done = example("protocols", TRAFFIC, "gpu17")
    assert done.returncode == 1 and done.stderr.startswith("protocols: ")
    done = example("protocols", "/does/not/exist")
    assert done.returncode == 1 and "/does/not/exist" in done.stderr
    assert example("protocols").returncode == 2


def test_the_ring_client_sends_frames_there_and_back(heddle, tmp_path):
    with mirror(heddle, tmp_path / "a.sock") as running:
        done = example("ring_client", tmp_path / "a.sock", 5000)  # waits for the port
        result = running.interrupt()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "5000 frames there and back, connections: 1\n"
    assert result.code == 0 and Report(result.json).one("EtherMirror")["packets"] == 5000, result


def test_the_ring_client_goes_on_with_another_peer(heddle, tmp_path):
    path = tmp_path / "a.sock"
    with memif.Listener(path) as listener, started("ring_client", path, 3000) as client:
        with listener.accept() as peer:  # sends ten back, and goes with what else it has
            frames = []
            wait_until(lambda: frames.extend(peer.receive()) or len(frames) >= 1000, what="frames")
            peer.send_all(frames[:10])
            # The client has taken them when it has given their buffers back; its head began at 1024.
            wait_until(lambda: peer.out[0].head == 1034, what="ten to be taken")
        listener.socket.close()
        path.unlink()
        with mirror(heddle, path) as running:
            out, err = client.communicate(timeout=120)
            result = running.interrupt()
    assert client.returncode == 0, err
    assert out == "3000 frames there and back, connections: 2\n"
    assert Report(result.json).one("EtherMirror")["packets"] == 2990, result


def test_the_ring_client_refuses_other_frames(tmp_path):
    path = tmp_path / "a.sock"
    with memif.Listener(path) as listener, started("ring_client", path, 3000) as client, listener.accept() as peer:
        frames = []
        wait_until(lambda: frames.extend(peer.receive()) or len(frames) >= 2, what="frames")
        peer.send_all([frames[1]])
        _, err = client.communicate(timeout=120)
    assert client.returncode == 1 and "frame 0 was to come, and one of 64 bytes has, number 1" in err
    assert example("ring_client").returncode == 2
