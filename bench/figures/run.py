"""Measures figures: a round measures each missing point of each figure once; rounds follow until every point has its
repetitions or the time is up. So repetitions of different points are interleaved, and a run that was stopped goes on
where it stopped: points that a results file has from the same machine and commit are not measured again. A point that
several of the figures have is measured once for all of them.

Standard library only.
"""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
import time
import zlib
from dataclasses import dataclass, field

import records as rec

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent  # the repository, or the bundle's parent
LEAST_SECONDS = 5  # no command is begun with less time than that


class Failed(Exception):
    """Something that stops a figure, and why."""


@dataclass
class Machine:
    """What this machine has."""

    id: str
    cores: int
    gpu: str = ""
    no_gpu: str = ""  # why there is none
    name: str = ""


@dataclass
class Programs:
    """Where heddle and heddle_bench are, and which commit they are of."""

    heddle: pathlib.Path
    bench: pathlib.Path
    commit: str

    @staticmethod
    def find(folder=None):
        """In `folder`, or a bundle around this file, or the newest build of the repository."""
        places = [pathlib.Path(folder)] if folder else [HERE.parent, ROOT / "build/cuda", ROOT / "build/cpu"]
        for place in places:
            for bench in (place / "heddle_bench", place / "bench/heddle_bench"):
                if not (place / "heddle").is_file() or not bench.is_file():
                    continue
                commit = commit_of(place)
                if commit.endswith("-dirty"):  # which does not say what was built
                    commit += f"-{zlib.crc32((place / 'heddle').read_bytes() + bench.read_bytes()):08x}"
                return Programs((place / "heddle").absolute(), bench.absolute(), commit)
        raise Failed(
            f"no heddle and heddle_bench in {', '.join(map(str, places))}; build them (`make`), or --build FOLDER"
        )

    def machine(self):
        """This machine, as records name it."""
        facts = json.loads(subprocess.run([self.bench, "--machine"], capture_output=True, check=True, text=True).stdout)
        gpus = json.loads(
            subprocess.run([self.heddle, "gpus", "--json"], capture_output=True, check=True, text=True).stdout
        )
        found = [gpu["model"] for gpu in gpus["gpus"]]
        return Machine(
            id=facts["id"],
            cores=len(os.sched_getaffinity(0)),
            gpu=found[0] if found else "",
            no_gpu=gpus["reason"],
            name=rec.machine_name({"machine": facts}),
        )


def commit_of(place):
    """Of a bundle or of the repository."""
    if (place / "COMMIT").is_file():
        return (place / "COMMIT").read_text(encoding="utf-8").strip()
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, check=False, capture_output=True, text=True
    )
    return found.stdout.strip() or "unknown"


def missing_here(sweep, point, machine):
    """What the point needs and this machine lacks, or ""."""
    needs_gpu = any(str(point.get(name, "")).startswith("gpu") for name in ("device", "processor"))
    if needs_gpu and not machine.gpu:
        return f"a GPU ({machine.no_gpu})"
    cores = point.get("cores", 1) + (1 if sweep.program == "bench" else 0)  # one at least generates
    if cores > machine.cores:
        return f"{cores} cores (there are {machine.cores})"
    return ""


def all_points(figure):
    """The figure's points as (sweep, point)."""
    return [(sweep, point) for sweep in figure.sweeps for point in sweep.points()]


def wanted(figure, machine):
    """The figure's points that this machine can measure as (sweep, point), and what is missing for the others."""
    able, lacking = [], {}
    for sweep, point in all_points(figure):
        lack = missing_here(sweep, point, machine)
        if lack:
            lacking[lack] = lacking.get(lack, 0) + 1
        else:
            able.append((sweep, point))
    return able, lacking


def belongs(record, sweep, point):
    """Whether the record is of this point."""
    found = record["parameters"]
    return (
        rec.subject_of(record) == sweep.subject
        and record["measure"] == (sweep.measure or sweep.subject)
        and all(rec.plain(found.get(name)) == rec.plain(value) for name, value in point.items())
    )


def conditions(words):
    """NAME=VALUE,... of --where as {name: values}."""
    chosen = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not (name and equals and values):
            raise Failed(f"--where {word}: expected NAME=VALUE,...")
        chosen.setdefault(name, set()).update(rec.plain(value) for value in values.split(","))
    return chosen


def only(able, where):
    """Those (sweep, point) that have one of the values for each name."""
    return [(s, p) for s, p in able if all(rec.plain(p.get(name)) in values for name, values in where.items())]


def identity(sweep, point):
    """What two figures' points have in common if they are the same."""
    return sweep.program, sweep.subject, sweep.measure, {name: rec.plain(value) for name, value in point.items()}


def bench_command(programs, machine, sweep, points, output):
    """heddle bench for points that differ in sweep.together alone, once each."""
    command = [str(programs.heddle), "bench", sweep.subject, "--measure", sweep.measure]
    for name in points[0]:
        values = dict.fromkeys(str(point[name]) for point in points)
        command += ["--sweep", f"{name}={','.join(values)}"]
    command += ["--repetitions", "1", "--trial", "0.5", "--quiet"]
    return [*command, "--commit", programs.commit, "--json", str(output)]


def probe_command(programs, sweep, points, output):
    """heddle_bench --probe for points, once each."""
    words = [" ".join(f"{name}={value}" for name, value in point.items()) for point in points]
    return [str(programs.bench), "--probe", sweep.subject, "--commit", programs.commit, "--json", str(output), *words]


@dataclass
class Task:
    """A figure being measured."""

    figure: object
    machine: Machine
    file: pathlib.Path  # results
    able: list
    lacking: dict
    records: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    seconds: float = 0.0

    def samples(self, sweep, point):
        """How often the point has been measured."""
        return sum(belongs(record, sweep, point) for record in self.records)

    def missing(self, round_number):
        """Points with fewer samples than this round brings."""
        return [(s, p) for s, p in self.able if self.samples(s, p) < round_number and (s, p) not in self.failures]

    def commands(self, programs, round_number, output):
        """Commands of the round with the points that each measures. The order turns with the rounds."""
        missing = self.missing(round_number)
        if round_number % 2 == 0:
            missing.reverse()
        groups = {}  # points that one command measures
        for sweep, point in missing:
            alone = {} if sweep.program == "probe" else {k: v for k, v in point.items() if k != sweep.together}
            groups.setdefault((id(sweep), json.dumps(alone)), []).append((sweep, point))
        for pairs in groups.values():
            sweep, points = pairs[0][0], [point for _, point in pairs]
            if sweep.program == "probe":
                yield probe_command(programs, sweep, points, output), pairs
            else:
                yield bench_command(programs, self.machine, sweep, points, output), pairs


def run_command(command, seconds, folder):
    """Runs to the end or for `seconds`; Ctrl-C and the time limit end it in peace first. The error's words, or ""."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as stopped:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
            if isinstance(stopped, KeyboardInterrupt):
                raise
            return f"stopped after {seconds:.0f} s"
    if process.returncode == 0:
        return ""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("heddle")] or lines[:1] or ["no output"]
    return f"exit status {process.returncode}: {errors[-1]}"


def prepare(figure, file, machine, programs, where):
    """A figure's task: what is to be measured and what there is already. Refuses results of another machine."""
    if not only(all_points(figure), where):
        raise Failed(f"{figure.name} has no point of the values that --where names")
    able, lacking = wanted(figure, machine)
    known = []
    if file.exists():
        rec.mend(file)
        known = rec.read(file)
    others = {rec.machine_name(r) for r in known if r["machine"]["id"] != machine.id}
    if others:
        raise Failed(
            f"{file} has results of another machine ({'; '.join(others)}); --results FOLDER for those of this one"
        )
    known = [r for r in known if r["commit"] == programs.commit]
    return Task(figure, machine, file, only(able, where), lacking, known)


def work_folder(results):
    """Where commands run: chains and inputs are named from there, so that records name no path of this machine."""
    folder = results / "inputs"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "chains").exists():
        (folder / "chains").symlink_to(HERE / "chains")
    return folder


def make_inputs(task, programs, folder):
    """Files that chains read, made once."""
    for name, words in task.figure.makes.items():
        if (folder / name).exists() or not task.able:
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        error = run_command([str(programs.heddle), *words, "--output", name + ".part"], 120, folder)
        if error:
            raise Failed(f"{name} could not be made: {error}")
        (folder / (name + ".part")).rename(folder / name)


def take_records(programs, output):
    """What a command has written, without paths of this machine."""
    new = rec.read(output) if output.exists() else []
    for record in new:
        for path, word in ((output, "FILE"), (programs.heddle, "heddle"), (programs.bench, "heddle_bench")):
            record["command"] = record["command"].replace(str(path), word)
    return new


def keep(task, records):
    """Adds records to the figure's results."""
    records = [{**record, "name": task.figure.name} for record in records]
    with task.file.open("a", encoding="utf-8") as results:
        results.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    task.records += records


def share(pairs, new, others):
    """Adds the records of points that other figures have as well to theirs."""
    for other in others:
        for pair in pairs:
            if any(identity(*pair) == identity(*own) for own in other.able):
                keep(other, [record for record in new if belongs(record, *pair)])


def measure(task, others, programs, round_number, deadline, say):
    """One round of one figure; `others` get what they need of it. False when the time is up."""
    folder = work_folder(task.file.parent)
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch) / "records.jsonl"
        for command, pairs in task.commands(programs, round_number, output):
            left = deadline - time.monotonic()
            if left < LEAST_SECONDS:
                return False
            start = time.monotonic()
            try:
                error = run_command(command, min(left, task.figure.point_seconds * len(pairs)), folder)
            finally:  # also when someone has pressed Ctrl-C
                task.seconds += time.monotonic() - start
                new = take_records(programs, output)
                keep(task, new)
                share(pairs, new, others)
                output.unlink(missing_ok=True)
            lost = [(s, p) for s, p in pairs if not any(belongs(record, s, p) for record in new)]
            if lost and time.monotonic() < deadline - 1:
                task.failures += lost
                say(f"  failed: {shlex.join(command)}\n    {error or 'its records do not show these parameters'}")
    return True


def tell(line):
    """Prints at once, also into a pipe."""
    print(line, flush=True)


def run(figures, results, programs, time_limit, repetitions=None, say=tell, where=None):
    """Measures all figures, or those of their points that `where` names. Returns the tasks; those that cannot run here
    say why."""
    deadline = time.monotonic() + time_limit
    machine = programs.machine()
    say(f"{machine.name}; {machine.cores} cores to use; commit {programs.commit}")
    results.mkdir(parents=True, exist_ok=True)
    tasks = []
    for figure in figures:
        task = prepare(figure, results / f"{figure.name}.jsonl", machine, programs, where or {})
        tasks.append(task)
        for lack, count in task.lacking.items():
            say(f"{figure.name}: {count} of {count_points(figure)} points are left out, they need {lack}")
        try:
            make_inputs(task, programs, work_folder(results))
        except Failed as failed:
            task.failures = task.able
            say(f"{figure.name}: {failed}")
    try:
        for number in range(1, max((repetitions or f.repetitions) for f in figures) + 1):
            for task in tasks:
                if number > (repetitions or task.figure.repetitions) or not task.missing(number):
                    continue
                say(f"{task.figure.name}: round {number}, {len(task.missing(number))} points")
                if not measure(task, [t for t in tasks if t is not task], programs, number, deadline, say):
                    say(f"time is up after {time_limit:.0f} s; the same command goes on from here")
                    return tasks
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
    return tasks


def count_points(figure):
    """All points of its sweeps."""
    return len(all_points(figure))


def report(tasks, repetitions=None, say=tell):
    """What is there and what is not. True if nothing failed."""
    for task in tasks:
        target = repetitions or task.figure.repetitions
        full = sum(task.samples(s, p) >= target for s, p in task.able)
        some = sum(task.samples(s, p) > 0 for s, p in task.able)
        say(
            f"{task.figure.name}: {full} of {count_points(task.figure)} points complete ({target} repetitions), "
            f"{some - full} begun, {len(task.failures)} failed; {task.seconds:.0f} s"
        )
    return not any(task.failures for task in tasks)
