"""bench/figures: what has been measured is pooled, summarised and drawn where it belongs."""

import json
import subprocess
import sys

import pytest
from whole.figures import FOLDER, Figure, Panel, Paper, Sweep, corners, draw, drawn, rec, record, simple


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
    # Order statistics for the 95 % interval of a median: ranks 2 to 8 of 9, 3 to 10 of 12, 5 to 13 of 17, 40 to 61
    # of 100.
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


def test_many_curves_can_be_told_apart_and_leave_the_panel_its_height():
    assert len({draw.look(i) for i in range(20)}) == 20
    heights = []
    for count in (4, 13):
        names = [f"a curve with a long name, of many, number {i}" for i in range(count)]
        sweep = Sweep("bench", "chains/a.click", {"size": [64, 128], "kind": names}, "throughput")
        figure = Figure("t-1", "", "", (sweep,), (Panel(y="mpps", x="size", series=("kind",)),))
        canvas = draw.picture(figure, rec.pool([record(sweep, p, [1.0]) for p in sweep.points()]))
        canvas.draw_without_rendering()
        heights.append(canvas.axes[0].get_position().height * canvas.get_figheight())
        draw.plt.close(canvas)
    usual, many = heights
    assert many > 0.5 * usual
