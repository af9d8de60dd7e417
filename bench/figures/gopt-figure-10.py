"""G-Opt, figure 10: whole packet handlers with more and more cores."""

from figure import Figure, Panel, Paper, Sweep
from gopt_paper import FORMS, SOURCE

PANELS = {
    "echo": (
        "(a) Echo",
        (Paper(x=1, y=17.5, label="the paper", quote="4.4: the CPU achieves ∼ 17.5 Mpps of single-core throughput"),),
    ),
    "ip4": (
        "(b) IPv4",
        (
            Paper(
                x=1,
                y=16,
                label="the paper, G-Opt",
                quote="4.4: With G-Opt, a single core can process 16 million IPv4 packets per second, which is 59% higher than "
                "the baseline's single-core performance",
            ),
        ),
    ),
    "ip4x32": ("(b) IPv4, 32 tables (further)", ()),
    "ip6": (
        "(c) IPv6",
        (
            Paper(
                x=1,
                y=8.4,
                label="the paper, G-Opt",
                quote="4.4: G-Opt increases single-core throughput by 3.8x from 2.2 Mpps to 8.4 Mpps",
            ),
            Paper(x=1, y=2.2, label="the paper, baseline", quote="4.4: from 2.2 Mpps to 8.4 Mpps"),
        ),
    ),
    "l2": (
        "(d) layer 2",
        (
            Paper(
                x=1,
                y=9.8,
                label="the paper, G-Opt",
                quote="4.4: G-Opt increases the throughput of the baseline by 86%, delivering 9.8 Mpps of single-core "
                "throughput",
            ),
        ),
    ),
    "ndn": (
        "(e) NDN",
        (
            Paper(
                x=1,
                y=7.3,
                label="the paper, G-Opt",
                quote="4.4: G-Opt increases singlecore throughput from 4.8 Mpps to 7.3 Mpps",
            ),
            Paper(x=1, y=4.8, label="the paper, baseline", quote="4.4: from 4.8 Mpps to 7.3 Mpps"),
        ),
    ),
}

FIGURE = Figure(
    name="gopt-figure-10",
    title="Full system throughput with increasing total CPU cores",
    source=f"{SOURCE} 4.4, figure 10",
    note="Packet handlers without network I/O: frames lie one behind the other, transmission is a descriptor in a ring; batches of "
    "64. Tables: IPv4 42 MB (32 of them: 1.3 GB), IPv6 0.97 GB, L2 and NDN 356 MB. The GPU's routers are in gpu-ip6, gpu-l2 and "
    "gpu-ndn of docs/results.md: they need one core for it, not one for each worker.",
    sweeps=(
        Sweep(
            "probe",
            "gopt-handler",
            {"task": list(PANELS), "form": ["as-written", "gopt"], "cores": [1, 2, 4, 8, 16]},
            without=({"task": "echo", "form": "gopt"},),
        ),
    ),
    panels=tuple(
        Panel(
            y="mpps",
            x="cores",
            x_label="number of CPU cores",
            y_label="packets per second [M]",
            series=("form",),
            where={"task": task},
            title=title,
            paper=paper,
        )
        for task, (title, paper) in PANELS.items()
    ),
    labels=FORMS,
    repetitions=3,
)
