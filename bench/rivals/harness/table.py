"""What is printed: a table for people, or everything that was measured as JSON."""

import json
import platform

from . import judge
from .programs import OURS

HEADINGS = [
    "program", "keeps", "version", "CPU ns/msg", "min..max", "wall ns/msg", "min..max",
    "x nanotape", "MiB",
]


def text(programs, versions, results, left_out):
    """One table for each kind, and a line for each program that is not in it."""
    lines = []
    for kind in ["parse", "books", "depth"]:
        rows = [
            row(program, versions, results) for program in programs
            if program.kind == kind and program.name in results
        ]
        if rows:
            lines += [kind, *aligned([HEADINGS, *rows]), ""]
    lines += [f"left out: {name}: {reason}" for name, reason in left_out.items()]
    return "\n".join(lines + [""] if left_out else lines)


def row(program, versions, results):
    runs = results[program.name]
    cpu, cpu_least, cpu_most = judge.spread(runs, "cpu")
    wall, wall_least, wall_most = judge.spread(runs, "wall")
    ours = results.get(OURS[program.kind])
    times = f"{judge.ratio(runs, ours):.2f}" if ours else "-"
    memory = max(run["anonymous_bytes"] for run in runs) / (1 << 20)
    return [
        program.name, program.keeps, versions[program.library],
        f"{cpu:.1f}", f"{cpu_least:.1f}..{cpu_most:.1f}",
        f"{wall:.1f}", f"{wall_least:.1f}..{wall_most:.1f}",
        times, f"{memory:.0f}",
    ]


def aligned(rows):
    """Words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    words = 3
    return [
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths))
        ).rstrip()
        for cells in rows
    ]


def machine():
    """The processor and the kernel, as they call themselves."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            named = [line for line in lines if line.startswith("model name")]
        models = [line.split(":", 1)[1].strip() for line in named]
        name = f"{len(models)} x {models[0]}" if models else name
    except OSError:
        pass
    return f"{name}, {platform.system()} {platform.release()}"


def as_json(programs, versions, results, left_out, facts):
    """Every run of every program, for whoever wants other statistics."""
    rows = [
        {
            "name": program.name, "kind": program.kind, "keeps": program.keeps,
            "library": program.library, "version": versions[program.library],
            "environment": program.environment, "runs": results[program.name],
        }
        for program in programs if program.name in results
    ]
    return json.dumps({**facts, "programs": rows, "left_out": left_out}, indent=1)
