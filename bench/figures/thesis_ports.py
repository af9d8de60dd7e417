"""What figures 4.3 to 4.5, 4.11, 4.16 and 4.17 of the thesis share: ring pairs that the GPU drives, in the place of
DOCA's."""

import thesis
from gpu_ether import ports
from thesis import no_more, to_routes, with_fixed_rate

NOTE = (
    "Here Heddle's GPU ports stand in DOCA's place, with a soft NIC (docs/gpu-io.md): a block of up to 512 threads a queue, "
    "for the CRC teams of 128 threads, where the thesis has 32."
)
QUEUES = [1, 2, 4, 8]
SIZES = [64, 256, 1024]


def queues(point):
    """Ring pairs of the port."""
    number = point.get("queues")
    return f"{number} queue{'s' * (number != 1)}"


def derived(application):
    """Where packets go."""
    return to_routes if application == "lookup" else no_more


def throughput(application, queues=QUEUES, sizes=SIZES):
    """A sweep at the highest load."""
    return ports(f"chains/ports-{application}.click", derive=derived(application), cores=[1], queues=queues, size=sizes)


def latency(application, queues=QUEUES):
    """A sweep at 100 Mbit/s (4.2.2)."""
    return ports(
        f"chains/ports-{application}.click",
        "latency",
        with_fixed_rate(derived(application)),
        cores=[1],
        queues=queues,
        size=SIZES,
    )


def as_doca(application):
    """Sweeps for figures 4.3 to 4.5, where DOCA has 8 queues (4.4): of throughput and latency."""
    return throughput(application, [8], thesis.SIZES), latency(application, [8])
