"""The rows of the table, what is printed of differences, and whether the goals are met."""

import re
from statistics import median

from harness.table import spread

# The rivals, with the goal: nanotape is so many times as fast.
RIVALS = {"itch-book": 1.5, "databento": None}
# The limits, with the goal: nanotape takes so many times as long.
LIMITS = {"parquet": 1.2, "numpy": None}
# The goals of jobs that end in an array: at least so many gigabytes of records per second.
GB_PER_SECOND = {"journal to numpy": 1.0}


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
    rival, limit = (next((one for one in names if found.get((one, job))), None) for names in (RIVALS, LIMITS))
    rates = [run["gb_per_second"] for run in runs if "gb_per_second" in run]
    return {
        "name": name, "version": version, "job": job, "rows": runs[-1]["rows"],
        "seconds": spread([run["seconds"] for run in runs]),
        "cpu_seconds": median(run["cpu_seconds"] for run in runs),
        "peak_bytes": max(memory) if memory else None, "bytes": runs[-1]["bytes"],
        "gb_per_second": median(rates) if rates else None, "rival": rival, "limit": limit,
        "x_rival": None if name in LIMITS else ratio(runs, found.get((rival, job), [])),
        # The limit is the time of nanotape's rows: rivals write others.
        "x_limit": ratio(runs, found.get((limit, job), [])) if name == "nanotape" else None,
    }


def ratio(runs, others):
    """The median of the ratios of the wall times of all rounds, or None."""
    seconds = {run["round"]: run["seconds"] for run in others}
    ratios = [run["seconds"] / seconds[run["round"]] for run in runs if run["round"] in seconds]
    return median(ratios) if ratios else None


def goals(rows):
    """A line for each job of nanotape: each ratio, with its goal and whether that is met or missed."""
    lines = []
    for one in rows:
        if one["name"] != "nanotape":
            continue
        parts = []
        if one["job"] in GB_PER_SECOND:
            rate, least = one["gb_per_second"], GB_PER_SECOND[one["job"]]
            parts.append(f"reads {rate:.2f} GB/s{goal('at least', least, rate >= least)}")
        if one["x_rival"]:
            times, least = 1 / one["x_rival"], RIVALS[one["rival"]]
            reached = goal("at least", least, times >= (least or 0))
            parts.append(f"is {times:.2f} times as fast as {one['rival']}{reached}")
        if one["x_limit"]:
            times, most = one["x_limit"], LIMITS[one["limit"]]
            parts.append(f"takes {times:.2f} times the limit{goal('at most', most, times <= (most or times))}")
        if parts:
            lines.append(f"{one['job']}: nanotape {', and '.join(parts)}")
    return lines or ["no verdict: it needs nanotape, and a rival or a limit"]


def goal(what, number, is_met):
    return "" if number is None else f" (goal: {what} {number}, {'met' if is_met else 'missed'})"


def unexplained(reports):
    return [one for report in reports for one in report["differences"] if not one["explained"]]


def differences(reports):
    """Lines: each table, and each class of differences with its rule or its first rows."""
    lines = []
    for report in reports:
        lines.append(
            f"{report['table']}: {report['nanotape']:,} rows of nanotape, {report[report['rival']]:,} of "
            f"{report['rival']}; {report['equal']:,} are equal"
        )
        for one in report["differences"]:
            if one["explained"]:
                lines.append(f"  {one['rows']:,} explained ({one['where']}): {one['what']}")
                continue
            lines.append(f"  {one['rows']:,} NOT EXPLAINED ({one['where']}): {one['what']}, first")
            lines += [f"    {example}" for example in one["examples"]]
    return lines
