"""gopt: hides the latency of memory in batched lookups written in C.

A batched lookup is a function with a `foreach (i, n)` loop over independent lookups and a mark `g_expensive(address)`
before each access that probably misses the caches. gopt rewrites the loop so that a lookup prefetches the address and
lets the next lookup run while the memory answers (Kalia, Zhou, Kaminsky, Andersen, "Raising the Bar for Using GPUs in
Software Packet Processing", NSDI 2015, section 3.2).
"""

__version__ = "0.1.0"
