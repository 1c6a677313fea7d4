"""Compares the symbols that Databento's package gives the order records of DBN files with those of a tap's rows.

Usage: check_names.py ROWS.csv FILE.dbn...  The files together hold the records of the rows, in the same order.
Status 0 if every symbol is the same.
"""

import csv
import sys

import databento


def main() -> int:
    rows_path, *files = sys.argv[1:]
    with open(rows_path, newline="") as rows:
        expected = [row["symbol"] for row in csv.DictReader(rows) if row["record"] == "mbo"]
    found = []
    for file in files:
        frame = databento.DBNStore.from_file(file).to_df(schema="mbo")
        symbols = [str(symbol) for symbol in frame["symbol"]]
        print(f"{file.rsplit('/', 1)[-1]}: {len(symbols)} order records of {len(set(symbols))} stocks")
        found += symbols
    wrong = sum(ours != theirs for ours, theirs in zip(expected, found))
    print(f"{len(expected)} rows, {len(found)} records, {wrong} with another symbol")
    return int(len(expected) != len(found) or wrong > 0 or not expected)


if __name__ == "__main__":
    sys.exit(main())
