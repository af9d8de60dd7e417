"""Gaviss' chain C4 with functions that share packets on the GPU, and isolated from each other as G-NET's are."""

from figure import Figure, Panel, Sweep
from gaviss import (
    FUNCTIONS,
    INPUTS,
    ISOLATED,
    MAKES,
    SHARED,
    SLOTS,
    SMALL,
    SOURCE,
    TRAFFIC,
    isolation,
    service_chain,
    to_tcp,
)

CORES = 4
UNSHARED = {"share": ["no"], "isolate": ["no"]}
GPU = {"device": ["gpu"], "transport": ["gather"], "cores": [CORES], "size": [64, 1460], **TRAFFIC}
CHAIN = service_chain("c4")
WAYS = ((SHARED, SLOTS), (UNSHARED, SLOTS), (ISOLATED, SLOTS // FUNCTIONS["c4"]))

FIGURE = Figure(
    name="gaviss-isolation",
    title="Chain C4 with functions that share packets, and isolated ones",
    source=f"{SOURCE}, section 5.2, with a baseline in the way of Zhang et al., G-NET (NSDI 2018)",
    note=f"{INPUTS} {SMALL} {CORES} cores. With --isolate each function is a segment of its own: what it reads of packets moves there from the CPU, and "
    "what it has written moves back; headers are parsed again before each but the first, on the CPU. --no-share turns off sharing in GPU memory alone: functions of "
    "one segment still work on the same packets there.",
    sweeps=tuple(
        Sweep("bench", CHAIN, {**GPU, **way, "slots": [slots]}, "throughput", derive=to_tcp) for way, slots in WAYS
    ),
    panels=(
        Panel(y="gbps", x="size", x_label="packet size [B]", series=isolation, title="(a) throughput"),
        Panel(y="bytes_to_gpu", x="size", x_label="packet size [B]", series=isolation, title="(b) to the GPU"),
        Panel(y="bytes_from_gpu", x="size", x_label="packet size [B]", series=isolation, title="(c) back"),
    ),
    makes=MAKES,
    repetitions=3,
)
