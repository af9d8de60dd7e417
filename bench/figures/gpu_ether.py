"""What the figures of GPU-Ether share: packets in rings that the GPU drives, or received by the CPU and copied to
it."""

from figure import Sweep
from thesis import no_more

SOURCE = "Jung et al., GPU-Ether (INFOCOM 2021)"
SIZES = [64, 128, 256, 512, 1024, 1514 + 4]  # the last is the paper's 1,514 without its check sequence
ROUTES = 474319  # section V.F
DESCRIPTORS = 4096
# Section V.C: packets are put in order side by side, and copied 512 at a time. Two cores as there, but each does all of
# it, which is faster than a worker and a master.
COPIES = {"device": ["gpu"], "launch": ["async"], "transport": ["coalescent"], "cores": [2], "minimum": [512 - 32]}
SOFT_NIC = (
    "The paper's NIC is an 82599 that writes to GPU memory. Here its part is played by two threads and a kernel on the same GPU "
    "(docs/gpu-io.md), which is what limits the rate. "
)
PACKED = (
    "What the GPU reads of DPDK's packets is packed by two CPU cores, 512 packets at a time, and copied to GPU memory by the copy engine, "
    "and what it writes is copied back; the paper copies whole packets."
)


def port(point):
    """Who takes packets from the port."""
    if "-socket" in point.subject:
        return "UDP socket and copies"
    return "GPU-driven rings" if "ports-" in point.subject else "DPDK and copies"


def ports(chain, measure="throughput", derive=no_more, **over):
    """A sweep of a chain between GPU ports."""
    return Sweep("bench", chain, {"device": ["gpu"], "descriptors": [DESCRIPTORS], **over}, measure, derive=derive)


def copied(chain, measure="throughput", derive=no_more, **over):
    """A sweep of a chain whose packets are copied to the GPU."""
    return Sweep("bench", chain, {**COPIES, **over}, measure, derive=derive)
