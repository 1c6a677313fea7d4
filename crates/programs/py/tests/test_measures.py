"""Maps of the latest values, queues in front of receivers, and delays between feeds."""

import os
from pathlib import Path

import numpy
import pytest

import nanotape
from conftest import program

SCHEMA = Path(__file__).parents[4] / "schema/stock-state.toml"


@pytest.fixture
def states(inputs):
    """The map that a plant of the day kept."""
    ring, states = (f"/dev/shm/nanotape-py-{os.getpid()}-{kind}" for kind in ["ring", "states"])
    program("run", "--input", inputs.day, "--ring", ring, "--latest", states)
    yield states
    program("ring", "remove", ring)
    os.remove(states)


def test_states_of_stocks_are_the_last_of_the_tables(states, day):
    latest = nanotape.latest(states)
    rows = latest.numpy()
    assert (nanotape.latest(states, schema=SCHEMA).numpy() == rows).all()
    assert len(rows) == len(latest) == len(latest.df())
    assert rows["symbol"][0] == b"*" and (rows["publisher"] == 2).all()
    trades, best = day.trades().numpy(), day.bbo().numpy()
    for row in rows[1:]:
        symbol = row["symbol"].decode()
        last = best[best["symbol"] == row["symbol"]][-1]
        assert symbol in latest
        for state in [row, latest[symbol]]:
            for side in ["bid", "ask"]:
                assert state[f"{side}_price"] == last[f"{side}_price"], symbol
        counted = trades[(trades["symbol"] == row["symbol"]) & (trades["size"] > 0)]
        assert row["trades"] == len(counted) and row["volume"] == counted["size"].sum()
    assert rows["trades"][0] == rows["trades"][1:].sum() > 100
    with pytest.raises(KeyError):
        latest["NOSUCH"]
    with pytest.raises(ValueError, match="symbol"):
        latest["A SYMBOL TOO LONG"]


def test_maps_of_words_and_of_a_schema(tmp_path):
    path = tmp_path / "map"
    program("latest", "set", path, "7", "100", "200", "--entries", "10", "--value-words", "2")
    latest = nanotape.latest(path)
    assert len(latest) == 1 and 7 in latest and 8 not in latest
    assert latest[7].tolist() == (100, 200)
    assert latest.numpy()["value_1"].tolist() == [200]
    with pytest.raises(ValueError, match="keys of .* have 1 words, not 2"):
        latest.get((1, 2))
    with pytest.raises(TypeError, match="1 numbers"):
        latest["AAPL"]
    for key in [None, -1, 1.5, ("7",)]:
        with pytest.raises(TypeError, match="expected a symbol"):
            latest.get(key)
    with pytest.raises(nanotape.InputError, match="other values than the schema"):
        nanotape.latest(path, schema=SCHEMA)
    with pytest.raises(nanotape.InputError, match="nowhere"):
        nanotape.latest(tmp_path / "nowhere")


def test_a_map_that_is_removed_or_replaced_is_an_error_of_each_read(tmp_path):
    path = tmp_path / "map"

    def put(value):
        program("latest", "set", path, "7", value, "--entries", "10", "--value-words", "1")

    put("100")
    latest = nanotape.latest(os.fsencode(path))
    latest.check()
    reads = [latest.check, latest.numpy, latest.df, lambda: latest[7], lambda: latest.get(8), lambda: len(latest)]
    path.unlink()
    for read in reads:
        with pytest.raises(nanotape.NanotapeError, match=r"map: removed .* open the map again"):
            read()
    put("200")
    for read in reads:
        with pytest.raises(nanotape.NanotapeError, match=r"map: replaced .* open the map again"):
            read()
    assert nanotape.latest(path)[7].tolist() == (200,)


def test_entries_of_a_map_are_its_words(states):
    latest = nanotape.latest(states)
    # Without another form that is in memory at the same time.
    words = latest._core._entries()
    assert words.dtype == "<u8" and words.tobytes() == latest._core._entries().tobytes()
    key, value = latest._core.words
    assert len(words) == len(latest) * (key + 1 + value)


def test_numbers_of_numpy_are_numbers(day):
    arrivals = numpy.arange(0, 10**6, 700)
    expected = nanotape.queue(arrivals, ["300ns", "1us"])
    for service in [numpy.array([300, 1000]), [300, numpy.uint16(1000)], numpy.array([300, 1000], "m8[ns]")]:
        assert (nanotape.queue(arrivals, service) == expected).all()
    assert (nanotape.queue(arrivals, numpy.int64(300)) == expected[:1]).all()
    for service in [0, -1, 2**64, numpy.int64(-1), [300, 0]]:
        with pytest.raises(ValueError, match="service=.*: expected a number from 1"):
            nanotape.queue(arrivals, service)
    assert (day.depth(numpy.int64(2)).numpy() == day.depth(2).numpy()).all()
    with pytest.raises(TypeError, match="depth"):
        day.depth(True)


def test_a_queue_is_a_naive_one():
    arrivals = numpy.cumsum(numpy.random.default_rng(1).integers(0, 900, 5_000))
    found = nanotape.queue(arrivals, ["300ns", "500ns"])
    for row, service in zip(found, [300, 500]):
        free, delays, waiting, longest = 0, [], [], 0
        for at in arrivals.tolist():
            waiting = [end for end in waiting if end > at]
            free = max(free, at) + service
            waiting.append(free)
            delays.append(free - at)
            longest = max(longest, len(waiting))
        assert row["service_ns"] == service and row["messages"] == len(arrivals)
        assert row["largest_delay_ns"] == max(delays) and row["largest_queue"] == longest
        exact = sorted(delays)[int(0.99 * len(delays))]
        assert exact * 0.99 <= row["delay_p99_ns"] <= exact * 1.02
    assert len(nanotape.queue(arrivals.astype("M8[ns]"))) == 60
    with pytest.raises(ValueError, match="service"):
        nanotape.queue(arrivals, "soon")
    with pytest.raises(TypeError, match="arrivals"):
        nanotape.queue([1.5, 2.5])
    with pytest.raises(ValueError, match=r"arrivals\[1\]"):
        nanotape.queue(numpy.array(["2019-12-30", "NaT"], "M8[ns]"), "1us")
    assert nanotape.queue([], "1us")["messages"].tolist() == [0]


def test_a_delay_is_the_one_between_two_captures(inputs):
    stats = nanotape.open(inputs.capture("cboe-pitch")).stats().numpy()
    stock = stats["symbol"][stats["messages"].argsort()[-2]].decode()
    rows = nanotape.open(inputs.capture("cboe-pitch")).bbo(symbols=stock).numpy()
    later = rows.copy()
    later["ts_recv"] += numpy.timedelta64(123_456, "ns")
    found = nanotape.delay(rows, later, window="30m")
    assert found.low_ns <= 123_456 <= found.high_ns and abs(found.delay_ns - 123_456) < 1_000
    assert found.support > 100 and found.windows >= found.estimated_windows > 0
    swapped = nanotape.delay((later["ts_recv"], later["bid_size"]), (rows["ts_recv"], rows["bid_size"]), window="30m")
    assert abs(swapped.delay_ns + 123_456) < 1_000
    times = numpy.arange(0, 10**12, 10**9)
    with pytest.raises(ValueError, match="no delay in any"):
        nanotape.delay((times, times), (times, -times))
    with pytest.raises(ValueError, match="times and .* values"):
        nanotape.delay((times, times[1:]), (times, times))
    with pytest.raises(TypeError, match="whole numbers"):
        nanotape.delay((times, times), (times, times / 2))
    # A window for each change, and none where there are no changes for a year.
    years = numpy.arange(20) * 3 * 10**16
    with pytest.raises(ValueError, match="any of 20 windows"):
        nanotape.delay((years, numpy.arange(20)), (years + 350, numpy.arange(20)), window="1ns")
    with pytest.raises(TypeError, match="second"):
        nanotape.delay((times, times), 5)
