"""Records, as `heddle bench --json` and `heddle_bench --probe` write them: one JSON object a line and measured point.

Several records of one point (the same subject, measure and parameters) are repetitions: their samples are pooled.
Records of different machines are never put together, nor are those of different chains, inputs or names. Standard
library only: this also runs where there is nothing else.
"""

import json
import math
import pathlib
import re
import statistics
from dataclasses import dataclass, field

SCHEMA = "heddle-bench/1"
LINE_OVERHEAD_BYTES = 20  # preamble and gap; frame sizes count the check sequence


class RecordError(Exception):
    """Records that cannot be used, and why."""


@dataclass
class Value:
    """Samples of one measured quantity, with an interval of their median (interval_name says how sure it is); or with
    their mean in its place, and a standard deviation to both sides."""

    unit: str
    samples: list
    low: float
    median: float
    high: float
    deviates: bool = False  # the latter


@dataclass
class Point:
    """One measured point: what was measured under which parameters, and all repetitions of it."""

    subject: str  # the chain, or the probe
    measure: str
    parameters: dict
    values: dict = field(default_factory=dict)  # name -> Value
    records: list = field(default_factory=list)
    variant: str = ""  # what tells it from points that are the same but for the chain's text, inputs or name

    def get(self, name):
        """A parameter; "subject" and "measure" count as parameters."""
        return {"subject": self.subject, "measure": self.measure}.get(name, self.parameters.get(name))


def left_out(n):
    """How many of n sorted samples lie outside the 95 % interval of the median at each end: binomial(n, 1/2)."""
    tail, term = 0.0, 0.5**n  # P(exactly k below)
    for k in range(n // 2):
        tail += term
        if tail > 0.025:
            return max(k - 1, 0)
        term *= (n - k) / (k + 1)
    return max(n // 2 - 1, 0)


def confidence(n):
    """How sure it is that the interval which `summarise` gives of n samples holds the median."""
    return 1 - 2 * sum(math.comb(n, k) for k in range(left_out(n) + 1)) / 2**n


def interval_name(n):
    """What the interval of n samples is; up to five cannot give 95 %."""
    percent = f"{math.floor(100 * confidence(n))} %"
    return f"{percent} interval" if n > 5 else f"range of {n}, {percent}" if n > 1 else "single samples"


def interval_names(points):
    """What the intervals of all points are, each kind once."""
    kinds = sorted({(v.deviates, len(v.samples)) for p in points for v in p.values.values()})
    names = (f"mean and standard deviation of {n}" if deviates and n > 1 else interval_name(n) for deviates, n in kinds)
    return "; ".join(dict.fromkeys(names))


def summarise(samples, unit=""):
    """Median and its interval by order statistics; the extremes when there are too few samples."""
    ordered = sorted(samples)
    n, out = len(ordered), left_out(len(ordered))
    median = ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2
    return Value(unit, list(samples), ordered[out], median, ordered[n - 1 - out])


def deviation(samples, unit=""):
    """Mean and standard deviation of the samples, which are some of many (divided by n - 1)."""
    mean = statistics.fmean(samples)
    spread = statistics.stdev(samples) if len(samples) > 1 else 0
    return Value(unit, list(samples), mean - spread, mean, mean + spread, deviates=True)


def read(path):
    """The records of a file, in order. A last line that was cut off (a run that was stopped) is left out."""
    records = []
    lines = pathlib.Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):
                break  # no newline behind it: it was being written
            raise RecordError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(record, dict) or record.get("schema") != SCHEMA:
            raise RecordError(f"{path}:{number}: expected a record of schema {SCHEMA!r}")
        if wrong := mistake(record):
            raise RecordError(f"{path}:{number}: {wrong}")
        records.append(record)
    return records


def mistake(record):
    """What a record lacks, or ""."""
    for name, kind in (("measure", str), ("commit", str), ("machine", dict), ("parameters", dict), ("values", dict)):
        if not isinstance(record.get(name), kind):
            return f"its {name!r} is missing or not {'a text' if kind is str else 'an object'}"
    if not isinstance(record["machine"].get("id"), str):
        return "its machine has no 'id'"
    for name, value in record["parameters"].items():
        if isinstance(value, (dict, list)):
            return f"its parameter {name!r} is not a number or a text"
    for name, value in record["values"].items():
        numbers = [value.get("median"), *(value.get("samples") or [])] if isinstance(value, dict) else [None]
        if not is_number(numbers[0]) or not all(n is None or is_number(n) for n in numbers):
            return f"its value {name!r} is not numbers"
    return ""


def is_number(value):
    """Whether a value can stand on a numeric axis."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def mend(path):
    """Takes away a last line that was cut off, so that whole lines can follow."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        path.write_bytes(data[: data.rfind(b"\n") + 1])


def subject_of(record):
    """What the record speaks of: its chain, or its probe."""
    return record.get("chain") or record.get("measure", "")


def plain(value):
    """A parameter's value; text that is a number as a number, so that 64 and "64" are the same."""
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def machine_name(record):
    """A machine in words."""
    machine = record["machine"]
    parts = [machine.get("cpu", "unknown processor"), f"{machine.get('cores', '?')} cores", machine.get("gpu")]
    return ", ".join(part for part in parts if part)


def one_machine(records, machine=None):
    """The records of machine id `machine`; without it, refuses records of several machines."""
    names = {r["machine"]["id"]: machine_name(r) for r in records}
    if machine is None and len(names) > 1:
        known = "; ".join(f"{key}: {name}" for key, name in names.items())
        raise RecordError(f"results of {len(names)} machines are not compared; choose one with --machine ID: {known}")
    if machine is not None and machine not in names:
        raise RecordError(f"no results of machine {machine!r}; there are {', '.join(names) or 'none'}")
    return [r for r in records if machine in (None, r["machine"]["id"])]


def newest_commit(records):
    """The records of the commit that was measured last, and words on those left out, or ""."""
    if not records:
        return [], ""
    commit = max(records, key=lambda r: r.get("date", ""))["commit"]
    newest = [r for r in records if r["commit"] == commit]
    others = list(dict.fromkeys(r["commit"] for r in records if r["commit"] != commit))
    count = len(records) - len(newest)
    left = f"Only commit {commit}, the newest, is drawn; left out: {count} records of {', '.join(others)}."
    return newest, left if others else ""


def variants(records):
    """What to call the name, the chain's text and the inputs of each record, where they tell it from others."""

    def point_of(record):
        return json.dumps([subject_of(record), record["measure"], record["parameters"]], sort_keys=True)

    words = [[] for _ in records]
    for name, title, group in (
        ("name", "", subject_of),
        ("chain_hash", "chain ", subject_of),
        ("input_hash", "inputs ", point_of),
    ):
        found = {}
        for record in records:
            found.setdefault(group(record), set()).add(record.get(name, ""))
        for own, record in zip(words, records, strict=True):
            if len(found[group(record)]) > 1:
                own.append(title + (record.get(name, "")[: 8 if title else None] or "unknown"))
    return [", ".join(own) for own in words]


def pool(records):
    """Points, in order of first appearance, with the samples of all their records together."""
    points = {}
    for record, variant in zip(records, variants(records), strict=True):
        parameters = {name: plain(value) for name, value in record["parameters"].items()}
        key = json.dumps([subject_of(record), record["measure"], parameters, variant], sort_keys=True)
        point = points.setdefault(key, Point(subject_of(record), record["measure"], parameters, variant=variant))
        point.records.append(record)
    for point in points.values():
        for name in dict.fromkeys(name for r in point.records for name in r["values"]):
            given = [r["values"][name] for r in point.records if name in r["values"]]
            samples = [s for v in given for s in v.get("samples") or [v["median"]] if s is not None]  # None: a gap
            value = summarise(samples, given[0].get("unit", ""))
            if len(given) == 1 and not given[0].get("samples") and "low" in given[0]:
                value.low, value.high = given[0]["low"], given[0]["high"]
            point.values[name] = value
        add_line_rate(point)
    return list(points.values())


def add_line_rate(point):
    """line_gbps: what the packets would take on a link, each with preamble and gap, as the thesis counts (4.2.2)."""
    size, packets = point.parameters.get("size"), point.values.get("mpps")
    if packets and isinstance(size, int):
        bits = (size + LINE_OVERHEAD_BYTES) * 8
        point.values["line_gbps"] = summarise([1e-3 * bits * mpps for mpps in packets.samples], "Gb/s")


def swept(points):
    """Parameters with more than one value, those first that the command names with --sweep, in its order."""
    values, named = {}, []
    for point in points:
        for record in point.records:
            named += re.findall(r"--sweep[ =]['\"]?(\w+)=", record.get("command", ""))
        for name in ["subject", *point.parameters]:
            values.setdefault(name, set()).add(json.dumps(point.get(name)))
    varying = [name for name in values if len(values[name]) > 1]
    # The subject comes last: what the user sweeps is the axis, the chains are the curves.
    order = {name: i for i, name in reversed(list(enumerate([*named, *[v for v in values if v != "subject"]])))}
    return sorted(varying, key=lambda name: order.get(name, len(order)))
