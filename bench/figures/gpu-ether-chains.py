"""The service chains of Gaviss between ports that the GPU drives, beside forwarding, IPv4 forwarding, the IPsec gateway
and the NIDS alone."""

import gaviss
from figure import Figure, Panel
from gpu_ether import SOFT_NIC, ports

SIZES = [64, 128, 256, 512, 1024, 1474, 1518, 4096, 9000]  # of 1474: a packet of 1,460 behind its Ethernet header
ALONE = {"mirror": "forwarding", "direct": "IPv4 forwarding", "ipsec": "IPsec gateway", "nids": "NIDS"}
LARGE = {"buffer": [10240]}  # for packets of more than 1,518 bytes


def chain(name):
    """Its file."""
    return f"chains/ports-{name}.click"


def called(point):
    """A chain's name in the legend."""
    name = point.subject.removeprefix("chains/ports-").removesuffix(".click")
    return ALONE.get(name, name.upper())


def sweep(name, **over):
    """Of the chain's throughput."""
    return ports(chain(name), derive=gaviss.to_tcp, cores=[1], queues=[1, 4], size=SIZES, **over, **gaviss.TRAFFIC)


FIGURE = Figure(
    name="gpu-ether-chains",
    title="Service chains between GPU ports",
    source=f"{gaviss.SOURCE}, section 5.1, with the ports of Jung et al., GPU-Ether (INFOCOM 2021)",
    note=f"{SOFT_NIC}{gaviss.INPUTS} {gaviss.SMALL} The NIDS is its pattern stage. Forwarding swaps addresses. From prepared packets, without ports: "
    "gpu-ipsec and gpu-nids of `make gpu-bench`.",
    sweeps=(
        sweep("mirror", **LARGE),
        sweep("direct", routes=[10000], **LARGE),
        sweep("nids", **LARGE),
        *(sweep(name) for name in ("ipsec", *gaviss.SERVICE_CHAINS)),
    ),
    panels=tuple(
        Panel(
            y="line_gbps",
            x="size",
            x_label="packet size [B]",
            series=called,
            title=f"({letter}) {queues} ring pair{'s' * (queues > 1)}",
            where={"queues": queues},
        )
        for letter, queues in (("a", 1), ("b", 4))
    ),
    makes=gaviss.MAKES,
    repetitions=3,
)
