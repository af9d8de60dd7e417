"""Functions that do much for each packet between GPU ports, by how many packets of a ring are handled at a time."""

import gaviss
from figure import Figure, Panel
from gpu_ether import SOFT_NIC, SOURCE, ports

CHAINS = {"chains/ports-ipsec.click": "IPsec gateway", "chains/ports-c4.click": "C4"}
SIZES = [64, 512, 1518]
BATCHES = [448, 704, 1408, 2816, 4096]
PAIRS = [1, 4]


def called(point):
    """A curve's name in the legend."""
    return f"{CHAINS[point.subject]}, {point.get('size')} B"


FIGURE = Figure(
    name="gpu-ether-batch",
    title="An IPsec gateway and C4 between GPU ports with a variable WARP_BATCH",
    source=f"{SOURCE}, section V.D, figure 11, which has it for forwarding; chains of {gaviss.SOURCE}, section 5.1",
    note=f"{SOFT_NIC}{gaviss.INPUTS} {gaviss.SMALL} Up to 448 packets have one block, more have several (at commit 00fbbee one for each 352 packets, since a2ce597 one for each 256, since c046289 one of four warps for each 32). Rings of 4,096 descriptors.",
    sweeps=tuple(
        ports(chain, derive=gaviss.to_tcp, cores=[1], queues=PAIRS, warp_batch=BATCHES, size=SIZES, **gaviss.TRAFFIC)
        for chain in CHAINS
    ),
    panels=tuple(
        Panel(
            y="mpps",
            x="warp_batch",
            x_label="packets at a time",
            series=called,
            title=f"({letter}) {queues} ring pair{'s' * (queues > 1)}",
            where={"queues": queues},
        )
        for letter, queues in zip("ab", PAIRS, strict=True)
    ),
    makes=gaviss.MAKES,
)
