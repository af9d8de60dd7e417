"""The option flow of NIDS rules: the same alerts on every processor, with output 1, as a monitor, and between GPU
ports."""

import json

import pytest
from scapy.all import IP, TCP, UDP, Ether, Raw
from test_gpu_nids import the_same
from whole import captures
from whole.program import quoted

LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
RULES = """alert tcp any any -> any any (content:"mark"; flow:established,to_server; sid:1;)
alert tcp any any -> any any (content:"mark"; flow:established,from_server; sid:2;)
alert tcp any any -> any any (content:"mark"; flow:not_established; sid:3;)
alert udp any any -> any any (content:"mark"; flow:to_server; sid:4;)
alert udp any any -> any any (content:"mark"; flow:established,to_client; sid:5;)
alert tcp any any -> any any (content:"mark"; flow:stateless; sid:6;)
alert tcp any any -> any any (content:"mark"; pcre:"/a mark/"; flow:established; sid:7;)
"""
# Directions where there may be no connection: all packets of TCP are candidates.
MORE = """alert tcp any any -> any any (content:"mark"; flow:to_server; sid:11;)
alert ip any any -> any any (content:"mark"; flow:to_client,not_established; sid:12;)
"""
MARK = b"a mark"


def tcp(number, back, flags, payload=b""):
    client, server = (f"10.0.0.{number}", 1000), ("10.1.0.1", 80)
    (src, sport), (dst, dport) = (server, client) if back else (client, server)
    packet = IP(src=src, dst=dst) / TCP(sport=sport, dport=dport, flags=flags, seq=1000, ack=1001)
    return bytes(LINK / (packet / Raw(payload) if payload else packet))


def udp(number, back, payload=MARK):
    client, server = (f"10.0.0.{number}", 1000), ("10.1.0.1", 53)
    (src, sport), (dst, dport) = (server, client) if back else (client, server)
    return bytes(LINK / IP(src=src, dst=dst) / UDP(sport=sport, dport=dport) / Raw(payload))


# What is sent, and the sids of RULES and of MORE that it is.
CASES = [
    (tcp(1, False, "S"), ""),
    (tcp(1, True, "SA"), ""),
    (tcp(1, False, "A"), ""),
    (tcp(1, False, "PA", MARK), "1 6 7 11"),
    (tcp(1, True, "PA", MARK), "2 6 7"),
    (tcp(1, True, "PA", b"none"), ""),
    (tcp(1, False, "SA"), ""),  # of the client's: nothing changes
    (tcp(1, False, "PA", MARK), "1 6 7 11"),
    (tcp(1, True, "R"), ""),
    # Without a handshake; the first to send is the client.
    (tcp(2, True, "PA", MARK), "3 6 11"),
    (tcp(2, False, "PA", MARK), "3 6 12"),
    # Without an answer.
    (tcp(3, False, "S", MARK), "3 6 11"),
    (tcp(3, False, "PA", MARK), "3 6 11"),
    # The handshake's last segment has the payload.
    (tcp(4, False, "S"), ""),
    (tcp(4, True, "SA"), ""),
    (tcp(4, False, "PA", MARK), "1 6 7 11"),
    # Datagrams.
    (udp(5, True), "4"),
    (udp(5, False), "5"),
    (udp(5, True), "4"),
    (udp(6, False, b"none"), ""),
    (udp(6, True), "5"),
    (udp(6, False), "4"),
]


def wanted(more):
    return sorted(
        (frame_number, int(sid))
        for frame_number, (_, sids) in enumerate(CASES)
        for sid in sids.split()
        if more or int(sid) < 11
    )


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("form", ["confirm", "monitor", "stream"])
def test_flows(heddle, tmp_path, mode, more, form):
    (tmp_path / "rules").write_text(RULES + MORE * more)
    source = captures.write(tmp_path / "in.pcap", [frame for frame, _ in CASES])
    rules, eve = quoted(tmp_path / "rules"), quoted(tmp_path / "eve.json")
    chain = {
        "monitor": f"ids :: NIDS({rules}, EVE {eve}) -> out :: Discard;",
        "confirm": f"ids :: NIDS({rules}); ids[0] -> out :: Discard; ids[1] -> NIDSConfirm(ids, EVE {eve}) -> out;",
        "stream": f"flows :: FlowTable(TIMESTAMPS true) -> ids :: NIDS({rules}, STREAM true); ids[0] -> out :: Discard;"
        f" ids[1] -> NIDSConfirm(ids, FLOWS flows, EVE {eve}) -> out;",
    }[form]
    heddle.run(f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> {chain}", *mode)
    got = [json.loads(line) for line in (tmp_path / "eve.json").read_text().splitlines()]
    if form == "monitor" and "cpu" not in mode:  # their times are those at which the host hears of them
        of = sorted((alert["src_ip"], alert["alert"]["signature_id"]) for alert in got)
        sources = {number: ".".join(str(byte) for byte in frame[26:30]) for number, (frame, _) in enumerate(CASES)}
        assert of == sorted((sources[number], sid) for number, sid in wanted(more))
        return
    times = [packet.ns // 1000 for packet in captures.read(source)]
    microseconds = {f"{time % 1000000:06d}": number for number, time in enumerate(times)}
    assert len(microseconds) == len(CASES)
    found = sorted((microseconds[alert["timestamp"][20:26]], alert["alert"]["signature_id"]) for alert in got)
    assert found == wanted(more)


def test_between_gpu_ports(heddle, tmp_path):
    """Packets are judged in the order in which the GPU finds them: that in which they came, if they are few."""
    (tmp_path / "rules").write_text(RULES)
    got = the_same(heddle, tmp_path, tmp_path / "rules", [frame for frame, _ in CASES])
    assert len(got) == len(wanted(False))


@pytest.mark.parametrize(("flow", "waits"), [("flow:established;", True), ("", False)])
def test_plan_names_the_wait_for_order(heddle, tmp_path, flow, waits):
    (tmp_path / "rules").write_text(f'alert tcp any any -> any any (content:"mark"; {flow} sid:1;)\n')
    chain = (
        'FromGPUPort(a, SOFTNIC "net_null0") -> CheckIPHeader(14, DEVICE gpu) -> '
        f"NIDS({quoted(tmp_path / 'rules')}) -> ToGPUPort(a)"
    )
    plan = heddle.ok("plan", "-e", chain, "--device", "simt").out
    assert ("fewer than 32 packets wait until those before them are done" in plan) == waits, plan


def test_flows_outlive_reloads(heddle, tmp_path):
    """A connection that began before is still one."""
    (tmp_path / "rules").write_text(RULES)
    source = captures.write(tmp_path / "in.pcap", [tcp(1, False, "S"), tcp(1, True, "SA")])
    other = captures.write(tmp_path / "other.pcap", [tcp(1, False, "PA", MARK)])
    chain = (
        f"FromDump({quoted(source)}) -> in :: CheckIPHeader(14) -> ids :: NIDS({quoted(tmp_path / 'rules')});"
        f" late :: FromDump({quoted(other)}, ACTIVE false, STOP false) -> in;"
        " ids[0] -> out :: Discard; ids[1] -> NIDSConfirm(ids) -> out;"
        " DriverManager(label a, wait 1ms, goto a $(lt $(out.count) 2), write ids.reload, write late.active true,"
        ' label b, wait 1ms, goto b $(lt $(out.count) 3), print "$(ids.counts)", stop);'
    )
    result = heddle.ok("run", "--quiet", "-e", chain)
    assert "1 1\n" in result.out and "3 0\n" in result.out, result


def test_rules_without_flow_have_only_their_candidates(heddle, tmp_path):
    """SYNs are candidates only where a rule asks; and of TCP nothing else, if established connections are all that it
    asks for."""
    handshake = [tcp(1, False, "S"), tcp(1, True, "SA"), tcp(1, False, "A")]
    frames = [*handshake, tcp(1, False, "PA", MARK), udp(2, False, b"none")]
    source = captures.write(tmp_path / "in.pcap", frames)
    for flow, candidates in [
        ("", 1),
        ("flow:stateless;", 1),
        ("flow:established,to_server;", 3),
        ("flow:to_server;", 4),
    ]:
        (tmp_path / "rules").write_text(f'alert tcp any any -> any any (content:"mark"; {flow} sid:1;)\n')
        report = heddle.run(
            f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> ids :: NIDS({quoted(tmp_path / 'rules')});"
            " ids[0] -> Discard; ids[1] -> c :: NIDSConfirm(ids) -> Discard;"
        )
        assert report.one("c")["packets"] == candidates, flow
