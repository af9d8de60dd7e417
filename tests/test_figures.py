"""bench/figures: what each of the papers' figures measures and draws. test_figure_runs.py has how they are measured."""

import dataclasses
import json
import re

import pytest
from whole.figures import FOLDER, NAMES, Figure, Panel, Sweep, cli, draw, drawn, rec, record, runner, simple


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
            assert re.match(r"(\d(\.\d+(\.\d)?)?(, after .*)?|table \d): \S", stated.quote), stated.quote


def test_gopt_figure_4_states_the_crossover(tmp_path):
    (figure,) = cli.load(["gopt-figure-4"])

    def rate(point):
        """One core is as fast as the GPU at D = 1, and so on, with a task more of the one than of the other."""
        return {"cpu": point.get("cores", 1) / point["depth"], "gpu": 1, "gpu-slots": 1.5}[point["processor"]]

    pairs = [(s, p) for s in figure.sweeps for p in s.points() if p.get("cores") != 8 or p["depth"] < 6]
    found = [record(s, p, [rate(p)]) for s, p in pairs if (p["task"], p["processor"]) != ("hash", "gpu-slots")]
    (tmp_path / "gopt-figure-4.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found), encoding="utf-8")
    assert cli.main(["draw", "gopt-figure-4", "--results", str(tmp_path)]) == 0
    for kind in ("README.md", "gopt-figure-4.html"):
        text = (tmp_path / kind).read_text(encoding="utf-8")
        cores = "with 1, 2, 4, 8, 16 cores the CPU is ahead of the GPU"
        for sentence in (
            f"Random memory accesses: {cores} up to D = 1, 2, 4, 5 or more, 16 or more.",
            f"Random memory accesses: {cores} with stamped slots up to D = 0, 1, 2, 5 or more, 10 (0: never).",
            f"Computation: {cores} up to D = 1, 2, 4, 5 or more, 16 or more.",
        ):
            assert sentence in text, kind
        assert f"Computation: {cores} with stamped slots" not in text


def test_every_figure_of_the_issue_is_there():
    assert {f"thesis-4.{n}" for n in range(2, 19)} <= set(NAMES)
    assert {f"gaviss-figure-{n}" for n in (2, *range(5, 14))} | {"gaviss-table-1"} <= set(NAMES)
    assert "gaviss-isolation" in NAMES
    assert {f"gopt-figure-{n}" for n in (2, 3, 4, 8, 9, 10, 11, 12)} | {"gopt-table-1"} <= set(NAMES)
    assert {
        "gpu-ether-figure-1",
        "gpu-ether-figure-8",
        "gpu-ether-figure-9",
        "gpu-ether-figure-11",
        "gpu-ether-figure-12",
        "gpu-ether-table-1",
        "gpu-ether-chains",
        "gpu-ether-pools",
    } <= set(NAMES)
    assert {f"firewall-4.{n}" for n in (3, 4, 5, 6)} <= set(NAMES)


def test_the_firewall_is_the_same_in_all_figures():
    def body(name):
        text = (FOLDER / f"chains/{name}.click").read_text()
        return [line for line in text.splitlines() if not line.startswith("//")]

    usual = body("firewall")
    for name, last in [("tap", "    -> ToHost(fw0);"), ("through", "    -> ToDPDKDevice(1, BLOCKING false);")]:
        assert body(f"firewall-{name}") == [*usual[:-1], last]


def test_a_panel_divides_what_it_draws_and_leaves_the_points_alone():
    figure = simple(per=lambda point: 2.0 if point.get("device") == "gpu" else 1.0)
    (sweep,), (panel,) = figure.sweeps, figure.panels
    points = rec.pool([record(sweep, p, [6.0, 4.0, 8.0]) for p in sweep.points()])
    found = draw.curves(figure, panel, points)
    medians = {point.get("device"): point.values["mpps"].median for curve in found.values() for point in curve}
    assert medians == {"cpu": 6.0, "gpu": 3.0}
    assert {point.values["mpps"].median for point in points} == {6.0}


def test_points_that_differ_in_a_pooled_parameter_are_one_with_the_deviation_of_all_samples():
    sweep = Sweep("bench", "chains/a.click", {"set": [1, 2, 3], "size": [64, 128]}, "throughput")
    panel = Panel(y="mpps", x="size", pooled=("set",))
    figure = Figure("test-1", "A title", "a paper", (sweep,), (panel,))
    points = rec.pool([record(sweep, p, [p["set"] + p["size"], p["size"]]) for p in sweep.points()])
    ((_, curve),) = draw.curves(figure, panel, points).items()
    assert [(point.get("size"), sorted(point.values["mpps"].samples)) for point in curve] == [
        (64, [64, 64, 64, 65, 66, 67]),
        (128, [128, 128, 128, 129, 130, 131]),
    ]
    value = curve[0].values["mpps"]
    assert value.median == pytest.approx(65)
    assert (value.low, value.high) == (pytest.approx(65 - 1.6**0.5), pytest.approx(65 + 1.6**0.5))
    assert rec.interval_names([curve[0]]) == "mean and standard deviation of 6"
    (half,) = draw.curves(figure, dataclasses.replace(panel, per=lambda point: 2), points).values()
    assert rec.interval_names([half[0]]) == "mean and standard deviation of 6"


def test_a_panel_draws_shares_of_one_of_its_curves():
    figure = simple(of="cpu")
    (sweep,), (panel,) = figure.sweeps, figure.panels
    samples = {"cpu": [4.0, 5.0, 3.0], "gpu": [2.0, 1.0, 3.0]}
    known = [(sweep, p) for p in sweep.points() if (p["device"], p["size"]) != ("cpu", 256)]
    points = rec.pool([record(s, p, samples[p["device"]]) for s, p in known])
    found = draw.curves(figure, panel, points)
    medians = {label: {p.get("size"): p.values["mpps"].median for p in curve} for label, curve in found.items()}
    assert medians == {"cpu": {64: 1.0, 128: 1.0}, "gpu": {64: 0.5, 128: 0.5}}  # of what was not measured there is none
    assert {point.values["mpps"].median for point in points} == {4.0, 2.0}
    assert draw.curves(figure, panel, [point for point in points if point.get("device") == "gpu"]) == {}


def test_gpu_ports_stand_in_the_place_of_doca():
    """Figures 4.3 to 4.5 have the points with 8 queues of 4.16, where sizes are the same."""
    (queues,) = cli.load(["thesis-4.16"])
    known = [runner.identity(*pair) for pair in runner.all_points(queues)]
    for name, application in (("thesis-4.3", "mirror"), ("thesis-4.4", "lookup"), ("thesis-4.5", "crc")):
        (figure,) = cli.load([name])
        subject = f"chains/ports-{application}.click"
        own = [pair for pair in runner.all_points(figure) if pair[0].subject == subject]
        for measure in ("throughput", "latency"):
            points = [(s, p) for s, p in own if s.measure == measure]
            assert {p["queues"] for _, p in points} == {8}
            both = [p["size"] for s, p in points if runner.identity(s, p) in known]
            assert both == [64, 256, 1024]
        drawn_points = rec.pool([record(s, p, [1.0]) for s, p in runner.all_points(figure)])
        for panel in figure.panels:
            labels = draw.curves(figure, panel, drawn_points)
            assert sum("GPU ports" in label for label in labels) == 1


def on_simt(figure, **over):
    """The figure with the CPU in the GPU's place, on one core, and with these values of its parameters alone."""
    over = {"device": ["simt"], "cores": [1], **over}
    return dataclasses.replace(
        figure,
        sweeps=tuple(
            dataclasses.replace(s, over={**s.over, **{k: v for k, v in over.items() if k in s.over}})
            for s in figure.sweeps
        ),
        repetitions=1,
    )


def measured_by(heddle, figure, folder):
    """Its points, all measured."""
    said = []
    tasks = runner.run([figure], folder, runner.Programs.find(heddle.path.parent), 600, say=said.append)
    assert runner.report(tasks, say=said.append), said
    points = rec.pool(tasks[0].records)
    assert len(points) == runner.count_points(figure), said
    return points


def test_bytes_to_the_gpu_of_service_chains_that_share_and_of_isolated_ones(heddle, tmp_path):
    """In words of their own: a chain's packets go to the GPU once, and isolated ones once for each function, to a
    router without their bytes. In slots that are full, as they are under load."""
    (figure,) = cli.load(["gaviss-figure-9"])
    for name, words in figure.makes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        heddle.ok(*words, "--output", tmp_path / name)
    for size in (128, 1518):
        traffic = ["--flows", 1000, "--addresses", "routes:inputs/routes-10000.txt", "--protocol", "tcp"]
        heddle.ok("gen", "packets", "-n", 1024, "--size", size, *traffic, "-o", "in.pcap", cwd=tmp_path)
        for chain, whole, routers in (("c1", 2, 0), ("c2", 2, 1), ("c3", 3, 0), ("c4", 3, 1)):
            text = (FOLDER / f"chains/gaviss-{chain}.click").read_text()
            text = text.replace("FromDPDKDevice(0)", "FromDump(in.pcap)")
            text = text.replace("ToDPDKDevice(0, BLOCKING false)", "Discard")
            moved = [
                [segment["bytes_to_gpu"] / 1024 for segment in heddle.run(text, *how, cwd=tmp_path).all["traffic"]]
                for how in (
                    ("--no-warnings", "--device", "simt", "--transport", "gather"),
                    ("--no-warnings", "--device", "simt", "--transport", "gather", "--isolate"),
                )
            ]
            # Beside a packet and what its lines have around it: a word, and IPsec's columns, l3, l4 and dst.
            most = 8 + 16 + 12 + size - 4 + 2 * 64
            (shared,), isolated = moved
            assert size - 4 + 8 + 16 <= shared <= most, (chain, moved)
            assert [n for n in isolated if n < size - 4] == [8] * routers, (chain, moved)
            assert len([n for n in isolated if size - 4 + 8 <= n <= most]) == whole, (chain, moved)
            assert len(isolated) == whole + routers


def test_bytes_to_the_gpu_are_measured(heddle, heddle_bench, tmp_path):
    """By heddle bench, as the figure has it; here slots may be nearly empty."""
    (figure,) = cli.load(["gaviss-figure-9"])
    only = dataclasses.replace(figure, sweeps=tuple(s for s in figure.sweeps if "-c1." in s.subject))
    points = measured_by(heddle, on_simt(only, size=[512], slots=[8]), tmp_path)
    found = draw.curves(figure, dataclasses.replace(figure.panels[0], of=""), points)
    least = {"shared": 508 + 8, "--isolate": 2 * (508 + 8)}
    assert found.keys() == least.keys()
    for label, (point,) in found.items():
        assert point.get("protocol") == "tcp"
        assert point.values["bytes_to_gpu"].median >= least[label]


def test_the_largest_packets_of_chains_between_gpu_ports(heddle, heddle_bench, tmp_path):
    """They have the buffers for them. What gateways send is not recognised, so that nobody knows what was lost."""
    (figure,) = cli.load(["gpu-ether-chains"])
    for number in range(10):  # on a machine that is busy for longer than a ring lasts packets are lost, or none comes
        points = measured_by(heddle, on_simt(figure, size=[9000], queues=[1]), tmp_path / str(number))
        losses = {p.subject: p.values["loss"].median for p in points if "loss" in p.values}
        if not any(losses.values()) and all(p.values["mpps"].median > 0 for p in points):
            break
    assert losses == {f"chains/ports-{name}.click": 0 for name in ("mirror", "direct", "nids")}
    assert len(points) == 8
    for point in points:
        packets, bits = (point.values[name].median for name in ("mpps", "gbps"))
        assert packets > 0 and 9000 * 8e-3 <= bits / packets < 9100 * 8e-3, point.subject
