#!/usr/bin/python3
"""Records chains/captures/*.pcap: what real programs say to each other between two network namespaces.

Needs root and the programs: curl, dig (bind9-dnsutils), dnsmasq, iperf3, ping, ssh and sshd (openssh), tcpdump. Run
from anywhere: sudo chains/record_programs.py [PROGRAM...]. Client and server are those of record.py, so that the routes
of chains/routes.txt fit; the frames are what a wire of MTU 1500 would carry. iperf3's frames are cut to 96 bytes. ssh's
keys are made for the recording and forgotten; what it sends is encrypted.
"""

import contextlib
import pathlib
import subprocess
import sys
import tempfile
import time

from record import CLIENT, SERVER, call, namespaces

INSIDE = ["ip", "netns", "exec"]


@contextlib.contextmanager
def running(namespace, *words):
    process = subprocess.Popen([*INSIDE, namespace, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def recording(client, path, snap=65535):
    with subprocess.Popen(
        [*INSIDE, client, "tcpdump", "-q", "--immediate-mode", "-U", "-s", str(snap), "-i", "eth0", "-Z", "root"]
        + ["-w", str(path), "not", "ip6"],
        stderr=subprocess.PIPE,
    ) as sniffer:
        sniffer.stderr.readline()  # "listening on eth0"
        time.sleep(0.3)
        yield
        time.sleep(0.5)
        sniffer.terminate()


def ping(client, server, folder):
    for size in (56, 8, 1472, 4000):  # the last in fragments
        call(*INSIDE, client, "ping", "-q", "-c", "5", "-i", "0.02", "-s", str(size), "-I", CLIENT[0], SERVER[0])


def curl(client, server, folder):
    (folder / "page").write_bytes(bytes(i * 7 & 0xFF for i in range(30000)))
    (folder / "small").write_text("Heddle\n")
    with running(server, "/usr/bin/python3", "-m", "http.server", "-d", str(folder), "80"):
        for name in ("page", "small", "missing"):
            call(
                *INSIDE, client, "curl", "-s", "--noproxy", "*", "--interface", CLIENT[1], f"http://{SERVER[1]}/{name}"
            )


def dig(client, server, folder):
    names = [f"--host-record=w{n}.example.org,{SERVER[n % 5]}" for n in range(20)]
    with running(server, "dnsmasq", "-k", "-R", "-h", "--conf-file=/dev/null", "--pid-file=", "-p", "53", *names):
        for number in range(20):
            for kind in ("A", "AAAA"):
                call(
                    *INSIDE, client, "dig", "-b", CLIENT[2], f"@{SERVER[2]}", "+tries=1", f"w{number}.example.org", kind
                )
        call(*INSIDE, client, "dig", "-b", CLIENT[2], f"@{SERVER[2]}", "+tcp", "w1.example.org")


def iperf3(client, server, folder):
    for options in (["-n", "300K"], ["-u", "-b", "2M", "-n", "200K", "-l", "1000"], ["-R", "-n", "200K"]):
        with running(server, "iperf3", "-s", "-1", "-B", SERVER[3]):
            call(*INSIDE, client, "iperf3", "-c", SERVER[3], "-B", CLIENT[3], *options)


def ssh(client, server, folder):
    key, host_key = folder / "key", folder / "host_key"
    for file in (key, host_key):
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "recording", "-f", str(file))
    (folder / "authorized").write_text((folder / "key.pub").read_text())
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    daemon = ["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", str(host_key), "-o", "PidFile=none"]
    daemon += ["-o", f"AuthorizedKeysFile={folder}/authorized", "-o", "StrictModes=no", "-o", "UsePAM=no"]
    with running(server, *daemon):
        options = ["-F", "/dev/null", "-b", CLIENT[0], "-i", str(key), "-o", "StrictHostKeyChecking=no"]
        options += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        call(*INSIDE, client, "ssh", *options, f"root@{SERVER[4]}", "seq 1 2000")


PROGRAMS = {"ping": ping, "curl": curl, "dig": dig, "iperf3": iperf3, "ssh": ssh}
SNAP = {"iperf3": 96}


def record(target, names):
    target.mkdir(exist_ok=True)
    for name in names:
        with namespaces() as (client, server), tempfile.TemporaryDirectory() as folder:
            time.sleep(2)  # IPv6 has made itself known
            path = pathlib.Path(folder)
            with recording(client, path / "raw.pcap", SNAP.get(name, 65535)):
                PROGRAMS[name](client, server, path)
            (target / f"{name}.pcap").write_bytes((path / "raw.pcap").read_bytes())


if __name__ == "__main__":
    record(pathlib.Path(__file__).parent / "captures", sys.argv[1:] or list(PROGRAMS))
