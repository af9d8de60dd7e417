"""Wrong configurations, wrong surroundings, wrong words: a clear error and exit code 1; never a crash, never
silence."""

import json
import os
import re
import signal
import struct
import subprocess

import pytest
from whole import captures, ipsec
from whole.program import CHAINS, Program, Report, mistakes, quoted, wait_until

TRAFFIC = CHAINS / "traffic.pcap"


# ---- configurations


@pytest.mark.parametrize("element", ["NIDS", "IPsecDecap", "Firewall"])
def test_mistakes_of_a_file_are_in_the_order_of_its_lines(heddle, tmp_path, element):
    """The first hundred, and how many there are in all."""
    file = tmp_path / "file"
    file.touch(0o600)
    file.write_text("nonsense\n" * 150)
    arguments = f"RULES {quoted(file)}, DEFAULT deny" if element == "Firewall" else quoted(file)
    errors = heddle.fails("check", "-e", f"Idle -> MarkIPHeader(14) -> {element}({arguments}) -> Discard")
    assert [int(line) for line in re.findall(rf"{file}:(\d+): ", errors)] == list(range(1, 101))
    assert f"{file}: ... and 50 more\nheddle: at least 101 mistakes in the chain" in errors


def test_mistakes_that_are_seen_late_stand_where_their_lines_are(heddle, tmp_path):
    file = tmp_path / "file"
    file.touch(0o600)
    file.write_text("src 10.0.0.1 dst 10.0.0.2\n" * 2 + "\tnonsense\n" * 10 + "src 10.0.0.1 dst 10.0.0.2\n")
    errors = heddle.fails("check", "-e", f"Idle -> MarkIPHeader(14) -> IPsecDecap({quoted(file)}) -> Discard")
    assert [int(line) for line in re.findall(rf"{file}:(\d+): ", errors)] == [1, *range(3, 14)]
    rule = "@0/0 0/0 0 : 65535 0 : 65535 0x06/0xFF allow\n"
    file.write_text(f"{rule}7 {rule}nonsense\n")
    errors = heddle.fails("rules", "check", file)
    assert [int(line) for line in re.findall(rf"{file}:(\d+): ", errors)] == [1, 3]


def test_a_mistake_of_all_rules_is_one(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("@0/0 0/0 0 : 65535 0 : 65535 0x06/0xFF\n" * 150)
    chain = f"Idle -> MarkIPHeader(14) -> {{}}(RULES {quoted(rules)}, {{}}) -> Discard"
    errors = heddle.fails("check", "-e", chain.format("BitVectorClassifier", "ACTION 3"))
    assert "ACTION: '3' is not an action; there are the output 0, and deny" in errors
    assert "heddle: 1 mistake in the chain" in errors
    errors = heddle.fails("check", "-e", chain.format("Firewall", "DEFAULT deny"))
    assert f"{rules}:1: " in errors and "there is no ACTION for such rules; 149 others have no action either" in errors
    assert "heddle: 1 mistake in the chain" in errors


def test_all_mistakes_at_once(heddle):
    chain = (
        "in :: FromDump(a.pcap, BRUST 5);\n"
        "in -> Conter -> b :: Strip(abc)\n"
        "   -> c :: Classifier(12/08, xx/11);\n"
        "c[0] -> Discrad;\n"
        "c[1] -> d :: DirectIPLookup(10.0.0.0/33 0, 11.0.0.0/8 7);\n"
        "d[0] -> Discard; d[2] -> Discard;\n"
    )
    found = mistakes(heddle, chain)
    for line, words in (
        (1, ["BRUST", "BURST"]),
        (2, ["Conter", "Counter"]),
        (2, ["LENGTH", "abc", "16384"]),
        (3, ["Classifier 'c'", "xx/11"]),
        (4, ["Discrad", "Discard"]),
        (5, ["10.0.0.0/33 0"]),
        (5, ["11.0.0.0/8 7", "0 to 2"]),
        (5, ["output port 1 is not connected"]),
    ):
        assert any(at == line and all(w in text for w in words) for at, _, text in found), (line, words, found)
    assert len(found) == 8, found
    assert found == sorted(found)


@pytest.mark.parametrize("number", ["9" * 309, "9" * 5000, "-" + "9" * 309], ids=["309", "5000", "minus 309"])
def test_numbers_with_309_digits(heddle, number):
    """Ranges are said in a few digits, and so is what is wrong."""
    for element in (
        "Strip({})",
        "Queue({})",
        "RatedSplitter({})",
        "RandomSample({})",
        "Meter({})",
        "Shaper({})",
        "BandwidthShaper({})",
        "Truncate({})",
        "SetTimestamp({})",
        "RED(5, 50, {})",
        "DelayShaper({})",
        "LinkUnqueue(1, {})",
        "CheckPaint({})",
        "RadixIPLookup(10.0.0.0/{} 0)",
        "RadixIPLookup(10.0.0.0/8 {})",
        "IPFilter(allow tcp port {})",
        "Classifier({}/00)",
        "IPRewriter(pattern 1.0.0.1 {} - - 0 0)",
        "HashSwitch({}, 2)",
        "ARPQuerier(1.0.0.1, 1:2:3:4:5:6, CAPACITY {})",
        "ScheduleInfo(x {})",
    ):
        found = mistakes(heddle, f"FromDump(a) -> \n x :: {element.format(number)} -> Discard")
        texts = [text for line, _, text in found if line == 2 and number[:20] in text]
        assert texts, (element, found)
        assert not any(re.search(r"\d{25}", re.sub(r"9{25,}", "", text)) for text in texts), (element, texts)
        assert all(len(text) < 400 for text in texts), (element, texts)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("Discrad", "Discard"), ("FromDupm", "FromDump"), ("EtherMirorr", "EtherMirror"), ("Classfier", "Classifier")],
)
def test_nearest_name(heddle, wrong, nearest):
    chain = f"FromDump(x) -> {wrong}"
    assert (1, 16, f"unknown element class '{wrong}'; did you mean '{nearest}'?") in mistakes(heddle, chain)
    assert f"did you mean '{nearest}'?" in heddle.fails("elements", wrong)


def test_nearest_command(heddle):
    assert "unknown command 'elments'; did you mean 'elements'?" in heddle.fails("elments", "EtherMirror")


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ("FromDump(x) -> c :: CheckIPHeader(14)", ["'c'", "output port 0", "c[0] -> Discard"]),
        ("FromDump(x)", ["output port 0 is not connected"]),
        ("Discard", ["input port 0 is not connected"]),
        ("FromDump(x) -> t :: Tee(3); t[0] -> Discard; t[1] -> Discard", ["Tee 't'", "2"]),
        ("FromDump(x) -> [1] Discard", ["input port 1"]),
        ("FromDump(x) -> a :: Counter -> Discard; a -> Discard", ["connected twice", "Tee"]),
        ("FromDump(x) -> c :: Classifier(-); c[0] -> Discard; c[1] -> Discard", ["no output port 1"]),
        ("FromDump(x) -> [300] Discard", ["256"]),
        ("a :: Counter -> b :: Counter -> a", ["cycle"]),
        ("// nothing", ["no source"]),
        ("FromDump(x) -> Discard; ; ->", ["unexpected"]),
        ("FromDump(x", [")"]),
        ("FromDump($X) -> Discard", ["$X"]),
        ('FromDPDKDevice("") -> Discard', ["PORT is empty"]),
        ('FromDump("") -> ToDPDKDevice("")', ["FILENAME is empty", "PORT is empty"]),
    ],
)
def test_wiring(heddle, chain, words):
    err = heddle.fails("check", "-e", chain)
    assert all(word in err for word in words), err


def test_thread_that_is_not_there_touches_no_file(heddle, tmp_path):
    out = tmp_path / "out.pcap"
    out.write_bytes(b"precious")
    err = heddle.fails("run", "-e", f"f :: FromDump({TRAFFIC}) -> ToDump({out}); StaticThreadSched(f 3)", "-j", "2")
    assert "'f' is to run on thread 3, but there are 2 threads; give -j 4" in err
    assert out.read_bytes() == b"precious"


def test_route_file_with_errors_names_each_line(heddle, tmp_path):
    routes = tmp_path / "routes"
    bad = {2: "10.0.0.0/40 0", 4: "hello", 7: "10.0.0.0/8 1.2.3 0", 9: "10.0.0.0/8 -3"}
    lines = [bad.get(n, f"10.{n}.0.0/16 0") for n in range(1, 12)]
    routes.write_text("\n".join(lines))
    chain = f"FromDump(x) -> GetIPAddress(30) -> DirectIPLookup(FILE {quoted(routes)}) -> Discard"
    for args in (["routes", routes], ["check", "-e", chain]):
        err = heddle.fails(*args)
        found = re.findall(rf"{re.escape(str(routes))}:(\d+): '(.*)' is not a route: (.+)", err)
        assert {int(number): text for number, text, _ in found} == bad, err
    assert "nowhere" in heddle.fails("routes", "nowhere")
    assert "directory" in heddle.fails("routes", tmp_path).lower()
    assert "1.2.3" in heddle.fails("routes", CHAINS / "routes.txt", "1.2.3")


def test_files_without_an_end(heddle):
    """Read up to a limit, and no further."""
    limited = Program(heddle.path, ["prlimit", f"--as={6 << 30}"])
    routes = "FromDump(x) -> GetIPAddress(30) -> DirectIPLookup(FILE /dev/zero) -> Discard"
    assert "is not a route file" in limited.fails("check", "-e", routes)
    assert "is not a route file" in limited.fails("routes", "/dev/zero")
    for command in ("check", "run", "plan"):
        assert "the chain '/dev/zero' does not end within" in limited.fails(command, "-f", "/dev/zero")


def test_conversions_without_a_route(heddle, tmp_path):
    def record(kind, subtype, body):
        return struct.pack(">IHHI", 0, kind, subtype, len(body)) + body

    updates = record(16, 4, bytes(40)) * 3  # BGP4MP
    err = heddle.fails("routes", "convert", "-", "-o", tmp_path / "out", input=updates)
    assert "it has no IPv4 routes; give a dump of a RIB" in err and not (tmp_path / "out").exists()
    assert "it has no IPv4 routes" in heddle.fails("routes", "convert", "-", input=b"2001:db8::/32 dev eth0\n")
    assert "it has no IPv4 routes" in heddle.fails("routes", "convert", "-", input=b"")


def test_a_byte_order_mark_is_no_text(heddle, tmp_path):
    def marked(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8-sig")
        return path

    heddle.ok("check", "-f", marked("chain", "Idle -> Discard"))
    (tmp_path / "keys").touch(0o600)
    keys = marked("keys", ipsec.Association(0x1001).text())
    heddle.ok("check", "-e", f"FromDump(a) -> IPsecDecap({quoted(keys)}, OFFSET 14) -> Discard")
    assert heddle("routes", "convert", marked("dump", "10.0.0.0/8 dev eth0\n")).out == "10.0.0.0/8 0\n"
    table = "".join(f"10.{i}.0.0/16 1\n" for i in range(100))
    profile = heddle.ok("gen", "profile", marked("routes", table)).out
    assert heddle.ok("gen", "routes", "-n", "3", "--like", marked("profile", profile)).out.count("\n") == 3


def test_a_summary_that_cannot_be_read(heddle):
    """/proc/self/mem gives EIO at its start."""
    err = heddle.fails("run", "--quiet", "-e", "FromIPSummaryDump(/proc/self/mem) -> Discard")
    assert "cannot read '/proc/self/mem': byte 0: Input/output error" in err


def test_lines_behind_fields_that_nobody_knows_make_no_packets(heddle, tmp_path):
    (tmp_path / "dump").write_text(
        "!data ip_src ip_dst\n1.1.1.1 2.2.2.2\n!data ip_dst ip_src tcp_urg_opt\n1.1.1.1 2.2.2.2 .\n"
    )
    chain = f"FromIPSummaryDump({quoted(tmp_path / 'dump')}) -> c :: Counter -> Discard"
    result = heddle("run", "--json", "-e", chain)
    assert result.code == 1 and "tcp_urg_opt" in result.err, result
    assert Report(result.json).one("c")["packets"] == 1


@pytest.mark.parametrize("rate", ["0.5", "1.9", "1000000"])
def test_rates_are_read_as_they_are(heddle, rate):
    chain = f"Idle -> Queue -> u :: RatedUnqueue({rate}) -> Discard"
    assert heddle.ok("run", "-q", "-e", chain, "-h", "u.rate").out.strip() == rate


@pytest.mark.parametrize("segments", [1, 5, 20])
def test_slots_of_many_gpu_segments(heddle, segments):
    """By default they share those that there are."""
    chain = f"FromDump({TRAFFIC}) -> " + "EtherMirror -> CPUPaint -> " * segments + "Discard"
    report = heddle.run(chain, "--device", "simt", "--launch", "persistent")
    assert report.received == len(captures.frames(TRAFFIC)) == report.ended()


def test_route_file_with_outputs_out_of_range(heddle, tmp_path):
    (tmp_path / "routes").write_text("10.0.0.0/8 0\n11.0.0.0/8 1\n12.0.0.0/8 4294967295\n")
    chain = f"FromDump(x) -> GetIPAddress(30) -> DirectIPLookup(FILE {quoted(tmp_path / 'routes')}) -> Discard"
    err = heddle.fails("check", "-e", chain)
    assert "11.0.0.0/8" in err and "12.0.0.0/8" in err and "output 1 is not connected" in err


@pytest.mark.parametrize(
    ("chain", "remedy"),
    [
        ("DirectIPLookup(0/0 0)", "CheckIPHeader(14) or GetIPAddress"),
        ("Strip(14) -> DirectIPLookup(0/0 0)", "CheckIPHeader or GetIPAddress"),
        ("Strip(14) -> Firewall(RULES chains/firewall.rules, DEFAULT deny)", "CheckIPHeader"),
        ("LookupIP6Route(::/0 0)", "CheckIP6Header(14)"),
        ("Strip(14) -> DecIP6HLIM", "CheckIP6Header"),
        (
            "CheckIPHeader(14) -> FlowCounter(t) -> Discard; Idle -> MarkIPHeader(14) -> t :: FlowTable",
            "FlowTable",
        ),
        ("CycleCountAccum", "SetCycleCount"),
        ("IPsecEncap(KEYS, OFFSET 14)", "IPsecSequence"),
    ],
)
def test_function_that_needs_an_annotation(heddle, tmp_path, chain, remedy):
    keys = ipsec.write(tmp_path / "keys", [ipsec.Association(0x1001)])
    err = heddle.fails("check", "-e", f"FromDump(x) -> {chain.replace('KEYS', quoted(keys))} -> Discard")
    assert f"sets on every way here; put {remedy} before it" in err


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ("L2Switch", "'L2Switch@2': "),
        ("L2Switch(02:00:00:00:00:01 0)", "no port is connected"),
        ("DirectIPLookup(0/0 0)", "not a route to a connected output, of which there is none"),
        ("LookupIP6Route(::/0 0)", "not a route to a connected output, of which there is none"),
    ],
)
def test_tables_of_outputs_that_are_none(heddle, element, words):
    err = heddle.fails("check", "-e", f"FromDump(x) -> {element}")
    assert words in err and "4294967295" not in err and "-1" not in err


def test_an_empty_chain_has_been_given_all_the_same(heddle):
    for command in ("check", "run"):
        err = heddle.fails(command, "-e", "")
        assert err.startswith("<expression>:1:1: the chain has no source of packets") and "give the chain" not in err
    assert "given already" in heddle.fails("check", "-e", "", "file")


def test_variables_that_the_chain_has_not(heddle, tmp_path):
    chain = "define($OUT a, $IN b); FromDump(${IN}) -> ToDump($OUT)"
    result = heddle("check", "-e", chain, "OUTT=x", "IN=y")
    assert result.code == 0
    assert result.err == "heddle: warning: 'OUTT=x': the chain mentions no $OUTT; did you mean 'OUT'?\n"
    (tmp_path / "library.click").write_text("elementclass L { $a | input -> Strip($N) -> output }")
    chain = f"require(library {quoted(tmp_path / 'library.click')}); FromDump(x) -> L(1) -> Discard"
    heddle.ok("check", "-e", chain, "N=14")


def test_handlers_of_what_has_not_been_started(heddle):
    """-q: an error, where there is nothing to tell."""
    chain = "Idle -> CheckIPHeader(14) -> r :: IPRewriter(keep 0 0) -> q :: IPRateMonitor(PACKETS, 0.5, 1) -> Discard;"
    for handler in ("r.size", "r.capacity", "r.table", "r.tcp_table", "q.look"):
        assert "start" in heddle.fails("run", "-q", "-e", chain, "-h", handler)


@pytest.mark.parametrize(
    "script",
    [
        "Script(wait 0.1s, label l, wait 0, goto l)",
        "s :: Script(TYPE PASSIVE, wait 0, loop); Script(wait 0.1s, write s.run)",
        "s :: Script(label l, pause, goto l); Script(wait 0.1s, write s.step 2147483647)",
    ],
)
def test_scripts_that_wait_for_nothing_end(heddle, script):
    result = heddle("run", "--quiet", "--time", "0.5", "-e", f"RatedSource(RATE 100) -> Discard; {script}")
    assert "too many jumps" in result.err, result


def test_scripts_end_where_they_return(heddle):
    for what in ("return", "error"):
        result = heddle("run", "--quiet", "-e", f'Script({what} $(add 1 x), print "went on")')
        assert "went on" not in result.out and result.err, result


# ---- devices


def has_gpu(heddle):
    return bool(heddle.ok("gpus", "--json").json["gpus"])


def test_gpu_that_is_not_there(heddle):
    if has_gpu(heddle):
        pytest.skip("this machine has a GPU")
    chain = f"FromDump({TRAFFIC}) -> EtherMirror%s -> Discard"
    for args in (["-e", chain % "(DEVICE gpu)"], ["-e", chain % "", "--device", "gpu"]):
        result = heddle("run", "--json", *args)
        assert result.code == 1 and "no GPU" in result.err and result.out == "", result
    assert "gpu7" in heddle.fails("run", "-e", chain % "", "--device", "gpu7")
    assert "no GPU" in heddle.ok("gpus").out


@pytest.mark.parametrize("device", ["nonsense", "gpux", "GPU", "", "gpu-1", "simt0"])
def test_nonsense_devices(heddle, device):
    err = heddle.fails("run", "-e", f"FromDump({TRAFFIC}) -> EtherMirror -> Discard", "--device", device)
    assert f"'{device}'" in err and "simt" in err


def test_dpdk_devices_that_do_not_exist(heddle):
    for device in ("net_nonsense0", "7", "99999999999999999999", "0000:ff:1f.7", "net_af_packet0,iface=nosuchif0"):
        err = heddle.fails("run", "-e", f'FromDPDKDevice("{device}") -> Discard', "--time", "1")
        assert device.split(",")[0] in err, err


def test_command_line_mistakes(heddle):
    chain = "FromDPDKDevice(net_null0) -> Discard"
    for args in (
        [],
        ["walk"],
        ["run", "-e", chain, "--launch", "soon"],
        ["run", "-e", chain, "-j", "0"],
        ["run", "-e", chain, "--time", "-1"],
        ["run", "-e", chain, "--time", "nan"],
        ["run", "-e", chain, "--time", "inf"],
        ["run", "--time", "500ms", "-e", chain],
        ["run", "-e", chain, "--bogus"],
        ["run", "-e", chain, "nonsense"],
        ["run", "-e", chain, "-f", "x"],
    ):
        result = heddle(*args)
        assert result.code not in (0, 99) and 0 < result.code < 128, result
        assert result.err or result.out, result
    result = heddle("run", "--time", "1s", CHAINS / "demo.click")
    assert result.code not in (0, 99) and "--time" in result.err and "1s" in result.err, result


# ---- answers for programs


def test_json_answers_parse(heddle, mode):
    chain = f"FromDump({TRAFFIC}) -> c :: CheckIPHeader(14) -> DirectIPLookup(0.0.0.0/0 0) -> ToDump(/dev/null)"
    report = heddle.ok("run", "--json", "-e", chain, *mode).json
    assert {"elements", "received", "dropped", "wall_s", "cpu_s", "device", "problems"} <= set(report)
    assert report["elements"][0]["class"] == "FromDump" and report["wall_s"] > 0
    assert heddle.ok("check", "--json", "-e", chain, *mode).json["elements"] == 4
    segments = heddle.ok("plan", "--json", "-e", chain, *mode).json["segments"]
    assert next(e["class"] for s in segments for e in s["elements"]) == "FromDump"
    assert {s["processor"] for s in segments} == ({"cpu"} if "cpu" in mode else {"cpu", "simt"})
    assert isinstance(heddle.ok("gpus", "--json").json["gpus"], list)
    routes = heddle.ok("routes", "--json", CHAINS / "routes.txt", "10.2.64.1", "8.8.8.8").json
    assert routes["routes"] == 7
    assert routes["lookups"] == [
        {"address": "10.2.64.1", "route": True, "output": 1, "gateway": "10.2.0.254"},
        {"address": "8.8.8.8", "route": False},
    ]


def test_names_that_json_must_quote(heddle, tmp_path):
    source = captures.write(tmp_path / 'in "quoted"\\é.pcap', [b"x" * 60])
    data = heddle.ok("run", "--json", "-e", f"FromDump({quoted(source)}) -> Discard").json
    assert json.dumps(data) and data["received"] == 1
    source.write_bytes(source.read_bytes()[:-1])
    result = heddle("run", "--json", "-e", f"FromDump({quoted(source)}) -> Discard")
    assert result.code == 1 and result.json["problems"]
    odd = os.fsencode(tmp_path) + b"/\xff.pcap"  # not UTF-8
    with open(odd, "wb") as file:
        file.write(source.read_bytes())
    done = subprocess.run(
        [os.fsencode(heddle.path), b"run", b"--json", b"-e", b'FromDump("' + odd + b'") -> Discard'],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and json.loads(done.stdout.decode(errors="replace"))["problems"], done


@pytest.mark.parametrize("unbuffered", ["true", "false"])
def test_full_disk_of_a_summary(heddle, unbuffered):
    chain = f"FromDump({TRAFFIC}, FORCE_IP true) -> ToIPSummaryDump(/dev/full, UNBUFFERED {unbuffered})"
    result = heddle("run", "--json", "-e", chain)
    assert result.code == 1 and "No space left on device" in result.err
    report = Report(result.json)
    report.assert_accounted()
    dump = report.one("ToIPSummaryDump")
    assert dump["statistics"]["written"] == 0
    assert dump["statistics"]["lost"] + sum(dump["drops"].values()) == report.received
    assert unbuffered == "false" or dump["drops"]["write_failed"] > 0


@pytest.mark.parametrize(
    "words",
    [
        ["elements"],
        ["plan", "-e", "Idle -> Discard"],
        ["run", "-e", "InfiniteSource(LIMIT 3) -> c :: Counter -> Discard", "-h", "c.count"],
        ["run", "-e", "InfiniteSource(LIMIT 3) -> Discard", "--json"],
    ],
)
def test_full_disk_of_standard_output(heddle, words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([heddle.path, *words], stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert done.returncode == 1 and b"cannot write standard output: No space left" in done.stderr, done


def test_closed_pipe_of_a_summary(heddle):
    chain = "InfiniteSource(LENGTH 60, BURST 64) -> to :: ToIPSummaryDump(-, FIELDS timestamp wire_len)"
    with heddle.start_ready("run", "--quiet", "-e", chain) as running:
        running.process.stdout.read(1000)
        running.process.stdout.close()
        failed = {"element": "to", "reason": "write_failed"}
        wait_until(lambda: running.metric("heddle_drops_total", **failed) > 0, what="packets that cannot be written")
        running.signal(signal.SIGINT)
        assert running.process.wait(60) == 1
        assert b"Broken pipe" in running.process.stderr.read()
        running.process.stdout = None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["check", "--nonsense"],
            "heddle check: The following argument was not expected: --nonsense; `heddle check --help`",
        ),
        (
            ["routes", "convert", "x", "--outputs", "-1"],
            "heddle routes convert: --outputs: Value -1 not in range 1 to 2147483647;",
        ),
        (
            ["run", "-j", "0"],
            "heddle run: --threads: Value 0 not in range 1 to 128; `heddle run --help` says what it takes",
        ),
    ],
)
def test_usage_names_the_command(heddle, words, said):
    result = heddle(*words)
    assert result.code != 0 and result.err.startswith(said) and len(result.err) < 200, result


def test_an_unknown_class_is_reported_once(heddle):
    err = heddle.fails("check", "-e", "Idle -> Foo -> Foo -> b :: Bar -> Foo -> Discard")
    assert "<expression>:1:9: unknown element class 'Foo'" in err and "(also at 1:16, 1:35)" in err
    assert err.count("Foo") == 1 and "heddle: 2 mistakes in the chain" in err
    many = " -> ".join(["Foo"] * 100000)
    err = heddle.fails("check", "-f", "-", input=many.encode())
    assert "and 99990 more places)" in err and len(err) < 500
