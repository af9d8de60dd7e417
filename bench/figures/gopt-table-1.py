"""G-Opt, table 1: random accesses a second."""

from figure import Figure, Panel, Paper, Sweep

RATES = {  # M/s
    "Xeon E5-2680": 595,
    "Xeon E5-2650 v2": 464,
    "i7-4770": 262,
    "Tesla K20": 792,
    "GTX 980": 1260,
    "GTX 650 Ti": 597,
}

FIGURE = Figure(
    name="gopt-table-1",
    title="Measured random access rate",
    source="Kalia, Zhou, Kaminsky and Andersen, Raising the Bar for Using GPUs in Software Packet Processing (NSDI 2015), "
    "section 2.5, table 1",
    note="A permutation of 2^28 32-bit numbers (1 GB, in huge pages here), chains of D = 10; B chains at once.",
    sweeps=(
        Sweep(
            "probe", "gopt-access", {"processor": ["cpu"], "cores": [1, 2, 4, 8, 16], "chains": [1, 4, 8, 16, 32, 64]}
        ),
        Sweep("probe", "gopt-access", {"processor": ["gpu"], "chains": [2**k for k in range(12, 23, 2)] + [2**19]}),
    ),
    panels=(
        Panel(
            y="access_rate",
            x="processor",
            best=True,
            title="the table: the best of each",
            y_label="random accesses per second [M]",
            x_label="",
            paper=tuple(
                Paper(x=name, y=rate, label="table 1", quote=f"table 1: {name}: {rate} M/s")
                for name, rate in RATES.items()
            ),
        ),
        Panel(
            y="access_rate",
            x="cores",
            series=("chains",),
            where={"processor": "cpu"},
            title="CPU (further)",
            y_label="random accesses per second [M]",
        ),
        Panel(
            y="access_rate",
            x="chains",
            where={"processor": "gpu"},
            title="GPU (further)",
            x_label="B, chains (threads)",
            y_label="random accesses per second [M]",
        ),
    ),
    labels={"cpu": "CPU here", "gpu": "GPU here"},
)
