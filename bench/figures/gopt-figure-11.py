"""G-Opt, figure 11: latency by throughput, with and without a GPU."""

from figure import Figure, Panel, Paper, Sweep
from gopt_paper import SOURCE
from thesis import no_more, routes, to_routes

CHAINS = {
    "chains/echo.click": (
        "(a) Echo",
        (
            Paper(y=29, label="CPU, peak", quote="4.5: the RTT of CPU-only Echo is 29µs at peak throughput"),
            Paper(y=19.5, label="CPU, low load", quote="4.5: and 19.5µs at low load"),
            Paper(y=52, label="GPU, least", quote="4.5: The minimum RTT with GPU acceleration is 52µs"),
        ),
    ),
    "chains/lookup-direct.click": ("(b) IPv4", ()),
}
RATES = [100_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000]


FIGURE = Figure(
    name="gopt-figure-11",
    title="Latency by throughput",
    source=f"{SOURCE} 4.5, figure 11",
    note="The paper's RTT has the client's NIC and network in it, 7-8 µs at least; here generator and router share a virtual wire. One core, "
    "packets of 64 bytes, 100 routes. (c), IPv6, is missing: the generator makes IPv4 alone.",
    sweeps=tuple(
        Sweep(
            "bench",
            chain,
            {"cores": [1], "size": [64], "device": ["cpu", "gpu"], "rate": RATES},
            "latency",
            derive=to_routes if "lookup" in chain else no_more,
        )
        for chain in CHAINS
    ),
    panels=tuple(
        Panel(
            y="latency_mean_us",
            x="rate",
            series=("device",),
            where={"subject": chain},
            title=title,
            x_label="throughput [packets/s]",
            y_label="average latency [µs]",
            paper=paper,
        )
        for chain, (title, paper) in CHAINS.items()
    ),
    labels={"cpu": "CPU", "gpu": "GPU"},
    makes=routes(100),
    repetitions=3,
)
