"""G-Opt, figure 4: from how much work on is a GPU worth it?"""

from figure import Figure, Panel, Paper, Sweep

DEPTHS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16]
CPU, GPU = {"processor": ["cpu"], "cores": [1, 2, 4, 8, 16]}, {"processor": ["gpu", "gpu-slots"]}
AXES = {
    "y": "headers_mps",
    "x": "depth",
    "y_label": "headers per second [M]",
    "y_scale": "log",
    "series": ("processor", "cores"),
}
GPUS = {"gpu": "the GPU", "gpu-slots": "the GPU with stamped slots"}
TASKS = {"access": "random memory accesses", "hash": "computation"}


def crossovers(points):
    """Up to which depth the CPU is ahead of the GPU: a sentence a task and way to use the GPU. Of the depths that were
    measured with both, the last one before the first at which the GPU is ahead."""
    medians = {
        (p.get("task"), p.get("processor"), p.get("cores"), p.get("depth")): p.values["headers_mps"].median
        for p in points
    }
    sentences = []
    for task, processor in ((task, gpu) for task in TASKS for gpu in GPUS):
        cores, ends = [], []
        for count in CPU["cores"]:
            ahead = {}  # whether the CPU is, by depth
            for depth in DEPTHS:
                cpu, gpu = medians.get((task, "cpu", count, depth)), medians.get((task, processor, None, depth))
                if cpu is not None and gpu is not None:
                    ahead[depth] = cpu >= gpu
            if ahead:
                behind = next((depth for depth in ahead if not ahead[depth]), None)
                last = max((depth for depth in ahead if behind is None or depth < behind), default=0)
                cores.append(str(count))
                ends.append(f"{last} or more" if behind is None else str(last))
        if ends:
            sentences.append(
                f"{TASKS[task].capitalize()}: with {', '.join(cores)} cores the CPU is ahead of {GPUS[processor]} up to "
                f"D = {', '.join(ends)}{' (0: never)' if '0' in ends else ''}."
            )
    return sentences


FIGURE = Figure(
    name="gopt-figure-4",
    title="CPU and GPU performance for commonly offloaded tasks",
    source="Kalia, Zhou, Kaminsky and Andersen, Raising the Bar for Using GPUs in Software Packet Processing (NSDI 2015), "
    "section 2.6, figure 4",
    note="Batches of 8192; the GPU's times include copying them there and back, one batch after the other. Stamped slots "
    "(further) keep 256 tiles of 32 in flight. The CPU's hashes use its vector units.",
    sweeps=tuple(
        Sweep("probe", "gopt-offload", {"task": [task], "depth": DEPTHS, **processor})
        for task in ("access", "hash")
        for processor in (CPU, GPU)
    ),
    panels=(
        Panel(
            where={"task": "access"},
            title="(a) random memory accesses",
            x_label="D, accesses a header",
            paper=(Paper(x=4, label="up to here the CPU", quote="2.6.1: for D ≤ 4, the CPU outperforms the GPU"),),
            **AXES,
        ),
        Panel(
            where={"task": "hash"},
            title="(b) computation",
            x_label="D, CityHash32 a header",
            paper=(
                Paper(x=3, label="up to here the CPU", quote="2.6.2: the CPU outperforms the GPU if D ≤ 3"),
                Paper(
                    x=3,
                    y=25,
                    label="one core",
                    quote="2.6.2: Computing 3 CityHashes takes ∼ 40ns on one CPU core (so 25 M headers a second)",
                ),
            ),
            **AXES,
        ),
    ),
    findings=crossovers,
    labels={"cpu": "CPU", "gpu": "GPU", "gpu-slots": "GPU, stamped slots"},
)
