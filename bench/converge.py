"""How long the kernel's routes take to steer a router that forwards meanwhile: `bench/converge.py HEDDLE [ROUTES]`, as
root.

In a network namespace of its own the kernel gets ROUTES (default 1,000,000) routes by `ip -batch`, as a routing daemon
would give them; KernelRoutes tells them to a DirectIPLookup through which an InfiniteSource pushes packets without a
pause. Then all of them move to another interface. Prints, for each of the two changes: how long the kernel itself took;
how long until the router had the last one, counted from the first; and packets forwarded a second meanwhile, beside
those before.
"""

import contextlib
import ipaddress
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from whole.control import Control
from whole.program import wait_until

CHAIN = """rt :: DirectIPLookup(0.0.0.0/0 2); k :: KernelRoutes(rt, d0 0, d1 1);
s :: InfiniteSource(LENGTH 60) -> MarkIPHeader -> GetIPAddress(16) -> rt; rt[0] -> c :: Counter -> Discard; rt[1] -> c; rt[2] -> c;
StaticThreadSched(s 1);"""


def prefixes(count):
    """Different networks of the lengths that the Internet's have; the last is the last in order, too."""
    chance, found = random.Random(1), set()
    while len(found) < count:
        length = chance.choice([24] * 12 + [23, 22, 22, 21, 20, 19, 16])
        address = chance.randrange(1 << 24, 224 << 24) >> (32 - length) << (32 - length)
        if address >> 24 != 127:
            found.add((address, length))
    last = max(found)
    return [str(ipaddress.ip_network(each)) for each in [*(found - {last}), last]]


def rate(control, seconds):
    before, start = int(control.read("c.count")), time.monotonic()
    time.sleep(seconds)
    return (int(control.read("c.count")) - before) / (time.monotonic() - start)


def measure(control, inside, lines, done, what):
    idle = rate(control, 1)
    packets, start = int(control.read("c.count")), time.monotonic()
    subprocess.run([*inside, "ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)
    kernel_s = time.monotonic() - start
    wait_until(done, 600, f"{what}: the router's last route")
    all_s = time.monotonic() - start
    meanwhile = (int(control.read("c.count")) - packets) / all_s
    print(
        f"{what}: {len(lines)} routes: the kernel {kernel_s:.2f} s, the router {all_s:.2f} s; "
        f"{meanwhile / 1e6:.2f} of {idle / 1e6:.2f} Mpps meanwhile",
        flush=True,
    )


def main():
    heddle, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    name = f"hdc{os.getpid()}"
    inside = ["ip", "netns", "exec", name]
    routes = prefixes(count)
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        subprocess.run(["ip", "netns", "add", name], check=True)
        stack.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        for i in range(2):
            call = lambda *words: subprocess.run([*inside, "ip", *words], check=True)
            call("link", "add", f"d{i}", "type", "veth", "peer", "name", f"p{i}")
            for device in (f"d{i}", f"p{i}"):
                call("link", "set", device, "up")
            call("address", "add", f"10.9.{i}.1/24", "dev", f"d{i}")
        path = f"{folder}/socket"
        router = subprocess.Popen([*inside, heddle, "run", "--quiet", "-j", "2", "-u", path, "-e", CHAIN])
        stack.callback(router.wait)
        stack.callback(router.terminate)
        wait_until(lambda: router.poll() is not None or os.path.exists(path), what="the router's socket")
        if router.poll() is not None:
            sys.exit(f"{heddle} has ended with {router.returncode}")
        control = Control(path)

        def reached(output):
            # Changes that come together are told in the order of prefixes, those that come later after them. None is
            # within the last.
            return (
                int(control.read("k.routes")) >= count
                and control.read(f"rt.lookup {ipaddress.ip_network(routes[-1])[-1]}").split()[0] == output
            )

        measure(control, inside, [f"route add {p} via 10.9.0.7" for p in routes], lambda: reached("0"), "new")
        measure(control, inside, [f"route replace {p} via 10.9.1.7" for p in routes], lambda: reached("1"), "moved")


if __name__ == "__main__":
    main()
