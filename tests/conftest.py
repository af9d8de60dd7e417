"""Whole-program tests: they run the `heddle` program as its users do.

$HEDDLE_BIN: the program, default build/cpu/heddle. $HEDDLE_TEST_DATA: a folder of further captures and tables; tests
that want it are skipped without. Tests with network namespaces need root.
"""

import ctypes
import os
import pathlib
import subprocess

import pytest
from whole.chains import run_chain
from whole.program import CHAINS, MODES, ROOT, Program, program_path

CLONE_NEWNET = 0x40000000  # sched.h


def pytest_configure():
    """Tests beside other tests (xdist's workers) have a network namespace for each worker: an AF_PACKET socket sees
    every interface of its namespace until it is bound, and the names of interfaces and DPDK's fanout groups are a
    namespace's own."""
    if os.geteuid() != 0 or "PYTEST_XDIST_WORKER" not in os.environ:
        return
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return  # a container that has no right to; the test that needs an interface says what it lacks
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@pytest.fixture(scope="session")
def heddle():
    path = program_path()
    if not path.is_file():
        pytest.exit(f"{path} does not exist; build it (`make`), or name it in $HEDDLE_BIN", returncode=2)
    return Program(path)


@pytest.fixture
def heddle_bench(heddle):
    places = [heddle.path.parent / "bench/heddle_bench", heddle.path.parent / "heddle_bench"]
    for place in places:
        if place.is_file():
            return place
    pytest.skip("needs heddle_bench beside heddle; sanitizer builds have none")


@pytest.fixture(params=MODES)
def mode(request):
    """Command-line options of each backend in turn."""
    return MODES[request.param]


@pytest.fixture(scope="session")
def test_data():
    folder = os.environ.get("HEDDLE_TEST_DATA")
    if not folder or not os.path.isdir(folder):
        pytest.skip("needs $HEDDLE_TEST_DATA, a folder of captures and tables")
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root, for network namespaces and devices")


@pytest.fixture
def ran(heddle, tmp_path):
    return lambda name, *options: run_chain(heddle, name, tmp_path / "out", *options)


@pytest.fixture
def demonstration_keys():
    """Git keeps no modes; a file of keys must be its owner's alone."""
    (ROOT / "build").mkdir(exist_ok=True)
    keys = ROOT / "build/ipsec.keys"
    made = keys.with_name(f"ipsec.keys.{os.getpid()}")
    made.write_bytes((CHAINS / "ipsec.keys").read_bytes())
    made.chmod(0o600)
    made.replace(keys)  # another worker may be reading it


@pytest.fixture
def place(tmp_path):
    """Where sockets go: their paths have 107 bytes at most."""
    folder = f"/tmp/hd{os.getpid()}"
    os.makedirs(folder, exist_ok=True)
    yield folder
    for name in os.listdir(folder):
        os.remove(f"{folder}/{name}")
    os.rmdir(folder)
