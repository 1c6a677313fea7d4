"""hftbacktest takes the arrays: its validator passes them, and its books are ours."""

import os
import struct
import warnings
from pathlib import Path

import hftbacktest
import hftbacktest.types
import numpy
import pytest
from hftbacktest.data.validation import validate_event_order

import nanotape
from conftest import program


def busiest(day):
    stats = day.stats().numpy()
    stocks = stats[stats["symbol"] != b"*"]
    return stocks["symbol"][stocks["messages"].argmax()].decode()


def backtest(array):
    """A backtest of one stock, with the queue model of single orders."""
    asset = hftbacktest.BacktestAsset().data([array]).linear_asset(1.0).constant_order_latency(0, 0)
    asset = asset.l3_fifo_queue_model().no_partial_fill_exchange().trading_value_fee_model(0, 0)
    asset = asset.tick_size(0.01).lot_size(1).roi_lb(0).roi_ub(1000)
    return hftbacktest.ROIVectorMarketDepthBacktest([asset])


def test_an_array_is_that_of_the_file_and_of_the_type_of_hftbacktest(inputs, day, tmp_path):
    stock = busiest(day)
    array = day.backtest(stock, start="10:00", latency="20us").numpy()
    assert array.dtype == hftbacktest.types.event_dtype
    validate_event_order(array)
    path = tmp_path / "stock.npz"
    program("export", inputs.day, "--symbols", stock, "--from", "10:00", "--latency", "20us", "-o", path)
    assert (numpy.load(path)["data"] == array).all()
    assert (array["local_ts"] - array["exch_ts"] == 20_000).all()


@pytest.mark.parametrize("kind", ["day", "cboe-pitch", "iex-deep-plus", "journal"])
def test_the_books_of_a_backtest_are_those_of_the_day(inputs, kind):
    paths = {"day": lambda: inputs.day, "journal": lambda: inputs.journal}
    day = nanotape.open(paths.get(kind, lambda: inputs.capture(kind))())
    stock = busiest(day)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = day.backtest(stock, start="09:45").numpy()
    # Both clocks are the exchange's, so that the local book is the exchange's.
    array["local_ts"] = array["exch_ts"]
    validate_event_order(array)
    rows = day.bbo(symbols=stock, start="09:45", end="16:00", every="5m").numpy()
    test = backtest(array)
    # It begins at the first event.
    now, compared = int(array["local_ts"][0]), 0
    for row in rows[1:]:
        at = int(row["ts_event"].astype("i8"))
        if test.elapse(at - now) != 0:
            break
        now = at
        depth = test.depth(0)
        for side, best, size in [("bid", depth.best_bid_tick, depth.bid_qty_at_tick),
                                 ("ask", depth.best_ask_tick, depth.ask_qty_at_tick)]:
            if row[f"{side}_price"] != nanotape.UNDEF_PRICE:
                assert best == row[f"{side}_price"] // 10**7, (at, side)
                assert size(best) == row[f"{side}_size"], (at, side)
                compared += 1
    test.close()
    assert compared > 100


def test_a_day_without_times_of_receipt_warns(day):
    with pytest.warns(UserWarning, match="without a time of receipt.*latency=\"20us\""):
        day.backtest(busiest(day)).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        day.backtest(busiest(day), latency="1us").numpy()
        day.backtest(busiest(day), latency="0ns").numpy()


def test_a_span_without_a_message_has_the_live_orders(day):
    stock = busiest(day)
    first = day.mbo(symbols=stock, start="10:00").numpy()["ts_event"][0].astype("i8")
    for end in [int(first), None]:
        start = int(first) - 1 if end else "23:59"
        array = day.backtest(stock, start=start, end=end, latency="0ns").numpy()
        orders = day.orders(stock, start if end else None).numpy()
        assert (array["ev"][0] & 0xff, len(array)) == (3, 1 + len(orders))
        assert (array["order_id"][1:] == orders["order_reference_number"]).all()


def test_misuse_says_what_to_write(inputs, day):
    with pytest.raises(ValueError, match="call it for each"):
        day.backtest("A,B")
    with pytest.raises(ValueError, match="latency"):
        day.backtest("A", latency="soon")
    with pytest.raises(nanotape.InputError, match="price levels only"):
        nanotape.open(inputs.capture("iex-deep")).backtest("A").numpy()


def test_a_message_with_an_earlier_time_behind_the_begin_counts(tmp_path):
    """The begin of a span is a place among the messages, and the books are followed from there."""
    second = 10**9
    ten = 36_000 * second

    def message(kind, at, rest):
        body = kind + struct.pack(">HH", 1, 0) + (ten + at).to_bytes(6, "big") + rest
        return struct.pack(">H", len(body)) + body

    def add(at, number):
        return message(b"A", at, struct.pack(">QcI8sI", number, b"B", 100, b"ODD*    ", 10_000 * number))

    path = tmp_path / "12302019.NASDAQ_ITCH50"
    early = second // 2
    path.write_bytes(add(0, 1) + add(2 * second, 2) + message(b"D", early, struct.pack(">Q", 1)) + add(early, 3))
    ring = Path("/dev/shm") / f"nanotape-py-{os.getpid()}-early"
    program("convert", path, "-o", tmp_path / "early.dbn")
    program("run", "--input", path, "--ring", ring, "--journal", tmp_path / "journal")
    program("ring", "remove", ring)
    for source in [path, tmp_path / "early.dbn", tmp_path / "journal"]:
        folder = tmp_path / f"arrays of {source.name}"
        program("export", source, "--symbols", "*", "--from", "10:00:01", "--latency", "0ns", "--format", "npz",
                "-o", f"{folder}/")
        array = numpy.load(folder / "ODD%2A.npz")["data"]
        assert (array["ev"] & 0xff).tolist() == [3, 10, 10, 11, 10], source.name
        assert array["order_id"].tolist() == [0, 1, 2, 1, 3], source.name
        validate_event_order(array)
