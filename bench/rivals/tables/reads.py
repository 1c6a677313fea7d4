"""Reads the records of a file or a journal as an array, or writes them as a Parquet file, with one library.

Usage: reads.py nanotape|databento|numpy INPUT [sum]     prints one line of JSON: the median of several calls
       reads.py parquet INPUT OUTPUT                     databento's Parquet file: prints its rows

With `sum` a call also adds up the sizes of all records, so that a mapped file is read. The program numpy has
the records of INPUT in memory, and a call copies them into a fresh array.
"""

import json
import sys
import time
from statistics import median

import numpy as np

# Calls that count, after one that does not.
CALLS = 3
RECORD_BYTES = 56


def nanotape_records(path):
    import nanotape

    return lambda: nanotape.open(path).records("mbo")


def databento_records(path):
    import databento

    return lambda: databento.DBNStore.from_file(path).to_ndarray("mbo")


def copies(path):
    with open(path, "rb") as file:
        head = file.read(8)
    source = np.fromfile(path, np.uint8, offset=8 + int.from_bytes(head[4:], "little"))

    def call():
        fresh = np.empty_like(source)
        # As bytes: numpy copies these in one piece, and structures one by one.
        np.copyto(fresh, source)
        return fresh.view(f"V{RECORD_BYTES}")
    return call


READERS = {"nanotape": nanotape_records, "databento": databento_records, "numpy": copies}


def measure(call, is_summed):
    """Medians of the times of the calls. The array is freed outside of the time."""
    seconds, cpu_seconds = [], []
    for _ in range(1 + CALLS):
        start, cpu_start = time.perf_counter(), time.process_time()
        array = call()
        if is_summed:
            array["size"].sum(dtype=np.uint64)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
        rows, size = len(array), array.nbytes
        del array
    wall = median(seconds[1:])
    return {
        "seconds": wall, "cpu_seconds": median(cpu_seconds[1:]), "rows": rows, "bytes": size,
        "gb_per_second": size / wall / 1e9,
    }


def parquet(source, output):
    """nanotape's form, as far as databento's options allow: prices as int64, times with UTC, symbols, zstd."""
    import databento
    import pyarrow.parquet

    databento.DBNStore.from_file(source).to_parquet(
        output, price_type="fixed", pretty_ts=True, map_symbols=True, compression="zstd", compression_level=1,
    )
    return pyarrow.parquet.read_metadata(output).num_rows


def main(words):
    match words:
        case ["parquet", source, output]:
            print(f"mbo: {parquet(source, output):,} rows")
        case [name, source, *rest] if name in READERS and rest in ([], ["sum"]):
            print(json.dumps(measure(READERS[name](source), bool(rest))))
        case _:
            sys.exit("usage: reads.py nanotape|databento|numpy INPUT [sum], or reads.py parquet INPUT OUTPUT")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as problem:
        sys.exit(f"{type(problem).__name__}: {problem}")
