"""Thesis, figure 4.13: the GPU's power in figure 4.12."""

from thesis_gpu import BY_PLACE, power

FIGURE = power("4.13", "4.8", "GPU power: performance by place of the packets and launch mode", BY_PLACE)
