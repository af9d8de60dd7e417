"""The example programs: they build, and do what their first lines say."""

import collections
import subprocess

import pytest
from scapy.layers.inet import IP
from whole import captures, oracles
from whole.program import CHAINS, program_path

TRAFFIC = CHAINS / "traffic.pcap"


def example(name, *args):
    program = program_path().parent / "examples" / name
    if not (program_path().parent / "CMakeCache.txt").is_file():
        pytest.skip("examples are not part of a bundle")
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, check=False, timeout=120)


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
