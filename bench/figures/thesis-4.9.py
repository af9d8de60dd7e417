"""Thesis, figure 4.9: one core, and several lists to the GPU."""

from figure import Figure, Paper
from thesis import SIZES, SOURCE
from thesis_gpu import in_batches, panel

LISTS = [1, 2, 3, 4]
STATED = {
    "crc": (
        Paper(
            y=80,
            label="CL, large packets",
            quote="4.6: we achieve 80 Gbit/s for heavy workload using a single CPU core",
        ),
    )
}
AXES = {"x": "lists", "x_label": "communication lists", "series": ("size",)}

FIGURE = Figure(
    name="thesis-4.9",
    title="Performance of communication lists with one CPU core and a variable number of lists",
    source=f"{SOURCE}, section 4.6, figure 4.9",
    note="Batches of 1,024 packets; a list is a stream of launches here. The thesis leaves out IP lookup as well.",
    sweeps=tuple(
        sweep
        for application in ("mirror", "crc")
        for sweep in in_batches(application, [("async", "commlist")], cores=[1], lists=LISTS, size=SIZES[::2])
    ),
    panels=tuple(
        panel(application, letter, value, title, STATED.get(application, ()) if value == "line_gbps" else (), **AXES)
        for letter, application, value, title in (
            ("a", "mirror", "line_gbps", "throughput"),
            ("b", "mirror", "gpu_power_w", "GPU power"),
            ("c", "crc", "line_gbps", "throughput"),
            ("d", "crc", "gpu_power_w", "GPU power"),
        )
    ),
    repetitions=6,
)
