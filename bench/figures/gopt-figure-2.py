"""G-Opt, figure 2: where the time of CPU-GPU communication goes."""

from figure import Figure, Panel, Paper, Sweep

STEPS = ("copy_in_us", "launch_us", "copy_out_us", "wait_us")
NUMBERS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536]
TITLES = {
    "async": "(a) asynchronous functions",
    "sync": "(b) the same, waiting after each step (further)",
    "mapped": "(c) a launch on data in host memory (further)",
}
STATED = (
    Paper(
        y=15,
        label="one byte there and back",
        quote="2.2, after Lustig and Martonosi: it takes ∼15 µs to transfer one byte to and from a GPU",
    ),
    Paper(y=5, label="launch", quote="2.2, after the same: and ∼5 µs to launch the kernel"),
)

FIGURE = Figure(
    name="gopt-figure-2",
    title="Timing breakdown of CPU-GPU communication with CUDA functions",
    source="Kalia, Zhou, Kaminsky and Andersen, Raising the Bar for Using GPUs in Software Packet Processing (NSDI 2015), "
    "section 2.4, figure 2",
    note="The time of an asynchronous call is until it returns; waiting is what is left then.",
    sweeps=(Sweep("probe", "gopt-exchange", {"n": NUMBERS, "method": list(TITLES), "device": ["gpu"]}),),
    panels=tuple(
        Panel(
            y=STEPS,
            x="n",
            x_label="N, 32-bit integers each way",
            y_label="time [µs]",
            where={"method": method},
            title=title,
            paper=STATED if method == "async" else (),
        )
        for method, title in TITLES.items()
    ),
)
