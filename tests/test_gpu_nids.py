"""The NIDS between GPU ports: candidates go on at once, the GPU tells the host of them, and alerts are those of the
CPU's chain."""

import json
import random
import re

import pytest
from scapy.all import Ether
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from whole import captures
from whole.control import Control
from whole.gpu_ports import SIMT, Mirror
from whole.program import CHAINS, TIMEOUT_S, Report, quoted, read_handler, wait_until

LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
RULES = CHAINS / "gpu_nids.rules"


def frame(payload, source="10.0.0.1", **ports):
    return bytes(LINK / IP(src=source, dst="192.0.2.2") / UDP(**ports) / payload)


def alerts(eve):
    """All that a line says but its time, sorted: warps tell of what they find as it comes."""
    lines = [json.loads(line) for line in eve.read_text().splitlines()]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+0000", line.pop("timestamp")) for line in lines)
    return sorted(json.dumps(line) for line in lines)


def on_cpu(heddle, folder, rules, frames):
    """The alerts, and the report, of the same packets on the CPU, with a NIDSConfirm; packets come out in
    cpu_out.pcap."""
    source, eve, out = captures.write(folder / "cpu.pcap", frames), folder / "cpu.json", folder / "cpu_out.pcap"
    report = heddle.run(
        f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> ids :: NIDS({quoted(rules)});"
        f" ids[0] -> out :: ToDump({quoted(out)});"
        f" ids[1] -> c :: NIDSConfirm(ids, EVE {quoted(eve)}) -> out;",
        "--device",
        "cpu",
    )
    return alerts(eve), report


class Tap:
    """A NIDS between soft NICs of capture files."""

    def __init__(self, heddle, folder, rules, frames, eve="gpu.json"):
        self.frames, self.eve, self.out = frames, folder / eve, folder / "out.pcap"
        source = captures.write(folder / "in.pcap", frames)
        device = f"net_pcap0,rx_pcap={source},tx_pcap={self.out}"
        self.running = heddle.start_ready(
            "run",
            "--json",
            "-e",
            f"FromGPUPort(a, SOFTNIC {quoted(device)}, BUFFER 16384) -> CheckIPHeader(14, DEVICE gpu) -> "
            f"ids :: NIDS({quoted(rules)}, EVE {quoted(self.eve)}) -> ToGPUPort(a)",
            *SIMT,
        )

    def end(self, problem="", received=None):
        """Interrupts it when so many frames, or all, have come; returns the alerts and the report."""
        wanted = len(self.frames) if received is None else received
        with self.running as running:
            wait_until(lambda: not running.alive() or running.packets("FromGPUPort@1") >= wanted, TIMEOUT_S, "frames")
            result = running.interrupt()
        assert result.code == 0, result
        assert re.search(problem, result.err) if problem else result.err == "", result
        report = Report(result.json)
        report.assert_accounted()
        return alerts(self.eve), report


def the_same(heddle, folder, rules, frames):
    """Both chains have the same alerts of the same frames; returns these."""
    wanted, cpu = on_cpu(heddle, folder, rules, frames)
    got, report = Tap(heddle, folder, rules, frames).end()
    assert got == wanted
    assert report.one("ids")["processor"] == "simt"
    assert report.one("ids")["statistics"]["alerts"] == len(wanted) == cpu.one("c")["statistics"]["alerts"]
    assert report.one("ids")["statistics"].get("events_lost", 0) == 0
    assert report.drops("CheckIPHeader") == cpu.drops("CheckIPHeader")
    assert captures.frames(folder / "out.pcap") == captures.frames(folder / "cpu_out.pcap")
    return got


def test_the_traffic_of_the_chains(heddle, tmp_path):
    frames = captures.frames(CHAINS / "traffic.pcap")
    found = the_same(heddle, tmp_path, RULES, frames)
    assert {json.loads(alert)["alert"]["signature_id"] for alert in found} >= {1000001, 1000003}


@pytest.mark.parametrize("capture", ["curl", "dig", "iperf3", "ping", "ssh"])
def test_captures(heddle, tmp_path, capture):
    """Every letter that is somewhere is an alert, of IPv4."""
    rules = tmp_path / "rules"
    rules.write_text(
        "".join(
            f'alert {protocol} any any -> any any (content:"{text}"; sid:{10 * n + k};)\n'
            for n, text in enumerate(("|00 00|", "e", "HTTP", "|ff|", "SSH", "01234567"), 1)
            for k, protocol in enumerate(("tcp", "udp", "icmp"))
        )
    )
    frames = [f for f in captures.frames(CHAINS / "captures" / f"{capture}.pcap") if f[12:14] == b"\x08\x00"]
    assert len(frames) > 0
    the_same(heddle, tmp_path, rules, frames)


def test_packets_of_every_length_and_hostile_ones(heddle, tmp_path):
    """What is told of a packet is all of it, up to 9000 bytes; and what is broken is judged as on the CPU."""
    rules = tmp_path / "rules"
    rules.write_text(
        'alert udp any any -> any any (msg:"whole"; content:"begin"; offset:0; depth:5; content:"end"; endswith; sid:1;)\n'
        'alert udp any any -> any any (content:"begin"; content:!"end"; sid:2;)\n'
        'alert tcp any any -> any 80 (content:"begin"; dsize:>2000; sid:3;)\n'
        'alert ip any any -> any any (content:"|00 01 02 03|"; sid:4;)\n'
        'pass udp any 7 -> any any (content:"begin"; sid:5;)\n'
        "alert icmp any any -> any any (sid:6;)\n"
        'alert udp any any -> any any (content:"begin"; pcre:"/x{40}e/"; sid:7;)\n'
    )
    values = random.Random(16)
    frames = [frame(b"begin" + b"x" * n + b"end", sport=values.choice([5, 7]), dport=n + 1) for n in range(70)]
    for length in (1400, 4087, 8950, 8951, 8952, 8953, 8964):
        frames += [
            frame(b"begin" + b"x" * (length - 8) + b"end", dport=9),
            frame(b"begin" + b"y" * (length - 8) + b"eNd", dport=10),
        ]
        frames.append(
            bytes(LINK / IP(dst="192.0.2.2") / TCP(dport=80, sport=length) / (b"begin" + b"z" * (length - 20)))
        )
    frames.append(bytes(LINK / IP(dst="192.0.2.2") / ICMP() / b"begin"))
    whole = IP(dst="192.0.2.2", id=7) / UDP(dport=5) / (b"begin" + bytes(range(256)) * 8 + b"end")
    frames += [bytes(LINK / piece) for piece in fragment(whole, 512)]
    for _ in range(600):
        broken = bytearray(values.choice(frames))
        for _ in range(values.randint(1, 4)):
            broken[values.randrange(min(len(broken), 60))] = values.randrange(256)
        cut = bytes(broken[: values.randint(1, len(broken))]) if values.random() < 0.3 else bytes(broken)
        frames.append(cut)
        if len(cut) > 34:  # the same with a checksum that is right
            header = bytearray(cut[14:34])
            header[0], header[10:12] = 0x45, b"\0\0"
            total = sum(int.from_bytes(header[k : k + 2], "big") for k in range(0, 20, 2))
            total = (total & 0xFFFF) + (total >> 16)
            header[10:12] = (0xFFFF - (total & 0xFFFF) - (total >> 16)).to_bytes(2, "big")
            frames.append(cut[:14] + bytes(header) + cut[34:])
    found = {json.loads(alert)["alert"]["signature_id"] for alert in the_same(heddle, tmp_path, rules, frames)}
    assert found == {1, 2, 3, 4, 6, 7}


@pytest.mark.parametrize("role", ["client", "server"])
def test_over_memif(heddle, place, tmp_path, role):
    """Several rings tell of candidates at once."""
    every = [f for f in captures.frames(CHAINS / "traffic.pcap") if len(f) <= 2048]
    frames = every[:100] + [f for f in every if b"HTTP/1." in f or b"example" in f.lower()][:100]
    wanted, cpu = on_cpu(heddle, tmp_path, RULES, frames)
    eve = tmp_path / "gpu.json"
    chain = f"CheckIPHeader(14, DEVICE gpu) -> ids :: NIDS({quoted(RULES)}, EVE {quoted(eve)})"
    dropped = sum(cpu.drops("CheckIPHeader").values())
    with Mirror(heddle, place, role, queues=2, chain=chain) as mirror:
        peer = mirror.peer()
        for queue in (0, 1):
            assert len(peer.exchange(frames, len(frames) - dropped, queue=queue)) == len(frames) - dropped
        mirror.end()
    assert alerts(eve) == sorted(wanted + wanted) != []


def test_thresholds_and_counts(heddle, place, tmp_path):
    """Rules with a threshold, and what handlers say, while packets flow."""
    rules, eve = tmp_path / "rules", tmp_path / "eve.json"
    rules.write_text(
        'alert udp any any -> any any (content:"evil"; threshold: type limit, track by_src, count 3, seconds 600; sid:1;)\n'
        'alert udp any any -> any any (content:"evil"; detection_filter: track by_src, count 4, seconds 600; sid:2;)\n'
    )
    frames = [frame(b"an evil text", source=f"10.0.0.{1 + n % 2}", sport=n + 1) for n in range(20)]
    chain = f"CheckIPHeader(14, DEVICE gpu) -> ids :: NIDS({quoted(rules)}, EVE {quoted(eve)})"
    with Mirror(heddle, place, chain=chain) as mirror:
        assert mirror.peer().exchange(frames) == frames
        wait_until(lambda: read_handler(mirror.control, "ids.counts") == "1 6\n2 12\n", what="all alerts")
        assert read_handler(mirror.control, "ids.alerts") == "18"
        assert read_handler(mirror.control, "ids.events_lost") == "0"
        wait_until(lambda: len(eve.read_text().splitlines()) == 18, what="their lines")
        mirror.end()


def test_rules_change_under_traffic(heddle, place, tmp_path):
    rules, eve = tmp_path / "rules", tmp_path / "eve.json"

    def write(text, sid, action="alert"):
        rules.write_text(f'{action} udp any any -> any any (content:"{text}"; sid:{sid};)\n')

    def reload(mirror):
        code, text, _ = Control(mirror.control).command("WRITE ids.reload")
        return code, text

    frames = [frame(f"a {'good' if n % 4 else 'evil'} text", sport=n + 1) for n in range(200)]
    chain = f"CheckIPHeader(14, DEVICE gpu) -> ids :: NIDS({quoted(rules)}, EVE {quoted(eve)})"
    write("evil", 1)
    with Mirror(heddle, place, chain=chain) as mirror:
        peer = mirror.peer()
        for sid, text in enumerate(["evil", "good", "text", "evil"], 1):
            write(text, sid)
            code, answer = reload(mirror)
            assert code == 200, answer
            assert peer.exchange(frames) == frames
            number = sum(text.encode() in f for f in frames)
            wait_until(
                lambda sid=sid, number=number: f"{sid} {number}\n" in read_handler(mirror.control, "ids.counts"),
                what=f"alerts of {sid}",
            )
        write("evil", 5, "drop")
        _, answer = reload(mirror)
        assert "sid 5: drop (and 0 other rules that do so) stops packets" in answer, answer
        assert peer.exchange(frames) == frames
        report = mirror.end()
    assert report.one("ids")["statistics"]["alerts"] == 50 + 150 + 200 + 50 + 50 == len(alerts(eve))


# From each place it goes on to its limit.
SLOW = 'alert udp any any -> any any (content:"evil"; pcre:"/(a+)+[bc]/"; sid:1;)\n'
QUICK = 'alert udp any any -> any any (content:"evil"; sid:2;)\n'


def test_candidates_that_wait_are_confirmed_at_the_end(heddle, tmp_path):
    """The host has confirmed few of them when the frames are through."""
    rules = tmp_path / "rules"
    rules.write_text(SLOW + QUICK)
    frames = [frame(b"evil" + b"a" * 400, sport=n + 1) for n in range(150)]
    got, report = Tap(heddle, tmp_path, rules, frames).end()
    assert len(got) == report.one("ids")["statistics"]["alerts"] == len(frames)
    assert report.one("ids")["statistics"]["gave_up"] > 0


def test_what_is_written_over_is_counted_and_said(heddle, tmp_path):
    """Faster than it is confirmed: alerts and losses together are all that there was."""
    rules = tmp_path / "rules"
    slow = 'content:"evil"; ' + 'content:"a"; ' * 10 + 'content:"zz"; '  # all places of ten contents
    rules.write_text("".join(f"alert udp any any -> any any ({slow}sid:{sid};)\n" for sid in range(10, 13)) + QUICK)
    frames = [frame(b"evil" + b"a" * 16000, sport=n + 1) for n in range(800)]  # the ring holds 260
    got, report = Tap(heddle, tmp_path, rules, frames).end(
        r"^heddle: NIDS 'ids': candidates come faster than they are confirmed; \d+ have been lost"
    )
    lost = report.one("ids")["statistics"]["events_lost"]
    assert 0 < lost < len(frames) and len(got) + lost == len(frames)
    assert report.one("ToGPUPort")["packets"] == len(frames)


def test_rules_that_stop_packets_are_refused(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text('alert ip any any -> any any (sid:1;)\ndrop udp any any -> any 53 (content:"x"; sid:2;)\n')
    found = heddle.fails(
        "plan",
        "-e",
        f"FromGPUPort(a, SOCKET x) -> CheckIPHeader(14, DEVICE gpu) -> NIDS({quoted(rules)}) -> ToGPUPort(a)",
        *SIMT,
    )
    assert f"{rules}:2: sid 2: drop (and 0 other rules that do so) stops packets, but no output 1 is connected" in found
    assert "let it be an alert, or lead output 1 to a NIDSConfirm, which cannot be between GPU ports" in found


def test_the_chain(heddle, tmp_path):
    frames = captures.frames(CHAINS / "traffic.pcap")
    with heddle.start_ready("run", "--json", CHAINS / "gpu_nids.click", f"OUT={tmp_path}/x", *SIMT) as running:
        wait_until(lambda: running.packets("FromGPUPort@1") == len(frames), TIMEOUT_S, "the frames")
        result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    wanted, _ = on_cpu(heddle, tmp_path, RULES, frames)
    assert alerts(tmp_path / "x_alerts.json") == wanted != []
