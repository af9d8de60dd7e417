"""Thesis, figure 4.17: the GPU's power by the number of queues that it drives."""

from figure import Figure, Panel, Paper
from thesis import SOURCE, routes
from thesis_gpu import APPLICATIONS
from thesis_ports import NOTE, queues, throughput

FIGURE = Figure(
    name="thesis-4.17",
    title="GPU power with a variable number of GPU queues",
    source=f"{SOURCE}, section 4.10, figure 4.17",
    note=f"{NOTE} The power of the card, from its energy counter.",
    sweeps=tuple(throughput(application) for application in APPLICATIONS),
    panels=tuple(
        Panel(
            y="gpu_power_w",
            x="size",
            x_label="packet size [B]",
            series=queues,
            title=f"({letter}) {name}",
            where={"subject": f"chains/ports-{application}.click"},
            paper=(Paper(y=40, label="DOCA", quote="4.10: almost 40 W with only 1 queue"),),
        )
        for letter, (application, name) in zip("abc", APPLICATIONS.items(), strict=True)
    ),
    makes=routes(100),
    repetitions=6,
)
