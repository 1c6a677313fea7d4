"""The rows of the table, what is printed of differences, and whether the goals are met."""

import re
from statistics import median

from harness.table import spread

# The goals: nanotape is so many times as fast as itch-book, and takes so many times as long as the limit.
TIMES_AS_FAST = 1.5
TIMES_THE_LIMIT = 1.2


def printed_rows(lines, tables):
    """The rows that a program prints of these tables: `bbo 1,234 rows` or `bbo: 1,234 rows`."""
    found = dict(re.findall(r"\b(\w+):? +([\d,]+) rows?\b", lines))
    return sum(int(found[name].replace(",", "")) for name in tables)


def summary(found, versions):
    """A dictionary for each row of the table. `found` has the runs of each program and job."""
    jobs = list(dict.fromkeys(job for _, job in found))
    rows = [
        row(name, versions[name], job, runs, found)
        for (name, job), runs in found.items() if runs
    ]
    return sorted(rows, key=lambda one: jobs.index(one["job"]))


def row(name, version, job, runs, found):
    memory = [run["peak_bytes"] for run in runs if "peak_bytes" in run]
    to_rival = ratio(runs, found.get(("itch-book", job), []))
    to_limit = ratio(runs, found.get(("parquet", job), []))
    return {
        "name": name, "version": version, "job": job, "rows": runs[-1]["rows"],
        "seconds": spread([run["seconds"] for run in runs]),
        "cpu_seconds": median(run["cpu_seconds"] for run in runs),
        "peak_bytes": max(memory) if memory else None, "bytes": runs[-1]["bytes"],
        "x_itch_book": None if name == "parquet" else to_rival,
        # The limit is the time of nanotape's rows: itch-book writes others.
        "x_limit": to_limit if name == "nanotape" else None,
    }


def ratio(runs, others):
    """The median of the ratios of the wall times of all rounds, or None."""
    seconds = {run["round"]: run["seconds"] for run in others}
    ratios = [run["seconds"] / seconds[run["round"]] for run in runs if run["round"] in seconds]
    return median(ratios) if ratios else None


def goals(rows):
    """A line for each job of nanotape: both goals with met or missed."""
    lines = []
    for one in rows:
        if one["name"] != "nanotape":
            continue
        parts = []
        if one["x_itch_book"]:
            times = 1 / one["x_itch_book"]
            parts.append(
                f"{times:.2f} times as fast as itch-book "
                f"(goal: at least {TIMES_AS_FAST}, {met(times >= TIMES_AS_FAST)})"
            )
        if one["x_limit"]:
            parts.append(
                f"{one['x_limit']:.2f} times the limit "
                f"(goal: at most {TIMES_THE_LIMIT}, {met(one['x_limit'] <= TIMES_THE_LIMIT)})"
            )
        if parts:
            lines.append(f"{one['job']}: nanotape is {', and takes '.join(parts)}")
    return lines or ["no verdict: it needs nanotape, and itch-book or parquet"]


def met(is_met):
    return "met" if is_met else "missed"


def unexplained(reports):
    return [one for report in reports for one in report["differences"] if not one["explained"]]


def differences(reports):
    """Lines: each table, and each class of differences with its rule or its first rows."""
    lines = []
    for report in reports:
        lines.append(
            f"{report['table']}: {report['nanotape']:,} rows of nanotape, {report['itch-book']:,} of "
            f"itch-book; {report['equal']:,} are equal"
        )
        for one in report["differences"]:
            if one["explained"]:
                lines.append(f"  {one['rows']:,} explained ({one['where']}): {one['what']}")
                continue
            lines.append(f"  {one['rows']:,} NOT EXPLAINED ({one['where']}): {one['what']}, first")
            lines += [f"    {example}" for example in one["examples"]]
    return lines
