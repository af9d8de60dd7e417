"""How long a new configuration holds packets up: `bench/reconfigure.py HEDDLE [OPTION...]`.

Each chain runs under a load that it cannot keep up with, its tables are filled, and then `hotconfig` puts a chain with
the same names in its place, twenty times (the first element's class alternates, so none is left out as the same).
Prints how long packet threads stood still, median and longest, and how long the handler took. OPTIONs go to
`heddle run`, as `-j 2` or `--device gpu`.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from whole.control import Control
from whole.program import wait_until

TIMES = 20
FLOWS = "f :: FastUDPFlows(0, -1, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.0.0.2, %d, 1000000) -> "
IP = "f :: InfiniteSource(LENGTH 64, BURST 64) -> MarkIPHeader(14) -> "
# Name: the chain; a handler and the least it must read before the changes begin.
CHAINS = {
    "an overfull queue": (
        "f :: InfiniteSource(LENGTH 60, BURST 256) -> q :: Queue(1000) -> Unqueue -> d :: Discard;",
        ("d.count", 100_000),
    ),
    "router, 500,000 routes": (
        IP + "GetIPAddress(30) -> rt :: DirectIPLookup(FILE {routes}); rt[0] -> d :: Discard; rt[1] -> d; "
        "rt[2] -> d; rt[3] -> d;",
        ("d.count", 100_000),
    ),
    "NAT, 65,536 mappings": (
        FLOWS
        % 65_536
        + "Strip(14) -> MarkIPHeader -> r :: UDPRewriter(pattern 192.0.2.1-192.0.2.9 1024-65535 - - 0 1, "
        "drop); Idle -> [1]r; r[0] -> d :: Discard; r[1] -> Discard;",
        ("r.nmappings", 60_000),
    ),
    "flow table, 1,000,000 flows": (
        FLOWS % 1_000_000 + "MarkIPHeader(14) -> t :: FlowTable(CAPACITY 1000000) -> FlowCounter(t) -> d :: Discard;",
        ("t.flows", 800_000),
    ),
    "switch, 400,000 addresses": (
        "f :: RandomSource(60, BURST 64) -> l :: L2Switch(CAPACITY 1000000); l[0] -> d :: Discard; l[1] -> Discard;",
        ("l.count", 400_000),
    ),
}


def changed(chain, i):
    """Another text with the same elements, as an editor would make it."""
    return chain + f" Idle -> extra{i % 2} :: Discard;"


def measure(heddle, name, chain, ready, options, folder):
    path = f"{folder}/socket"
    words = [heddle, "run", "-R", "--quiet", "-u", path, *options, "-e", chain]
    router = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: router.poll() is not None or os.path.exists(path), what="the router's socket")
        if router.poll() is not None:
            sys.exit(f"{name}: {heddle} has ended with {router.returncode}")
        control = Control(path)
        handler, least = ready
        wait_until(lambda: int(control.read(handler)) >= least, 60, f"{name}: {handler} of {least}")
        still, whole = [], []
        for i in range(TIMES):
            start = time.monotonic()
            control.write("hotconfig", changed(chain, i))
            whole.append(1e3 * (time.monotonic() - start))
            still.append(float(control.read("reconfigurations").split()[1]) / 1e3)
        print(
            f"{name}: threads stood still for {statistics.median(still):.1f} ms, {max(still):.1f} at most; "
            f"the handler took {statistics.median(whole):.0f} ms",
            flush=True,
        )
    finally:
        router.terminate()
        router.wait()


def main():
    heddle, options = os.path.abspath(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        routes = f"{folder}/routes"
        subprocess.run([heddle, "gen", "routes", "-n", "500000", "-o", routes], check=True, stdout=subprocess.DEVNULL)
        for name, (chain, ready) in CHAINS.items():
            measure(heddle, name, chain.replace("{routes}", routes), ready, options, folder)


if __name__ == "__main__":
    main()
