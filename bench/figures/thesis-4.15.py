"""Thesis, figure 4.15: the GPU's power in figure 4.14."""

from figure import Figure
from thesis import SIZES, SOURCE, routes
from thesis_gpu import APPLICATIONS, in_batches, panel, way

WAYS = [("async", "coalescent"), ("async", "zerocopy"), ("persistent", "zerocopy")]

FIGURE = Figure(
    name="thesis-4.15",
    title="GPU power: performance of packed packets with and without zero-copy",
    source=f"{SOURCE}, section 4.9, figure 4.15",
    note="One core, batches of 1,024 packets. The power of the card, from its energy counter.",
    sweeps=tuple(
        sweep for application in APPLICATIONS for sweep in in_batches(application, WAYS, cores=[1], size=SIZES[::2])
    ),
    panels=tuple(
        panel(application, letter, "gpu_power_w", "GPU power", x="size", x_label="packet size [B]", series=way)
        for letter, application in zip("abc", APPLICATIONS, strict=True)
    ),
    makes=routes(100),
    repetitions=6,
)
