"""A NAT gateway in the shape of Click's conf/mazu-nat.click, whole: a network behind one address, a server of it that
the world reaches, FTP. What leaves it is compared, byte for byte, with what RFC 3022 makes of it by hand."""

import pytest
from scapy.all import ARP, ICMP, IP, TCP, UDP, Ether, Raw
from test_ip_router_elements import checked, run

INTERN, INTERN_MAC = "10.0.0.1", "02:00:00:00:00:aa"
EXTERN, EXTERN_MAC = "198.51.100.13", "02:00:00:00:01:aa"
NEXT_HOP_MAC = "02:00:00:00:01:01"
SERVER, SERVER_MAC = "10.0.0.10", "02:00:00:00:00:10"
CLIENT, CLIENT_MAC = "10.0.0.7", "02:00:00:00:00:07"
WORLD = "203.0.113.80"

# The fifth byte of a frame's sender says which wire it comes from. Ports are given in turn ('#'), so that they are
# known.
GATEWAY = f"""
AddressInfo(intern {INTERN} 10.0.0.0/8 {INTERN_MAC}, extern {EXTERN} 198.51.100.0/24 {EXTERN_MAC},
            extern_next_hop {NEXT_HOP_MAC}, intern_server {SERVER});

elementclass SniffGatewayDevice {{ $sent, $seen |
  input[0] -> t1 :: Tee -> output;
  input[1] -> q :: Queue(1024) -> t2 :: PullTee -> to :: ToDump($sent);
  t1[1] -> seen :: ToDump($seen); t2[1] -> seen;
}}
FromDump($IN) -> wire :: Classifier(6/0200000000, 6/0200000001);
wire[0] -> intern_dev :: SniffGatewayDevice($inside, $seen0); wire[1] -> extern_dev :: SniffGatewayDevice($outside, $seen1);
ip_to_host :: EtherEncap(0x0800, 1:1:1:1:1:1, intern) -> host :: ToDump($host);

extern_arp_class, intern_arp_class :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
intern_arpq :: ARPQuerier(intern);
extern_dev -> extern_arp_class;
extern_arp_class[0] -> ARPResponder(extern) -> [1]extern_dev;
extern_arp_class[1] -> host;
extern_arp_class[3] -> Discard;
intern_dev -> intern_arp_class;
intern_arp_class[0] -> ARPResponder(intern) -> [1]intern_dev;
intern_arp_class[1] -> intern_arpr_t :: Tee;
intern_arpr_t[0] -> host; intern_arpr_t[1] -> [1]intern_arpq;
intern_arp_class[3] -> Discard;

IPRewriterPatterns(to_world_pat extern 50000-65535# - -, to_server_pat intern 50000-65535# intern_server -);
rw :: IPRewriter(pattern to_world_pat 0 1, pattern to_server_pat 1 0, pattern to_server_pat 1 1, nochange 0, nochange 2);
tcp_rw :: TCPRewriter(pattern to_world_pat 0 1, drop);

ip_to_extern :: GetIPAddress(16) -> CheckIPHeader -> EtherEncap(0x0800, extern:eth, extern_next_hop:eth) -> [1]extern_dev;
ip_to_intern :: GetIPAddress(16) -> CheckIPHeader -> [0]intern_arpq -> [1]intern_dev;
rw[0] -> ip_to_extern_class :: IPClassifier(dst host intern, -);
ip_to_extern_class[0] -> ip_to_host; ip_to_extern_class[1] -> ip_to_extern;
rw[1] -> ip_to_intern;
rw[2] -> IPClassifier(dst host extern) -> ip_to_host;
tcp_rw[0] -> ip_to_extern; tcp_rw[1] -> ip_to_intern;

ip_from_extern :: IPClassifier(dst host extern, -);
my_ip_from_extern :: IPClassifier(dst tcp ssh, dst tcp www or https, src tcp port ftp, tcp or udp, -);
extern_arp_class[2] -> Strip(14) -> CheckIPHeader -> ip_from_extern;
ip_from_extern[0] -> my_ip_from_extern;
my_ip_from_extern[0] -> [1]rw; my_ip_from_extern[1] -> [1]rw; my_ip_from_extern[2] -> [1]tcp_rw;
my_ip_from_extern[3] -> [4]rw; my_ip_from_extern[4] -> Discard;
ip_from_extern[1] -> Discard;

ip_from_intern :: IPClassifier(dst host intern, dst net intern, dst tcp port ftp, -);
my_ip_from_intern :: IPClassifier(dst tcp ssh, dst tcp www or https, src or dst port dns, dst tcp port auth, tcp or udp, -);
intern_arp_class[2] -> Strip(14) -> CheckIPHeader -> ip_from_intern;
ip_from_intern[0] -> my_ip_from_intern;
my_ip_from_intern[0] -> ip_to_host; my_ip_from_intern[1] -> [2]rw; my_ip_from_intern[2] -> Discard;
my_ip_from_intern[3] -> ip_to_host; my_ip_from_intern[4] -> [3]rw; my_ip_from_intern[5] -> ip_to_host;
ip_from_intern[1] -> ip_to_host;
ip_from_intern[2] -> FTPPortMapper(tcp_rw, rw, to_world_pat 0 1) -> [0]tcp_rw;
ip_from_intern[3] -> [0]rw;
"""


def ask(mac, src, target):
    return bytes(Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=mac, psrc=src, pdst=target))


def answer(mac, src, to_mac, to):
    return bytes(Ether(src=mac, dst=to_mac) / ARP(op=2, hwsrc=mac, psrc=src, hwdst=to_mac, pdst=to))


KNOWN = [answer(SERVER_MAC, SERVER, INTERN_MAC, INTERN), answer(CLIENT_MAC, CLIENT, INTERN_MAC, INTERN)]


def client(packet):
    return bytes(Ether(src=CLIENT_MAC, dst=INTERN_MAC) / packet)


def server(packet):
    return bytes(Ether(src=SERVER_MAC, dst=INTERN_MAC) / packet)


def world(packet):
    return bytes(Ether(src=NEXT_HOP_MAC, dst=EXTERN_MAC) / packet)


def sent_out(packet):
    return bytes(Ether(src=EXTERN_MAC, dst=NEXT_HOP_MAC) / packet)


def sent_in(packet):
    return bytes(Ether(src=INTERN_MAC, dst={CLIENT: CLIENT_MAC, SERVER: SERVER_MAC}[packet.dst]) / packet)


def to_host(packet):
    return bytes(Ether(src="01:01:01:01:01:01", dst=INTERN_MAC) / packet)


def tcp(src, sport, dst, dport, payload=b"", flags="PA", **fields):
    return IP(src=src, dst=dst) / TCP(sport=sport, dport=dport, flags=flags, **fields) / Raw(payload)


def udp(src, sport, dst, dport, payload=b"?"):
    return IP(src=src, dst=dst) / UDP(sport=sport, dport=dport) / Raw(payload)


def gateway(heddle, tmp_path, frames, *args, known=KNOWN):
    """What leaves by both wires, and what the host gets but for ARP replies."""
    outputs = ("outside", "inside", "host", "seen0", "seen1")
    report, outs = run(heddle, tmp_path, GATEWAY, [*known, *frames], outputs, *args)
    outside, inside, host, seen0, seen1 = outs
    # Sniffers see all of both wires.
    brought = [*known, *frames]
    assert sorted(seen0 + seen1) == sorted(brought + inside + outside)
    assert host[: len(known)] == known
    return outside, inside, host[len(known) :], report


def test_arp_at_both_sides(heddle, tmp_path):
    frames = [
        ask(CLIENT_MAC, CLIENT, INTERN),
        ask(CLIENT_MAC, CLIENT, EXTERN),  # nobody's there
        ask(NEXT_HOP_MAC, "198.51.100.1", EXTERN),
        ask(NEXT_HOP_MAC, "198.51.100.1", "198.51.100.99"),
        answer(NEXT_HOP_MAC, "198.51.100.1", EXTERN_MAC, EXTERN),
    ]
    outside, inside, host, _ = gateway(heddle, tmp_path, frames)
    assert inside == [answer(INTERN_MAC, INTERN, CLIENT_MAC, CLIENT).ljust(60, b"\0")]
    assert outside == [answer(EXTERN_MAC, EXTERN, NEXT_HOP_MAC, "198.51.100.1").ljust(60, b"\0")]
    assert host == frames[-1:]


@pytest.mark.parametrize("make", [tcp, udp])
def test_the_inside_reaches_the_world_and_is_answered(heddle, tmp_path, make):
    flows = [(CLIENT, 4000 + n, WORLD, 443 if make is tcp else 53) for n in range(5)]
    frames, wanted_out, wanted_in = [], [], []
    for n, (src, sport, dst, dport) in enumerate(flows):
        for text in (b"first", b"second"):
            frames.append(client(make(src, sport, dst, dport, text)))
            wanted_out.append(sent_out(make(EXTERN, 50000 + n, dst, dport, text)))
        frames.append(world(make(dst, dport, EXTERN, 50000 + n, b"back")))
        wanted_in.append(sent_in(make(dst, dport, src, sport, b"back")))
    outside, inside, host, report = gateway(heddle, tmp_path, frames)
    assert outside == wanted_out and inside == wanted_in and host == []
    assert report.one("rw")["statistics"]["made"] == len(flows)


def test_answers_wait_for_the_address_inside(heddle, tmp_path):
    frames = [
        client(udp(CLIENT, 4000, WORLD, 7)),
        world(udp(WORLD, 7, EXTERN, 50000, b"!")),
        answer(CLIENT_MAC, CLIENT, INTERN_MAC, INTERN),
    ]
    _, inside, _, _ = gateway(heddle, tmp_path, frames, known=[])
    assert inside == [
        ask(INTERN_MAC, INTERN, CLIENT).ljust(60, b"\0"),
        sent_in(udp(WORLD, 7, CLIENT, 4000, b"!")),
    ]


@pytest.mark.parametrize("port", [22, 80, 443])
def test_the_world_reaches_the_server_alone(heddle, tmp_path, port):
    frames = [
        world(tcp(WORLD, 1234, EXTERN, port, b"GET")),
        server(tcp(SERVER, port, INTERN, 50000, b"200")),
        world(tcp(WORLD, 1234, EXTERN, port, b"more")),
        world(tcp("203.0.113.81", 1234, EXTERN, port, b"another")),
    ]
    outside, inside, host, _ = gateway(heddle, tmp_path, frames)
    assert inside == [
        sent_in(tcp(INTERN, 50000, SERVER, port, b"GET")),
        sent_in(tcp(INTERN, 50000, SERVER, port, b"more")),
        sent_in(tcp(INTERN, 50001, SERVER, port, b"another")),
    ]
    assert outside == [sent_out(tcp(EXTERN, port, WORLD, 1234, b"200"))]
    assert host == []


def test_the_inside_reaches_the_server_by_the_gateways_name(heddle, tmp_path):
    """Hairpin: both ends are inside, and each of them speaks with the gateway."""
    frames = [
        client(tcp(CLIENT, 4000, INTERN, 80, b"GET")),
        server(tcp(SERVER, 80, INTERN, 50000, b"200")),
    ]
    outside, inside, host, _ = gateway(heddle, tmp_path, frames)
    assert inside == [
        sent_in(tcp(INTERN, 50000, SERVER, 80, b"GET")),
        sent_in(tcp(INTERN, 80, CLIENT, 4000, b"200")),
    ]
    assert outside == host == []


def test_what_is_the_gateways_own(heddle, tmp_path):
    ping = IP(src=CLIENT, dst=INTERN) / ICMP(type=8, id=1) / Raw(b"ping")
    own = [
        client(tcp(CLIENT, 4000, INTERN, 22)),
        client(tcp(CLIENT, 4000, INTERN, 113)),
        client(udp(CLIENT, 4000, INTERN, 514)),
        client(udp(CLIENT, 4000, "10.255.255.255", 138)),
        client(ping),
        world(tcp(WORLD, 1234, EXTERN, 8080)),
        world(udp(WORLD, 1234, EXTERN, 514)),
    ]
    nobodys = [
        client(udp(CLIENT, 4000, INTERN, 53)),
        world(udp(WORLD, 1234, "198.51.100.14", 514)),
        world(IP(src=WORLD, dst=EXTERN) / ICMP(type=8)),
        world(tcp(WORLD, 21, EXTERN, 4000)),  # tcp_rw knows no such connection
        world(Raw(bytes(40))),
    ]
    outside, inside, host, report = gateway(heddle, tmp_path, own + nobodys)
    assert host == [to_host(Ether(frame)[IP]) for frame in own]
    assert outside == inside == []
    assert report.drops("tcp_rw") == {"refused": 1}


def test_ftps_data_connections_come_in(heddle, tmp_path):
    """PORT says the gateway's address and the port that it has given; numbers behind it are moved by what that is
    longer. A round trip lies between the SYN and the command, so they do not come in one batch."""
    said, made = b"PORT 10,0,0,7,15,160\r\n", b"PORT 198,51,100,13,195,81\r\n"  # ports 4000, 50001: the pattern's next
    frames = [
        client(tcp(CLIENT, 3999, WORLD, 21, flags="S", seq=99)),
        world(tcp(WORLD, 21, EXTERN, 50000, flags="SA", seq=499, ack=100)),
        client(tcp(CLIENT, 3999, WORLD, 21, said, seq=100, ack=500)),
        world(tcp(WORLD, 20, EXTERN, 50001, flags="S", seq=7)),
        world(tcp(WORLD, 21, EXTERN, 50000, b"200\r\n", seq=500, ack=100 + len(made))),
        client(tcp(CLIENT, 3999, WORLD, 21, b"QUIT\r\n", seq=100 + len(said), ack=505)),
    ]
    outside, inside, host, _ = gateway(heddle, tmp_path, frames, "--batch", "1")
    assert [checked(frame)[IP] and frame for frame in outside] == [
        sent_out(tcp(EXTERN, 50000, WORLD, 21, flags="S", seq=99)),
        sent_out(tcp(EXTERN, 50000, WORLD, 21, made, seq=100, ack=500)),
        sent_out(tcp(EXTERN, 50000, WORLD, 21, b"QUIT\r\n", seq=100 + len(made), ack=505)),
    ]
    assert inside == [
        sent_in(tcp(WORLD, 21, CLIENT, 3999, flags="SA", seq=499, ack=100)),
        sent_in(tcp(WORLD, 20, CLIENT, 4000, flags="S", seq=7)),
        sent_in(tcp(WORLD, 21, CLIENT, 3999, b"200\r\n", seq=500, ack=100 + len(said))),
    ]
    assert host == []
