"""Compares a DBN file of insides, read with Databento's package, with the naive books of a capture.

usage: read_venues.py FILE.dbn CAPTURE DATE DATASET
"""

import csv
import os
import subprocess
import sys
import warnings

import databento

warnings.filterwarnings("ignore")

NONE = 2**63 - 1


def units(price):
    return "" if price == NONE else str(price // 100_000)


def main():
    path, capture, date, dataset = sys.argv[1:]
    store = databento.DBNStore.from_file(path)
    assert store.dataset == dataset, (store.dataset, dataset)
    rows = store.to_df(price_type="fixed", pretty_ts=False, map_symbols=True).reset_index()
    assert rows.symbol.notna().all(), "rows without a symbol"
    columns = ("ts_event", "symbol", "bid_px_00", "bid_sz_00", "ask_px_00", "ask_sz_00")
    found = [
        (int(ts), symbol, units(bid), str(bid_size) if bid != NONE else "", units(ask), str(ask_size) if ask != NONE else "")
        for ts, symbol, bid, bid_size, ask, ask_size in zip(*(rows[name] for name in columns))
    ]
    judge = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../venue-judge/replay.py")
    naive = subprocess.run(
        [sys.executable, judge, capture, "--what", "insides", "--dup-add", "ignore", "--date", date],
        capture_output=True, text=True, check=True,
    )
    keys = ("symbol", "bid_price", "bid_size", "ask_price", "ask_size")
    expected = [(int(row["ts_event_ns"]), *(row[key] for key in keys)) for row in csv.DictReader(naive.stdout.splitlines())]
    order = lambda row: row[:2]
    found.sort(key=order)
    expected.sort(key=order)
    for place, (one, other) in enumerate(zip(found, expected)):
        assert one == other, f"row {place} is {one}, expected {other}"
    assert len(found) == len(expected) > 100, (len(found), len(expected))
    print(f"{dataset}, schema {store.schema}: {len(found)} insides are equal")


main()
