"""What figures 4.3 to 4.6 of Schramm's thesis share: the firewall with rule sets of two kinds, by the number of
rules."""

from figure import Figure, Panel, Sweep

SOURCE = "Schramm, Offloading network packet classification to GPUs (2022), section 4.5, figure"
RULES = [64, 256, 1024, 4096, 16384, 50000]  # 4^x, and the most that the thesis' GPU has memory for
SETS = {"random": [1, 2, 3, 4], "fw": [1, 2, 3, 4, 5]}
TITLES = {"random": "(a) random rules", "fw": "(b) rules as ClassBench's for firewalls"}
ON_DEMAND = [
    {"engine": "bitvector", "device": "gpu", "launch": "sync", "cores": cores, "burst": burst}
    for cores, burst in ((1, 64), (1, 512), (1, 1024), (2, 64), (2, 1024))
]
ASYNC = {"engine": "bitvector", "device": "gpu", "launch": "async", "cores": 1, "burst": 512}
PERSISTENT = {"engine": "bitvector", "device": "gpu", "launch": "persistent", "cores": 1, "burst": 512}
ACL = [{"engine": "acl", "device": "cpu", "launch": "persistent", "cores": cores, "burst": 64} for cores in (1, 2)]
ON_CPU = [
    {"engine": engine, "device": "cpu", "launch": "persistent", "cores": 1, "burst": 64}
    for engine in ("bitvector", "tuple")
]
ALL = (*ON_DEMAND, ASYNC, PERSISTENT, *ACL, *ON_CPU)
LAUNCHES = {"sync": "on demand", "async": "asynchronous", "persistent": "persistent"}
MOST_RULES_OF_ACL = 4096  # more take minutes to build
NOTE = (
    "Sets: 4 random ones, and 5 that our generator makes like ClassBench's fw with seeds 1 to 5. Traffic: 65,536 flows with random "
    "addresses and ports, where the thesis counts addresses and ports up; no set takes a rule's side there or here."
)


def implementation(point):
    """Heddle's name for what classifies, and how."""
    queues = f"{point.get('cores')} queue{'s' if point.get('cores') > 1 else ''}"
    if point.get("device") == "cpu":
        return f"{'rte_acl' if point.get('engine') == 'acl' else point.get('engine') + ' on the CPU'}, {queues}"
    return f"GPU, {LAUNCHES[point.get('launch')]}, {queues}, burst {point.get('burst')}"


def sweeps(chain, measure, configurations, **more):
    """Every configuration with every set."""
    result = []
    for kind, sets in SETS.items():
        for one in configurations:
            most = MOST_RULES_OF_ACL if one["engine"] == "acl" else RULES[-1]
            over = {name: [value] for name, value in {**one, **more}.items()}
            over |= {"kind": [kind], "set": sets, "rules": [count for count in RULES if count <= most]}
            result.append(Sweep("bench", chain, {**over, "size": [64], "flows": [65536]}, measure, together="rules"))
    return tuple(result)


def rule_files():
    """The files of all sets, and how they are made."""
    return {
        f"inputs/rules-{kind}-{number}-{count}.txt": [
            "gen",
            "filters",
            "--like",
            kind,
            "-n",
            str(count),
            "--seed",
            str(number),
        ]
        for kind, sets in SETS.items()
        for number in sets
        for count in RULES
    }


def figure(number, title, chains, y, y_label, paper, repetitions=10, note=""):
    """A panel for each kind of rules. `paper`: by kind."""
    return Figure(
        name=f"firewall-{number}",
        title=title,
        source=f"{SOURCE} {number}",
        note=f"{note} {NOTE}".strip(),
        sweeps=chains,
        panels=tuple(
            Panel(
                y=y,
                x="rules",
                x_label="number of rules",
                y_label=y_label,
                series=implementation,
                where={"kind": kind},
                title=TITLES[kind],
                pooled=("set",),
                paper=paper.get(kind, ()),
            )
            for kind in SETS
        ),
        makes=rule_files(),
        repetitions=repetitions,
        point_seconds=120,
    )
