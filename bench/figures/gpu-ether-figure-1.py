"""GPU-Ether, figure 1: the latency of ways from the wire to the GPU and back."""

from figure import Figure, Panel
from gpu_ether import SIZES, SOFT_NIC, SOURCE, copied, port, ports

OVER = {"size": SIZES, "rate": [10000]}

FIGURE = Figure(
    name="gpu-ether-figure-1",
    title="Latency of ways from the wire to the GPU",
    source=f"{SOURCE}, section II, figure 1",
    note=SOFT_NIC
    + "DPDK's packets are copied to GPU memory and back, each by itself, and so are the socket's. The UDP socket is on the loopback "
    "device, without a NIC's driver and interrupts, and both its ends are polled; its latency has what the client's kernel does as well, which "
    "in the paper is in all three. The text states no values but those of its own link.",
    sweeps=(
        ports("chains/ports-mirror.click", "latency", cores=[1], **OVER),
        copied("chains/mirror-batches.click", "latency", minimum=[1], **OVER),
        copied("chains/mirror-socket.click", "latency", minimum=[1], **OVER),
    ),
    panels=(
        Panel(y="latency_mean_us", x="size", x_label="packet size [B]", y_label="average latency [µs]", series=port),
    ),
    repetitions=3,
)
