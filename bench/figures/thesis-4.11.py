"""Thesis, figure 4.11: packets that a queue of the GPU's handles at a time."""

from figure import Figure, Panel, Paper
from gpu_ether import ports
from thesis import SOURCE
from thesis_ports import NOTE

OVER = {"cores": [1], "queues": [8], "size": [128], "warp_batch": [32, 64, 128, 256, 448]}
AXES = {"x": "warp_batch", "x_label": "packets at a time"}

FIGURE = Figure(
    name="thesis-4.11",
    title="Mirroring with a variable batch size of GPU queues",
    source=f"{SOURCE}, section 4.7, figure 4.11",
    note=f"{NOTE} 128-byte packets, 8 queues. DOCA waits for a batch; a GPU port takes up to WARP_BATCH packets as they come.",
    sweeps=tuple(ports("chains/ports-mirror.click", measure, **OVER) for measure in ("throughput", "zero-loss")),
    panels=(
        Panel(
            y="line_gbps",
            title="(a) throughput",
            where={"measure": "throughput"},
            paper=(Paper(x=32, y=8, label="DOCA, 32", quote="4.7: from about 8 Gbit/s with a batching of 32 packets"),),
            **AXES,
        ),
        Panel(
            y="latency_mean_us",
            title="(b) zero-loss latency",
            y_label="average latency [µs]",
            where={"measure": "zero-loss"},
            paper=(
                Paper(
                    x=32, y=100, label="DOCA, 32", quote="4.7: a reasonable 100 µs with a batching size of 32 packets"
                ),
            ),
            **AXES,
        ),
    ),
    repetitions=3,
    point_seconds=120,
)
