"""What figures 4.6 to 4.15 of the thesis share: its applications on a GPU in batches, and the ways there."""

from figure import Figure, Panel, Sweep
from thesis import SIZES, SOURCE, no_more, routes, to_routes, with_fixed_rate

# Of a search's trials: what fills no batch at the end leaves all the same, and is not lost. At the rates that are found
# batches are full in less.
TIMER_US = 1000
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

# By place of the packets (4.8), and packed ones (4.9).
BY_PLACE = [("persistent", "direct"), ("persistent", "gather"), ("async", "direct"), ("async", "commlist")]
PACKED = [("async", "coalescent"), ("async", "zerocopy"), ("persistent", "zerocopy")]


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
    timer = {"timer": [TIMER_US]} if measure == "zero-loss" else {}
    minima = [max(1, size - BURST) for size in (batch if isinstance(batch, list) else [batch])]
    return [
        Sweep(
            "bench",
            batched(application),
            {"device": ["gpu"], "launch": [launch], "transport": [transport], "minimum": minima, **timer, **over},
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


def performance(number, section, title, note, ways):
    """Figure `number` (4.12, 4.14): throughput in batches, and latency without, by packet size and way, on one core."""
    axes = {"x": "size", "x_label": "packet size [B]", "series": way}
    waits = {"measure": "latency", "y_label": "average latency [µs]"}
    return Figure(
        name=f"thesis-{number}",
        title=title,
        source=f"{SOURCE}, section {section}, figure {number}",
        note=f"One core, batches of 1,024 packets for the throughput and none for the latency. {note}",
        sweeps=tuple(
            sweep
            for application in APPLICATIONS
            for sweep in in_batches(application, ways, cores=[1], size=SIZES[::2])
            + at_fixed_rate(application, ways, cores=[1])
        ),
        panels=tuple(
            drawn
            for letters, application in zip(("ab", "cd", "ef"), APPLICATIONS, strict=True)
            for drawn in (
                panel(application, letters[0], "line_gbps", "throughput", **axes),
                panel(application, letters[1], "latency_mean_us", "latency at 100 Mbit/s", **waits, **axes),
            )
        ),
        makes=routes(100),
        repetitions=3,
    )


def power(number, section, title, ways):
    """Figure `number` (4.13, 4.15): the GPU's power meanwhile."""
    axes = {"x": "size", "x_label": "packet size [B]", "series": way}
    return Figure(
        name=f"thesis-{number}",
        title=title,
        source=f"{SOURCE}, section {section}, figure {number}",
        note="One core, batches of 1,024 packets. The power of the card, from its energy counter.",
        sweeps=tuple(
            sweep for application in APPLICATIONS for sweep in in_batches(application, ways, cores=[1], size=SIZES[::2])
        ),
        panels=tuple(
            panel(application, letter, "gpu_power_w", "GPU power", **axes)
            for letter, application in zip("abc", APPLICATIONS, strict=True)
        ),
        makes=routes(100),
        repetitions=6,
    )
