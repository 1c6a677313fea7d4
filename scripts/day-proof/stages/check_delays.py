"""Compares records of `nanotape delay` with what is true, naively.

Usage: check_delays.py days RECORD.json TRUTH.csv DRIFT_NS_PER_S
       check_delays.py rings RECORD.json TRUTH.csv
       check_delays.py lines RECORD.json SENT.json

TRUTH is a file of `nanotape synth --truth`, SENT the last line of `nanotape exchange --format json`.
Prints what differs, and ends with status 1.
"""

import csv
import json
import math
import sys

DAY_NS = 86_400 * 10**9
# The time of New York is behind UTC by so much on the date of the days.
BEHIND_NS = 5 * 3_600 * 10**9


def read_truth(path):
    with open(path, newline="") as file:
        return {int(row["from_ns"]): row for row in csv.DictReader(file)}


def check_spans(record, truth, errors):
    """Medians of the same delays: each is within the percentiles of the other."""
    spans = [span for span in record["over_time"] if span["delay_ns"] is not None]
    covered = 0
    for span in spans:
        row = truth[(span["from_ns"] - BEHIND_NS) % DAY_NS]
        low, median, high = (int(row[f"delay_{name}_ns"]) for name in ("p05", "median", "p95"))
        if not low <= span["delay_ns"] <= high:
            errors.append(f"{span['delay_ns']} is not from {low} to {high}: {span}")
        covered += span["low_ns"] <= median <= span["high_ns"]
    return len(spans), covered


def check_days(record, truth, drift, errors):
    count, covered = check_spans(record, truth, errors)
    if count < 100:
        errors.append(f"{count} spans have a delay, at least 100 are expected")
    # 3.3 standard deviations of a binomial count: one draw of a thousand is below.
    least = 0.95 * count - 3.3 * math.sqrt(0.95 * 0.05 * count)
    if covered < least:
        errors.append(f"{covered} of {count} intervals contain the truth, {least:.0f} needed")
    trend = record["trend"]
    if not trend["low_ns_per_s"] <= drift <= trend["high_ns_per_s"]:
        errors.append(f"the drift is {drift} ns/s, the trend {trend}")
    return f"{count} spans, {covered} intervals contain the truth"


def check_rings(record, truth, errors):
    # Of the first span and of the last one a part was read.
    record["over_time"] = record["over_time"][1:-1]
    count, covered = check_spans(record, truth, errors)
    if count < 3:
        errors.append(f"{count} spans have a delay, at least 3 are expected")
    return f"{count} spans, {covered} intervals contain the truth"


def check_lines(record, sent, errors):
    messages = record["messages"]
    pairs, alone = messages["pairs"], messages["only_on"]

    def same(what, found, expected):
        if found != expected:
            errors.append(f"{what} is {found}, counted {expected}")

    order = sum(messages[name] for name in ("earlier_on_first", "earlier_on_second", "at_once"))
    same("pairs", pairs, order)
    if pairs + sum(alone) > sent["a_messages"]:
        errors.append(f"{pairs} and {alone} of {sent['a_messages']} messages")
    for index, name in enumerate("ab"):
        line = record["session"]["lines"][index]
        different = pairs + alone[index]
        same(f"{name}: messages", line["messages"], different + messages["repeated"][index])
        # The session ends with the faster line: the other one has some packets left.
        came = line["packets"] + line["kernel_drops"]
        unread = sent[f"{name}_sent"] + sent[f"{name}_idle_packets"] - came
        if not 0 <= unread <= 200:
            errors.append(f"{name}: {came} packets came, {unread} more were sent")
        # Each packet that is missing had a message or some, as the others had.
        missing = sent[f"{name}_messages"] - different
        packets = sent[f"{name}_dropped"] + line["kernel_drops"] + unread
        a_packet = sent[f"{name}_messages"] / sent[f"{name}_packets"]
        if not sent[f"{name}_dropped"] <= missing <= 2 * a_packet * packets:
            errors.append(f"{name}: {missing} messages are missing in {packets} packets")
    return f"{pairs} pairs, {alone[0]} and {alone[1]} on one line"


def main():
    what, record_path, other_path, *more = sys.argv[1:]
    errors = []
    with open(record_path) as file:
        record = json.load(file)
    if what == "lines":
        with open(other_path) as file:
            said = check_lines(record, json.load(file), errors)
    elif what == "days":
        said = check_days(record, read_truth(other_path), float(more[0]), errors)
    else:
        said = check_rings(record, read_truth(other_path), errors)
    print(said)
    for error in errors[:20]:
        print(error)
    sys.exit(1 if errors else 0)


main()
