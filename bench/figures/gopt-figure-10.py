"""G-Opt, figure 10: whole packet handlers with more and more cores."""

from figure import Figure, Panel, Paper, Sweep
from gopt_paper import FORMS, MAKES, ROUTERS, SOURCE

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

# Section 4.2: a dedicated master thread communicates with the GPU for several workers.
WHOLE = {
    "echo": (
        "Echo",
        (
            Paper(
                x=1, y=17.5, label="the paper, CPU", quote="4.4: the CPU achieves ∼ 17.5 Mpps of single-core throughput"
            ),
            Paper(
                x=2,
                y=14.6,
                label="the paper, GPU",
                quote="4.4: communicating each request with the master reduces the single-worker throughput to 14.6 Mpps",
            ),
        ),
    ),
    "ip4": ("IPv4", ()),
    "ip6": (
        "IPv6",
        (
            Paper(
                x=5,
                y=39,
                label="the paper, CPU",
                quote="4.4: our CPU-only implementation achieves 39 Mpps with 5 cores",
            ),
            Paper(
                x=5,
                y=42,
                label="the paper, GPU",
                quote="4.4: it delivers line rate (42 Mpps) with only 4 worker cores, but it requires another core for the master",
            ),
        ),
    ),
    "l2": ("layer 2", ()),
    "ndn": ("NDN", ()),
}


def processor(point):
    """Who looks up, and whose core drives the GPU."""
    if point.get("device") == "cpu":
        return "CPU"
    return "GPU, workers and a master" if point.get("workers") == "yes" else "GPU, every core for itself"


FIGURE = Figure(
    name="gopt-figure-10",
    title="Full system throughput with increasing total CPU cores",
    source=f"{SOURCE} 4.4, figure 10",
    note="(a) to (e): packet handlers without network I/O: frames lie one behind the other, transmission is a descriptor in a ring; batches "
    "of 64. Tables: IPv4 42 MB (32 of them: 1.3 GB), IPv6 0.97 GB, L2 and NDN 356 MB. The others: whole routers, CPU and GPU, on a virtual wire "
    "with 1,000,000 flows; their lookups have the form that is the fastest at the start (gopt is one). Tables: 527,961 IPv4 and 200,000 IPv6 "
    "routes, 1,000,000 addresses and names, all generated. Cores are those of packet threads, the master's included. The paper's GPU "
    "answers Interests without looking at names; here they are looked up.",
    sweeps=(
        Sweep(
            "probe",
            "gopt-handler",
            {"task": list(PANELS), "form": ["as-written", "gopt"], "cores": [1, 2, 4, 8, 16]},
            without=({"task": "echo", "form": "gopt"},),
        ),
        *(
            Sweep(
                "bench",
                ROUTERS[task].chain,
                {"device": ["cpu", "gpu"], "workers": ["no", "yes"], "cores": [1, 2, 4, 8], **ROUTERS[task].traffic},
                "throughput",
                without=({"device": "cpu", "workers": "yes"}, {"workers": "yes", "cores": 1}),
            )
            for task in WHOLE
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
    )
    + tuple(
        Panel(
            y="mpps",
            x="cores",
            x_label="number of CPU cores, the master's included",
            y_label="packets per second [M]",
            series=processor,
            where={"subject": ROUTERS[task].chain},
            title=f"{title}, whole system",
            paper=paper,
        )
        for task, (title, paper) in WHOLE.items()
    ),
    labels=FORMS,
    makes=MAKES,
    repetitions=3,
)
