"""Gaviss, figure 9: the bytes that go to the GPU with functions that share packets, and with isolated ones."""

from figure import Figure, Panel, Paper, Sweep
from gaviss import (
    FUNCTIONS,
    INPUTS,
    ISOLATED,
    MAKES,
    SERVICE_CHAINS,
    SHARED,
    SIZES,
    SLOTS,
    SMALL,
    SOURCE,
    TRAFFIC,
    isolation,
    service_chain,
    to_tcp,
)

CORES = 4  # as in figure 6, of whose points these are some
GPU = {"device": ["gpu"], "transport": ["gather"], "cores": [CORES], "size": SIZES, **TRAFFIC}
ALONE = "--isolate"
STATED = Paper(
    y=1 - 0.484,
    y_high=1 - 0.243,
    label="Gaviss, all chains and sizes",
    quote="5.4: For the four service chains, the GPU memory sharing reduces the amount of transferred data by 24.3–48.4% "
    "in the HtoD direction",
)

FIGURE = Figure(
    name="gaviss-figure-9",
    title="Bytes to the GPU with functions that share packets, and with isolated ones",
    source=f"{SOURCE}, section 5.4, figure 9",
    note=f"{INPUTS} {SMALL} {CORES} cores. For each packet, from the engine's own counters: what kernels gather, and the words and columns of slots, "
    f"which count in whole. With {ALONE} each function is a segment of its own, to which packets go anew; a router gets destinations alone. "
    "The paper moves keys and automata of the functions as well, which weigh more with small packets; here they are on the GPU already.",
    sweeps=tuple(
        Sweep("bench", service_chain(name), {**GPU, **way, "slots": [slots]}, "throughput", derive=to_tcp)
        for name in SERVICE_CHAINS
        for way, slots in ((SHARED, SLOTS), (ISOLATED, SLOTS // FUNCTIONS[name]))
    ),
    panels=tuple(
        Panel(
            y="bytes_to_gpu",
            x="size",
            x_label="packet size [B]",
            y_label="bytes to the GPU, of those isolated",
            series=isolation,
            of=ALONE,
            title=f"({letter}) {name.upper()}",
            where={"subject": service_chain(name)},
            paper=(STATED,),
        )
        for letter, name in zip("abcd", SERVICE_CHAINS, strict=True)
    ),
    makes=MAKES,
    repetitions=3,
)
