"""Network namespaces and traffic through the program. Everything made here is removed by `with`."""

import contextlib
import json
import os
import socket
import subprocess

from whole.program import wait_until

OFFLOADS = [word for feature in ("rx", "tx", "tso", "gso", "gro") for word in (feature, "off")]
SERIAL = iter(range(1000))

# Sends numbered echo requests to an address, one in each interval, until all answers have come or `patience` seconds
# after the last request; prints a line when one has come, and how many came. The program `ping` waits for the last
# answer only as long as two of the round trips before took.
PINGER = """
import select, socket, sys, time
address, source = sys.argv[1:3]
count, interval, size, patience, fragments = map(float, sys.argv[3:])
six = ":" in address
kind = socket.AF_INET6 if six else socket.AF_INET
sock = socket.socket(kind, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP)
if source:
    sock.bind((source, 0))
if fragments:
    sock.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER, IP_PMTUDISC_DONT
request, reply = (128, 129) if six else (8, 0)
came, sent, due = set(), 0, time.monotonic()
while len(came) < count:
    left = due - time.monotonic()
    if left > 0:
        if select.select([sock], [], [], left)[0]:
            try:
                answer = sock.recv(65536)
            except OSError:
                continue  # somebody says that it does not get there
            if answer[0] == reply and len(answer) == 8 + size:
                if not came:
                    print("one has come", flush=True)
                came.add(int.from_bytes(answer[6:8], "big"))
    elif sent < count:
        try:
            sock.sendto(bytes([request, 0, 0, 0, 0, 0]) + sent.to_bytes(2, "big") + bytes(int(size)), (address, 0))
        except OSError:
            pass  # there is no way: it does not come back
        sent += 1
        due += interval if sent < count else patience
    else:
        break
print(len(came))
"""


def call(*words, timeout=60, check=True):
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
    )
    assert not check or done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Namespace:
    """A network namespace; `address` is set when a device has been moved into it."""

    def __init__(self):
        self.name = f"hdt{os.getpid()}n{next(SERIAL)}"
        self.address = None
        call("ip", "netns", "add", self.name)
        call("ip", "-n", self.name, "link", "set", "lo", "up")
        self.call("sysctl", "-qw", "net.ipv4.ping_group_range=0 0")

    def delete(self):
        call("ip", "netns", "delete", self.name, check=False)

    def command(self, *words):
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def call(self, *words, **options):
        return call(*self.command(*words), **options)

    def adopt(self, device, address, mac):
        """Moves a device in and gives it its addresses."""
        call("ip", "link", "set", device, "netns", self.name)
        self.bring_up(device, address, mac)

    def bring_up(self, device, address, mac):
        call("ip", "-n", self.name, "link", "set", device, "address", mac, "mtu", "1500")
        self.call("sysctl", "-qw", f"net.ipv6.conf.{device}.disable_ipv6=1")
        self.call("ethtool", "-K", device, *OFFLOADS, check=False)
        call("ip", "-n", self.name, "address", "add", address, "dev", device)
        call("ip", "-n", self.name, "link", "set", device, "up")
        self.address, self.device = address.split("/")[0], device

    def wait_for_devices(self, *devices):
        """A device that is up drops what it is to send, without an error, until the kernel's worker has seen its
        link."""
        for device in devices:
            wait_until(
                lambda d=device: " qdisc noop " not in self.call("ip", "link", "show", d), what=f"{device}'s link"
            )

    def overflown(self):
        """UDP datagrams that arrived and that no socket had room for: programs here read too slowly."""
        names, values = (line.split() for line in self.call("cat", "/proc/net/snmp").splitlines() if line[:4] == "Udp:")
        return int(dict(zip(names, values, strict=True))["RcvbufErrors"])

    def pinger(self, address, count, interval=0.01, size=56, patience=10, source="", fragments=False):
        """The command of PINGER; `fragments`: routers may cut requests up."""
        return self.command(
            "/usr/bin/python3", "-c", PINGER, address, source, count, interval, size, patience, int(fragments)
        )

    def ping(self, *arguments, **options):
        """How many answers came; arguments: see `pinger`."""
        return int(call(*self.pinger(*arguments, **options), timeout=120).split()[-1])


@contextlib.contextmanager
def namespaces(number=2):
    made = []
    try:
        made += [Namespace() for _ in range(number)]
        yield made
    finally:
        for each in made:
            each.delete()


@contextlib.contextmanager
def one_af_packet():
    """Others that test with net_af_packet in this network namespace wait: DPDK's driver names its fanout group by
    process XOR interface, of which two programs may have the same, and the second then has no port."""

    def is_taken():
        try:
            return lock.bind("\0heddle test with net_af_packet") is None  # abstract names are a network namespace's own
        except OSError:
            return False

    with socket.socket(socket.AF_UNIX) as lock:
        wait_until(is_taken, 300, "the others")
        yield


@contextlib.contextmanager
def veth_pairs(left, right):
    """Two veth pairs, one end of each in a namespace; yields the names of the other ends, which a program joins. One
    test at a time."""
    with one_af_packet():
        yield from _veth_pairs(left, right)


def _veth_pairs(left, right):
    pid, number = os.getpid(), next(SERIAL)
    names = [(f"hd{pid}a{number}", f"hd{pid}x{number}"), (f"hd{pid}b{number}", f"hd{pid}y{number}")]
    try:
        for outer, inner in names:
            call("ip", "link", "add", outer, "mtu", "1500", "type", "veth", "peer", "name", inner)
            call("sysctl", "-qw", f"net.ipv6.conf.{outer}.disable_ipv6=1")
            call("ethtool", "-K", outer, *OFFLOADS, check=False)
            call("ip", "link", "set", outer, "up")
        left.adopt(names[0][1], "10.77.0.1/24", "02:00:00:00:77:01")
        right.adopt(names[1][1], "10.77.0.2/24", "02:00:00:00:77:02")
        yield names[0][0], names[1][0]
    finally:
        for outer, _ in names:
            call("ip", "link", "delete", outer, check=False)


@contextlib.contextmanager
def serving(namespace, *words):
    """A server process in a namespace."""
    process = subprocess.Popen(namespace.command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def wait_for_link(client, server, running=None):
    """Returns when a ping comes back; `running`: the router between, which must not end."""

    def comes_back():
        assert running is None or running.alive(), running.wait()
        return client.ping(server.address, 1, patience=1) == 1

    wait_until(comes_back, what="the first ping")


def iperf3(client, server, *options):
    """Runs iperf3 between namespaces; returns its report."""
    with serving(server, "iperf3", "-s", "-1"):
        wait_until(lambda: "5201" in server.call("ss", "-tln"), what="iperf3's server")
        out = client.call("iperf3", "-c", server.address, "--json", *options, check=False, timeout=120)
    report = json.loads(out)
    assert "error" not in report, report["error"]
    return report["end"]


def transfer(client, server, size):
    """Sends `size` random bytes over TCP; returns whether they arrived unharmed."""
    data = os.urandom(size)
    source = (
        "import socket,sys; family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET\n"
        "s=socket.create_server(('',5300),family=family); c=s.accept()[0]; d=b''\n"
        "while p:=c.recv(65536): d+=p\nsys.stdout.buffer.write(d)"
    )
    sink = "import socket,sys; s=socket.create_connection((sys.argv[1],5300),60); s.sendall(sys.stdin.buffer.read())"
    receiver = subprocess.Popen(
        server.command("/usr/bin/python3", "-c", source, server.address), stdout=subprocess.PIPE
    )
    try:
        wait_until(lambda: "5300" in server.call("ss", "-tln"), what="the receiver")
        sender = client.command("/usr/bin/python3", "-c", sink, server.address)
        subprocess.run(sender, input=data, timeout=120, check=True)
        got, _ = receiver.communicate(timeout=120)
    finally:
        receiver.kill()
        receiver.wait()
    return got == data


def flood(client, address, count, interval=0.005):
    """Starts a stream of pings, and returns when the first is back: a function that waits for its end and says how many
    came back."""
    process = subprocess.Popen(client.pinger(address, count, interval, patience=30), stdout=subprocess.PIPE, text=True)

    def end():
        out, _ = process.communicate(timeout=120)
        return int(out.split()[-1])

    process.stdout.readline()
    return end
