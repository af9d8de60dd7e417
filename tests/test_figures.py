"""bench/figures: the papers' figures are measured, resumed and drawn as they say. heddle is played by a script here."""

import importlib.util
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest
from whole.program import ROOT

FOLDER = ROOT / "bench/figures"
sys.path.insert(0, str(FOLDER))

import draw
import records as rec
import run as runner
from figure import Figure, Panel, Paper, Sweep

spec = importlib.util.spec_from_file_location("figures_cli", FOLDER / "__main__.py")
cli = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cli)

NAMES = sorted(path.stem for path in FOLDER.glob("*-*.py"))
BIG = runner.Machine(id="m", cores=128, gpu="a GPU")
VALUES = {  # what each program measures
    "gopt-exchange": ["total_us", "copy_in_us", "launch_us", "copy_out_us", "wait_us"],
    "gopt-access": ["access_rate"],
    "gopt-offload": ["headers_mps"],
    "throughput": ["mpps", "loss"],
    "latency": ["latency_mean_us"],
}


def record(sweep, parameters, samples, **changes):
    """A record as heddle bench writes it; samples: of each value, or the same for all."""
    measure = sweep.measure or sweep.subject
    if not isinstance(samples, dict):
        samples = {name: samples for name in VALUES[measure]}
    return {
        "schema": rec.SCHEMA,
        "name": "test",
        "chain": sweep.subject if sweep.program == "bench" else "",
        "measure": measure,
        "parameters": parameters,
        "values": {name: {"samples": s, "median": s[0], "unit": "u"} for name, s in samples.items()},
        "machine": {"id": "m", "cpu": "a CPU", "cores": 128},
        "commit": "c",
        "command": "heddle bench",
        "date": "2026-01-01T00:00:00Z",
        "warnings": [],
        **changes,
    }


def simple(**panel):
    """A figure of one panel."""
    sweep = Sweep("bench", "chains/a.click", {"device": ["cpu", "gpu"], "size": [64, 128, 256]}, "throughput")
    return Figure("test-1", "A title", "a paper", (sweep,), (Panel(y="mpps", x="size", series=("device",), **panel),))


def drawn(figure, points):
    """The SVG's elements by id, and all its text."""
    tree = xml.fromstring(draw.save(draw.picture(figure, points), "svg"))
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    by_id = {element.get("id"): element for element in tree.iter() if element.get("id")}
    return by_id, {
        " ".join("".join(element.itertext()).split()) for element in tree.iter() if element.tag.endswith("text")
    }


def corners(element):
    """The points of a curve, in the picture's coordinates."""
    path = next(e for e in element.iter() if e.tag.endswith("path") and e.get("clip-path"))
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", path.get("d"))]


# ---- figures


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_says_what_it_measures_and_draws(name):
    (figure,) = cli.load([name])
    assert figure.name == name
    points = rec.pool([record(s, p, [2.0, 1.0, 3.0]) for s in figure.sweeps for p in s.points()])
    assert len(points) == runner.count_points(figure) > 0
    for sweep in figure.sweeps:
        if sweep.program == "bench":
            assert (FOLDER / sweep.subject).is_file()
    by_id, texts = drawn(figure, points)
    assert figure.title in texts
    for panel in figure.panels:
        found = draw.curves(figure, panel, points)
        assert found, panel.title
        for label in found:
            ids = {draw.id_of(panel, "series", label), *(draw.id_of(panel, "series", label, y) for y in panel.values())}
            assert ids & by_id.keys(), label
        assert {panel.title, panel.y_label or "", panel.x_label or ""} - {""} <= texts | {""}
        for stated in panel.paper:
            assert draw.id_of(panel, "paper", stated.label) in by_id
            assert f"paper: {stated.label}" in texts
            assert re.match(r"(\d\.\d+(\.\d)?(, after .*)?|table \d): \S", stated.quote), stated.quote


def test_every_figure_of_the_issue_is_there():
    thesis = {f"thesis-4.{n}" for n in (2, 3, 4, 5, 8, 18)}
    assert thesis | {f"gopt-figure-{n}" for n in (2, 3, 4)} | {"gopt-table-1"} <= set(NAMES)


# ---- drawing


def test_curves_axes_intervals_and_the_papers_points_are_where_they_belong():
    figure = simple(
        x_scale="linear",
        y_label="rate [Mpps]",
        paper=(Paper("there", "1.1: x", x=128, y=20.0), Paper("limit", "1.1: y", y=30.0)),
    )
    (sweep,) = figure.sweeps
    medians = {("cpu", 64): 10, ("cpu", 128): 20, ("cpu", 256): 30, ("gpu", 64): 30, ("gpu", 128): 10, ("gpu", 256): 20}
    # The order of the file does not matter, nor in how many records the samples come.
    lines = [
        record(sweep, {"device": d, "size": s}, {"mpps": [m + off]})
        for off in (1, -1, 0)
        for (d, s), m in medians.items()
    ]
    by_id, texts = drawn(figure, rec.pool(lines[::-1]))
    assert {"A title", "rate [Mpps]", "frame size [B]", "cpu", "gpu", "64", "128", "256", "paper: there"} <= texts
    cpu, gpu = corners(by_id["-mpps-series-cpu"]), corners(by_id["-mpps-series-gpu"])
    assert [x for x, _ in cpu] == [x for x, _ in gpu] == sorted(x for x, _ in cpu)
    assert cpu[2][0] - cpu[1][0] == pytest.approx(2 * (cpu[1][0] - cpu[0][0]), rel=1e-3)
    # 10, 20, 30 Mpps are three heights, one as far from the next as that from the third; smaller y is higher.
    low, middle, high = (y for _, y in cpu)
    assert low - middle == pytest.approx(middle - high, rel=1e-3)
    assert low > middle
    assert [y for _, y in gpu] == pytest.approx([high, low, middle])
    assert corners(by_id["-mpps-paper-limit"])[0][1] == pytest.approx(high)
    marks = [e for e in by_id["-mpps-paper-there"].iter() if e.tag.endswith("use")]
    assert (float(marks[0].get("x")), float(marks[0].get("y"))) == pytest.approx((cpu[1][0], middle))


def test_points_that_the_generator_has_limited_are_marked():
    figure = simple()
    (sweep,) = figure.sweeps
    warnings = ["the generator is the bottleneck: the router lost nothing; give it more cores"]
    lines = [record(sweep, p, {"mpps": [1.0]}, warnings=warnings if p["size"] == 64 else []) for p in sweep.points()]
    _, texts = drawn(figure, rec.pool(lines))
    assert "hollow: limited by the generator" in texts
    _, texts = drawn(figure, rec.pool([line for line in lines if line["parameters"]["size"] != 64]))
    assert "hollow: limited by the generator" not in texts


def test_samples_of_one_point_are_pooled():
    (sweep,) = simple().sweeps
    point = {"device": "cpu", "size": 64}
    pooled = rec.pool([record(sweep, point, {"mpps": [s]}) for s in (5.0, 1.0, 3.0)])
    assert len(pooled) == 1
    value = pooled[0].values["mpps"]
    assert (value.low, value.median, value.high) == (1.0, 3.0, 5.0)
    # 84 bytes on the line, the gap and the preamble included.
    assert pooled[0].values["line_gbps"].median == pytest.approx(3.0 * 84 * 8e-3)


@pytest.mark.parametrize(("n", "out"), [(1, 0), (2, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (17, 4), (100, 39)])
def test_intervals_are_those_of_the_tables(n, out):
    # Order statistics for the 95 % interval of a median: ranks 2 to 8 of 9, 3 to 10 of 12, 5 to 13 of 17, 40 to 61 of 100.
    value = rec.summarise(list(range(n, 0, -1)))
    assert (value.low, value.high) == (1 + out, n - out)


def test_any_sweep_is_drawn_with_its_first_parameter_along_x(tmp_path):
    sweep = Sweep("bench", "chains/a.click", {"cores": [1, 2], "size": [64, 128, 256]}, "throughput")
    command = "heddle bench chains/a.click --sweep size=64,128,256 --sweep cores=1,2"
    file = tmp_path / "a.jsonl"
    file.write_text(
        "".join(json.dumps(record(sweep, p, [1.0, 2.0], command=command)) + "\n" for p in sweep.points())
        + '{"schema": "heddle-ben\0\0',  # a run that was stopped, or the power
        encoding="utf-8",
    )
    outputs = [f"--{kind}={tmp_path / 'a'}.{kind}" for kind in ("html", "svg", "png")]
    subprocess.run([sys.executable, FOLDER / "draw.py", file, *outputs], check=True)
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "frame size [B]" in svg
    assert "cores: 2" in svg
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<svg" in html and "heddle bench chains/a.click" in html and "a CPU" in html
    assert "src=" not in html and "<link" not in html  # self-contained
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_results_of_two_machines_are_refused(tmp_path):
    (sweep,) = simple().sweeps
    point = {"device": "cpu", "size": 64}
    lines = [record(sweep, point, [1.0]), record(sweep, point, [2.0], machine={"id": "n", "cpu": "another CPU"})]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    words = [sys.executable, FOLDER / "draw.py", file, "--svg", tmp_path / "a.svg"]
    run = subprocess.run(words, check=False, capture_output=True, text=True)
    assert run.returncode != 0
    assert "a CPU" in run.stderr and "another CPU" in run.stderr and "--machine" in run.stderr
    assert subprocess.run([*words, "--machine", "n"], check=False).returncode == 0


def draw_file(tmp_path, lines, *args):
    """draw.py on a file of these records; what it has said, and the page."""
    file, page = tmp_path / "a.jsonl", tmp_path / "a.html"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    words = [sys.executable, FOLDER / "draw.py", file, "--html", page, *args]
    run = subprocess.run(words, check=False, capture_output=True, text=True)
    return run, page.read_text(encoding="utf-8") if page.exists() else ""


def test_records_that_are_none_are_named(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"schema": "other/1"}\n', encoding="utf-8")
    with pytest.raises(rec.RecordError, match=r"a\.jsonl:1: expected a record"):
        rec.read(file)
    (sweep,) = simple().sweeps
    good = record(sweep, {"size": 64}, [1.0])
    for changes, expected in (
        ({"values": None}, "its 'values' is missing"),
        ({"machine": 3}, "its 'machine' is missing or not an object"),
        ({"machine": {}}, "its machine has no 'id'"),
        ({"parameters": [1]}, "its 'parameters' is missing or not an object"),
        ({"parameters": {"size": [1]}}, "its parameter 'size' is not"),
        ({"values": {"mpps": {"samples": [1, "2"], "median": 1}}}, "its value 'mpps' is not numbers"),
    ):
        run, _ = draw_file(tmp_path, [good, {**good, **changes}])
        assert run.returncode == 1
        assert f"a.jsonl:2: {expected}" in run.stderr and "Traceback" not in run.stderr


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (sweep,) = simple().sweeps
    run, _ = draw_file(tmp_path, [record(sweep, {"size": 64}, [1.0])], "--svg", tmp_path / "nowhere/a.svg")
    assert run.returncode == 1
    assert "nowhere/a.svg" in run.stderr and "Traceback" not in run.stderr


def test_intervals_are_called_what_they_are(tmp_path):
    (sweep,) = simple().sweeps
    assert [rec.interval_name(n) for n in (1, 2, 3, 5, 6, 15)] == [
        "single samples",
        "range of 2, 50 %",
        "range of 3, 75 %",
        "range of 5, 93 %",
        "96 % interval",
        "96 % interval",
    ]
    assert rec.confidence(17) == pytest.approx(0.9510, abs=1e-4)  # Altman et al.: ranks 5 to 13
    _, page = draw_file(tmp_path, [record(sweep, {"size": s}, [1.0] * n) for s, n in ((64, 3), (128, 1), (256, 6))])
    assert "single samples; range of 3, 75 %; 96 % interval" in page
    assert "95 %" not in page


def test_points_of_different_chains_inputs_and_names_are_not_pooled():
    figure = simple()
    (sweep,) = figure.sweeps
    point = {"device": "cpu", "size": 64}
    for field in ("chain_hash", "name", "input_hash"):
        lines = [record(sweep, point, [n], **{field: word}) for n, word in ((1.0, "a" * 16), (2.0, "b" * 16))]
        points = rec.pool([*lines, lines[1]])
        assert [p.values["mpps"].samples for p in points] == [[1.0], [2.0, 2.0]]
        assert len(draw.curves(figure, figure.panels[0], points)) == 2
        _, texts = drawn(figure, points)
        assert any("bbbbbbbb" in text for text in texts)
    (only,) = rec.pool([record(sweep, point, [1.0], chain_hash="a")])
    assert only.variant == ""


def test_repetitions_without_a_value_are_gaps():
    (sweep,) = simple().sweeps
    (point,) = rec.pool([record(sweep, {"size": 64}, {"mpps": [2.0, None, 1.0]})])
    assert point.values["mpps"].samples == [2.0, 1.0]


def test_dollars_are_no_formulas(tmp_path):
    sweep = Sweep("bench", "a$x_{b$.click", {}, "throughput")
    lines = [record(sweep, {"size": s, "X": x}, [1.0]) for s in (64, 128) for x in ("$a_{$", "b")]
    run, page = draw_file(tmp_path, lines, "--x", "size", "--png", tmp_path / "a.png")
    assert run.returncode == 0, run.stderr
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert "a$x_{b$<" in svg and "$a_{$<" in svg


def test_commits_that_are_not_drawn_are_named(tmp_path):
    (sweep,) = simple().sweeps
    lines = [
        record(sweep, {"size": 64}, [n], commit=commit, date=f"2026-01-0{n}T00:00:00Z")
        for n, commit in ((1, "old"), (2, "new"), (1, "older"))
    ]
    run, page = draw_file(tmp_path, lines)
    expected = "Only commit new, the newest, is drawn; left out: 2 records of old, older."
    assert expected in run.stderr and expected in page
    run, page = draw_file(tmp_path, lines[:1])
    assert run.stderr == "" and "left out" not in page


# ---- measuring

PLAYED = """#!{python}
import json, sys
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
    for size in sweeps["size"].split(","):
        out.write(json.dumps({{
            "schema": "heddle-bench/1", "name": "bench", "chain": words[1], "measure": option("--measure"),
            "parameters": {{**sweeps, "size": int(size), "flows": 1024}},
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

    def run(self, figure, time_limit=60, repetitions=2):
        self.log.write_text("", encoding="utf-8")
        programs = runner.Programs.find(self.folder)
        tasks = runner.run([figure], self.folder / "results", programs, time_limit, repetitions, self.said.append)
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


@pytest.fixture
def heddle_bench(heddle):
    places = [heddle.path.parent / "bench/heddle_bench", heddle.path.parent / "heddle_bench"]
    for place in places:
        if place.is_file():
            return place
    pytest.skip("needs heddle_bench beside heddle; sanitizer builds have none")


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
    ],
)
def test_probes_measure_and_check_their_results(heddle_bench, tmp_path, probe, point, value):
    if "processor=cpu" not in point:
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
        (["gopt"], "there are gopt-exchange"),
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
