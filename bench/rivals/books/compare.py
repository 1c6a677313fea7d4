"""Compares builders of order books: builds them, runs them in turns on one processor, prints the table."""

import json
import os
from functools import partial
from pathlib import Path

from harness import build, options as shared, table
from harness.rounds import Failed, rounds, run_once, turns

from . import itch_book, judge
from .programs import OURS, PROGRAMS

EPILOG = """\
Times are per message, from before the file is opened to after the last message. The start of the
process is not part of them; everything else is. "CPU" is the CPU time of the process. "x nanotape" is
the ratio of the CPU time to that of nanotape-decode (parse) or nanotape-books (books, depth): the
median over the rounds. "MiB" is the peak of memory that is not part of a file. First every program
reads the first half of the file, where the books are full, and the answers must agree. So must the
answers of every timed run.

exit status: 0 good, 1 answers disagree, 2 usage or environment
"""

CRATES = ["itchy", "itch5", "hftbacktest"]
HEADINGS = [
    "program", "keeps", "version", "CPU ns/msg", "min..max", "wall ns/msg", "min..max",
    "x nanotape", "MiB",
]


def main(words):
    options = arguments(words)
    try:
        chosen = shared.choose(PROGRAMS, options.only)
        expected = expectations(options.expect)
        if not options.file.is_file():
            raise ValueError(f"{options.file}: no such file; `nanotape synth -o FILE` makes one")
        if options.rounds < 1:
            raise ValueError(f"--rounds {options.rounds}: at least 1")
        executables, versions, reasons = build_all(chosen, options.fixed_decimal)
        half = first_half(executables["nanotape"], options.file)
    except (ValueError, build.Unavailable) as reason:
        return shared.refuse(str(reason))
    left_out = {p.name: reasons[p.library] for p in chosen if p.library in reasons}
    try:
        return compare(options, chosen, expected, executables, versions, left_out, half)
    finally:
        half.unlink(missing_ok=True)


def build_all(chosen, fixed_decimal):
    """Executables and versions by library, and reasons for the libraries that are left out."""
    build.WORK.mkdir(exist_ok=True)
    libraries = {program.library for program in chosen}
    reasons = {}
    # nanotape as it ships, without flags for this processor. It is always needed for the half day.
    executables = {"nanotape": build.cargo("rivals-books", [], "", "shipped")}
    crates = [crate for crate in CRATES if crate in libraries]
    executables |= build.rust("rivals-books", crates, reasons)
    versions = {crate: build.locked_version(crate) for crate in crates}
    versions["nanotape"] = build.checkout_version()
    if "itch-book" in libraries:
        try:
            executables["itch-book"], versions["itch-book"] = itch_book.build(fixed_decimal)
        except build.Unavailable as reason:
            reasons["itch-book"] = str(reason)
    return executables, versions, reasons


def compare(options, chosen, expected, executables, versions, left_out, half):
    # Some systems cannot pin a process.
    processor = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None

    def results_of(day, count, progress):
        tasks = [
            (program.name, "", partial(one_run, program, executables[program.library], day, processor))
            for program in chosen if program.name not in left_out
        ]
        found, failures, _ = rounds(tasks, count, turns, progress)
        left_out.update({name: str(failure) for (name, _), failure in failures.items()})
        return {name: runs for (name, _), runs in found.items() if name not in left_out}

    build.say("every program on the first half of the file, for the answers")
    halves = results_of(half, 1, lambda *_: None)
    wrong = [f"first half: {line}" for line in judge.disagreements(halves)]
    warm(options.file)
    results = results_of(
        options.file, options.rounds,
        lambda number, name, _: build.say(f"round {number + 1} of {options.rounds}: {name}"),
    )
    wrong += judge.disagreements(results, expected)
    verdict = judge.verdict(results, chosen)
    messages = max((run["messages"] for runs in results.values() for run in runs), default=0)
    pinned = "not pinned" if processor is None else f"on processor {processor}"
    how = f"{messages} messages, {options.rounds} rounds in turns, {pinned}; {table.machine()}"
    shown = [program for program in chosen if program.name in results]
    if options.format == "json":
        facts = {"how": how, "disagreements": wrong, "verdict": verdict}
        programs = [described(program, versions, results[program.name]) for program in shown]
        print(json.dumps({**facts, "programs": programs, "left_out": left_out}, indent=1))
    else:
        print(f"{options.file.name}: {how}\n")
        print(text(shown, versions, results, left_out))
        for line in wrong:
            print(f"ANSWERS DISAGREE: {line}")
        if not wrong:
            print("all answers agree, in the middle of the day and at its end")
        print(verdict)
    ours = [reason for name, reason in left_out.items() if name.startswith("nanotape")]
    if ours:
        return shared.refuse(ours[0])
    return 1 if wrong else 0


def one_run(program, executable, day, processor):
    command = [executable, program.word, day]
    try:
        return [run_once(command, cpu=processor, environment=program.environment)]
    except Failed as failure:
        raise Failed(str(failure).removeprefix(f"{program.word}: ")) from None


def first_half(executable, day):
    """A copy of the first half of the day. At the end of a day all books are empty."""
    copy = build.WORK / "first-half.itch50"
    build.checked([str(executable), "first-half", str(day), str(copy)], f"free space for {copy}")
    return copy


def warm(day):
    """Reads the file once, so that it is in the page cache."""
    block = bytearray(1 << 20)
    with open(day, "rb", buffering=0) as file:
        while file.readinto(block):
            pass


def text(shown, versions, results, left_out):
    """A table for each kind of program, and a line for each program that is left out."""
    lines = []
    for kind in ["parse", "books", "depth"]:
        rows = [cells(program, versions, results) for program in shown if program.kind == kind]
        if rows:
            lines += [kind, *table.aligned([HEADINGS, *rows], 3), ""]
    lines += [f"left out: {name}: {reason}" for name, reason in left_out.items()]
    return "\n".join(lines + [""] if left_out else lines)


def cells(program, versions, results):
    runs, ours = results[program.name], results.get(OURS[program.kind])
    times = [
        table.range_of(table.spread([judge.nanoseconds(run, clock) for run in runs]), 1)
        for clock in ("cpu", "wall")
    ]
    memory = max(run["anonymous_bytes"] for run in runs) / (1 << 20)
    return [
        program.name, program.keeps, versions[program.library], *times[0], *times[1],
        f"{judge.ratio(runs, ours):.2f}" if ours else table.NONE, f"{memory:.0f}",
    ]


def described(program, versions, runs):
    """A program and all its runs, for other statistics than those of the table."""
    return {
        "name": program.name, "kind": program.kind, "keeps": program.keeps,
        "library": program.library, "version": versions[program.library],
        "environment": program.environment, "runs": runs,
    }


def expectations(words):
    """`name=number,name=number` as a dictionary."""
    expected = {}
    for word in filter(None, words.split(",")):
        name, _, value = word.partition("=")
        if not value.isdigit():
            raise ValueError(f"--expect {word}: needs a name, = and a number")
        expected[name] = int(value)
    return expected


def arguments(words):
    description = "Runs nanotape and other builders of books on one day file, in turns, and prints one table."
    parser = shared.parser("books", description, EPILOG, rounds=5)
    parser.add_argument("file", type=Path, metavar="FILE", help="a day file, not compressed")
    parser.add_argument(
        "--expect", metavar="NAME=NUMBER,..", default="",
        help="answers that you expect, such as messages=5000000 or inside_changes=1988660",
    )
    parser.add_argument(
        "--fixed-decimal", metavar="FOLDER",
        help="the folder of itch-book's own price type; otherwise a stand-in is used",
    )
    return parser.parse_args(words)
