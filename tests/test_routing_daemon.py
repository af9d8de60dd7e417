"""The lookup elements against BIRD, a routing daemon of the field: the same routes, the same addresses, the same
answers."""

import random
import re
import shutil
import socket
import subprocess
import time

import pytest
from whole.program import environment

OUTPUTS = 16
ROUTES = 3000
LOOKUPS = 500


def random_routes(seed):
    """{(address, length): output}, nested so that the longest of several matches counts."""
    chance = random.Random(seed)
    routes = {(0, 0): 0}
    while len(routes) < ROUTES:
        length = chance.choice([8, 12, 16, 20, 22, 24, 24, 24, 28, 32])
        address = chance.choice([0x0A000000, 0xC0A80000, 0xAC100000]) | chance.getrandbits(18)
        routes[address & (0xFFFFFFFF << (32 - length)), length] = chance.randrange(OUTPUTS)
    return routes


def dotted(address):
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


class Bird:
    """A BIRD that holds static routes and touches nothing of the system. The output is kept as BGP's local
    preference."""

    def __init__(self, folder, routes):
        self.folder = folder
        lines = ["router id 192.0.2.1;", "protocol device {}", "protocol static table_under_test { ipv4;"]
        for (address, length), output in routes.items():
            lines.append(f"route {dotted(address)}/{length} blackhole {{ bgp_local_pref = {output}; }};")
        (folder / "bird.conf").write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")
        subprocess.run(
            ["/usr/sbin/bird", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"],
            cwd=folder,
            check=True,
            timeout=120,
        )

    def ask(self, commands):
        done = subprocess.run(
            ["/usr/sbin/birdc", "-s", "bird.ctl"],
            cwd=self.folder,
            input="\n".join(commands) + "\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    def lookup(self, addresses):
        answers = re.findall(r"BGP\.local_pref: (\d+)", self.ask(f"show route for {dotted(a)} all" for a in addresses))
        return [int(answer) for answer in answers]

    def stop(self):
        self.ask(["down"])


class HandlerClient:
    """A client of ControlSocket over a Unix socket."""

    def __init__(self, path):
        deadline = time.monotonic() + 60
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(str(path))
                break
            except OSError:
                assert time.monotonic() < deadline, "no control socket"
                time.sleep(0.05)
        self.file = self.socket.makefile("rwb")
        assert self.file.readline().startswith(b"Click::ControlSocket/")

    def read(self, handler):
        self.file.write(f"READ {handler}\r\n".encode())
        self.file.flush()
        status = self.file.readline().decode()
        assert status.startswith("200 "), status
        return self.file.read(int(self.file.readline().split()[1])).decode()


@pytest.mark.parametrize("element", ["DirectIPLookup", "RadixIPLookup", "LinearIPLookup"])
def test_same_answers_as_bird(element, heddle, tmp_path):
    if shutil.which("/usr/sbin/bird") is None:
        pytest.skip("needs BIRD (Debian's bird2)")
    routes = random_routes(seed=element)
    with open(tmp_path / "routes.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{dotted(address)}/{length} {output}\n" for (address, length), output in routes.items())
    chance = random.Random(1)
    addresses = [address | chance.getrandbits(8) for address, _ in chance.choices(list(routes), k=LOOKUPS)]

    bird = Bird(tmp_path, routes)
    try:
        wanted = bird.lookup(addresses)
    finally:
        bird.stop()
    assert len(wanted) == LOOKUPS and len(set(wanted)) == OUTPUTS

    outputs = "".join(f"rt[{i}] -> Discard; " for i in range(OUTPUTS))
    chain = (
        f"Idle -> GetIPAddress(16) -> rt :: {element}(FILE {tmp_path}/routes.txt); {outputs}"
        f"ControlSocket(unix, {tmp_path}/control)"
    )
    with subprocess.Popen(
        heddle.command(["run", "--quiet", "-e", chain]), env=environment(None), stdout=subprocess.DEVNULL
    ) as running:
        try:
            client = HandlerClient(tmp_path / "control")
            got = [int(client.read(f"rt.lookup {dotted(address)}").split()[0]) for address in addresses]
        finally:
            running.terminate()
            assert running.wait(timeout=60) == 0
    assert got == wanted
