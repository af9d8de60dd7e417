"""Thesis, figure 4.16: performance by the number of queues that the GPU drives."""

from figure import Figure, Panel, Paper
from thesis import SOURCE, routes
from thesis_gpu import APPLICATIONS
from thesis_ports import NOTE, latency, queues, throughput

STATED = {
    "mirror": {
        "latency": Paper(y=50, label="DOCA, at best", quote="4.10: as low as 50 µs latency for the Ethernet Mirror")
    },
    "lookup": {
        "throughput": Paper(y=12, label="DOCA, 8 queues", quote="4.10: reaching only 12 Gbit/s with 8 queues"),
        "latency": Paper(y=400, label="DOCA, at best", quote="4.10: about 400 µs for the IP Lookup"),
    },
    "crc": {"throughput": Paper(y=2, label="DOCA, 8 queues", quote="4.10: only ... 2 Gbit/s with 8 queues")},
}


def panel(application, letter, measure, value, label):
    """A panel of an application."""
    stated = STATED[application].get(measure)
    return Panel(
        y=value,
        x="size",
        x_label="packet size [B]",
        y_label=label,
        series=queues,
        title=f"({letter}) {APPLICATIONS[application]}, {measure}",
        where={"subject": f"chains/ports-{application}.click", "measure": measure},
        paper=(stated,) if stated else (),
    )


FIGURE = Figure(
    name="thesis-4.16",
    title="Performance with a variable number of GPU queues",
    source=f"{SOURCE}, section 4.10, figure 4.16",
    note=f"{NOTE} Latency at 100 Mbit/s.",
    sweeps=tuple(sweep(application) for application in APPLICATIONS for sweep in (throughput, latency)),
    panels=tuple(
        drawn
        for letters, application in zip(("ab", "cd", "ef"), APPLICATIONS, strict=True)
        for drawn in (
            panel(application, letters[0], "throughput", "line_gbps", "throughput [Gb/s]"),
            panel(application, letters[1], "latency", "latency_mean_us", "average latency [µs]"),
        )
    ),
    makes=routes(100),
    repetitions=3,
)
