"""Rates of all engines of BitVectorClassifier, and of changes of their rules, by the number of rules."""

from figure import Figure, Panel, Sweep

RULES = [64, 256, 1000, 4000, 16000, 50000, 100000, 500000]
MOST = {
    "bitvector": 50000,
    "acl": 16000,
    "tuple": 500000,
    "hypersplit": 16000,
    "auto": 500000,
}  # that fit, or are built within a minute
AXES = {"x": "rules", "x_label": "number of rules"}


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
    "I/O; the GPU from prepared packets of 64 bytes. Updates are of one rule each; bit vectors and rte_acl build all anew for each. "
    "What is missing at the right was refused, or takes minutes to build.",
    sweeps=(
        *(
            Sweep(
                "probe",
                "classifier",
                {"engine": [name], "like": ["acl", "fw"], "rules": [count for count in RULES if count <= most]},
            )
            for name, most in MOST.items()
        ),
        Sweep(
            "probe",
            "classifier-gpu",
            {
                "processor": ["gpu"],
                "engine": ["bitvector"],
                "search": ["packed", "plain", "binary"],
                "like": ["acl", "fw"],
                "rules": [count for count in RULES if count <= 50000],
            },
        ),
        Sweep(
            "probe",
            "classifier-gpu",
            {"processor": ["gpu"], "engine": ["hypersplit"], "search": ["packed"], "like": ["acl"], "rules": RULES},
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
