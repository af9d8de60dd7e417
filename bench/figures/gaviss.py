"""What the figures of Gaviss share: its service chains, and chains of functions that want whole packets, which stay on
the GPU between them or do not."""

from figure import Sweep

SOURCE = "Guo, Zhang and Wang, Gaviss (TPDS 2022)"
CHAINS = {number: f"chains/whole-packets-{number}.click" for number in (1, 2, 4)}
# Section 5.1: 10,000 flows of TCP.
FLOWS = {"flows": [10000]}
LEAST_OF_TCP = 76  # bytes of a frame with the generator's signature
# Four functions that do not share are four segments, whose resident blocks must fit on the GPU: 32 slots for each.
GATHERED = {"device": ["gpu"], "transport": ["gather"], "share": ["yes", "no"], "slots": [32], **FLOWS}


def to_tcp(point):
    """The protocol of a point's packets: TCP, but for sizes that have no room for it."""
    return {"protocol": "tcp"} if point["size"] >= LEAST_OF_TCP else {}


def shared(point):
    """Whether packets stay, and the functions."""
    number = next(n for n, chain in CHAINS.items() if chain == point.subject)
    return f"{number} function{'s' * (number > 1)}, {'shared' if point.get('share') == 'yes' else 'not shared'}"


# Section 5.1. The paper's rule and route sets are not published.
FUNCTIONS = {"c1": 2, "c2": 3, "c3": 3, "c4": 4}
SERVICE_CHAINS = list(FUNCTIONS)
SIZES = [64, 128, 256, 512, 1024, 1518]
TRAFFIC = {**FLOWS, "addresses": ["routes:inputs/routes-10000.txt"]}
MAKES = {
    "inputs/rules-1000.txt": ["gen", "filters", "-n", "1000", "--like", "acl"],
    "inputs/signatures-147.rules": ["gen", "patterns", "-n", "147", "--rules"],
    "inputs/associations-1000.txt": ["gen", "associations", "-n", "1000"],
    "inputs/routes-10000.txt": ["gen", "routes", "-n", "10000", "--hops", "4"],
}
INPUTS = "10,000 flows of TCP, 147 signatures, and 1,000 rules, 1,000 associations and 10,000 routes, all generated; every packet passes."
# With frames of 64 bytes.
SMALL = f"Frames of 64 bytes are of UDP, since TCP's headers and the generator's signature take {LEAST_OF_TCP}."


# For latencies: what leaves is opened again, for the generator knows its packets by their payload.
OPEN = {"open": ["true"]}
OPENED = "What leaves the gateway is opened again on the CPU, which is part of the latency."


# What functions on the GPU share: packets, or nothing.
SHARED, ISOLATED = {"share": ["yes"], "isolate": ["no"]}, {"share": ["yes"], "isolate": ["yes"]}
SLOTS = 128  # a core, as many as are resident at once; isolated functions have segments of their own, and share them


def isolation(point):
    """The option of `heddle run`."""
    if point.get("isolate") == "yes":
        return "--isolate"
    return "--no-share" if point.get("share") == "no" else "shared"


def service_chain(name):
    """Its file."""
    return f"chains/gaviss-{name}.click"


def by_size(cores):
    """Sweeps of the service chains' throughput by packet size, on the CPU alone and on the GPU, each with so many
    cores."""
    return tuple(
        Sweep(
            "bench",
            service_chain(name),
            {"device": ["cpu", "gpu"], "cores": [cores], "size": SIZES, **TRAFFIC},
            "throughput",
            derive=to_tcp,
        )
        for name in SERVICE_CHAINS
    )


def processor(point):
    """Who runs the functions."""
    return "CPU" if point.get("device") == "cpu" else "GPU"


# Transfers by copy engine, as the paper has them: figures 2 and 10.
RATES = [20, 50, 100, 200]
COPIES = (
    "Transfers alone, by copy engine, with batches of 1,024 packets of 1,024 bytes: each function asks for its own as the batch comes to it, at a "
    "random moment of the batch's time, and has a stream of its own. The firewall (F) wants 13 bytes of each packet, the NIDS (N) the payload, "
    "the router (R) 4 bytes, the IPsec gateway (I) all, and back. Functions that share packets have them transferred once, and only "
    "states of their own (keys, an automaton's) beside them."
)


def copies_of(*chains):
    """Their transfers, with packets shared or not."""
    return Sweep(
        "probe",
        "gaviss-conflicts",
        {"device": ["gpu"], "chain": list(chains), "share": ["no", "yes"], "gbps": RATES},
    )
