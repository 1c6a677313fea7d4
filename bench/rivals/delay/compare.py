"""Compares nanotape's correlations with those of other libraries: the programs, and the table."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness import build
from harness.by_lot import Comparison
from harness.table import NONE, duration, spread

EPILOG = """\
One thread. `transforms` is two forward transforms of N real points and one back; `whole` is also the
product of the spectra and the search of the largest value at all lags. Times are medians of single
correlations, and the table has medians over the rounds. "x fftw" is the time by that of FFTW's transforms
alone in the same round. nanotape's figures are those of `nanotape lab bench delay`. Every whole
correlation finds the lag that the samples have.

examples:
  run delay                                       everything, three rounds
  run delay --only nanotape,fftw --rounds 9
  run delay --format json > rivals.json
  run delay --list

exit status: 0 good, 1 a wrong lag, 2 usage or environment
"""

HERE = Path(__file__).resolve().parent
POINTS = [2_048, 16_384, 65_536]
PARTS = ["transforms", "whole"]
PACKAGES = ["numpy==2.4.6", "scipy==1.17.1"]
LIMIT = ("fftw", "transforms")


@dataclass(frozen=True)
class Program:
    """A row of the table."""

    name: str
    note: str
    kind: str = "rival"

    @property
    def listed(self):
        return f"{self.name:10} {self.note}"


PROGRAMS = [
    Program("nanotape", "this checkout: `nanotape lab bench delay`", "nanotape"),
    Program("fftw", "FFTW in single precision, measured plans, from C"),
    Program("scipy", "scipy.fft in single precision, from Python"),
    Program("numpy", "numpy.fft in single precision, from Python"),
]


class Delay(Comparison):
    name = "delay"
    description = "Runs correlations of nanotape and of other libraries, one at a time by lot, and prints one table."
    epilog = EPILOG
    programs = PROGRAMS
    words = 4
    messages, least_messages = 100_000_000, 1_000_000
    messages_help = "points that each program correlates in a round, for each N and part"
    headings = ["program", "version", "points", "part", "median", "min..max", "x fftw"]
    nanotape_rows = [f"{part}/{points}" for points in POINTS for part in PARTS]

    def build(self, chosen):
        commands, missing = {}, {}
        names = {program.name for program in chosen}
        attempts = [({"fftw"}, compiled), ({"scipy", "numpy"}, python)]
        for wanted, make in attempts:
            wanted &= names
            try:
                command = make() if wanted else None
                commands |= {name: command(name) for name in wanted}
            except build.Unavailable as reason:
                missing |= dict.fromkeys(sorted(wanted), str(reason))
        return commands, missing

    def jobs(self, chosen, commands, cpus, options):
        pinned = ["taskset", "-c", str(cpus[0])]
        return [
            (
                program.name, f"{part}/{points}",
                [*pinned, *commands[program.name], str(points), str(options.messages // points), part],
                {"name": program.name, "mode": f"{part}/{points}"},
            )
            for program in chosen if program.name in commands
            for points in POINTS for part in PARTS
        ]

    def nanotape_words(self, cpus, options):
        return ["--cpus", f"{cpus[0]},{cpus[-1]}"]

    def as_run(self, row):
        revision = (row.get("environment") or {}).get("revision") or "this tree"
        ns = row["latency"]["p50_ns"]
        return {"name": "nanotape", "mode": row["name"], "ns": ns, "version": revision[:7]}

    def summary(self, runs):
        groups = {}
        for run in runs:
            groups.setdefault((run["name"], run["mode"]), []).append(run)
        limits = {
            (run["mode"].split("/")[1], run["round"]): run["ns"]
            for run in runs if (run["name"], run["mode"].split("/")[0]) == LIMIT
        }
        rows = [row(name, mode, of_one, limits) for (name, mode), of_one in groups.items()]
        return sorted(rows, key=lambda one: (one["points"], one["part"]))

    def cells(self, row):
        ratio, ns = row["x_fftw"], row["ns"]
        return [
            row["name"], row["version"], str(row["points"]), row["part"], duration(ns["median"]),
            f"{duration(ns['min'])}..{duration(ns['max'])}", NONE if ratio is None else f"{ratio:.2f}",
        ]


def row(name, mode, runs, limits):
    part, points = mode.split("/")
    ratios = [
        run["ns"] / limits[points, run["round"]] for run in runs if (points, run["round"]) in limits
    ]
    return {
        "name": name, "version": runs[0]["version"], "points": int(points), "part": part,
        "ns": spread([run["ns"] for run in runs]), "x_fftw": median(ratios) if ratios else None,
    }


def compiled():
    """The command of the program in C, without its arguments."""
    compiler = next(filter(None, map(shutil.which, [os.environ.get("CC", "cc"), "gcc", "clang"])), None)
    if not compiler:
        raise build.Unavailable("no C compiler: install the package gcc or clang, or set CC")
    build.say("building the program of FFTW")
    build.WORK.mkdir(exist_ok=True)
    program = build.WORK / "correlate-fftw"
    flags = ["-std=gnu11", "-O3", "-march=native", "-ffast-math"]
    needs = "a C compiler and the package libfftw3-dev"
    build.checked([compiler, *flags, str(HERE / "correlate.c"), "-o", str(program), "-lfftw3f", "-lm"], needs)
    return lambda _name: [program]


def python():
    """The command of the program in Python, by library, without its other arguments."""
    interpreter = build.python("correlate", PACKAGES, "import scipy")
    return lambda name: [interpreter, HERE / "correlate.py", name]
