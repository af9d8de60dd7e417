"""What elements keep when the chain is reconfigured: the places in files, addresses, routes, counts, numbers."""

import re

import pytest
from test_hotconfig import TRAFFIC, UDP, running
from whole import captures, judge
from whole.program import ROOT, quoted, wait_for_count, wait_until

FRAMES = "InfiniteSource(DATA \\<0200000000020200000000010800 00000000>)"


IN_COMMON = (
    "a :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0, MAPPING_CAPACITY b) {}"
    " -> b :: UDPRewriter(pattern 1.0.0.2 7 - - 0 0, MAPPING_CAPACITY 99) -> Discard"
)


STATE = {
    "IPRewriter": (
        f"{UDP} -> Strip(14) -> MarkIPHeader -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) {{}} -> Discard",
        None,
        "r.table",
        "(10.0.0.1",
    ),
    "IPRewriter, its pattern": (
        "Idle -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) {} -> Discard",
        ("r.pattern0", "pattern 1.0.0.2 7 - - 0 0"),
        "r.patterns",
        "1.0.0.2 7",
    ),
    "IPRewriter, its capacity": (
        "Idle -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) {} -> Discard",
        ("r.capacity", "777"),
        "r.capacity",
        "777",
    ),
    "IPRewriter, with a capacity in common": (
        f"{UDP} -> Strip(14) -> MarkIPHeader -> {IN_COMMON}",
        None,
        "a.table",
        "(10.0.0.1",
    ),
    "IPRewriter, which has another's capacity": (
        f"Idle -> {IN_COMMON}",
        ("a.capacity", "777"),
        "b.capacity",
        "777",
    ),
    "ARPQuerier": (
        "Idle -> q :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1) {} -> Discard; Idle -> [1]q",
        ("q.insert", "10.0.0.7 2:0:0:0:0:7"),
        "q.table",
        "10.0.0.7",
    ),
    "ARPTable": (
        "t :: ARPTable; Idle -> q :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1, TABLE t) {} -> Discard; Idle -> [1]q",
        ("t.insert", "10.0.0.7 2:0:0:0:0:7"),
        "q.table",
        "10.0.0.7",
    ),
    "ARPResponder": (
        "Idle -> a :: ARPResponder(10.0.0.1 2:0:0:0:0:1) {} -> Discard",
        ("a.add", "10.0.0.9 2:0:0:0:0:9"),
        "a.table",
        "10.0.0.9",
    ),
    "MixedQueue": (
        "Idle -> m :: MixedQueue -> Unqueue {} -> Discard; Idle -> [1]m",
        ("m.capacity", "77"),
        "m.capacity",
        "77",
    ),
    "FlowTable": (
        f"{UDP} -> MarkIPHeader(14) -> f :: FlowTable -> FlowCounter(f) {{}} -> Discard",
        None,
        "f.flows",
        "1",
    ),
    "RateLimiter": (
        f"{UDP} -> MarkIPHeader(14) -> f :: FlowTable -> l :: RateLimiter(f, 5) {{}} -> Discard",
        ("l.rate", "77"),
        "l.rate",
        "77",
    ),
    "RadixIPLookup": (
        "Idle -> GetIPAddress(16) -> r :: RadixIPLookup(10.0.0.0/8 0) {} -> Discard",
        ("r.add", "192.168.0.0/16 0"),
        "r.table",
        "192.168.0.0/16",
    ),
    "LookupIP6Route": (
        "Idle -> MarkIP6Header -> r :: LookupIP6Route(2001:db8::/32 0) {} -> Discard",
        ("r.add", "2001:db8:9::/48 0"),
        "r.table",
        "2001:db8:9::/48",
    ),
    "LookupIP6Route, trie": (
        "Idle -> MarkIP6Header -> r :: LookupIP6Route(2001:db8::/32 0, ENGINE trie) {} -> Discard",
        ("r.add", "2001:db8:9::/48 0"),
        "r.table",
        "2001:db8:9::/48",
    ),
    "ECMP": (
        "Idle -> MarkIPHeader -> StoreIPAddress(0.0.0.1, dst) -> e :: ECMP {} -> Discard",
        ("e.set", "7 10.0.0.9 0"),
        "e.groups",
        "7 10.0.0.9 0",
    ),
    "EtherSwitch": (
        f"{FRAMES[:-1]}, LIMIT 5) -> s :: EtherSwitch {{}} -> Discard; Idle -> [1]s[1] -> Discard",
        None,
        "s.table",
        "02",
    ),
    "L2Switch": (f"{FRAMES} -> Paint(0) -> w :: L2Switch {{}} -> Discard; w[1] -> Discard", None, "w.table", "02"),
    "Counter": ("InfiniteSource(LIMIT 5000) -> c :: Counter {} -> Discard", None, "c.count", "5000"),
}


@pytest.mark.parametrize("name", STATE)
def test_state_stays(heddle, tmp_path, name):
    chain, write, handler, wanted = STATE[name]
    with running(heddle, tmp_path, chain.replace("{}", "")) as (_, control):
        if write:
            control.write(*write)
        wait_until(lambda: wanted in control.read(handler), 60, handler)
        before = control.read(handler)
        control.write("hotconfig", chain.replace("{}", "-> Null"))
        assert "Null@" in control.read("list")
        # Ages and expiry differ, mappings and addresses do not.
        first = [line.split()[:3] for line in before.splitlines()]
        assert [line.split()[:3] for line in control.read(handler).splitlines()] == first


WRITTEN = {
    "Queue.capacity": "Idle -> queue :: Queue(10) -> Unqueue -> d :: Discard",
    "MixedQueue.capacity": "Idle -> mixedqueue :: MixedQueue(10) -> Unqueue -> d; Idle -> [1]mixedqueue",
    "DelayShaper.delay": "Idle -> Queue -> delayshaper :: DelayShaper(2s) -> Unqueue -> d",
    "IPRewriter.capacity": "Idle -> MarkIPHeader -> iprewriter :: IPRewriter(pattern 1.0.0.1 7 - - 0 0) -> d",
    "RateLimiter.rate": "Idle -> MarkIPHeader -> f :: FlowTable -> ratelimiter :: RateLimiter(f, 5) -> d",
    "Switch.switch": "Idle -> switch :: Switch(0) -> d; switch[1] -> d",
    "Paint.color": "Idle -> paint :: Paint(2) -> d",
    "RandomSample.sampling_prob": "Idle -> randomsample :: RandomSample(0.5) -> d",
    "Bypass.active": "Idle -> bypass :: Bypass(false) -> d; bypass[1] -> d",
    "RatedUnqueue.rate": "Idle -> Queue -> ratedunqueue :: RatedUnqueue(9) -> d",
    "Classifier.pattern0": "Idle -> classifier :: Classifier(12/0800, -) -> d; classifier[1] -> d",
    "EtherSwitch.timeout": "Idle -> etherswitch :: EtherSwitch(TIMEOUT 9s) -> d; Idle -> [1]etherswitch[1] -> d",
    "InfiniteSource.limit": "infinitesource :: InfiniteSource(LIMIT 9, ACTIVE false) -> d",
}


def test_what_was_written_stays_as_the_page_says(heddle, tmp_path):
    page = (ROOT / "docs/reconfiguration.md").read_text()
    stays = {
        f"{element}.{handler}": what == "stays"
        for element, handler, what in re.findall(r"^\| (\w+) \| `(\w+)` \| (stays|begins anew) \|$", page, re.MULTILINE)
    }
    assert set(stays) == set(WRITTEN)
    values = {"Bypass.active": "true", "Classifier.pattern0": "12/86dd", "RandomSample.sampling_prob": "0.25"}
    chain = "; ".join(WRITTEN.values())
    with running(heddle, tmp_path, chain) as (_, control):
        wanted = {}
        for name in WRITTEN:
            handler = name.split(".")[0].lower() + "." + name.split(".")[1]
            before = control.read(handler)
            control.write(handler, values.get(name, "1"))
            written = control.read(handler)
            assert written != before, name
            wanted[handler] = written if stays[name] else before
        control.write("hotconfig", chain)
        assert {handler: control.read(handler) for handler in wanted} == wanted


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_rates_change(heddle, tmp_path, device):
    """By the handler, and by another configuration: flows stay, and the way in which NAT writes them."""
    chain = (
        "FastUDPFlows(0, -1, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.0.0.2, 20, 1000000000) -> MarkIPHeader(14)"
        " -> f :: FlowTable -> FlowCounter(f, DEVICE cpu) -> l :: RateLimiter(f, {}, BURST {}) -> c :: Counter -> Discard;"
        f"{UDP} -> MarkIPHeader(14) -> g :: FlowTable -> m :: RateLimiter(g, {{}}) -> n :: NAT(g, 192.0.2.1) -> Discard;"
        "n[1] -> Discard"
    )
    with running(heddle, tmp_path, chain.format(1, 9, 5), "--device", device) as (_, control):
        wait_until(lambda: control.read("f.flows") == "20" and int(control.read("c.count")) >= 20 * 9)
        slow = int(control.read("c.count"))
        assert control.read("l.rate") == "1"
        assert slow < 20 * 9 + 20 * 60 * 2  # what a minute or two allow
        control.write("l.rate", "1000000")
        wait_until(lambda: int(control.read("c.count")) > slow + 10000)
        assert control.read("f.flows") == "20" and control.read("l.rate") == "1000000"
        wait_until(lambda: control.read("n.ports") == "1")
        control.write("hotconfig", chain.format(2, 3, 6))
        assert control.read("l.rate") == "2"
        wait_until(lambda: control.read("f.flows") == "40")  # the new source makes new ones
        assert control.read("g.flows") == control.read("n.ports") == "1"
        for wrong in ("0", "1000001", "x"):
            assert control.command(f"WRITE l.rate {wrong}")[0] != 200
        assert control.read("l.rate") == "2"


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_matches_stay(heddle, tmp_path, device):
    """Those of a pattern in another place of another file, too, and twice; not those of one that is gone."""
    file = tmp_path / "patterns"
    file.write_text("tcp any never\nudp any ABC\nudp any gone\n")
    packets = [
        judge.ip4(b"\12\0\0\1", b"\12\0\0\2", 17, b"\0\5\0\5\0" + bytes([8 + len(payload)]) + bytes(2) + payload)
        for payload in (b"xABCx", b"x", b"gone")
    ]
    source = captures.write(tmp_path / "in.pcap", packets * 100)
    chain = f"FromDump({quoted(source)}) -> CheckIPHeader(14) -> s :: AhoCorasick({quoted(file)}) {{}} -> Discard"
    with running(heddle, tmp_path, chain.format(""), "--device", device) as (run, control):
        wait_until(lambda: control.read("s.count") == "200", 60, "s.count")
        assert control.read("s.matches").split("\n")[:3] == ["0 tcp any never", "100 udp any ABC", "100 udp any gone"]
        file.write_text("udp any |41|BC\nudp any new\n")
        for _ in range(2):
            control.write("hotconfig", chain.format("-> Null"))
            assert control.read("s.count") == "200"
            assert control.read("s.matches").split("\n")[:2] == ["100 udp any |41|BC", "0 udp any new"]
    assert run.report.one("s")["statistics"]["matches"] == 200


@pytest.mark.parametrize("engine", ["auto", "bitvector", "tuple", "hypersplit"])
@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_rules_and_hits_stay(heddle, tmp_path, device, engine):
    """Also if another element's arguments change; not where its own do."""
    file = tmp_path / "rules"
    any_port = "0 : 65535 0 : 65535 0x11/0xFF"
    file.write_text(f"@10.0.0.0/8 0/0 {any_port} allow\n@192.0.2.0/24 0/0 {any_port} deny\n")
    udp = judge.transport(17, 1, 2, 0)
    packets = [judge.ip4(judge.packed(source), b"\12\0\0\2", 17, udp) for source in ("10.0.0.1", "172.16.0.1")]
    source = captures.write(tmp_path / "in.pcap", packets * 100)
    chain = (
        f"f :: FromDump({quoted(source)}) -> CheckIPHeader(14) -> p :: Paint(1)"
        f" -> w :: Firewall(RULES {quoted(file)}, ENGINE {engine}, DEFAULT {{}}) {{}} -> Discard"
    )
    with running(heddle, tmp_path, chain.format("deny", ""), "--device", device) as (_, control):
        wait_until(lambda: control.read("f.count") == "200" and control.read("w.hits").split() == ["0", "100"])
        control.write("w.add", f"7 @172.16.0.0/12 0/0 {any_port} allow")
        control.write("w.remove", "1")
        for change in (("p.config", "2"), ("hotconfig", chain.format("deny", "-> Null")), ("p.config", "3")):
            control.write(*change)
            assert control.read("w.count") == "2"
            assert control.read("w.hits").split() == ["0", "100"]
            assert control.read("w.lookup 172.16.0.1 1.1.1.1 1 1 17") == "7 0"
            assert control.read("w.lookup 192.0.2.1 1.1.1.1 1 1 17") == "-1 deny"
        control.write("w.add", f"8 @172.32.0.0/12 0/0 {any_port} allow")
        assert control.read("w.count") == "3"
        # Packets go by these rules, wherever they are looked up.
        control.write("hotconfig", chain.format("deny", "-> Null").replace("f ::", "g ::"))
        wait_until(lambda: control.read("w.hits").split() == ["0", "200", "7", "100"])
        control.write("hotconfig", chain.format("allow", ""))
        assert control.read("w.count") == "2" and control.read("w.lookup 172.16.0.1 1.1.1.1 1 1 17") == "-1 0"


MOVED = {
    "BitVectorClassifier": (
        "@10.0.0.0/8 0/0 0 : 65535 0 : 65535 0x00/0x00",
        "add",
        "7 @0/0 0/0 0 : 9 0 : 9 0x11/0xFF 0",
    ),
    "RadixIPLookup": ("10.0.0.0/8 0", "add", "192.168.0.0/16 0"),
    "LookupIP6Route": ("2001:db8::/32 0", "add", "2001:db8:9::/48 0"),
    "L2Switch": ("2:0:0:0:0:1 0", "add", "2:0:0:0:0:9 0"),
    "RateLimiter": ("f, 5", "rate", "77"),
    "LoadBalancer": ("f, 192.0.2.1", "servers", "192.0.2.7 192.0.2.8"),
}
SHOWN = {"BitVectorClassifier": "lookup 1.1.1.1 1.1.1.1 1 1 17", "RateLimiter": "rate", "LoadBalancer": "servers"}


@pytest.mark.parametrize("name", MOVED)
def test_what_was_written_stays_on_another_processor(heddle, tmp_path, name):
    """By hotconfig, and by `config`, to which the same arguments are a wish to begin anew."""
    arguments, handler, value = MOVED[name]
    # The mirror stays on the GPU, which a program that began without one cannot get.
    chain = (
        "Idle -> EtherMirror -> Discard; Idle -> Paint(0) -> MarkIP6Header(14) -> GetIPAddress(30) -> MarkIPHeader(14)"
        f" -> f :: FlowTable -> e :: {name}({{}}) -> d :: Discard" + "; e[1] -> d" * (name == "L2Switch")
    )
    there, here = arguments, f"{arguments}, DEVICE cpu"
    with running(heddle, tmp_path, chain.format(there), "--device", "simt") as (_, control):
        first = control.read(f"e.{SHOWN.get(name, 'table')}")
        control.write(f"e.{handler}", value)
        written = control.read(f"e.{SHOWN.get(name, 'table')}")
        assert written != first
        moves = [("hotconfig", chain.format(here)), ("hotconfig", chain.format(there)), ("e.config", here)]
        if name in ("RadixIPLookup", "LookupIP6Route"):  # whose CAPACITY is the batches that wait for a GPU
            moves.insert(1, ("hotconfig", chain.format(f"{there}, LAUNCH async, CAPACITY 2, MAX_BATCH 64")))
        for move in moves:
            control.write(*move)
            assert control.read(f"e.{SHOWN.get(name, 'table')}") == written, move
        control.write("e.config", here)
        assert control.read(f"e.{SHOWN.get(name, 'table')}") == first


def test_replies_that_wait_outlive_a_failed_change(heddle, tmp_path):
    """The new configuration pulls them one by one, and fails after state has been handed over."""
    source = f"s :: {UDP.replace('>)', '>, LIMIT 50, STOP false, ACTIVE false)')} -> Strip(14) -> MarkIPHeader"
    error = "e :: ICMPError(192.168.0.1, unreachable, host)"
    with running(heddle, tmp_path, f"{source} -> {error} -> Discard") as (_, control):
        control.write("e.scheduled", "false")
        control.write("s.active", "true")
        wait_for_count(tmp_path / "control", "e.length", 50)
        pulled = f"{source} -> Queue -> {error} -> Unqueue -> Discard"
        assert "nobody" in control.refused(f"{pulled}; Script(init x $(nobody.count))")
        assert control.read("e.length") == "50"


def test_another_table_is_another_table(heddle, tmp_path):
    chain = "Idle -> GetIPAddress(16) -> r :: RadixIPLookup({} 0) -> Discard"
    with running(heddle, tmp_path, chain.format("10.0.0.0/8")) as (_, control):
        control.write("r.add", "192.168.0.0/16 0")
        control.write("hotconfig", chain.format("11.0.0.0/8"))
        assert control.read("r.table").split()[0] == "11.0.0.0/8" and "192.168" not in control.read("r.table")


def test_ip6_routes_of_a_file_are_those_of_the_file(heddle, tmp_path):
    file = tmp_path / "routes"
    file.write_text("2001:db8:1::/48 0\n")
    chain = f"Idle -> MarkIP6Header -> r :: LookupIP6Route(FILE {quoted(file)}) {{}} -> Discard"
    with running(heddle, tmp_path, chain.format("")) as (_, control):
        control.write("r.add", "2001:db8:2::/48 0")
        file.write_text("2001:db8:3::/48 0\n")
        control.write("hotconfig", chain.format("-> Null"))
        assert control.read("r.table").split() == ["2001:db8:3::/48", "-", "0"]


def test_files_go_on(heddle, tmp_path):
    """A capture is read on where it was, and the one that is written has every packet once and in order."""
    out = tmp_path / "out.pcap"
    chain = f"f :: FromDump({quoted(TRAFFIC)}, BURST 1) -> c :: Counter {{}} -> q :: Queue(5000) -> RatedUnqueue(400) -> t :: ToDump({quoted(out)})"
    with running(heddle, tmp_path, chain.replace("{}", "")) as (_, control):
        for i in range(3):
            wait_for_count(tmp_path / "control", "t.count", 1 + i)
            control.write("hotconfig", chain.replace("{}", "-> Null" * (i + 1)))
        frames = captures.frames(TRAFFIC)
        total = len(frames)
        wait_for_count(tmp_path / "control", "t.count", min(total, 1000))
    assert captures.frames(out) == frames[: len(captures.frames(out))]


def test_summaries_go_on(heddle, tmp_path):
    """A summary is read on where it was, by the fields that it has said, and every packet leaves once and in order."""
    file, out = tmp_path / "dump", tmp_path / "out"
    lines = [f"10.0.{n >> 8}.{n & 255} {n % 1000 + 1}" for n in range(2000)]
    file.write_text("!data ip_src sport\n" + "\n".join(lines) + "\n")
    chain = f"f :: FromIPSummaryDump({quoted(file)}, PROTO 17, BURST 1) {{}} -> q :: Queue(5000) -> RatedUnqueue(400) -> t :: ToIPSummaryDump({quoted(out)}, FIELDS ip_src sport)"
    with running(heddle, tmp_path, chain.replace("{}", "")) as (_, control):
        for i in range(3):
            wait_for_count(tmp_path / "control", "t.count", 1 + i)
            control.write("hotconfig", chain.replace("{}", "-> Null" * (i + 1)))
        wait_for_count(tmp_path / "control", "t.count", 300)
    written = [line for line in out.read_text().splitlines() if not line.startswith("!")]
    assert len(written) >= 300
    assert written == lines[: len(written)]


def test_pings_go_on(heddle, tmp_path):
    """Their numbers as well, up to the limit; with another destination they begin anew."""
    out = tmp_path / "out.pcap"
    chain = f"p :: ICMPPingSource(10.0.0.1, %s, INTERVAL 2ms, LIMIT 200) -> ToDump({quoted(out)}, ENCAP IP)"
    with running(heddle, tmp_path, chain % "10.0.0.2") as (_, control):
        wait_for_count(tmp_path / "control", "p.count", 5)
        control.write("hotconfig", (chain % "10.0.0.2").replace("->", "-> Null ->"))
        wait_for_count(tmp_path / "control", "p.count", 200)
        numbers = [int.from_bytes(frame[26:28], "big") for frame in captures.frames(out)]
        assert control.read("p.count") == "200"
        control.write("hotconfig", (chain % "10.0.0.3").replace("2ms", "1h"))
        assert control.read("p.count") in ("0", "1")
    assert len(numbers) > 5
    assert numbers == list(range(200))[: len(numbers)]
