"""The command line as people type it: what is misspelt is noticed before anything runs, and what would be right is
said."""

import gzip

import pytest
from whole import captures
from whole.program import CHAINS, mistakes, quoted

TRAFFIC = CHAINS / "traffic.pcap"


@pytest.mark.parametrize("command", ["check", "run", "plan"])
def test_mistakes_as_json(heddle, tmp_path, command):
    """What standard error says as text, in the same order; the last line there says how many there are."""
    chain = tmp_path / "chain.click"
    chain.write_text('FromDump("b\\"x", BRUST 5)\n -> Conter -> Conter -> Strip(abc) -> Discard;')
    result = heddle(command, "--json", "-f", chain)
    assert result.code == 1 and result.json["ok"] is False, result
    lines = ["{file}:{line}:{column}: {message}".format(**one) for one in result.json["mistakes"]]
    assert lines == result.err.splitlines()[:-1] and len(lines) == 3, result
    result = heddle(command, "--json", "-e", "")
    assert result.json["mistakes"] and result.json["mistakes"][0]["message"] in result.err, result


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [
        ("-h", "c.cuont", "No handler named 'c.cuont'; did you mean 'count'?"),
        ("-h", "conter.count", "no element 'conter'; did you mean 'counter'?"),
        ("-h", "Counter.cuont", "no element that 'Counter' means has a handler 'cuont' to read"),
        ("-h", "c.reset", "Handler 'c.reset' write-only"),
        ("-h", "verison", "No handler named 'verison'; did you mean 'version'?"),
        ("-x", "conter.count", "No element named 'conter'; did you mean 'counter'?"),
        ("-x", "c.cuont", "No handler named 'c.cuont'; did you mean 'count'?"),
    ],
)
def test_handlers_are_looked_up_before_the_run(heddle, tmp_path, option, name, said):
    """This one would not end by itself, and would write its file."""
    out = tmp_path / "out.pcap"
    chain = f"InfiniteSource -> c :: Counter -> counter :: Counter -> ToDump({quoted(out)})"
    assert said in heddle.fails("run", "-e", chain, "-h", "c.count", option, name)
    assert not out.exists()


def test_usage_of_dpdk_goes_to_standard_error(heddle):
    """Standard output is for reports and packets."""
    chain = "FromDPDKDevice(net_null0) -> ToDump(-)"
    result = heddle("run", "--time", "1", "-e", chain, "--dpdk=--nonsense")
    assert result.code == 1 and result.out == "", result
    assert "Usage: " in result.err and "DPDK did not start" in result.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["runn"], "unknown command 'runn'; did you mean 'run'? `heddle --help` lists all\n"),
        (["xyzzy"], "unknown command 'xyzzy'; `heddle --help` lists all\n"),
        (
            ["gen", "rutes", "-n", "3"],
            "unknown command 'rutes'; did you mean 'routes'? `heddle gen --help` lists all\n",
        ),
        (["rules", "chek", "x"], "unknown command 'chek'; did you mean 'check'? `heddle rules --help` lists all\n"),
        (["routes", "convrt", "x"], "'convrt'; did you mean 'convert'? `heddle routes --help` lists all\n"),
        (["elements", "Qeue"], "unknown element 'Qeue'; did you mean 'Queue'? `heddle elements` lists all\n"),
        (
            ["bench", CHAINS / "bounce.click", "--sweep", "siez=64,128"],
            "did you mean 'size'? `heddle bench --help` lists the parameters\n",
        ),
    ],
)
def test_nearest_word(heddle, words, said):
    assert heddle.fails(*words).endswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--devce=gpu", "x"], "--devce=gpu; did you mean '--device'? `heddle run --help` says what it takes\n"),
        (["run", "x", "--tiem", "3"], "did you mean '--time'? `heddle run --help` says what it takes\n"),
        (["rules", "check", "--fromat", "nft", "x"], "did you mean '--format'? `heddle rules check --help` says"),
        (["gen", "routes", "--hosp", "3"], "did you mean '--hops'? `heddle gen routes --help` says"),
        (["run", "-k", "x"], "not expected: -k; `heddle run --help` says what it takes\n"),
    ],
)
def test_nearest_option(heddle, words, said):
    result = heddle(*words)
    assert result.code != 0 and said in result.err, result


def test_a_route_file_may_have_a_name_near_that_of_a_command(heddle, tmp_path):
    (tmp_path / "convrt").write_text("10.0.0.0/8 3\n")
    assert heddle.ok("routes", "convrt", "10.1.1.1", cwd=tmp_path).out == "10.1.1.1 output 3\n"


def test_isolation_is_described_as_it_is(heddle):
    """What the plan says of headers, the help does, too."""
    chain = (
        "FromDump(x) -> CheckIPHeader(14) -> DirectIPLookup(0/0 0) -> c :: Counter -> RadixIPLookup(0/0 0) -> Discard"
    )
    plan = heddle.ok("plan", "--device", "gpu", "--isolate", "-e", chain).out
    assert "(headers are parsed again first, as by CheckIPHeader@2)" in plan
    said = " ".join(heddle.ok("run", "--help").out.split())
    assert "headers that CheckIPHeader has parsed are parsed again before each that reads them but the first" in said


def test_why_a_chain_cannot_be_read(heddle, tmp_path):
    assert "'nowhere.click': No such file or directory; give the path" in heddle.fails("check", "nowhere.click")
    assert f"'{tmp_path}': Is a directory; give" in heddle.fails("check", tmp_path)
    assert "'/proc/self/mem': Input/output error; give" in heddle.fails("check", "/proc/self/mem")


def test_only_the_port_that_there_is_not_is_reported(heddle):
    said = "FromDump 'FromDump@1': has no output port 3; it has port 0 only"
    assert mistakes(heddle, "FromDump(x)[3] -> Discard") == [(1, 1, said)]


def test_gpu_that_is_not_there_and_what_helps(heddle):
    if heddle.ok("gpus", "--json").json["gpus"]:
        pytest.skip("this machine has a GPU")
    chain = f"FromDump({TRAFFIC}) -> EtherMirror(DEVICE gpu) -> Discard"
    remedy = "; or leave DEVICE out of 'EtherMirror@2', or run with --device simt\n"
    for device in ("cpu", "gpu"):
        assert heddle.fails("run", "-e", chain, "--device", device).endswith(remedy)
    heddle.ok("run", "--quiet", "-e", chain, "--device", "simt")
    chain = f"FromDump({TRAFFIC}) -> EtherMirror -> Discard"
    assert heddle.fails("run", "-e", chain, "--device", "gpu").endswith("; or run with --device cpu\n")


def test_compressed_captures(heddle, tmp_path):
    """The remedy works as it is told."""
    compressed = tmp_path / "in.pcap.gz"
    compressed.write_bytes(gzip.compress(TRAFFIC.read_bytes()))
    chain = "FromDump($IN) -> c :: Counter -> Discard"
    err = heddle.fails("run", "--quiet", "-e", chain, f"IN={compressed}")
    assert "zcat FILE | heddle ..., and let the chain read that by the name -, as in FromDump(-)" in err
    result = heddle.ok("run", "--quiet", "-e", chain, "IN=-", "-h", "c.count", input=TRAFFIC.read_bytes())
    assert int(result.out) == len(captures.frames(TRAFFIC))


@pytest.mark.parametrize(
    ("number", "said"), [(276, "276 (LINUX_SLL2)"), (127, "127 (IEEE802_11_RADIOTAP)"), (999, "999")]
)
def test_link_types_by_name(heddle, tmp_path, number, said):
    capture = tmp_path / "in.pcap"
    capture.write_bytes(captures.pcap([], link=number))
    err = heddle.fails("run", "-e", f"FromDump({quoted(capture)}) -> Discard")
    assert f"in.pcap has link type {said}; Ethernet (1) is expected" in err and "editcap" not in err


def test_what_is_read_as_an_mrt_dump(heddle):
    err = heddle.fails("routes", "convert", TRAFFIC)
    assert "traffic.pcap: read as an MRT dump (--format says otherwise): byte " in err
    assert "read as" not in heddle.fails("routes", "convert", "--format", "mrt", TRAFFIC)


def test_one_rule_is_no_rules(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("@0/0 0/0 0 : 65535 0 : 65535 0x06/0xFF allow\n")
    assert heddle.ok("rules", "check", rules).out == "1 rule (classbench), 0 of them shadowed\n"
    result = heddle("rules", "convert", rules)
    assert result.out.startswith("# 1 rule of classbench\n") and result.err.startswith("1 rule; 0 of other chains")


def test_the_list_of_elements_has_columns(heddle):
    lines = heddle.ok("elements").out.splitlines()
    assert len({line.index(line.split()[1], len(line.split()[0])) for line in lines}) == 1
