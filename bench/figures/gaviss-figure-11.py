"""Gaviss, figure 11: how the latencies of the service chains' packets are distributed."""

from figure import Figure, Panel, Paper, Sweep
from gaviss import INPUTS, MAKES, OPEN, OPENED, SERVICE_CHAINS, SOURCE, TRAFFIC, processor, service_chain, to_tcp

RATE_OF_CORE = 1e5  # packets a second: what a core does of each chain, and more
STATED = {"c1": 2900, "c2": 3400, "c3": 3600, "c4": 4000}
SHARES = {"latency_p50_us": "50 %", "latency_p90_us": "90 %", "latency_p99_us": "99 %", "latency_p999_us": "99.9 %"}


def machine(point):
    """Who runs the functions, with how many cores."""
    return f"{processor(point)}, {point.get('cores')} core{'s' * (point.get('cores') > 1)}"


FIGURE = Figure(
    name="gaviss-figure-11",
    title="Latency of the service chains",
    source=f"{SOURCE}, section 5.5, figure 11",
    note=f"{INPUTS} 100,000 packets a second of 1,024 bytes for each core. {OPENED} The paper states no load; it draws the distribution, of which these "
    "are the percentiles that records have.",
    sweeps=tuple(
        Sweep(
            "bench",
            service_chain(name),
            {"device": ["cpu", "gpu"], "cores": [1, 8], "size": [1024], **TRAFFIC, **OPEN},
            "latency",
            derive=lambda point: {"rate": RATE_OF_CORE * point["cores"], **to_tcp(point)},
        )
        for name in SERVICE_CHAINS
    ),
    panels=tuple(
        Panel(
            y=value,
            x="subject",
            x_label="chain",
            y_label="latency [µs]",
            series=machine,
            title=f"({letter}) {share} of the packets",
            y_scale="log",
            paper=tuple(
                Paper(
                    x=service_chain(name),
                    y=us,
                    label="Gaviss",
                    quote="5.5: the 50th percentile latencies of the four service chains are 2.9ms, 3.4ms, 3.6ms and 4.0ms",
                )
                for name, us in STATED.items()
            )
            if value == "latency_p50_us"
            else (),
        )
        for letter, (value, share) in zip("abcd", SHARES.items(), strict=True)
    ),
    labels={service_chain(name): name.upper() for name in SERVICE_CHAINS},
    makes=MAKES,
    repetitions=3,
)
