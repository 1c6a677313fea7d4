"""Compares nanotape's spans with those of other crates: the programs, and the table."""

from dataclasses import dataclass

from harness import build
from harness.by_lot import Comparison
from harness.table import NONE, range_of, spread

EPILOG = """\
One thread; each turn of a loop does the work of a stage in a span that has a name, a begin, an end and a
number. "adds" is the time of a span in ns: the median difference to the same work without a span, in
pairs of runs of 1,024 turns in one process. Programs with "-off" have the same code, but their spans are
switched off. The table has medians over the rounds. Every program reads its spans afterwards and counts
them.

examples:
  run trace                                           everything, three rounds
  run trace --only nanotape,fastrace,tracing --rounds 9
  run trace --format json > rivals.json
  run trace --list

exit status: 0 good, 1 a span is missing or wrong, 2 usage or environment
"""


@dataclass(frozen=True)
class Program:
    """A row of the table."""

    name: str
    feature: str | None  # the crate that must be compiled in
    note: str
    kind: str = "rust"

    @property
    def listed(self):
        return f"{self.name:14} {self.note}"


PROGRAMS = [
    Program("stamp", None, "the limit: one unfenced stamp of nanotape's clock at the end of each turn"),
    Program("nanotape", None, "this checkout: `Tracer::end`, spans in a ring in shared memory"),
    Program("nanotape-off", None, "the same with its site off"),
    Program("fastrace", "fastrace", "local spans below a root, the number as a property"),
    Program("fastrace-name", "fastrace", "the same without the number"),
    Program("fastrace-off", "fastrace", "the same with the number, without a root and a reporter"),
    Program("tracing", "tracing", "the registry of tracing-subscriber, and a layer that keeps closed spans"),
    Program("tracing-off", "tracing", "the same with a level filter that disables the callsite"),
]
NAME = "nanotape"


class Trace(Comparison):
    name = "trace"
    description = "Runs spans of nanotape and of other crates, one at a time by lot, and prints one table."
    epilog = EPILOG
    programs = PROGRAMS
    words = 2
    messages, least_messages = 2_000_000, 65_536
    messages_help = "spans of each program"
    headings = ["program", "version", "adds", "min..max", "x nanotape", "turn", "work"]

    def build(self, chosen):
        left_out = {}
        features = sorted({program.feature for program in chosen if program.feature})
        built = build.rust("rivals-trace", features, left_out)
        if any(not program.feature for program in chosen):
            try:
                own = next(iter(built.values()), None)
                built[None] = own or build.cargo("rivals-trace", [], build.NATIVE, "native")
            except build.Unavailable as reason:
                left_out[None] = str(reason)
        commands = {
            program.name: [built[program.feature], program.name]
            for program in chosen if program.feature in built
        }
        missing = {
            program.name: left_out[program.feature]
            for program in chosen if program.feature in left_out
        }
        return commands, missing

    def jobs(self, chosen, commands, cpus, options):
        words = ["--cpus", ",".join(map(str, cpus)), "--spans", str(options.messages)]
        return [
            (program.name, "span", [*commands[program.name], *words], {})
            for program in chosen if program.name in commands
        ]

    def summary(self, runs):
        groups = {}
        for run in runs:
            groups.setdefault(run["name"], []).append(run)
        rows = [row(name, of_one) for name, of_one in groups.items()]
        own = next((one["adds_ns"]["median"] for one in rows if one["name"] == NAME), None)
        for one in rows:
            is_rival = one["name"] != NAME and not one["name"].endswith("-off")
            one["x_nanotape"] = one["adds_ns"]["median"] / own if own and is_rival else None
        return rows

    def cells(self, row):
        ratio = row["x_nanotape"]
        return [
            row["name"], row["version"], *range_of(row["adds_ns"], 2),
            NONE if ratio is None else f"{ratio:.1f}",
            *(f"{row[name]['median']:.1f}" for name in ("ns", "work_ns")),
        ]


def row(name, runs):
    numbers = {key: spread([run[key] for run in runs]) for key in ("adds_ns", "ns", "work_ns")}
    return {"name": name, "version": runs[0]["version"], **numbers}
