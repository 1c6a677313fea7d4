"""Whether the answers agree, and how many times as fast one program is as another."""

from statistics import median

# The goal: nanotape is so many times as fast as itch-book.
GOAL = 3.0


def disagreements(results, expected=None):
    """A line for each answer that is not the same in all programs that give it.

    `results` has the runs of each program, and `expected` the answers that the user expects.
    """
    given = {name: {value: {"expected"}} for name, value in (expected or {}).items()}
    for program, runs in results.items():
        for run in runs:
            for name, value in dict(run["answer"], messages=run["messages"]).items():
                given.setdefault(name, {}).setdefault(value, set()).add(program)
    lines = []
    for name, values in sorted(given.items()):
        if set.union(*values.values()) == {"expected"}:
            lines.append(f"{name}: {expected[name]} expected, but no program gives this answer")
        elif len(values) > 1:
            parts = (f"{value} ({', '.join(sorted(by))})" for value, by in values.items())
            lines.append(f"{name}: {' but '.join(parts)}")
    return lines


def nanoseconds(run, clock):
    """CPU or wall time of a message."""
    return run[f"{clock}_seconds"] * 1e9 / max(run["messages"], 1)


def ratio(theirs, ours, clock="cpu"):
    """How many times as long theirs took: the median of the ratios of all rounds."""
    pairs = zip(theirs, ours)
    return median(nanoseconds(b, clock) / nanoseconds(a, clock) for b, a in pairs)


def verdict(results, programs):
    """One line: nanotape's books against itch-book's default, and against its fastest variant."""
    ours = results.get("nanotape-books")
    rivals = {
        program.name: ratio(results[program.name], ours)
        for program in programs
        if ours and program.library == "itch-book" and program.kind == "books"
        and program.name in results
    }
    # `itch-book-insides` also reports insides, so it is not a variant that only keeps books.
    only_books = (name for name in rivals if name != "itch-book-insides")
    fastest = min(only_books, key=rivals.get, default=None)
    if fastest is None:
        return "no verdict: it needs nanotape-books and a program of itch-book"
    parts = []
    if "itch-book" in rivals:
        parts.append(f"{against(rivals['itch-book'])} itch-book's default")
    if fastest != "itch-book":
        parts.append(f"{against(rivals[fastest])} its fastest here ({fastest})")
    return f"books, CPU time, goal {GOAL:.1f}: nanotape is {' and '.join(parts)}"


def against(times):
    reached = "reached" if times >= GOAL else "missed"
    return f"{times:.2f} times as fast ({reached}) as"
