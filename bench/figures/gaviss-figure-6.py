"""Gaviss, figure 6: what sharing packets and headers gains over functions that are isolated from each other."""

from figure import Figure, Panel, Sweep
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
    service_chain,
    to_tcp,
)

CORES = 4
GPU = {"device": ["gpu"], "transport": ["gather"], "cores": [CORES], "size": SIZES, **TRAFFIC}
PARSING = {"share": ["no"], "isolate": ["no"]}  # chains that are written so that each function parses for itself


def sharing(point):
    """What functions share."""
    if point.subject.endswith("-isolated.click"):
        return "isolated"
    return "--isolate" if point.get("isolate") == "yes" else "shared"


FIGURE = Figure(
    name="gaviss-figure-6",
    title="Service chains whose functions share packets, and isolated ones",
    source=f"{SOURCE}, section 5.2, figure 6",
    note=f"{INPUTS} {SMALL} {CORES} cores. Isolated: headers are parsed on the CPU before each function, and each gathers its packets anew, as in the "
    "paper's baseline, over which Gaviss gains a factor of 2.6 to 13.2, and 10.3 to 13.2 up to 256 bytes (5.2). --isolate: the shared "
    "chain with a segment for each function, for which headers are parsed again.",
    sweeps=tuple(
        Sweep("bench", service_chain(name + suffix), {**GPU, **way, "slots": [slots]}, "throughput", derive=to_tcp)
        for name in SERVICE_CHAINS
        for suffix, way, slots in (
            ("", SHARED, SLOTS),
            ("", ISOLATED, SLOTS // FUNCTIONS[name]),
            ("-isolated", PARSING, SLOTS // FUNCTIONS[name]),
        )
    ),
    panels=tuple(
        Panel(
            y="gbps",
            x="size",
            x_label="packet size [B]",
            series=sharing,
            title=f"({letter}) {name.upper()}",
            where={"subject": (service_chain(name), service_chain(f"{name}-isolated"))},
        )
        for letter, name in zip("abcd", SERVICE_CHAINS, strict=True)
    ),
    makes=MAKES,
    repetitions=3,
)
