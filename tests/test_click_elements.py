"""The small elements that a Click user expects, against Scapy and models."""

import random
import re
import time

import pytest
from scapy.all import ICMP, IP, TCP, UDP, Dot1Q, Ether, Raw
from test_ip_router_elements import checked, ether, reassembled, run, some_packets
from whole import captures
from whole.program import wait_for_count

RANDOM = random.Random(802)
IP_CHAIN = "FromDump($IN) -> CheckIPHeader(14) -> "


def test_vlan_tags(heddle, tmp_path):
    frames = [ether(p) for p in some_packets(20)]
    _, [out] = run(heddle, tmp_path, "FromDump($IN) -> VLANEncap(VLAN_ID 7, VLAN_PCP 3) -> ToDump($out);", frames)
    for frame, before in zip(out, frames, strict=True):
        tagged = Ether(before)
        tagged.payload = Dot1Q(vlan=7, prio=3, type=0x0800) / bytes(tagged.payload)
        tagged.type = 0x8100
        assert frame == bytes(tagged)
    _, [again] = run(heddle, tmp_path, "FromDump($IN) -> VLANDecap -> ToDump($out);", out + [b"short"])
    assert again == frames + [b"short"]
    chain = "FromDump($IN) -> VLANDecap -> VLANEncap(ANNO, NATIVE_VLAN 0) -> ToDump($out);"
    _, [same] = run(heddle, tmp_path, chain, out + frames)
    assert same == out + frames
    report, [out] = run(
        heddle, tmp_path, "FromDump($IN) -> v :: VLANEncap(0x2005) -> ToDump($out);", [b"elevenbytes", frames[0]]
    )
    assert report.drops("v") == {"short": 1} and out[0][14:16] == b"\x20\x05"


def test_encapsulations(heddle, tmp_path):
    payloads = [RANDOM.randbytes(n) for n in range(0, 200, 7)]
    chain = "FromDump($IN) -> IPEncap(89, 10.0.0.1, 10.0.0.2, TTL 7, DSCP 5, ECN 1, DF true) -> ToDump($out);"
    _, [out] = run(heddle, tmp_path, chain, payloads)
    for number, (packet, payload) in enumerate(zip(out, payloads, strict=True)):
        wanted = IP(src="10.0.0.1", dst="10.0.0.2", proto=89, ttl=7, tos=21, flags="DF", id=number) / Raw(payload)
        assert packet == bytes(wanted)
    chain = "FromDump($IN) -> UDPIPEncap(10.0.0.1, 1000, 10.0.0.2, 53{}) -> ToDump($out);"
    _, [out] = run(heddle, tmp_path, chain.format(""), payloads)
    _, [plain] = run(heddle, tmp_path, chain.format(", false"), payloads)
    for number, (packet, without, payload) in enumerate(zip(out, plain, payloads, strict=True)):
        wanted = IP(src="10.0.0.1", dst="10.0.0.2", ttl=250, id=number) / UDP(sport=1000, dport=53) / Raw(payload)
        assert packet == bytes(wanted)
        wanted[UDP].chksum = 0
        assert without == bytes(wanted)


def damaged(frame, place):
    return frame[:place] + bytes([frame[place] ^ 0x55]) + frame[place + 1 :]


@pytest.mark.parametrize(("name", "layer", "field"), [("TCP", TCP, 50), ("UDP", UDP, 40), ("ICMP", ICMP, 36)])
def test_transport_checksums(heddle, tmp_path, name, layer, field):
    good = [ether(p) for p in some_packets(150) if layer in p and len(p) > 60]
    others = [ether(p) for p in some_packets(30) if layer not in p]
    bad = [damaged(frame, RANDOM.randrange(42 if name == "UDP" else 54, len(frame))) for frame in good]
    fragment = ether(IP(src="1.1.1.1", dst="2.2.2.2", flags="MF", proto=good[0][23]) / Raw(bytes(16)))
    cut = ether(IP(src="1.1.1.1", dst="2.2.2.2", proto=good[0][23]) / Raw(bytes(7)))
    chain = IP_CHAIN + f"c :: Check{name}Header -> ToDump($out);"
    report, [out] = run(heddle, tmp_path, chain, good + others + bad + [fragment, cut])
    assert out == good + [fragment]
    assert report.drops("c") == {"not_this_protocol": len(others), "bad_checksum": len(bad), "bad_length": 1}
    if name == "ICMP":
        return
    chain = IP_CHAIN + f"s :: Set{name}Checksum -> ToDump($out);"
    broken = [frame[:field] + b"\x12\x34" + frame[field + 2 :] for frame in good]
    report, [out] = run(heddle, tmp_path, chain, broken + [fragment, cut])
    assert out == good + [fragment] and report.drops("s") == {"bad_header": 1}


def test_dscp_and_congestion(heddle, tmp_path):
    packets = [IP(src="1.1.1.1", dst="2.2.2.2", tos=n) / UDP() for n in range(256)]
    frames = [ether(p) for p in packets]
    _, [out] = run(heddle, tmp_path, IP_CHAIN + "SetIPDSCP(46) -> ToDump($out);", frames)
    assert [checked(f)[IP].tos for f in out] == [46 << 2 | n & 3 for n in range(256)]
    report, [out] = run(heddle, tmp_path, IP_CHAIN + "m :: MarkIPCE -> ToDump($out);", frames)
    assert [checked(f)[IP].tos for f in out] == [n | 3 for n in range(256) if n & 3] and report.drops("m") == {
        "not_ecn": 64
    }
    _, [out] = run(heddle, tmp_path, IP_CHAIN + "MarkIPCE(true) -> ToDump($out);", frames)
    assert [checked(f)[IP].tos for f in out] == [n | 3 for n in range(256)]


def test_bytes_of_packets(heddle, tmp_path):
    frames = [RANDOM.randbytes(n) for n in (0, 1, 10, 59, 60, 61, 300)]
    _, [out] = run(heddle, tmp_path, "FromDump($IN) -> Pad -> ToDump($out);", frames)
    assert out == [f.ljust(60, b"\0") for f in frames]
    _, [out] = run(heddle, tmp_path, "FromDump($IN) -> Pad(20, 100) -> ToDump($out);", frames)
    assert out == [f.ljust(20, b"\0")[:100] for f in frames]
    _, [out] = run(heddle, tmp_path, r"FromDump($IN) -> StoreData(8, \<00ff0f>, \<ffff0f>) -> ToDump($out);", frames)

    def stored(frame):
        new = bytearray(frame.ljust(11, b"\0"))
        new[8:11] = bytes([0, 0xFF, new[10] & 0xF0 | 0x0F])
        return bytes(new)

    assert out == [stored(f)[: len(f)] for f in frames]
    _, [out] = run(heddle, tmp_path, r"FromDump($IN) -> StoreData(8, abc, GROW true) -> ToDump($out);", frames)
    assert out == [f.ljust(11, b"\0")[:8] + b"abc" + f[11:] for f in frames]
    chain = "FromDump($IN) -> SetTimestamp(5.25) -> Align(4, 2) -> PushNull -> ToDump($out);"
    _, [out] = run(heddle, tmp_path, chain, frames)
    assert out == frames and {p.ns for p in captures.read(tmp_path / "out.pcap")} == {5_250_000_000}


def test_message(heddle, tmp_path):
    chain = 'Message("hello there"); Message(careful, WARNING); InfiniteSource(LIMIT 1) -> Discard;'
    assert heddle("run", "-e", chain).err.splitlines() == ["hello there", "warning: careful"]
    assert "no way" in heddle.fails("run", "-e", 'Message("no way", ERROR); InfiniteSource(LIMIT 1) -> Discard;')


def test_random_elements_keep_their_shares(heddle, tmp_path):
    chain = "InfiniteSource(LIMIT 40000, BURST 64) -> r :: RandomSwitch; r[0] -> a :: Counter -> Discard; r[1] -> b :: Counter -> Discard;"
    report = heddle.run(chain + "r[2] -> c :: Counter -> Discard; r[3] -> d :: Counter -> Discard;")
    assert all(9500 < report.count(name) < 10500 for name in "abcd")
    chain = "InfiniteSource(LIMIT 40000, BURST 64) -> r :: RandomSample({}) -> a :: Counter -> Discard; r[1] -> b :: Counter -> Discard;"
    for arguments in ("0.25", "DROP 0.75"):
        report = heddle.run(chain.format(arguments))
        assert 9500 < report.count("a") < 10500 and report.count("a") + report.count("b") == 40000
    assert heddle.run(chain.format("0, ACTIVE false")).count("a") == 40000
    assert heddle.run(chain.format("1")).count("a") == 40000 and heddle.run(chain.format("0")).count("b") == 40000


def packets_of(path):
    return [frame[:1] for frame in captures.frames(path)]


@pytest.mark.parametrize(
    ("scheduler", "wanted"),
    [
        ("PrioSched", b"a" * 30 + b"b" * 30 + b"c" * 30),
        ("RoundRobinSched", b"abc" * 30),
        ("StrideSched(3, 2, 1)", None),
        ("StrideSched(1, 0, 1)", b"acca" * 15),
    ],
)
def test_schedulers_choose_their_inputs(heddle, tmp_path, scheduler, wanted):
    """What waits in three queues when the pulling begins."""
    chain = f"s :: {scheduler} -> u :: Unqueue(ACTIVE false) -> ToDump({tmp_path}/out.pcap);"
    for port, letter in enumerate("abc"):
        chain += f"s{port} :: InfiniteSource({letter}, 30) -> q{port} :: Queue(100) -> [{port}]s;"
    chain += (
        "Script(label l, wait 1ms, goto l $(lt $(add $(q0.length) $(q1.length) $(q2.length)) 90), write u.active true,"
    )
    chain += "label m, wait 1ms, goto m $(lt $(u.count) 60), wait 5ms, stop);"  # who has no tickets keeps its packets
    report = heddle.run(chain)
    out = b"".join(packets_of(tmp_path / "out.pcap"))
    if wanted is not None:
        assert out == wanted, out
    else:
        assert [out[:60].count(c) for c in b"abc"] == [30, 20, 10] and len(out) == 90
    if scheduler.endswith("0, 1)"):
        assert report.one("q1")["statistics"]["left"] == 30


def test_schedulers_nest_and_have_elements_before_them(heddle, tmp_path):
    chain = (
        f"p :: PrioSched -> u :: Unqueue(ACTIVE false, BURST 7) -> ToDump({tmp_path}/out.pcap); r :: RoundRobinSched -> PullNull -> [1]p;"
        "a :: InfiniteSource(a, 10) -> qa :: Queue -> Strip(0) -> [0]p; b :: InfiniteSource(b, 10) -> qb :: Queue -> ca :: Counter -> [0]r;"
        "c :: InfiniteSource(c, 10) -> qc :: Queue -> [1]r;"
        "Script(label l, wait 1ms, goto l $(lt $(add $(qa.length) $(qb.length) $(qc.length)) 30), write u.active true, end);"
    )
    report = heddle.run(chain)
    assert b"".join(packets_of(tmp_path / "out.pcap")) == b"a" * 10 + b"bc" * 10
    assert report.count("ca") == 10


def test_front_drop_queue_keeps_the_newest(heddle, tmp_path):
    frames = [bytes([n]) * 20 for n in range(200)]
    captures.write(tmp_path / "in.pcap", frames)
    chain = (
        f"FromDump({tmp_path}/in.pcap) -> q :: FrontDropQueue(50) -> u :: Unqueue(ACTIVE false) -> ToDump({tmp_path}/out.pcap);"
        "Script(label l, wait 1ms, goto l $(lt $(add $(q.length) $(q.drops)) 200), write u.active true, end);"
    )
    report = heddle.run(chain)
    assert captures.frames(tmp_path / "out.pcap") == frames[150:]
    assert report.drops("q") == {"full": 150}


@pytest.mark.parametrize(
    ("pulled", "rate"),
    [
        ("RatedUnqueue(2000)", 2000),
        ("Shaper(2000) -> Unqueue", 2000),
        ("BandwidthRatedUnqueue(1600kbps)", 2000),
        ("BandwidthShaper(200kBps) -> Unqueue", 2000),
    ],
)
def test_rates_are_not_exceeded(heddle, tmp_path, pulled, rate):
    """1000 packets of 100 bytes take their time: half a second, less what may come at once."""
    chain = f"InfiniteSource(LENGTH 100, LIMIT 1000) -> Queue(1000) -> {pulled} -> SetTimestamp -> ToDump({tmp_path}/out.pcap);"
    heddle.run(chain)
    times = [p.ns for p in captures.read(tmp_path / "out.pcap")]
    assert len(times) == 1000
    assert times[-1] - times[0] >= 0.95e9 * (1000 - rate / 100) / rate


def test_splitters_and_meters(heddle):
    source = "RatedSource(LENGTH 100, RATE 10000, LIMIT 3000) -> "
    ends = "r[0] -> a :: Counter -> Discard; r[1] -> b :: Counter -> Discard;"
    for splitter in ("RatedSplitter(2000)", "BandwidthRatedSplitter(200kBps)"):
        report = heddle.run(source + f"r :: {splitter};" + ends)
        assert report.count("a") + report.count("b") == 3000
        most = 2000 * report.all["wall_s"] + 30
        assert 100 < report.count("a") <= most
    for meter, low in (
        ("Meter(1000000)", True),
        ("Meter(10)", False),
        ("BandwidthMeter(1GBps)", True),
        ("BandwidthMeter(1kBps)", False),
    ):
        # A machine that stands still for a tenth of a second would let the average fall, and a burst follow.
        report = heddle.run(source + f"r :: {meter};" + ends, "--simtime")
        assert report.count("a" if low else "b") > 2900


def test_timed_source(heddle, tmp_path):
    heddle.run(f'TimedSource(2ms, "hello", LIMIT 20) -> ToDump({tmp_path}/out.pcap);')
    packets = captures.read(tmp_path / "out.pcap")
    assert [p.data for p in packets] == [b"hello"] * 20
    assert packets[-1].ns - packets[0].ns >= 18 * 2_000_000


def fragments_of(packet, size):
    """A packet's fragments, cut by Scapy."""
    return packet.fragment(fragsize=size)


def test_reassembler_puts_fragments_together(heddle, tmp_path):
    # No port of DNS: Scapy would read random bytes as names.
    wholes = [
        IP(src=f"10.0.0.{n % 7}", dst="10.1.0.1", id=n)
        / UDP(sport=1000 + n, dport=9)
        / Raw(RANDOM.randbytes(800 + 97 * n))
        for n in range(60)
    ]
    cut = [fragments_of(IP(bytes(whole)), RANDOM.choice([200, 512, 1400])) for whole in wholes]
    pieces = [piece for one in cut for piece in one]
    alone = [IP(src="10.0.0.9", dst="10.1.0.1", id=n) / TCP(sport=n) for n in range(20)]
    mixed = pieces + alone
    RANDOM.shuffle(mixed)
    chain = "FromDump($IN) -> Strip(14) -> CheckIPHeader -> r :: IPReassembler(HIMEM 1000000) -> Unstrip(14) -> ToDump($out);"
    report, [out] = run(heddle, tmp_path, chain, [ether(p) for p in mixed])
    assert sorted(out) == sorted(ether(p) for p in wholes + alone)
    assert report.one("r")["statistics"] == {"whole": sum(len(one) > 1 for one in cut), "waiting": 0}


def test_fragmenter_and_reassembler_undo_each_other(heddle, tmp_path):
    packets = [p for p in some_packets(60)]
    chain = "FromDump($IN) -> CheckIPHeader(14) -> IPFragmenter(300) -> IPReassembler -> ToDump($out);"
    _, [out] = run(heddle, tmp_path, chain, [ether(p) for p in packets])
    assert sorted(out) == sorted(ether(p) for p in packets)


def test_what_was_made_of_a_ports_packets_has_the_time_of_its_sending(heddle, tmp_path):
    """Only packets of captures have times of their own."""
    whole = IP(src="10.0.0.9", dst="10.1.0.1") / UDP(sport=1000, dport=9) / Raw(bytes(1000))
    captures.write(tmp_path / "in.pcap", [ether(p) for p in fragments_of(IP(bytes(whole)), 512)])
    chain = (
        f'FromDPDKDevice("net_pcap0,rx_pcap={tmp_path}/in.pcap") -> CheckIPHeader(14) -> IPReassembler -> IPFragmenter(600)'
        f" -> c :: Counter -> ToDump({tmp_path}/out.pcap)"
    )
    began = time.time_ns()
    with heddle.start("run", "-u", tmp_path / "control", "-e", chain) as running:
        wait_for_count(tmp_path / "control", "c.count", 2)
        assert running.interrupt().code == 0
    sent = captures.read(tmp_path / "out.pcap")
    assert len(sent) == 2 and all(packet.ns >= began - 1000 for packet in sent)


def test_reassembler_gives_bombs_up(heddle, tmp_path):
    chain = (
        "FromDump($IN) -> Strip(14) -> CheckIPHeader -> r :: IPReassembler(HIMEM 65536) -> Unstrip(14) -> ToDump($out);"
    )

    def piece(number, frag, size, more=True):
        return ether(
            IP(src="10.0.0.1", dst="10.0.0.2", id=number, frag=frag, flags="MF" if more else 0, proto=17)
            / Raw(bytes(size))
        )

    friend = [piece(9999, 0, 64), piece(9999, 8, 8, False)]
    cases = {
        "overlap": [piece(1, 0, 64), piece(1, 4, 64)],
        "overlap ": [piece(1, 8, 8, False), piece(1, 12, 8)],
        "bad_fragment": [piece(1, 0, 63), piece(1, 8191, 1600, False)],
        "too_many": [piece(1, 2 * n, 8) for n in range(65)],
        "timeout": [piece(1, 1, 64), piece(2, 0, 64)],
    }
    for reason, frames in cases.items():
        report, [out] = run(heddle, tmp_path, chain, frames + friend)
        assert report.drops("r") == {reason.strip(): len(frames)}, reason
        assert [reassembled([f[14:]]) for f in out] == [bytes(72)]
    flood = [piece(n, 0, 1000) for n in range(2000)]
    report, [out] = run(heddle, tmp_path, chain, flood + friend)
    assert len(out) == 1 and report.drops("r")["no_memory"] >= 1900
    chain += "r[1] -> ICMPError(10.0.0.9, timeexceeded, reassembly) -> ToDump($late);"
    _, [_, late] = run(heddle, tmp_path, chain, cases["timeout"], ("out", "late"))
    assert [(IP(p)[ICMP].type, IP(p)[ICMP].code) for p in late] == [(11, 1)]


def test_ether_switch_learns(heddle, tmp_path):
    macs = [f"02:00:00:00:00:0{n}" for n in range(3)]
    everybody = "ff:ff:ff:ff:ff:ff"

    def frame(source, target, number):
        target = everybody if target is None else macs[target]
        return bytes(Ether(src=macs[source], dst=target) / IP(id=number) / UDP())

    ways = [(0, 1), (1, 0), (0, 1), (2, None), (0, 2), (1, 1), (2, 0), (1, 2)]
    frames = [frame(s, t, n) for n, (s, t) in enumerate(ways)]
    group = bytes(Ether(src="03:00:00:00:00:01", dst=macs[0]) / IP())
    chain = "s :: EtherSwitch; FromDump($IN) -> c :: Classifier(6/020000000000, 6/020000000001, -);"
    for port in range(3):
        chain += f"c[{port}] -> [{port}]s; s[{port}] -> ToDump($o{port});"
    report, outs = run(heddle, tmp_path, chain, [*frames, group, b"short" * 2], ("o0", "o1", "o2"))
    known, wanted = {}, [[], [], []]
    for (source, target), data in zip(ways, frames):
        known[source] = source
        ports = [known[target]] if target is not None and target in known else [p for p in range(3) if p != source]
        for port in ports:
            if port != source:
                wanted[port].append(data)
    assert outs == wanted
    assert report.drops("s") == {"same_port": 1, "bad_source": 1, "short": 1}


def test_range_lookup_is_there(heddle, tmp_path):
    packets = list(some_packets(20))
    chain = "FromDump($IN) -> CheckIPHeader(14) -> r :: RangeIPLookup(10.0.0.0/9 0, 10.128.0.0/9 1); r[0] -> ToDump($a); r[1] -> ToDump($b);"
    _, [a, b] = run(heddle, tmp_path, chain, [ether(p) for p in packets], ("a", "b"))
    assert a == [ether(p) for p in packets if int(p.dst.split(".")[1]) < 128] and len(a) + len(b) == 20


def test_names_are_in_the_manuals(heddle):
    for name, manual in (
        ("RRSched", "RoundRobinSched"),
        ("StaticIPLookup", "LinearIPLookup"),
        ("RangeIPLookup", "RadixIPLookup"),
    ):
        assert re.match(manual, heddle.ok("elements", name).out)
