"""Options that the comparisons share, and the programs and processors that they choose."""

import argparse
import os
import sys


def parser(name, description, epilog, rounds):
    parser = argparse.ArgumentParser(
        prog=f"run {name}", description=description, epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", metavar="NAME,NAME", type=lambda names: names.split(","),
        help="run only these programs",
    )
    parser.add_argument(
        "--rounds", type=int, default=rounds, help=f"times each program runs ({rounds})"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")
    return parser


def choose(programs, names):
    """The programs with these names. Without names, all that are not slow."""
    if names is None:
        return [program for program in programs if not getattr(program, "slow", False)]
    known = [program.name for program in programs]
    for name in names:
        if name not in known:
            raise ValueError(f"--only: no program is called {name}; there are {', '.join(known)}")
    return [program for program in programs if program.name in names]


def processors(words):
    """The writer's and the reader's processor: two that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if words is None:
        if len(allowed) < 2:
            raise ValueError("two processors are needed: a writer and a reader that both spin")
        return allowed[:2]
    cpus = [int(word) if word.isdigit() else -1 for word in words.split(",")]
    if len(cpus) != 2 or cpus[0] == cpus[1] or not set(cpus) <= set(allowed):
        raise ValueError(f"--cpus {words}: two of {','.join(map(str, allowed))}")
    return cpus


def refuse(what):
    print(f"run: {what}", file=sys.stderr)
    return 2
