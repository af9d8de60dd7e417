"""Gaviss, table 1: each function on one core."""

from figure import Figure, Panel, Paper, Sweep
from gaviss import INPUTS, MAKES, SIZES, SMALL, SOURCE, TRAFFIC, service_chain, to_tcp

FUNCTIONS = {"nids": "NIDS", "ipsec": "IPsec gateway", "router": "Router", "firewall": "Firewall"}
STATED = {
    "nids": [3.8, 4.9, 5.5, 5.9, 6.1, 7.2],
    "ipsec": [0.38, 0.61, 0.89, 1.2, 1.4, 1.7],
    "router": [6.5, 13.0, 26.0, 38.2, 39.1, 39.7],
    "firewall": [1.8, 3.4, 7.1, 14.6, 29.1, 39.4],
}

FIGURE = Figure(
    name="gaviss-table-1",
    title="Functions on one core of the CPU",
    source=f"{SOURCE}, section 5.3, table 1",
    note=f"{INPUTS} {SMALL} The paper's link has 40 Gb/s; the wire here has no such limit.",
    sweeps=tuple(
        Sweep(
            "bench",
            service_chain(name),
            {"device": ["cpu"], "cores": [1], "size": SIZES, **TRAFFIC},
            "throughput",
            derive=to_tcp,
        )
        for name in FUNCTIONS
    ),
    panels=tuple(
        Panel(
            y="gbps",
            x="size",
            x_label="packet size [B]",
            title=f"({letter}) {FUNCTIONS[name]}",
            where={"subject": service_chain(name)},
            paper=tuple(
                Paper(
                    x=size, y=value, label="OpenNetVM and G-Opt", quote=f"table 1: {FUNCTIONS[name]}, {size}B: {value}"
                )
                for size, value in zip(SIZES, STATED[name], strict=True)
            ),
        )
        for letter, name in zip("abcd", FUNCTIONS, strict=True)
    ),
    makes=MAKES,
    repetitions=3,
)
