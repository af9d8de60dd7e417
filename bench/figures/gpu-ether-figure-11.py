"""GPU-Ether, figure 11: how many packets of a ring are handled at a time."""

from figure import Figure, Panel, Paper
from gpu_ether import SOFT_NIC, SOURCE, ports

KERNELS = {"chains/ports-mirror.click": "one kernel", "chains/ports-mirror-split.click": "three kernels, as the paper"}
BATCHES = [32, 64, 96, 128, 192, 256, 320, 384, 448]


def called(point):
    """A curve's name in the legend."""
    return KERNELS[point.subject]


FIGURE = Figure(
    name="gpu-ether-figure-11",
    title="Forwarding with a variable WARP_BATCH",
    source=f"{SOURCE}, section V.D, figure 11",
    note=f"{SOFT_NIC}64-byte packets, one ring pair. The paper's receive and transmit kernels each have warp_batch threads, and 1,024 in all; "
    "here one block has a warp for each 32 packets of WARP_BATCH, which do both, beside two warps for the rings; with three kernels each "
    "of their blocks has as many.",
    sweeps=tuple(ports(chain, cores=[1], size=[64], warp_batch=BATCHES) for chain in KERNELS),
    panels=(
        Panel(
            y="mpps",
            x="warp_batch",
            x_label="packets at a time",
            x_scale="linear",
            series=called,
            paper=(
                Paper(x=128, label="the paper's best", quote="5.4: throughput is maximized when warp_batch is 128"),
            ),
        ),
    ),
)
