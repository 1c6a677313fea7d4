"""Exchange days, journals and live plants as arrays: order books, best prices, trades.

>>> import nanotape as nt
>>> day = nt.open("12302019.NASDAQ_ITCH50.gz")          # doctest: +SKIP
>>> day.bbo(symbols=["AAPL", "MSFT"]).df()              # doctest: +SKIP

Rows of a table are read when they are needed: by ``df()``, ``pl()``, ``arrow()``, ``numpy()``, by a loop
over batches, or by any library that reads Arrow streams (``pyarrow.table(rows)``, ``polars.DataFrame(rows)``,
``duckdb.sql("from rows")``).
"""

from __future__ import annotations

import asyncio
import datetime
import io
import os
import re
import subprocess
import sysconfig
import time
import warnings
from concurrent import futures
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Union

import numpy

from . import _core
from ._core import Batch, Event, IncompleteInput, InputError, NanotapeError, __version__

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = [
    "Batch", "Book", "DayResult", "Delay", "Event", "IncompleteInput", "IncompleteWarning", "Input", "InputError",
    "Latest", "NanotapeError", "Rows", "Tap", "UNDEF_PRICE", "__version__", "delay", "latest", "many", "open",
    "queue", "tap",
]

#: A price that a row of a structured array lacks, as in DBN.
UNDEF_PRICE = 2**63 - 1

#: A path: text, bytes or a pathlib.Path.
_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class IncompleteWarning(UserWarning):
    """A part of an input is missing or damaged. The column ``reason`` marks the rows behind it."""


class Rows:
    """The rows of a table. Each use reads the input again."""

    def __init__(self, core: _core.Rows) -> None:
        if not isinstance(core, _core.Rows):
            raise TypeError("rows come from an input, as in nanotape.open(path).bbo()")
        self._core = core

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """An independent stream of all rows: the PyCapsule interface of Arrow."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of the stream."""
        return self._core.__arrow_c_schema__()

    def __iter__(self) -> Iterator[Batch]:
        """Iterates over the rows in batches of 65,536, without the interpreter's lock."""
        return iter(self._core)

    @property
    def columns(self) -> list[dict[str, str]]:
        """Name, kind, unit and meaning of each column."""
        return self._core.columns

    def arrow(self) -> pyarrow.Table:
        """The rows as a ``pyarrow.Table``."""
        return self._table(_needed("pyarrow").table, self._core._prices)

    def df(self, prices: str = "float") -> pandas.DataFrame:
        """The rows as a pandas data frame, with columns of Arrow types: whole numbers stay whole.

        ``prices`` is ``"float"`` (USD), ``"fixed"`` (units of 1e-9) or ``"decimal"``.
        """
        pandas, pyarrow = _needed("pandas"), _needed("pyarrow")
        table = self._table(pyarrow.table, prices)
        return table.to_pandas(types_mapper=pandas.ArrowDtype)

    def to_df(self, price_type: str = "float") -> pandas.DataFrame:
        """``df()`` under its name in Databento's package."""
        return self.df(price_type)

    def pl(self, prices: str = "float") -> polars.DataFrame:
        """The rows as a polars data frame."""
        return self._table(_needed("polars").DataFrame, prices)

    def numpy(self) -> numpy.ndarray:
        """The rows as one structured array. Prices are int64 in units of 1e-9.

        A row that lacks a value has 0, the price ``UNDEF_PRICE``, the time NaT, or an empty text.
        """
        raw, fields = self._core._structured()
        self._warn()
        return raw.view(numpy.dtype(fields))

    def to_ndarray(self) -> numpy.ndarray:
        """``numpy()`` under its name in Databento's package."""
        return self.numpy()

    @property
    def is_whole(self) -> bool | None:
        """Whether the last use had all of the input. None before its end, and after an error."""
        report = self._core._report
        return None if report is None else report[0]

    def _table(self, make: Callable[[object], Any], prices: str) -> Any:
        """What a library makes of all rows. Ctrl-C ends the reading."""
        collected = self._core._collected(_one_of("prices", prices, _PRICES))
        self._warn()
        return make(collected)

    def _warn(self) -> None:
        report = self._core._report
        if report is not None and not report[0]:
            line = f"{self._core._name}: {'; '.join(report[1])}"
            warnings.warn(line, IncompleteWarning, stacklevel=4)
        for line in [] if report is None else report[2]:
            warnings.warn(f"{self._core._name}: {line}", stacklevel=4)

    def __repr__(self) -> str:
        names = ", ".join(column["name"] for column in self.columns)
        return f"<nanotape.Rows of {self._core._name}: {names}>"

    def __len__(self) -> int:
        raise TypeError("rows are read when they are needed: use len(rows.arrow()) or len(rows.numpy())")


class Book:
    """The book of one stock at one moment: levels, and orders in the order of their queues."""

    def __init__(self, symbol: str, levels: Rows, orders: Rows) -> None:
        self.symbol = symbol
        self._levels, self._orders = levels.numpy(), None
        self._of_orders = orders

    def _side(self, letter: bytes) -> numpy.ndarray:
        return self._levels[self._levels["side"] == letter][["price", "size", "orders"]]

    @property
    def bids(self) -> numpy.ndarray:
        """Price (units of 1e-9), size and number of orders of each level, best first."""
        return self._side(b"bid")

    @property
    def asks(self) -> numpy.ndarray:
        """The same of the other side."""
        return self._side(b"ask")

    @property
    def orders(self) -> numpy.ndarray:
        """All orders, level by level, each level in the order of its queue."""
        if self._orders is None:
            self._orders = self._of_orders.numpy()
        return self._orders

    def queue(self, order_reference_number: int) -> tuple[int, int]:
        """How many orders and how many shares are before an order at its price."""
        orders = self.orders
        place = numpy.flatnonzero(orders["order_reference_number"] == order_reference_number)
        if not len(place):
            raise KeyError(f"order {order_reference_number} is not in the book of {self.symbol}")
        own = orders[place[0]]
        before = orders[:place[0]]
        same = before[(before["price"] == own["price"]) & (before["side"] == own["side"])]
        return len(same), int(same["size"].sum())

    def __repr__(self) -> str:
        def best(side: numpy.ndarray) -> str:
            return f"{side[0]['size']} x {side[0]['price'] / 1e9:.4f}" if len(side) else "-"
        return f"<nanotape.Book of {self.symbol}: {best(self.bids)} | {best(self.asks)}>"


class Input:
    """A day file, a capture, the folder of a journal, or a DBN file."""

    def __init__(self, core: _core.Input) -> None:
        if not isinstance(core, _core.Input):
            raise TypeError("open an input with nanotape.open(path)")
        self._core = core

    @property
    def name(self) -> str:
        """The path as it was given, as text: a letter that is not UTF-8 is a replacement character."""
        return self._core.name

    @property
    def kind(self) -> str:
        """``day``, ``journal`` or ``dbn``."""
        return self._core.kind

    def bbo(self, symbols: Iterable[str] | str | None = None, *, start: Any = None, end: Any = None,
            every: Any = None, prices: str = "fixed") -> Rows:
        """The best bid and offer after each change; with ``every`` ("1s", a timedelta) a grid."""
        return self._table("bbo", symbols, start, end, prices, every=every)

    def trades(self, symbols: Iterable[str] | str | None = None, *, start: Any = None,
               end: Any = None, prices: str = "fixed") -> Rows:
        """Every print, with its price and whether it was broken."""
        return self._table("trades", symbols, start, end, prices)

    def mbo(self, symbols: Iterable[str] | str | None = None, *, start: Any = None, end: Any = None,
            prices: str = "fixed") -> Rows:
        """What each message did to single orders, and the trades."""
        return self._table("mbo", symbols, start, end, prices)

    def depth(self, levels: int = 10, symbols: Iterable[str] | str | None = None, *,
              start: Any = None, end: Any = None, every: Any = None, prices: str = "fixed") -> Rows:
        """The first levels after each message about a book; with ``every`` a grid."""
        if not _is_whole(levels):
            raise TypeError(f"depth(levels) is a number, not {levels!r}: pass symbols=[...] by name")
        levels = _number("levels", levels, 1, 1000)
        return self._table("depth", symbols, start, end, prices, every=every, levels=levels)

    def bars(self, by: Any = "1m", symbols: Iterable[str] | str | None = None, *, start: Any = None,
             end: Any = None, prices: str = "fixed") -> Rows:
        """Bars of a period ("1m", a timedelta), of trades ("1000trades") or of shares ("5000shares")."""
        return self._table("bars", symbols, start, end, prices, bars=_bar(by))

    def status(self, symbols: Iterable[str] | str | None = None, *, start: Any = None,
               end: Any = None) -> Rows:
        """Changes of trading states."""
        return self._table("status", symbols, start, end, "fixed")

    def definitions(self, symbols: Iterable[str] | str | None = None) -> Rows:
        """The stocks of the day."""
        return self._table("definitions", symbols, None, None, "fixed")

    def imbalance(self, symbols: Iterable[str] | str | None = None, *, start: Any = None,
                  end: Any = None, prices: str = "fixed") -> Rows:
        """Auctions before they take place."""
        return self._table("imbalance", symbols, start, end, prices)

    def stats(self, symbols: Iterable[str] | str | None = None, *, start: Any = None,
              end: Any = None, prices: str = "fixed") -> Rows:
        """Rates, volumes, spreads and event depth of each stock; the symbol of all together is ``*``."""
        _one_of("prices", prices, _PRICES)
        return Rows(self._core._stats(_symbols(symbols), _moment(start), _moment(end), prices))

    def levels(self, symbols: Iterable[str] | str, at: Any = None, *, levels: int | None = None,
               prices: str = "fixed") -> Rows:
        """The levels of books after the last message not later than ``at``; at the end without it."""
        return self._book(symbols, at, levels, False, prices)

    def orders(self, symbols: Iterable[str] | str, at: Any = None, *, levels: int | None = None,
               prices: str = "fixed") -> Rows:
        """The orders of books at a moment, each level in the order of its queue."""
        return self._book(symbols, at, levels, True, prices)

    def book(self, symbol: str, at: Any = None) -> Book:
        """The book of one stock at any nanosecond."""
        if not isinstance(symbol, str) or "," in symbol or "*" in symbol:
            raise ValueError(f"symbol={symbol!r}: a book is that of one stock; levels() has those of several")
        return Book(symbol, self.levels(symbol, at), self.orders(symbol, at))

    def backtest(self, symbol: str, *, start: Any = None, end: Any = None, latency: Any = None) -> Rows:
        """The events of one stock, order by order, for hftbacktest: ``numpy()`` has its ``event_dtype``.

        They begin with the live orders at ``start``. ``latency`` (``"20us"``) is added to times of
        receipt, or to the exchange's times where the input has no times of receipt.
        """
        if not isinstance(symbol, str) or "," in symbol or "*" in symbol:
            raise ValueError(f"symbol={symbol!r}: a backtest is that of one stock; call it for each of several")
        latency_ns = None if latency is None else _period(latency, "latency", 0)
        return Rows(self._core._backtest([symbol], _moment(start), _moment(end), latency_ns))

    def records(self, kind: str = "mbo") -> numpy.ndarray:
        """The stored records of a journal or a DBN file, as one structured array with the fields of DBN.

        ``kind``: ``"mbo"``, ``"bbo"`` or ``"trades"``. A DBN file that is not compressed and has one kind
        is mapped: its records are not copied, and the array cannot be written. A journal gives the records of
        one run; a DBN file gives all, or those behind the start of the ``run`` that was chosen. Prices are
        int64 in units of 1e-9, times ns since 1970.
        """
        dtype = _RECORDS[_one_of("kind", kind, tuple(_RECORDS))]
        is_all = self.kind == "dbn" and not self._core._has_run
        mapped = _mapped(self._core._path, dtype, _RTYPES[kind]) if is_all else None
        if mapped is not None:
            return mapped
        raw, lines = self._core._records(kind)
        if lines:
            warnings.warn(f"{self.name}: {'; '.join(lines)}", IncompleteWarning, stacklevel=2)
        return raw.view(dtype)

    def _table(self, table: str, symbols: Any, start: Any, end: Any, prices: str, *,
               every: Any = None, levels: int = 10, bars: tuple[str, int] = ("time", 60 * 10**9)) -> Rows:
        every_ns = None if every is None else _period(every, "every")
        _one_of("prices", prices, _PRICES)
        return Rows(self._core._table(table, _symbols(symbols), _moment(start), _moment(end), prices,
                                      every_ns, levels, bars))

    def _book(self, symbols: Any, at: Any, levels: int | None, orders: bool, prices: str) -> Rows:
        levels = None if levels is None else _number("levels", levels, 1, 2**32)
        _one_of("prices", prices, _PRICES)
        return Rows(self._core._book(_symbols(symbols), _moment(at), levels, orders, prices))

    def __repr__(self) -> str:
        return f"<nanotape.Input {self.name} ({self.kind})>"


def open(path: _Path, *, date: str | datetime.date | None = None,
         run: int | str | None = None, groups: Iterable[str] = (), session: str | None = None,
         pieces: Iterable[_Path] = (), strict: bool = False) -> Input:
    """Opens a day file, a capture, the folder of a journal, or a DBN file. The content decides.

    ``date``: trade date of a day file whose name has none. ``run``: run of a journal or a DBN file, from
    1, or ``"last"``. ``groups``, ``session``, ``pieces``: parts of a capture. ``strict``: a reading raises
    ``IncompleteInput`` if a part is missing or a book is unreliable; otherwise it warns, and the column
    ``reason`` marks the rows.
    """
    date = None if date is None else str(date)
    run = None if run is None else str(run)
    groups = [groups] if isinstance(groups, str) else [str(group) for group in groups]
    pieces = [pieces] if isinstance(pieces, (str, bytes, os.PathLike)) else list(pieces)
    pieces = [os.fsdecode(piece) for piece in pieces]
    return Input(_core.Input(os.fsdecode(path), date, run, groups, session, pieces, bool(strict)))


class Tap:
    """The records of a plant that runs: ``for item in tap`` or ``async for item in tap``.

    An item is a ``Batch`` of order events, best prices and trades, or an ``Event``: a loss, a report of the
    plant, a status, a definition, an imbalance. All are in the order of the ring. A loop that pauses
    loses nothing if the tap has a journal (``heal=``): what the ring has overwritten comes from there. A
    loss is an event with the numbers of the records. ``end`` has the reason for the end.
    """

    def __init__(self, core: _core.Tap) -> None:
        self._core = core
        self._waiting: asyncio.Future[None] | None = None

    def __iter__(self) -> Iterator[Batch | Event]:
        while (item := self._core._next(float("inf"))) is not None:
            yield item

    def __aiter__(self) -> Tap:
        """The same in an event loop, which goes on while the tap waits in a thread."""
        return self

    async def __anext__(self) -> Batch | Event:
        """The next item. A wait that is cancelled loses nothing: the thread waits, and takes no item."""
        loop = asyncio.get_running_loop()
        while (item := self._core._take()) is None:
            if self.end is not None:
                raise StopAsyncIteration
            # One thread at a time: it outlives a wait that is cancelled, and the next wait is for it.
            if self._waiting is None or self._waiting.done() or self._waiting.get_loop() is not loop:
                self._waiting = loop.run_in_executor(None, self._core._wait, 0.5)
            await asyncio.shield(self._waiting)
        return item

    def next(self, timeout: float = float("inf")) -> Batch | Event | None:
        """The next item; None if nothing came within ``timeout`` seconds, or at the end."""
        return self._core._next(timeout)

    @property
    def end(self) -> str | None:
        """Why the tap is over; None while it is not, or has items that were not given."""
        return self._core.end

    @property
    def next_sequence(self) -> int:
        """The number of the first record that was not given: ``start`` of a tap that goes on from here."""
        return self._core.next_sequence

    def close(self) -> None:
        """Ends the tap, before the first record that was not given. A loop that waits ends."""
        self._core.close()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tap(ring: _Path, *, heal: _Path | None = None,
        symbols: Iterable[str] | str | None = None, records: Iterable[str] | str = "all",
        start: str | int = "newest", wait: float = 0, heal_wait: float = 10, prices: str = "fixed") -> Tap:
    """Subscribes to the plant of a ring, by its name or path.

    ``heal``: folder of the journal that records the ring; then no record is lost. ``records``: mbo, bbo,
    trades, status, definitions, imbalances, or all. ``start``: ``"newest"``, ``"oldest"``, or the number of the
    first record, one more than the last ``sequence`` that was stored. ``wait``: seconds to wait for a plant to
    start, on a ring whose plant is over for the next one. ``heal_wait``: seconds to wait for a recorder that is
    behind. Records of no stock, such as the phase of the market, come with any ``symbols``.
    """
    if not isinstance(start, str):
        start = str(_number("start", start, 1, 2**63))
    elif not start.isdecimal() and start not in ("newest", "oldest"):
        raise ValueError(f"start={start!r}: expected 'newest', 'oldest' or the number of a record")
    _one_of("prices", prices, _PRICES)
    try:
        records = records if isinstance(records, str) else ",".join(records)
    except TypeError:
        raise TypeError(f"records={records!r}: expected kinds such as [\"bbo\", \"trades\"], or \"all\"") from None
    heal = None if heal is None else os.fsdecode(heal)
    return Tap(_core.Tap(os.fsdecode(ring), heal, _symbols(symbols), records, start,
                         _seconds("wait", wait), _seconds("heal_wait", heal_wait), prices))


class Latest:
    """The latest value of each key of a map, which other processes write: see :func:`latest`.

    Each read raises ``NanotapeError`` if the file of the map was removed, replaced or truncated.
    """

    def __init__(self, core: _core.Latest) -> None:
        if not isinstance(core, _core.Latest):
            raise TypeError("a map comes from nanotape.latest(name)")
        self._core = core

    def check(self) -> None:
        """Raises ``NanotapeError`` if the file of the map was removed, replaced or truncated."""
        self._core.check()

    def numpy(self) -> numpy.ndarray:
        """All entries as one structured array: the key, its version, and the fields of the value.

        Each state of a stock is whole, and has at least the records up to the ``sequence`` of ``*``, the
        market as a whole; their version is 0.
        """
        key, value = self._core.words
        names = [("publisher", "<u8", 0), ("symbol", "S8", 8)] if self._core.is_of_stocks else \
            [(f"key_{word}", "<u8", 8 * word) for word in range(key)]
        names += [("version", "<u8", 8 * key)]
        start = 8 * (key + 1)
        names += [(name, kind, start + at) for name, kind, at in self._fields()]
        dtype = numpy.dtype({"names": [name for name, _, _ in names], "formats": [kind for _, kind, _ in names],
                             "offsets": [at for _, _, at in names], "itemsize": start + 8 * value})
        entries = self._core._entries().view(dtype)
        if self._core.is_of_stocks:
            entries["symbol"] = numpy.char.rstrip(entries["symbol"])
        return entries

    def df(self) -> pandas.DataFrame:
        """The same as pandas."""
        entries = self.numpy()
        return _needed("pandas").DataFrame({name: entries[name].tolist() if entries[name].ndim > 1 else entries[name]
                                            for name in entries.dtype.names})

    def get(self, key: str | int | Iterable[int], publisher: int = 2) -> numpy.void | None:
        """The value of a key, or None: a symbol in a map of stocks, otherwise the words of the key."""
        if isinstance(key, str):
            if not self._core.is_of_stocks:
                raise TypeError(f"keys of this map are {self._core.words[0]} numbers, not {key!r}")
            words = self._core._stock_key(_number("publisher", publisher, 0, 2**16 - 1), key)
        else:
            words = list(key) if isinstance(key, (tuple, list, numpy.ndarray)) else [key]
            for word in words:
                if not _is_whole(word) or not 0 <= word < 2**64:
                    raise TypeError(f"{key!r}: expected a symbol, a number from 0 to 2**64 - 1, or several of them")
        found = self._core._get([int(word) for word in words])
        if found is None:
            return None
        fields = self._fields()
        dtype = numpy.dtype({"names": [name for name, _, _ in fields], "formats": [kind for _, kind, _ in fields],
                             "offsets": [at for _, _, at in fields], "itemsize": 8 * self._core.words[1]})
        return numpy.frombuffer(found[1], dtype)[0]

    def __getitem__(self, key: str | int | Iterable[int]) -> numpy.void:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a map has no order: numpy() has all of its entries")

    def __contains__(self, key: str | int | Iterable[int]) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return len(self._core)

    def _fields(self) -> list[tuple[str, Any, int]]:
        fields = [(name, kind if count is None else (kind, count), at) for name, kind, at, count in self._core.fields]
        return fields or [(f"value_{word}", "<u8", 8 * word) for word in range(self._core.words[1])]


def latest(name: _Path, *, schema: _Path | None = None) -> Latest:
    """Opens a map of the latest values by its name or path: ``nt.latest("quotes")["AAPL"]["bid_price"]``.

    A map of ``nanotape run --latest`` has the state of each stock; its fields are those of
    docs/formats/stock-state.md. ``schema`` is the file of another kind of value.
    """
    text = None
    if schema is not None:
        with io.open(schema, encoding="utf-8") as file:
            text = (os.fsdecode(schema), file.read())
    return Latest(_core.Latest(os.fsdecode(name), text))


_SERVICE = numpy.dtype([("service_ns", "u8"), ("messages", "u8"), ("delay_p50_ns", "u8"), ("delay_p90_ns", "u8"),
                        ("delay_p99_ns", "u8"), ("delay_p999_ns", "u8"), ("delay_p9999_ns", "u8"),
                        ("largest_delay_ns", "u8"), ("largest_queue", "u8"), ("catch_up_ns", "u8"),
                        ("overloaded_windows", "u8")])


def queue(arrivals: Any, service: Any = None, *, window: Any = "1ms") -> numpy.ndarray:
    """How late messages are if a receiver takes a constant time for each, one after the other.

    ``arrivals`` are times in ns since 1970 or numpy.datetime64, in order, such as ``rows["ts_recv"]``.
    ``service`` is a time (``"300ns"``, or a number of ns) or a list of them; without it, 60 times from 100 ns to
    100 us. Each has a row: quantiles of the delay, which are at most 0.8% too high, and the exact largest delay
    and queue.
    """
    one = (str, int, numpy.integer, datetime.timedelta, numpy.timedelta64)
    services = [] if service is None else [service] if isinstance(service, one) else list(service)
    if service is not None and not services:
        raise ValueError("service is empty: pass None for 60 times from 100 ns to 100 us")
    services_ns = [_number("service", value, 1, 2**63 - 1) if _is_whole(value) else _period(value, "service", 1)
                   for value in services]
    times = _times(arrivals, "arrivals").astype("u8")
    found = _core.queue(times, services_ns, _period(window, "window", 1))
    rows = [(first, messages, *quantiles, *rest) for first, messages, quantiles, *rest in found]
    return numpy.array(rows, _SERVICE)


class Delay(NamedTuple):
    """How much later a second feed is, with the interval that has it with 95%: see :func:`delay`."""

    delay_ns: float
    low_ns: float
    high_ns: float
    #: Changes that match.
    support: int
    #: Windows with an estimate, of all with changes.
    estimated_windows: int
    windows: int


def delay(first: Any, second: Any, *, max_lag: Any = "2ms", window: Any = "10s") -> Delay:
    """How much later the second feed shows the values that the first one shows; negative if it is earlier.

    Each feed is a pair of arrays, times and whole numbers (``(rows["ts_recv"], rows["bid_size"])``), or rows of
    the best prices of one stock, whose values are prices and sizes together. ``nanotape lab delay`` has
    other estimators, several stocks, and the delay over time.
    """
    pairs = [_changes(feed, argument) for feed, argument in [(first, "first"), (second, "second")]]
    return Delay(*_core.delay(*pairs, _period(max_lag, "max_lag", 1), _period(window, "window", 1)))


def _changes(feed: Any, argument: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Times and values of a feed."""
    if isinstance(feed, Rows):
        feed = feed.numpy()
    if isinstance(feed, numpy.ndarray) and feed.dtype.names and "bid_price" in feed.dtype.names:
        if len(set(feed["symbol"].tolist())) > 1:
            raise ValueError(f"{argument} has several stocks: select one of them")
        # The order does not matter, only that other prices and sizes have another number.
        value = numpy.zeros(len(feed), "u8")
        for column in ["bid_price", "bid_size", "ask_price", "ask_size"]:
            value = (value ^ feed[column].astype("u8")) * numpy.uint64(0x9E3779B97F4A7C15)
            value ^= value >> numpy.uint64(29)
        return _times(feed["ts_recv" if "ts_recv" in feed.dtype.names else "ts_event"], argument), value.view("i8")
    try:
        times, values = feed
    except (TypeError, ValueError):
        raise TypeError(f"{argument}: expected rows of bbo() of one stock, or a pair of times and values") from None
    values = numpy.asarray(values)
    if values.dtype.kind not in "iu":
        raise TypeError(f"{argument}: expected whole numbers as values, not {values.dtype}: prices=\"fixed\" has them")
    return _times(times, argument), numpy.ascontiguousarray(values.astype("i8"))


def _times(times: Any, argument: str) -> numpy.ndarray:
    """Nanoseconds since 1970."""
    times = numpy.asarray(times)
    if times.ndim != 1:
        raise ValueError(f"{argument}: expected one column of times, not an array of {times.ndim} dimensions")
    if times.dtype.kind == "M":
        times = times.astype("M8[ns]")
    elif times.dtype.kind not in "iu" and len(times):
        raise TypeError(f"{argument}: expected times as datetime64 or as ns since 1970, not {times.dtype}")
    times = numpy.ascontiguousarray(times.astype("i8"))
    if (times < 0).any():
        raise ValueError(f"{argument}[{(times < 0).argmax()}]: no time, or one before 1970: leave it out")
    return times


class DayResult(NamedTuple):
    """What became of a day of ``many``."""

    #: The path of the day.
    input: str
    #: ``written``, ``exists``, ``damaged, written``, ``damaged, exists`` or ``failed``.
    result: str
    seconds: float
    #: Why it is not whole; empty for a good one.
    detail: str


def many(days: _Path | Iterable[_Path], to: _Path,
         tables: Iterable[str] | str = ("bbo", "trades"), *, engine: Any = None,
         symbols: Iterable[str] | str | None = None, options: Iterable[str] = ()) -> list[DayResult]:
    """Writes the tables of many days as one Parquet dataset: ``TO/TABLE/date=YYYY-MM-DD/NAME.parquet``.

    ``days``: a folder, or paths. ``engine``: an executor of ``concurrent.futures``, the module ``ray`` after
    ``ray.init()``, or a ``dask.distributed.Client``; by default threads for half of the processors. A task
    is one day, and a process of its own. A day that fails ends no other. A day whose files exist is left
    out. ``options``: more of the command line of ``nanotape export``, such as ``["--levels", "5"]``.
    """
    if isinstance(options, (str, bytes)):
        raise TypeError(f"options={options!r}: expected a list of words, such as [\"--levels\", \"5\"]")
    if isinstance(days, (str, bytes, os.PathLike)):
        days = _core.days_in(os.fsdecode(days))
    words = ["--records", tables if isinstance(tables, str) else ",".join(tables), "-o", os.fsdecode(to)]
    if chosen := _symbols(symbols):
        words += ["--symbols", ",".join(chosen)]
    options = list(options)
    tasks = [(os.fsdecode(day), [*words, *options]) for day in days]
    _core.require_distinct_days([day for day, _ in tasks], any(str(word).startswith("--date") for word in options))
    if engine is None:
        return _on_threads(tasks)
    if hasattr(engine, "remote") and hasattr(engine, "get"):
        remote = engine.remote(_export_day)
        waiting = [remote.remote(*task) for task in tasks]
        return [_result_of(day, lambda: engine.get([one])[0]) for (day, _), one in zip(tasks, waiting)]
    if hasattr(engine, "submit") and not isinstance(engine, type):
        waiting = [engine.submit(_export_day, *task) for task in tasks]
        return [_result_of(day, one.result) for (day, _), one in zip(tasks, waiting)]
    raise TypeError(f"engine={engine!r}: expected an executor, the module ray, or a client of dask")


def _on_threads(tasks: list[tuple[str, list[str]]]) -> list[DayResult]:
    """The tasks on threads of this process. Ctrl-C ends the days that are under way."""
    running: set[subprocess.Popen[str]] = set()
    threads = futures.ThreadPoolExecutor(max((os.cpu_count() or 2) // 2, 1))
    try:
        waiting = [threads.submit(_export_day, *task, running) for task in tasks]
        return [one.result() for one in waiting]
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        for process in list(running):
            process.terminate()
        raise
    finally:
        threads.shutdown()


def _result_of(day: str, result: Callable[[], DayResult]) -> DayResult:
    """The result of a task, whose worker can have died."""
    try:
        return result()
    except Exception as error:
        return DayResult(day, "failed", 0.0, f"{type(error).__name__}: {error}")


def _export_day(day: str, words: list[str], running: set[subprocess.Popen[str]] | None = None) -> DayResult:
    """The task of one day, in any process of any machine that has this package."""
    program = os.path.join(sysconfig.get_path("scripts"), "nanotape-export")
    began = time.monotonic()
    running = set() if running is None else running
    with subprocess.Popen([program, "--of-a-day", *words, "--", day], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        running.add(process)
        text = process.communicate()[1]
        running.discard(process)
    status = process.returncode
    lines = [line.removeprefix("nanotape: ") for line in text.splitlines()]
    own = [line for line in lines if not line.startswith(_TABLES)]
    wrote, exists = len(own) < len(lines), any(line.startswith("its files exist") for line in own)
    result = {(0, "written"): "written", (0, "exists"): "exists", (1, "written"): "damaged, written",
              (1, "exists"): "damaged, exists"}.get(
        (status, "written" if wrote else "exists" if exists else ""), "failed")
    detail = ""
    if result == "failed":
        # The line of an error: that of wrong words has others behind it, and so has that of a panic.
        of_words = [line for line in own if line.startswith("error: ")]
        others = [line for line in own if not line.startswith("note: ")]
        detail = (of_words[:1] or others[-1:] or [f"ended with status {status}"])[0]
    elif result.startswith("damaged"):
        detail = own[0]
    return DayResult(day, result, time.monotonic() - began, detail)


_PRICES = ("fixed", "decimal", "float")


_HEADER = [("length", "u1"), ("rtype", "u1"), ("publisher_id", "<u2"), ("instrument_id", "<u4"), ("ts_event", "<u8")]
_TRADE = [*_HEADER, ("price", "<i8"), ("size", "<u4"), ("action", "S1"), ("side", "S1"), ("flags", "u1"),
          ("depth", "u1"), ("ts_recv", "<u8"), ("ts_in_delta", "<i4"), ("sequence", "<u4")]

#: The fields of records, as Databento's package names them.
_RECORDS = {
    "mbo": numpy.dtype([*_HEADER, ("order_id", "<u8"), ("price", "<i8"), ("size", "<u4"), ("flags", "u1"),
                        ("channel_id", "u1"), ("action", "S1"), ("side", "S1"), ("ts_recv", "<u8"),
                        ("ts_in_delta", "<i4"), ("sequence", "<u4")]),
    "bbo": numpy.dtype([*_TRADE, ("bid_px_00", "<i8"), ("ask_px_00", "<i8"), ("bid_sz_00", "<u4"),
                        ("ask_sz_00", "<u4"), ("bid_ct_00", "<u4"), ("ask_ct_00", "<u4")]),
    "trades": numpy.dtype(_TRADE),
}
_RTYPES = {"mbo": 0xA0, "bbo": 0x01, "trades": 0x00}


def _mapped(path: str, dtype: numpy.dtype, rtype: int) -> numpy.ndarray | None:
    """The records of a DBN file in its own memory; None if it is compressed, or has other records too."""
    with io.open(path, "rb") as file:
        head = file.read(8)
    size = os.path.getsize(path)
    start = 8 + int.from_bytes(head[4:], "little")
    if head[:3] != b"DBN" or (size - start) % dtype.itemsize or size <= start:
        return None
    records = numpy.memmap(path, dtype, "r", start)
    is_of_kind = (records["length"] == dtype.itemsize // 4).all() and (records["rtype"] == rtype).all()
    return records if is_of_kind else None


def _one_of(argument: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise ValueError(f"{argument}={value!r}: expected {', '.join(map(repr, allowed))}")
    return value


def _is_whole(value: Any) -> bool:
    """Whether it is a whole number of Python or numpy, of which a period is one in numpy's view."""
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, (bool, numpy.timedelta64))


def _number(argument: str, value: Any, least: int, most: int) -> int:
    if not _is_whole(value) or not least <= value <= most:
        raise ValueError(f"{argument}={value!r}: expected a number from {least} to {most}")
    return int(value)


def _seconds(argument: str, value: Any) -> float:
    if not isinstance(value, (int, float, numpy.number)) or not value >= 0:
        raise ValueError(f"{argument}={value!r}: expected a number of seconds")
    return float(value)


#: How lines about tables that were written begin.
_TABLES = tuple(f"{table}: " for table in
                ["bbo", "trades", "mbo", "depth", "bars", "status", "definitions", "imbalance"])


def _needed(module: str) -> Any:
    """A package that only some methods need."""
    try:
        return __import__(module)
    except ImportError as error:
        raise ImportError(f"this needs the package {module}: pip install {module}") from error


def _symbols(symbols: Iterable[str] | str | None) -> list[str]:
    if symbols is None:
        return []
    if isinstance(symbols, str):
        symbols = symbols.split(",")
    try:
        listed = list(symbols)
    except TypeError:
        raise TypeError(f"symbols={symbols!r}: expected symbols such as [\"AAPL\", \"BRK*\"]") from None
    for symbol in listed:
        if not isinstance(symbol, str):
            raise TypeError(f"symbols has {symbol!r}, which is no text: expected symbols such as \"AAPL\"")
    if not listed:
        raise ValueError("symbols is empty: pass None for all stocks")
    return listed


def _moment(moment: Any) -> str | None:
    """A moment in the words of the command line: a time of day, or @ and ns since 1970."""
    if moment is None or isinstance(moment, str):
        return moment
    if _is_whole(moment) and moment >= 0:
        return f"@{moment}"
    if isinstance(moment, numpy.datetime64) and not numpy.isnat(moment):
        return f"@{moment.astype('M8[ns]').astype('i8')}"
    if isinstance(moment, datetime.time):
        return moment.isoformat()
    if isinstance(moment, datetime.datetime):
        if moment.tzinfo is None:
            raise ValueError(f"{moment!r} has no time zone: pass one, or a time of day such as \"09:30\"")
        # The nanoseconds of a pandas.Timestamp.
        micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
        return f"@{micros * 1000 + getattr(moment, 'nanosecond', 0)}"
    raise TypeError(f"{moment!r} is no moment: pass \"09:30\", ns since 1970, or a datetime with a time zone")


_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


def _period(period: Any, argument: str, least_ns: int = 1000) -> int:
    """Nanoseconds of a period."""
    if isinstance(period, datetime.timedelta):
        nanos = period // datetime.timedelta(microseconds=1) * 1000
    elif isinstance(period, numpy.timedelta64):
        nanos = int(period.astype("m8[ns]").astype("i8"))
    else:
        found = re.fullmatch(r"(\d+)\s*(ns|us|ms|s|min|m|h)", str(period))
        if found is None:
            raise ValueError(f"{argument}={period!r}: expected a period such as \"1s\" or \"100ms\"")
        nanos = int(found[1]) * _UNITS[found[2]]
    if nanos < least_ns:
        raise ValueError(f"{argument}={period!r}: expected at least {'1us' if least_ns == 1000 else f'{least_ns}ns'}")
    return nanos


def _bar(by: Any) -> tuple[str, int]:
    """What completes a bar."""
    found = re.fullmatch(r"(\d+)\s*(trades|shares)", str(by))
    if found is None:
        return ("time", _period(by, "by"))
    return (found[2], _number("by", int(found[1]), 1, 2**63))
