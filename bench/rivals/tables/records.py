"""Compares what nanotape and databento make of the same records, and prints one line of JSON.

Usage: records.py FOLDER JOB..., with mbo.dbn, mbo.dbn.zst, journal, nanotape/mbo.parquet and
databento/mbo.parquet in the folder. Rows are compared in their order, a field at a time. Every difference
needs a rule that explains it.
"""

import json
import sys
from pathlib import Path

import numpy as np

EXAMPLES = 5
# Columns of nanotape's Parquet file, and their names in DBN.
COLUMNS = {
    "message": "sequence", "ts_event": "ts_event", "ts_recv": "ts_recv", "symbol": "symbol", "action": "action",
    "side": "side", "price": "price", "size": "size", "order_reference_number": "order_id", "flags": "flags",
}
# What a record has instead of an absent value.
UNDEFINED = {"order_id": 0, "price": np.iinfo(np.int64).max}
ABSENT = "absent in nanotape's table, and DBN's value for that in databento's"
RECEIVED = "a journal has the time at which the plant received the message, and the DBN file repeats ts_event"


def compare(job, rival, ours, theirs, rule):
    """A report. `ours` and `theirs` are counts of rows, and functions that give a field.

    `rule` gives its text and the rows that it explains, or None, for a field and both columns.
    """
    count = min(ours[0], theirs[0])
    is_equal = np.ones(count, bool)
    differences = []
    if ours[0] != theirs[0]:
        longer = "nanotape" if ours[0] > theirs[0] else rival
        differences.append(difference(f"only {longer}", "rows", np.arange(count, max(ours[0], theirs[0])), []))
    for field, (own, other) in fields(ours[1], theirs[1], count):
        differ = own != other
        is_equal &= ~differ
        what, explained = rule(field, own, other) or (None, np.zeros(count, bool))
        for text, rows in [(what, differ & explained), ("values", differ & ~explained)]:
            if rows.any():
                columns = [("nanotape", own), (rival, other)]
                differences.append(difference(field, text, np.flatnonzero(rows), columns))
    return {
        "table": job, "rival": rival, "nanotape": ours[0], rival: theirs[0], "equal": int(is_equal.sum()),
        "differences": differences,
    }


def fields(ours, theirs, count):
    """Each field that both have, with the first `count` values of both."""
    for field in [name for name in ours if name in theirs]:
        yield field, (ours[field]()[:count], theirs[field]()[:count])


def difference(where, what, rows, columns):
    examples = [
        {"row": int(row), **{name: str(values[row]) for name, values in columns}} for row in rows[:EXAMPLES]
    ]
    is_explained = what not in ("rows", "values")
    return {"where": where, "what": what, "rows": len(rows), "explained": is_explained, "examples": examples}


def no_rule(_field, _own, _other):
    return None


def absent(field, own, other):
    """Of a Parquet file: nanotape's value is absent, which is -1, and the record has what DBN has for that."""
    if field in UNDEFINED:
        return ABSENT, (own == -1) & (other == UNDEFINED[field])
    return None


def received(events):
    """The rule of a journal, with the times of the events of the DBN file."""
    def rule(field, _own, other):
        return (RECEIVED, other == events[: len(other)]) if field == "ts_recv" else None
    return rule


def of_array(array):
    return len(array), {name: lambda name=name: array[name] for name in array.dtype.names}


def of_file(path, names):
    """A Parquet file whose columns are read when they are compared. `names` are its columns, with the fields."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def column(name):
        values = pq.read_table(path, columns=[name]).column(name).combine_chunks()
        kind = values.type
        if pa.types.is_large_string(kind):
            values = values.dictionary_encode()
        if pa.types.is_dictionary(values.type):
            # The text at the end is that of an absent value, whose index is -1.
            texts = np.append(np.asarray(values.dictionary).astype("S"), b"")
            return texts[np.asarray(values.indices.fill_null(-1))]
        if pa.types.is_timestamp(kind):
            values = values.view(pa.int64())
        return np.asarray(values.cast(pa.int64()).fill_null(-1))
    return pq.read_metadata(path).num_rows, {theirs: lambda own=own: column(own) for own, theirs in names.items()}


def report(folder, job):
    if job == "dbn to Parquet":
        ours = of_file(folder / "nanotape" / "mbo.parquet", COLUMNS)
        theirs = of_file(folder / "databento" / "mbo.parquet", {name: name for name in COLUMNS.values()})
        return compare(job, "databento", ours, theirs, absent)
    import nanotape

    if job == "journal to numpy":
        ours, theirs = (nanotape.open(folder / name).records("mbo") for name in ("journal", "mbo.dbn"))
        return compare(job, "mbo.dbn", of_array(ours), of_array(theirs), received(theirs["ts_event"]))
    import databento

    path = folder / {"dbn to numpy": "mbo.dbn", "dbn.zst to numpy": "mbo.dbn.zst"}[job]
    theirs = databento.DBNStore.from_file(path).to_ndarray("mbo")
    return compare(job, "databento", of_array(nanotape.open(path).records("mbo")), of_array(theirs), no_rule)


def main(words):
    print(json.dumps([report(Path(words[0]), job) for job in words[1:]]))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as problem:
        sys.exit(f"{type(problem).__name__}: {problem}")
