"""nanotape's own figures: runs `nanotape lab bench journal` and puts its rows into the rivals' form.

All that this folder knows of that command and its list is in this file. The fields of the list are
described in `docs/formats/lab-bench-journal.md`.
"""

import json
import tempfile
from pathlib import Path

from harness.measure import Failed
from harness.nanotape import COMMAND, checked

from .programs import BYTES, RATES, STEADY_SECONDS

NAME = "nanotape"
# Rows of the list: the row of the table that each belongs to, and its mode.
ROWS = {
    **{f"append/{size}/{mode}": (NAME, mode) for size in BYTES for mode in ("throughput", "call")},
    **{f"tail/{size}/{rate}": (NAME, "tail") for size in BYTES for rate in RATES},
    "sync/73/each": ("nanotape, each synced", "call"),
    **{f"limit/{size}/mapped": ("limit: copied into a mapped file", "throughput") for size in BYTES},
    **{f"limit/{size}/mapped-call": ("limit: copied into a mapped file", "call") for size in BYTES},
    "limit/fdatasync": ("limit: write and fdatasync", "call"),
}


def prepare():
    """Builds it before anything is measured; raises Failed with the reason if that cannot be."""
    checked(["cargo", "build", "--release", "--locked", "--quiet", "-p", "nanotape-cli"])
    checked([*COMMAND, "lab", "bench", "journal", "--help"])


def measure(cpus, options):
    """One round: the rows that rivals have too, and the limits."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "journal.json"
        checked([
            *COMMAND, "lab", "bench", "journal", "--rounds", "1", "--only", ",".join(ROWS),
            "--messages", str(options.messages), "--seconds", str(STEADY_SECONDS),
            "--folder", options.folder, "--disk", options.disk,
            "--cpus", ",".join(map(str, cpus)), "-o", str(file),
        ])
        try:
            rows = json.loads(file.read_text())
        except (OSError, ValueError) as problem:
            raise Failed(f"lab bench journal wrote no list: {problem}") from None
    return [as_run(row) for row in rows]


def as_run(row):
    """A row of the list as a run of a program of the table."""
    name, mode = ROWS[row["name"]]
    run = {
        "name": name,
        "mode": mode,
        "version": "this checkout",
        "scope": "processes" if mode == "tail" else "one thread",
        "message_bytes": row["message_bytes"],
    }
    if mode == "throughput":
        run["messages_per_second"] = row["written_per_second"]
    elif mode == "call":
        run["call_ns"] = quantiles(row["latency"])
    else:
        run["rate"] = row["rate_per_second"]
        run["from_send_ns"] = quantiles(row["latency"])
    return run


def quantiles(latency):
    """Of the list's names, the rivals'."""
    names = {"p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "p99_99": "p99.99", "max": "max"}
    return {ours: latency[f"{theirs}_ns"] for ours, theirs in names.items()}
