"""What is printed: a row for each program and length, the median over rounds, ratios to nanotape."""

from statistics import median

from harness.table import NONE, duration, spread

from .nanotape import NAME
from .programs import RATES

HEADINGS = [
    "program", "version", "bytes", "read by", "M msg/s", "min..max", "x rate", "call p50", "p99", "p99.9",
    "p99.99", "x call", "1-way 100k p50", "p99", "1-way 1M p50", "p99",
]
WORDS = 2


def summary(runs):
    """A dictionary for each program and length, in the order of the programs as first named."""
    groups = {}
    for run in runs:
        groups.setdefault((run["name"], run["message_bytes"]), []).append(run)
    rows = [row(name, size, of_one) for (name, size), of_one in groups.items()]
    own = {row["bytes"]: row for row in rows if row["name"] == NAME}
    for one in rows:
        one["x_rate"], one["x_call"] = against(one, own.get(one["bytes"]))
    return sorted(rows, key=lambda row: (row["bytes"], row["name"].startswith("limit"), row["name"]))


def row(name, size, runs):
    rates = [run["messages_per_second"] / 1e6 for run in runs if run["mode"] == "throughput"]
    tails = [run for run in runs if run["mode"] == "tail"]
    return {
        "name": name,
        "version": runs[0]["version"],
        "bytes": size,
        "scope": tails[0]["scope"] if tails else None,
        "throughput": spread(rates),
        "call_ns": percentiles([run["call_ns"] for run in runs if run["mode"] == "call"]),
        "one_way_ns": {
            str(rate): percentiles([run["from_send_ns"] for run in tails if run["rate"] == rate])
            for rate in RATES
        },
    }


def against(row, own):
    """How many times as quick nanotape is: in rate, and in the median call."""
    rate = call = None
    if own and own["throughput"] and row["throughput"]:
        rate = own["throughput"]["median"] / row["throughput"]["median"]
    if own and own["call_ns"] and row["call_ns"]:
        call = row["call_ns"]["p50"] / own["call_ns"]["p50"]
    return rate, call


def percentiles(runs):
    """Each percentile's median over rounds."""
    if not runs:
        return None
    return {name: median(run[name] for run in runs) for name in ["p50", "p90", "p99", "p99_9", "p99_99"]}


def text(rows, left_out):
    """The table, and a line for each program that is not in it or not all of it."""
    lines = aligned([HEADINGS, *map(cells, rows)]) if rows else []
    lines += ["", *(f"left out: {name}: {reason}" for name, reason in left_out)] if left_out else []
    return "\n".join(lines)


def cells(row):
    rate, ways = row["throughput"], row["one_way_ns"]
    return [
        row["name"], row["version"], str(row["bytes"]), row["scope"] or NONE,
        f"{rate['median']:.2f}" if rate else NONE,
        f"{rate['min']:.2f}..{rate['max']:.2f}" if rate else NONE,
        times(row["x_rate"]),
        *shown(row["call_ns"], ["p50", "p99", "p99_9", "p99_99"]),
        times(row["x_call"]),
        *(cell for rate in RATES for cell in shown(ways[str(rate)], ["p50", "p99"])),
    ]


def shown(found, names):
    return [duration(found[name]) for name in names] if found else [NONE] * len(names)


def times(ratio):
    return NONE if ratio is None else f"{ratio:.2f}"


def aligned(rows):
    """Words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.ljust(width) if column < WORDS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells_, widths))
        ).rstrip()
        for cells_ in rows
    ]
