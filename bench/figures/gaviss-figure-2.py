"""Gaviss, figure 2: what further functions cost a packet in latency."""

from figure import Figure, Panel, Sweep
from gaviss import CHAINS, GATHERED, SOURCE, shared

FIGURE = Figure(
    name="gaviss-figure-2",
    title="Latency of packets by the number of functions on the GPU",
    source=f"{SOURCE}, section 2.2, figure 2",
    note="The paper measures the transfer of the first function's packets to the GPU, 3.2 times as long with four functions as with "
    "one (2.0 times with sharing, section 5.4). Here a function's packets are gathered by its own kernel, so the whole way is timed.",
    sweeps=tuple(
        Sweep("bench", chain, {**GATHERED, "cores": [1], "size": [1024], "rate": [1e5, 1e6, 2e6]}, "latency")
        for chain in CHAINS.values()
    ),
    panels=(
        Panel(
            y="latency_mean_us",
            x="rate",
            x_label="packets a second",
            y_label="average latency [µs]",
            series=shared,
        ),
    ),
    repetitions=3,
)
