"""Thesis, figure 4.2: what forwarding alone costs."""

from figure import Figure, Panel, Paper, Sweep

SIZES = [64, 128, 256, 512, 1024]
AXES = {"x": "size", "x_label": "packet size [B]", "series": ("cores",)}

FIGURE = Figure(
    name="thesis-4.2",
    title="Baseline CPU results",
    source="Van Hauwaert and Vanliefde, GPU-based Packet Processing (2024), section 4.3, figure 4.2",
    note="The thesis's packets come over a link of 100 Gbit/s; ours from cores of the same machine, over rings in memory.",
    sweeps=(Sweep("bench", "chains/forward.click", {"cores": [1, 2, 3, 4], "size": SIZES}, "throughput"),),
    panels=(
        Panel(
            y="mpps",
            title="(a) throughput in packets",
            paper=(
                Paper(x=64, y=45, label="the generator's limit", quote="4.3: It cannot generate more than 45 Mp/s"),
                Paper(
                    y=30,
                    y_high=40,
                    label="1 core",
                    quote="4.3: the maximum number of packets processed on a single core is in between 30 Mp/s and 40 Mp/s",
                ),
            ),
            **AXES,
        ),
        Panel(
            y="line_gbps",
            title="(b) throughput in bits",
            paper=(
                Paper(y=100, label="the link's limit", quote="4.3: it approaches 100 Gbit/s with packets of 1024 B"),
            ),
            **AXES,
        ),
        Panel(
            y="loss",
            title="(c) loss rate",
            paper=(
                Paper(y=0, label="2 cores and more", quote="4.3: all packets are retransmitted with at least 2 cores"),
            ),
            **AXES,
        ),
    ),
    repetitions=3,
)
