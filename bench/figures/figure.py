"""What a figure is: a sweep, axes, and what the paper's text says. A figure's file builds one `Figure` and no more.

Standard library only. run.py measures figures, draw.py draws them.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Paper:
    """A value that the paper's text states. `quote`: section and words, as proof.

    x and y: a point (those of one label are a curve; x may be a category). y alone: a level; x alone: an upright line;
    y and y_high: a range.
    """

    label: str
    quote: str
    x: object = None
    y: float | None = None
    y_high: float | None = None


@dataclass(frozen=True)
class Panel:
    """A pair of axes. A curve is made of the points that agree in `series`; `where` chooses points."""

    y: str | tuple  # name of the value; several: a stacked bar of them
    x: str
    series: tuple | Callable = ()  # parameters, or a point's label
    where: dict = field(default_factory=dict)  # parameter (or "subject", "measure") -> value or set of values
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_scale: str | None = None  # linear, log; None: as the values suggest
    y_scale: str = "linear"
    best: bool = False  # of several points at one place of a curve, the highest
    per: Callable | None = None  # what the values of a point are divided by, from the point
    of: str = ""  # the name of a curve: values are shares of what it has at the same place
    pooled: tuple = ()  # parameters of which all values make one point together, with mean and standard deviation
    paper: tuple = ()

    def takes(self, point):
        """Whether the point belongs here."""
        for name, wanted in self.where.items():
            if point.get(name) not in (wanted if isinstance(wanted, (set, tuple, list)) else (wanted,)):
                return False
        return any(name in point.values for name in self.values())

    def values(self):
        """The names of the values drawn."""
        return (self.y,) if isinstance(self.y, str) else tuple(self.y)


@dataclass(frozen=True)
class Sweep:
    """Points that one program measures: all combinations of `over`."""

    program: str  # "bench": heddle bench, a process for points alike but for `together`; "probe": heddle_bench --probe
    subject: str  # the chain, or the probe's name
    over: dict  # parameter -> values
    measure: str = ""
    without: tuple = ()  # combinations that do not exist: {parameter: value, ...}
    derive: Callable = lambda point: {}  # further parameters of a point, from the others
    together: str = "size"  # "bench": the parameter of which one process measures all values

    def points(self):
        """Parameters of each point."""
        for values in itertools.product(*self.over.values()):
            point = dict(zip(self.over, values, strict=True))
            if not any(all(point[k] == v for k, v in excluded.items()) for excluded in self.without):
                yield {**point, **self.derive(point)}


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper."""

    name: str  # of the file, and of the results
    title: str
    source: str
    sweeps: tuple
    panels: tuple
    labels: dict = field(default_factory=dict)  # what to call a value of a parameter in legends
    note: str = ""  # how this differs from the paper's set-up
    findings: Callable = lambda points: []  # sentences on what the measured points (records.Point) come to
    repetitions: int = 5
    point_seconds: float = 60  # after which a point counts as failed
    makes: dict = field(default_factory=dict)  # input file -> arguments of `heddle` that write it with --output
