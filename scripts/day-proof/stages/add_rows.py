"""Adds up the rows of `nanotape explain` again: add_rows.py ROWS STOPS LEAST_NS.

Fails if the parts of a row are not its total, if the report has another largest residual, or if fewer
messages than half of STOPS were blocked for at least LEAST_NS: one stop in four falls into the
time in which the plant queries the kernel, or waits.
"""

import json
import sys

path, stops, least_ns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rows = [json.loads(line) for line in open(path)]
report = rows.pop()
assert report["kind"] == "explain" and all(row["kind"] == "slow-message" for row in rows)
largest, stopped = 0, set()
for row in rows:
    shares = row["interruptions"]
    parts = ["waited_ns", "usual_ns", "unexplained_ns", "not_traced_ns"]
    total = sum(row[part] for part in parts) + sum(share["ns"] for share in shares)
    residual = row["total_ns"] - total
    assert residual == row["residual_ns"], (row, residual)
    largest = max(largest, abs(residual))
    for share in shares:
        if share["kind"] == "blocked or stopped" and share["message"] == row["message"]:
            if share["ns"] >= least_ns:
                stopped.add(row["message"])
assert largest == report["largest_residual_ns"] < 50, (largest, report["largest_residual_ns"])
assert report["slow"] == len(rows), (report["slow"], len(rows))
total_ns = sum(row["total_ns"] for row in rows)
assert total_ns == report["total_ns"] == sum(part["ns"] for part in report["by_main"])
print(f"{len(rows)} rows; {len(stopped)} stops of {stops}; largest residual {largest} ns; lost spans {report['lost_spans']}")
sys.exit(2 * len(stopped) < stops)
