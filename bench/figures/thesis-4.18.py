"""Thesis, figure 4.18: IP lookup with tables of 100 to 1,000,000 routes."""

from figure import Figure, Panel, Paper, Sweep
from thesis import NO_LAUNCH, PLACES, SOURCE, implementation, routes, to_routes

COUNTS = [100, 1000, 10_000, 100_000, 1_000_000]


def paper(label, *values):
    """A curve: (routes, Gbit/s, words of section 4.11)."""
    return tuple(Paper(x=x, y=y, label=label, quote=f"4.11: {quote}") for x, y, quote in values)


FIGURE = Figure(
    name="thesis-4.18",
    title="IP lookup throughput with variable routing table sizes",
    source=f"{SOURCE}, section 4.11, figure 4.18",
    note="64-byte packets, 4 cores. Linear is the thesis's algorithm (LinearIPLookup); DIR-24-8 is what one would use.",
    sweeps=tuple(
        Sweep(
            "bench",
            chain,
            {"routes": COUNTS, **PLACES, "cores": [4], "size": [64]},
            "throughput",
            without=NO_LAUNCH,
            derive=to_routes,
        )
        for chain in ("chains/lookup-direct.click", "chains/lookup-linear.click")
    ),
    panels=(
        Panel(
            y="line_gbps",
            x="routes",
            x_label="routes in the table",
            y_scale="log",
            series=implementation,
            paper=paper(
                "CPU",
                (100, 20, "the CPU and ROI implementations ... around 20 Gbit/s"),
                (1000, 5, "the CPU implementation is struggling at 5 Gbps"),
                (10_000, 0.5, "the CPU only delivers 0.5 Gbps"),
                (100_000, 0.05, "the GPU implementations only deliver about 100 Mbit/s, and the CPU, 50 Mbit/s"),
                (1_000_000, 0.004, "all implementations except the DPU provide only around 4 Mbit/s"),
            )
            + paper(
                "ROI",
                (100, 20, "the CPU and ROI implementations ... around 20 Gbit/s"),
                (1000, 20, "the ROI implementation, still able to deliver the same throughput"),
                (10_000, 2, "all GPU implementations are able to transmit about 2 Gbit/s"),
                (100_000, 0.1, "the GPU implementations only deliver about 100 Mbit/s"),
                (1_000_000, 0.004, "all implementations except the DPU provide only around 4 Mbit/s"),
            )
            + paper(
                "CL",
                (100, 5, "The CL implementation is much worse, only able to deliver 5 Gbit/s"),
                (1000, 5, "The CL implementation has the same throughput as with 100 elements"),
            ),
        ),
    ),
    makes={name: command for count in COUNTS for name, command in routes(count).items()},
    repetitions=3,
)
