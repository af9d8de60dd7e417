"""The elements of an IP router, one by one, against Scapy: ICMP, options, fragments, paint, link types."""

import ipaddress
import random
import socket as sockets

import pytest
from scapy.all import ARP, ICMP, IP, TCP, UDP, Ether, IPOption, IPOption_RR, IPOption_Timestamp, Raw
from whole import captures
from whole.program import CHAINS, Report

MY_MAC, YOUR_MAC, NEXT_MAC = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
RANDOM = random.Random(17)


def ether(packet, **fields):
    return bytes(Ether(src=YOUR_MAC, dst=MY_MAC, **fields) / packet)


def run(heddle, tmp_path, chain, frames, outputs=("out",), *args):
    """Runs a chain that reads $IN and writes $NAME for each output; returns the report and the frames of each."""
    captures.write(tmp_path / "in.pcap", frames)
    names = {"IN": tmp_path / "in.pcap"} | {name: tmp_path / f"{name}.pcap" for name in outputs}
    for name, path in names.items():
        chain = chain.replace(f"${name}", str(path))
    report = heddle.run(chain, *args)
    return report, [captures.frames(names[name]) for name in outputs]


def arp_reply(address, mac):
    return bytes(Ether(src=mac, dst=MY_MAC) / ARP(op=2, hwsrc=mac, psrc=address, hwdst=MY_MAC, pdst="10.0.0.1"))


def checked(frame):
    """The packet of a frame, whose checksums Scapy must find right."""
    packet = Ether(frame)
    fresh = packet.copy()
    fragment = packet[IP].frag > 0 or packet[IP].flags.MF
    for layer in (IP,) if fragment else (IP, TCP, UDP, ICMP):
        if layer in fresh and not (layer is UDP and packet[UDP].chksum == 0):
            del fresh[layer].chksum
    assert bytes(Ether(bytes(fresh)))[: len(frame)] == frame, (packet.show(dump=True), bytes(fresh).hex(), frame.hex())
    return packet


def some_packets(number):
    """Random UDP, TCP and ping packets."""
    for _ in range(number):
        address = lambda: str(ipaddress.IPv4Address(RANDOM.randrange(0x0A000001, 0x0AFFFFFF)))
        ports = {"sport": RANDOM.randrange(50000, 65536), "dport": RANDOM.randrange(50000, 65536)}
        above = RANDOM.choice([UDP(**ports), TCP(**ports), ICMP(type=8, id=RANDOM.randrange(65536))])
        ip = IP(src=address(), dst=address(), ttl=RANDOM.randrange(2, 255), id=RANDOM.randrange(65536))
        yield ip / above / Raw(RANDOM.randbytes(RANDOM.randrange(0, 1200)))


START = "FromDump($IN) -> Strip(14) -> CheckIPHeader -> "
END = f" -> EtherEncap(0x0800, {MY_MAC}, {NEXT_MAC}) -> ToDump($out);"


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        ("timeexceeded, transit", 11, 0),
        ("unreachable, net", 3, 0),
        ("unreachable, 13", 3, 13),
        ("sourcequench", 4, 0),
        ("unreachable, needfrag, PMTU 576, MTU 100", 3, 4),
    ],
)
def test_icmp_error_says_what_rfc_792_wants(heddle, tmp_path, arguments, kind, code):
    packets = list(some_packets(80))
    chain = START + f"ICMPError(10.0.0.1, {arguments})" + END
    report, [out] = run(heddle, tmp_path, chain, [ether(p) for p in packets])
    most = 100 if "MTU 100" in arguments else 576
    assert len(out) == len(packets)
    for frame, cause in zip(out, packets):
        got = checked(frame)
        assert (got[IP].src, got[IP].dst, got[IP].ttl, got[IP].proto) == ("10.0.0.1", cause.src, 255, 1)
        assert (got[ICMP].type, got[ICMP].code) == (kind, code)
        assert got[IP].len == len(frame) - 14 == min(most, 28 + len(cause))
        assert frame[14 + 28 :] == bytes(cause)[: most - 28]
        if code == 4:
            assert frame[14 + 26 : 14 + 28] == (576).to_bytes(2, "big")
    report.assert_accounted()


def test_icmp_error_answers_nobody_whom_it_must_not(heddle, tmp_path):
    ok = {"src": "10.0.0.2", "dst": "10.0.0.3"}
    refused = [
        ("icmp_error", ether(IP(**ok) / ICMP(type=3) / IP() / UDP())),
        ("icmp_error", ether(IP(**ok) / ICMP(type=5) / IP() / UDP())),
        ("fragment", ether(IP(**ok, frag=2) / Raw(b"12345678"))),
        ("bad_address", ether(IP(src="0.0.0.0", dst="10.0.0.3") / UDP())),
        ("bad_address", ether(IP(src="127.0.0.1", dst="10.0.0.3") / UDP())),
        ("bad_address", ether(IP(src="224.0.0.1", dst="10.0.0.3") / UDP())),
        ("bad_address", ether(IP(src="10.0.0.2", dst="224.0.0.1") / UDP())),
        ("bad_address", ether(IP(src="10.0.0.2", dst="10.0.0.255") / UDP())),
        ("link_broadcast", bytes(Ether(src=YOUR_MAC, dst="ff:ff:ff:ff:ff:ff") / IP(**ok) / UDP())),
        ("link_broadcast", bytes(Ether(src=YOUR_MAC, dst="01:00:5e:00:00:01") / IP(**ok) / UDP())),
    ]
    answered = [ether(IP(**ok) / UDP()), ether(IP(**ok) / ICMP(type=8)), ether(IP(**ok, flags="MF") / UDP())]
    chain = START + "e :: ICMPError(10.0.0.1, unreachable, host, 10.0.0.255)" + END
    report, [out] = run(heddle, tmp_path, chain, answered + [frame for _, frame in refused])
    assert len(out) == len(answered)
    wanted = {}
    for reason, _ in refused:
        wanted[reason] = wanted.get(reason, 0) + 1
    assert report.drops("e") == wanted


def reversed_route(recorded, sender, kind):
    """The option that leads an answer back: a no-operation, then what has been recorded, from the end, and the
    sender."""
    way = [*recorded[-2::-1], sender]
    return bytes([1, kind, 3 + 4 * len(way), 4]) + b"".join(sockets.inet_aton(hop) for hop in way)


@pytest.mark.parametrize("kind", [131, 137])
@pytest.mark.parametrize("arguments", ["timeexceeded", "unreachable, port", "unreachable, host, MTU 200"])
def test_icmp_errors_go_back_by_the_source_route(heddle, tmp_path, kind, arguments):
    hops = [f"10.1.0.{n}" for n in range(1, 10)]
    packets = []
    for recorded in range(10):
        option = IPOption(bytes([kind, 39, 4 + 4 * recorded]) + b"".join(sockets.inet_aton(hop) for hop in hops))
        packets.append(IP(src="10.0.0.2", dst="10.9.0.3", options=[option]) / UDP() / Raw(bytes(300)))
    # Pointers behind the end, into the option's head, and between two addresses.
    for pointer, recorded in ((255, 9), (0, 0), (3, 0), (10, 1)):
        option = IPOption(bytes([kind, 39, pointer]) + b"".join(sockets.inet_aton(hop) for hop in hops))
        packets.append(IP(src="10.0.0.2", dst="10.9.0.3", options=[option]) / UDP() / Raw(bytes(300)))
    visited = [*range(10), 9, 0, 0, 1]
    _, [out] = run(
        heddle, tmp_path, START + f"ICMPError(10.0.0.1, {arguments})" + END, [ether(packet) for packet in packets]
    )
    assert len(out) == len(packets)
    for frame, packet, number in zip(out, packets, visited):
        checked(frame)
        ip = frame[14:]
        header = ip[20 : 4 * (ip[0] & 15)]
        back = sockets.inet_ntoa(ip[16:20])
        assert back == (hops[number - 1] if number else "10.0.0.2")
        assert header == (reversed_route(hops[:number], "10.0.0.2", kind) if number else b"")
        quoted = ip[4 * (ip[0] & 15) + 8 :]
        assert len(ip) == (200 if "MTU" in arguments else 28 + len(header) + len(packet))
        assert quoted == bytes(packet)[: len(quoted)]


def test_source_routes_that_errors_do_not_follow(heddle, tmp_path):
    def packet(*option):
        return IP(src="10.0.0.2", dst="10.9.0.3", options=[IPOption(bytes(option))]) / UDP() / Raw(bytes(100))

    route = (131, 7, 8, 10, 1, 0, 1)
    chain = START + "e :: ICMPError(10.0.0.1, redirect, host)" + END
    report, [out] = run(heddle, tmp_path, chain, [ether(packet(*route)), ether(packet(1))])
    assert report.drops("e") == {"source_route": 1} and len(out) == 1
    chain = START + "e :: ICMPError(10.0.0.1, timeexceeded)" + END
    report, [out] = run(heddle, tmp_path, chain, [ether(packet(131, 7, 8, 224, 0, 0, 1))])
    assert report.drops("e") == {"bad_address": 1} and not out
    # The least room for the route and 28 bytes of the packet, and one less.
    chain = START + "e :: ICMPError(10.0.0.1, timeexceeded, MTU 76)" + END
    _, [out] = run(heddle, tmp_path, chain, [ether(packet(*route))])
    assert checked(out[0])[IP].dst == "10.1.0.1" and len(out[0]) == 14 + 76
    chain = START + "e :: ICMPError(10.0.0.1, timeexceeded, MTU 75)" + END
    _, [out] = run(heddle, tmp_path, chain, [ether(packet(*route))])
    assert checked(out[0])[IP].dst == "10.0.0.2" and len(out[0]) == 14 + 75
    # A problem of the route itself goes straight back, one of another option does not.
    chain = (
        START + "o :: IPGWOptions(10.0.0.1)" + END + "o[1] -> ICMPError(10.0.0.1, parameterproblem) -> ToDump($bad);"
    )
    _, [_, bad] = run(heddle, tmp_path, chain, [ether(packet(*route, 7, 2))], ("out", "bad"))
    assert IP(bad[0]).dst == "10.1.0.1" and IP(bad[0])[ICMP].ptr == 28


def test_icmp_redirect_tells_the_gateway_and_fix_ip_src_the_source(heddle, tmp_path):
    packet = IP(src="10.0.0.2", dst="10.9.0.3") / UDP()
    chain = START + (
        "p :: PaintTee(0) -> Discard; p[1] -> SetIPAddress(10.0.0.77) -> ICMPError(10.0.0.1, redirect, host)"
        "-> FixIPSrc(10.5.5.5)" + END
    )
    _, [out] = run(heddle, tmp_path, chain, [ether(packet)])
    got = checked(out[0])
    assert (got[IP].src, got[ICMP].type, got[ICMP].code, got[ICMP].gw) == ("10.5.5.5", 5, 1, "10.0.0.77")


def test_fix_ip_src_leaves_others_alone(heddle, tmp_path):
    packets = list(some_packets(20))
    _, [out] = run(heddle, tmp_path, START + "FixIPSrc(10.5.5.5)" + END, [ether(p) for p in packets])
    assert [frame[14:] for frame in out] == [bytes(p) for p in packets]


def test_errors_go_back_through_the_routing_table(heddle, tmp_path):
    """A cycle: an ICMPError holds packets like a buffer, so the way back needs no Queue."""
    chain = START + (
        "rt :: StaticIPLookup(10.0.0.0/8 0, 192.168.0.0/16 1); rt[0] -> t :: DecIPTTL"
        + END
        + "t[1] -> ICMPError(10.0.0.1, timeexceeded) -> rt; rt[1] -> back :: ToDump($back);"
    )
    frames = [ether(IP(src="192.168.1.2", dst="10.0.0.9", ttl=ttl) / UDP()) for ttl in (1, 5, 1)]
    _, [out, back] = run(heddle, tmp_path, chain, frames, ("out", "back"))
    assert len(out) == 1 and len(back) == 2
    assert {IP(packet).dst for packet in back} == {"192.168.1.2"}


def test_ping_responder_answers(heddle, tmp_path):
    pings = [
        IP(src="10.0.0.2", dst="10.0.0.1", ttl=3 + n) / ICMP(type=8, id=n, seq=n) / RANDOM.randbytes(n)
        for n in range(70)
    ]
    others = [
        IP(src="10.0.0.2", dst="10.0.0.1") / ICMP(type=0),
        IP(src="10.0.0.2", dst="10.0.0.1") / UDP(),
        IP(src="10.0.0.2", dst="10.0.0.1", flags="MF") / ICMP(type=8) / Raw(bytes(8)),
    ]
    chain = START + "r :: ICMPPingResponder" + END + "r[1] -> ToDump($others);"
    _, [out, rest] = run(heddle, tmp_path, chain, [ether(p) for p in pings + others], ("out", "others"))
    for frame, ping in zip(out, pings, strict=True):
        answer = IP(bytes(ping))
        answer.src, answer.dst, answer.ttl, answer[ICMP].type = ping.dst, ping.src, 255, 0
        del answer.chksum, answer[ICMP].chksum
        assert frame[14:] == bytes(answer)
    assert rest == [bytes(p) for p in others]
    report, _ = run(heddle, tmp_path, START + "r :: ICMPPingResponder" + END, [ether(p) for p in others])
    assert report.drops("r") == {"not_ping": 2, "fragment": 1}


def test_pings_of_groups_are_not_answered(heddle, tmp_path):
    """RFC 1122, 3.2.1.3: what would be the answer's addresses belong to one host each."""
    pairs = [
        ("10.0.0.2", "224.0.0.1"),
        ("10.0.0.2", "255.255.255.255"),
        ("224.0.0.9", "10.0.0.1"),
        ("0.0.0.0", "10.0.0.1"),
    ]
    pings = [ether(IP(src=source, dst=to) / ICMP(type=8)) for source, to in pairs]
    report, [out] = run(heddle, tmp_path, START + "r :: ICMPPingResponder" + END, pings)
    assert out == []
    assert report.drops("r") == {"bad_address": len(pairs)}


def test_a_short_timeout_is_no_endless_one(heddle, tmp_path):
    captures.write(tmp_path / "in.pcap", [ether(IP() / UDP())])
    chain = "FromDump($IN) -> [0]s :: EtherSwitch(TIMEOUT 500ms); Idle -> [1]s; s[0] -> Discard; s[1] -> Discard"
    result = heddle("run", "--quiet", "-e", chain, f"IN={tmp_path / 'in.pcap'}", "-h", "s.timeout")
    assert result.code == 0 and result.out.split()[-1] == "1", result


def test_ping_source_and_responder_ping_each_other(heddle, tmp_path):
    chain = (
        "p :: ICMPPingSource(10.0.0.1, 10.0.0.2, INTERVAL 0.001, LIMIT 20, DATA abcdefgh, IDENTIFIER 7, VERBOSE false)"
        "-> t :: Tee -> CheckIPHeader -> ICMPPingResponder -> Pipeliner -> CheckIPHeader -> [0]p; t[1] -> ToDump($out);"
    )
    report, [out] = run(heddle, tmp_path, chain.replace("-> [0]p", "-> p"), [])
    assert report.one("p")["statistics"] == {"sent": 20, "answers": 20}
    for number, packet in enumerate(out):
        ping = IP(src="10.0.0.1", dst="10.0.0.2", ttl=255, id=number) / ICMP(id=7, seq=number) / Raw(b"abcdefgh")
        assert packet == bytes(ping)


def reassembled(fragments):
    """The payload of one datagram, from its fragments in any order."""
    parts = sorted((IP(f) for f in fragments), key=lambda p: p.frag)
    payload = b""
    for part in parts:
        assert part.frag * 8 == len(payload)
        payload += bytes(part)[part.ihl * 4 :]
    assert [bool(p.flags.MF) for p in parts] == [True] * (len(parts) - 1) + [False]
    return payload


@pytest.mark.parametrize("mtu", [68, 576, 1001, 1500])
def test_fragments_make_the_packet_again(heddle, tmp_path, mtu):
    packets = list(some_packets(40))
    udp = UDP(sport=50000, dport=50001)  # not 53, Scapy's default: it would look for names in random bytes
    packets += [
        IP(src="1.0.0.1", dst="1.0.0.2", id=9, options=[IPOption_RR(), b"\x94\x04\x00\x00"]) / udp / bytes(2000)
    ]
    packets += [IP(src="1.0.0.1", dst="1.0.0.2", id=500 + n) / udp / RANDOM.randbytes(8000 + n) for n in range(20)]
    chain = START + f"f :: IPFragmenter({mtu})" + END
    report, [out] = run(heddle, tmp_path, chain, [ether(p) for p in packets])
    by_id = {}
    for frame in out:
        ip = checked(frame)[IP]
        assert len(frame) - 14 == ip.len <= mtu
        assert ip.flags.MF == 0 or (ip.len - ip.ihl * 4) % 8 == 0
        by_id.setdefault((ip.src, ip.dst, ip.id), []).append(frame[14:])
    assert len(by_id) == len(packets)
    for packet in packets:
        got = by_id[packet.src, packet.dst, packet.id]
        raw = bytes(packet)
        assert reassembled(got) == raw[(raw[0] & 15) * 4 :]
        assert {(IP(f).ttl, IP(f).proto, IP(f).tos) for f in got} == {(packet.ttl, IP(raw).proto, packet.tos)}
        if len(raw) <= mtu:
            assert got == [raw]
        if (raw[0] & 15) > 5 and len(got) > 1:  # Record Route is not copied, the other option is
            later = sorted(got, key=lambda f: IP(f).frag)[1:]
            assert {f[20 : (f[0] & 15) * 4] for f in later} == {b"\x94\x04\x00\x00"}
    made = report.one("f")["statistics"]["fragments"]
    assert made == sum(len(f) for f in by_id.values() if len(f) > 1)


def test_fragments_of_fragments_and_those_that_must_not_be(heddle, tmp_path):
    first = IP(src="1.0.0.1", dst="1.0.0.2", id=1, flags="MF") / UDP() / bytes(792)
    second = IP(src="1.0.0.1", dst="1.0.0.2", id=1, frag=100, proto=17) / Raw(RANDOM.randbytes(700))
    whole = IP(src="1.0.0.1", dst="1.0.0.2", id=2, flags="DF") / UDP() / bytes(1000)
    frames = [ether(first), ether(second), ether(whole)]
    chain = START + "f :: IPFragmenter(300)" + END + "f[1] -> ToDump($df);"
    _, [out, refused] = run(heddle, tmp_path, chain, frames, ("out", "df"))
    assert refused == [bytes(whole)]
    assert reassembled([f[14:] for f in out]) == bytes(first)[20:] + bytes(second)[20:]
    report, _ = run(heddle, tmp_path, START + "f :: IPFragmenter(300)" + END, frames)
    assert report.drops("f") == {"dont_fragment": 1}
    _, [out] = run(heddle, tmp_path, START + "f :: IPFragmenter(300, HONOR_DF false)" + END, frames[2:])
    assert reassembled([f[14:] for f in out]) == bytes(whole)[20:]


def test_options_of_a_gateway(heddle, tmp_path):
    fields = {"src": "1.0.0.1", "dst": "1.0.0.2"}
    rr = [IP(**fields, options=[IPOption_RR(pointer=p, routers=["0.0.0.0"] * 3)]) / UDP() for p in (4, 8, 16)]
    stamp = IP(**fields, options=[IPOption_Timestamp(flg=1, pointer=5, length=12, internet_address="0.0.0.0")]) / UDP()
    only_others = IP(**fields, options=[b"\x44\x0c\x05\x03\x09\x09\x09\x09\x00\x00\x00\x00"]) / UDP()
    full = IP(**fields, options=[b"\x44\x08\x09\x30" + bytes(4)]) / UDP()
    good = [*rr, stamp, only_others, full, IP(**fields) / UDP()]
    bad = [
        (22, IP(**fields, options=[b"\x07\x07\x03" + bytes(5)]) / UDP()),  # the pointer points into the option's start
        (22, IP(**fields, options=[b"\x07\x07\x05" + bytes(5)]) / UDP()),  # between two addresses
        (21, IP(**fields, options=[b"\x07\x28" + bytes(2)]) / UDP()),  # longer than the header
        (21, IP(**fields, options=[b"\x88\x01" + bytes(2)]) / UDP()),  # shorter than itself
        (23, IP(**fields, options=[b"\x44\x08\x09\xf0" + bytes(4)]) / UDP()),  # full, and too many routers
    ]
    chain = (
        START + "o :: IPGWOptions(10.0.0.1)" + END + "o[1] -> ICMPError(10.0.0.1, parameterproblem) -> ToDump($bad);"
    )
    frames = [ether(p) for p in good] + [ether(p) for _, p in bad]
    _, [out, errors] = run(heddle, tmp_path, chain, frames, ("out", "bad"))
    got = [checked(frame)[IP] for frame in out]
    assert [p.options[0].routers for p in got[:3]] == [
        ["10.0.0.1", "0.0.0.0", "0.0.0.0"],
        ["0.0.0.0", "10.0.0.1", "0.0.0.0"],
        ["0.0.0.0"] * 3,
    ]
    assert [p.options[0].pointer for p in got[:3]] == [8, 12, 16]
    raw = bytes(got[3])[20:32]
    assert raw[2] == 13 and raw[4:8] == bytes([10, 0, 0, 1]) and 0 < int.from_bytes(raw[8:], "big") < 86_400_000
    assert out[4][14:] == bytes(only_others)
    assert bytes(got[5])[20:24] == b"\x44\x08\x09\x40"
    assert out[6][14:] == bytes(good[6])
    assert [(IP(e)[ICMP].type, IP(e)[ICMP].ptr) for e in errors] == [(12, place) for place, _ in bad]
    assert [e[28 : 28 + len(p)] for e, (_, p) in zip(errors, bad)] == [bytes(p) for _, p in bad]


def test_link_types_and_filters(heddle, tmp_path):
    destinations = [MY_MAC, YOUR_MAC, "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01"]
    packet = IP(src="10.0.0.2", dst="10.0.0.3") / UDP()
    frames = [bytes(Ether(src=NEXT_MAC, dst=d) / packet) for d in destinations] + [b"tiny"]
    report, [out] = run(heddle, tmp_path, "FromDump($IN) -> d :: DropBroadcasts -> ToDump($out);", frames)
    assert out == [*frames[:2], b"tiny"] and report.drops("d") == {"broadcast": 2}
    chain = f"FromDump($IN) -> h :: HostEtherFilter({MY_MAC}) -> ToDump($out); h[1] -> ToDump($rest);"
    report, [out, rest] = run(heddle, tmp_path, chain, frames, ("out", "rest"))
    assert out == [frames[0], *frames[2:4]] and rest == [frames[1]] and report.drops("h") == {"short": 1}
    chain = f"FromDump($IN) -> h :: HostEtherFilter({MY_MAC}, DROP_OTHER false) -> DropBroadcasts -> ToDump($out);"
    _, [out] = run(heddle, tmp_path, chain, frames[:4])
    assert out == frames[:2]
    report, _ = run(
        heddle, tmp_path, f"FromDump($IN) -> h :: HostEtherFilter({NEXT_MAC}, true) -> ToDump($out);", frames
    )
    assert report.drops("h") == {"own": 4, "short": 1}


def test_paint_tee_and_check_paint(heddle, tmp_path):
    frames = [ether(p) for p in some_packets(30)]
    chain = (
        "FromDump($IN) -> s :: RoundRobinSwitch; s[0] -> Paint(1) -> p; s[1] -> Paint(2) -> p; s[2] -> p :: PaintTee(2)"
        "-> EtherMirror -> ToDump($out); p[1] -> ToDump($two);"
    )
    _, [out, two] = run(heddle, tmp_path, chain, frames, ("out", "two"))
    assert two == frames[1::3]
    assert out == [f[6:12] + f[:6] + f[12:] for f in frames]
    chain = chain.replace("p :: PaintTee(2)", "p :: CheckPaint(2)")
    _, [out, two] = run(heddle, tmp_path, chain, frames, ("out", "two"))
    assert out == [f[6:12] + f[:6] + f[12:] for f in frames[1::3]]
    assert two == [f for n, f in enumerate(frames) if n % 3 != 1]


def test_addresses_into_packets(heddle, tmp_path):
    packets = list(some_packets(40)) + [IP(src="1.2.3.4", dst="5.6.7.8") / UDP(chksum=0) / Raw(b"x")]
    frames = [ether(p) for p in packets]
    for place in ("src", "dst"):
        chain = f"FromDump($IN) -> CheckIPHeader(14) -> StoreIPAddress(99.88.77.66, {place}) -> ToDump($out);"
        _, [out] = run(heddle, tmp_path, chain, frames)
        for frame, packet in zip(out, packets, strict=True):
            assert getattr(checked(frame)[IP], place) == "99.88.77.66"
            other = "dst" if place == "src" else "src"
            assert getattr(checked(frame)[IP], other) == getattr(packet, other)
    chain = "FromDump($IN) -> SetIPAddress(1.2.3.4) -> s :: StoreIPAddress(60) -> ToDump($out);"
    report, [out] = run(heddle, tmp_path, chain, frames)
    long = [f for f in frames if len(f) >= 64]
    assert out == [f[:60] + bytes([1, 2, 3, 4]) + f[64:] for f in long]
    assert sum(report.drops("s").values()) == len(frames) - len(long) > 0
    _, [out] = run(heddle, tmp_path, "FromDump($IN) -> CheckIPHeader(14) -> StripIPHeader -> ToDump($out);", frames)
    assert out == [f[14 + (f[14] & 15) * 4 :] for f in frames]


@pytest.mark.parametrize("threads", [1, 2])
def test_garbage_through_the_ip_router(heddle, tmp_path, threads):
    """Whatever comes, nothing crashes, and every packet is accounted for."""
    frames = [ether(p) for p in some_packets(200)] + [arp_reply("10.1.0.1", YOUR_MAC)]
    frames += captures.frames(CHAINS / "captures/ping.pcap")[:50]
    mutated = []
    for _ in range(4000):
        frame = bytearray(RANDOM.choice(frames))
        frame[:14] = frames[-1][:6] + RANDOM.choice([b"\2\0\0\0\0\1", b"\2\0\0\0\0\2"]) + frame[12:14]
        for _ in range(RANDOM.choice([0, 1, 3])):
            frame[RANDOM.randrange(len(frame))] = RANDOM.randrange(256)
        if len(frame) > 34 and RANDOM.random() < 0.7:  # many get through CheckIPHeader
            header = 14 + min((frame[14] & 15) * 4, len(frame) - 14)
            frame[16:18] = (len(frame) - 14).to_bytes(2, "big")
            frame[24:26] = b"\0\0"
            total = sum(int.from_bytes(frame[n : n + 2], "big") for n in range(14, header - 1, 2))
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            frame[24:26] = (~total & 0xFFFF).to_bytes(2, "big")
        mutated.append(bytes(frame[: RANDOM.choice([len(frame), RANDOM.randrange(len(frame) + 1)])]))
    captures.write(tmp_path / "in.pcap", mutated)
    args = [f"IN={tmp_path}/in.pcap", f"OUT={tmp_path}/out", "MTU=300", "-j", str(threads)]
    report = Report(heddle.ok("run", "--json", CHAINS / "ip_router.click", *args).json)
    made = sum(e["statistics"].get("queries", 0) for e in report.elements("ARPQuerier"))
    fragmented = sum(e["statistics"]["fragments"] for e in report.elements("IPFragmenter"))
    assert report.ended() + report.dropped >= report.received + made
    assert fragmented > 0 and report.ended() > 500
