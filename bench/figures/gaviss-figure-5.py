"""Gaviss, figure 5: throughput of chains of functions by packet size."""

from figure import Figure, Panel, Paper, Sweep
from gaviss import CHAINS, GATHERED, SMALL, SOURCE, shared, to_tcp

FIGURE = Figure(
    name="gaviss-figure-5",
    title="Throughput of chains by packet size, with packets that stay on the GPU and without",
    source=f"{SOURCE}, section 5.2, figure 5",
    note=f"10,000 flows of TCP. {SMALL} The paper's C1 is NIDS and IPsec, C4 firewall, NIDS, router and IPsec, on a link of 40 Gbit/s; here each function is XOR, "
    "which goes over the whole packet. chains/c1.click to c4.click as one GPU segment: gpu-c1 to gpu-c4 of `make gpu-bench`.",
    sweeps=tuple(
        Sweep(
            "bench",
            chain,
            {**GATHERED, "cores": [4], "size": [64, 128, 256, 512, 1024, 1518]},
            "throughput",
            derive=to_tcp,
        )
        for chain in CHAINS.values()
    ),
    panels=(
        Panel(
            y="gbps",
            x="size",
            x_label="packet size [B]",
            series=shared,
            paper=(
                Paper(
                    y=33.8, label="C1, two functions", quote="5.2: up to 33.8 Gbps throughput on the service chain C1"
                ),
                Paper(
                    y=23.5, label="C4, four functions", quote="5.2: up to 23.5 Gbps throughput on the service chain C4"
                ),
            ),
        ),
    ),
    repetitions=3,
)
