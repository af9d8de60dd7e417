"""Thesis, figure 4.8: how the CPU implementations scale with cores."""

from figure import Figure, Panel, Paper, Sweep
from thesis import SOURCE, no_more, routes, to_routes

LINK = Paper(y=100, label="the link's limit", quote="4.1: All NICs and links support 100 Gbit/s")
WORKLOADS = {
    "chains/mirror.click": ("(a) Ethernet mirror", (LINK,)),
    "chains/lookup-linear.click": ("(b) IP lookup, linear, 100 routes", (LINK,)),
    "chains/crc.click": (
        "(c) CRC computation",
        (
            LINK,
            Paper(
                x=16,
                y=50,
                label="16 cores, 1024 B",
                quote="4.6: a 16-core CPU can only process 50 Gbit/s for the same workload (CRC, 1024 B packets)",
            ),
        ),
    ),
}

FIGURE = Figure(
    name="thesis-4.8",
    title="Throughput of the CPU implementation with variable number of CPU cores",
    source=f"{SOURCE}, section 4.6, figure 4.8",
    note="Cores that generate and receive packets are not counted; in the thesis that is another machine.",
    sweeps=tuple(
        Sweep(
            "bench",
            chain,
            {"cores": [1, 2, 4, 8, 16], "size": [64, 256, 1024], "device": ["cpu"]},
            "throughput",
            derive=to_routes if "lookup" in chain else no_more,
        )
        for chain in WORKLOADS
    ),
    panels=tuple(
        Panel(
            y="line_gbps",
            x="cores",
            x_label="number of CPU cores",
            series=("size",),
            where={"subject": chain},
            title=title,
            paper=paper,
        )
        for chain, (title, paper) in WORKLOADS.items()
    ),
    makes=routes(100),
    repetitions=3,
)
