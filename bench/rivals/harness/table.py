"""What the tables of all comparisons share."""

import platform
from statistics import median

NONE = "-"


def spread(numbers):
    """Median, smallest and largest number, or None if there are no numbers."""
    if not numbers:
        return None
    return {"median": median(numbers), "min": min(numbers), "max": max(numbers)}


def medians(found, names):
    """The median of each percentile over the rounds, or None if there are no rounds."""
    return {name: median(one[name] for one in found) for name in names} if found else None


def range_of(rate, digits):
    """The cells of a spread: the median, and the range."""
    if not rate:
        return [NONE, NONE]
    return [f"{rate['median']:.{digits}f}", f"{rate['min']:.{digits}f}..{rate['max']:.{digits}f}"]


def durations(found, names):
    return [duration(found[name]) for name in names] if found else [NONE] * len(names)


def duration(nanoseconds):
    """Three digits and a unit, to fit a column. Nanoseconds have no unit."""
    for least, size, unit in [(1e6, 1e6, "ms"), (1e4, 1e3, "us")]:
        if nanoseconds >= least:
            scaled = nanoseconds / size
            return f"{scaled:.3g}{unit}" if scaled < 1_000 else f"{scaled:.0f}{unit}"
    return f"{nanoseconds:.0f}"


def aligned(rows, words):
    """Lines of columns: the first `words` columns to the left, the numbers after them to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths))
        ).rstrip()
        for cells in rows
    ]


def machine():
    """The names of the processor and the kernel."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        name = f"{len(models)} x {models[0]}" if models else name
    except OSError:
        pass
    return f"{name}, {platform.system()} {platform.release()}"
