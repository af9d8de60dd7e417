"""ARPResponder, ARPQuerier and ARPPrint, against Scapy."""

import json
import random

import pytest
from scapy.all import ARP, ICMP, IP, UDP, Ether
from test_ip_router_elements import MY_MAC, NEXT_MAC, YOUR_MAC, arp_reply, ether, run
from whole import captures
from whole.program import Report

RANDOM = random.Random(18)

QUERIER = f"q :: ARPQuerier(10.0.0.1, {MY_MAC}); FromDump($IN) -> c :: Classifier(12/0806, -); c[0] -> [1]q;"


def test_arp_responder(heddle, tmp_path):
    def asks(address, **fields):
        return bytes(
            Ether(src=YOUR_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=YOUR_MAC, psrc="10.0.0.9", pdst=address, **fields)
        )

    chain = "FromDump($IN) -> a :: ARPResponder(10.0.0.1 10.0.1.0/24 {m}, 10.0.1.7 {n}) -> ToDump($out); a[1] -> ToDump($rest);"
    chain = chain.format(m=MY_MAC, n=NEXT_MAC)
    others = [asks("10.0.2.1"), asks("10.0.0.1", op=2), asks("10.0.0.1", hwlen=8), ether(IP() / UDP()), b"short"]
    mine = [("10.0.0.1", MY_MAC), ("10.0.1.99", MY_MAC), ("10.0.1.7", NEXT_MAC)]
    frames = [asks(address) for address, _ in mine] + others
    _, [out, rest] = run(heddle, tmp_path, chain, frames, ("out", "rest"))
    for frame, (address, mac) in zip(out, mine, strict=True):
        answer = Ether(src=mac, dst=YOUR_MAC) / ARP(op=2, hwsrc=mac, psrc=address, hwdst=YOUR_MAC, pdst="10.0.0.9")
        assert frame == bytes(answer).ljust(60, b"\0")
    assert rest == others


def test_arp_responder_learns_and_forgets_by_handlers(heddle, tmp_path):
    """Click's handlers: one that is added counts for others of the same network; packets are answered by what is
    there."""
    asks = [
        bytes(Ether(src=YOUR_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=YOUR_MAC, psrc="10.0.0.9", pdst=address))
        for address in ("10.0.0.1", "10.0.0.2", "10.0.1.5", "10.0.1.6")
    ]
    captures.write(tmp_path / "in.pcap", asks)
    chain = (
        f"in :: FromDump({tmp_path}/in.pcap, ACTIVE false) -> a :: ARPResponder(10.0.0.0/24 {MY_MAC}, 10.0.1.0/24 {MY_MAC})"
        f" -> ToDump({tmp_path}/out.pcap); a[1] -> ToDump({tmp_path}/rest.pcap);"
        f"Script(write a.add 10.0.0.1 10.0.1.0/24 {NEXT_MAC}, write a.add 10.0.1.6/32 {YOUR_MAC}, write a.remove 10.0.0.0/24,"
        " print $(a.table), print $(a.lookup 10.0.1.7) $(a.lookup 10.0.0.2), write in.active true)"
    )
    out = heddle.ok("run", "--quiet", "-e", chain).out.replace("-", ":").lower().splitlines()
    owners = {"10.0.0.1/32": NEXT_MAC, "10.0.1.0/24": NEXT_MAC, "10.0.1.6/32": YOUR_MAC}
    assert dict(line.split() for line in out[:3]) == owners and [line.split()[0][-2:] for line in out[:3]] == [
        "32",
        "32",
        "24",
    ]
    assert out[-1].split() == [NEXT_MAC]
    answers = [Ether(frame)[ARP] for frame in captures.frames(tmp_path / "out.pcap")]
    assert [(a.psrc, a.hwsrc) for a in answers] == [
        ("10.0.0.1", NEXT_MAC),
        ("10.0.1.5", NEXT_MAC),
        ("10.0.1.6", YOUR_MAC),
    ]
    assert captures.frames(tmp_path / "rest.pcap") == [asks[1]]


@pytest.mark.parametrize(
    "line",
    [
        "add 10.0.0.1",
        f"add {MY_MAC}",
        f"add x {MY_MAC}",
        f"add 10.0.0.1 {MY_MAC} {NEXT_MAC}",
        "remove 10.9.0.0/16",
        f"remove 10.0.0.1 {MY_MAC}",
        "remove",
    ],
)
def test_arp_responder_refuses_what_is_no_entry(heddle, line):
    chain = f"Idle -> a :: ARPResponder(10.0.0.1 {MY_MAC}) -> Discard; Script(write a.{line}, print $(a.table), stop)"
    result = heddle("run", "--quiet", "-e", chain)
    assert "expected IPv4 addresses" in result.err or "there is no 10.9.0.0/16" in result.err, result
    assert result.out.replace("-", ":").lower().split() == ["10.0.0.1/32", MY_MAC]


def test_arp_querier_asks_from_the_address_that_it_is_given(heddle, tmp_path):
    captures.write(tmp_path / "in.pcap", [ether(IP(src="10.0.0.9", dst=f"10.0.1.{n}") / UDP()) for n in (1, 255)])
    chain = (
        f"in :: FromDump({tmp_path}/in.pcap, ACTIVE false) -> Strip(14) -> CheckIPHeader -> q :: ARPQuerier(10.0.0.1, {MY_MAC});"
        f"q[0] -> ToDump({tmp_path}/out.pcap); q[1] -> ToDump({tmp_path}/asked.pcap); Idle -> [1]q;"
        "Script(write q.ipaddr 10.0.1.9, write q.broadcast 10.0.1.255, print $(q.ipaddr) $(q.broadcast), write in.active true)"
    )
    assert heddle.ok("run", "--quiet", "--simtime", "-e", chain).out.split() == ["10.0.1.9", "10.0.1.255"]
    asked = {(a.psrc, a.pdst) for a in (Ether(f)[ARP] for f in captures.frames(tmp_path / "asked.pcap"))}
    assert asked == {("10.0.1.9", "10.0.1.1")}
    assert [f[:6] for f in captures.frames(tmp_path / "out.pcap")] == [b"\xff" * 6]


def test_senders_hear_that_nobody_has_an_address(heddle, tmp_path):
    packets = [IP(src="10.0.0.9", dst="10.0.1.7", id=n) / UDP() for n in range(3)]
    captures.write(tmp_path / "in.pcap", [ether(p) for p in packets])
    chain = (
        f"FromDump({tmp_path}/in.pcap, STOP false) -> Strip(14) -> CheckIPHeader -> rt :: StaticIPLookup(10.0.1.0/24 0, 0/0 1);"
        f"rt[0] -> q :: ARPQuerier(10.0.0.1, {MY_MAC}) -> Discard; Idle -> [1]q; q[1] -> asked :: Counter -> Discard;"
        f"q[2] -> ICMPError(10.0.0.1, unreachable, host) -> rt; rt[1] -> ToDump({tmp_path}/back.pcap, ENCAP IP);"
        "Script(wait 5s, print $(asked.count) $(q.drops) $(q.length), stop)"
    )
    assert heddle.ok("run", "--quiet", "--simtime", "-e", chain).out.split()[1:] == ["3", "0"]
    back = [IP(data) for data in captures.frames(tmp_path / "back.pcap")]
    assert [(p.dst, p[ICMP].type, p[ICMP].code) for p in back] == [("10.0.0.9", 3, 1)] * 3
    assert [bytes(p[ICMP].payload) for p in back] == [bytes(p) for p in packets]


def test_arp_querier_asks_keeps_and_sends(heddle, tmp_path):
    chain = QUERIER + "c[1] -> Strip(14) -> CheckIPHeader -> q -> ToDump($out); q[1] -> ToDump($asked);"
    packets = [IP(src="10.0.0.9", dst=f"10.0.1.{n % 3}", id=n) / UDP() / RANDOM.randbytes(n) for n in range(30)]
    multicast = IP(src="10.0.0.9", dst="230.129.3.4") / UDP()
    broadcast = IP(src="10.0.0.9", dst="255.255.255.255") / UDP()
    macs = {f"10.0.1.{n}": f"02:00:00:00:01:0{n}" for n in range(3)}
    frames = [ether(p) for p in packets[:20]] + [ether(multicast), ether(broadcast)]
    frames += [arp_reply(ip, macs[ip]) for ip in ("10.0.1.0", "10.0.1.1")] + [ether(p) for p in packets[20:]]
    report, [out, asked] = run(heddle, tmp_path, chain, frames, ("out", "asked"))

    def sent(packet, mac):
        return bytes(Ether(src=MY_MAC, dst=mac) / packet)

    known = [p for p in packets if p.dst in ("10.0.1.0", "10.0.1.1")]
    for address in ("10.0.1.0", "10.0.1.1"):
        wanted = [sent(p, macs[address]) for p in known if p.dst == address]
        assert sorted(f for f in out if f[30:34] == wanted[0][30:34]) == sorted(wanted)
    assert sent(multicast, "01:00:5e:01:03:04") in out and sent(broadcast, "ff:ff:ff:ff:ff:ff") in out
    assert len(out) == len(known) + 2
    assert {Ether(f)[ARP].pdst for f in asked} >= {"10.0.1.2"}
    for frame in asked:
        pdst = Ether(frame)[ARP].pdst
        question = Ether(src=MY_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(
            hwsrc=MY_MAC, psrc="10.0.0.1", hwdst="00:00:00:00:00:00", pdst=pdst
        )
        assert frame == bytes(question).ljust(60, b"\0")
    lost = len(packets) - len(known)
    assert report.drops("q") == {"unanswered": lost, "learnt": 2}
    assert report.received + len(asked) == report.ended() + report.dropped


def test_arp_querier_holds_no_more_than_it_may(heddle, tmp_path):
    """A flood of addresses: packets and addresses that wait are bounded, and an address that is known is still
    served."""
    chain = (
        QUERIER.replace(MY_MAC + ")", MY_MAC + ", CAPACITY 100)")
        + "c[1] -> Strip(14) -> CheckIPHeader -> q -> ToDump($out);"
    )
    flood = [ether(IP(src="10.0.0.9", dst=f"10.7.{n // 250}.{n % 250}") / UDP()) for n in range(5000)]
    friend = [ether(IP(src="10.0.0.9", dst="10.0.1.1", id=n) / UDP()) for n in range(10)]
    report, [out] = run(heddle, tmp_path, chain, [arp_reply("10.0.1.1", NEXT_MAC), *flood, *friend])
    assert [f[14:] for f in out if f[12:14] == b"\x08\x00"] == [f[14:] for f in friend]
    drops = report.drops("q")
    assert drops["queue_full"] + drops["unanswered"] == 5000 and drops["unanswered"] <= 100


def test_a_flood_of_replies_leaves_neighbours_in_use_alone(heddle, tmp_path):
    """Replies that nobody has asked for take free places; neither what has been asked for goes for them, nor what has
    come unasked and is used. An address that is asked for finds a place among them."""
    near = [f"10.0.1.{n}" for n in range(1, 41)]
    unasked = [f"10.0.2.{n}" for n in range(1, 11)]
    macs = {ip: f"02:00:00:00:{n:02x}:01" for n, ip in enumerate([*near, *unasked, "10.0.3.1"])}
    to = [ether(IP(src="10.0.0.9", dst=ip, id=n) / UDP()) for n, ip in enumerate([*near, *unasked])]
    frames = [arp_reply(ip, macs[ip]) for ip in unasked] + to + [arp_reply(ip, macs[ip]) for ip in near]
    frames += [arp_reply(f"10.7.{n // 250}.{n % 250}", NEXT_MAC) for n in range(6000)] + to
    frames += [ether(IP(src="10.0.0.9", dst="10.0.3.1") / UDP()), arp_reply("10.0.3.1", macs["10.0.3.1"])]
    chain = QUERIER + "c[1] -> Strip(14) -> CheckIPHeader -> q -> ToDump($out); q[1] -> ToDump($asked);"
    report, [out, asked] = run(heddle, tmp_path, chain, frames, ("out", "asked"))
    sent = [Ether(frame) for frame in out]
    assert all(p.dst == macs[p[IP].dst] for p in sent)
    assert sorted(p[IP].dst for p in sent) == sorted([*near, *unasked] * 2 + ["10.0.3.1"])
    assert {Ether(f)[ARP].pdst for f in asked} == {*near, "10.0.3.1"} and len(asked) == 41
    statistics = report.one("q")["statistics"]
    assert statistics["responses"] == 6051 and statistics["replaced"] > 4000 and statistics["entries"] <= 1024


def test_replies_that_nobody_asked_for_find_no_place_in_a_full_table(heddle, tmp_path):
    """Unless what is there has come to its end."""
    near = [f"10.0.1.{n}" for n in range(1, 9)]
    frames = [ether(IP(src="10.0.0.9", dst=ip) / UDP()) for ip in near] + [arp_reply(ip, NEXT_MAC) for ip in near]
    frames += [arp_reply(f"10.7.0.{n}", NEXT_MAC) for n in range(250)]
    captures.write(tmp_path / "first.pcap", frames)
    captures.write(tmp_path / "late.pcap", [arp_reply("10.0.9.9", NEXT_MAC)])
    chain = (
        f"q :: ARPQuerier(10.0.0.1, {MY_MAC}, ENTRY_CAPACITY 8, TIMEOUT 1 min) -> Discard;"
        f"FromDump({tmp_path}/first.pcap, STOP false) -> c :: Classifier(12/0806, -); c[0] -> [1]q;"
        f"c[1] -> Strip(14) -> CheckIPHeader -> q; late :: FromDump({tmp_path}/late.pcap, STOP false, ACTIVE false) -> [1]q;"
        "DriverManager(wait 1s, print $(q.table), wait 2min, write late.active true, wait 1s, print +, print $(q.table), stop)"
    )
    result = heddle.ok("run", "--json", "--simtime", "-e", chain)
    out, report = result.out.split("{", 1)
    first, late = ({line.split()[0] for line in part.splitlines() if line} for part in out.split("+\n"))
    assert first == set(near)
    assert "10.0.9.9" in late and len(late - {"10.0.9.9"}) == 7 and late < {*near, "10.0.9.9"}
    assert Report(json.loads("{" + report)).one("q")["statistics"]["refused"] == 250


def test_arp_querier_believes_only_replies_that_can_be(heddle, tmp_path):
    strange = [
        arp_reply("10.0.1.1", "ff:ff:ff:ff:ff:ff"),
        arp_reply("10.0.1.1", "01:00:5e:00:00:01"),
        arp_reply("0.0.0.0", NEXT_MAC),
        bytes(Ether() / ARP(op=1, hwsrc=NEXT_MAC, psrc="10.0.1.1")),
        arp_reply("10.0.1.1", NEXT_MAC)[:41],
    ]
    chain = QUERIER + "c[1] -> Strip(14) -> CheckIPHeader -> q -> ToDump($out);"
    frames = [*strange, ether(IP(src="10.0.0.9", dst="10.0.1.1") / UDP())]
    report, [out] = run(heddle, tmp_path, chain, frames)
    assert all(frame[12:14] == b"\x08\x06" for frame in out)
    assert report.drops("q") == {"learnt": 3, "not_arp_reply": 2, "unanswered": 1}


def test_arp_print(heddle, tmp_path):
    question = Ether(src=YOUR_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=YOUR_MAC, psrc="10.0.0.9", pdst="10.0.0.1")
    captures.write(tmp_path / "in.pcap", [bytes(question), arp_reply("10.0.1.1", NEXT_MAC), ether(IP() / UDP())])
    result = heddle("run", "-e", f"FromDump({tmp_path}/in.pcap) -> ARPPrint(a, TIMESTAMP false) -> Discard")
    assert result.err.splitlines() == [
        "a: arp who-has 10.0.0.1 tell 10.0.0.9",
        "a: arp reply 10.0.1.1 is-at 02-00-00-00-00-0C",
        "a: not arp",
    ]
