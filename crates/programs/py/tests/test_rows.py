"""Rows are those that the commands print, in every library, and come back from files."""

import csv
import io
import os

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import nanotape
from conftest import program


def printed(*words):
    """The rows of a command, as dictionaries of texts; its times in ns since 1970."""
    text = program(*words, "--format", "csv")
    return list(csv.DictReader(io.StringIO(text)))


def as_text(value, name, midnight_ns):
    """A value of a table as a command prints it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if name == "ts_event":
        return str(value - midnight_ns)
    if "price" in name:
        text = f"{value // 10**9}.{value % 10**9:09}"
        return text[:-5] if text.endswith("00000") else text.rstrip("0")
    return str(value)


def texts(table, midnight_ns):
    """The rows of an Arrow table as dictionaries of texts."""
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pyarrow.types.is_timestamp(column.type):
            column = column.cast(pyarrow.int64())
        columns[name] = [as_text(value, name, midnight_ns) for value in column.to_pylist()]
    columns["ts_ns"] = columns.pop("ts_event")
    names = list(columns)
    return [dict(zip(names, row)) for row in zip(*columns.values())]


MIDNIGHT_NS = 1_577_682_000_000_000_000


def test_best_prices_and_trades_of_every_input_are_those_of_the_commands(inputs):
    for path in inputs.all():
        opened = nanotape.open(path)
        has_receipt = any(column["name"] == "ts_recv" for column in opened.bbo().columns)
        more = "message,orders,reason" + (",receipt" if has_receipt else "")
        rows = texts(opened.bbo().arrow(), MIDNIGHT_NS)
        assert rows == printed("inside", path, "--with", more), path
        assert len(rows) > 100
        trades = texts(opened.trades().arrow(), MIDNIGHT_NS)
        expected = printed("trades", path)
        assert [{name: row[name] for name in expected[0]} for row in trades] == expected, path


def test_a_span_and_symbols_are_those_of_the_command(inputs, day):
    symbols = [row["symbol"] for row in day.definitions().arrow().to_pylist()][3:5]
    rows = day.bbo(symbols, start="10:00", end="11:30:00.5").arrow()
    words = ["--symbols", ",".join(symbols), "--from", "10:00", "--until", "11:30:00.5"]
    expected = printed("inside", inputs.day, "--with", "message,orders,reason", *words)
    assert texts(rows, MIDNIGHT_NS) == expected
    # The same moments in other forms.
    from datetime import datetime, time, timedelta, timezone
    ns = MIDNIGHT_NS + 10 * 3600 * 10**9
    zone = timezone(timedelta(hours=-5))
    for start in [time(10), ns, numpy.datetime64(ns, "ns"), datetime(2019, 12, 30, 10, tzinfo=zone),
                  pandas.Timestamp(ns, tz="UTC")]:
        assert day.bbo(symbols, start=start, end="11:30:00.5").arrow() == rows, start


def test_every_library_takes_the_same_rows(day):
    arrow = day.bbo().arrow()
    expected = arrow.to_pylist()
    assert polars.DataFrame(day.bbo()).to_arrow().to_pylist() == expected
    rows = day.bbo()
    assert duckdb.sql("select count(*), sum(bid_size), max(epoch_ns(ts_event)) from rows").fetchall()[0] == (
        len(expected), sum(row["bid_size"] or 0 for row in expected),
        max(row["ts_event"].value for row in expected))
    frame = day.bbo().df(prices="fixed")
    assert len(frame) == len(expected)
    assert frame["bid_price"].sum() == sum(row["bid_price"] or 0 for row in expected)
    assert frame["bid_price"].isna().sum() == sum(row["bid_price"] is None for row in expected)
    batches = [pyarrow.record_batch(batch) for batch in day.bbo()]
    assert pyarrow.Table.from_batches(batches).to_pylist() == expected


def test_prices_have_the_form_that_is_wanted(day):
    fixed = day.trades().arrow()["price"].to_pylist()
    floats = day.trades(prices="float").arrow()["price"].to_pylist()
    decimals = day.trades(prices="decimal").arrow()["price"].to_pylist()
    assert [price / 1e9 for price in fixed] == floats
    assert [int(price.scaleb(9)) for price in decimals] == fixed
    assert day.trades().df()["price"].tolist() == floats
    assert day.trades().pl()["price"].to_list() == floats
    wanted = pyarrow.schema([field.with_type(pyarrow.float64()) if field.name == "price" else field
                             for field in day.trades().arrow().schema])
    capsule = day.trades().__arrow_c_stream__(wanted.__arrow_c_schema__())
    reader = pyarrow.RecordBatchReader._import_from_c_capsule(capsule)
    assert reader.read_all()["price"].to_pylist() == floats
    with pytest.raises(ValueError, match="expected the fields message, ts_event"):
        day.trades().__arrow_c_stream__(pyarrow.schema([("x", pyarrow.int8())]).__arrow_c_schema__())


def test_a_structured_array_has_the_rows(day):
    array = day.bbo().numpy()
    rows = day.bbo().arrow()
    assert len(array) == rows.num_rows
    assert array["message"].tolist() == rows["message"].to_pylist()
    assert array["ts_event"].astype("i8").tolist() == rows["ts_event"].cast(pyarrow.int64()).to_pylist()
    prices = [nanotape.UNDEF_PRICE if price is None else price for price in rows["ask_price"].to_pylist()]
    assert array["ask_price"].tolist() == prices
    assert [symbol.decode() for symbol in array["symbol"]] == rows["symbol"].to_pylist()
    assert array.base is not None, "a view of the memory of the rows"


def test_rows_are_streams_of_their_own(day):
    rows = day.mbo()
    first, second = iter(rows), iter(rows)
    begin = pyarrow.record_batch(next(first))
    assert pyarrow.record_batch(next(second)).equals(begin)
    # A stream that is not read to its end ends its reading.
    del first, second
    assert sum(len(batch) for batch in rows) == rows.arrow().num_rows


def test_a_book_is_that_of_the_command(inputs, day):
    symbol = day.definitions().arrow()["symbol"].to_pylist()[2]
    at = "11:00:00.123456789"
    book = day.book(symbol, at)
    expected = printed("book", inputs.day, "--symbols", symbol, "--at", at)
    shown = [(row["price"], row["size"], row["orders"]) for row in expected]
    levels = numpy.concatenate([book.bids, book.asks])
    found = [(as_text(int(price), "price", 0), str(size), str(orders)) for price, size, orders in levels]
    assert found == shown
    orders = printed("book", inputs.day, "--symbols", symbol, "--at", at, "--orders")
    assert [str(number) for number in book.orders["order_reference_number"]] == [
        row["order_reference_number"] for row in orders]
    last = book.orders[len(book.bids) and int(book.bids["orders"][0]) - 1]
    before, shares = book.queue(int(last["order_reference_number"]))
    assert before == book.bids["orders"][0] - 1
    assert shares == book.bids["size"][0] - last["size"]
    with pytest.raises(KeyError, match="is not in the book"):
        book.queue(10**15)


def test_statistics_are_those_of_the_command(inputs, day):
    expected = printed("stats", inputs.day)
    rows = day.stats().arrow().to_pylist()
    assert [row["symbol"] for row in rows] == [row["symbol"] for row in expected]
    for name in ["messages", "inside_changes", "trades", "volume_shares"]:
        assert [str(row[name]) for row in rows] == [row[name] for row in expected]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_of_export_have_the_rows(inputs, day, tmp_path, suffix):
    tables = ["bbo", "trades", "mbo", "depth", "bars", "status", "definitions", "imbalance"]
    program("export", inputs.day, "--records", ",".join(tables), "--levels", 3, "--format", suffix,
            "-o", f"{tmp_path}/")
    for table in tables:
        path = tmp_path / f"{table}.{suffix}"
        rows = (day.depth(3) if table == "depth" else getattr(day, table)()).arrow().to_pylist()
        assert rows, table
        if suffix == "parquet":
            assert pyarrow.parquet.read_table(path).to_pylist() == rows
            assert polars.read_parquet(path).to_arrow().to_pylist() == rows
            count = duckdb.sql(f"select count(*), max(epoch_ns(ts_event)) from '{path}'").fetchall()[0]
            assert count == (len(rows), max(row["ts_event"].value for row in rows))
            assert len(pandas.read_parquet(path, dtype_backend="pyarrow")) == len(rows)
        else:
            with pyarrow.memory_map(str(path)) as mapped:
                assert pyarrow.ipc.open_file(mapped).read_all().to_pylist() == rows
            assert polars.read_ipc(path).to_arrow().to_pylist() == rows
            assert pandas.read_feather(path).shape[0] == len(rows)


def test_events_one_nanosecond_apart_stay_apart(day):
    times = day.mbo().arrow()["ts_event"].cast(pyarrow.int64())
    distinct = len(set(times.to_pylist()))
    assert day.mbo().pl()["ts_event"].n_unique() == distinct
    assert day.mbo().df()["ts_event"].nunique() == distinct
    assert len(numpy.unique(day.mbo().numpy()["ts_event"])) == distinct


def test_states_and_auctions_of_records_are_those_of_the_day(inputs, day):
    for path in [inputs.journal, inputs.dbn]:
        recorded = nanotape.open(path)
        for table in ["status", "definitions", "imbalance"]:
            rows = getattr(day, table)().arrow().to_pylist()
            found = getattr(recorded, table)().arrow().to_pylist()
            names = [name for name in rows[0] if name != "message"]
            assert [[row[name] for name in names] for row in found] == [
                [row[name] for name in names] for row in rows], (path, table)
            assert all(row["message"] is None for row in found)


def test_a_long_text_is_whole_in_a_structured_array(day):
    rows = day.status().arrow().to_pylist()
    array = day.status().numpy()
    for name in ["action", "reason", "symbol"]:
        assert [text.decode() for text in array[name]] == [row[name] or "" for row in rows]
    assert day.status().arrow().num_rows == len(array)


def test_a_stream_that_nobody_reads_costs_nothing(day):
    import threading
    before = len(threading.enumerate()), os.listdir("/proc/self/task")
    capsules = [day.depth(10).__arrow_c_stream__() for _ in range(50)]
    assert len(os.listdir("/proc/self/task")) <= len(before[1]) + 2
    assert pyarrow.RecordBatchReader._import_from_c_capsule(capsules[7]).read_all().num_rows > 1000
