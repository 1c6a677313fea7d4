"""Counts the records of `nanotape lab jitter` about single processors again, naively.

Usage: count_gaps.py RECORDS.json CPU UID

Prints what differs, and ends with status 1. CPU is the processor of a plant. UID 0: the kernel's
events name it.
"""

import json
import sys


def check(record, errors):
    name = record["name"]

    def same(what, found, expected):
        if found != expected:
            errors.append(f"{name}: {what} is {found}, counted {expected}")

    causes = record["causes"]
    same("count", record["count"], sum(cause["count"] for cause in causes))
    same("lost_ns", record["lost_ns"], sum(cause["ns"] for cause in causes))
    same("the longest cause", record["quantiles"]["p100"], max(cause["max_ns"] for cause in causes))

    # A bucket is its highest value and its count.
    buckets = record["distribution"]
    same("count", record["count"], sum(count for _, count in buckets))
    for label, value in record["quantiles"].items():
        rank = max(1, -(-record["count"] * float(label[1:]) // 100))
        below, lowest = 0, 0
        for highest, count in buckets:
            if below + count >= rank:
                if not lowest <= value <= highest:
                    errors.append(f"{name}: {label} is {value}, counted {lowest} to {highest}")
                break
            below, lowest = below + count, highest

    longest = record["longest"]
    ends = [at + length for at, length, _ in longest]
    if any(end > begin for end, (begin, _, _) in zip(ends, longest[1:])):
        errors.append(f"{name}: interruptions overlap")
    if longest and ends[-1] > record["watched_ns"]:
        errors.append(f"{name}: an interruption after the end")
    if record["count"] == len(longest):
        same("lost_ns", record["lost_ns"], sum(length for _, length, _ in longest))

    if record["interrupts"] is not None:
        hard = [one for one in record["interrupts"] if not one["name"].startswith("softirq ")]
        found = record["count"] + record["not_kept"] - sum(one["count"] for one in hard)
        same("unmatched", record["unmatched"], max(0, found))


def main():
    path, cpu, user = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    records = [record for record in records if record["kind"] == "gaps"]
    errors = []
    for record in records:
        check(record, errors)
    beside = [record for record in records if record["cpu"] == int(cpu)]
    if len(beside) != 1:
        sys.exit(f"processor {cpu} has {len(beside)} records")
    traced = any(rung["rung"] == "events of the kernel" and rung["used"] for rung in beside[0]["rungs"])
    cause = "preempted by nanotape" if user == "0" and traced else "preempted"
    causes = {one["cause"]: one["ns"] for one in beside[0]["causes"]}
    lost = sum(ns for name, ns in causes.items() if name.startswith(cause))
    # What other programs of a busy machine took says nothing about the plant.
    others = sum(ns for name, ns in causes.items() if name.startswith("preempted by ") and not name.startswith(cause))
    share = lost / max(1, beside[0]["lost_ns"] - others)
    print(f"{cause}: {100 * share:.1f}% of the time of processor {cpu} that no other program took")
    if share < 0.7:
        errors.append(f"{cause} has {100 * share:.1f}% of that time, expected 70% or more")
    print("\n".join(errors) if errors else f"{len(records)} records are as counted")
    sys.exit(1 if errors else 0)


main()
