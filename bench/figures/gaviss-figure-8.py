"""Gaviss, figure 8: the service chains on CPU and GPU by what the machine costs."""

from figure import Figure, Panel
from gaviss import INPUTS, MAKES, SERVICE_CHAINS, SMALL, SOURCE, by_size, processor, service_chain

CORES = 8  # as in figure 7

# Prices are inputs, in thousands of US dollars: put those of the machine that was measured.
# The Xeon of 60 cores at the launch of the fourth generation (wccftech.com, 10 January 2023), as in the paper by core.
CORE = 17.0 / 60
# An H100 SXM, new: 25 to 30 (awesomeagents.ai/hardware/nvidia-h100, early 2026); the higher one.
GPU = 30.0


def price(point):
    """Thousands of dollars for what runs the chain: cores, and the GPU beside them."""
    return point.get("cores") * CORE + (GPU if point.get("device") == "gpu" else 0)


FIGURE = Figure(
    name="gaviss-figure-8",
    title="Service chains on CPU and GPU, by price",
    source=f"{SOURCE}, section 5.3, figure 8",
    note=f"{INPUTS} {SMALL} {CORES} cores for the CPU alone, and {CORES} beside the GPU. A core costs {1000 * CORE:.0f} dollars here, a GPU {GPU:.0f},000; "
    "the paper's 135 and 1,200. Prices are in this figure's file.",
    sweeps=by_size(CORES),
    panels=tuple(
        Panel(
            y="gbps",
            x="size",
            x_label="packet size [B]",
            y_label="Gb/s for 1,000 dollars",
            series=processor,
            per=price,
            title=f"({letter}) {name.upper()}",
            where={"subject": service_chain(name)},
        )
        for letter, name in zip("abcd", SERVICE_CHAINS, strict=True)
    ),
    makes=MAKES,
    repetitions=3,
)
