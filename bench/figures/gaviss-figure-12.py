"""Gaviss, figure 12: latency of service chains whose functions share packets, and of isolated ones."""

from figure import Figure, Panel, Sweep
from gaviss import (
    FUNCTIONS,
    INPUTS,
    MAKES,
    OPEN,
    OPENED,
    SERVICE_CHAINS,
    SLOTS,
    SOURCE,
    TRAFFIC,
    service_chain,
    to_tcp,
)

CORES = 4
RATE = 4e5
SHARES = {"latency_p50_us": "50 %", "latency_p99_us": "99 %"}


def sharing(point):
    """What functions share."""
    return "isolated" if point.get("share") == "no" else "shared"


GPU = {"device": ["gpu"], "transport": ["gather"], "cores": [CORES], "size": [1024], "rate": [RATE], **TRAFFIC, **OPEN}

FIGURE = Figure(
    name="gaviss-figure-12",
    title="Latency of service chains whose functions share packets, and of isolated ones",
    source=f"{SOURCE}, section 5.5, figure 12",
    note=f"{INPUTS} {CORES} cores, {RATE:,.0f} packets a second of 1,024 bytes. {OPENED} Isolated as in figure 6. The paper's 50th and 95th percentiles "
    "are up to 35.2 and 37.9 % lower with sharing.",
    sweeps=tuple(
        Sweep(
            "bench",
            service_chain(name + suffix),
            {**GPU, "share": [share], "slots": [slots]},
            "latency",
            derive=to_tcp,
        )
        for name in SERVICE_CHAINS
        for suffix, share, slots in (("", "yes", SLOTS), ("-isolated", "no", SLOTS // FUNCTIONS[name]))
    ),
    panels=tuple(
        Panel(
            y=value,
            x="subject",
            x_label="chain",
            y_label="latency [µs]",
            series=sharing,
            title=f"({letter}) {share} of the packets",
        )
        for letter, (value, share) in zip("ab", SHARES.items(), strict=True)
    ),
    labels={
        service_chain(name + suffix): name.upper() + (", isolated" if suffix else "")
        for name in SERVICE_CHAINS
        for suffix in ("", "-isolated")
    },
    makes=MAKES,
    repetitions=3,
)
