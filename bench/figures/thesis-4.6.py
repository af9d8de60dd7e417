"""Thesis, figure 4.6: latency at the highest rate that loses nothing."""

from figure import Figure, Paper, Sweep
from thesis import SIZES, SOURCE, routes
from thesis_gpu import APPLICATIONS, derived, in_batches, panel, single, way

WAYS = [("async", "commlist"), ("async", "coalescent")]
SLOTS = [("persistent", "direct")]
STATED = {
    "crc": (
        Paper(
            x=1024,
            y=800,
            label="CL, 1024 B",
            quote="4.4: the CL implementation introduces a latency of around 800 µs to compute the CRC for 1024 B packets",
        ),
    )
}


def sweeps(application):
    """The CPU, the GPU in batches of 1,024 packets as the thesis has it, and slots, which need no batches."""
    over = {"cores": [4], "size": SIZES[::2]}
    rest = (over, "zero-loss", (), derived(application))
    alone = [("cpu", "persistent", "direct"), *(("gpu", *each) for each in SLOTS)]
    return [
        *in_batches(application, WAYS, "zero-loss", **over),
        *(
            Sweep(
                "bench",
                single(application),
                {"device": [device], "launch": [launch], "transport": [transport], **rest[0]},
                *rest[1:],
            )
            for device, launch, transport in alone
        ),
    ]


FIGURE = Figure(
    name="thesis-4.6",
    title="Latency at the zero-loss throughput",
    source=f"{SOURCE}, section 4.4, figure 4.6",
    note="Launches get batches of 1,024 packets; slots take packets as they come. Lists copy packets to GPU memory by the copy "
    "engine: there is no NIC that writes there.",
    sweeps=tuple(sweep for application in APPLICATIONS for sweep in sweeps(application)),
    panels=tuple(
        panel(
            application,
            letter,
            "latency_mean_us",
            "latency",
            STATED.get(application, ()),
            "zero-loss",
            x="size",
            x_label="packet size [B]",
            y_label="average latency [µs]",
            y_scale="log",
            series=way,
        )
        for letter, application in zip("abc", APPLICATIONS, strict=True)
    ),
    makes=routes(100),
    repetitions=3,
    point_seconds=120,
)
