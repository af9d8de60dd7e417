"""`heddle bench`: what it measures is counted, kept, taken up again and never mixed with another machine's.

Rates are low and queues long, so that nothing is lost although other programs have the cores.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios

import pytest
from whole.measured import BOUNCE, EASY, median, records
from whole.program import CHAINS, ROOT, Program, wait_until


@pytest.fixture
def bench(heddle):
    """Runs `heddle bench` successfully; returns its result. `drain`: for tests that no packet may be lost in beside
    other load."""

    def run(*args, drain="0.5"):
        easy = [*EASY]
        easy[easy.index("--drain") + 1] = drain
        result = heddle("bench", *args, *easy, timeout=120)
        assert result.code == 0, result
        return result

    return run


# ---- what is measured


def test_latency_of_a_chain_that_forwards_all(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    result = bench(BOUNCE, "--rate", "20k", "--json", file)
    (record,) = records(file)
    assert record["schema"] == "heddle-bench/1" and record["measure"] == "latency"
    assert record["chain"] == str(BOUNCE) and record["parameters"]["rate"] == 20000
    for value in record["values"].values():
        assert 1 <= len(value["samples"]) <= 2
        assert value["low"] <= value["median"] <= value["high"] and value["unit"]
    assert median(record, "loss") == 0
    assert 0 < median(record, "latency_p50_us") <= median(record, "latency_p99_us") <= median(record, "latency_max_us")
    assert 0 <= median(record, "cpu_utilisation") <= 1 and 0 < median(record, "core_share") <= 1
    assert not any(name.startswith("gpu") or "joule" in name for name in record["values"])  # absent, not 0
    machine = record["machine"]
    assert machine["cpu"] and machine["cores"] > 0 and machine["flags"] and machine["kernel"] and "gpu" not in machine
    assert record["command"].endswith(" ".join(EASY)) and re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["date"]
    )
    assert "p99 us" in result.out and "net_null0" in result.err  # what became of the chain's ports


def test_throughput_of_the_router(bench, tmp_path):
    """Most destinations have no route: what the chain discards is not lost."""
    file = tmp_path / "out.jsonl"
    result = bench(CHAINS / "router.click", "--json", file, f"OUT={tmp_path}/router")
    (record,) = records(file)
    assert record["measure"] == "throughput" and median(record, "offered_mpps") > 0
    assert record["parameters"]["OUT"] == f"{tmp_path}/router"
    assert "curl.pcap (sent to)" in result.err and "router_clients.pcap (received from)" in result.err
    assert not list(tmp_path.glob("router*"))  # captures have become ports: none is written


def test_a_capture_without_a_dot_in_its_name(heddle, tmp_path):
    shutil.copy(CHAINS / "captures/dig.pcap", tmp_path / "capture")
    args = ["bench", "-e", "FromDevice(a) -> Discard", "--rate", "5k", "--size"]
    result = heddle(*args, "capture", *EASY, cwd=tmp_path, timeout=60)
    assert result.code == 0, result
    assert "frame size 'nothing'" in heddle.fails(*args, "nothing", cwd=tmp_path)


def test_a_soft_nic(bench, tmp_path):
    """Its device becomes a port of the wire, also where several cores generate."""
    for number in range(20):  # a machine that is busy for longer than a ring lasts loses packets
        file = tmp_path / f"{number}.jsonl"  # in the same one the point would not be measured again
        bench(CHAINS / "soft_nic.click", "--device", "simt", "--rate", "5k", "--generators", "3", "--json", file)
        record = records(file)[-1]
        if median(record, "loss") == 0:
            break
    assert median(record, "loss") == 0 and median(record, "latency_p50_us") > 0
    assert not {"cycles_per_packet", "cpu_utilisation"} & record["values"].keys()  # no packet thread runs


def test_packets_through_a_udp_socket(bench, tmp_path):
    """To the GPU and back by way of the kernel, as bench/figures has it for GPU-Ether."""
    file = tmp_path / "out.jsonl"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_port:
        any_port.bind(("127.0.0.1", 0))
        port = any_port.getsockname()[1]
    words = ["--device", "simt", "--launch", "async", "--transport", "coalescent", "--cores", "2", "--rate", "1k"]
    for size in ("64", "1518"):
        chain = ROOT / "bench/figures/chains/mirror-socket.click"
        bench(chain, *words, "--size", size, "--json", file, f"port={port}", drain="3")
        record = records(file)[-1]
        assert "unrecognised" not in record["values"]
        assert median(record, "loss") < 1 and median(record, "latency_p50_us") > 0  # on a busy machine many come late


def test_zero_loss(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    bench(BOUNCE, *["--measure", "zero-loss", "--start", "20k", "--loss", "10%", "--resolution", "30%"], "--json", file)
    (record,) = records(file)
    assert record["measure"] == "zero-loss" and record["parameters"]["loss"] == 0.1
    assert median(record, "mpps") > 0 and median(record, "trials") >= 1
    assert median(record, "latency_p99_us") > 0


def test_a_chain_that_changes_the_ends_of_packets(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    bench(ROOT / "bench/figures/chains/crc.click", "--rate", "20k", "--json", file)
    (record,) = records(file)
    assert median(record, "loss") == 0 and median(record, "latency_p50_us") > 0
    assert median(record, "gbps") == pytest.approx(median(record, "mpps") * 68 * 8 / 1000)
    assert median(record, "intended_mpps") == pytest.approx(0.02, rel=0.01)


def test_packets_that_are_not_recognised(bench, heddle, tmp_path):
    file = tmp_path / "out.jsonl"
    chain = ["-e", "FromDevice(a) -> Truncate(40) -> ToDevice(b)"]
    result = bench(*chain, "--rate", "20k", "--json", file)
    (record,) = records(file)
    assert median(record, "mpps") > 0 and median(record, "unrecognised") > 0
    assert not any(name.startswith(("loss", "latency", "reordered")) for name in record["values"])
    assert "not recognised" in record["warnings"][0] and "not recognised" in result.out
    err = heddle.fails("bench", *chain, "--measure", "zero-loss", "--start", "20k", *EASY)
    assert "not recognised" in err and "--measure throughput" in err


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_flows_of_a_protocol(bench, tmp_path, protocol):
    """Packets of TCP with right headers and checksums keep the signature at their end; others lose it."""
    file = tmp_path / "out.jsonl"
    chain = (
        "FromDevice(a) -> CheckIPHeader(14) -> c :: IPClassifier(tcp, -); out :: ToDevice(b);"
        "c[0] -> t :: CheckTCPHeader -> out; t[1] -> Truncate(40) -> out; c[1] -> Truncate(40) -> out"
    )
    bench("-e", chain, "--rate", "20k", "--size", "76", "--protocol", protocol, "--json", file)
    (record,) = records(file)
    assert record["parameters"]["protocol"] == protocol and median(record, "mpps") > 0
    assert ("unrecognised" in record["values"]) == (protocol == "udp")


def test_a_chain_that_copies_packets(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    chain = "FromDevice(a) -> t :: Tee -> ToDevice(b); t[1] -> ToDevice(c)"
    result = bench("-e", chain, "--rate", "20k", "--json", file, drain="3")
    (record,) = records(file)
    assert median(record, "duplicated") > 0 and median(record, "loss") == 0
    assert any("more packets came out than were offered" in warning for warning in record["warnings"])
    assert "more packets came out than were offered" in result.out


def test_sizes_are_checked_against_what_the_chain_says(heddle):
    chain = "DPDKInfo(MBUF_SIZE 2304); FromDevice(a) -> ToDevice(b)"
    err = heddle.fails("bench", "-e", chain, "--sweep", "size=64,9216", "--trial", "3600")
    assert "frames of 9216 bytes, but" in err


def test_a_chain_that_makes_its_own_packets(bench):
    result = bench("-e", "InfiniteSource(LENGTH 60, BURST 32) -> Counter -> ToDevice(eth0)", "--json", "-")
    record = json.loads(result.out)
    assert median(record, "mpps") > 0 and "loss" not in record["values"]


def test_too_few_cores_are_told(heddle):
    on_one_core = Program(heddle.path, ["taskset", "-c", str(min(os.sched_getaffinity(0)))])
    result = on_one_core("bench", BOUNCE, "--rate", "5k", *EASY, timeout=120)
    assert result.code == 0 and "1 packet threads and 1 generators share 1 cores" in result.out, result


# ---- sweeps


def test_sweep(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    chain = "FromDevice(a) -> Truncate($N) -> Discard"
    result = bench("-e", chain, "--rate", "5k", "--sweep", "size=64,imix", "--sweep", "N=20..22", "--json", file)
    found = [(r["parameters"]["size"], r["parameters"]["N"]) for r in records(file)]
    assert found == [(size, n) for size in (64, "imix") for n in (20, 21, 22)]
    assert len(re.findall(r"^ *(?:64|imix)  2\d ", result.out, re.MULTILINE)) == 6


def test_comparison(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    result = bench(BOUNCE, "--rate", "10k", "--compare", "size=64,1024", "--json", file)
    first, second, ratio = records(file)
    assert ratio["measure"] == "latency-ratio" and ratio["parameters"]["size"] == "1024/64"
    pairs = zip(*(r["values"]["latency_p50_us"]["samples"] for r in (first, second)), strict=True)
    expected = [None if a is None or b is None else b / a for a, b in pairs]  # None: nothing came out in time
    assert ratio["values"]["latency_p50_us"]["samples"] == [n and pytest.approx(n) for n in expected]
    assert "size=1024 against 64, latency: median of paired ratios" in result.out


def test_interrupted_sweeps_go_on(heddle, bench, tmp_path):
    file = tmp_path / "out.jsonl"
    command = ["bench", BOUNCE, "--rate", "5k", "--sweep", "size=64..2048*2", "--json", file, *EASY]
    with heddle.start(*command) as running:
        wait_until(lambda: not running.alive() or (file.exists() and file.read_text().count("\n") >= 2))
        assert running.alive()
        result = running.interrupt()
    assert result.code == 130 and "the same command goes on here" in result.err, result
    before = file.read_text()
    kept = before.count("\n")
    assert 2 <= kept < 6 and before.endswith("\n")
    assert len(re.findall(r"^ +\d+ ", result.out, re.MULTILINE)) == kept  # a table of what is done
    with file.open("a") as out:
        out.write(before.splitlines()[0][:700])  # and one that was cut off
    result = heddle(*command, timeout=120)
    assert result.code == 0, result
    assert file.read_text().startswith(before)
    assert [r["parameters"]["size"] for r in records(file)] == [64, 128, 256, 512, 1024, 2048]
    assert result.err.count("(measured before)") == kept


def test_interrupt_within_a_long_trial(heddle):
    with heddle.start("bench", BOUNCE, "--rate", "1k", "--trial", "3600", "--no-pin") as running:
        threads = pathlib.Path(f"/proc/{running.process.pid}/task")
        wait_until(lambda: len(list(threads.iterdir())) > 2, what="a packet thread")
        result = running.interrupt()
    assert result.code == 130, result


def test_standard_output(heddle):
    """Whatever it is: it is written to as other programs do, and no more."""
    chain = "InfiniteSource(LENGTH 60) -> Discard"
    again = f"{heddle.path} bench -e '{chain}' --trial 0.05 --warmup 0 --repetitions 1 --quiet --json -"

    def shell(text, **options):
        return subprocess.run(["sh", "-c", text], check=False, timeout=60, cwd=options.pop("cwd", ROOT), **options)

    with tempfile.TemporaryDirectory() as folder:
        assert shell(f"{{ echo hello; {again}; {again}; echo done; }} > f 2>&1", cwd=folder).returncode == 0
        lines = pathlib.Path(folder, "f").read_text().splitlines()
        assert lines[0] == "hello" and lines[-1] == "done" and len(lines) == 4
        assert json.loads(lines[1])["parameters"] == json.loads(lines[2])["parameters"]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert shell(again, stdout=theirs).returncode == 0
        assert json.loads(ours.recv(1 << 20))
    reader, writer = os.pipe()
    os.close(reader)
    result = shell(f"exec {again} --sweep flows=1..100", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert result.returncode == 1 and b"standard output: cannot be written: Broken pipe" in result.stderr
    # A reader that does not read is no reason not to end.
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, bytes(4000))
    with subprocess.Popen(["sh", "-c", f"exec {again}"], stdout=writer, stderr=subprocess.PIPE, cwd=ROOT) as running:
        call = pathlib.Path(f"/proc/{running.pid}/syscall")
        wait_until(lambda: call.read_text().startswith("1 0x1 "), what="a write to standard output")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    os.close(reader), os.close(writer)


def test_comparison_of_a_variable(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    bench("-e", "FromDevice($DEV) -> Discard", "--rate", "5k", "--compare", "$DEV=a,b", "--json", file)
    assert [r["parameters"]["DEV"] for r in records(file)] == ["a", "b", "b/a"]


def test_what_a_measure_does_not_know_is_no_axis_of_it(bench, tmp_path):
    file = tmp_path / "out.jsonl"
    result = bench(BOUNCE, "--measure", "throughput,latency", "--compare", "rate=5k,10k", "--json", file)
    assert [r["measure"] for r in records(file)] == ["throughput", "latency", "latency", "latency-ratio"]
    assert "rate=10k against 5k, latency" in result.out
    assert "in brackets: range of 2, 50 %" in result.out and "(range of 2, 50 %)" in result.out
    assert "95 %" not in result.out


def test_distributions_of_latencies(bench, heddle, tmp_path):
    file, folder = tmp_path / "out.jsonl", tmp_path / "latencies"
    bench(BOUNCE, "--sweep", "rate=5k,10k", "--json", file, "--histogram", folder)
    found = records(file)
    assert sorted(r["histogram"] for r in found) == sorted(map(str, folder.iterdir()))
    for record in found:
        text = pathlib.Path(record["histogram"]).read_text()
        assert text.split()[:4] == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
        values = record["values"]["latency_max_us"]["samples"]
        assert float(re.search(r"#\[Max +=\s+([\d.]+)", text)[1]) == pytest.approx(
            max(value for value in values if value), rel=1e-3
        )
    assert "throughput has no latencies" in heddle.fails("bench", BOUNCE, "--histogram", folder)


@pytest.mark.parametrize(
    ("chain", "table", "kind", "size"),
    [
        ("echo", None, None, 64),
        ("router6", ("ROUTES", "routes", "--ipv6", "--hops", 3), "routes6", 84),
        ("switch", ("ADDRESSES", "macs", "--ports", 3), "macs", 64),
        ("ndn", ("NAMES", "names", "--hops", 3), "names", 128),
    ],
)
def test_traffic_of_every_network_is_recognised(heddle, bench, tmp_path, chain, table, kind, size):
    """What the chain forwards comes back with its signature."""
    file, words = tmp_path / "out.jsonl", [f"OUT={tmp_path}/out"]
    if table is not None:
        variable, command, *options = table
        heddle.ok("gen", command, "-n", 1000, *options, "-o", tmp_path / "table")
        words += [f"{variable}={tmp_path}/table", "--addresses", f"{kind}:{tmp_path}/table"]
    bench(CHAINS / f"{chain}.click", *words, "--size", size, "--rate", "5k", "--json", file, drain="3")
    (record,) = records(file)
    assert median(record, "mpps") > 0 and "unrecognised" not in record["values"]
    assert median(record, "reordered") == 0 or chain == "echo"  # which sends a flow to all ports
    assert median(record, "loss") == 0 or chain == "switch"  # which copies, so what it drops by rule counts


def test_files_that_changed_are_measured_anew(bench, tmp_path):
    file, routes = tmp_path / "out.jsonl", tmp_path / "routes.txt"
    chain = f"FromDevice(a) -> GetIPAddress(30) -> r :: DirectIPLookup(FILE {routes}); r[0] -> Discard"
    args = ["-e", chain, "--rate", "5k", "--addresses", f"routes:{routes}", "--commit", "c", "--json", file]
    routes.write_text("0.0.0.0/0 0\n")
    bench(*args)
    assert "(measured before)" in bench(*args).err
    routes.write_text("10.0.0.0/8 0\n")
    assert "(measured before)" not in bench(*args).err
    assert "(measured before)" not in bench(*args, "--packets", "300000").err
    assert [r["parameters"].get("--packets") for r in records(file)] == [None, None, 300000]
    assert len({r["input_hash"] for r in records(file)}) == 2


def test_builds_that_no_commit_names_are_told_apart(heddle, tmp_path):
    program = Program(shutil.copy(heddle.path, tmp_path))

    def measured(commit):
        (tmp_path / "COMMIT").write_text(commit)
        args = ["bench", BOUNCE, "--rate", "5k", "--json", tmp_path / "out.jsonl", *EASY]
        result = program(*args, timeout=120)
        assert result.code == 0, result
        return "(measured before)" not in result.err

    assert measured("c1-dirty") and not measured("c1-dirty")
    with (tmp_path / "heddle").open("ab") as out:
        out.write(b"another")
    assert measured("c1-dirty") and not measured("c1-dirty")


@pytest.mark.parametrize("command", ["bench", "run"])
def test_the_live_line_fits_the_terminal(heddle, command):
    chain = "InfiniteSource(LENGTH 60) -> Discard"
    args = ["--trial", "1", "--repetitions", "1"] if command == "bench" else ["--time", "1.5"]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 40, 0, 0))
    with heddle.start(command, "-e", chain, *args, stderr=slave) as running:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(master, 4096):
                shown += part
        assert running.wait().code == 0
    os.close(master)
    lines = re.findall(rb"\r\x1b\[K([^\r\n]+)(?=\r\x1b)", shown)
    assert lines and max(map(len, lines)) == 39, shown  # what wraps is not cleared


# ---- other machines and commits


def test_other_machines_are_refused(heddle, bench, tmp_path):
    file, other = tmp_path / "out.jsonl", tmp_path / "other.jsonl"
    bench(BOUNCE, "--rate", "5k", "--json", file, "--commit", "old")
    result = bench(BOUNCE, "--rate", "5k", "--against", file, "--commit", "new")
    assert "against commit old" in result.out and re.search(r"gbps +\d", result.out)
    result = bench(BOUNCE, "--rate", "6k", "--against", file)
    assert "does not have this point" in result.out
    (record,) = records(file)
    record["machine"].update(id="0" * 16, cores=1234)
    other.write_text(json.dumps(record) + "\n")
    for option in ("--against", "--json"):
        err = heddle.fails("bench", BOUNCE, "--rate", "5k", option, other)
        assert "another machine" in err and "cores: 1234 there" in err
    assert len(records(other)) == 1


# ---- pictures


@pytest.mark.parametrize("form", ["--html", "--svg", "--png"])
def test_pictures_take_no_other_files_place(heddle, tmp_path, form):
    chain, file, other = tmp_path / "chain.click", tmp_path / "out.jsonl", tmp_path / "other"
    chain.write_text(BOUNCE.read_text())
    file.write_text("")
    for words in (
        ["--json", file, form, file],
        [form, chain],
        [form, other, "--svg" if form != "--svg" else "--png", other],
    ):
        err = heddle.fails("bench", chain, "--rate", "5k", *words)
        assert "would be lost; name another file" in err
    assert chain.read_text() == BOUNCE.read_text()


def test_pictures(bench, heddle, tmp_path):
    file, page = tmp_path / "out.jsonl", tmp_path / "out.html"
    if not (ROOT / "bench/figures/draw.py").exists():
        pytest.skip("bench/figures/draw.py is not in this tree")
    bench(BOUNCE, "--rate", "5k", "--sweep", "size=64,512", "--json", file, "--html", page, "--svg", tmp_path / "o.svg")
    assert "<svg" in page.read_text() and "<svg" in (tmp_path / "o.svg").read_text()
    # What cannot be drawn is not measured first.
    args = ["bench", BOUNCE, "--rate", "5k", *EASY]
    err = heddle.fails(*args, "--html", page, env={"PATH": "/nowhere", "PYTHONHOME": "/nowhere"})
    assert "apt-get install python3" in err and "Mpps" not in err
    for form in ("--html", "--svg", "--png"):
        err = heddle.fails(*args, form, tmp_path / "nowhere/x")
        assert f"{form} {tmp_path}/nowhere/x: cannot be written" in err and "Mpps" not in err
    assert not list(tmp_path.glob("out.html.jsonl"))


# ---- mistakes


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--size", "63"], "size: '63' is not an integer from 64 to 9216"),
        (["--sweep", "sizes=64"], "did you mean 'size'?"),
        (["--sweep", "size=64", "--sweep", "size=128"], "swept twice"),
        (["--sweep", "cores=4..1"], "'4..1' is not a range such as 1..8"),
        (["--sweep", "cores=0..2"], "cores: '0' is not an integer from 1"),
        (["--measure", "zero_loss"], "did you mean 'zero-loss'?"),
        (["--measure", "latency"], "add --rate"),
        (["--sweep", "rate=1M", "--measure", "throughput"], "it matters to --measure latency only"),
        (["--compare", "size=64"], "at least two values"),
        (["--size", "nowhere.pcap"], "nowhere.pcap"),
        (["--addresses", "routes:/nowhere"], "/nowhere"),
        (["--addresses", "names:/nowhere"], "/nowhere"),
        (["--addresses", "uniform6"], "a frame of IPv6 and UDP has 84 bytes at least"),
        (["--protocol", "icmp"], "protocol: 'icmp' is not udp or tcp"),
        (["--protocol", "tcp", "--sweep", "size=128,64"], "a frame of TCP has 76 bytes at least"),
        (["--protocol", "tcp", "--size", str(CHAINS / "captures/dig.pcap")], "has its own addresses and flows"),
        (["--rate", "0.0000001"], "not a rate from 0.001 to 1e+09"),
        (["--rate", "900000G"], "not a rate from 0.001 to 1e+09"),
        (["--rate", "0.001"], "no packet is due in a trial of 600 s"),
        (["--packets", "100"], "at least 384 packets"),
        (["--descriptors", "100"], "power of two"),
        (["--cores", "17"], "a port of the wire has 16 queues at most"),
        (["--against", "/nowhere"], "/nowhere"),
        (["--against", "/tmp"], "/tmp: cannot be read"),
        (["--histogram", "/dev/null/x", "--rate", "1k"], "--histogram /dev/null/x: cannot be written to"),
        (["--sweep", "PORT=a", "--sweep", "$PORT=b,c"], "PORT: is swept twice"),
        (["--sweep", "flows=1,01"], "the value 01 occurs twice"),
        (["--json", ROOT / "README.md"], "README.md:1: it is not a record"),
        (["--json", "/nowhere/out"], "/nowhere/out: cannot be written"),
        (["PORT=zzz"], "not a DPDK port"),
    ],
)
def test_mistakes(heddle, args, expected):
    err = heddle.fails("bench", BOUNCE, "--trial", "600", *args)  # before anything is measured
    assert expected in err and "Traceback" not in err


def test_mistakes_of_chains(heddle):
    def error(chain, *args):
        return heddle.fails("bench", "-e", chain, *args)

    assert "1:21: unknown element class 'Foo'" in error("FromDevice(eth0) -> Foo -> Discard")
    assert "COLOUR" in error("FromDump(x, COLOUR red) -> Discard")  # although it will be replaced
    assert "LIMIT" in error("InfiniteSource(LIMIT 5) -> Discard")
    err = error("Idle -> Discard")
    assert "without a packet" in err and "LIMIT" not in err
    memif = error("FromGPUPort(a, SOCKET /tmp/x) -> EtherMirror -> ToGPUPort(a)", "--device", "simt")
    assert "'FromGPUPort@1'" in memif and "heddle bench --memif SOCKET" in memif
    assert "--measure throughput" in error("InfiniteSource -> Discard", "--rate", "1M")
    assert "--device cpu" in error("FromDevice(a) -> Discard", "--device", "gpu77")
