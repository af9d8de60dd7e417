"""Thesis, figure 4.10: batches of several sizes."""

from figure import Figure, Paper
from thesis import SOURCE, routes
from thesis_gpu import APPLICATIONS, BURST, in_batches, panel, way

SIZES = [64, 128, 256, 512, 1024]
WAYS = [("persistent", "direct"), ("async", "commlist"), ("async", "coalescent")]
OVER = {"batch": SIZES, "size": [128]}
STATED = {
    "mirror": Paper(
        x=64 - BURST, y=30, label="CL", quote="4.7: using batches of 64 packets ... a low ZLT latency of ∼30 µs"
    ),
    "lookup": Paper(
        x=128 - BURST, y=80, label="CL", quote="4.7: using batches of 64 packets (resp. 128) ... (resp. ∼80 µs, ...)"
    ),
    "crc": Paper(
        x=256 - BURST, y=65, label="CL", quote="4.7: a batching size of 256 packets ... a ZLT latency of ∼65 µs"
    ),
}
AXES = {"x": "minimum", "x_label": "packets that a batch waits for", "series": way}


def both(application, letters):
    """Throughput and latency."""
    waits = {"measure": "zero-loss", "y_label": "average latency [µs]", "paper": (STATED[application],)}
    return (
        panel(application, letters[0], "line_gbps", "throughput", **AXES),
        panel(application, letters[1], "latency_mean_us", "zero-loss latency", **waits, **AXES),
    )


FIGURE = Figure(
    name="thesis-4.10",
    title="Performance with a variable batch size",
    source=f"{SOURCE}, section 4.7, figure 4.10",
    note="128-byte packets, 4 cores. A batch is up to a burst, 32 packets, more than it waits for. The thesis's persistent kernels "
    "with packets in GPU memory want a NIC that writes there; ours read them in host memory.",
    sweeps=tuple(
        sweep
        for application in APPLICATIONS
        for measure in ("throughput", "zero-loss")
        for sweep in in_batches(application, WAYS, measure, cores=[4], **OVER)
    ),
    panels=tuple(
        drawn
        for letters, application in zip(("ab", "cd", "ef"), APPLICATIONS, strict=True)
        for drawn in both(application, letters)
    ),
    makes=routes(100),
    repetitions=3,
    point_seconds=120,
)
