"""Whether the answers agree, and how many times faster one program is than another."""

from statistics import median

# What nanotape sets out to be: so many times faster than itch-book.
GOAL = 3.0


def disagreements(results, expected=None):
    """A line for each answer that is not the same for all who gave it.

    `results` has lists of runs by program; `expected` what the user knows of the file.
    """
    said = {name: {value: {"expected"}} for name, value in (expected or {}).items()}
    for program, runs in results.items():
        for run in runs:
            for name, value in dict(run["answer"], messages=run["messages"]).items():
                said.setdefault(name, {}).setdefault(value, set()).add(program)
    lines = []
    for name, values in sorted(said.items()):
        if set.union(*values.values()) == {"expected"}:
            lines.append(f"{name}: {expected[name]} expected, and no program gives it")
        elif len(values) > 1:
            parts = (f"{value} ({', '.join(sorted(who))})" for value, who in values.items())
            lines.append(f"{name}: {' but '.join(parts)}")
    return lines


def nanoseconds(run, clock):
    """CPU or wall time of a message."""
    return run[f"{clock}_seconds"] * 1e9 / max(run["messages"], 1)


def spread(runs, clock):
    """Median, smallest and largest time of a message."""
    times = [nanoseconds(run, clock) for run in runs]
    return median(times), min(times), max(times)


def ratio(theirs, ours, clock="cpu"):
    """How many times as long they took: the median over rounds, each compared within itself."""
    pairs = zip(theirs, ours)
    return median(nanoseconds(b, clock) / nanoseconds(a, clock) for b, a in pairs)


def verdict(results, programs):
    """One line: nanotape's books against itch-book's, as they come and at their fastest."""
    ours = results.get("nanotape-books")
    rivals = {
        program.name: ratio(results[program.name], ours)
        for program in programs
        if ours and program.library == "itch-book" and program.kind == "books"
        and program.name in results
    }
    # The one that also tells insides does more than it has to; it is in the table for comparison.
    only_books = (name for name in rivals if name != "itch-book-insides")
    fastest = min(only_books, key=rivals.get, default=None)
    if fastest is None:
        return "no verdict: needs nanotape-books and a program of itch-book"
    parts = []
    if "itch-book" in rivals:
        parts.append(f"{against(rivals['itch-book'])} itch-book's default")
    if fastest != "itch-book":
        parts.append(f"{against(rivals[fastest])} its fastest here ({fastest})")
    return f"books, CPU time, goal {GOAL:.1f}: nanotape is {' and '.join(parts)}"


def against(times):
    reached = "reached" if times >= GOAL else "missed"
    return f"{times:.2f} times as fast ({reached}) as"
