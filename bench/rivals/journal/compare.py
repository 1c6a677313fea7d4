"""Compares nanotape's journal with other ways to keep records: the programs, and the table."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import build, nanotape
from harness.by_lot import Comparison
from harness.chronicle import JAVA_FLAGS
from harness.table import NONE, durations, medians, range_of, spread

EPILOG = """\
Messages have 73 and 256 bytes. "M msg/s" is at full speed, and nothing else is timed. "call" is the time
of one append. "1-way" is the time from right before the append until a reader has copied the message
out, at 100,000 and 1,000,000 messages a second. Times are in ns and contain the cost of their clock.
The table has medians over the rounds. "x rate" and "x call" say how many times as fast nanotape's
journal is in the same run.

examples:
  run journal                                           everything, three rounds
  run journal --only nanotape,chronicle-queue --rounds 9
  run journal --folder /data --disk /data               on a disk
  run journal --format json > rivals.json

exit status: 0 good, 1 a record is missing or wrong, 2 usage or environment, 3 a rival could not be built:
the table names it with the reason, and has all others
"""

BYTES = (73, 256)
RATES = (100_000, 1_000_000)
# How long messages are sent at a steady rate.
STEADY_SECONDS = 2
PERCENTILES = ["p50", "p90", "p99", "p99_9", "p99_99"]

NAME = "nanotape"
# Rows of the list, the row of the table that each belongs to, and its mode.
ROWS = {
    **{f"append/{size}/{mode}": (NAME, mode) for size in BYTES for mode in ("throughput", "call")},
    **{f"tail/{size}/{rate}": (NAME, "tail") for size in BYTES for rate in RATES},
    "sync/73/each": ("nanotape, each synced", "call"),
    **{f"limit/{size}/mapped": ("limit: copied into a mapped file", "throughput") for size in BYTES},
    **{f"limit/{size}/mapped-call": ("limit: copied into a mapped file", "call") for size in BYTES},
    "limit/fdatasync": ("limit: write and fdatasync", "call"),
}

# SQLite's settings: synchronous, inserts in one transaction, and how many times fewer messages it gets.
SQLITE = [
    ("off", 1, 40), ("off", 1000, 10), ("normal", 1, 40), ("normal", 1000, 10), ("full", 1, 2000),
    ("full", 1000, 10),
]

@dataclass(frozen=True)
class Program:
    """A rival. SQLite has a row in the table for each of its settings."""

    name: str
    kind: str  # java, rust or nanotape: how it is built and started
    note: str

    @property
    def listed(self):
        return f"{self.name:18} {self.note}"


PROGRAMS = [
    Program("nanotape", "nanotape", "this checkout: `nanotape lab bench journal`"),
    Program("chronicle-queue", "java", "open version 2026.4, LARGE_DAILY, writingDocument and readingDocument"),
    Program("sqlite", "rust", "a table in WAL mode, synchronous off, normal and full, 1 or 1,000 inserts a commit"),
]


class Journal(Comparison):
    name = "journal"
    description = (
        "Runs nanotape's journal and other ways to keep records, one at a time by lot, and prints one table."
    )
    epilog = EPILOG
    programs = PROGRAMS
    messages, least_messages = 4_000_000, 10_000
    messages_help = "slow programs get fewer in proportion"
    nanotape_rows = list(ROWS)
    missing_status = 3
    words = 2
    headings = [
        "program", "version", "bytes", "read by", "M msg/s", "min..max", "x rate", "call p50", "p99", "p99.9",
        "p99.99", "x call", "1-way 100k p50", "p99", "1-way 1M p50", "p99",
    ]

    def add_options(self, parser):
        parser.add_argument(
            "--folder", default="/dev/shm", help="where journals are created (/dev/shm)"
        )
        parser.add_argument(
            "--disk", default=tempfile.gettempdir(),
            help="where journals are created that wait for the disk (the folder for temporary files)",
        )

    def check(self, options):
        for folder in [options.folder, options.disk]:
            if not Path(folder).is_dir():
                raise ValueError(f"{folder}: no such folder")

    def where(self, options):
        return f"; in {options.folder}, what waits for the disk in {options.disk}"

    def build(self, chosen):
        commands, left_out = {}, {}
        names = [program.name for program in chosen]
        if "chronicle-queue" in names:
            try:
                commands["chronicle-queue"] = build.java("journal", JAVA_FLAGS)
            except build.Unavailable as reason:
                left_out["chronicle-queue"] = str(reason)
        if "sqlite" in names:
            try:
                needs = "cargo and a C compiler"
                commands["sqlite"] = [build.cargo("rivals-journal", [], build.NATIVE, "native", needs)]
            except build.Unavailable as reason:
                left_out["sqlite"] = str(reason)
        return commands, left_out

    def jobs(self, chosen, commands, cpus, options):
        words = ["--cpus", ",".join(map(str, cpus))]
        jobs = {"chronicle-queue": chronicle, "sqlite": sqlite}
        names = [program.name for program in chosen if program.name in commands]
        return [job for name in names for job in jobs[name](commands[name], words, options)]

    def nanotape_words(self, cpus, options):
        return [
            "--messages", str(options.messages), "--seconds", str(STEADY_SECONDS), "--folder",
            options.folder, "--disk", options.disk, "--cpus", ",".join(map(str, cpus)),
        ]

    def as_run(self, row):
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
            run["call_ns"] = nanotape.quantiles(row["latency"])
        else:
            run["rate"] = row["rate_per_second"]
            run["from_send_ns"] = nanotape.quantiles(row["latency"])
        return run

    def summary(self, runs):
        """A row for each program and length, sorted by length. The limits are last."""
        groups = {}
        for run in runs:
            groups.setdefault((run["name"], run["message_bytes"]), []).append(run)
        rows = [row(name, size, of_one) for (name, size), of_one in groups.items()]
        own = {row["bytes"]: row for row in rows if row["name"] == NAME}
        for one in rows:
            one["x_rate"], one["x_call"] = against(one, own.get(one["bytes"]))
        return sorted(rows, key=lambda row: (row["bytes"], row["name"].startswith("limit"), row["name"]))

    def cells(self, row):
        ways = [row["one_way_ns"][str(rate)] for rate in RATES]
        return [
            row["name"], row["version"], str(row["bytes"]), row["scope"] or NONE,
            *range_of(row["throughput"], 2), ratio(row["x_rate"]),
            *durations(row["call_ns"], ["p50", "p99", "p99_9", "p99_99"]), ratio(row["x_call"]),
            *(cell for way in ways for cell in durations(way, ["p50", "p99"])),
        ]


def chronicle(start, words, options):
    """Jobs of Chronicle Queue: every mode and length."""
    jobs = []
    for size in BYTES:
        modes = [(f"{mode} {size}", [mode], options.messages) for mode in ("throughput", "call")]
        modes += [
            (f"tail {size} {rate}", ["tail", "--rate", str(rate)], min(options.messages, rate * STEADY_SECONDS))
            for rate in RATES
        ]
        for mode, command, messages in modes:
            length = ["--bytes", str(size), "--messages", str(messages), "--folder", options.folder]
            jobs.append(("chronicle-queue", mode, [*start, *command, *length, *words], {}))
    return jobs


def sqlite(start, words, options):
    """Jobs of SQLite: every setting, in both modes that it has."""
    jobs = []
    for synchronous, batch, fewer in SQLITE:
        folder = options.folder if synchronous == "off" else options.disk
        count = str(max(options.messages // fewer, 1_000))
        setting = ["--synchronous", synchronous, "--batch", str(batch), "--folder", folder]
        name = f"sqlite {synchronous}, {batch} a commit"
        for mode in ("throughput", "call"):
            command = [*start, mode, *setting, "--messages", count, *words]
            jobs.append((name, mode, command, {"name": name}))
    return jobs


def row(name, size, runs):
    calls = [run["call_ns"] for run in runs if run["mode"] == "call"]
    tails = [run for run in runs if run["mode"] == "tail"]
    ways = {rate: [run["from_send_ns"] for run in tails if run["rate"] == rate] for rate in RATES}
    rates = [run["messages_per_second"] / 1e6 for run in runs if run["mode"] == "throughput"]
    return {
        "name": name,
        "version": runs[0]["version"],
        "bytes": size,
        "scope": tails[0]["scope"] if tails else None,
        "throughput": spread(rates),
        "call_ns": medians(calls, PERCENTILES),
        "one_way_ns": {str(rate): medians(found, PERCENTILES) for rate, found in ways.items()},
    }


def against(row, own):
    """How many times as fast nanotape is: by rate, and by the median call."""
    rate = call = None
    if own and own["throughput"] and row["throughput"]:
        rate = own["throughput"]["median"] / row["throughput"]["median"]
    if own and own["call_ns"] and row["call_ns"]:
        call = row["call_ns"]["p50"] / own["call_ns"]["p50"]
    return rate, call


def ratio(number):
    return NONE if number is None else f"{number:.2f}"
