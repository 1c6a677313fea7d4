"""The extension module. Its classes are used through those of the package."""

from typing import Any, Iterator, final

import numpy

__version__: str

class NanotapeError(Exception):
    """The base of all errors of nanotape."""

class InputError(NanotapeError):
    """An input cannot be opened or read, or has not what was chosen of it."""

class IncompleteInput(NanotapeError):
    """A part of an input is missing or damaged, and strict=True was given."""

class Batch:
    """Some rows of a table, which any library that reads Arrow takes without a copy."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...

class Event:
    """Something that is no row: a loss, a report of the plant, a status, a definition, an imbalance."""

    kind: str
    text: str
    sequence: int | None
    last: int | None
    ts_event: int | None
    ts_recv: int | None
    symbol: str | None
    fields: dict[str, Any]

@final
class BatchIterator:
    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...

class Rows:
    columns: list[dict[str, str]]
    _report: tuple[bool, list[str], list[str]] | None
    _name: str
    _prices: str
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def _structured(self) -> tuple[numpy.ndarray, list[tuple[str, str]]]: ...
    def _collected(self, prices: str) -> Collected: ...

@final
class Collected:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Input:
    name: str
    kind: str
    def __init__(self, path: str, date: str | None, run: str | None, groups: list[str],
                 session: str | None, pieces: list[Any], strict: bool) -> None: ...
    def _table(self, table: str, symbols: list[str], start: str | None, end: str | None, prices: str,
               every_ns: int | None, levels: int, bars: tuple[str, int]) -> Rows: ...
    def _stats(self, symbols: list[str], start: str | None, end: str | None, prices: str) -> Rows: ...
    def _book(self, symbols: list[str], at: str | None, levels: int | None, orders: bool,
              prices: str) -> Rows: ...
    _has_run: bool
    def _records(self, kind: str) -> tuple[numpy.ndarray, list[str]]: ...
    def _backtest(self, symbols: list[str], start: str | None, end: str | None, latency_ns: int | None) -> Rows: ...

class Tap:
    end: str | None
    next_sequence: int
    def __init__(self, ring: str, heal: str | None, symbols: list[str], records: str, start: str,
                 wait_seconds: float, heal_wait_seconds: float, prices: str) -> None: ...
    def _next(self, seconds: float) -> Batch | Event | None: ...
    def close(self) -> None: ...

class Latest:
    words: tuple[int, int]
    is_of_stocks: bool
    fields: list[tuple[str, str, int, int | None]]
    def __init__(self, name: str, schema: tuple[str, str] | None) -> None: ...
    def __len__(self) -> int: ...
    def _entries(self) -> numpy.ndarray: ...
    def _get(self, key: list[int]) -> tuple[int, bytes] | None: ...
    @staticmethod
    def _stock_key(publisher: int, symbol: str) -> list[int]: ...

def queue(arrivals_ns: numpy.ndarray, services_ns: list[int], window_ns: int) -> list[Any]: ...
def delay(first: tuple[numpy.ndarray, numpy.ndarray], second: tuple[numpy.ndarray, numpy.ndarray],
          max_lag_ns: int, window_ns: int) -> tuple[float, float, float, int, int, int]: ...
