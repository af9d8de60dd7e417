"""Gaviss, figure 13: packets that come back from the GPU, all of them or without those that were dropped."""

from figure import Figure, Panel, Paper, Sweep
from gaviss import SOURCE

SPREADS = {"uniform": "evenly spread", "random": "at random places", "clustered": "beside each other"}
WAYS = {
    "all": "all transferred (Gaviss)",
    "copies": "a copy for each part that is kept",
    "batch": "all parts in one call (further)",
    "kernel": "a kernel writes what is kept (further)",
}

FIGURE = Figure(
    name="gaviss-figure-13",
    title="Transfers of packets from the GPU with and without those that were dropped",
    source=f"{SOURCE}, section 5.6, figure 13",
    note="200 packets of 1,024 bytes, 200 KB as in the paper; the time from the first call until all are in the host's memory. A kernel that writes "
    "what is kept is what Heddle's own kernels do behind a chain.",
    sweeps=(
        Sweep(
            "probe",
            "gaviss-drops",
            {
                "device": ["gpu"],
                "dropped": [0, 10, 20, 30, 40, 50, 60, 70, 80, 90],
                "spread": list(SPREADS),
                "way": list(WAYS),
            },
        ),
    ),
    panels=tuple(
        Panel(
            y="kept_gbps",
            x="dropped",
            x_label="dropped packets [%]",
            y_label="bytes of kept packets [Gb/s]",
            series=("way",),
            title=f"({letter}) dropped packets {SPREADS[spread]}",
            where={"spread": spread},
            paper=(
                Paper(
                    x=40,
                    label="15.3 times as slow as all transferred",
                    quote="5.6: the speed of selective-transfer can be up to 15.3 times slower than the all-transfer scheme in Gaviss "
                    "(40% packets are dropped)",
                ),
            )
            if spread == "uniform"
            else (),
        )
        for letter, spread in zip("abc", SPREADS, strict=True)
    ),
    labels={("way", name): label for name, label in WAYS.items()},
)
