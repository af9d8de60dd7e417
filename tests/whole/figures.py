"""bench/figures for tests: its modules, and records, figures and pictures to try them with."""

import importlib.util
import re
import sys
import xml.etree.ElementTree as xml

from whole.program import ROOT

FOLDER = ROOT / "bench/figures"
NAMES = sorted(path.stem for path in FOLDER.glob("*-*.py"))
sys.path.insert(0, str(FOLDER))

import draw
import records as rec
import run as runner
from figure import Figure, Panel, Paper, Sweep

__all__ = [
    "FOLDER",
    "NAMES",
    "Figure",
    "Panel",
    "Paper",
    "Sweep",
    "cli",
    "corners",
    "draw",
    "drawn",
    "rec",
    "record",
    "runner",
    "simple",
]

spec = importlib.util.spec_from_file_location("figures_cli", FOLDER / "__main__.py")
cli = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cli)

VALUES = {  # what each program measures
    "gopt-exchange": ["total_us", "copy_in_us", "launch_us", "copy_out_us", "wait_us"],
    "gopt-access": ["access_rate"],
    "gopt-lookup": ["rate", "speedup", "instructions", "cycles", "ipc"],
    "gopt-handler": ["mpps"],
    "gopt-aho-corasick": ["one_by_one", "in_turns", "sorted", "speedup"],
    "gopt-offload": ["headers_mps"],
    "ring-forwarding": ["mpps", "gbps", "cpu"],
    "host-application": ["elapsed_ms", "mpps"],
    "classifier": ["mpps", "updates", "megabytes"],
    "classifier-gpu": ["mpps", "megabytes"],
    "gaviss-drops": ["transfer_us", "kept_gbps", "transfers"],
    "gaviss-conflicts": ["copy_us", *(f"under_way_{n}" for n in range(1, 6))],
    "throughput": [
        "mpps",
        "gbps",
        "loss",
        "offered_mpps",
        "cycles_per_packet",
        "gpu_power_w",
        "bytes_to_gpu",
        "bytes_from_gpu",
    ],
    "latency": ["latency_mean_us", *(f"latency_{p}_us" for p in ("p50", "p90", "p99", "p999", "max"))],
    "zero-loss": ["mpps", "latency_mean_us"],
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
    canvas = draw.picture(figure, points)
    tree = xml.fromstring(draw.save(canvas, "svg"))
    draw.plt.close(canvas)
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
