"""GPU-Ether, figure 12: applications between ports that the GPU drives, and with DPDK and copies."""

from figure import Figure, Panel
from gaviss import MAKES
from gpu_ether import PACKED, ROUTES, SIZES, SOFT_NIC, SOURCE, copied, port, ports
from thesis import routes, to_routes

RINGS = {"cores": [1], "size": SIZES}
SIGNATURES = "inputs/signatures-147.rules"
ASSOCIATIONS = "inputs/associations-1000.txt"
APPLICATIONS = {"direct": "IPv4 forwarding", "ipsec": "IPsec gateway", "nids": "NIDS"}

FIGURE = Figure(
    name="gpu-ether-figure-12",
    title="Throughput of applications by packet size",
    source=f"{SOURCE}, section V.G, figure 12",
    note=f"{SOFT_NIC}{PACKED} {ROUTES:,} routes, DIR-24-8, as in the paper, and 147 signatures; all are generated. "
    "The NIDS is its pattern stage, as the paper's is. The gateway has 1,000 tunnels.",
    sweeps=(
        ports("chains/ports-direct.click", derive=to_routes, routes=[ROUTES], **RINGS),
        copied("chains/direct-batches.click", derive=to_routes, routes=[ROUTES], size=SIZES),
        ports("chains/ports-ipsec.click", **RINGS),
        copied("chains/ipsec-batches.click", size=SIZES),
        ports("chains/ports-nids.click", **RINGS),
        copied("chains/nids-batches.click", size=SIZES),
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
        for letter, (chain, name) in zip("abc", APPLICATIONS.items(), strict=True)
    ),
    makes={**routes(ROUTES), **{name: MAKES[name] for name in (ASSOCIATIONS, SIGNATURES)}},
)
