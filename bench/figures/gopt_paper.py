"""What the figures of "Raising the Bar for Using GPUs in Software Packet Processing" share."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Router:
    """One of section 4's as a chain, and its workload: parameters of `heddle bench`, each with one value."""

    chain: str
    traffic: dict


def router(name, size, table="", **chain):
    """`table`: what addresses are from; then with as many flows as make most lookups miss the caches."""
    lookups = {"flows": [1_000_000], "addresses": [table]} if table else {}
    return Router(f"chains/{name}.click", {**chain, "size": [size], **lookups})


# Frames are the shortest that have room for the generator's signature.
ROUTERS = {
    "echo": router("echo", 64),
    "ip4": router("gopt-ip4", 64, "routes:inputs/routes-527961.txt", routes=[527_961]),
    "ip6": router("gopt-ip6", 84, "routes6:inputs/routes6-200000.txt", routes=[200_000]),
    "l2": router("gopt-l2", 64, "macs:inputs/macs-1000000.txt", macs=[1_000_000]),
    "ndn": router("gopt-ndn", 128, "names:inputs/names-1000000.txt", names=[1_000_000]),
}
MAKES = {
    "inputs/routes-527961.txt": ["gen", "routes", "-n", "527961", "--hops", "4"],
    "inputs/routes6-200000.txt": ["gen", "routes", "-n", "200000", "--ipv6", "--hops", "4"],
    "inputs/macs-1000000.txt": ["gen", "macs", "-n", "1000000", "--ports", "3"],
    "inputs/names-1000000.txt": ["gen", "names", "-n", "1000000", "--hops", "4"],
}
