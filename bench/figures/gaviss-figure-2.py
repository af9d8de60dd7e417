"""Gaviss, figure 2: what further functions cost a packet in latency."""

from figure import Figure, Panel, Sweep
from gaviss import CHAINS, COPIES, GATHERED, SOURCE, copies_of, shared, to_tcp


def transfers(point):
    """The chain, and whose transfers these are."""
    whose = "packets, shared" if point.get("share") == "yes" else "the router's"
    return f"{'-'.join(point.get('chain'))}: {whose}"


FIGURE = Figure(
    name="gaviss-figure-2",
    title="Latency of packets by the number of functions on the GPU",
    source=f"{SOURCE}, section 2.2, figure 2",
    note="The paper measures the transfer of the first function's packets to the GPU, 3.2 times as long with four functions as with "
    "one (2.0 times with sharing, section 5.4). (a) is that. In (b) a function's packets are gathered by its own kernel, as Heddle does it, so the whole way is "
    f"timed. {COPIES}",
    sweeps=(
        copies_of("R", "RI", "NRI", "FNRI"),
        *(
            Sweep(
                "bench",
                chain,
                {**GATHERED, "cores": [1], "size": [1024], "rate": [1e5, 1e6, 2e6]},
                "latency",
                derive=to_tcp,
            )
            for chain in CHAINS.values()
        ),
    ),
    panels=(
        Panel(
            y="copy_us",
            x="gbps",
            x_label="traffic [Gb/s]",
            y_label="average time of a transfer to the GPU [µs]",
            y_scale="log",
            series=transfers,
            title="(a) transfers by copy engine",
        ),
        Panel(
            y="latency_mean_us",
            x="rate",
            x_label="packets a second",
            y_label="average latency [µs]",
            series=shared,
            title="(b) packets' way through chains of 1, 2 and 4 functions",
        ),
    ),
    repetitions=3,
)
