"""bench/figures: figures are measured and resumed as they say, and the index tells. heddle is played by a script here;
probes are heddle_bench's own."""

import dataclasses
import json
import re
import subprocess
import sys

import pytest
from whole.figures import FOLDER, NAMES, Figure, Sweep, cli, rec, record, runner, simple

BIG = runner.Machine(id="m", cores=128, gpu="a GPU")
PLAYED = """#!{python}
import itertools, json, sys
words = sys.argv[1:]
if words[:1] == ["--machine"]:
    print(json.dumps({{"id": "{id}", "cpu": "a CPU", "cores": 128}})), sys.exit()
if words[:1] == ["gpus"]:
    print(json.dumps({{"gpus": [{{"model": "a GPU"}}] if {gpu} else [], "reason": "no driver"}})), sys.exit()
open("{log}", "a").write(" ".join(words) + "\\n")
if "device=gpu" in words and {fails}:
    sys.exit("heddle: the GPU is on fire")
sweeps = dict(words[i + 1].split("=") for i, word in enumerate(words) if word == "--sweep")
option = lambda name: words[words.index(name) + 1]
with open(option("--json"), "a") as out:
    for values in itertools.product(*(values.split(",") for values in sweeps.values())):
        out.write(json.dumps({{
            "schema": "heddle-bench/1", "name": "bench", "chain": words[1], "measure": option("--measure"),
            "parameters": {{"flows": 1024, **{{k: int(v) if v.isdigit() else v for k, v in zip(sweeps, values)}}}},
            "values": {{"mpps": {{"samples": [1.0], "median": 1.0, "unit": "Mpps"}}}},
            "machine": {{"id": "{id}", "cpu": "a CPU"}}, "commit": option("--commit"),
            "command": " ".join(["heddle", *words]), "date": "2026-01-01T00:00:00Z", "warnings": []}}) + "\\n")
"""


class Bench:
    """Plays the programs, and remembers what they were asked to do."""

    def __init__(self, folder, machine="m", gpu=True, fails=False):
        self.folder, self.log = folder, folder / "log"
        self.log.touch()
        text = PLAYED.format(python=sys.executable, id=machine, gpu=gpu, fails=fails, log=self.log)
        for name in ("heddle", "heddle_bench"):
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o755)
        (folder / "COMMIT").write_text("c1\n", encoding="utf-8")
        self.said = []

    def run(self, *figures, time_limit=60, repetitions=2, where=()):
        self.log.write_text("", encoding="utf-8")
        programs = runner.Programs.find(self.folder)
        results, where = self.folder / "results", runner.conditions(where)
        tasks = runner.run(figures, results, programs, time_limit, repetitions, self.said.append, where)
        ok = runner.report(tasks, repetitions, self.said.append)
        return ok, self.log.read_text(encoding="utf-8").splitlines()

    def results(self, figure):
        return rec.read(self.folder / "results" / f"{figure.name}.jsonl")


def test_rounds_interleave_the_points_and_records_are_kept(tmp_path):
    bench, figure = Bench(tmp_path), simple()
    ok, asked = bench.run(figure)
    assert ok
    # The two devices in turn, in one order and then in the other.
    assert [re.search("device=...", words).group() for words in asked] == [
        f"device={d}" for d in ("cpu", "gpu", "gpu", "cpu")
    ]
    assert all("size=64,128,256" in w or "size=256,128,64" in w for w in asked)
    points = rec.pool(bench.results(figure))
    assert len(points) == 6
    assert all(len(point.values["mpps"].samples) == 2 for point in points)
    assert all(str(tmp_path) not in json.dumps(line["command"]) for line in bench.results(figure))


def test_a_run_goes_on_where_it_stopped(tmp_path):
    bench, figure = Bench(tmp_path), simple()
    bench.run(figure)
    _, asked = bench.run(figure)
    assert asked == []
    _, asked = bench.run(figure, repetitions=3)
    assert len(asked) == 2  # one more of each
    # One point's last sample is lost, and half of a line is left.
    file = tmp_path / "results/test-1.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    lost = max(i for i, line in enumerate(lines) if '"size": 128' in line and '"device": "gpu"' in line)
    file.write_text("".join(lines[:lost] + lines[lost + 1 :]) + lines[lost][:40], encoding="utf-8")
    _, asked = bench.run(figure, repetitions=3)
    assert len(asked) == 1
    assert "size=128 " in asked[0] and "device=gpu" in asked[0]
    assert len(bench.results(figure)) == 18
    # Another commit is measured anew, and so is another build of a tree that no commit names.
    (tmp_path / "COMMIT").write_text("c2-dirty\n", encoding="utf-8")
    for expected in (2, 0):
        _, asked = bench.run(figure, repetitions=1)
        assert len(asked) == expected
    with (tmp_path / "heddle").open("a", encoding="utf-8") as program:
        program.write("# changed\n")
    _, asked = bench.run(figure, repetitions=1)
    assert len(asked) == 2


def test_only_the_points_named_are_measured(tmp_path):
    bench, figure = Bench(tmp_path), simple()
    ok, asked = bench.run(figure, where=["size=64,256", "device=gpu"], repetitions=1)
    assert ok
    assert len(asked) == 1
    assert "device=gpu" in asked[0]
    assert "size=64,256 " in asked[0]
    assert any("2 of 6 points complete" in line for line in bench.said)
    _, asked = bench.run(figure, where=["size=64", "size=128"], repetitions=1)  # goes on with what is named now
    assert [re.search("size=\\S+", words).group() for words in asked] == ["size=64,128", "size=128"]
    for wrong, words in ((["size=65"], "no point"), (["colour=red"], "no point"), (["size"], "NAME=VALUE")):
        with pytest.raises(runner.Failed, match=words):
            bench.run(figure, where=wrong)


def test_a_point_of_two_figures_is_measured_once_for_both(tmp_path):
    bench, figure = Bench(tmp_path), simple()
    less, other = (
        {**figure.sweeps[0].over, **more} for more in ({"device": ["gpu"]}, {"device": ["gpu"], "cores": [1]})
    )
    both = [
        dataclasses.replace(figure, name=name, sweeps=(dataclasses.replace(figure.sweeps[0], over=over),))
        for name, over in (("test-2", less), ("test-3", other))
    ]
    _, asked = bench.run(figure, *both, repetitions=2)
    assert len(asked) == 6  # the third one's are others: they say how many cores
    for one, count in ((figure, 12), (both[0], 6), (both[1], 6)):
        found = bench.results(one)
        assert len(found) == count
        assert {line["name"] for line in found} == {one.name}
    _, asked = bench.run(both[0])
    assert asked == []


def test_a_process_measures_the_values_of_the_parameter_that_the_sweep_names(tmp_path):
    bench, figure = Bench(tmp_path), simple()
    over = {"rules": [64, 1024], "size": [64, 128]}
    figure = dataclasses.replace(
        figure, sweeps=(Sweep("bench", "chains/a.click", over, "throughput", together="rules"),)
    )
    _, asked = bench.run(figure, repetitions=1)
    assert [re.findall("(?:rules|size)=\\S+", words) for words in asked] == [
        ["rules=64,1024", "size=64"],
        ["rules=64,1024", "size=128"],
    ]
    assert len(bench.results(figure)) == 4


def test_time_that_is_up_ends_the_run(tmp_path):
    bench, figure = Bench(tmp_path), simple()
    _, asked = bench.run(figure, time_limit=1)
    assert asked == []
    assert any("goes on from here" in line for line in bench.said)


def test_results_of_another_machine_are_not_continued(tmp_path):
    figure = simple()
    Bench(tmp_path).run(figure)
    with pytest.raises(runner.Failed, match="another machine"):
        Bench(tmp_path, machine="n").run(figure)


def test_what_a_machine_lacks_is_named_and_the_rest_is_run(tmp_path):
    bench, figure = Bench(tmp_path, gpu=False), simple()
    ok, asked = bench.run(figure, repetitions=1)
    assert ok
    assert len(asked) == 1
    assert "device=cpu" in asked[0]
    assert any("3 of 6 points are left out, they need a GPU (no driver)" in line for line in bench.said)


def test_cores_that_are_missing_are_named():
    sweep = Sweep("bench", "chains/a.click", {"cores": [1, 127, 128]}, "throughput")
    able, lacking = runner.wanted(Figure("t-1", "", "", (sweep,), ()), BIG)
    assert [point["cores"] for _, point in able] == [1, 127]  # one generates
    assert lacking == {"129 cores (there are 128)": 1}


def test_a_point_that_fails_is_reported_and_the_others_are_measured(tmp_path):
    bench, figure = Bench(tmp_path, fails=True), simple()
    ok, asked = bench.run(figure)
    assert not ok
    assert len(asked) == 3  # what has failed is not tried again
    assert any("the GPU is on fire" in line for line in bench.said)
    assert any("3 of 6 points complete" in line and "3 failed" in line for line in bench.said)


def test_the_index_shows_what_was_measured_and_says_what_was_not(tmp_path):
    (figure,) = cli.load(["gopt-table-1"])
    small = {"id": "m", "cpu": "a CPU", "cores": 2}
    able, _ = runner.wanted(figure, runner.Machine("m", 2))
    file = tmp_path / "gopt-table-1.jsonl"
    lines = [json.dumps(record(sweep, point, [1.0], machine=small)) + "\n" for sweep, point in able[1:]]
    file.write_text("".join(lines), encoding="utf-8")
    assert cli.main(["draw", "gopt-table-1", "--results", str(tmp_path)]) == 0
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"## {name}: " in index] == NAMES
    assert "![gopt-table-1](gopt-table-1.svg)" in index
    assert f"{len(able) - 1} of {runner.count_points(figure)} points measured. 6 need 4 cores" in index
    assert "7 need a GPU" in index
    assert index.count("Not measured yet") == len(NAMES) - 1
    assert "Bars: single samples." in index and "95 %" not in index
    for kind in ("svg", "png", "html"):
        assert (tmp_path / f"gopt-table-1.{kind}").stat().st_size > 1000


def test_samples_of_points_that_a_figure_has_no_longer_are_counted(tmp_path):
    (figure,) = cli.load(["gopt-table-1"])
    able, _ = runner.wanted(figure, runner.Machine("m", 2))
    (sweep, point), *_ = able
    small = {"id": "m", "cpu": "a CPU", "cores": 2}
    found = [record(sweep, point, [1.0], machine=small), record(sweep, dict(point), [1.0], machine=small)]
    del found[1]["parameters"][next(iter(point))]
    text = "\n".join(cli.section(figure, found))
    assert f"1 of {runner.count_points(figure)} points measured." in text
    assert "1 of 2 samples are of points that the figure had before it was defined anew." in text
    assert "defined anew" not in "\n".join(cli.section(figure, found[:1]))


def test_a_figure_of_which_a_part_was_measured_says_so(tmp_path):
    (figure,) = cli.load(["firewall-4.5"])
    (tmp_path / "firewall-4.5.jsonl").write_text(
        "".join(
            json.dumps(record(s, p, [1.0])) + "\n"
            for s, p in runner.only(runner.all_points(figure), runner.conditions(["rules=64", "set=1,3", "device=cpu"]))
        ),
        encoding="utf-8",
    )
    assert cli.main(["draw", "firewall-4.5", "--results", str(tmp_path)]) == 0
    part = "set 1, 3 of 1, 2, 3, 4, 5; rules 64 of 64, 256, 1024, 4096; samples a point: 1."
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    for text in (index, (tmp_path / "firewall-4.5.html").read_text(encoding="utf-8")):
        assert "Only a part was measured: " in text
        assert part in text
        assert "size 64 of" not in text
    assert (
        "Bars: mean and standard deviation of 2. 8 of 450 points measured. 378 need a GPU (it has none)." in index
    )  # a set: a sample


def test_a_figure_says_of_what_only_a_part_was_measured():
    (figure,) = cli.load(["firewall-4.4"])
    pairs = runner.all_points(figure)
    large = {"cores": 32, "gpu": "one"}

    def words(*conditions):
        found = [record(s, p, [1.0]) for c in conditions for s, p in runner.only(pairs, runner.conditions(c))]
        return cli.only_a_part(figure, [{**r, "machine": {**r["machine"], **large}} for r in found])

    assert words(["kind=random"], ["kind=fw"]) == ""
    some = words(["kind=random"], ["kind=fw", "engine=tuple", "set=1,5"])
    assert some == "Only a part was measured: kind fw 12 of 310 points; samples a point: 1."
    some = words(["engine=acl", "set=1,2", "rules=64,256"], ["engine=tuple", "set=1"])
    assert "engine acl, tuple of bitvector, acl, tuple; " in some
    assert "set 1, 2 of 1, 2, 3, 4, 5; " in some
    (engines,) = cli.load(["classifier-engines"])
    found = [record(s, p, [1.0]) for s, p in runner.all_points(engines) if s.subject == "classifier-gpu"]
    found = [{**r, "machine": {**r["machine"], **large}} for r in found]
    assert "probe classifier-gpu of classifier, classifier-gpu; engine " in cli.only_a_part(engines, found)


def test_list_says_what_is_missing(heddle, heddle_bench):
    words = [sys.executable, FOLDER, "list", "gopt-figure-3", "--build", heddle.path.parent]
    run = subprocess.run(words, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    has_gpu = heddle.ok("gpus", "--json").json["gpus"]
    assert "gopt-figure-3" in run.stdout
    assert bool(has_gpu) != ("need a GPU" in run.stdout)


@pytest.mark.parametrize(
    ("probe", "point", "value"),
    [
        *[("gopt-exchange", f"method={method} n=70 times=5", "total_us") for method in ("async", "sync", "mapped")],
        ("gopt-exchange", "method=polling n=300 times=3", "total_us"),
        ("gopt-exchange", "method=slots n=70 times=3 slots=2", "total_us"),
        ("gopt-access", "processor=gpu bits=12 chains=500 ms=1", "access_rate"),
        ("gopt-access", "processor=cpu bits=12 chains=16 ms=20", "access_rate"),
        ("gopt-offload", "processor=gpu task=hash depth=2 batch=64 ms=1", "headers_mps"),
        ("gopt-offload", "processor=gpu-slots task=access bits=12 batch=96 ms=500 slots=2", "headers_mps"),
        ("gopt-offload", "processor=cpu task=hash depth=3 ms=20", "headers_mps"),
        ("gopt-lookup", "task=chase bits=12 form=gopt rounds=1 counted=4", "instructions"),
        ("gopt-handler", "task=echo form=as-written cores=2 ms=1", "mpps"),
        *[
            ("host-application", f"beside={beside} device=simt edge=50", "elapsed_ms")
            for beside in ("idle", "peer", "rings", "soft-nic", "dpdk")
        ],
        *[  # they check what comes back; simt's rate may be 0
            (f"ring-{what}", "device=simt size=128 descriptors=64 workers=14", "cpu")
            for what in ("forwarding", "ipsec", "nids", "c4")
        ],
        *[
            ("ring-forwarding", f"device=simt size=128 descriptors=64 workers=4 kernels=split function={what}", value)
            for what, value in (("mirror", "cpu"), ("drop", "frames"))
        ],
        *[
            ("classifier-gpu-changes", f"device=simt like=acl rules=500 engine={engine} ms=300", "change_ms")
            for engine in ("auto", "bitvector", "hypersplit", "tuple")
        ],
        *[
            ("gaviss-drops", f"device=simt packets=40 dropped=40 spread={spread} way={way} ms=1", "kept_gbps")
            for spread, way in (("uniform", "all"), ("random", "copies"), ("clustered", "batch"), ("uniform", "kernel"))
        ],
        *[
            ("gaviss-conflicts", f"device=simt chain=FNRI share={share} packets=32 rounds=5", "copy_us")
            for share in ("no", "yes")
        ],
        ("ring-idle", "device=simt idle=2 descriptors=64 wakes=2", "wake_us"),
    ],
)
def test_probes_measure_and_check_their_results(heddle_bench, tmp_path, probe, point, value):
    if not any(word in point for word in ("processor=cpu", "form=", "device=")):
        point += " device=simt"
    file = tmp_path / "a.jsonl"
    words = [heddle_bench, "--probe", probe, "--json", file, "--commit", "c", point]
    run = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    (found,) = rec.pool(rec.read(file))
    assert found.values[value].median > 0
    assert found.subject == probe
    given = dict(word.split("=") for word in point.split())
    assert {name: str(found.parameters[name]) for name in given} == given


def test_probes_say_what_is_wrong(heddle_bench):
    for words, expected in (
        (["gopt"], "there are gopt-"),
        (["gopt-access", "cores=0"], "cores: "),
        (["gopt-access", "corse=1"], "corse: there is no such parameter"),
        (["gopt-exchange", "method=carrier-pigeon"], "none of async, sync"),
    ):
        run = subprocess.run([heddle_bench, "--probe", *words], check=False, capture_output=True, text=True)
        assert run.returncode == 1
        assert expected in run.stderr


def test_an_unknown_figure_is_an_error_that_names_the_others(tmp_path):
    words = [sys.executable, FOLDER, "list", "thesis-9.9"]
    run = subprocess.run(words, check=False, capture_output=True, text=True)
    assert run.returncode == 2
    assert "thesis-4.2" in run.stderr
