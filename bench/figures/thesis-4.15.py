"""Thesis, figure 4.15: the GPU's power in figure 4.14."""

from thesis_gpu import PACKED, power

FIGURE = power("4.15", "4.9", "GPU power: performance of packed packets with and without zero-copy", PACKED)
