"""G-Opt, figure 9: more instructions, fewer cycles."""

from figure import Figure, Panel, Sweep
from gopt_paper import FORMS, SOURCE, TABLES, TASKS

AXES = {"x": "task", "series": ("form",), "x_label": ""}

FIGURE = Figure(
    name="gopt-figure-9",
    title="Instruction count and IPC with G-Opt",
    source=f"{SOURCE} 3.3.2, figure 9",
    note=f"{TABLES} Instructions are counted by single steps, in 256 lookups; cycles are those of the time stamp counter, so that IPC "
    "is too high where the core runs faster than that. For pointer chasing both are an access's. The paper's text states no values.",
    sweeps=(Sweep("probe", "gopt-lookup", {"task": list(TASKS), "form": list(FORMS)[:3]}),),
    panels=(
        Panel(y="instructions", title="(a) instructions", y_label="instructions a lookup", **AXES),
        Panel(y="ipc", title="(b) instructions a cycle", y_label="IPC", **AXES),
        Panel(y="cycles", title="(c) cycles (further)", y_label="cycles a lookup", **AXES),
    ),
    labels={**FORMS, **TASKS},
)
