"""What is printed: one row for each program, the median over rounds, and ratios to a limit."""

import json
import platform
from statistics import median

HEADINGS = [
    "program", "version", "scope", "delivery", "M msg/s", "min..max", "received",
    "1-way p50", "min..max", "p90", "p99", "x limit", "RTT p50", "min..max", "p99", "x limit",
]
WORDS = 4
NONE = "-"


def summary(runs, bounce):
    """A dictionary for each program, in the order of their names as first seen.

    `bounce` is what a cache line takes there and back in ns, the limit of a round trip; half of it
    is that of one way. None if nobody measured it.
    """
    rows = {}
    for run in runs:
        if run["mode"] != "limit":
            rows.setdefault(run["name"], []).append(run)
    return [row(name, of_name, bounce) for name, of_name in rows.items()]


def row(name, runs, bounce):
    flat = [run for run in runs if run["mode"] == "throughput"]
    rates = [run["messages_per_second"] / 1e6 for run in flat]
    one_way = [run["from_send_ns"] for run in runs if run["mode"] == "latency"]
    there_and_back = [run["round_trip_ns"] for run in runs if run["mode"] == "ping-pong"]
    return {
        "name": name,
        **{fact: runs[0].get(fact, "?") for fact in ["version", "scope", "delivery"]},
        "throughput": spread(rates),
        "received_share": received_share(flat),
        "one_way_ns": percentiles(one_way, bounce and bounce / 2),
        "round_trip_ns": percentiles(there_and_back, bounce),
    }


def spread(numbers):
    """Median, least and most, or None of none."""
    if not numbers:
        return None
    return {"median": median(numbers), "min": min(numbers), "max": max(numbers)}


def received_share(flat):
    """Of what was written flat out, the least share that a reader got in any run; None if unsaid."""
    shares = [
        reader["received"] / (reader["received"] + reader["lost"])
        for run in flat for reader in run.get("readers", [])
        if isinstance(reader, dict) and reader["received"] + reader["lost"]
    ]
    return min(shares, default=None)


def percentiles(runs, limit):
    """Each percentile's median over rounds, the spread of p50, and how p50 is to the limit."""
    if not runs:
        return None
    found = {name: median(run[name] for run in runs) for name in ["p50", "p90", "p99"]}
    middle = spread([run["p50"] for run in runs])
    times = found["p50"] / limit if limit else None
    return {**found, "p50_min": middle["min"], "p50_max": middle["max"], "x_limit": times}


def text(rows, left_out):
    """The table, and a line for each program that is not in it or not all of it."""
    lines = aligned([HEADINGS, *map(cells, rows)]) if rows else []
    lines += ["", *(f"left out: {name}: {reason}" for name, reason in left_out)] if left_out else []
    return "\n".join(lines)


def cells(row):
    rate, way, trip = row["throughput"], row["one_way_ns"], row["round_trip_ns"]
    share = row["received_share"]
    return [
        row["name"], row["version"], row["scope"], row["delivery"],
        f"{rate['median']:.1f}" if rate else NONE,
        f"{rate['min']:.1f}..{rate['max']:.1f}" if rate else NONE,
        NONE if share is None else f"{share:.0%}",
        *times(way, ["p50", "p90", "p99"]),
        *times(trip, ["p50", "p99"]),
    ]


def times(found, names):
    """p50 with its spread, the other percentiles, and the ratio to the limit."""
    if not found:
        return [NONE] * (len(names) + 2)
    shown = [duration(found[name]) for name in names]
    shown.insert(1, f"{duration(found['p50_min'])}..{duration(found['p50_max'])}")
    return [*shown, f"{found['x_limit']:.1f}" if found["x_limit"] else NONE]


def duration(nanoseconds):
    """Short enough for a column: three digits and a unit, ns without one."""
    for size, unit in [(1e6, "ms"), (1e4, "us")]:
        if nanoseconds >= size:
            scaled = nanoseconds / (1e6 if unit == "ms" else 1e3)
            return f"{scaled:.3g}{unit}" if scaled < 1_000 else f"{scaled:.0f}{unit}"
    return f"{nanoseconds:.0f}"


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


def machine():
    """The processor and the kernel, as they call themselves."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        name = f"{len(models)} x {models[0]}" if models else name
    except OSError:
        pass
    return f"{name}, {platform.system()} {platform.release()}"


def as_json(rows, runs, left_out, facts):
    """Every run, for whoever wants other statistics."""
    reasons = [{"name": name, "reason": reason} for name, reason in left_out]
    return json.dumps({**facts, "programs": rows, "runs": runs, "left_out": reasons}, indent=1)
