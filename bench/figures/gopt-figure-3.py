"""G-Opt, figure 3: the least time that it takes to involve a GPU."""

from figure import Figure, Panel, Paper, Sweep

METHODS = {
    "polling": "polling on mapped memory",
    "async": "asynchronous CUDA functions",
    "mapped": "launch on mapped memory (further)",
    "slots": "stamped slots (further)",
}

FIGURE = Figure(
    name="gopt-figure-3",
    title="Minimum time for GPU involvement",
    source="Kalia, Zhou, Kaminsky and Andersen, Raising the Bar for Using GPUs in Software Packet Processing (NSDI 2015), "
    "section 2.4, figure 3",
    note="Stamped slots: each word carries data and readiness, so no flag is polled and no kernel launched.",
    sweeps=(
        Sweep(
            "probe",
            "gopt-exchange",
            {"n": [1, 4, 16, 32, 64, 256, 1024, 4096, 16384, 65536], "method": list(METHODS), "device": ["gpu"]},
        ),
    ),
    panels=(
        Panel(
            y="total_us",
            x="n",
            x_label="N, 32-bit integers each way",
            y_label="time [µs]",
            y_scale="log",
            series=("method",),
            paper=(
                Paper(
                    x=1000,
                    label="polling becomes slower than CUDA functions",
                    quote="2.4: polling ... becomes slower than CUDA functions for N ∼ 1000",
                ),
            ),
        ),
    ),
    labels={("method", name): label for name, label in METHODS.items()},
)
