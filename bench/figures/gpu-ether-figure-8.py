"""GPU-Ether, figure 8: what the packet I/O itself can do, by three kernels as in the paper, and by one."""

from figure import Figure, Panel, Paper, Sweep
from gpu_ether import SOURCE

# Section IV.A: kernels of 512 threads, a descriptor each, of which warp_batch receive or transmit at a time.
LAUNCH = {"device": ["gpu"], "rings": [1], "descriptors": [512], "workers": [128 // 32]}
KERNELS = {"split": "three kernels", "fused": "one kernel"}
FUNCTIONS = {"drop": "received", "mirror": "received and transmitted"}
SIZES = [64, 128, 256, 512, 1024, 1514]


def called(point):
    """A curve's name in the legend."""
    return f"{FUNCTIONS[point.get('function')]}, {KERNELS[point.get('kernels')]}"


FIGURE = Figure(
    name="gpu-ether-figure-8",
    title="Receive and transmit throughput by packet size",
    source=f"{SOURCE}, section V.B, figure 8",
    note="Rings are memif's, in host memory, and a peer in the same process recirculates what lies in them; the paper's link has 10 Gb/s. "
    "Received: CheckIPHeader finds a wrong checksum and drops all, so the third kernel has buffers to give back and nothing to send. Nothing "
    "here makes packets on the GPU, so transmitting is measured together with receiving. One ring pair, 512 descriptors, a WARP_BATCH of 128; "
    "where the paper's kernels have 512 threads of which four warps work at a time, each kernel here has these four warps and one for the rings.",
    sweeps=(
        Sweep(
            "probe",
            "ring-forwarding",
            {**LAUNCH, "kernels": list(KERNELS), "function": list(FUNCTIONS), "size": SIZES},
        ),
    ),
    panels=(
        Panel(
            y="line_gbps",
            x="size",
            x_label="packet size [B]",
            series=called,
            paper=(
                Paper(
                    y=10,
                    label="the paper's line rate",
                    quote="5.2: GPU-Ether can achieve line-rate for all packet sizes except for transmitting 64-byte packets",
                ),
                Paper(
                    x=64,
                    y=9.4,
                    label="the paper's transmit, 64 B",
                    quote="5.2: except for transmitting 64-byte packets (94%)",
                ),
            ),
        ),
    ),
)
