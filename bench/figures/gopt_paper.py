"""What the figures of "Raising the Bar for Using GPUs in Software Packet Processing" share."""

SOURCE = "Kalia, Zhou, Kaminsky and Andersen, Raising the Bar for Using GPUs in Software Packet Processing (NSDI 2015), section"
FORMS = {
    "as-written": "as written",
    "gopt": "gopt",
    "by-hand": "group prefetching by hand",
    "coroutine": "gopt, coroutines",
    "group": "gopt, group prefetching",
}
TASKS = {"cuckoo": "cuckoo hashing", "chase": "pointer chasing", "ip6": "IPv6 lookup"}
TABLES = (
    "Pointer chasing: D = 100 in 1 GB; cuckoo hashing: 40,000,000 keys in 512 MB; IPv6: a trie as DPDK's LPM6 of 200,000 random "
    "prefixes of 48 to 64 bits, 0.97 GB. One core, its own time."
)
