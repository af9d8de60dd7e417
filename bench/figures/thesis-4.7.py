"""Thesis, figure 4.7: every core for itself, or workers and a master."""

from figure import Figure, Panel, Paper, Sweep
from thesis import SOURCE, no_more, with_fixed_rate
from thesis_gpu import BURST, batched, single

FULL = {"device": ["gpu"], "launch": ["async"], "transport": ["coalescent"], "size": [64]}
CORES = [1, 2, 3, 4]
MASTERS = {cores: f"chains/mirror-workers-{cores - 1}.click" for cores in CORES[1:]}
BATCHED = {"minimum": [1024 - BURST]}


def strategy(point):
    """Full path or master and workers."""
    return "master and workers" if "workers" in point.subject else "full path"


AXES = {"x": "cores", "x_label": "number of CPU cores", "series": strategy}

FIGURE = Figure(
    name="thesis-4.7",
    title="Ethernet mirror performance by threading strategy",
    source=f"{SOURCE}, section 4.5, figure 4.7",
    note="64-byte packets, packed by the CPU and copied (ROI). One of the cores is the master. Workers have a port each; in the "
    "thesis they share one.",
    sweeps=(
        Sweep("bench", batched("mirror"), {**FULL, **BATCHED, "cores": CORES}, "throughput"),
        Sweep("bench", single("mirror"), {**FULL, "cores": CORES}, "latency", derive=with_fixed_rate(no_more)),
        *(Sweep("bench", chain, {**FULL, **BATCHED, "cores": [n]}, "throughput") for n, chain in MASTERS.items()),
        *(
            Sweep("bench", chain, {**FULL, "minimum": [1], "cores": [n]}, "latency", derive=with_fixed_rate(no_more))
            for n, chain in MASTERS.items()
        ),
    ),
    panels=(
        Panel(
            y="line_gbps",
            title="(a) throughput",
            where={"measure": "throughput"},
            paper=(
                Paper(
                    y=5,
                    label="master and workers",
                    quote="4.5: it saturates around 5 Gbit/s, regardless of the number of cores receiving packets",
                ),
            ),
            **AXES,
        ),
        Panel(
            y="latency_mean_us",
            title="(b) latency at 100 Mbit/s",
            where={"measure": "latency"},
            y_label="average latency [µs]",
            **AXES,
        ),
    ),
    repetitions=3,
)
