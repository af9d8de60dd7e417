"""Thesis, figure 4.12: performance by place of the packets and launch mode."""

from thesis_gpu import BY_PLACE, performance

FIGURE = performance(
    "4.12",
    "4.8",
    "Performance by place of the packets and launch mode",
    "The thesis's packets come from the NIC into CPU or GPU memory. Here they come into CPU memory, and kernels read them "
    "there, gather them, or find them in GPU memory by the copy engine.",
    BY_PLACE,
)
