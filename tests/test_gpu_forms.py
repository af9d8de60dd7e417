"""The ways to a GPU by keyword and by the thesis's element names: limits, launches, lists; on simt."""

import ipaddress
import random
import re

import pytest
from whole import captures, oracles
from whole.chains import run_chain
from whole.program import CHAINS, Report

RANDOM = random.Random(12)
SIMT = ("--device", "simt")


def some_frames(number):
    """IPv4 in Ethernet, of many lengths and destinations."""
    return [
        RANDOM.randbytes(12)
        + b"\x08\x00\x45"
        + RANDOM.randbytes(15)
        + RANDOM.randrange(0x0A000000, 0x0A040000).to_bytes(4, "big")
        + RANDOM.randbytes(RANDOM.randrange(30, 900))
        for _ in range(number)
    ]


def run(heddle, tmp_path, sent, functions, *args, info="", **options):
    """The report of a chain with these functions, and what it made of the frames."""
    captures.write(tmp_path / "in.pcap", sent)
    chain = f"FromDump({tmp_path}/in.pcap) -> {functions} -> ToDump({tmp_path}/out.pcap); {info}"
    report = heddle.run(chain, *SIMT, *args, **options)
    return report, captures.frames(tmp_path / "out.pcap")


def click_crc32(data):
    """Click's: generator 0x04c11db7, 32 ones at first, most significant bit first; as a little-endian machine stores
    it."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte << 24
        for _ in range(8):
            remainder = (remainder << 1 ^ (0x04C11DB7 if remainder >> 31 else 0)) & 0xFFFFFFFF
    return remainder.to_bytes(4, "little")


LISTS = "MAX_BATCH 256, CAPACITY 2"
FORMS = ["PERSISTENT true", "PERSISTENT false", "BLOCKING true", LISTS]


@pytest.mark.parametrize(
    "element",
    [f"GPUEtherMirrorCommList({form}, LISTS_PER_CORE 2)" for form in FORMS]
    + [f"GPUEtherMirrorCoalescent({form}, QUEUES_PER_CORE 3)" for form in [*FORMS, "ZEROCOPY true", "ZEROCOPY false"]]
    + ["GPUEtherMirrorCoalescent", "GPUEtherMirrorCommList"],
)
def test_mirrors(heddle, tmp_path, element):
    sent = some_frames(700)
    report, got = run(heddle, tmp_path, sent, element)
    assert got == [oracles.mirrored(frame) for frame in sent]
    assert report.one("EtherMirror")["processor"] == "simt"


@pytest.mark.parametrize("element", ["GPUSetCRC32CommList", "GPUSetCRC32Coalescent"])
@pytest.mark.parametrize("form", FORMS)
def test_check_sums(heddle, tmp_path, element, form):
    sent = some_frames(300)
    size = "MAX_PKT_SIZE 500, " if element == "GPUSetCRC32Coalescent" else ""
    report, got = run(heddle, tmp_path, sent, f"{element}({size}{form})")
    taken = [frame for frame in sent if not size or len(frame) <= 500]
    assert got == [frame + click_crc32(frame) for frame in taken]
    assert report.dropped == len(sent) - len(taken)


@pytest.mark.parametrize("element", ["GPUIPLookup", "GPUIPLookupWithCopy"])
@pytest.mark.parametrize("form", ["PERSISTENT true", LISTS])
def test_look_ups(heddle, tmp_path, element, form):
    (tmp_path / "table7.routes").write_text("10.0.0.0/16 192.0.2.1 0\n10.2.128.0/17 192.0.2.2 0\n")
    sent = some_frames(600)
    report, got = run(heddle, tmp_path, sent, f"{element}(TABLE 7, {form})", cwd=tmp_path)
    networks = [ipaddress.ip_network("10.0.0.0/16"), ipaddress.ip_network("10.2.128.0/17")]
    routed = [f for f in sent if any(ipaddress.ip_address(f[30:34]) in network for network in networks)]
    assert 0 < len(routed) < len(sent)
    assert got == routed
    assert report.dropped == len(sent) - len(routed)


@pytest.mark.parametrize(
    ("pool", "persistent", "transport"),
    [("cpu", "false", "direct"), ("gpu", "false", "commlist"), ("cpu", "true", "direct"), ("gpu", "true", "gather")],
)
def test_where_packets_of_lists_lie(heddle, tmp_path, pool, persistent, transport):
    sent = some_frames(300)
    element = f"GPUSetCRC32CommList(PERSISTENT {persistent})"
    info = f"DPDKInfo(POOL {pool})"
    _, got = run(heddle, tmp_path, sent, element, info=info)
    assert got == [frame + click_crc32(frame) for frame in sent]
    plan = heddle.ok("plan", "-e", f"Idle -> {element} -> Discard; {info}", *SIMT).out
    assert re.search(rf"transport +{transport}: TRANSPORT of '.*', and DPDKInfo's POOL", plan), plan
    assert "POOL: 'host' is not cpu or gpu" in heddle.fails("check", "-e", "DPDKInfo(POOL host); Idle -> Discard")


def test_what_is_behind_max_batch_is_counted(heddle, tmp_path):
    sent = some_frames(640)
    report, got = run(heddle, tmp_path, sent, "MinBatch(128) -> m :: EtherMirror(MAX_BATCH 100)")
    drops = report.drops("m")
    assert list(drops) == ["max_batch"] and 0 < drops["max_batch"] == len(sent) - len(got)
    left = iter(sent)  # in order, with gaps
    assert all(any(oracles.mirrored(frame) == wanted for frame in left) for wanted in got)


def test_launches_of_all_kinds_in_one_chain(heddle, tmp_path):
    sent = some_frames(400)
    kinds = ["persistent", "async", "graph", "sync"]
    between = " -> Strip(1) -> Unstrip(1) -> CheckLength(2000) -> "
    functions = between.join(f"m{kind} :: EtherMirror(LAUNCH {kind})" for kind in kinds)
    _, got = run(heddle, tmp_path, sent, functions, "--launch", "sync")
    assert got == sent
    plan = heddle.ok("plan", "-e", f"Idle -> {functions} -> Discard;", *SIMT).out
    assert [kind for kind in kinds if f"launch {kind}" not in plan] == []


def test_lists_bring_what_the_plan_wants(heddle, tmp_path):
    sent = some_frames(320)
    report, _ = run(heddle, tmp_path, sent, "EtherMirror", "--transport", "commlist", "--launch", "async")
    [traffic] = report.all["traffic"]
    slots = len(sent) // 32
    assert traffic["bytes_to_gpu"] == slots * 256 + 16 * len(sent)  # words, and twelve bytes in a piece of 16
    assert traffic["bytes_from_gpu"] == slots * 128 + 16 * len(sent)


# The chains that the thesis prints (3.1 to 3.3), "packets batched up to n packets per batch", between ports that give
# and take as many as they are asked for.
@pytest.mark.parametrize("n", [64, 256, 1024])
@pytest.mark.parametrize(
    ("element", "name"),
    [
        ("GPUEtherMirrorCommList(MAX_BATCH {n})", "EtherMirror"),
        ("GPUEtherMirrorCoalescent(MAX_BATCH {n})", "EtherMirror"),
        ("GPUIPLookup(TABLE 1)", "LinearIPLookup"),
        ("GPUIPLookupWithCopy(TABLE 1)", "LinearIPLookup"),
        ("GPUSetCRC32CommList(MAX_BATCH {n})", "SetCRC32"),
        ("GPUSetCRC32Coalescent(MAX_PKT_SIZE 1514, MAX_BATCH {n})", "SetCRC32"),
    ],
)
def test_the_chains_of_the_thesis_as_printed(heddle, tmp_path, element, name, n):
    (tmp_path / "table1.routes").write_text("0.0.0.0/0 192.0.2.1 0\n")
    chain = f"FromDPDKDevice(net_null0) -> MinBatch({n - 32}) -> {element.format(n=n)} -> ToDPDKDevice(net_null0)"
    result = heddle("run", "--json", "--time", "0.3", "-e", chain, *SIMT, cwd=tmp_path)
    assert result.code == 0, result
    report = Report(result.json)
    function = report.one(name)
    assert report.received == function["packets"] == report.one("ToDPDKDevice")["packets"] > n
    assert report.dropped == 0, report.all  # none is behind the limit
    assert function["processor"] == "simt"
    lengths = {"SetCRC32": 4}.get(name, 0)
    sent = report.one("ToDPDKDevice")
    assert sent["bytes"] == (64 + lengths) * sent["packets"]


def test_the_chain_with_the_names_of_the_thesis(heddle, tmp_path):
    sent = captures.frames(CHAINS / "traffic.pcap")
    report, files = run_chain(heddle, "thesis", tmp_path / "out", *SIMT)
    got = {name: captures.frames(tmp_path / "out" / name) for name in files}
    lines = (CHAINS / "table1.routes").read_text().splitlines()[1:]
    networks = [ipaddress.ip_network(line.split()[0]) for line in lines]
    routed = [
        f for f in sent if len(f) >= 34 and any(ipaddress.ip_address(f[30:34]) in network for network in networks)
    ]
    assert 0 < len(routed) < len(sent)
    assert got == {
        "thesis_mirror.pcap": [oracles.mirrored(frame) for frame in sent],
        "thesis_lookup.pcap": routed,
        "thesis_crc32.pcap": [frame + click_crc32(frame) for frame in sent if len(frame) <= 1514],
    }
    assert {report.one(name)["processor"] for name in ("EtherMirror", "LinearIPLookup", "SetCRC32")} == {"simt"}


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ("EtherMirror(LAUNCH never)", "LAUNCH: 'never' is not sync, async, graph or persistent"),
        ("EtherMirror(MAX_BATCH 0)", "MAX_BATCH: '0' is not an integer from 1 to 65536"),
        ("EtherMirror(LISTS_PER_CORE 17)", "LISTS_PER_CORE: '17' is not"),
        ("EtherMirror(PERSISTENT maybe)", "PERSISTENT: 'maybe' is not true or false"),
        ("EtherMirror(LAUNCH sync, PERSISTENT true)", "PERSISTENT true is at odds with LAUNCH sync"),
        ("EtherMirror(LAUNCH persistent, PERSISTENT false)", "PERSISTENT false is at odds with LAUNCH persistent"),
        ("EtherMirror(TRANSPORT gather, ZEROCOPY true)", "ZEROCOPY is at odds with TRANSPORT gather"),
        ("EtherMirror(TRANSPORT direct, ZEROCOPY false)", "ZEROCOPY is at odds with TRANSPORT direct"),
        ("GPUEtherMirrorCommList(ZEROCOPY true)", "ZEROCOPY is at odds with TRANSPORT commlist"),
        ("a :: EtherMirror(LAUNCH sync) -> b :: XOR(1, LAUNCH async)", "'b': LAUNCH async, but 'a' on the same way"),
        ("EtherMirror(TRANSPORT commlist)", "transport commlist copies when kernels are launched"),
        ("GPUSetCRC32Coalescent", "MAX_PKT_SIZE"),
        ("GPUIPLookup(TABLE 404)", "table404.routes"),
        ("GPUIPLookupWithCopy(TABLE 404, FOLDER /nowhere)", "/nowhere/table404.routes"),
        ("GPUEtherMirrorCommList(MAX_BACH 3)", "unknown keyword 'MAX_BACH'; did you mean 'MAX_BATCH'?"),
    ],
)
def test_mistakes_are_named(heddle, functions, message):
    errors = heddle.fails("run", *SIMT, "-e", f"Idle -> {functions} -> Discard;")
    assert message in errors
    assert errors.startswith("<expression>:1:"), errors  # where the user has written it


def test_they_have_manuals(heddle):
    assert "TRANSPORT commlist" in heddle.ok("elements", "GPUSetCRC32CommList").out
    assert "GPUIPLookupWithCopy compound" in re.sub(" +", " ", heddle.ok("elements").out)
