"""Gaviss, figure 7: the service chains on CPU and GPU."""

from figure import Figure, Panel, Paper
from gaviss import INPUTS, MAKES, SERVICE_CHAINS, SMALL, SOURCE, by_size, processor, service_chain

CORES = 8  # of a machine with 16, half of which generate
STATED = {
    "c1": Paper(y=33.8, label="Gaviss, up to", quote="5.2: Gaviss achieves up to 33.8 Gbps throughput on ... C1"),
    "c4": Paper(
        y=23.5, label="Gaviss, up to", quote="5.2: it achieves up to 23.5 Gbps throughput on the service chain C4"
    ),
}

FIGURE = Figure(
    name="gaviss-figure-7",
    title="Service chains on CPU and GPU",
    source=f"{SOURCE}, section 5.3, figure 7",
    note=f"{INPUTS} {SMALL} {CORES} cores for the CPU alone, and {CORES} beside the GPU, which receive, send and number packets; the paper has 15 "
    "on its CPU and 8 beside the GPU.",
    sweeps=by_size(CORES),
    panels=tuple(
        Panel(
            y="gbps",
            x="size",
            x_label="packet size [B]",
            series=processor,
            title=f"({letter}) {name.upper()}",
            where={"subject": service_chain(name)},
            paper=(STATED[name],) if name in STATED else (),
        )
        for letter, name in zip("abcd", SERVICE_CHAINS, strict=True)
    ),
    makes=MAKES,
    repetitions=3,
)
