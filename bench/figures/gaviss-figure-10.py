"""Gaviss, figure 10: transfers to the GPU that get in each other's way, of functions that share packets and of
others."""

from figure import Figure, Panel
from gaviss import COPIES, SOURCE, copies_of

UNDER_WAY = tuple(f"under_way_{n}" for n in range(1, 5))

FIGURE = Figure(
    name="gaviss-figure-10",
    title="Transfers to the GPU by copy engine that are under way at once",
    source=f"{SOURCE}, section 5.4, figure 10",
    note=f"{COPIES} The paper shows a part of a timeline; here is how much of the time in which something was transferred 1 to 4 transfers were under way.",
    sweeps=(copies_of("FNRI"),),
    panels=tuple(
        Panel(
            y=UNDER_WAY,
            x="gbps",
            x_label="traffic [Gb/s]",
            y_label="time [%]",
            title=f"({letter}) functions {'that share packets' if way == 'yes' else 'that share nothing'}",
            where={"share": way},
        )
        for letter, way in zip("ab", ("no", "yes"), strict=True)
    ),
)
