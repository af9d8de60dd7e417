"""Thesis, figure 4.14: performance of packed packets with and without zero-copy."""

from thesis_gpu import PACKED, performance

FIGURE = performance(
    "4.14",
    "4.9",
    "Performance of packed packets with and without zero-copy",
    "The CPU packs what is wanted of packets; the copy engine takes it to the GPU, or kernels read it in host memory.",
    PACKED,
)
