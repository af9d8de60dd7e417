"""`heddle bench` for tests: quick options, and its records."""

import json

from whole.program import CHAINS

BOUNCE = CHAINS / "bounce.click"
EASY = [
    "--no-pin",
    "--trial",
    "0.1",
    "--warmup",
    "0.02",
    "--drain",
    "0.5",
    "--repetitions",
    "2",
    "--descriptors",
    "32768",
    "--flows",
    "20",
]


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def median(record, name):
    return record["values"][name]["median"]
