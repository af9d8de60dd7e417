"""Rates of all engines of BitVectorClassifier, and of changes of their rules, by the number of rules."""

from figure import Figure, Panel, Sweep

RULES = [64, 256, 1000, 4000, 16000, 50000, 100000, 500000]
MOST = {  # rules of each engine, by what they are like, that fit, or are built within a minute
    ("bitvector", "acl"): 50000,
    ("bitvector", "fw"): 50000,
    ("acl", "acl"): 16000,
    ("acl", "fw"): 16000,
    ("tuple", "acl"): 500000,
    ("tuple", "fw"): 500000,
    ("hypersplit", "acl"): 500000,
    ("hypersplit", "fw"): 50000,
    ("auto", "acl"): 500000,
    ("auto", "fw"): 500000,
}
COMPARED = [1000, 16000, 50000]  # numbers of rules with which a GPU searches in the other ways as well
AXES = {"x": "rules", "x_label": "number of rules"}


def up_to(most):
    """The numbers of rules up to this one."""
    return [count for count in RULES if count <= most]


def engine(point):
    """Heddle's name for what classifies."""
    search = point.get("search")
    if search:
        return point.get("engine") + ", GPU" + ("" if search == "packed" else f", {search} search")
    return {"acl": "rte_acl", "auto": "ENGINE auto"}.get(point.get("engine"), point.get("engine"))


FIGURE = Figure(
    name="classifier-engines",
    title="Rules, rates and updates of every engine",
    source="Heddle's own",
    note="Rules and keys as ClassBench makes access lists and firewalls, 80 % of the keys within a rule. Engines on one core, without "
    "I/O; the GPU from prepared packets of 64 bytes. Updates are of one rule each, one right behind the other: bit vectors and trees list "
    "it and are built anew aside, for which it waits when the list is full; rte_acl builds all anew for each. What is missing at the "
    "right was refused, or takes minutes to build.",
    sweeps=(
        *(
            Sweep("probe", "classifier", {"engine": [name], "like": [like], "rules": up_to(most)})
            for (name, like), most in MOST.items()
        ),
        *(
            Sweep(
                "probe",
                "classifier-gpu",
                {
                    "processor": ["gpu"],
                    "engine": [name],
                    "search": ["packed"],
                    "like": [like],
                    "rules": up_to(MOST[name, like]),
                },
            )
            for name in ("bitvector", "tuple", "hypersplit")
            for like in ("acl", "fw")
        ),
        Sweep(
            "probe",
            "classifier-gpu",
            {
                "processor": ["gpu"],
                "engine": ["bitvector"],
                "search": ["plain", "binary"],
                "like": ["acl", "fw"],
                "rules": COMPARED,
            },
        ),
    ),
    panels=(
        *(
            Panel(
                y="mpps",
                series=engine,
                where={"like": like},
                title=f"({letter}) rate, rules like {like}",
                y_label="million a second",
                y_scale="log",
                **AXES,
            )
            for letter, like in (("a", "acl"), ("b", "fw"))
        ),
        *(
            Panel(
                y="updates",
                series=engine,
                where={"like": like, "measure": "classifier"},
                title=f"({letter}) updates, rules like {like}",
                y_label="updates a second",
                y_scale="log",
                **AXES,
            )
            for letter, like in (("c", "acl"), ("d", "fw"))
        ),
    ),
    repetitions=3,
    point_seconds=180,
)
