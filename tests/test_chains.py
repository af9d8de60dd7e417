"""The chains of chains/: they run on every backend with equal results, and do what they say."""

import ipaddress
import itertools
import os

import pytest
from scapy.layers.inet import IP, TCP
from whole import captures, oracles
from whole.chains import TRAFFIC, run_chain
from whole.program import CHAINS, MODES, ROOT, Report

pytestmark = pytest.mark.usefixtures("demonstration_keys")
FILES = sorted(path.stem for path in CHAINS.glob("*.click"))
WITH_CAPTURE = [
    name
    for name in FILES
    if name not in ("bounce", "bridge", "bridge_events", "control_plane", "shaper", "echo", "soft_nic", "thesis")
    and not name.startswith("gpu_")
]
CAPTURES = sorted((CHAINS / "captures").glob("*.pcap"))


def test_there_are_chains():
    names = {"demo", "split", "xor", "bounce", "router", "shaper", "summary", "ipsec", "firewall"}
    names |= {"c1", "c2", "c3", "c4", "echo", "ip_router", "nat", "ndn", "router6", "stateful", "switch", "transports"}
    names |= {
        "master_workers",
        "nids_stream",
        "bridge",
        "bridge_events",
        "ip6_router",
        "aho_corasick",
        "thesis",
        "control_plane",
    }
    assert names <= set(FILES)
    assert {path.stem for path in CAPTURES} == {"curl", "dig", "iperf3", "ping", "ssh"}


@pytest.mark.parametrize("name", FILES)
def test_check_accepts(heddle, name):
    assert heddle.ok("check", "--json", CHAINS / f"{name}.click").json["ok"] is True


@pytest.mark.parametrize("name", FILES)
def test_header_says_how_to_run(name):
    assert f"heddle run chains/{name}.click" in (CHAINS / f"{name}.click").read_text()


@pytest.mark.parametrize("name", WITH_CAPTURE)
def test_same_bytes_on_every_backend(heddle, name, tmp_path):
    reports, files = {}, {}
    for label, options in MODES.items():
        more = ["RATE=0"] if name == "ip6_router" else []
        reports[label], files[label] = run_chain(heddle, name, tmp_path / label, *options, *more)
        if name == "ip6_router":  # a router's own messages are in no order with others
            files[label]["ip6_router_0.pcap"] = sorted(captures.frames(tmp_path / label / "ip6_router_0.pcap"))
        reports[label].assert_accounted() if name not in ("xor", "switch") else None  # Tee makes packets
    assert files["cpu"] and all(files["cpu"].values())
    for label in MODES:
        assert files[label] == files["cpu"], label
        assert reports[label].received == reports["cpu"].received
        assert [e["drops"] for e in reports[label].all["elements"]] == [
            e["drops"] for e in reports["cpu"].all["elements"]
        ]


@pytest.mark.parametrize("name", ["demo", "xor"])
def test_functions_run_where_they_were_told(ran, name):
    report, _ = ran(name, "--device", "simt")
    assert report.all["device"].startswith("simt")
    for function in ("EtherMirror", "DirectIPLookup", "XOR"):
        assert {e["processor"] for e in report.elements(function)} <= {"simt"}
    report, _ = ran(name)
    assert report.all["device"] == ""
    assert {e["processor"] for e in report.all["elements"]} == {"cpu"}


@pytest.mark.parametrize("options", [*MODES.values(), ["--device", "simt", "--slots", "1"]])
def test_demo_routes_and_mirrors(ran, tmp_path, options):
    report, _ = ran("demo", *options)
    routes = oracles.Routes((CHAINS / "routes.txt").read_text().splitlines())
    expected = [[], [], []]
    invalid = 0
    for packet in captures.read(TRAFFIC):
        if not oracles.valid_for_scapy(packet.data):
            invalid += 1
            continue
        frame = oracles.valid_frame(packet.data)
        output = routes.output(oracles.destination(frame))
        expected[output].append(packet._replace(data=oracles.mirrored(frame) if output == 0 else frame))
    assert invalid > 0 and all(len(packets) > 500 for packets in expected)
    for name, packets in zip(("inside.pcap", "servers.pcap", "others.pcapng"), expected):
        assert captures.read(tmp_path / "out" / f"demo_{name}") == packets
    assert report.received == len(captures.read(TRAFFIC))
    assert report.dropped == sum(report.drops("CheckIPHeader").values()) == invalid
    assert report.count("inside") == len(expected[0])


def test_demo_runs_as_the_readme_says(heddle):
    if not os.access(ROOT / "build", os.W_OK):
        pytest.skip("needs a build folder that it may write to")
    table = heddle.ok("run", "chains/demo.click").out
    assert "received" in table and "DirectIPLookup" in table
    assert captures.frames(ROOT / "build/demo_inside.pcap")


def test_ipsec_gives_the_input_back(ran, tmp_path, mode):
    report, _ = ran("ipsec", *mode)
    packets = [p for p in captures.read(TRAFFIC) if oracles.valid_for_scapy(p.data)]
    packets = [p._replace(data=oracles.valid_frame(p.data)) for p in packets]
    assert captures.read(tmp_path / "out/ipsec_back.pcap") == packets
    assert report.count("tunnel") == report.count("back") == len(packets)
    for end in ("IPsecEncap", "IPsecDecap"):
        processors = {e["processor"] for e in report.elements(end)}
        assert processors == ({"cpu"} if "cpu" in mode else {"simt"})


def test_echo_sends_each_packet_to_one_port(ran, tmp_path, mode):
    ran("echo", *mode)
    parts = [captures.read(tmp_path / f"out/echo_{port}.pcap") for port in range(4)]
    assert sorted(itertools.chain(*parts)) == sorted(captures.read(TRAFFIC))
    assert min(len(part) for part in parts) > 300


def test_router6_takes_the_longest_prefix(ran, tmp_path, mode):
    lines = [line.split("#")[0].split() for line in (CHAINS / "router6.routes").read_text().splitlines()]
    routes = {ipaddress.ip_network(line[0]): int(line[-1]) for line in lines if line}
    wanted = {0: [], 1: [], 2: []}
    for packet in captures.read(CHAINS / "traffic6.pcap"):
        header = packet.data[14:54]
        bad = packet.data[12:14] != b"\x86\xdd" or len(header) < 40 or header[0] >> 4 != 6
        if bad or int.from_bytes(header[4:6], "big") > len(packet.data) - 54:
            continue
        matching = [n for n in routes if ipaddress.IPv6Address(header[24:]) in n]
        if matching:
            port = routes[max(matching, key=lambda network: network.prefixlen)]
            if header[7] > 1 or port == 2:
                wanted[port].append(packet.data[14:21] + bytes([header[7] - 1]) + packet.data[22:])
    report, _ = ran("router6", *mode)
    for port, name in enumerate(("customers", "peers")):
        found = captures.read(tmp_path / f"out/router6_{name}.pcap")
        assert [packet.data[14:] for packet in found] == wanted[port] != []
    assert report.count("unroutable") == len(wanted[2])


def test_switch_learns(ran, tmp_path):
    ran("switch", "LEARN=true")
    for port in range(3):
        sources = {packet.data[6:12] for packet in captures.read(tmp_path / f"out/switch_{port}.pcap")}
        assert len(sources) == 16 and port not in {source[4] for source in sources}


def test_ndn_takes_the_longest_name(ran, tmp_path, mode):
    lines = [line.split("#")[0].split() for line in (CHAINS / "ndn.names").read_text().splitlines()]
    routes = {tuple(line[0].encode()[1:].split(b"/")): int(line[1]) for line in lines if line}
    wanted = [[], [], []]
    for packet in captures.read(CHAINS / "ndn.pcap"):
        outer = tlvs(packet.data[14:])
        if outer and outer[0][0] == 100:
            fields = tlvs(outer[0][1])
            outer = [] if (83, b"\2") in fields else tlvs(dict(fields)[80])
        if not outer or outer[0][0] not in (5, 6):
            continue
        inside = tlvs(outer[0][1])[0][1]
        name = tlvs(inside)
        if any(kind == 0 for kind, _ in name) or sum(2 + len(value) for _, value in name) != len(inside):
            continue  # cut, and padded with zeros
        components = tuple(value for _, value in name)
        found = [components[:count] for count in range(len(components) + 1) if components[:count] in routes]
        if outer[0][0] == 6:
            wanted[2].append(packet)
        elif found:
            wanted[routes[found[-1]]].append(packet)
    ran("ndn", *mode)
    for packets, name in zip(wanted, ("campus", "provider", "data"), strict=True):
        assert captures.read(tmp_path / f"out/ndn_{name}.pcap") == packets != []


def test_aho_corasick_finds_the_patterns_of_a_port(ran, tmp_path, mode):
    patterns = []
    for line in (CHAINS / "aho_corasick.patterns").read_text().splitlines():
        if line and line[0] != "#":
            of, port, text = line.split(maxsplit=2)
            parts = text.split("|")  # every other one is in hexadecimal
            parts = [bytes.fromhex(part) if n % 2 else part.encode() for n, part in enumerate(parts)]
            patterns.append((of, port, b"".join(parts)))
    wanted = {"clean": [], "matched": []}
    for packet in captures.read(TRAFFIC):
        frame = oracles.valid_frame(packet.data) if oracles.valid_for_scapy(packet.data) else None
        if frame is None:
            continue
        ip, of, ports, payload = IP(frame[14:]), protocol(frame), [], b""
        start = 14 + ip.ihl * 4
        payload = frame[start:]
        if ip.frag == 0 and of in ("tcp", "udp", "icmp"):
            size = payload[12] // 16 * 4 if of == "tcp" else 8
            ports = [str(int.from_bytes(payload[at : at + 2], "big")) for at in (2, 0)] if of != "icmp" else []
            payload = payload[size:]
        own = [port for port in ports if any((of, port) == pattern[:2] for pattern in patterns)]
        mine = {bytes_ for its, port, bytes_ in patterns if its == of and port in ("any", *own[:1])}
        wanted["matched" if any(pattern in payload for pattern in mine) else "clean"].append(
            packet._replace(data=frame)
        )
    report, _ = ran("aho_corasick", *mode)
    for name, packets in wanted.items():
        assert captures.read(tmp_path / f"out/aho_corasick_{name}.pcap") == packets != []
        assert report.count(name) == len(packets)


def tlvs(data):
    """Those that data begins with, as (type, value); what is behind them, or not whole, is left out."""
    found = []
    while len(data) >= 2:
        length, at = (data[1], 2) if data[1] < 253 else (int.from_bytes(data[2:4], "big"), 4)
        if len(data) < at + length:
            break
        found.append((data[0], data[at : at + length]))
        data = data[at + length :]
    return found


def test_split_sorts_by_protocol(ran, tmp_path):
    report, _ = ran("split")
    parts = {"tcp": [], "udp": [], "icmp": [], "arp": [], "rest": []}
    for packet in captures.read(TRAFFIC):
        parts[protocol(packet.data)].append(packet)
    for name, packets in parts.items():
        assert packets, f"the recording has no {name}"
        assert captures.read(tmp_path / "out" / f"split_{name}.pcap") == packets
        assert report.count(name) == len(packets)
    assert report.dropped == 0


def protocol(frame):
    if frame[12:14] == b"\x08\x06":
        return "arp"
    if frame[12:14] != b"\x08\x00":
        return "rest"
    return {6: "tcp", 17: "udp", 1: "icmp"}.get(frame[23], "rest")


def server_of(data, servers):
    """Which of so many LoadBalancer gives to a new flow with this packet of TCP or UDP, as data from its IP header
    on."""

    def mix(x):  # SplitMix64's
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    source, destination, ports = (int.from_bytes(data[at : at + 4], "little") for at in (12, 16, 4 * (data[0] & 15)))
    return (mix(mix(source << 32 | destination) ^ (ports << 8 | data[9])) >> 32) * servers >> 32


def test_stateful_functions_keep_their_flows(ran, tmp_path):
    """Each flow has its bucket, its public port, dealt out in turn, and its server, by a hash."""
    report, _ = ran("stateful")
    tokens, ports, expected, limited, other = {}, {}, [], 0, 0
    for packet in captures.read(TRAFFIC):
        if not oracles.valid_for_scapy(packet.data):
            continue
        ip = IP(oracles.valid_frame(packet.data)[14:])
        assert ip.dst != "192.0.2.1"
        has_ports = ip.frag == 0 and ip.proto in (6, 17)
        flow = (ip.src, ip.dst, ip.proto, *((ip.sport, ip.dport) if has_ports else (0, 0)))
        ms = packet.ns // 10**6
        before, left = tokens.get(flow, (ms, 10_000))
        left = min(left + max(ms - before, 0) * 100, 10_000)
        passes = left >= 1000
        tokens[flow] = (max(ms, before), left - 1000 if passes else left)
        if not passes:
            limited += 1
        elif not has_ports:
            other += 1
        else:
            of_protocol = ports.setdefault(ip.proto, {})
            port = of_protocol.setdefault(flow, 1024 + len(of_protocol))
            ip.src, ip.sport = "192.0.2.1", port
            ip.dst = f"10.9.0.{server_of(bytes(ip), 3) + 1}"
            del ip.chksum, ip.payload.chksum
            expected.append(packet.data[:14] + bytes(ip))
    assert captures.frames(tmp_path / "out/stateful_out.pcap") == expected and len(expected) > 100
    assert report.drops("limit") == {"rate": limited} and limited > 0
    assert report.drops("nat") == {"not_translated": other}
    assert captures.frames(tmp_path / "out/stateful_back.pcap") == []


def test_workers_get_their_packets_back_from_the_master(heddle, tmp_path):
    """Frames of two captures, by way of a third thread: each in order, in its own file, mirrored and XORed."""
    for mode in (["--device", "cpu"], ["--device", "simt"], ["--device", "simt", "--launch", "async"]):
        report, _ = run_chain(heddle, "master_workers", tmp_path, *mode, "-j", "3", "SECOND=1", "MASTER=2")
        assert report.dropped == 0
        for worker in range(2):
            wanted = [
                bytes(byte ^ 90 for byte in frame[6:12] + frame[:6] + frame[12:])
                for frame in captures.frames(CHAINS / f"switch{worker}.pcap")
            ]
            assert captures.frames(tmp_path / f"master_workers{worker}.pcap") == wanted


def test_xor_twice_gives_the_input_back(ran, tmp_path, mode):
    ran("xor", *mode)
    packets = captures.read(TRAFFIC)
    assert captures.read(tmp_path / "out/xor_back.pcap") == packets
    changed = [packet._replace(data=bytes(byte ^ 165 for byte in packet.data)) for packet in packets]
    assert captures.read(tmp_path / "out/xor_changed.pcap") == changed


def test_bounce(heddle, mode):
    report = Report(heddle.ok("run", "--json", "chains/bounce.click", "--time", "0.3", *mode).json)
    assert report.received > 1000
    assert report.count("frames") == report.received
    report.assert_accounted()


ROUTER_NETWORKS = oracles.Routes(
    ["10.1.0.0/16 0", "10.2.0.0/16 1", "10.3.0.0/16 1", "172.16.0.0/16 1", "192.168.1.0/24 0", "192.168.2.0/24 1"]
    + ["0.0.0.0/0 2"]
)
ROUTER_ADDRESSES = [bytes.fromhex("020000000001020000000100"), bytes.fromhex("020000000002020000000200")]


def forwarded(frame):
    """What a router sends for a valid IPv4 frame: (port, frame), or None when its life is over."""
    header = bytearray(frame[14:34]) + frame[34 : 14 + (frame[14] & 15) * 4]
    if header[8] <= 1:
        return None
    header[8] -= 1
    header[10:12] = b"\0\0"
    header[10:12] = oracles.checksum(bytes(header)).to_bytes(2, "big")
    port = ROUTER_NETWORKS.output(oracles.destination(frame))
    return port, (ROUTER_ADDRESSES[port] if port < 2 else b"") + b"\x08\x00" + header + frame[14 + len(header) :]


@pytest.mark.parametrize("source", CAPTURES, ids=lambda path: path.stem)
def test_router_forwards_as_a_router(ran, tmp_path, source):
    report, _ = ran("router", f"IN={source}")
    expected = [[], []]
    for packet in captures.read(source):
        cut = len(packet.data) < packet.wire  # iperf3's frames are recorded in part, which is no valid packet
        frame = None if cut or protocol(packet.data) in ("arp", "rest") else oracles.valid_frame(packet.data)
        sent = forwarded(frame) if frame else None
        if sent and sent[0] < 2:
            expected[sent[0]].append(sent[1])
    for name, frames in zip(("clients", "servers"), expected):
        assert captures.frames(tmp_path / "out" / f"router_{name}.pcap") == frames, name
    assert sum(map(len, expected)) > 10
    assert report.count("arp") > 0
    report.assert_accounted()


def test_shaper_keeps_its_rate(ran, tmp_path):
    """What comes in a tenth of a second at twenty thousand a second, and as many more as wait."""
    report, _ = ran("shaper", "--simtime")
    assert report.count("offered") == 2000
    assert report.count("sent") + report.drops("queue")["full"] == 2000
    sent = captures.read(tmp_path / "out/shaper_sent.pcap")
    assert len(sent) == report.count("sent") and {len(p.data) for p in sent} == {200}
    assert 600 <= len(sent) < 750
    for before, after in zip(sent, sent[200:]):  # anywhere: no more than the rate allows, and a burst behind a pause
        assert after.ns - before.ns > 20_000_000


@pytest.mark.parametrize("source", CAPTURES, ids=lambda path: path.stem)
def test_summary_says_what_scapy_says(ran, tmp_path, source):
    report, _ = ran("summary", f"IN={source}")
    lines = (tmp_path / "out/summary_packets.txt").read_text().splitlines()
    assert lines[0] == "!IPSummaryDump 1.3" and lines[1].startswith("!data timestamp ip_src")
    expected = [summary_line(packet) for packet in captures.read(source) if packet.data[12:14] == b"\x08\x00"]
    got = [line for line in lines[2:] if not line.startswith("!bad truncated")]
    assert got == expected and len(expected) > 20
    assert report.count("packets") == len(expected)


def summary_line(packet):
    ip = IP(packet.data[14:])
    first = ip.frag == 0
    ports = (ip.sport, ip.dport) if first and ip.proto in (6, 17) else ("-", "-")
    flags = str(ip.getlayer(TCP).flags) or "." if first and ip.proto == 6 else "-"
    name = {1: "I", 6: "T", 17: "U"}[ip.proto]
    fragment = f"{ip.frag * 8}{'+' if ip.flags.MF else ''}"
    if ip.flags.DF:  # Click shows offset and "more", not "do not"
        fragment = f"{ip.frag * 8}"
    time = f"{packet.ns // 10**9}.{packet.ns % 10**9 // 1000:06}"
    fragment += "!" if ip.flags.DF else ""
    fields = [time, ip.src, ports[0], ip.dst, ports[1], name, ip.len, ip.ttl, ip.id, fragment, flags]
    return " ".join(map(str, fields))


def test_captures_are_small_and_ours():
    """Recorded by chains/record_programs.py: its addresses, and no private key."""
    for path in CAPTURES:
        assert path.stat().st_size < 150_000, path
        assert b"PRIVATE KEY" not in path.read_bytes()
        for packet in captures.read(path):
            addresses = {packet.data[:6].hex(), packet.data[6:12].hex()}
            assert addresses <= {"020000000001", "020000000002", "ffffffffffff", "333300000016"}, path


@pytest.mark.parametrize("source", CAPTURES, ids=lambda path: path.stem)
def test_ip_router_forwards_as_the_simple_one(ran, tmp_path, source):
    """With everything around it, what is forwarded is what chains/router.click forwards, but for addresses of next
    hops."""
    ran("router", f"IN={source}")
    ran("ip_router", f"IN={source}", "MTU=65535")  # captures have packets that a NIC would have cut
    for name, port in (("clients", 0), ("servers", 1)):
        wanted = [frame[14:] for frame in captures.frames(tmp_path / f"out/router_{name}.pcap")]
        sent = captures.frames(tmp_path / f"out/ip_router_{port}.pcap")
        assert [frame[14:] for frame in sent if frame[12:14] == b"\x08\x00"] == wanted
        assert {frame[:12] for frame in sent if frame[12:14] == b"\x08\x00"} <= {ROUTER_ADDRESSES[port]}


def test_nat_shares_one_address(ran, tmp_path):
    report, _ = ran("nat")
    inside = [IP(p.data[14:]) for p in captures.read(CHAINS / "captures/curl.pcap") if p.data[12:14] == b"\x08\x00"]
    sent = [IP(frame[14:]) for frame in captures.frames(tmp_path / "out/nat_outside.pcap")]
    assert {p.src for p in sent} == {"198.51.100.1"} and [p.dst for p in sent] == [p.dst for p in inside]
    flows = {}
    for before, after in zip(inside, sent, strict=True):
        assert flows.setdefault((before.src, before.sport, before.dst, before.dport), after.sport) == after.sport
    assert len(set(flows.values())) == len(flows) == report.one("ports")["statistics"]["mappings"]
