"""Thesis, figure 4.7: every core for itself, or workers and a master."""

from figure import Figure, Panel, Paper, Sweep
from thesis import SOURCE, no_more, with_fixed_rate
from thesis_gpu import BURST, batched, single

WAYS = {
    "device": ["gpu"],
    "launch": ["async"],
    "transport": ["coalescent"],
    "size": [64],
    "cores": [1, 2, 3, 4],
    "workers": ["no", "yes"],
}
ALONE = {"workers": "yes", "cores": 1}  # nobody to be a worker


def strategy(point):
    """Full path or master and workers."""
    return "master and workers" if point.get("workers") == "yes" else "full path"


AXES = {"x": "cores", "x_label": "number of CPU cores", "series": strategy}

FIGURE = Figure(
    name="thesis-4.7",
    title="Ethernet mirror performance by threading strategy",
    source=f"{SOURCE}, section 4.5, figure 4.7",
    note="64-byte packets, packed by the CPU and copied (ROI). One of the cores is the master (--workers), which packs, launches and "
    "unpacks; the others share a port, as in the thesis, and gather the batches, which there its elements do on the master.",
    sweeps=(
        Sweep("bench", batched("mirror"), {**WAYS, "minimum": [1024 - BURST]}, "throughput", without=(ALONE,)),
        Sweep("bench", single("mirror"), WAYS, "latency", without=(ALONE,), derive=with_fixed_rate(no_more)),
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
