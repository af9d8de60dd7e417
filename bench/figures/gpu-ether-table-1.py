"""GPU-Ether, table I: what packets on the GPU cost a program on the CPU."""

from figure import Figure, Panel, Paper, Sweep
from gpu_ether import SOURCE

FIGURE = Figure(
    name="gpu-ether-table-1",
    title="A host application beside packets on the GPU",
    source=f"{SOURCE}, section V.E, table I",
    note="Two matrices of integers, which with their product fill the last-level cache, are multiplied on a core of their own (200 rows). "
    "The rings are memif's, in host memory, and a peer on another core moves their indices, or, by itself, polls rings in which nothing moves; the soft NIC's frames lie in GPU "
    "memory, and its threads take them from net_null ports; what the GPU wants of DPDK's packets is packed, and copied to GPU memory and back. 1,024-byte packets.",
    sweeps=(
        Sweep(
            "probe", "host-application", {"beside": ["idle", "peer", "rings", "soft-nic", "dpdk"], "device": ["gpu"]}
        ),
    ),
    panels=(
        Panel(
            y="elapsed_ms",
            x="beside",
            x_label="",
            y_label="elapsed time [ms]",
            title="(a) the application",
            paper=(
                Paper(x="idle", y=8023.4, label="idle", quote="table 1: Idle 8023.4"),
                Paper(x="dpdk", y=23969.2, label="DPDK", quote="table 1: w/ DPDK 23969.2 298.74%"),
                Paper(x="rings", y=8078.4, label="GPU-Ether", quote="table 1: w/ GPU-Ether 8078.4 100.69%"),
            ),
        ),
        Panel(y="mpps", x="beside", x_label="", title="(b) packets meanwhile"),
    ),
    labels={
        "idle": "nothing",
        "peer": "the rings' peer alone",
        "rings": "GPU-driven memif",
        "soft-nic": "soft NIC",
        "dpdk": "DPDK and copies",
    },
)
