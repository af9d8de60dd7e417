#!/usr/bin/python3
"""Records chains/traffic.pcap: real traffic between two network namespaces that this program makes and removes.

Needs root, iproute2, ethtool, iputils-ping and tcpdump. Run from anywhere: sudo chains/record.py [FILE]

A client with four addresses talks to a server with five, over one veth pair (MTU 1500, no offloads, so that frames and
checksums are what a wire would carry): ARP, ping in several sizes, DNS questions over UDP, HTTP downloads over TCP.
"""

import contextlib
import http.server
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

CLIENT = ["10.1.0.1", "10.1.5.1", "10.1.200.1", "192.168.1.1"]
SERVER = ["10.2.0.1", "10.2.64.1", "10.3.7.1", "172.16.0.1", "192.168.2.1"]
NETWORKS = ["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "172.16.0.0/16", "192.168.0.0/16"]
OFFLOADS = ["rx", "tx", "tso", "gso", "gro"]
DNS_PORT, HTTP_PORT = 53, 80


def call(*words, **options):
    return subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **options)


@contextlib.contextmanager
def namespaces():
    """Two namespaces joined by a veth pair, gone when the block ends."""
    client, server = f"hd{os.getpid()}c", f"hd{os.getpid()}s"
    try:
        for name in (client, server):
            call("ip", "netns", "add", name)
        call("ip", "link", "add", "eth0", "netns", client, "type", "veth", "peer", "name", "eth0", "netns", server)
        for name, mac, own in ((client, "02:00:00:00:00:01", CLIENT), (server, "02:00:00:00:00:02", SERVER)):
            call("ip", "-n", name, "link", "set", "eth0", "address", mac, "mtu", "1500")
            call("ip", "netns", "exec", name, "ethtool", "-K", "eth0", *[w for o in OFFLOADS for w in (o, "off")])
            for address in own:
                call("ip", "-n", name, "address", "add", address + "/32", "dev", "eth0")
            call("ip", "-n", name, "link", "set", "eth0", "up")
            for network in NETWORKS:
                call("ip", "-n", name, "route", "add", network, "dev", "eth0")
        yield client, server
    finally:
        for name in (client, server):
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


# ---- the server's side, run within its namespace


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = bytes(i * 7 & 0xFF for i in range(int(self.path[1:])))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def answer_names(address):
    """A DNS server that knows one address for every name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind((address, DNS_PORT))
        while True:
            question, peer = port.recvfrom(512)
            header = question[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
            record = struct.pack("!HHHIH4s", 0xC00C, 1, 1, 60, 4, socket.inet_aton(address))
            port.sendto(header + question[12:] + record, peer)


def serve():
    for address in SERVER:
        threading.Thread(target=answer_names, args=(address,), daemon=True).start()
    pages = http.server.ThreadingHTTPServer(("0.0.0.0", HTTP_PORT), Pages)
    print("ready", flush=True)
    pages.serve_forever()


# ---- the client's side


def ping_all():
    for number, (mine, theirs) in enumerate((m, t) for m in CLIENT for t in SERVER):
        size = (0, 8, 16, 18, 26, 36)[number % 6]
        subprocess.run(["ping", "-q", "-I", mine, "-s", str(size), "-c", "55", "-i", "0.002", theirs], check=True)
    for size in (600, 1000, 1472):
        subprocess.run(["ping", "-q", "-I", CLIENT[0], "-s", str(size), "-c", "2", "-i", "0.01", SERVER[2]], check=True)


def ask_names(count):
    for number in range(count):
        name = f"w{number}.example.org"
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        question = struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, 1, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
            port.settimeout(2)
            port.bind((CLIENT[number % len(CLIENT)], 0))
            port.connect((SERVER[number % len(SERVER)], DNS_PORT))
            port.send(question)
            port.recv(512)


def download():
    for number, size in enumerate((100, 2000, 9000, 24000)):
        with urllib.request.urlopen(f"http://{SERVER[number]}:{HTTP_PORT}/{size}", timeout=5) as page:
            assert len(page.read()) == size


def talk():
    ping_all()
    ask_names(260)
    download()


# ---- recording


def record(target):
    me = [sys.executable, os.path.abspath(__file__)]
    with namespaces() as (client, server), tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "traffic.pcap")
        inside = ["ip", "netns", "exec"]
        serving = subprocess.Popen([*inside, server, *me, "--serve"], stdout=subprocess.PIPE)
        sniffer = subprocess.Popen(
            [*inside, client, "tcpdump", "-q", "--immediate-mode", "-i", "eth0", "-Z", "root", "-w", raw],
            stderr=subprocess.PIPE,
        )
        try:
            serving.stdout.readline()
            sniffer.stderr.readline()  # "listening on eth0"
            time.sleep(0.5)
            call(*inside, client, *me, "--talk")
            time.sleep(0.5)
        finally:
            for process in (sniffer, serving):
                process.terminate()
                process.wait()
        pathlib.Path(target).write_bytes(pathlib.Path(raw).read_bytes())


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    elif sys.argv[1:] == ["--talk"]:
        talk()
    else:
        record(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parent / "traffic.pcap")
