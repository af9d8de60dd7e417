"""GPU-Ether: forwarding by the size of the rings, and with them of the pool of buffers, and by the warps that take
packets at a time."""

from figure import Figure, Panel, Sweep
from gpu_ether import SOURCE

FORWARDING = {"function": ["mirror"], "device": ["gpu"], "rings": [1, 4], "size": [64, 1460]}
DESCRIPTORS, WORKERS = 2048, 14  # of one sweep while the other is made
SIZES = {64: "64-byte packets", 1460: "1,460-byte packets"}


def rings(point):
    """How many ring pairs."""
    return f"{point.get('rings')} ring pair{'s' * (point.get('rings') > 1)}"


FIGURE = Figure(
    name="gpu-ether-pools",
    title="Forwarding by descriptors and by warps",
    source=f"{SOURCE}, section IV",
    note="Rings are memif's, in host memory, and a peer in the same process recirculates what lies in them. There is a buffer for each descriptor "
    f"of both rings of a pair. By descriptors: {WORKERS} warps; by warps, each with up to 32 packets (WARP_BATCH): {DESCRIPTORS} descriptors.",
    sweeps=(
        Sweep(
            "probe",
            "ring-forwarding",
            {**FORWARDING, "descriptors": [128, 256, 512, 1024, 2048, 4096, 8192], "workers": [WORKERS]},
        ),
        Sweep(
            "probe",
            "ring-forwarding",
            {**FORWARDING, "descriptors": [DESCRIPTORS], "workers": [1, 2, 4, 8, 33, 66]},
        ),
    ),
    panels=tuple(
        Panel(
            y="mpps",
            x=x,
            x_label=label,
            series=rings,
            title=f"({letter}) {SIZES[size]}",
            where={"size": size, other: usual},
        )
        for letter, (x, label, other, usual, size) in zip(
            "abcd",
            [
                (*axis, size)
                for axis in (
                    ("descriptors", "descriptors of a ring", "workers", WORKERS),
                    ("workers", "warps of a ring pair", "descriptors", DESCRIPTORS),
                )
                for size in SIZES
            ],
            strict=True,
        )
    ),
    repetitions=3,
)
