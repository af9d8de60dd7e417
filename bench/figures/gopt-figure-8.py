"""G-Opt, figure 8: what the transformation gains in lookups."""

from figure import Figure, Panel, Paper, Sweep
from gopt_paper import FORMS, SOURCE, TABLES, TASKS

FIGURE = Figure(
    name="gopt-figure-8",
    title="Speedup with G-Opt and manual group prefetching",
    source=f"{SOURCE} 3.3.1, figure 8",
    note=f"{TABLES} The paper's table lies in 32 GB of DRAM behind 20 MB of cache.",
    sweeps=(
        Sweep(
            "probe",
            "gopt-lookup",
            {"task": list(TASKS), "form": list(FORMS)[1:], "counted": [0]},
            # gopt's group prefetching takes loops of which every lookup runs the same number of rounds.
            without=tuple({"task": task, "form": "group"} for task in ("cuckoo", "ip6")),
        ),
    ),
    panels=(
        Panel(
            y="speedup",
            x="task",
            series=("form",),
            x_label="",
            y_label="speedup over the code as written",
            paper=(
                Paper(
                    x="cuckoo", y=2.6, label="the paper, G-Opt", quote="3.3.1: G-Opt speeds up cuckoo hashing by 2.6x"
                ),
                Paper(
                    x="chase", y=6.6, label="the paper, G-Opt", quote="3.3.1: pointer chasing (with D = 100) by 6.6x"
                ),
                Paper(x="ip6", y=2, label="the paper, G-Opt", quote="3.3.1: and IPv6 lookups by 2x"),
            ),
        ),
    ),
    labels={**FORMS, **TASKS},
)
