"""Counts the figures of `nanotape stats` again, naively, and compares every stock and column.

usage: count_stats.py DAY.itch50[.gz] STATS.csv

Keeps every value of every stock in a list and sorts it, so it is for days of some hundred thousand messages.
It follows the definitions in `nanotape stats --help` and the specification of ITCH 5.0, and shares no code with
nanotape. Counts, maxima and minima must be exact, quantiles within the stated precision. Processing times
cannot be counted again: there must be one for each message, and their quantiles must be ascending.
Status 0 if everything agrees.
"""

import csv
import gzip
import math
import sys
from collections import Counter, defaultdict

WIDTHS_NS = {"second": 1_000_000_000, "ms": 1_000_000, "us": 1_000}
QUANTILES = {"p1": 0.01, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p999": 0.999}

# Values below the first number are exact, greater ones at most this share too high.
TIMES = (128, 1 / 64)
COUNTS = (4096, 1 / 2048)

ANOMALIES = ["unknown_reference", "duplicate_reference", "over_execution", "over_cancel", "zero_shares",
             "locate_mismatch", "unknown_side", "missed_messages",
             "price_out_of_range"]

# Offset of the stock in the messages that name one; a directory message has the last word.
STOCK_AT = {"A": 24, "F": 24, "P": 24, "Q": 19, "I": 28, "R": 11, "H": 11, "Y": 11, "L": 15, "K": 11, "J": 11,
            "h": 11, "N": 11, "O": 11}


class Activity:
    """Times of some messages, in order."""

    def __init__(self):
        self.times = []

    def columns(self, prefix):
        for name, width in WIDTHS_NS.items():
            counts = sorted(Counter(time // width for time in self.times).values())
            for column in ("max", "p999", "p99"):
                yield f"{prefix}per_{name}_{column}", counts, COUNTS
        gaps = sorted(after - before for before, after in zip(self.times, self.times[1:]))
        for column in ("p1", "p50", "p99"):
            yield f"{prefix}gap_ns_{column}", gaps, TIMES


class Figures:
    """The figures of a stock, or of all."""

    def __init__(self):
        self.messages, self.inside = Activity(), Activity()
        self.trades = self.volume_shares = 0
        self.depths, self.levels = [], {"B": [], "S": []}
        self.lasted = {"crossed": 0, "locked": 0}
        self.anomalies = Counter()

    def counts(self):
        yield "messages", len(self.messages.times)
        yield "inside_changes", len(self.inside.times)
        yield "trades", self.trades
        yield "volume_shares", self.volume_shares
        yield "crossed_ns", self.lasted["crossed"]
        yield "locked_ns", self.lasted["locked"]
        for kind in ANOMALIES:
            yield kind, self.anomalies[kind]

    def distributions(self):
        yield from self.messages.columns("")
        yield from self.inside.columns("inside_")
        depths = sorted(self.depths)
        for column in ("p25", "p50", "p75", "p90", "p99", "p999"):
            yield f"depth_ticks_{column}", depths, TIMES
        for side, name in (("B", "bid"), ("S", "ask")):
            levels = sorted(self.levels[side])
            for column in ("max", "p99", "p50"):
                yield f"{name}_levels_{column}", levels, COUNTS


class Book:
    """Shares and orders at each price of each side."""

    def __init__(self):
        self.sides = {"B": {}, "S": {}}
        self.condition, self.since = None, 0

    def best(self, side):
        prices = self.sides[side]
        if not prices:
            return None
        price = max(prices) if side == "B" else min(prices)
        return price, prices[price][0]

    def inside(self):
        return self.best("B"), self.best("S")

    def add(self, side, price, shares):
        level = self.sides[side].setdefault(price, [0, 0])
        level[0] += shares
        level[1] += 1

    def take(self, side, price, shares, leaves):
        level = self.sides[side][price]
        level[0] -= shares
        level[1] -= leaves
        if level[1] == 0:
            del self.sides[side][price]


class Day:
    """All books and figures."""

    def __init__(self):
        self.total, self.stocks = Figures(), defaultdict(Figures)
        self.books, self.orders = defaultdict(Book), {}
        self.symbols, self.breakable, self.broken = {}, defaultdict(list), set()
        self.last = 0

    def anomaly(self, locate, kind):
        self.stocks[locate].anomalies[kind] += 1
        self.total.anomalies[kind] += 1

    def trade(self, locate, trades, shares):
        for figures in (self.total, self.stocks[locate]):
            figures.trades += trades
            figures.volume_shares += shares

    def enter(self, locate, reference, side, shares, price):
        if shares == 0:
            self.anomaly(locate, "zero_shares")
        elif reference in self.orders:
            self.anomaly(locate, "duplicate_reference")
        else:
            self.orders[reference] = [locate, side, price, shares]
            self.books[locate].add(side, price, shares)

    def take(self, reference, shares, named, over):
        locate, side, price, had = order = self.orders[reference]
        taken = had if shares is None else min(shares, had)
        order[3] -= taken
        if order[3] == 0:
            del self.orders[reference]
        self.books[locate].take(side, price, taken, order[3] == 0)
        if locate != named:
            self.anomaly(locate, "locate_mismatch")
        elif over and shares > had:
            self.anomaly(locate, over)

    def message(self, m):
        kind, named, time = chr(m[0]), number(m, 1, 2), number(m, 5, 6)
        self.last, locate, depth, changed = time, named, None, False
        if kind in "AFECXDU":
            locate, depth, changed = self.about_book(m, kind, named, time)
        if kind in STOCK_AT and named and (kind == "R" or named not in self.symbols):
            self.symbols[named] = m[STOCK_AT[kind]:STOCK_AT[kind] + 8].decode().rstrip()
        for figures in (self.total, self.stocks[locate]) if kind in "AFECXDU" or locate else (self.total,):
            figures.messages.times.append(time)
            if changed:
                figures.inside.times.append(time)
            if depth is not None:
                figures.depths.append(depth)
            if kind in "AFECXDU":
                for side, levels in figures.levels.items():
                    levels.append(len(self.books[locate].sides[side]))
        self.volume(m, kind, locate)

    def about_book(self, m, kind, named, time):
        """Applies a message; returns its stock, its depth and whether the inside changed."""
        reference, depth = number(m, 11, 8), None
        order = None if kind in "AF" else self.orders.get(reference)
        locate = order[0] if order else named
        book = self.books[locate]
        before = book.inside()
        if kind in "AF":
            side, shares, price = chr(m[19]), number(m, 20, 4), number(m, 32, 4)
            if side not in book.sides:
                self.anomaly(locate, "unknown_side")
            else:
                depth = ticks(book, side, price)
                self.enter(locate, reference, side, shares, price)
        elif not order:
            self.anomaly(locate, "unknown_reference")
        elif kind == "U":
            side, price = order[1], number(m, 31, 4)
            depth = ticks(book, side, price)
            self.take(reference, None, named, None)
            self.enter(locate, number(m, 19, 8), side, number(m, 27, 4), price)
        else:
            depth = ticks(book, order[1], order[2])
            shares = None if kind == "D" else number(m, 19, 4)
            self.take(reference, shares, named, {"D": None, "X": "over_cancel"}.get(kind, "over_execution"))
        changed = book.inside() != before
        if changed:
            self.condition(locate, time)
        return locate, depth, changed

    def condition(self, locate, time):
        book = self.books[locate]
        bid, ask = book.inside()
        if book.condition:
            for figures in (self.total, self.stocks[locate]):
                figures.lasted[book.condition] += time - book.since
        book.condition, book.since = None, time
        if bid and ask and bid[0] >= ask[0]:
            book.condition = "locked" if bid[0] == ask[0] else "crossed"

    def volume(self, m, kind, locate):
        if kind == "E" or kind == "C" and m[31:32] == b"Y":
            match, shares = number(m, 23, 8), number(m, 19, 4)
        elif kind == "P":
            match, shares = number(m, 36, 8), number(m, 20, 4)
        elif kind == "Q":
            match, shares = number(m, 31, 8), number(m, 11, 8)
        elif kind == "B":
            match = number(m, 11, 8)
            self.broken.add(match)
            for locate, shares in self.breakable.pop(match, ()):
                self.trade(locate, -1, -shares)
            return
        else:
            return
        if kind in "EC" or shares:
            if match not in self.broken:
                self.breakable[match].append((locate, shares))
                self.trade(locate, 1, shares)

    def finish(self):
        for locate, book in self.books.items():
            if book.condition:
                self.condition(locate, self.last)


def number(m, start, length):
    return int.from_bytes(m[start:start + length], "big")


def ticks(book, side, price):
    best = book.best(side)
    return (abs(best[0] - price) + 50) // 100 if best else 0


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        while (head := file.read(2)) and (length := int.from_bytes(head, "big")):
            yield file.read(length)


def agrees(name, said, values, precision):
    """Whether a cell is the quantile of its name of the sorted values."""
    if not values:
        return said == ""
    column = name.rsplit("_", 1)[1]
    if column == "max":
        return said == str(values[-1])
    true = values[max(math.ceil(QUANTILES[column] * len(values)), 1) - 1]
    exact_below, share = precision
    return true <= int(said) <= (true if true < exact_below else true * (1 + share))


def processing(row, prefix, count):
    """Whether the processing times of a row can be right."""
    cells = [row[f"{prefix}process_ns_{column}"] for column in ("p50", "p90", "p99", "p999", "max")]
    numbers = [int(cell) for cell in cells if cell]
    return len(numbers) == (len(cells) if count else 0) and numbers == sorted(numbers)


def main():
    path, stats = sys.argv[1:]
    day = Day()
    for message in read(path):
        day.message(message)
    day.finish()

    expected = {day.symbols.get(locate, f"#{locate}"): figures for locate, figures in day.stocks.items()}
    expected["*"] = day.total
    with open(stats, newline="") as file:
        rows = {row["symbol"]: row for row in csv.DictReader(file)}
    wrong, cells = [], 0
    for symbol in expected.keys() ^ rows.keys():
        wrong.append(f"{symbol}: only in {'the day' if symbol in expected else stats}")
    for symbol in expected.keys() & rows.keys():
        row, figures = dict(rows[symbol]), expected[symbol]
        for name, value in figures.counts():
            if row.pop(name) != str(value):
                wrong.append(f"{symbol} {name}: {rows[symbol][name]} is not {value}")
            cells += 1
        for name, values, precision in figures.distributions():
            if not agrees(name, said := row.pop(name), values, precision):
                wrong.append(f"{symbol} {name}: {said} is wrong")
            cells += 1
        for prefix, activity in (("", figures.messages), ("inside_", figures.inside)):
            if not processing(row, prefix, len(activity.times)):
                wrong.append(f"{symbol} {prefix}process_ns_*: not ascending, or not there")
            for column in ("p50", "p90", "p99", "p999", "max"):
                del row[f"{prefix}process_ns_{column}"]
                cells += 1
        if row.keys() != {"symbol"}:
            wrong.append(f"{symbol}: columns that are not checked: {sorted(row.keys() - {'symbol'})}")
    print(*wrong[:20], sep="\n", end="\n" if wrong else "")
    print(f"{path.rsplit('/', 1)[-1]}: {len(day.total.messages.times)} messages, {len(rows)} rows, {cells} cells, "
          f"{len(wrong)} wrong")
    return int(bool(wrong) or not cells)


if __name__ == "__main__":
    sys.exit(main())
