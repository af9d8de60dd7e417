"""GPU-Ether, figure 9: forwarding by the GPU, and by DPDK with copies to it."""

from figure import Figure, Panel, Paper
from gpu_ether import PACKED, SIZES, SOFT_NIC, SOURCE, copied, port, ports

FIGURE = Figure(
    name="gpu-ether-figure-9",
    title="Forwarding throughput by packet size",
    source=f"{SOURCE}, section V.C, figure 9",
    note=f"{SOFT_NIC}{PACKED} The paper's link has 10 Gb/s; the wire here has no such limit.",
    sweeps=(
        ports("chains/ports-mirror.click", cores=[1], size=SIZES),
        copied("chains/mirror-batches.click", size=SIZES),
    ),
    panels=(
        Panel(
            y="line_gbps",
            x="size",
            x_label="packet size [B]",
            series=port,
            paper=(
                Paper(
                    x=64,
                    y=8.85,
                    label="GPU-Ether, 64 B",
                    quote="5.3: 100% ... at all packet sizes except 64 bytes (88.5%)",
                ),
                Paper(x=64, y=4.912, label="DPDK, 64 B", quote="5.3: from 64 bytes (49.12%) to 1,514 bytes (80.58%)"),
                Paper(
                    x=1518, y=8.058, label="DPDK, 1,514 B", quote="5.3: from 64 bytes (49.12%) to 1,514 bytes (80.58%)"
                ),
            ),
        ),
    ),
)
