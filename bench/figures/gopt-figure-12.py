"""G-Opt, figure 12: pattern matching, in turns and sorted."""

from figure import Figure, Panel, Paper, Sweep
from gopt_paper import SOURCE

FIGURE = Figure(
    name="gopt-figure-12",
    title="Pattern matching gains (no network I/O)",
    source=f"{SOURCE} 5, figure 12",
    note="23,331 generated patterns in 450 automata, 383,002 states (the paper's: 301,857), rows of 512 bytes, 196 MB; generated payloads of "
    "words and beginnings of patterns, batches of 8,192. 0 bytes: a mixture of 64 to 1,460.",
    sweeps=(Sweep("probe", "gopt-aho-corasick", {"bytes": [0, 64, 256, 1024]}),),
    panels=(
        Panel(
            y="speedup",
            x="bytes",
            title="sorted and in turns over packet by packet",
            x_label="payload [B]",
            y_label="speedup",
            paper=(
                Paper(
                    y=2.4,
                    label="the paper, at least",
                    quote="5: these optimizations increase single-core matching throughput by 2.4x or more",
                ),
            ),
        ),
        *(
            Panel(y=y, x="bytes", title=title, x_label="payload [B]", y_label="throughput [Gb/s]")
            for y, title in (
                ("one_by_one", "packet by packet"),
                ("in_turns", "in turns"),
                ("sorted", "sorted and in turns"),
            )
        ),
    ),
    repetitions=3,
    point_seconds=240,
)
