"""GPU-Ether, figure 12: applications between ports that the GPU drives, and with DPDK and copies."""

from figure import Figure, Panel
from gaviss import MAKES
from gpu_ether import LIST, ROUTES, SIZES, SOFT_NIC, SOURCE, copied, port, ports
from thesis import routes, to_routes

OVER = {"cores": [1], "size": SIZES}
IP4 = {**OVER, "routes": [ROUTES]}
SIGNATURES = "inputs/signatures-147.rules"
APPLICATIONS = {"direct": "IPv4 forwarding", "nids": "NIDS"}

FIGURE = Figure(
    name="gpu-ether-figure-12",
    title="Throughput of applications by packet size",
    source=f"{SOURCE}, section V.G, figure 12",
    note=f"{SOFT_NIC}{LIST} {ROUTES:,} routes, DIR-24-8, as in the paper, and 147 signatures; both are generated. The NIDS is its pattern "
    "stage, as the paper's is. The paper's third application is missing: IPsec does not run between GPU ports yet "
    "(docs/gpu-io.md).",
    sweeps=(
        ports("chains/ports-direct.click", derive=to_routes, **IP4),
        copied("chains/direct-batches.click", derive=to_routes, **IP4),
        ports("chains/ports-nids.click", **OVER),
        copied("chains/nids-batches.click", **OVER),
    ),
    panels=tuple(
        Panel(
            y="line_gbps",
            x="size",
            x_label="packet size [B]",
            series=port,
            title=f"({letter}) {name}",
            where={"subject": (f"chains/ports-{chain}.click", f"chains/{chain}-batches.click")},
        )
        for letter, (chain, name) in zip("ac", APPLICATIONS.items(), strict=True)
    ),
    makes={**routes(ROUTES), SIGNATURES: MAKES[SIGNATURES]},
)
