"""A comparison with writers and readers: every program in every mode, in an order drawn by lot."""

import itertools
import json
import os
import random
from functools import partial

from . import build, nanotape, options as shared, table
from .rounds import Failed, by_lot, rounds, run_once

# Far more than any run takes. It ends a program that waits for a message that never arrives.
LONGEST_SECONDS = 180


class Comparison:
    """What one comparison adds. `nanotape` is its program that `nanotape lab bench NAME` measures."""

    name = description = epilog = messages_help = ""
    programs = headings = ()
    # Columns of the table that are words, not numbers.
    words = 1
    # The default of --messages, and the smallest number that makes sense.
    messages, least_messages = 0, 1
    # The rows of nanotape's list that the table needs.
    nanotape_rows = ()
    # The exit status if a program is left out, instead of 0.
    missing_status = None

    def add_options(self, parser):
        """Adds options to those of all comparisons."""

    def check(self, options):
        """Raises ValueError if an option is wrong."""

    def build(self, chosen):
        """The commands that start the programs, by name, and reasons for those that are left out."""
        raise NotImplementedError

    def jobs(self, chosen, commands, cpus, options):
        """A list of (name, mode, command, facts). The facts replace those that the program prints."""
        raise NotImplementedError

    def nanotape_words(self, cpus, options):
        """Options of `nanotape lab bench NAME`."""
        return []

    def as_run(self, row):
        """A row of nanotape's list as a run of the table."""
        raise NotImplementedError

    def facts(self, runs):
        """What the JSON states for the whole comparison. Passed to `summary` and `footer`."""
        return {}

    def summary(self, runs, **facts):
        """A dictionary for each row of the table."""
        raise NotImplementedError

    def cells(self, row):
        """The cells of a row, one for each heading."""
        raise NotImplementedError

    def where(self, options):
        """Where it ran, for the first line."""
        return ""

    def footer(self, **facts):
        """Lines below the table."""
        return ""

    def text(self, rows, left_out):
        """The table, and a line for each program that is not in it or not all of it."""
        lines = table.aligned([self.headings, *map(self.cells, rows)], self.words) if rows else []
        if left_out:
            lines += ["", *(f"left out: {name}: {reason}" for name, reason in left_out)]
        return "\n".join(lines)


def main(comparison, words):
    options = arguments(comparison, words)
    if options.list:
        for program in comparison.programs:
            print(program.listed.rstrip())
        return 0
    try:
        chosen = shared.choose(comparison.programs, options.only)
        cpus = shared.processors(options.cpus)
        if options.rounds < 1:
            raise ValueError(f"--rounds {options.rounds}: at least 1")
        if options.nice < 0 and os.geteuid() != 0:
            raise ValueError(f"--nice {options.nice}: only root can go below 0")
        if options.messages < comparison.least_messages:
            raise ValueError(f"--messages {options.messages}: at least {comparison.least_messages}")
        comparison.check(options)
    except ValueError as mistake:
        return shared.refuse(str(mistake))
    return compare(comparison, options, chosen, cpus)


def compare(comparison, options, chosen, cpus):
    commands, missing = comparison.build(chosen)
    scratch = [getattr(options, folder, "/dev/shm") for folder in ("folder", "disk")]
    tasks = [
        (name, mode, partial(one_run, command, facts, options.nice, scratch))
        for name, mode, command, facts in comparison.jobs(chosen, commands, cpus, options)
    ]
    if any(program.kind == "nanotape" for program in chosen):
        build.say("building nanotape")
        try:
            nanotape.prepare(comparison.name)
            words = comparison.nanotape_words(cpus, options)
            call = partial(own_runs, comparison, words, options.nice)
            tasks.append(("nanotape", "all modes", call))
        except Failed as failure:
            missing["nanotape"] = str(failure)
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    found, failures, done = rounds(
        tasks, options.rounds, by_lot(random.Random(seed)),
        lambda number, name, mode: build.say(f"round {number + 1}: {name}, {mode}"), options.seconds,
    )
    left_out = [*missing.items()]
    left_out += [(f"{name}, {mode}", str(failure)) for (name, mode), failure in failures.items()]
    places = {program.name: place for place, program in enumerate(chosen)}
    runs = sorted(
        itertools.chain(*found.values()),
        key=lambda run: (places.get(run["name"], 0), run["name"], run["mode"], run["round"]),
    )
    facts = comparison.facts(runs)
    rows = comparison.summary(runs, **facts)
    nice = f", nice {options.nice}" if options.nice else ""
    how = (
        f"{done} rounds by lot (--seed {seed}), processors {cpus[0]} and {cpus[-1]}{nice}"
        f"{comparison.where(options)}; {table.machine()}"
    )
    if options.format == "json":
        reasons = [{"name": name, "reason": reason} for name, reason in left_out]
        facts = {"how": how, "rounds": done, "seed": seed, "cpus": cpus, **facts}
        print(json.dumps({**facts, "programs": rows, "runs": runs, "left_out": reasons}, indent=1))
    else:
        print(f"{how}\n\n{comparison.text(rows, left_out)}{comparison.footer(**facts)}")
    if any(failure.wrong for failure in failures.values()):
        return 1
    if missing and comparison.missing_status:
        return comparison.missing_status
    return 0 if rows else 2


def one_run(command, facts, nice, scratch):
    return [{**run_once(command, nice, longest_seconds=LONGEST_SECONDS, scratch=scratch), **facts}]


def own_runs(comparison, words, nice):
    rows = nanotape.measure(comparison.name, comparison.nanotape_rows, words, nice)
    return [comparison.as_run(row) for row in rows]


def arguments(comparison, words):
    parser = shared.parser(comparison.name, comparison.description, comparison.epilog, rounds=3)
    parser.add_argument("--list", action="store_true", help="print the programs and stop")
    parser.add_argument(
        "--messages", type=int, default=comparison.messages, metavar="N",
        help=f"messages to send at full speed ({comparison.messages}); {comparison.messages_help}",
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S",
        help="start no round that would end later than this; the first round always runs",
    )
    parser.add_argument(
        "--cpus", metavar="A,B", help="processors of the writer and the reader (the first two)"
    )
    parser.add_argument(
        "--nice", type=int, default=0, metavar="N",
        help="niceness of every program, nanotape too: on a busy machine, -20 as root keeps most "
        "other programs off the two processors during a run (0)",
    )
    parser.add_argument("--seed", type=int, help="draw the order of an earlier run again")
    comparison.add_options(parser)
    return parser.parse_args(words)
