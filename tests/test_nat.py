"""Network address translation against Scapy and a model of mappings: flows, replies, ICMP errors, exhaustion,
timeouts."""

import contextlib
import random
import re
import socket as sockets

import pytest
from scapy.all import ICMP, IP, TCP, UDP, Ether, Raw
from test_ip_router_elements import MY_MAC, NEXT_MAC, YOUR_MAC, checked, ether, run
from test_ip_router_namespaces import finish, two_networks
from whole import captures, network
from whole.control import Control
from whole.program import CHAINS, TIMEOUT_S, Report, read_handler, wait_until

RANDOM = random.Random(1122)
PUBLIC = "198.51.100.1"

# One capture brings both sides: frames of MY_MAC are inside's, the others outside's.
BOTH = (
    "FromDump($IN) -> side :: Classifier(6/02000000000a, -); side[0] -> Strip(14) -> CheckIPHeader -> [0]r;"
    f"side[1] -> Strip(14) -> CheckIPHeader -> [1]r; r[0] -> EtherEncap(0x0800, {MY_MAC}, {NEXT_MAC}) -> ToDump($out);"
    f"r[1] -> EtherEncap(0x0800, {NEXT_MAC}, {MY_MAC}) -> ToDump($back);"
)


def inside(packet):
    return bytes(Ether(src=MY_MAC, dst=YOUR_MAC) / packet)


def outside(packet):
    return bytes(Ether(src=YOUR_MAC, dst=MY_MAC) / packet)


def transport(proto, sport, dport, **fields):
    return (UDP if proto == "udp" else TCP)(sport=sport, dport=dport, **fields)


def flow(packet):
    above = packet[UDP] if UDP in packet else packet[TCP]
    return (packet[IP].src, above.sport, packet[IP].dst, above.dport)


@pytest.mark.parametrize("proto", ["udp", "tcp"])
def test_flows_get_ports_of_their_own_and_replies_come_back(heddle, tmp_path, proto):
    name = {"udp": "UDPRewriter", "tcp": "TCPRewriter"}[proto]
    flows = list(
        {
            (f"10.0.0.{RANDOM.randrange(1, 250)}", RANDOM.randrange(1, 65536), "203.0.113.9", p)
            for p in (53, 80)
            for _ in range(90)
        }
    )
    frames = [
        inside(IP(src=s, dst=d, id=n) / transport(proto, sp, dp) / RANDOM.randbytes(n))
        for n, (s, sp, d, dp) in enumerate(flows * 2)
    ]
    chain = f"r :: {name}(pattern {PUBLIC} 1024-65535 - - 0 1, drop);" + BOTH
    _, [out, back] = run(heddle, tmp_path, chain, frames, ("out", "back"))
    assert not back
    sent = [checked(frame) for frame in out]
    new = [flow(p) for p in sent]
    assert new[: len(flows)] == new[len(flows) :] and len(set(new)) == len(flows)
    assert all(s == PUBLIC and 1024 <= sp for s, sp, _, _ in new)
    assert [p[IP].id for p in sent] == list(range(2 * len(flows)))
    assert [f[14 + 20 + (8 if proto == "udp" else 20) :] for f in out] == [
        f[14 + 20 + (8 if proto == "udp" else 20) :] for f in frames
    ]


def test_replies_are_rewritten_back_and_strangers_dropped(heddle, tmp_path):
    chain = f"r :: IPRewriter(pattern {PUBLIC} 5000 - - 0 1, drop);" + BOTH
    request = IP(src="10.0.0.5", dst="203.0.113.9") / TCP(sport=777, dport=80, flags="S")
    reply = IP(src="203.0.113.9", dst=PUBLIC) / TCP(sport=80, dport=5000, flags="SA") / Raw(b"hello")
    no_checksum = IP(src="10.0.0.5", dst="203.0.113.9") / UDP(sport=777, dport=80, chksum=0) / Raw(b"x")
    strangers = [
        IP(src="203.0.113.9", dst=PUBLIC) / TCP(sport=80, dport=5001),
        IP(src="203.0.113.8", dst=PUBLIC) / TCP(sport=80, dport=5000),
        IP(src="203.0.113.9", dst=PUBLIC) / UDP(sport=81, dport=5000),
    ]
    others = [
        IP(src="10.0.0.5", dst="203.0.113.9") / ICMP(),
        IP(src="10.0.0.5", dst="203.0.113.9", frag=3, proto=17) / Raw(bytes(8)),
    ]
    frames = [inside(request), outside(reply), inside(no_checksum)]
    frames += [outside(p) for p in strangers] + [inside(p) for p in others]
    report, [out, back] = run(heddle, tmp_path, chain, frames, ("out", "back"))
    assert [flow(checked(f)) for f in out] == [(PUBLIC, 5000, "203.0.113.9", 80)] * 2
    assert Ether(out[1])[UDP].chksum == 0
    [got] = back
    assert flow(checked(got)) == ("203.0.113.9", 80, "10.0.0.5", 777) and got.endswith(b"hello")
    assert report.drops("r") == {"refused": 3, "other_protocol": 1, "fragment": 1}
    assert report.one("r")["statistics"]["mappings"] == 2


def test_exhaustion_is_counted_and_leaves_flows_alone(heddle, tmp_path):
    old = [inside(IP(src="10.0.0.1", dst="203.0.113.9") / UDP(sport=n, dport=80)) for n in range(1, 11)]
    flood = [inside(IP(src="10.0.0.2", dst="203.0.113.9") / UDP(sport=n, dport=80)) for n in range(1, 501)]
    chain = f"r :: IPRewriter(pattern {PUBLIC} 2000-2099# - - 0 1, drop);" + BOTH
    report, [out, _] = run(heddle, tmp_path, chain, old + flood + old, ("out", "back"))
    assert report.drops("r") == {"no_port": 410} and report.one("r")["statistics"]["mappings"] == 100
    assert out[:10] == out[-10:] and len({flow(Ether(f)) for f in out}) == 100
    chain = f"r :: IPRewriter(pattern {PUBLIC} 2000-2999 - - 0 1, drop, CAPACITY 64);" + BOTH
    report, [out, _] = run(heddle, tmp_path, chain, old + flood + old, ("out", "back"))
    assert report.drops("r") == {"table_full": 446} and report.one("r")["statistics"]["mappings"] == 64
    assert out[:10] == out[-10:]


def test_a_pattern_of_all_that_there_can_be(heddle, tmp_path):
    packet = IP(src="10.0.0.2", dst="8.8.8.8") / UDP(sport=5, dport=53)
    captures.write(tmp_path / "in.pcap", [inside(packet)] * 9)
    chain = (
        "FromDump($IN) -> Strip(14) -> CheckIPHeader"
        " -> r :: IPRewriter(pattern 10.1.0.0-10.1.255.255 0-65535 - - 0 0) -> c :: Counter -> Discard"
    )
    result = heddle("run", "--quiet", "-e", chain, f"IN={tmp_path / 'in.pcap'}", "-h", "c.count", "-h", "r.size")
    assert result.code == 0 and re.findall(r"^\d+$", result.out, re.MULTILINE) == ["9", "1"], result


def resident_bytes(running):
    with open(f"/proc/{running.process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) * 1024


def test_a_million_mappings(heddle, tmp_path):
    """Sixteen public addresses, all but 3 % of whose ports are taken, by two threads; what a mapping takes."""

    def memory(capacity, each):
        data = bytes(IP(src="0.0.0.0", dst="0.0.0.0") / UDP(sport=1000, dport=53, chksum=0) / Raw(b"x")).hex()
        # A number of its own becomes each packet's source.
        sources = "".join(
            f"s{n} :: InfiniteSource(DATA \\<{data}>, LIMIT {each}, STOP false) -> NumberPacket(OFFSET 12)"
            f" -> StoreData(16, \\<cb00710{n}>) -> MarkIPHeader -> GetIPAddress(16) -> [0]r;"
            for n in range(2)
        )
        chain = (
            f"r :: IPRewriter(pattern 198.51.100.1-198.51.100.16 1024-65535# - - 0 1, drop, CAPACITY {capacity});"
            f"{sources} Idle -> [1]r; r[0] -> out :: Counter -> Discard; r[1] -> Discard;"
            "StaticThreadSched(s0 0, s1 1); Script(wait 1000s)"
        )
        path = tmp_path / f"control-{capacity}"
        with heddle.start("run", "--quiet", "-j", 2, "-u", path, "-e", chain) as running:
            control = Control(path)
            wait_until(lambda: int(control.read("out.count")) == 2 * each, TIMEOUT_S, "all packets")
            assert control.read("r.size") == str(2 * each) and control.read("r.mapping_failures") == "0"
            ways = set()
            for n in (0, 1, each // 2, each - 1):
                source = ".".join(map(str, n.to_bytes(4, "little")))
                for side in range(2):
                    got = control.read(f"r.udp_lookup {source} 1000 203.0.113.{side} 53").split()
                    assert got[2:] == [f"203.0.113.{side}", "53"] and 1024 <= int(got[1]) <= 65535
                    assert got[0] in {f"198.51.100.{k}" for k in range(1, 17)}
                    ways.add((got[0], got[1]))
            assert len(ways) == 8
            used = resident_bytes(running)
            assert running.interrupt().code == 0
        return used

    few, many = memory(1000, 500), memory(1_000_000, 500_000)
    assert many - few < 1_000_000 * 200 + (8 << 20)  # 192 bytes or a little more


def test_names_of_patterns_are_their_own(heddle):
    rest = "Idle -> r :: IPRewriter({} 0 0) -> Discard; InfiniteSource(LIMIT 1) -> Discard"
    two = "IPRewriterPatterns(a 1.0.0.1 1-2 - -); IPRewriterPatterns(a 1.0.0.3 1-2 - -);"
    assert "two IPRewriterPatterns have a pattern 'a'" in heddle.fails("check", "-e", two + rest.format("a"))
    for word in ("keep", "drop", "pattern"):
        err = heddle.fails("check", "-e", f"IPRewriterPatterns({word} 1.0.0.1 1-2 - -); {rest.format('keep')}")
        assert f"'{word}' means something else to rewriters" in err


def test_errors_of_mapped_hosts_about_answers(heddle, tmp_path):
    """A port that is closed inside, seen from outside (RFC 5508, 4)."""
    answer = IP(src="8.8.8.8", dst="10.0.0.1") / UDP(sport=53, dport=1000)
    packets = [
        IP(src="10.0.0.1", dst="8.8.8.8") / UDP(sport=1000, dport=53),
        IP(src="10.0.0.1", dst="8.8.8.8") / ICMP(type=3, code=3) / answer,
    ]
    captures.write(tmp_path / "in.pcap", [inside(packet) for packet in packets])
    chain = (
        "FromDump($IN) -> Strip(14) -> CheckIPHeader -> c :: IPClassifier(icmp type 3, -);"
        "c[1] -> r :: IPAddrRewriter(pattern 1.0.0.1 - 0 0) -> t :: ToDump($OUT, ENCAP IP); c[0] -> ICMPRewriter(r) -> t"
    )
    result = heddle("run", "--quiet", "-e", chain, f"IN={tmp_path / 'in.pcap'}", f"OUT={tmp_path / 'out.pcap'}")
    assert result.code == 0, result
    error = IP(captures.frames(tmp_path / "out.pcap")[1])
    assert (error.src, error.dst) == ("1.0.0.1", "8.8.8.8")
    assert (error[ICMP].payload.src, error[ICMP].payload.dst) == ("8.8.8.8", "1.0.0.1")
    checked(bytes(Ether() / error))


@pytest.mark.parametrize("handler", ["r.pattern0 drop", "r.capacity 1"])
def test_handlers_are_written_when_the_sources_have_stopped(heddle, tmp_path, handler):
    """The packet thread whose source has ended is one of those that a handler waits for."""
    captures.write(tmp_path / "in.pcap", [inside(IP(src="10.0.0.2", dst="8.8.8.8") / UDP(sport=5, dport=53))])
    chain = (
        "FromDump($IN, STOP true) -> Strip(14) -> CheckIPHeader -> r :: IPRewriter(pattern 1.0.0.1 5-8 - - 0 0) -> Discard;"
        f'DriverManager(wait_stop, write {handler}, print "done", stop)'
    )
    result = heddle("run", "--quiet", "-e", chain, f"IN={tmp_path / 'in.pcap'}")
    assert result.code == 0 and result.out.strip() == "done", result


def test_input_specifications(heddle, tmp_path):
    packet = IP(src="10.0.0.1", dst="203.0.113.9") / UDP(sport=7, dport=80)
    answer = IP(src="203.0.113.9", dst="10.0.0.1") / UDP(sport=80, dport=7)
    for spec, mapped in (("keep 0 1", True), ("pass 0", False)):
        chain = f"r :: IPRewriter({spec}, drop);" + BOTH
        _, [out, back] = run(heddle, tmp_path, chain, [inside(packet), outside(answer)], ("out", "back"))
        assert [f[14:] for f in out] == [bytes(packet)]
        assert [f[14:] for f in back] == ([bytes(answer)] if mapped else [])
    # A server behind: its address and port are outside's.
    chain = "r :: IPRewriter(drop, pattern - - 10.0.0.1 7 1 0);" + BOTH
    come = IP(src="203.0.113.9", dst=PUBLIC) / UDP(sport=80, dport=8080)
    _, [out, back] = run(heddle, tmp_path, chain, [outside(come), inside(packet)], ("out", "back"))
    assert [flow(checked(f)) for f in back] == [("203.0.113.9", 80, "10.0.0.1", 7)]
    assert [flow(checked(f)) for f in out] == [(PUBLIC, 8080, "203.0.113.9", 80)]


def test_inputs_say_what_they_do(heddle):
    chain = (
        "r :: IPRewriter(pattern 1.0.0.1 1024-2000 - - 0 1, drop, pass 1, keep 0 1); r[0] -> Discard; r[1] -> Discard;"
        + "".join(f"Idle -> MarkIPHeader -> [{n}]r;" for n in range(4))
        + 'Script(print "$(r.patterns)", print "$(r.pattern2)", stop)'
    )
    out = heddle.ok("run", "--quiet", "-e", chain).out.splitlines()
    assert [line for line in out if line] == ["1.0.0.1 1024-2000 - -", "<drop>", "<nochange>", "<keep>", "<nochange>"]


def test_capacity_changes_under_load(heddle, tmp_path):
    """Flows that are there keep their ports while the table becomes another one, again and again."""
    chain = (
        "FastUDPFlows(RATE 0, LIMIT -1, LENGTH 64, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.1.0.1, 500, 1000000000)"
        " -> Strip(14) -> CheckIPHeader -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) -> Discard;"
    )
    with heddle.start("run", "--json", "-u", tmp_path / "control", "-e", chain) as run:
        control = Control(tmp_path / "control")
        wait_until(lambda: control.read("r.size") == "500", 60, "500 mappings")
        flows = {line.split(" [")[0] for line in control.read("r.table").splitlines()}
        for capacity in (600, 100000, 700, 65536):
            control.write("r.capacity", str(capacity))
            assert control.read("r.capacity") == str(capacity)
            assert {line.split(" [")[0] for line in control.read("r.table").splitlines()} == flows
        control.write("r.capacity", "100")
        assert control.read("r.size") == "100"
        assert {line.split(" [")[0] for line in control.read("r.table").splitlines()} < flows
        report = Report(run.interrupt().json)
    report.assert_accounted()
    assert report.one("r")["statistics"]["made"] == 500 and report.drops("r")["table_full"] > 0


def test_pings_and_addresses(heddle, tmp_path):
    pings = [
        inside(IP(src=f"10.0.0.{n}", dst="203.0.113.9") / ICMP(id=77, seq=n) / RANDOM.randbytes(n))
        for n in range(1, 40)
    ]
    zero = outside(IP(src="203.0.113.9", dst=PUBLIC) / ICMP(type=0, id=5000, seq=0))
    chain = f"r :: ICMPPingRewriter(pattern {PUBLIC} 5000-5100# - - 0 1, drop);" + BOTH
    report, [out, _] = run(heddle, tmp_path, chain, pings, ("out", "back"))
    new = [checked(f) for f in out]
    assert len({p[ICMP].id for p in new}) == 39 and {p[IP].src for p in new} == {PUBLIC}
    assert [p[ICMP].seq for p in new] == list(range(1, 40))
    first = inside(IP(src="10.0.0.1", dst="203.0.113.9") / ICMP(id=0, seq=0))
    _, [out, back] = run(heddle, tmp_path, chain, [first, zero], ("out", "back"))
    assert checked(back[0])[IP].dst == "10.0.0.1" and checked(back[0])[ICMP].id == 0
    chain = f"r :: IPAddrRewriter(pattern {PUBLIC}-198.51.100.3 - 0 1, drop);" + BOTH
    tcp = [
        inside(IP(src=f"10.0.0.{n % 4}", dst="203.0.113.9", id=n) / TCP(sport=n) / Raw(b"x" * n)) for n in range(1, 30)
    ]
    report, [out, _] = run(heddle, tmp_path, chain, tcp, ("out", "back"))
    assert report.drops("r") == {"no_port": 7}  # the last of the four finds no address
    mapped = {Ether(f)[IP].id % 4: checked(f)[IP].src for f in out}
    assert len(out) == len(tcp) - 7 and len(set(mapped.values())) == 3 and mapped.keys() == {1, 2, 3}
    chain = f"r :: IPAddrPairRewriter(pattern {PUBLIC} 203.0.113.7 0 1, drop);" + BOTH
    back_again = outside(IP(src="203.0.113.7", dst=PUBLIC) / UDP(sport=1, dport=2) / Raw(b"y"))
    _, [out, back] = run(heddle, tmp_path, chain, [tcp[0], back_again], ("out", "back"))
    assert (checked(out[0])[IP].src, checked(out[0])[IP].dst) == (PUBLIC, "203.0.113.7")
    assert (checked(back[0])[IP].src, checked(back[0])[IP].dst) == ("203.0.113.9", "10.0.0.1")


@pytest.mark.parametrize("proto", ["udp", "tcp", "icmp"])
def test_icmp_errors_find_the_sender(heddle, tmp_path, proto):
    above = {"udp": UDP(sport=777, dport=80), "tcp": TCP(sport=777, dport=80), "icmp": ICMP(id=777)}[proto]
    request = IP(src="10.0.0.5", dst="203.0.113.9", ttl=9) / above / Raw(b"some data")
    chain = (
        f"r :: IPRewriter(pattern {PUBLIC} 5000 - - 0 1, drop); p :: ICMPPingRewriter(pattern {PUBLIC} 5000 - - 0 1);"
        "p[1] -> Discard; e :: ICMPRewriter(r p) -> EtherEncap(0x0800, {n}, {m}) -> ToDump($back); e[1] -> ToDump($rest);"
        "FromDump($IN) -> side :: Classifier(6/02000000000a, -); side[0] -> Strip(14) -> CheckIPHeader -> k :: IPClassifier(icmp, -);"
        "k[0] -> p -> to; k[1] -> [0]r; side[1] -> Strip(14) -> CheckIPHeader -> e; Idle -> [1]r; r[1] -> Discard;"
        "r[0] -> to :: EtherEncap(0x0800, {m}, {n}) -> ToDump($out);"
    ).format(m=MY_MAC, n=NEXT_MAC)
    names = ("out", "back", "rest")
    _, [out, _, _] = run(heddle, tmp_path, chain, [inside(request)], names)
    for router, quote in ((True, 28), (False, 200)):
        source = "192.0.2.1" if router else "203.0.113.9"
        error = (
            IP(src=source, dst=PUBLIC)
            / ICMP(type=11 if router else 3, code=0 if router else 3)
            / Raw(out[0][14:][:quote])
        )
        stranger = (
            IP(src=source, dst=PUBLIC) / ICMP(type=3, code=1) / IP(src=PUBLIC, dst="1.2.3.4") / UDP() / Raw(b"abc")
        )
        _, [_, back, rest] = run(heddle, tmp_path, chain, [inside(request), outside(error), outside(stranger)], names)
        [got] = back
        packet = checked(got)
        assert (packet[IP].src, packet[IP].dst) == (source, "10.0.0.5")
        assert got[14 + 28 :] == bytes(request)[:quote]
        assert rest == [bytes(stranger)]


def test_icmp_errors_about_moved_segments(heddle, tmp_path):
    """A PORT command has become longer: errors quote what the host has sent and got, and not what went over the
    wire."""
    client, server = "10.0.0.5", "203.0.113.9"
    chain = (
        f"r :: IPRewriter(pattern {PUBLIC} 5000-5001# - - 0 1, drop); e :: ICMPRewriter(r) -> ToDump($errors, ENCAP IP);"
        "FromDump($IN, BURST 1) -> side :: Classifier(6/02000000000a, -); side[0] -> Strip(14) -> CheckIPHeader"
        " -> k :: IPClassifier(icmp, -); k[0] -> e; k[1] -> FTPPortMapper(r, r, 0) -> [0]r;"
        "side[1] -> Strip(14) -> CheckIPHeader -> m :: IPClassifier(icmp, -); m[0] -> e; m[1] -> [1]r;"
        "r[0] -> ToDump($out, ENCAP IP); r[1] -> ToDump($back, ENCAP IP);"
    )

    def sent(seq, data=b"", flags="A"):
        return IP(src=client, dst=server) / TCP(sport=40000, dport=21, flags=flags, seq=seq, ack=1) / Raw(data)

    port = b"PORT 10,0,0,5,4,1\r\n"
    frames = [inside(p) for p in (sent(1000, flags="S"), sent(1001, port), sent(1001 + len(port), b"LIST\r\n"))]
    reply = IP(src=server, dst=PUBLIC) / TCP(sport=21, dport=5000, flags="A", seq=5, ack=1040) / Raw(b"200 ok")
    frames.append(outside(reply))
    names = ("out", "back", "errors")
    _, [out, back, _] = run(heddle, tmp_path, chain, frames, names)
    more = len(out[1]) - len(frames[1]) + 14
    assert more > 0 and IP(out[2])[TCP].seq == 1001 + len(port) + more and IP(back[0])[TCP].ack == 1040 - more
    for quote in (28, 32, 34, 40, 100):
        error = IP(src="192.0.2.1", dst=PUBLIC) / ICMP(type=11) / Raw(out[2][:quote])
        of_reply = IP(src=client, dst=server) / ICMP(type=3, code=3) / Raw(back[0][:quote])
        _, [_, _, errors] = run(heddle, tmp_path, chain, [*frames, outside(error), inside(of_reply)], names)
        first, second = (checked(ether(IP(packet)))[IP] for packet in errors)
        assert first.dst == client and errors[0][28:] == frames[2][14:][:quote]
        assert second.src == PUBLIC
        wanted = bytes(reply)[:quote]
        # An acknowledgement without the flag behind it may be none.
        assert errors[1][28:] == (wanted if quote >= 34 else wanted[:28] + back[0][28:quote])


def test_mappings_end(heddle, tmp_path):
    """Those without packets for their timeout go, and their ports are free again."""
    socket = tmp_path / "socket"
    chain = (
        f"r :: IPRewriter(pattern {PUBLIC} 5000-5009 - - 0 1, UDP_TIMEOUT 1, TCP_DONE_TIMEOUT 1);"
        "s :: InfiniteSource(ACTIVE false, LIMIT 10) -> UDPIPEncap(10.0.0.1, 1, 10.0.0.2, 2) -> r -> Discard; r[1] -> Discard;"
    )
    with heddle.start("run", "-e", chain, "-u", socket) as running:
        wait_until(lambda: read_handler(socket, "r.size") is not None, what="the socket")
        with sockets.socket(sockets.AF_UNIX) as client:
            client.connect(str(socket))
            client.sendall(b"WRITE s.active true\n")
            wait_until(lambda: read_handler(socket, "s.count").strip().endswith("10"), what="packets")
        wait_until(lambda: read_handler(socket, "r.size").strip().endswith("0"), what="the end of the mapping")
        running.interrupt()


@pytest.mark.parametrize("threads", [1, 2])
def test_garbage_through_nat(heddle, tmp_path, threads):
    good = captures.frames(CHAINS / "captures/curl.pcap") + captures.frames(CHAINS / "captures/dig.pcap")
    errors = IP(src="192.0.2.1", dst=PUBLIC) / ICMP(type=3) / IP(src=PUBLIC, dst="10.2.64.1") / TCP(sport=2000)
    choice = [*good[:60], ether(errors)]
    frames = []
    for _ in range(4000):
        frame = bytearray(RANDOM.choice(choice))
        for _ in range(RANDOM.choice([0, 1, 4])):
            frame[RANDOM.randrange(34, len(frame))] = RANDOM.randrange(256)
        frames.append(bytes(frame[: RANDOM.choice([len(frame), RANDOM.randrange(len(frame) + 1)])]))
    captures.write(tmp_path / "in.pcap", frames)
    args = [f"IN={tmp_path}/in.pcap", f"BACK={tmp_path}/in.pcap", f"OUT={tmp_path}/o", "-j", str(threads)]
    Report(heddle.ok("run", "--json", CHAINS / "nat.click", *args).json).assert_accounted()


@contextlib.contextmanager
def nat(heddle):
    """chains/nat.click with the IP router's ARP: left is inside, right is outside."""
    with two_networks() as (left, right, a, b):
        chain = f"""
            IPRewriterPatterns(shared 10.2.0.254 1024-65535 - -);
            r :: IPRewriter(shared 0 1, drop); p :: ICMPPingRewriter(shared 0 1, drop); e :: ICMPRewriter(r p);
            elementclass Port {{ $ip, $mac |
              input -> k :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
              k[0] -> ARPResponder($ip $mac) -> [0]output; k[1] -> [1]output; k[3] -> Discard;
              k[2] -> Strip(14) -> CheckIPHeader -> c :: IPClassifier(tcp or udp, icmp type echo or icmp type echo-reply, -);
              c[0] -> [2]output; c[1] -> [3]output; c[2] -> [4]output; }}
            to0 :: ToDPDKDevice("{a}"); to1 :: ToDPDKDevice("{b}");
            q0 :: ARPQuerier(10.1.0.254, 02:00:00:00:01:00) -> to0; q1 :: ARPQuerier(10.2.0.254, 02:00:00:00:02:00) -> to1;
            FromDPDKDevice("{a}") -> p0 :: Port(10.1.0.254, 02:00:00:00:01:00); FromDPDKDevice("{b}") -> p1 :: Port(10.2.0.254, 02:00:00:00:02:00);
            p0[0] -> to0; p1[0] -> to1; p0[1] -> [1]q0; p1[1] -> [1]q1;
            p0[2] -> [0]r; p1[2] -> [1]r; p0[3] -> [0]p; p1[3] -> [1]p; p0[4] -> q1; p1[4] -> e;
            r[0] -> q1; r[1] -> q0; p[0] -> q1; p[1] -> q0; e -> q0;
        """
        with heddle.start("run", "--json", "-e", chain) as running:
            network.wait_for_link(left, right, running)
            yield left, right, running


@pytest.mark.usefixtures("root")
def test_ping_tcp_udp_and_refusals_through_nat(heddle):
    with nat(heddle) as (left, right, running):
        assert left.ping(right.address, 50) == 50
        assert right.ping(left.address, 2, patience=1) == 0  # there is no way in
        assert network.transfer(left, right, 1_000_000)
        assert network.iperf3(left, right, "-n", "2M")["sum_sent"]["bytes"] >= 2**21
        refused = left.call(
            "/usr/bin/python3",
            "-c",
            "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('10.2.0.1', 9)); s.settimeout(60)\n"
            "s.send(b'x')\ntry: s.recv(1)\nexcept OSError as error: print(type(error).__name__)",
        )
        assert refused.strip() == "ConnectionRefusedError"  # the port unreachable message has come through
        report = finish(running)
    assert report.one("r")["statistics"]["made"] >= 3 and report.one("p")["statistics"]["made"] >= 1
