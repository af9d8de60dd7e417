"""What figures 4.6 to 4.15 of the thesis share: its applications on a GPU in batches, and the ways there."""

from figure import Panel, Sweep
from thesis import SIZES, no_more, to_routes, with_fixed_rate

BURST = 32  # packets that DPDK gives at a time: MinBatch waits until a burst more makes the batch full
APPLICATIONS = {"mirror": "Ethernet mirror", "lookup": "IP lookup", "crc": "CRC computation"}
# Heddle's ways by launch mode and transport. The thesis's persistent kernels own lists; ours own slots.
WAYS = {
    ("persistent", "direct"): "stamped slots, in place",
    ("persistent", "gather"): "stamped slots, gathered",
    ("persistent", "zerocopy"): "stamped slots, packed by the CPU",
    ("async", "direct"): "launches, in place",
    ("async", "gather"): "launches, gathered",
    ("async", "commlist"): "launches, lists (CL)",
    ("async", "coalescent"): "launches, packed and copied (ROI)",
    ("async", "zerocopy"): "launches, packed by the CPU (ROI, zero-copy)",
}


def batched(application):
    """The chain that works in batches."""
    return f"chains/{application}-batches.click"


def single(application):
    """The chain that takes packets as they come."""
    return "chains/lookup-linear.click" if application == "lookup" else f"chains/{application}.click"


def chains_of(application):
    """Both."""
    return {batched(application), single(application)}


def way(point):
    """Heddle's name for how a point's packets get to the GPU, or the CPU."""
    return "CPU" if point.get("device") == "cpu" else WAYS[point.get("launch"), point.get("transport")]


def derived(application):
    """Where packets go."""
    return to_routes if application == "lookup" else no_more


def in_batches(application, ways, measure="throughput", batch=1024, **over):
    """Sweeps over `over` of an application in batches of so many packets (or several), by each of the ways."""
    minima = [max(1, size - BURST) for size in (batch if isinstance(batch, list) else [batch])]
    return [
        Sweep(
            "bench",
            batched(application),
            {"device": ["gpu"], "launch": [launch], "transport": [transport], "minimum": minima, **over},
            measure,
            derive=derived(application),
        )
        for launch, transport in ways
    ]


def at_fixed_rate(application, ways, **over):
    """Sweeps of the latency at 100 Mbit/s, for which packets do not wait for others (4.2.2)."""
    return [
        Sweep(
            "bench",
            single(application),
            {"device": ["gpu"], "launch": [launch], "transport": [transport], "size": SIZES[::2], **over},
            "latency",
            derive=with_fixed_rate(derived(application)),
        )
        for launch, transport in ways
    ]


def panel(application, letter, value, title, paper=(), measure="throughput", **axes):
    """A panel of an application."""
    return Panel(
        y=value,
        title=f"({letter}) {APPLICATIONS[application]}, {title}",
        where={"subject": chains_of(application), "measure": measure},
        paper=tuple(paper),
        **axes,
    )
