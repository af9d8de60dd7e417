"""How long the kernel's routes take to steer a router that forwards meanwhile: `bench/converge.py HEDDLE [ROUTES]`, as root.

In a network namespace of its own the kernel gets ROUTES (default 1,000,000) routes by `ip -batch`, as a routing daemon would give them;
KernelRoutes tells them to a DirectIPLookup through which an InfiniteSource pushes packets without a pause. Then all of them move to
another interface. Prints, for each of the two changes: how long the kernel itself took; how long until the router had the last one,
counted from the first; and packets forwarded a second meanwhile, beside those before.
"""

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time

CHAIN = """rt :: DirectIPLookup(0.0.0.0/0 2); k :: KernelRoutes(rt, d0 0, d1 1);
s :: InfiniteSource(LENGTH 60) -> MarkIPHeader -> GetIPAddress(16) -> rt; rt[0] -> c :: Counter -> Discard; rt[1] -> c; rt[2] -> c;
StaticThreadSched(s 1);"""


class Control:
    """A ControlSocket's reads."""

    def __init__(self, path):
        while True:
            with contextlib.suppress(OSError):
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.connect(path)
                break
            time.sleep(0.05)
        self.file = self.socket.makefile("rb")
        self.file.readline()

    def read(self, handler):
        self.socket.sendall(f"READ {handler}\r\n".encode())
        line = self.file.readline()
        if not line.startswith(b"200"):
            raise RuntimeError(line.decode())
        return self.file.read(int(re.search(rb"\d+", self.file.readline())[0])).decode()


def prefixes(count):
    """Different networks of the lengths that the Internet's have."""
    chance, found = random.Random(1), set()
    while len(found) < count:
        length = chance.choice([24] * 12 + [23, 22, 22, 21, 20, 19, 16])
        found.add((chance.randrange(1 << 24, 224 << 24) >> (32 - length) << (32 - length), length))
    return [f"{a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255}/{length}" for a, length in found if a >> 24 != 127]


def rate(control, seconds):
    before, start = int(control.read("c.count")), time.monotonic()
    time.sleep(seconds)
    return (int(control.read("c.count")) - before) / (time.monotonic() - start)


def measure(control, inside, lines, done, what):
    idle = rate(control, 1)
    packets, start = int(control.read("c.count")), time.monotonic()
    kernel = subprocess.Popen([*inside, "ip", "-batch", "-"], stdin=subprocess.PIPE, text=True)
    kernel.communicate("\n".join(lines))
    kernel_s = time.monotonic() - start
    while not done():
        time.sleep(0.01)
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
        control = Control(path)
        goal = lambda output: (
            lambda: (
                all(  # the last ones of those that are told together
                    control.read(f"rt.lookup {routes[i].split('/')[0]}").split()[0] != "2" for i in (0, -1)
                )
                and int(control.read("k.routes")) >= len(routes)
                and control.read(f"rt.lookup {routes[-1].split('/')[0]}")[0] == output
            )
        )
        measure(control, inside, [f"route add {p} via 10.9.0.7" for p in routes], goal("0"), "new")
        measure(control, inside, [f"route replace {p} via 10.9.1.7" for p in routes], goal("1"), "moved")


if __name__ == "__main__":
    main()
