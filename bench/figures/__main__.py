"""Figures and tables of the papers, measured here: python3 bench/figures COMMAND [NAME...]

run     measures the figures (all, or those named) as far as this machine can; goes on where it stopped. Standard
        library only.
draw    draws what has been measured: SVG, PNG, HTML and an index. Needs matplotlib; does not need this machine's
        programs.
list    says what there is, what this machine can run of it, and what it lacks.
"""

import argparse
import dataclasses
import importlib.util
import math
import pathlib
import sys

import records as rec
import run as runner

HERE = pathlib.Path(__file__).resolve().parent


def load(names=()):
    """The figures, by name; all when none is named."""
    files = {path.stem: path for path in sorted(HERE.glob("*-*.py"))}
    for name in names:
        if name not in files:
            raise runner.Failed(f"there is no figure {name!r}; there are {', '.join(files)}")
    figures = []
    for name in names or files:
        spec = importlib.util.spec_from_file_location("figure_" + name, files[name])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        figures.append(module.FIGURE)
    return figures


def newest(figure, results, machine):
    """The records of a figure that are drawn: of one machine and of the newest commit; and words on those left out."""
    file = results / f"{figure.name}.jsonl"
    return rec.newest_commit(rec.one_machine(rec.read(file), machine)) if file.exists() else ([], "")


def some_of(points):
    """Words on which of the points, {parameter: value, ...} and whether it was measured, were: of parameters of which
    some values are missing, and where none is, of those that are there in part; none if all were."""
    names = list(dict.fromkeys(name for point, _ in points for name in point))
    parts, there = [], points
    for name in names:
        every = dict.fromkeys(point[name] for point, _ in points if name in point)
        some = dict.fromkeys(point[name] for point, measured in points if measured and name in point)
        if some and len(some) < len(every):
            parts.append(f"{name} {', '.join(map(str, some))} of {', '.join(map(str, every))}")
            there = [pair for pair in there if name not in pair[0] or pair[0][name] in some]
    if all(measured for _, measured in there):
        return parts
    for name in names:
        sums = {}
        for point, measured in there:
            sums.setdefault(point.get(name), []).append(measured)
        if any(map(all, sums.values())):
            partly = [(value, of) for value, of in sums.items() if not all(of)]
            words = [(f"without a {name}" if value is None else f"{name} {value}", of) for value, of in partly]
            return [*parts, *(f"{which} {sum(of)} of {len(of)} points" for which, of in words)]
    return [*parts, f"{sum(measured for _, measured in there)} of {len(there)} points"]


def only_a_part(figure, found):
    """Words on the points that the machine could have measured and has not, and how often others; or ""."""
    able = runner.wanted(figure, machine_of(found[0]))[0]
    counts = [sum(runner.belongs(record, sweep, point) for record in found) for sweep, point in able]
    subject = {"bench": "chain", "probe": "probe"}
    parts = some_of([({subject[s.program]: s.subject, **p}, n > 0) for (s, p), n in zip(able, counts, strict=True)])
    if not parts or not any(counts):
        return ""
    times = " to ".join(str(n) for n in sorted({min(filter(None, counts)), max(counts)}))
    return f"Only a part was measured: {'; '.join(parts)}; samples a point: {times}."


def machine_of(record):
    """The machine that a record is of."""
    facts = record["machine"]
    return runner.Machine(facts["id"], facts.get("cores", 1), facts.get("gpu", ""), "it has none")


def draw_all(figures, results, machine):
    """Draws the figures that have results."""
    import draw

    for figure in figures:
        found, left_out = newest(figure, results, machine)
        if left_out:
            print(f"figures: {figure.name}: {left_out}", file=sys.stderr)
        if found:
            words = filter(None, (figure.note, only_a_part(figure, found), left_out))
            noted = dataclasses.replace(figure, note=" ".join(words))
            draw.write(noted, rec.pool(found), *(results / f"{figure.name}.{kind}" for kind in ("html", "svg", "png")))


def section(figure, found):
    """A figure's part of the index: the picture, where it was measured, what that machine could not."""
    import draw

    lines = [f"## {figure.name}: {figure.title}", "", figure.source + ".", ""]
    if not found:
        return [*lines, "Not measured yet.", ""]
    able, lacking = runner.wanted(figure, machine_of(found[0]))
    measured = sum(any(runner.belongs(record, *pair) for record in found) for pair in able)
    left_out = "".join(f" {count} need {lack}." for lack, count in lacking.items())
    others = sum(not any(runner.belongs(record, *pair) for pair in able) for record in found)
    if others:  # the picture shows them
        left_out += f" {others} of {len(found)} samples are of points that the figure had before it was defined anew."
    return [
        *lines,
        f"![{figure.name}]({figure.name}.svg)",
        "",
        f"{rec.machine_name(found[0])}; commit {found[0]['commit']}; {found[-1]['date'][:10]}; "
        f"[records]({figure.name}.jsonl). {' '.join(filter(None, (figure.note, only_a_part(figure, found))))}".rstrip(),
        "",
        *(line for words in figure.findings(rec.pool(found)) for line in (words, "")),
        f"Bars: {rec.interval_names(draw.all_drawn(figure, rec.pool(found)))}. {measured} of {runner.count_points(figure)} points measured.{left_out}",
        "",
    ]


def write_index(results, machine):
    """README.md of the results: all figures, measured or not."""
    lines = [
        "# The papers' figures, measured with Heddle",
        "",
        "Made by `make figures`, which also writes pages with all numbers (NAME.html) and NAME.png beside the pictures. Points are",
        "medians, bars intervals of the median with the confidence that each figure names, or the range of fewer than six samples; in",
        "figures that say so, means and standard deviations. Black is what the papers' text states.",
        "",
    ]
    for figure in load():
        lines += section(figure, newest(figure, results, machine)[0])
    results.mkdir(parents=True, exist_ok=True)
    (results / "README.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def listing(figures, programs):
    """What this machine can run."""
    machine = programs.machine()
    print(f"{machine.name}; {machine.cores} cores to use")
    for figure in figures:
        able, lacking = runner.wanted(figure, machine)
        print(f"{figure.name:16} {len(able):3} of {runner.count_points(figure)} points  {figure.title}")
        for lack, count in lacking.items():
            print(f"{'':16} {count:3} need {lack}")


def main(words=None):
    """The command line. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "draw", "list"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--results", type=pathlib.Path, help="folder of the records and pictures (docs/results)")
    parser.add_argument("--build", help="folder of heddle and heddle_bench")
    parser.add_argument("--time-limit", type=float, default=math.inf, metavar="SECONDS", help="of run, for all figures")
    parser.add_argument("--repetitions", type=int, help="of each point, instead of the figures' own")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="run only points with one of these values of the parameter (again: of that one as well)",
    )
    parser.add_argument("--machine", help="draw the results of this machine only")
    arguments = parser.parse_intermixed_args(words)  # names may stand behind options
    results = arguments.results or (
        HERE.parent / "results" if (HERE.parent / "COMMIT").is_file() else HERE.parent.parent / "docs/results"
    )
    try:
        figures = load(arguments.names)
        if arguments.command == "draw":
            draw_all(figures, results, arguments.machine)
            write_index(results, arguments.machine)
        elif arguments.command == "list":
            listing(figures, runner.Programs.find(arguments.build))
        else:
            tasks = runner.run(
                figures,
                results,
                runner.Programs.find(arguments.build),
                arguments.time_limit,
                arguments.repetitions,
                where=runner.conditions(arguments.where),
            )
            return 0 if runner.report(tasks, arguments.repetitions) else 1
    except (runner.Failed, rec.RecordError, OSError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
