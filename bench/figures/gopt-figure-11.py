"""G-Opt, figure 11: latency by throughput, with and without a GPU."""

from figure import Figure, Panel, Paper, Sweep
from gopt_paper import MAKES, ROUTERS, SOURCE

PANELS = {
    "echo": (
        "(a) Echo",
        (
            Paper(y=29, label="CPU, peak", quote="4.5: the RTT of CPU-only Echo is 29µs at peak throughput"),
            Paper(y=19.5, label="CPU, low load", quote="4.5: and 19.5µs at low load"),
            Paper(y=52, label="GPU, least", quote="4.5: The minimum RTT with GPU acceleration is 52µs"),
        ),
    ),
    "ip4": ("(b) IPv4", ()),
    "ip6": ("(c) IPv6", ()),
}
RATES = [100_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000]


FIGURE = Figure(
    name="gopt-figure-11",
    title="Latency by throughput",
    source=f"{SOURCE} 4.5, figure 11",
    note="The paper's RTT has the client's NIC and network in it, 7-8 µs at least; here generator and router share a virtual wire. One core; "
    "the routers of figure 10, to whose routes packets go (the paper's IPv4 addresses are uniformly random): IPv4 with 527,961 generated "
    "routes, as many as the paper's, packets of 64 bytes; IPv6 with 200,000, 84 bytes; 1,000,000 flows.",
    sweeps=tuple(
        Sweep(
            "bench",
            ROUTERS[task].chain,
            {"cores": [1], "device": ["cpu", "gpu"], "rate": RATES, **ROUTERS[task].traffic},
            "latency",
        )
        for task in PANELS
    ),
    panels=tuple(
        Panel(
            y="latency_mean_us",
            x="rate",
            series=("device",),
            where={"subject": ROUTERS[task].chain},
            title=title,
            x_label="throughput [packets/s]",
            y_label="average latency [µs]",
            paper=paper,
        )
        for task, (title, paper) in PANELS.items()
    ),
    labels={"cpu": "CPU", "gpu": "GPU"},
    makes={name: words for name, words in MAKES.items() if "routes" in name},
    repetitions=3,
)
