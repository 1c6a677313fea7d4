"""Compares nanotape's export of tables with itch-book's: the programs, the rounds, and the table."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import build, options as shared, table
from harness.rounds import Failed, first_line, rounds, run_once, stop, turns

from . import judge

EPILOG = """\
A job is one command: `bbo+trades` or `mbo`. Times are from the start of the process to its end. "peak MiB"
is the largest resident memory of the process. "x itch-book" is the wall time by that of itch-book for the
job in the same round, and "x limit" by that of `parquet`: the median over the rounds. `parquet` writes
nanotape's tables from memory with the writer of the crate of that name; reading them into memory is not
part of its time. First both programs write all tables, and their rows are compared.

examples:
  run tables 12302019.NASDAQ_ITCH50
  run tables day.itch50 --date 2019-12-30 --rounds 5
  run tables 12302019.NASDAQ_ITCH50 --programs target/release     programs that are built already
  run tables 12302019.NASDAQ_ITCH50 --format json > rivals.json

exit status: 0 good, 1 tables differ without an explanation, 2 usage or environment
"""

HERE = Path(__file__).resolve().parent
ROOT = build.HERE.parent.parent
PACKAGES = ["itch-book==0.2.1", "pyarrow==26.0.1", "numpy==2.4.6"]
# Each job with nanotape's tables and itch-book's.
JOBS = {"bbo+trades": (["bbo", "trades"], ["bbo", "trades"]), "mbo": (["mbo"], ["messages"])}
HEADINGS = [
    "program", "version", "job", "rows", "wall s", "min..max", "CPU s", "peak MiB", "MB", "x itch-book", "x limit",
]
WORDS = 3


@dataclass(frozen=True)
class Program:
    """Rows of the table, one for each job."""

    name: str
    note: str


PROGRAMS = [
    Program("nanotape", "this checkout: `nanotape export`"),
    Program("itch-book", "`itch2parquet convert`, from PyPI, with pyarrow"),
    Program("parquet", "the limit: the writer of the crate `parquet`, from memory"),
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
    except ValueError as mistake:
        return shared.refuse(str(mistake))
    built, versions, left_out = build_all(chosen, options.programs)
    folder = Path(tempfile.mkdtemp(prefix="tables-", dir=options.folder or build.WORK))
    try:
        return compare(options, chosen, built, versions, left_out, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build_all(chosen, programs):
    """Executables and versions by name, and reasons for the programs that are left out."""
    build.WORK.mkdir(exist_ok=True)
    built, versions, left_out = {}, {}, {}
    # nanotape also writes the tables that the limit needs.
    attempts = [
        ("nanotape", chosen != ["itch-book"], partial(nanotape, programs)),
        ("itch-book", "itch-book" in chosen, itch_book), ("parquet", "parquet" in chosen, limit),
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


def itch_book():
    interpreter = build.python("tables", PACKAGES, "import itch_book, pyarrow.parquet")
    return interpreter.with_name("itch2parquet"), PACKAGES[0].split("==")[1]


def limit():
    return build.cargo("rivals-tables", [], build.NATIVE, "native"), build.locked_version("parquet")


def compare(options, chosen, built, versions, left_out, folder):
    first, calls = folder / "first", {}
    dates = ["--date", options.date] if options.date else []
    if "nanotape" in built:
        calls["nanotape"] = partial(export, built["nanotape"], options.file, dates)
    if "itch-book" in built:
        calls["itch-book"] = partial(convert, built["itch-book"], options.file, dates)
    for name, call in list(calls.items()):
        build.say(f"all tables of {name}")
        try:
            call([one for job in JOBS.values() for one in job[name == "itch-book"]], first / name)
        except Failed as failure:
            left_out[name] = str(failure)
            del calls[name]
    reports, problem = [], "it needs both programs"
    if {"nanotape", "itch-book"} <= calls.keys():
        build.say("comparing the tables")
        reports, problem = answers(built["itch-book"].with_name("python"), first)
    tasks = []
    for job, tables in JOBS.items():
        tasks += [
            (name, job, partial(timed, calls[name], tables[name == "itch-book"], folder / "run"))
            for name in ("nanotape", "itch-book") if name in calls and name in chosen
        ]
        if "parquet" in built and "nanotape" in calls:
            files = [first / "nanotape" / f"{name}.parquet" for name in tables[0]]
            tasks.append(("parquet", job, partial(written, built["parquet"], files, folder / "run")))
    found, failures, done = rounds(
        tasks, options.rounds, turns,
        lambda number, name, job: build.say(f"round {number + 1} of {options.rounds}: {name}, {job}"),
    )
    left_out.update({f"{name}, {job}": str(failure) for (name, job), failure in failures.items()})
    rows = judge.summary(found, versions)
    goals = judge.goals(rows)
    how = f"{options.file.name}: {done} rounds in turns, not pinned; {table.machine()}"
    if options.format == "json":
        runs = [{"name": name, "job": job, **run} for (name, job), of_one in found.items() for run in of_one]
        facts = {"how": how, "answers": reports, "goals": goals, "programs": rows, "runs": runs}
        print(json.dumps({**facts, "left_out": left_out}, indent=1))
    else:
        print(f"{how}\n\n{text(rows, left_out)}")
        print("\n".join(judge.differences(reports) or [f"tables not compared: {problem}"]))
        print("\n".join(goals))
    if judge.unexplained(reports):
        return 1
    # A rival that cannot run is left out. nanotape must run, and answers must be compared if both do.
    is_compared = bool(reports) or "itch-book" not in calls or chosen == ["itch-book"]
    is_there = "nanotape" in calls or chosen == ["itch-book"]
    return 0 if rows and is_there and is_compared else 2


def export(executable, day, dates, tables, folder):
    """`nanotape export`, as a run."""
    folder.mkdir(parents=True)
    return measured([executable, "export", day, "--records", ",".join(tables), "-o", f"{folder}/", *dates], 0)


def convert(executable, day, dates, tables, folder):
    """`itch2parquet convert`, as a run."""
    folder.mkdir(parents=True)
    return measured([executable, "convert", day, folder, "--tables", ",".join(tables), *dates], -1)


def measured(command, reason):
    """Time, memory and printed lines of a process. If it fails, the line number `reason` says why."""
    # What the program before this one wrote must not reach the disk meanwhile.
    os.sync()
    with tempfile.TemporaryFile("w+") as printed:
        start = time.monotonic()
        process = subprocess.Popen(
            [str(word) for word in command], stdout=printed, stderr=printed, start_new_session=True
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            stop(process)
        printed.seek(0)
        lines = printed.read()
    if process.returncode != 0:
        raise Failed(first_line("".join(lines.splitlines()[reason:][:1]), process.returncode))
    return {
        "seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024, "printed": lines,
    }


def timed(call, tables, folder):
    """A run of a program, with the rows that it prints and the bytes of its files."""
    try:
        run = call(tables, folder)
        run["rows"] = judge.printed_rows(run.pop("printed"), tables)
        run["bytes"] = sum((folder / f"{name}.parquet").stat().st_size for name in tables)
        return [run]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def written(executable, files, folder):
    """A run of the limit."""
    folder.mkdir()
    os.sync()
    try:
        return [run_once([executable, folder, *files])]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answers(interpreter, folder):
    """The reports of the tables of both programs, or none and the reason."""
    command = [interpreter, "-B", HERE / "answers.py", folder / "nanotape", folder / "itch-book"]
    try:
        return run_once(command), None
    except Failed as failure:
        return [], str(failure)


def text(rows, left_out):
    lines = table.aligned([HEADINGS, *map(cells, rows)], WORDS) if rows else []
    lines += ["", *(f"left out: {name}: {reason}" for name, reason in left_out.items())] if left_out else []
    return "\n".join([*lines, ""])


def cells(row):
    seconds, memory = row["seconds"], row["peak_bytes"]
    ratios = [row["x_itch_book"], row["x_limit"]]
    return [
        row["name"], row["version"], row["job"], f"{row['rows']:,}", *table.range_of(seconds, 2),
        f"{row['cpu_seconds']:.2f}", table.NONE if memory is None else f"{memory / (1 << 20):.0f}",
        f"{row['bytes'] / 1e6:.1f}", *(table.NONE if ratio is None else f"{ratio:.2f}" for ratio in ratios),
    ]


def arguments(words):
    description = "Runs nanotape and itch-book on one day file, in turns, as writers of Parquet tables."
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
        "--folder", type=Path, metavar="FOLDER", help="where tables are written for a while (.work)"
    )
    return parser.parse_args(words)
