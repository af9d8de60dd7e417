"""FTPPortMapper against Scapy, and active FTP of Python's ftplib through NAT between two namespaces."""

import random

import pytest
from scapy.all import IP, TCP, UDP, Raw
from test_ip_router_elements import checked, run
from test_ip_router_namespaces import finish, two_networks
from test_nat import BOTH, PUBLIC, inside, outside
from whole import network
from whole.program import wait_until

RANDOM = random.Random(959)
CLIENT, SERVER = "10.0.0.5", "203.0.113.9"
# Of each side's packets the control connection's are those of port 21.
CHAIN = (
    "FromDump($IN, BURST 1) -> side :: Classifier(6/02000000000a, -);"
    "side[0] -> Strip(14) -> CheckIPHeader -> c :: IPClassifier(tcp dst port 21, -); c[0] -> f :: FTPPortMapper(r, r, 0) -> r;"
    "c[1] -> r; side[1] -> Strip(14) -> CheckIPHeader -> [1]r;" + BOTH[BOTH.index("r[0] -> EtherEncap") :]
)
PORTS = f"r :: IPRewriter(pattern {PUBLIC} 20000-29999# - - 0 1, drop);"


def said(seq, data, **fields):
    """What the client says on the control connection."""
    return inside(
        IP(src=CLIENT, dst=SERVER) / TCP(sport=40000, dport=21, seq=seq, ack=1, flags="PA", **fields) / Raw(data)
    )


def answered(ack, public_port, options=()):
    tcp = TCP(sport=21, dport=public_port, seq=1, ack=ack, flags="A", options=list(options))
    return outside(IP(src=SERVER, dst=PUBLIC) / tcp)


def port_command(address, port):
    return b"PORT %s,%d,%d\r\n" % (address.replace(".", ",").encode(), port >> 8, port & 255)


def test_commands_and_what_follows(heddle, tmp_path):
    """A model of the connection: bytes that the client sends, and where they are behind the translator."""
    start = 0xFFFFFF80  # sequence numbers wrap round
    frames = [inside(IP(src=CLIENT, dst=SERVER) / TCP(sport=40000, dport=21, seq=start - 1, flags="S"))]
    commands = [
        b"USER me\r\n",
        port_command(CLIENT, 1029),
        b"LIST\r\n",
        port_command(CLIENT, 65535),
        b"RETR x\r\n",
        b"QUIT\r\n",
    ]
    seq, shift, wanted, data_ports, acks = start, 0, [], {}, []
    next_port = 20001  # the control connection has the first
    for command in commands:
        frames.append(said(seq & 0xFFFFFFFF, command))
        new = command
        if command.startswith(b"PORT"):
            data_ports[next_port] = command
            new = port_command(PUBLIC, next_port)
            next_port += 1
        wanted.append(((seq + shift) & 0xFFFFFFFF, new))
        seq += len(command)
        shift += len(new) - len(command)
        acks.append((seq & 0xFFFFFFFF, (seq + shift) & 0xFFFFFFFF))
    again = len(frames) - 3  # the second PORT, sent once more behind everything
    frames.append(frames[again])
    wanted.append(wanted[3])
    edge = acks[2][1]
    sack = [("NOP", None), ("SAck", (edge, acks[3][1])), ("NOP", None), ("NOP", None), ("NOP", None)]
    late = acks[1:]  # a server does not acknowledge once more what lies before the last change but one
    frames += [answered(theirs, 20000) for _, theirs in late] + [answered(acks[1][1], 20000, sack)]
    data = [outside(IP(src=SERVER, dst=PUBLIC) / TCP(sport=20, dport=port, flags="S")) for port in data_ports]
    frames += [*data, outside(IP(src=SERVER, dst=PUBLIC) / TCP(sport=20, dport=next_port, flags="S"))]
    report, [out, back] = run(heddle, tmp_path, PORTS + CHAIN, frames, ("out", "back"))
    got = [checked(frame) for frame in out]
    assert [(p[TCP].seq, p[Raw].load) for p in got[1:]] == wanted
    assert {(p[IP].src, p[TCP].sport) for p in got} == {(PUBLIC, 20000)}
    got = [checked(frame) for frame in back]
    assert [p[TCP].ack for p in got[: len(late)]] == [ours for ours, _ in late]
    selective = got[len(late)]
    assert selective[TCP].ack == acks[1][0] and dict(selective[TCP].options)["SAck"] == (acks[2][0], acks[3][0])
    assert [(p[IP].dst, p[TCP].dport) for p in got[len(late) + 1 :]] == [(CLIENT, 1029), (CLIENT, 65535)]
    assert report.one("f")["statistics"] == {"rewritten": 3, "ignored": 0}
    assert report.drops("r") == {"refused": 1}


def test_what_is_no_command_stays(heddle, tmp_path):
    syn = inside(IP(src=CLIENT, dst=SERVER) / TCP(sport=40000, dport=21, seq=9, flags="S"))
    texts = [b"PORT 10,0,0,5,4\r\n", b"PORT 10,0,0,5,4,256\r\n", b"PORT 10,0,0,5,4,5", b"xPORT 10,0,0,5,4,5\r\n", b"PORT", b"",
             b"PORT 10,0,0,5,4,5,6\r\n", b"EPRT |1|10.0.0.5|1029|\r\n", b"PORT \x00\r\n"]  # fmt: skip
    others = [
        said(10, port_command("10.0.0.6", 1029)),  # another host
        said(10, port_command(CLIENT, 1029), chksum=0x1234),
        inside(
            IP(src=CLIENT, dst=SERVER, flags="MF")
            / TCP(sport=40000, dport=21, seq=10)
            / Raw(port_command(CLIENT, 1029))
        ),
        inside(
            IP(src=CLIENT, dst=SERVER) / TCP(sport=40001, dport=21, seq=10) / Raw(port_command(CLIENT, 1029))
        ),  # no mapping, and not clear by which input of r it gets one
    ]
    other = f"Idle -> d :: IPRewriter(pattern {PUBLIC} 30000-39999# - - 0 0) -> Discard;"
    chain = PORTS + other + CHAIN.replace("FTPPortMapper(r, r, 0)", "FTPPortMapper(r, d, 0)")
    frames = [syn, *(said(10, text) for text in texts), *others, inside(IP(src=CLIENT, dst=SERVER) / UDP(dport=21))]
    report, [out, _] = run(heddle, tmp_path, chain, frames, ("out", "back"))
    assert [len(frame) for frame in out] == [len(frame) for frame in frames]
    assert [frame[54:] for frame in out] == [frame[54:] for frame in frames]
    assert report.one("f")["statistics"] == {"rewritten": 0, "ignored": 4}


@pytest.mark.parametrize("threads", [1, 2])
def test_garbage(heddle, tmp_path, threads):
    good = [said(RANDOM.randrange(1 << 32), port_command(CLIENT, RANDOM.randrange(1 << 16))) for _ in range(40)]
    frames = [inside(IP(src=CLIENT, dst=SERVER) / TCP(sport=40000, dport=21, seq=9, flags="S"))]
    for _ in range(4000):
        frame = bytearray(RANDOM.choice(good))
        for _ in range(RANDOM.choice([0, 1, 3])):
            frame[RANDOM.randrange(14, len(frame))] = RANDOM.randrange(256)
        frames.append(bytes(frame[: RANDOM.choice([len(frame), RANDOM.randrange(len(frame) + 1)])]))
    report, _ = run(heddle, tmp_path, PORTS + CHAIN, frames, ("out", "back"), "-j", threads)
    report.assert_accounted()
    assert report.one("f")["statistics"]["rewritten"] > 100


SERVER_TEXT = """
import os, socket
listener = socket.create_server(("", 21))
control = listener.accept()[0]
lines = control.makefile("rwb", buffering=0)
say = lambda text: lines.write(text.encode() + b"\\r\\n")
say("220 hello")
content = b"0123456789abcdef" * 5000
while words := lines.readline().split():
    name = words[0].upper()
    if name == b"PORT":
        *address, high, low = words[1].decode().split(",")
        target = (".".join(address), int(high) * 256 + int(low))
        say("200 to %s port %d" % target)
    elif name == b"RETR":
        say("150 it comes")
        data = socket.socket()
        data.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the port was in use a moment ago
        data.settimeout(60)
        data.bind(("", 20))
        data.connect(target)
        data.sendall(content)
        data.close()
        say("226 that was it")
    elif name == b"QUIT":
        say("221 bye")
        break
    else:
        say("331 and now?" if name == b"USER" else "200 fine")
"""
CLIENT_TEXT = """
import ftplib, sys
ftp = ftplib.FTP(sys.argv[1], timeout=60)
ftp.login("me", "secret")
ftp.set_pasv(False)
for name in ("one", "two"):
    got = []
    ftp.retrbinary("RETR " + name, got.append)
    assert b"".join(got) == b"0123456789abcdef" * 5000
print(ftp.sendcmd("NOOP"), ftp.quit())
"""


@pytest.mark.usefixtures("root")
def test_active_ftp_through_nat(heddle):
    with two_networks() as (left, right, a, b):
        chain = f"""
            r :: IPRewriter(pattern 10.2.0.254 50000-65535 - - 0 1, drop);
            p :: ICMPPingRewriter(pattern 10.2.0.254 1024-65535 - - 0 1, drop);
            elementclass Port {{ $ip, $mac |
              input -> k :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
              k[0] -> ARPResponder($ip $mac) -> [0]output; k[1] -> [1]output; k[3] -> Discard;
              k[2] -> Strip(14) -> CheckIPHeader -> c :: IPClassifier(tcp dst port 21, tcp or udp, icmp);
              c[0] -> [2]output; c[1] -> [3]output; c[2] -> [4]output; }}
            to0 :: ToDPDKDevice("{a}"); to1 :: ToDPDKDevice("{b}");
            q0 :: ARPQuerier(10.1.0.254, 02:00:00:00:01:00) -> to0; q1 :: ARPQuerier(10.2.0.254, 02:00:00:00:02:00) -> to1;
            FromDPDKDevice("{a}") -> p0 :: Port(10.1.0.254, 02:00:00:00:01:00);
            FromDPDKDevice("{b}") -> p1 :: Port(10.2.0.254, 02:00:00:00:02:00);
            p0[0] -> to0; p1[0] -> to1; p0[1] -> [1]q0; p1[1] -> [1]q1;
            p0[2] -> f :: FTPPortMapper(r, r, 0) -> [0]r; p0[3] -> [0]r; p1[2] -> [1]r; p1[3] -> [1]r; p0[4] -> [0]p; p1[4] -> [1]p;
            r[0] -> q1; r[1] -> q0; p[0] -> q1; p[1] -> q0;
        """
        with heddle.start("run", "--json", "-e", chain) as running:
            network.wait_for_link(left, right, running)
            with network.serving(right, "/usr/bin/python3", "-c", SERVER_TEXT):
                wait_until(lambda: ":21 " in right.call("ss", "-tln"), what="the FTP server")
                said = left.call("/usr/bin/python3", "-c", CLIENT_TEXT, right.address, timeout=300)
            assert said.strip() == "200 fine 221 bye"
            report = finish(running)
    assert report.one("f")["statistics"] == {"rewritten": 2, "ignored": 0}
