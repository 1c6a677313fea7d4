"""nanotape's own figures: runs `nanotape lab bench ring` and puts its rows into the rivals' form.

All that this folder knows of that command and its list is in this file. The fields of the list are
described in `docs/formats/lab-bench-ring.md`.
"""

import json
import subprocess
import tempfile
from pathlib import Path

from .build import HERE
from .measure import Failed, be_nice

ROOT = HERE.parent.parent
COMMAND = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "nanotape-cli", "--"]
LONGEST_SECONDS = 900


def prepare():
    """Builds it before anything is measured; raises Failed with the reason if that cannot be."""
    build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "nanotape-cli"]
    checked(build)
    checked([*COMMAND, "lab", "bench", "ring", "--help"])


# Rows of the list, the program of the table that each belongs to, and what it says of that.
ROWS = {
    f"{design}/{row}": (f"nanotape {design}{suffix}", mode)
    for design in ("stream", "slots")
    for row, suffix, mode in (
        ("throughput/lossless-single", "", "throughput"),
        ("throughput/lossless-batch-read", ", read in batches", "throughput"),
        ("latency", "", "latency"),
        ("round-trip", "", "ping-pong"),
    )
}
LINE = "limit/line"


def measure(nice=0):
    """One round: the rows that rivals have too, and the limit."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ring.json"
        only = ",".join([*ROWS, LINE])
        command = ["lab", "bench", "ring", "--rounds", "1", "--only", only, "-o", str(file)]
        checked([*COMMAND, *command], nice)
        try:
            rows = json.loads(file.read_text())
        except (OSError, ValueError) as problem:
            raise Failed(f"lab bench ring wrote no list: {problem}") from None
    return [as_run(row) for row in rows]


def as_run(row):
    """A row of the list as a run of a program of the table."""
    name, mode = ROWS.get(row["name"], (row["name"], "limit"))
    run = {
        "name": name,
        "mode": mode,
        "version": "this checkout",
        "scope": "processes",
        # Its writer waits for nobody; the rows of throughput are paced by the benchmark.
        "delivery": "lossy, paced here",
    }
    if mode == "throughput":
        answer = row["answer"]
        run["messages_per_second"] = row["read_per_second"]
        run["readers"] = [{"received": answer["read"], "lost": answer["lost"]}]
    elif mode == "latency":
        run["from_send_ns"] = quantiles(row["latency"])
    else:
        run["round_trip_ns"] = quantiles(row["latency"])
    return run


def quantiles(latency):
    """Of the list's names, the rivals'."""
    names = {"p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "max"}
    return {ours: latency[f"{theirs}_ns"] for ours, theirs in names.items()}


def line_bounce(runs):
    """What a cache line takes there and back, in ns: the median over rounds, or None."""
    times = sorted(run["round_trip_ns"]["p50"] for run in runs if run["name"] == LINE)
    return times[len(times) // 2] if times else None


def checked(command, nice=0):
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS,
            start_new_session=True, preexec_fn=be_nice(nice),
        )
    except FileNotFoundError:
        raise Failed("cargo is not there") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {LONGEST_SECONDS} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failed(lines[0] if lines else f"status {done.returncode}")
