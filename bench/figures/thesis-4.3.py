"""Thesis, figure 4.3: Ethernet mirroring."""

from figure import Paper
from thesis import comparison
from thesis_ports import as_doca

FIGURE = comparison(
    "4.3",
    "Ethernet mirror performance depending on implementation",
    ["chains/mirror.click"],
    as_doca("mirror"),
    throughput=(
        Paper(
            y=100,
            label="all, large packets",
            quote="4.4: For large packet sizes, all implementations are able to saturate the 100 Gbit/s link",
        ),
    ),
    latency=(
        Paper(x=64, y=10, label="CPU", quote="4.4: The CPU has a latency of the order of 10 µs with small packets"),
        Paper(y=20, label="DPU", quote="4.4: The SmartNIC performs worse, around 20 µs"),
        Paper(y=35, label="CL", quote="4.4: the CL version ... providing a lower latency (around 35 µs)"),
        Paper(y=50, label="ROI", quote="4.4: The ROI version has a bit more latency (around 50 µs)"),
        Paper(y=50, label="DOCA", quote="4.4: DOCA offers about the same latency as the ROI implementation"),
    ),
)
