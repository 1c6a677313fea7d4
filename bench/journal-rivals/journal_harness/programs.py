"""The programs of the comparison, and the commands that measure them."""

from dataclasses import dataclass

BYTES = (73, 256)
RATES = (100_000, 1_000_000)
# For how many seconds messages are sent at a steady rate.
STEADY_SECONDS = 2


@dataclass(frozen=True)
class Program:
    """A kind of rival; SQLite has a row for each of its settings."""

    name: str
    kind: str  # java, rust or nanotape: how it is built and started
    note: str


PROGRAMS = [
    Program("nanotape", "nanotape", "this checkout: `nanotape lab bench journal`"),
    Program("chronicle-queue", "java", "open version 2026.4, LARGE_DAILY, writingDocument and readingDocument"),
    Program("sqlite", "rust", "a table in WAL mode, synchronous off, normal and full, 1 or 1,000 inserts a commit"),
]

# Of SQLite: how to sync, inserts of a transaction, and how many times fewer messages it is given.
SQLITE = [
    ("off", 1, 40), ("off", 1000, 10), ("normal", 1, 40), ("normal", 1000, 10), ("full", 1, 2000),
    ("full", 1000, 10),
]


def choose(names):
    """The programs to run: those named, or all."""
    if names is None:
        return list(PROGRAMS)
    known = {program.name for program in PROGRAMS}
    for name in names:
        if name not in known:
            raise ValueError(f"no program is called {name}; there are {', '.join(sorted(known))}")
    return [program for program in PROGRAMS if program.name in names]


def jobs(programs, commands, cpus, options):
    """Name, mode, command, and what to note of the run."""
    found = []
    words = ["--cpus", ",".join(map(str, cpus))]
    for program in programs:
        if program.name not in commands:
            continue
        start = commands[program.name]
        if program.name == "chronicle-queue":
            found += chronicle(start, [*words, "--folder", options.folder], options.messages)
        if program.name == "sqlite":
            found += sqlite(start, words, options)
    return found


def chronicle(start, words, messages):
    modes = []
    for size in BYTES:
        length = ["--bytes", str(size)]
        for mode in ("throughput", "call"):
            modes.append((f"{mode} {size}", [mode, *length, "--messages", str(messages)]))
        for rate in RATES:
            count = min(messages, rate * STEADY_SECONDS)
            steady = ["tail", *length, "--rate", str(rate), "--messages", str(count)]
            modes.append((f"tail {size} {rate}", steady))
    return [("chronicle-queue", mode, [*start, *command, *words], {}) for mode, command in modes]


def sqlite(start, words, options):
    found = []
    for synchronous, batch, fewer in SQLITE:
        folder = options.folder if synchronous == "off" else options.disk
        count = str(max(options.messages // fewer, 1_000))
        setting = ["--synchronous", synchronous, "--batch", str(batch), "--folder", folder]
        for mode in ("throughput", "call"):
            command = [*start, mode, *setting, "--messages", count, *words]
            note = {"name": f"sqlite {synchronous}, {batch} a commit"}
            found.append((note["name"], mode, command, note))
    return found
