"""hftbacktest takes the arrays: its validator passes them, and its books are ours."""

import warnings

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


def test_misuse_says_what_to_write(inputs, day):
    with pytest.raises(ValueError, match="call it for each"):
        day.backtest("A,B")
    with pytest.raises(ValueError, match="latency"):
        day.backtest("A", latency="soon")
    with pytest.raises(nanotape.InputError, match="price levels only"):
        nanotape.open(inputs.capture("iex-deep")).backtest("A").numpy()
