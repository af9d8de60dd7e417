"""What the figures of GPU-Ether share: packets in rings that the GPU drives, or received by the CPU and copied to it."""

from figure import Sweep
from thesis import no_more

SOURCE = "Jung et al., GPU-Ether (INFOCOM 2021)"
SIZES = [64, 128, 256, 512, 1024, 1514 + 4]  # the last is the paper's 1,514 without its check sequence
ROUTES = 474319  # section V.F
DESCRIPTORS = 4096
COPIES = {"device": ["gpu"], "launch": ["async"], "transport": ["commlist"], "minimum": [512 - 32]}  # section V.C
SOFT_NIC = (
    "The paper's NIC is an 82599 that writes to GPU memory. Here its part is played by two threads and a kernel on the same GPU "
    "(docs/gpu-io.md), which is what limits the rate. "
)
LIST = "DPDK's packets are copied to GPU memory and back by the copy engine, by lists of 512."


def port(point):
    """Who takes packets from the port."""
    return "GPU-driven rings" if "ports-" in point.subject else "DPDK and copies"


def ports(chain, measure="throughput", derive=no_more, **over):
    """A sweep of a chain between GPU ports."""
    return Sweep("bench", chain, {"device": ["gpu"], "descriptors": [DESCRIPTORS], **over}, measure, derive=derive)


def copied(chain, measure="throughput", derive=no_more, **over):
    """A sweep of a chain whose packets are copied to the GPU."""
    return Sweep("bench", chain, {**COPIES, **over}, measure, derive=derive)
