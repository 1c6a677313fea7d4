"""The runs of each program on a day, on DBN files and on a journal: what is started, and what is measured."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from harness.rounds import Failed, first_line, run_once, stop

from . import judge

READS = Path(__file__).resolve().parent / "reads.py"
PARQUET = "dbn to Parquet"
# Each job that ends in an array, with what a program reads. The program numpy copies what is in memory.
ARRAYS = {
    "dbn to numpy": {"nanotape": "mbo.dbn", "databento": "mbo.dbn"},
    "dbn.zst to numpy": {"nanotape": "mbo.dbn.zst", "databento": "mbo.dbn.zst"},
    "journal to numpy": {"nanotape": "journal", "numpy": "mbo.dbn"},
}


def write_records(executable, day, dates, folder):
    """The mbo records of the day as DBN, compressed and not, and as the journal of a plant."""
    folder.mkdir(parents=True)
    for words in [
        ["convert", day, "-o", folder / "mbo.dbn.zst"], ["convert", day, "-o", folder / "mbo.dbn"],
        ["run", "--input", day, "--ring", folder / "ring", "--journal", folder / "journal"],
    ]:
        measured([executable, *words, "--records", "mbo", *dates], 0)


def to_parquet(interpreter, file, tables, folder):
    """databento's Parquet file, as a run."""
    folder.mkdir(parents=True)
    # Warnings of pandas about databento are no concern of who reads the table.
    command = [interpreter, "-B", "-W", "ignore", READS, "parquet", file, folder / f"{tables[0]}.parquet"]
    return measured(command, -1)


def arrays(interpreter, name, job, folder):
    """Calls within one process, as a run with the times of a call."""
    # All records of a DBN file are read: nanotape maps one that is not compressed.
    sums = [] if job == "journal to numpy" else ["sum"]
    source = folder / ARRAYS[job][name]
    run = measured([interpreter, "-B", "-W", "ignore", READS, name, source, *sums], -1)
    run.update(json.loads(run.pop("printed")))
    return [run]


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
