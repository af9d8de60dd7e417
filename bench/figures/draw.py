"""Draws records of `heddle bench` as a paper would: SVG, PNG, self-contained HTML. Needs matplotlib.

Usage: draw.py FILE.jsonl [--html OUT] [--svg OUT] [--png OUT] [--x PARAMETER] [--y VALUE ...] [--machine ID]

Without --x the first parameter of the sweep is the x axis; the others make the curves. Every value has a panel of its
own. Points are medians, bars intervals of the median: the page says how sure they are. Of several commits the newest is
drawn.
"""

import argparse
import dataclasses
import io
import json
import pathlib
import re
import sys

import matplotlib
import records as rec
from figure import Figure, Panel
from page import CURVE_LABELS, PARAMETER_LABELS, VALUE_LABELS, page, short, value_label

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B", "#7F7F7F", "#BCBD22", "#000000"]
MARKERS = "osD^vP*Xh<"
LEGEND_LINE_INCHES = 0.16
MOST_LEGEND_LINES = 5  # that the usual height has room for
STYLE = {
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "heddle",  # the same picture gives the same file
}


def literal(text):
    """The text as matplotlib shows it letter by letter: a pair of $ would make it a formula."""
    return str(text).replace("$", r"\$")


def series_label(figure, names, point):
    """What a curve is called: values that have a name of their own, or parameter and value."""
    if callable(names):
        return names(point)
    words = []
    for name in names:
        value = point.get(name)
        if value is None:
            continue
        known = figure.labels.get((name, value), figure.labels.get(value))
        if known is None:
            known = short(value) if isinstance(value, str) else CURVE_LABELS.get(name, name + " {}").format(value)
        if known:
            words.append(known)
    return ", ".join(words)


def automatic(points, x=None, wanted=None):
    """A figure for any sweep: a panel for each measure and value."""
    varying = rec.swept(points) or ["subject"]
    if x and all(point.get(x) is None for point in points):
        raise rec.RecordError(f"--x {x}: there is no such parameter; there are {', '.join(points[0].parameters)}")
    x = x or varying[0]
    series = tuple(name for name in varying if name != x)
    order = list(VALUE_LABELS)
    panels = []
    for measure in dict.fromkeys(point.measure for point in points):
        mine = [point for point in points if point.measure == measure]
        names = dict.fromkeys(name for point in mine for name in point.values)
        for name in sorted(names, key=lambda n: order.index(n) if n in order else len(order)):
            samples = [sample for point in mine if name in point.values for sample in point.values[name].samples]
            # What is 0 everywhere is in the page's table.
            usual = name == "mpps" or (name != "line_gbps" and any(samples))
            if name in wanted if wanted else usual:
                panels.append(Panel(y=name, x=x, series=series, where={"measure": measure}, title=measure))
    if not panels:
        raise rec.RecordError(f"no values to draw{' called ' + ' or '.join(wanted) if wanted else ''}")
    subjects = ", ".join(dict.fromkeys(short(point.subject) for point in points))
    return Figure(name="bench", title=subjects, source="", sweeps=(), panels=tuple(panels))


def height(panel, point):
    """The median that the panel draws of a point."""
    return sum(point.values[name].median for name in panel.values() if name in point.values)


def pooled(panel, points):
    """Points that differ in the parameters `pooled` of the panel alone as one: mean and standard deviation of all their
    samples."""
    together = {}
    for point in filter(panel.takes, points):
        parameters = {name: value for name, value in point.parameters.items() if name not in panel.pooled}
        key = json.dumps([point.subject, point.measure, parameters, point.variant], sort_keys=True)
        together.setdefault(key, (parameters, []))[1].append(point)
    for parameters, alike in together.values():
        first = alike[0]
        values = {}
        for name in dict.fromkeys(name for point in alike for name in point.values):
            given = [point.values[name] for point in alike if name in point.values]
            values[name] = rec.deviation([sample for value in given for sample in value.samples], given[0].unit)
        records = [record for point in alike for record in point.records]
        yield rec.Point(first.subject, first.measure, parameters, values, records, first.variant)


def all_drawn(figure, points):
    """The points with the samples that bars are of."""
    if not any(panel.pooled for panel in figure.panels):
        return points
    return [point for panel in figure.panels for point in (pooled(panel, points) if panel.pooled else points)]


def divided(panel, point, by):
    """The point with the panel's values divided by a number."""
    values = {
        name: rec.Value(v.unit, [s / by for s in v.samples], v.low / by, v.median / by, v.high / by, v.deviates)
        if name in panel.values()
        else v
        for name, v in point.values.items()
    }
    return dataclasses.replace(point, values=values)


def curves(figure, panel, points):
    """The points of a panel by curve, each sorted by x."""
    found = {}
    for point in pooled(panel, points) if panel.pooled else points:
        if (panel.pooled or panel.takes(point)) and point.get(panel.x) is not None:
            words = filter(None, [series_label(figure, panel.series, point), point.variant])
            found.setdefault(", ".join(words) or "Heddle", []).append(
                divided(panel, point, panel.per(point)) if panel.per else point
            )
    for label, curve in found.items():
        if panel.best:
            places = dict.fromkeys(p.get(panel.x) for p in curve)
            curve = [max((p for p in curve if p.get(panel.x) == x), key=lambda p: height(panel, p)) for x in places]
        if all(rec.is_number(p.get(panel.x)) for p in curve):
            curve.sort(key=lambda p: p.get(panel.x))
        found[label] = curve
    return shares(panel, found) if panel.of else found


def shares(panel, found):
    """The curves with values as shares of what the curve panel.of has at the same place; without points where that has
    none."""
    whole = {point.get(panel.x): height(panel, point) for point in found.get(panel.of, [])}
    parts = {
        label: [divided(panel, p, whole[p.get(panel.x)]) for p in curve if whole.get(p.get(panel.x))]
        for label, curve in found.items()
    }
    return {label: curve for label, curve in parts.items() if curve}


def id_of(panel, *words):
    """An id in the SVG, for scripts and tests: of one panel alone, and without spaces."""
    return re.sub(r"[^\w.]+", "-", " ".join([panel.title, *panel.values(), *words]))


def look(i):
    """Colour, marker and line of the i-th curve; after the last colour, others of the latter two."""
    turn = i // len(COLOURS)
    return COLOURS[i % len(COLOURS)], MARKERS[(i + turn) % len(MARKERS)], "--" if turn else "-"


def draw_lines(axes, panel, found, colours):
    """Curves of medians with the intervals as error bars."""
    measured = {p.get(panel.x) for curve in found.values() for p in curve}
    xs = sorted(measured | {s.x for s in panel.paper if s.x is not None and s.y is not None})
    scale = panel.x_scale or ("log" if len(xs) > 2 and xs[0] > 0 and xs[-1] / xs[0] >= 8 else "linear")
    if scale == "log":
        axes.set_xscale("log", base=10 if xs and xs[-1] / max(xs[0], 1) > 5000 else 2)
    if len(xs) <= 12:
        named = [f"{x:,g}" if x < 100000 else f"{x:.0e}".replace("e+0", "e") for x in xs]
        slanted = {"rotation": 40, "ha": "right"} if len("".join(named)) > 30 else {}
        axes.set_xticks(xs, named, **slanted)
        axes.minorticks_off()
    for label, curve in found.items():
        colour, marker, line = look(colours[label])
        values = [p.values[panel.y] for p in curve]
        medians = [v.median for v in values]
        errors = [[v.median - v.low for v in values], [v.high - v.median for v in values]]
        container = axes.errorbar(
            [p.get(panel.x) for p in curve],
            medians,
            yerr=errors,
            label=literal(label),
            color=colour,
            marker=marker,
            linestyle=line,
            linewidth=1.3,
            capsize=2.5,
            elinewidth=0.9,
        )
        container.lines[0].set_gid(id_of(panel, "series", label))
        limited = [p for p in curve if is_limited(p)]
        if limited:
            xs, ys = [p.get(panel.x) for p in limited], [p.values[panel.y].median for p in limited]
            axes.plot(xs, ys, ls="none", marker=marker, color=colour, mfc="white", zorder=5)


def is_limited(point):
    """Whether the generator was the bottleneck, and not what was to be measured."""
    return any("generator is the bottleneck" in w for record in point.records for w in record.get("warnings", []))


def draw_bars(axes, panel, found, colours):
    """Groups of bars over categories; several values are stacked."""
    places = {}
    for point in (p for curve in found.values() for p in curve):
        place_of(places, point.get(panel.x))
    width = 0.8 / max(len(found), 1)
    names = panel.values()
    for k, (label, curve) in enumerate(found.items()):
        at = [places[str(p.get(panel.x))] + (k - (len(found) - 1) / 2) * width for p in curve]
        base = [0.0] * len(curve)
        for j, name in enumerate(names):
            values = [p.values.get(name) or rec.Value("", [0], 0, 0, 0) for p in curve]
            medians = [v.median for v in values]
            if any(medians):
                i = j if len(names) > 1 else colours[label]
                bars = axes.bar(
                    at,
                    medians,
                    width * 0.92,
                    bottom=base,
                    color=COLOURS[i % len(COLOURS)],
                    label=literal(value_label(name, "") if len(names) > 1 else label),
                    yerr=[[v.median - v.low for v in values], [v.high - v.median for v in values]],
                    error_kw={"elinewidth": 0.9, "capsize": 2.5},
                )
                bars.patches[0].set_gid(id_of(panel, "series", label, name))
            base = [b + m for b, m in zip(base, medians, strict=True)]
    return places


def place_of(places, category):
    """Where a category stands; behind the others if it is new."""
    return places.setdefault(str(category), len(places))


def draw_paper(axes, panel, places):
    """What the paper states, in black: points, curves, dashed levels, grey ranges."""
    labels = list(dict.fromkeys(stated.label for stated in panel.paper))
    for i, label in enumerate(labels):
        stated = [s for s in panel.paper if s.label == label]
        style = {"color": "black", "label": literal(f"paper: {label}"), "gid": id_of(panel, "paper", label)}
        dashes = ["--", ":", "-.", (0, (5, 1, 1, 1, 1, 1))][i % 4]
        points = [s for s in stated if s.x is not None and s.y is not None]
        if points and places is not None:
            at = [place_of(places, s.x) for s in points]  # across the bars that were measured, if there are any
            axes.hlines([s.y for s in points], [x - 0.45 for x in at], [x + 0.45 for x in at], ls=dashes, **style)
        elif points:
            axes.plot(
                [s.x for s in points], [s.y for s in points], ls=dashes, lw=0.9, marker="*P^X"[i % 4], ms=8, **style
            )
        elif stated[0].y_high is not None:
            axes.axhspan(stated[0].y, stated[0].y_high, alpha=0.15, lw=0, **style)
        elif stated[0].x is not None:
            x = stated[0].x if places is None else place_of(places, stated[0].x)
            axes.axvline(x, ls=dashes, lw=1, **style)
        else:
            axes.axhline(stated[0].y, ls=dashes, lw=1, **style)


def draw_panel(axes, figure, panel, points, colours):
    """One pair of axes. Says so where nothing has been measured."""
    found = curves(figure, panel, points)
    units = [p.values[n].unit for c in found.values() for p in c for n in panel.values() if n in p.values]
    y_name = panel.values()[0]
    numeric = all(rec.is_number(p.get(panel.x)) for curve in found.values() for p in curve)
    numeric = numeric and all(stated.x is None or rec.is_number(stated.x) for stated in panel.paper)
    places = None
    if found and numeric and isinstance(panel.y, str):
        draw_lines(axes, panel, found, colours)
    else:
        places = draw_bars(axes, panel, found, colours)
    draw_paper(axes, panel, places)
    if places:
        names = [literal(figure.labels.get(name, short(name))) for name in places]
        axes.set_xticks(
            range(len(names)), names, rotation=25 if len(names) > 4 else 0, ha="right" if len(names) > 4 else "center"
        )
    axes.set_title(literal(panel.title))
    axes.set_xlabel(literal(panel.x_label or PARAMETER_LABELS.get(panel.x, panel.x)))
    axes.set_ylabel(literal(panel.y_label or value_label(y_name, units[0] if units else "")))
    if any(is_limited(point) for curve in found.values() for point in curve):
        axes.set_title("hollow: limited by the generator", loc="right", fontsize=7, color="#777777")
        axes.set_title(literal(panel.title), loc="left")
        axes.set_title("")
    axes.set_yscale(panel.y_scale)
    if panel.y_scale == "linear":
        axes.set_ylim(bottom=0)
    if not found:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color="#888888")
    handles, labels = axes.get_legend_handles_labels()
    if handles and labels != ["Heddle"]:
        once = dict(zip(labels, handles, strict=True))
        if len(once) <= 4:
            axes.legend(once.values(), once.keys(), loc="best")
        else:
            columns = legend_columns(once)
            ticks = axes.get_xticklabels()
            below = -0.32 if ticks and ticks[0].get_rotation() else -0.18
            axes.legend(
                once.values(),
                once.keys(),
                loc="upper center",
                bbox_to_anchor=(0.5, below),
                ncols=columns,
                handlelength=3,
            )


def legend_columns(labels):
    """As wide as the panel at most: a wider one would squeeze it."""
    return 2 if max(map(len, labels)) <= 32 else 1


def legend_lines(figure, panel, points):
    """How many lines the legend below a panel has."""
    labels = {*curves(figure, panel, points), *(f"paper: {stated.label}" for stated in panel.paper)}
    return -(-len(labels) // legend_columns(labels)) if len(labels) > 4 else 0


def picture(figure, points):
    """The whole figure, its panels side by side; higher where a long legend would squeeze them."""
    with plt.rc_context(STYLE):
        columns = min(len(figure.panels), 3 if len(figure.panels) in (3, 5, 6, 9) else 2)
        rows = -(-len(figure.panels) // columns)
        longest = max((legend_lines(figure, panel, points) for panel in figure.panels), default=0)
        height = 3.5 + LEGEND_LINE_INCHES * max(0, longest - MOST_LEGEND_LINES)
        canvas, grid = plt.subplots(
            rows, columns, figsize=(max(6.0, 5.0 * columns), height * rows), squeeze=False, layout="constrained"
        )
        labels = dict.fromkeys(label for panel in figure.panels for label in curves(figure, panel, points))
        colours = {label: i for i, label in enumerate(labels)}
        for i, axes in enumerate(grid.flat):
            if i < len(figure.panels):
                draw_panel(axes, figure, figure.panels[i], points, colours)
            else:
                axes.set_axis_off()
        if figure.title:
            canvas.suptitle(literal(figure.title))
    return canvas


def save(canvas, kind):
    """The picture's bytes as svg or png."""
    out = io.BytesIO()
    with plt.rc_context(STYLE):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        canvas.savefig(out, format=kind, dpi=150, metadata=metadata)
    return out.getvalue()


def write(figure, points, html_file=None, svg_file=None, png_file=None):
    """Draws and writes the forms asked for."""
    canvas = picture(figure, points)
    svg = save(canvas, "svg").decode()
    if svg_file:
        pathlib.Path(svg_file).write_text(svg, encoding="utf-8")
    if png_file:
        pathlib.Path(png_file).write_bytes(save(canvas, "png"))
    if html_file:
        pathlib.Path(html_file).write_text(page(figure, points, all_drawn(figure, points), svg), encoding="utf-8")
    plt.close(canvas)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+")
    parser.add_argument("--html")
    parser.add_argument("--svg")
    parser.add_argument("--png")
    parser.add_argument("--x", help="the parameter of the x axis")
    parser.add_argument("--y", nargs="+", help="values to draw, of all")
    parser.add_argument("--machine", help="results of this machine only")
    arguments = parser.parse_args()
    if not (arguments.html or arguments.svg or arguments.png):
        parser.error("name an output: --html, --svg or --png")
    try:
        found = rec.one_machine([r for file in arguments.file for r in rec.read(file)], arguments.machine)
        newest, left_out = rec.newest_commit(found)
        points = rec.pool(newest)
        if not points:
            raise rec.RecordError(f"{', '.join(arguments.file)}: no records")
        figure = dataclasses.replace(automatic(points, arguments.x, arguments.y), note=left_out)
        if left_out:
            print(f"draw.py: {left_out}", file=sys.stderr)
        write(figure, points, arguments.html, arguments.svg, arguments.png)
    except (rec.RecordError, OSError) as error:
        sys.exit(f"draw.py: {error}")


if __name__ == "__main__":
    main()
