"""Compares nanotape's map of latest values with other maps: how programs start, and the table."""

from dataclasses import dataclass
from pathlib import Path

from harness import build
from harness.by_lot import Comparison
from harness.chronicle import JAVA_FLAGS
from harness.table import NONE, durations, medians, range_of, spread

EPILOG = """\
Keys and values have 8 bytes; all keys are in the map before anything is measured, and each update adds 1
to the value of a random key. "M upd/s" is at full speed, with one side and with two: threads where the
map belongs to one process, processes where they share it. "call" is the time of one update, and "due"
the time from the moment at which it was due, in ns, at 1,000,000 updates a second by one side; both
contain the cost of their clock, and leave out the first tenth. The table has medians over the rounds.
"x" is how many times as fast nanotape's map is in the same run. Every program checks that the sum of all
values is the number of updates.

With --kill, a process of each shared map updates without end and is killed (SIGKILL) after some
milliseconds. Then a new process must open the map and update every key within 10 s. The column has how
often it did, and the longest time.

examples:
  run map                                            everything, three rounds
  run map --only nanotape,chronicle-map --entries 10000000 --rounds 9
  run map --kill --rounds 1
  run map --format json > rivals.json

exit status: 0 good, 1 a value is missing or wrong, 2 usage or environment, 3 a rival could not be built:
the table names it with the reason, and has all others
"""

ENTRIES = (1_000_000, 10_000_000)
RATE = 1_000_000
# Keys of the map whose processes are killed, and how many are: those of Java take longer to start.
KILL_ENTRIES = 10_000
KILLS = {"rust": 200, "java": 20}
PERCENTILES = ["p50", "p90", "p99", "p99_9", "p99_99"]
NAME = "nanotape"
# Rivals that the compiler of this repository cannot build.
LATE = ["subetha-cxc"]


@dataclass(frozen=True)
class Program:
    """A map."""

    name: str
    kind: str  # rust or java: how it is built and started
    scope: str  # threads or processes that share it
    note: str
    slower: int = 1  # it gets so many times fewer updates at full speed

    @property
    def listed(self):
        return f"{self.name:14} {self.scope:10} {self.note}"


PROGRAMS = [
    Program(NAME, "rust", "processes", "this checkout: LatestWriter::update"),
    Program("dashmap", "rust", "threads", "shards with a lock each, get_mut"),
    Program("scc", "rust", "threads", "buckets with a lock each, update_sync"),
    Program("papaya", "rust", "threads", "no locks, update replaces the entry"),
    Program("lmdb", "rust", "processes", "a tree in a mapped file, one update a transaction, no syncs", 10),
    Program("subetha-cxc", "rust", "processes", "slots with a lock each in a mapped file, get and compare_exchange"),
    Program("chronicle-map", "java", "processes", "open version 2026.1, acquireContext and addValue", 2),
]


class Map(Comparison):
    name = "map"
    description = "Runs nanotape's map and other maps, one at a time by lot, and prints one table."
    epilog = EPILOG
    programs = PROGRAMS
    messages, least_messages = 10_000_000, 10_000
    messages_help = "a message is an update here; slow programs get fewer in proportion"
    missing_status = 3
    words = 3
    headings = [
        "program", "version", "scope", "M keys", "M upd/s", "min..max", "x", "by two", "min..max", "x", "call p50",
        "p99", "due p50", "p99", "survives kill -9",
    ]

    def add_options(self, parser):
        parser.add_argument(
            "--entries", default=",".join(map(str, ENTRIES)), metavar="N,N",
            help="numbers of keys (1000000,10000000)",
        )
        parser.add_argument(
            "--folder", default="/dev/shm", help="where shared maps are created (/dev/shm)"
        )
        parser.add_argument("--kill", action="store_true", help="also kill processes of shared maps")

    def check(self, options):
        if not Path(options.folder).is_dir():
            raise ValueError(f"{options.folder}: no such folder")
        if not all(word.isdigit() and int(word) >= 100 for word in options.entries.split(",")):
            raise ValueError(f"--entries {options.entries}: numbers from 100, separated by commas")

    def where(self, options):
        return f"; shared maps in {options.folder}"

    def build(self, chosen):
        left_out = {}
        rust = [program.name for program in chosen if program.kind == "rust"]
        # It needs a later compiler than the others, which are built together.
        others = [name for name in rust if name not in LATE]
        built = build.rust("rivals-map", others, left_out, "cargo, and a C compiler for lmdb")
        for name in set(rust) - set(others):
            needs = "cargo and rustc 1.96: RUSTUP_TOOLCHAIN names one"
            try:
                built[name] = build.cargo("rivals-map", [name], build.NATIVE, f"native-{name}", needs)
            except build.Unavailable as reason:
                left_out[name] = str(reason)
        commands = {name: [executable, name] for name, executable in built.items()}
        java = [program.name for program in chosen if program.kind == "java"]
        if java:
            try:
                commands |= dict.fromkeys(java, build.java("map", JAVA_FLAGS))
            except build.Unavailable as reason:
                left_out |= dict.fromkeys(java, str(reason))
        return commands, left_out

    def jobs(self, chosen, commands, cpus, options):
        words = ["--cpus", ",".join(map(str, cpus)), "--folder", options.folder]
        jobs = []
        for program in chosen:
            if program.name not in commands:
                continue
            start = commands[program.name]
            for entries in map(int, options.entries.split(",")):
                for mode, command in modes(program, options):
                    length = ["--entries", str(entries)]
                    jobs.append((program.name, f"{mode}, {entries} keys", [*start, *command, *length, *words], {}))
            if options.kill and program.scope == "processes":
                number = ["--entries", str(KILL_ENTRIES), "--kills", str(KILLS[program.kind])]
                command = [*start, "kill", *number, *words]
                jobs.append((program.name, "kill", command, {}))
        return jobs

    def summary(self, runs):
        """A row for each program and number of keys, sorted by the number."""
        groups = {}
        for run in runs:
            if run["mode"] != "kill":
                groups.setdefault((run["name"], run["entries"]), []).append(run)
        kills = [run for run in runs if run["mode"] == "kill"]
        # Without a row of its own, so that a run of kills alone is visible too.
        for run in kills:
            if not any(name == run["name"] for name, _ in groups):
                groups[run["name"], run["entries"]] = []
        rows = [
            row(name, entries, of_one, [run for run in kills if run["name"] == name])
            for (name, entries), of_one in groups.items()
        ]
        own = {row["entries"]: row for row in rows if row["name"] == NAME}
        for one in rows:
            nanotape = own.get(one["entries"])
            one["x_by_one"], one["x_by_two"] = (against(one, nanotape, sides) for sides in ("by_one", "by_two"))
        return sorted(rows, key=lambda row: row["entries"])

    def cells(self, row):
        return [
            row["name"], row["version"], row["scope"], f"{row['entries'] / 1e6:g}",
            *range_of(row["by_one"], 2), ratio(row["x_by_one"]), *range_of(row["by_two"], 2), ratio(row["x_by_two"]),
            *durations(row["call_ns"], ["p50", "p99"]), *durations(row["from_due_ns"], ["p50", "p99"]),
            survival(row["kill"]),
        ]


def modes(program, options):
    """The modes of a program, and their words."""
    # A steady rate that a slow map cannot keep shows only how far it is behind at the end.
    updates = str(max(options.messages // program.slower, 10_000))
    steady = str(max(min(options.messages, 2 * RATE) // program.slower, 10_000))
    return [
        ("one side", ["throughput", "--sides", "1", "--updates", updates]),
        ("two sides", ["throughput", "--sides", "2", "--updates", updates]),
        ("latency", ["latency", "--rate", str(RATE), "--updates", steady]),
    ]


def row(name, entries, runs, kills):
    latencies = [run for run in runs if run["mode"] == "latency"]
    rates = {
        sides: [run["updates_per_second"] / 1e6 for run in runs if run["mode"] == "throughput" and run["sides"] == sides]
        for sides in (1, 2)
    }
    first = (runs + kills)[0]
    return {
        "name": name,
        "version": first["version"],
        "scope": first["scope"],
        "entries": entries,
        "by_one": spread(rates[1]),
        "by_two": spread(rates[2]),
        "call_ns": medians([run["call_ns"] for run in latencies], PERCENTILES),
        "from_due_ns": medians([run["from_due_ns"] for run in latencies], PERCENTILES),
        "kill": killed(kills),
    }


def killed(runs):
    """The sums over all rounds, and the first reason; None if nothing was killed."""
    if not runs:
        return None
    reasons = [run["reason"] for run in runs if run["reason"]]
    return {
        "kills": sum(run["survived"] + (1 if run["reason"] else 0) for run in runs),
        "survived": sum(run["survived"] for run in runs),
        "slowest_seconds": max(run["slowest_seconds"] for run in runs),
        "reason": reasons[0] if reasons else None,
    }


def survival(kill):
    """The cell: how often the map survived, and the longest time."""
    if not kill:
        return NONE
    if kill["reason"]:
        return f"no: {kill['survived']} of {kill['kills']}"
    return f"{kill['survived']} of {kill['kills']}, {kill['slowest_seconds']:.2f} s"


def against(row, own, sides):
    """How many times as fast nanotape is."""
    return own[sides]["median"] / row[sides]["median"] if own and own[sides] and row[sides] else None


def ratio(number):
    return NONE if number is None else f"{number:.2f}"
