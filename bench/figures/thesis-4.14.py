"""Thesis, figure 4.14: performance of packed packets with and without zero-copy."""

from figure import Figure
from thesis import SIZES, SOURCE, routes
from thesis_gpu import APPLICATIONS, at_fixed_rate, in_batches, panel, way

WAYS = [("async", "coalescent"), ("async", "zerocopy"), ("persistent", "zerocopy")]
AXES = {"x": "size", "x_label": "packet size [B]", "series": way}
WAITS = {"measure": "latency", "y_label": "average latency [µs]"}


def both(application, letters):
    """Throughput and latency."""
    return (
        panel(application, letters[0], "line_gbps", "throughput", **AXES),
        panel(application, letters[1], "latency_mean_us", "latency at 100 Mbit/s", **WAITS, **AXES),
    )


FIGURE = Figure(
    name="thesis-4.14",
    title="Performance of packed packets with and without zero-copy",
    source=f"{SOURCE}, section 4.9, figure 4.14",
    note="One core, batches of 1,024 packets for the throughput and none for the latency. The CPU packs what is wanted of packets; the copy engine takes it to the GPU, or kernels read it in host memory.",
    sweeps=tuple(
        sweep
        for application in APPLICATIONS
        for sweep in in_batches(application, WAYS, cores=[1], size=SIZES[::2])
        + at_fixed_rate(application, WAYS, cores=[1])
    ),
    panels=tuple(
        drawn
        for letters, application in zip(("ab", "cd", "ef"), APPLICATIONS, strict=True)
        for drawn in both(application, letters)
    ),
    makes=routes(100),
    repetitions=3,
)
