"""Compares nanotape's tables and arrays with those of itch-book and databento: programs, rounds, and the table."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import build, options as shared, table
from harness.rounds import Failed, rounds, run_once, turns

from . import judge, runs

EPILOG = """\
The jobs `bbo+trades`, `mbo` and `dbn to Parquet` are one command each, with times from the start of the process
to its end. The jobs `to numpy` are a call within a process that made one before: the median of three. "peak MiB"
is the largest resident memory of the process. "x rival" is the wall time by that of the rival for the job in the
same round, itch-book or databento, and "x limit" by that of the limit: the median over the rounds. `parquet` writes
nanotape's tables from memory with the writer of the crate of that name; reading them into memory is not part of
its time. `numpy` copies as many bytes as the records have. First all programs run once, and what they read or
wrote is compared.

examples:
  run tables 12302019.NASDAQ_ITCH50
  run tables day.itch50 --date 2019-12-30 --rounds 5
  run tables 12302019.NASDAQ_ITCH50 --programs target/release     programs that are built already
  run tables 12302019.NASDAQ_ITCH50 --only nanotape,databento,numpy --wheel FILE
  run tables 12302019.NASDAQ_ITCH50 --format json > rivals.json

exit status: 0 good, 1 tables differ without an explanation, 2 usage or environment
"""

HERE = Path(__file__).resolve().parent
ROOT = build.HERE.parent.parent
# nanotape as a package of Python, beside its programs.
PACKAGE = "nanotape in Python"
DATABENTO = "databento==0.88.0"
PACKAGES = ["itch-book==0.2.1", "pyarrow==26.0.1", "numpy==2.4.6"]
# Each job with nanotape's tables and itch-book's.
JOBS = {"bbo+trades": (["bbo", "trades"], ["bbo", "trades"]), "mbo": (["mbo"], ["messages"])}
HEADINGS = [
    "program", "version", "job", "rows", "wall s", "min..max", "CPU s", "peak MiB", "MB", "GB/s",
    "x rival", "x limit",
]
WORDS = 3


@dataclass(frozen=True)
class Program:
    """Rows of the table, one for each job."""

    name: str
    note: str


PROGRAMS = [
    Program("nanotape", "this checkout: `nanotape export`, and its package for Python"),
    Program("itch-book", "`itch2parquet convert`, from PyPI, with pyarrow"),
    Program("parquet", "the limit: the writer of the crate `parquet`, from memory"),
    Program("databento", "`DBNStore` of Databento's package for Python, from PyPI"),
    Program("numpy", "the limit of arrays: `numpy.copyto` of as many bytes, from memory"),
]


def main(words):
    options = arguments(words)
    try:
        chosen = [program.name for program in shared.choose(PROGRAMS, options.only)]
        if not options.file.is_file():
            raise ValueError(f"{options.file}: no such file; `nanotape synth -o FILE` makes one")
        if options.rounds < 1:
            raise ValueError(f"--rounds {options.rounds}: at least 1")
        if options.folder and not options.folder.is_dir():
            raise ValueError(f"{options.folder}: no such folder")
        if options.wheel and not options.wheel.is_file():
            raise ValueError(f"{options.wheel}: no such file; `scripts/wheel` builds the wheel")
    except ValueError as mistake:
        return shared.refuse(str(mistake))
    built, versions, left_out = build_all(chosen, options)
    folder = Path(tempfile.mkdtemp(prefix="tables-", dir=options.folder or build.WORK))
    try:
        return compare(options, chosen, built, versions, left_out, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build_all(chosen, options):
    """Executables and versions by name, and reasons for the programs that are left out."""
    build.WORK.mkdir(exist_ok=True)
    built, versions, left_out = {}, {}, {}
    # nanotape also writes the tables that the limit needs, and the records that databento reads.
    attempts = [
        ("nanotape", chosen != ["itch-book"], partial(nanotape, options.programs)),
        (PACKAGE, "nanotape" in chosen, partial(package, options.wheel)),
        ("itch-book", "itch-book" in chosen, itch_book), ("databento", "databento" in chosen, databento),
        ("parquet", "parquet" in chosen, limit), ("numpy", "numpy" in chosen, numpy),
    ]
    for name, is_needed, make in attempts:
        try:
            if is_needed:
                built[name], versions[name] = make()
        except build.Unavailable as reason:
            left_out[name] = str(reason)
    return built, versions, left_out


def nanotape(programs):
    if programs is None:
        build.say("building nanotape")
        packages = ["-p", "nanotape-cli", "-p", "nanotape-export"]
        build.checked(["cargo", "build", "--release", "--locked", "--quiet", *packages], "cargo", cwd=ROOT)
        programs = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    executable = Path(programs).resolve() / "nanotape"
    build.checked([str(executable), "export", "--help"], "nanotape and nanotape-export in one folder")
    version = subprocess.run([executable, "--version"], capture_output=True, text=True).stdout
    # The version, and in brackets the commit.
    return executable, " ".join(re.findall(r"\((\S+)|$", version)[:1]) or "this tree"


def package(wheel):
    """The interpreter that has nanotape's package, in the environment of the rivals."""
    interpreter = build.python("tables", PACKAGES, "import numpy, pyarrow.parquet")
    if wheel is None:
        build.say("building nanotape's package")
        build.checked([str(ROOT / "scripts" / "wheel")], "cargo, pip, and the network once")
        wheels = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "wheels"
        (wheel,) = wheels.glob("nanotape-*.whl")
    # Without --force-reinstall, a wheel of the same version would not replace the one before it.
    install = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(wheel)]
    build.checked([str(interpreter), *install], "a wheel for this Python")
    return interpreter, None


def itch_book():
    interpreter = build.python("tables", PACKAGES, "import itch_book, pyarrow.parquet")
    return interpreter.with_name("itch2parquet"), version("itch-book")


def databento():
    return build.python("tables", [*PACKAGES, DATABENTO], "import databento"), DATABENTO.split("==")[1]


def limit():
    return build.cargo("rivals-tables", [], build.NATIVE, "native"), build.locked_version("parquet")


def numpy():
    return build.python("tables", PACKAGES, "import numpy"), version("numpy")


def version(name):
    return dict(one.split("==") for one in PACKAGES)[name]


def compare(options, chosen, built, versions, left_out, folder):
    first, records = folder / "first", folder / "records"
    dates = ["--date", options.date] if options.date else []
    calls = day_calls(options.file, dates, built, left_out, first)
    converted, readers = {}, {}
    needs_records = not {"nanotape", "databento", "numpy"}.isdisjoint(chosen)
    if "nanotape" in built and needs_records and attempt(
        "records", left_out, runs.write_records, built["nanotape"], options.file, dates, records
    ):
        converted = record_calls(built, left_out, records)
        names = {"nanotape": PACKAGE, "databento": "databento", "numpy": "numpy"}
        readers = {name: built[key] for name, key in names.items() if key in built}
    reports, problems = answers(questions(built, calls, converted, readers, first, records))
    tasks = [
        *day_tasks(built, calls, first, folder / "run"),
        *((name, runs.PARQUET, partial(runs.timed, call, ["mbo"], folder / "run")) for name, call in converted.items()),
        *(
            (name, job, partial(runs.arrays, readers[name], name, job, records))
            for job, sources in runs.ARRAYS.items() for name in sources if name in readers
        ),
    ]
    found, failures, done = rounds(
        [task for task in tasks if task[0] in chosen], options.rounds, turns,
        lambda number, name, job: build.say(f"round {number + 1} of {options.rounds}: {name}, {job}"),
    )
    left_out.update({f"{name}, {job}": str(failure) for (name, job), failure in failures.items()})
    rows = judge.summary(found, versions)
    goals = judge.goals(rows)
    how = f"{options.file.name}: {done} rounds in turns, not pinned; {table.machine()}"
    if options.format == "json":
        single = [{"name": name, "job": job, **run} for (name, job), of_one in found.items() for run in of_one]
        facts = {"how": how, "answers": reports, "goals": goals, "programs": rows, "runs": single}
        print(json.dumps({**facts, "left_out": left_out}, indent=1))
    else:
        print(f"{how}\n\n{text(rows, left_out)}")
        compared = [*judge.differences(reports), *(f"tables not compared: {problem}" for problem in problems)]
        print("\n".join(compared or ["tables not compared: it needs two programs"]))
        print("\n".join(goals))
    if judge.unexplained(reports):
        return 1
    # A rival that cannot run is left out. nanotape must run, and answers must be compared if both do.
    has_failed = any(name == "records" or name.startswith("nanotape") for name in left_out)
    return 0 if rows and not has_failed and not problems else 2


def attempt(name, left_out, call, *arguments):
    """Whether a step succeeds. If not, the table gives the reason."""
    build.say(f"once: {name}")
    try:
        call(*arguments)
    except Failed as failure:
        left_out[name] = str(failure)
    return name not in left_out


def day_calls(day, dates, built, left_out, first):
    """What writes tables of the day, by program, after each has written all of them."""
    makers = {"nanotape": runs.export, "itch-book": runs.convert}
    calls = {name: partial(make, built[name], day, dates) for name, make in makers.items() if name in built}
    return {
        name: call for name, call in calls.items()
        if attempt(name, left_out, call, sum((job[name == "itch-book"] for job in JOBS.values()), []), first / name)
    }


def record_calls(built, left_out, records):
    """What writes the Parquet file of the DBN file, by program, after each has written it."""
    source = records / "mbo.dbn.zst"
    calls = {"nanotape": partial(runs.export, built["nanotape"], source, [])}
    if "databento" in built:
        calls["databento"] = partial(runs.to_parquet, built["databento"], source)
    return {
        name: call for name, call in calls.items()
        if attempt(f"{name}, {runs.PARQUET}", left_out, call, ["mbo"], records / name)
    }


def day_tasks(built, calls, first, folder):
    tasks = []
    for job, tables in JOBS.items():
        tasks += [
            (name, job, partial(runs.timed, call, tables[name == "itch-book"], folder)) for name, call in calls.items()
        ]
        if "parquet" in built and "nanotape" in calls:
            files = [first / "nanotape" / f"{name}.parquet" for name in tables[0]]
            tasks.append(("parquet", job, partial(runs.written, built["parquet"], files, folder)))
    return tasks


def questions(built, calls, converted, readers, first, records):
    """The commands that compare what two programs made of the same input."""
    commands = []
    if {"nanotape", "itch-book"} <= calls.keys():
        interpreter = built["itch-book"].with_name("python")
        commands.append([interpreter, "-B", HERE / "answers.py", first / "nanotape", first / "itch-book"])
    jobs = [runs.PARQUET] if {"nanotape", "databento"} <= converted.keys() else []
    if "nanotape" in readers:
        # The journal is compared with nanotape's own DBN file.
        jobs += [job for job, sources in runs.ARRAYS.items() if "databento" not in sources or "databento" in readers]
    if jobs:
        interpreter = readers.get("nanotape") or built["databento"]
        commands.append([interpreter, "-B", HERE / "records.py", records, *jobs])
    return commands


def answers(commands):
    """The reports of all commands, and the reasons of those that failed."""
    reports, problems = [], []
    build.say("comparing the answers")
    for command in commands:
        try:
            reports += run_once(command)
        except Failed as failure:
            problems.append(str(failure))
    return reports, problems


def text(rows, left_out):
    lines = table.aligned([HEADINGS, *map(cells, rows)], WORDS) if rows else []
    lines += ["", *(f"left out: {name}: {reason}" for name, reason in left_out.items())] if left_out else []
    return "\n".join([*lines, ""])


def cells(row):
    seconds, memory, rate = row["seconds"], row["peak_bytes"], row["gb_per_second"]
    ratios = [row["x_rival"], row["x_limit"]]
    # A call that reads an array is much shorter than a process that writes a table.
    digits = 2 if rate is None else 3
    return [
        row["name"], row["version"], row["job"], f"{row['rows']:,}", *table.range_of(seconds, digits),
        f"{row['cpu_seconds']:.{digits}f}", table.NONE if memory is None else f"{memory / (1 << 20):.0f}",
        f"{row['bytes'] / 1e6:.1f}", *(table.NONE if one is None else f"{one:.2f}" for one in [rate, *ratios]),
    ]


def arguments(words):
    description = "Runs nanotape, itch-book and databento on one day, in turns: Parquet tables, and arrays."
    parser = shared.parser("tables", description, EPILOG, rounds=3)
    parser.add_argument("file", type=Path, metavar="FILE", help="a day file of Nasdaq ITCH 5.0")
    parser.add_argument(
        "--date", metavar="DATE", help="trade date of a file whose name has none, as in 2019-12-30"
    )
    parser.add_argument(
        "--programs", type=Path, metavar="FOLDER",
        help="the folder of nanotape and nanotape-export; otherwise they are built",
    )
    parser.add_argument(
        "--wheel", type=Path, metavar="FILE",
        help="nanotape's package for Python; otherwise `scripts/wheel` builds it",
    )
    parser.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="where tables are written for a while (.work)"
    )
    return parser.parse_args(words)
