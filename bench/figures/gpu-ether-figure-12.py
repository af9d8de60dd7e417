"""GPU-Ether, figure 12: applications between ports that the GPU drives, and with DPDK and copies."""

from figure import Figure, Panel
from gpu_ether import LIST, ROUTES, SIZES, SOFT_NIC, SOURCE, copied, port, ports
from thesis import routes, to_routes

OVER = {"cores": [1], "size": SIZES, "routes": [ROUTES]}

FIGURE = Figure(
    name="gpu-ether-figure-12",
    title="Throughput of applications by packet size",
    source=f"{SOURCE}, section V.G, figure 12",
    note=f"{SOFT_NIC}{LIST} {ROUTES:,} routes, DIR-24-8, as in the paper; they are generated. Of the paper's three applications this is the "
    "first: IPsec and the NIDS do not run between GPU ports yet (docs/gpu-io.md).",
    sweeps=(
        ports("chains/ports-direct.click", derive=to_routes, **OVER),
        copied("chains/direct-batches.click", derive=to_routes, **OVER),
    ),
    panels=(Panel(y="line_gbps", x="size", x_label="packet size [B]", series=port, title="(a) IPv4 forwarding"),),
    makes=routes(ROUTES),
)
