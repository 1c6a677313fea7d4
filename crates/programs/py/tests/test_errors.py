"""What is wrong is one error that says what to do."""

import os
import subprocess
import sys
import warnings

import numpy
import pyarrow
import pytest

import nanotape
from conftest import program


@pytest.mark.parametrize("use, error, text", [
    (lambda day: nanotape.open("/no/such/file"), nanotape.InputError, "/no/such/file"),
    (lambda day: day.bbo(["NOSUCH"]).df(), nanotape.InputError, "symbols not found: NOSUCH"),
    (lambda day: day.bbo(["NOSUCH"]).pl(), nanotape.InputError, "symbols not found: NOSUCH"),
    (lambda day: day.bbo(["NOSUCH"]).numpy(), nanotape.InputError, "symbols not found: NOSUCH"),
    (lambda day: list(day.bbo(["NOSUCH"])), nanotape.InputError, "symbols not found: NOSUCH"),
    (lambda day: day.bbo([]), ValueError, "pass None for all stocks"),
    (lambda day: day.bbo(start="25:00"), ValueError, "start="),
    (lambda day: day.bbo(start=1.5), TypeError, "is no moment"),
    (lambda day: day.bbo(every="1x"), ValueError, "expected a period"),
    (lambda day: day.bbo(every="10ns"), ValueError, "at least 1us"),
    (lambda day: day.bars("0trades"), ValueError, "a number from 1"),
    (lambda day: day.bars("99999999999999999999trades"), ValueError, "a number from 1"),
    (lambda day: day.depth(-1), ValueError, "a number from 1 to 1000"),
    (lambda day: day.depth(10**9), ValueError, "a number from 1 to 1000"),
    (lambda day: day.levels("A", levels=-1), ValueError, "a number from 1"),
    (lambda day: day.bbo(symbols=5), TypeError, "expected symbols such as"),
    (lambda day: day.bbo(symbols=[5]), TypeError, "which is no text"),
    (lambda day: day.bbo(start=numpy.timedelta64(1, "h")), TypeError, "is no moment"),
    (lambda day: day.bbo(start=numpy.datetime64("NaT")), TypeError, "is no moment"),
    (lambda day: day.book(["A", "B"]), ValueError, "that of one stock"),
    (lambda day: day.book("*"), ValueError, "that of one stock"),
    (lambda day: nanotape.tap("x", records=5), TypeError, "expected kinds such as"),
    (lambda day: nanotape.tap("x", wait=-1), ValueError, "a number of seconds"),
    (lambda day: nanotape.tap("x", wait=float("nan")), ValueError, "a number of seconds"),
    (lambda day: nanotape.open("/dev"), nanotape.InputError, "is a folder without a journal"),
    (lambda day: day.bbo(prices="euro"), ValueError, "expected 'fixed'"),
    (lambda day: day.bbo(prices=None), ValueError, "expected 'fixed'"),
    (lambda day: day.depth(["AAPL"]), TypeError, "pass symbols="),
    (lambda day: len(day.bbo()), TypeError, "len(rows.arrow())"),
    (lambda day: day.bbo(start="11:00", end="10:00").df(), nanotape.InputError, "span ends before"),
    (lambda day: nanotape.Rows(5), TypeError, "rows come from an input"),
    (lambda day: nanotape.tap("no-such-ring"), nanotape.InputError, "no-such-ring"),
    (lambda day: nanotape.tap("x", start="middle"), ValueError, "expected 'newest', 'oldest'"),
])
def test_a_misuse_says_what_to_write_instead(day, use, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(").replace(")", r"\)")):
        use(day)


def test_a_day_without_a_date_names_the_argument(inputs, tmp_path):
    path = tmp_path / "day.itch50"
    path.write_bytes(inputs.day.read_bytes())
    with pytest.raises(nanotape.InputError, match='pass date="2019-12-30"'):
        nanotape.open(path).bbo().arrow()
    assert nanotape.open(path, date="2019-12-30").bbo().arrow().num_rows > 100


def test_a_feed_of_levels_has_no_orders(inputs):
    levels = nanotape.open(inputs.capture("iex-deep"))
    with pytest.raises(nanotape.InputError, match="price levels only: use bbo"):
        levels.mbo().arrow()


def test_what_a_plant_did_not_publish_is_an_error_and_not_an_empty_table(inputs, tmp_path):
    ring, journal = f"/dev/shm/nanotape-py-{os.getpid()}-usual", tmp_path / "journal"
    program("run", "--input", inputs.day, "--ring", ring, "--journal", journal)
    program("ring", "remove", ring)
    with pytest.raises(nanotape.InputError, match="did not publish imbalance"):
        nanotape.open(journal).imbalance().arrow()
    assert nanotape.open(journal).status().arrow().num_rows > 10


def test_a_damaged_day_warns_and_marks_its_rows(inputs):
    damaged = nanotape.open(inputs.damaged, date="2019-12-30")
    rows = damaged.bbo()
    assert rows.is_whole is None
    with pytest.warns(nanotape.IncompleteWarning, match="unreadable bytes"):
        frame = rows.df()
    assert rows.is_whole is False
    assert set(frame["reason"].dropna()) == {"gap", "taint"}
    with pytest.raises(nanotape.IncompleteInput, match="unreadable bytes"):
        nanotape.open(inputs.damaged, date="2019-12-30", strict=True).bbo().df()
    # A library that reads the stream gets the text.
    strict = nanotape.open(inputs.damaged, date="2019-12-30", strict=True)
    with pytest.raises(Exception, match="unreadable bytes"):
        pyarrow.table(strict.bbo())


def test_a_whole_day_does_not_warn(day):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = day.bbo()
        rows.df()
        assert rows.is_whole is True


def test_the_result_of_an_earlier_reading_is_not_that_of_a_later_one(inputs, tmp_path):
    path = tmp_path / "12302019.NASDAQ_ITCH50"
    for use in [nanotape.Rows.df, nanotape.Rows.numpy, list, pyarrow.table]:
        path.write_bytes(inputs.day.read_bytes())
        rows = nanotape.open(path).bbo()
        use(rows)
        assert rows.is_whole is True
        path.unlink()
        with pytest.raises(nanotape.InputError):
            use(rows)
        assert rows.is_whole is None


INTERRUPTED = """
import os, signal, sys, threading, time
import nanotape
day = nanotape.open(sys.argv[1])
use = {
    "numpy": lambda: day.depth(50).numpy(), "arrow": lambda: day.depth(50).arrow(),
    "pl": lambda: day.depth(50).pl(), "loop": lambda: [len(batch) for batch in day.depth(50)],
    "tap": lambda: nanotape.tap("no-such-ring-here", wait=60),
}[sys.argv[2]]
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        use()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("use", ["numpy", "arrow", "pl", "loop", "tap"])
def test_ctrl_c_ends_every_use(inputs, use):
    words = [sys.executable, "-c", INTERRUPTED, str(inputs.day), use]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
