"""The kernel's packet filter as a judge of rules: nftables and iptables in a namespace of their own count what frames
hit."""

import contextlib
import ipaddress
import re
import shutil
import subprocess

import pytest

from whole import network

MAC = bytes.fromhex("02000000aa01")  # of frames that are counted
DEVICE = ("hdj0", "hdj1")

SENDER = """
import socket, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
data = sys.stdin.buffer.read()
while data:
    size = int.from_bytes(data[:2], "big")
    out.send(data[2 : 2 + size])
    data = data[2 + size :]
"""


def packed(address):
    return ipaddress.ip_address(address).packed


@contextlib.contextmanager
def namespace(program):
    """A namespace with a pair of devices; skips the test where `program` is missing or the kernel has no nf_tables."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (make deps)")
    with network.namespaces(1) as (space,):
        space.call("ip", "link", "add", DEVICE[0], "type", "veth", "peer", "name", DEVICE[1])
        for device in DEVICE:
            space.call("ip", "link", "set", device, "up")
        space.wait_for_devices(*DEVICE)
        if subprocess.run(
            space.command("nft", "add", "table", "ip", "probe"), capture_output=True, check=False
        ).returncode:
            pytest.skip("this kernel has no nf_tables")
        space.call("nft", "delete", "table", "ip", "probe")
        yield space


def send(space, frames):
    """Sends frames from one device to the other."""
    data = b"".join(len(frame).to_bytes(2, "big") + frame for frame in frames)
    subprocess.run(space.command("/usr/bin/python3", "-c", SENDER, DEVICE[0]), input=data, check=True, timeout=120)


def load(space, words, text):
    done = subprocess.run(space.command(*words), input=text, text=True, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, text + done.stderr


def counters(text):
    """Line number and packets of each rule that counts; the number is that of its first line."""
    found, open_sets, number = {}, 0, 0
    for at, line in enumerate(text.splitlines(), 1):
        number = number if open_sets else at
        open_sets = 0 if line.endswith("{") else max(0, open_sets + line.count("{") - line.count("}"))
        if count := re.search(r"counter packets (\d+)|^\[(\d+):\d+\] -A", line):
            found[number] = int(count[1] or count[2])
    return found


def checksum(header):
    """RFC 1071."""
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, len(header), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def ip4(source, destination, protocol, payload, ttl=64, fragment=0, tos=0):
    header = bytearray(20)
    header[0], header[1] = 0x45, tos
    header[2:4] = (20 + len(payload)).to_bytes(2, "big")
    header[4:6], header[6:8] = b"\x12\x34", fragment.to_bytes(2, "big")
    header[8], header[9] = ttl, protocol
    header[12:16], header[16:20] = source, destination
    header[10:12] = checksum(header).to_bytes(2, "big")
    return b"\xff" * 6 + MAC + b"\x08\x00" + bytes(header) + payload


def ip6(source, destination, protocol, payload, hops=64):
    header = b"\x60\0\0\0" + len(payload).to_bytes(2, "big") + bytes([protocol, hops]) + source + destination
    return b"\xff" * 6 + MAC + b"\x86\xdd" + header + payload


def transport(protocol, source, destination, flags):
    """A transport header: TCP's, else that of UDP; of ICMP with type and code in place of a port."""
    ports = source.to_bytes(2, "big") + destination.to_bytes(2, "big")
    if protocol == 6:
        return ports + bytes(8) + bytes([0x50, flags]) + bytes(6)
    return ports + b"\x00\x10\x00\x00" + bytes(8)
