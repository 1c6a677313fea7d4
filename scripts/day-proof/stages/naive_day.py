"""Computes from a day, byte by byte and without any of nanotape's code, what some commands write.

usage: naive_day.py trades DAY.itch50 > trades.csv
       naive_day.py lobster DAY.itch50 SYMBOL LEVELS FROM_NS UNTIL_NS MESSAGES.csv ORDERBOOK.csv
       naive_day.py states DAY.itch50 UNTIL_NS STATES.csv [insides]

states compares what `nanotape latest dump` wrote with the day, with UNTIL_NS 0 up to its end: the inside and the
trading state of every stock, and unless only insides are asked for, its trades.

DAY is a plain BinaryFILE day without damage. Books are dictionaries, levels are sorted for every row.
"""

import csv
import struct
import sys
from collections import defaultdict
from decimal import Decimal

NO_PRICE = 9_999_999_999


def messages(path):
    """Yields number, type, time in ns, stock locate and bytes of every message."""
    with open(path, "rb") as file:
        data = file.read()
    at, number = 0, 0
    while at + 2 <= len(data):
        (length,) = struct.unpack_from(">H", data, at)
        if length == 0:
            return
        body = data[at + 2 : at + 2 + length]
        at += 2 + length
        number += 1
        yield number, chr(body[0]), int.from_bytes(body[5:11], "big"), int.from_bytes(body[1:3], "big"), body


class Day:
    """Symbols, live orders and levels, as they are after each message."""

    def __init__(self):
        self.symbols = {}
        self.orders = {}
        self.levels = defaultdict(lambda: defaultdict(int))

    def add(self, locate, reference, side, shares, price):
        self.orders[reference] = [locate, side, shares, price]
        self.levels[locate, side][price] += shares

    def reduce(self, reference, shares):
        """Removes shares of an order; returns its locate, side, shares before and price."""
        order = self.orders.get(reference)
        if order is None:
            return None
        before = tuple(order)
        locate, side, left, price = before
        shares = left if shares is None else shares
        level = self.levels[locate, side]
        level[price] -= shares
        if level[price] == 0:
            del level[price]
        order[2] -= shares
        if order[2] == 0:
            del self.orders[reference]
        return before

    def learn(self, kind, locate, body):
        offset = {"R": 11, "H": 11, "A": 24, "F": 24, "P": 24, "Q": 19}.get(kind)
        if offset and (kind == "R" or locate not in self.symbols):
            self.symbols[locate] = body[offset : offset + 8].decode().rstrip()

    def row(self, locate, count):
        """The first levels of both sides, as LOBSTER has them."""
        asks = sorted(self.levels[locate, "S"].items())
        bids = sorted(self.levels[locate, "B"].items(), reverse=True)
        cells = []
        for level in range(count):
            cells += asks[level] if level < len(asks) else (NO_PRICE, 0)
            cells += bids[level] if level < len(bids) else (-NO_PRICE, 0)
        return ",".join(map(str, cells))


def number(body, first, length):
    return int.from_bytes(body[first : first + length], "big")


def price_text(price):
    return f"{price // 10_000}.{price % 10_000:04}"


def trades(path):
    broken = {number(body, 11, 8) for _, kind, _, _, body in messages(path) if kind == "B"}
    day = Day()
    print("message,ts_ns,symbol,kind,price,size,aggressor,order_reference_number,match_number,broken")
    for count, kind, time, locate, body in messages(path):
        day.learn(kind, locate, body)
        row = None
        if kind in "AF":
            reference, side = number(body, 11, 8), chr(body[19])
            day.add(locate, reference, side, number(body, 20, 4), number(body, 32, 4))
        elif kind in "EC":
            reference, shares, match = number(body, 11, 8), number(body, 19, 4), number(body, 23, 8)
            before = day.reduce(reference, shares)
            price, aggressor = "", ""
            if before:
                price, aggressor = before[3], "sell" if before[1] == "B" else "buy"
            if kind == "C":
                price = number(body, 32, 4)
            if kind == "E" or body[31] == ord("Y"):
                price = price_text(price) if price != "" else ""
                row = ("execution", price, shares, aggressor, reference, match)
        elif kind == "X":
            day.reduce(number(body, 11, 8), number(body, 19, 4))
        elif kind == "D":
            day.reduce(number(body, 11, 8), None)
        elif kind == "U":
            before = day.reduce(number(body, 11, 8), None)
            if before:
                day.add(before[0], number(body, 19, 8), before[1], number(body, 27, 4), number(body, 31, 4))
        elif kind == "P":
            row = ("hidden", price_text(number(body, 32, 4)), number(body, 20, 4), "", "", number(body, 36, 8))
        elif kind == "Q" and number(body, 11, 8) > 0:
            row = ("cross", price_text(number(body, 27, 4)), number(body, 11, 8), "", "", number(body, 31, 8))
        if row:
            is_broken = "true" if row[-1] in broken else "false"
            symbol = day.symbols.get(locate, f"#{locate}")
            print(count, time, symbol, *row, is_broken, sep=",")


def lobster(path, symbol, levels, begin, end, messages_path, orderbook_path):
    day = Day()
    last, halt = None, None
    with open(messages_path, "w") as message_file, open(orderbook_path, "w") as book_file:

        def write(time, kind, reference, shares, price, direction):
            nonlocal last
            if time < begin:
                return
            row = day.row(wanted, levels)
            if row != last or kind >= 5:
                seconds, rest = divmod(time, 1_000_000_000)
                message_file.write(f"{seconds}.{rest:09},{kind},{reference},{shares},{price},{direction}\n")
                book_file.write(row + "\n")
            last = row

        wanted, has_begun = None, begin == 0
        for _, kind, time, locate, body in messages(path):
            if time >= end:
                break
            day.learn(kind, locate, body)
            if wanted is None and day.symbols.get(locate) == symbol:
                wanted = locate
            if not has_begun and time >= begin:
                has_begun, last = True, day.row(wanted, levels) if wanted else None
            direction = lambda side: 1 if side == "B" else -1
            is_own = locate == wanted
            if kind in "AF":
                reference, side = number(body, 11, 8), chr(body[19])
                shares, price = number(body, 20, 4), number(body, 32, 4)
                day.add(locate, reference, side, shares, price)
                if is_own:
                    write(time, 1, reference, shares, price, direction(side))
            elif kind in "ECX":
                reference, shares = number(body, 11, 8), number(body, 19, 4)
                before = day.reduce(reference, shares)
                if before and is_own:
                    _, side, left, price = before
                    price = number(body, 32, 4) if kind == "C" else price
                    event = 4 if kind != "X" else 3 if shares == left else 2
                    write(time, event, reference, shares, price, direction(side))
            elif kind in "DU":
                reference = number(body, 11, 8)
                before = day.reduce(reference, None)
                if before and is_own:
                    _, side, left, price = before
                    write(time, 3, reference, left, price, direction(side))
                if before and kind == "U":
                    reference, shares, price = number(body, 19, 8), number(body, 27, 4), number(body, 31, 4)
                    day.add(before[0], reference, before[1], shares, price)
                    if is_own:
                        write(time, 1, reference, shares, price, direction(before[1]))
            elif kind == "P" and is_own:
                write(time, 5, 0, number(body, 20, 4), number(body, 32, 4), 1)
            elif kind == "Q" and is_own and number(body, 11, 8) > 0:
                write(time, 6, 0, number(body, 11, 8), number(body, 27, 4), -1)
            elif kind == "H" and is_own:
                state = {"H": -1, "P": -1, "Q": 0}.get(chr(body[19]))
                if state != halt and time >= begin:
                    write(time, 7, 0, 0, 1 if state is None else state, -1)
                if time >= begin:
                    halt = state


class Trades:
    """The trades of a stock, in the order of the day."""

    def __init__(self):
        self.prices = []
        self.sizes = []

    def add(self, price, size):
        self.prices.append(Decimal(price) / 10_000)
        self.sizes.append(size)

    def columns(self):
        notional = sum(price * size for price, size in zip(self.prices, self.sizes))
        none = [None] * 5
        some = [self.prices[-1], self.sizes[-1], self.prices[0], max(self.prices), min(self.prices)] if self.prices else none
        names = ["last_price", "last_size", "open_price", "high_price", "low_price", "volume", "trades", "notional"]
        return dict(zip(names, some + [sum(self.sizes), len(self.sizes), notional * 10**9]))


def states(path, until, dump, what):
    day, traded, trading, numbers = Day(), defaultdict(Trades), {}, set()
    for _, kind, time, locate, body in messages(path):
        if until and time >= until:
            break
        day.learn(kind, locate, body)
        if kind == "R":
            numbers.add(locate)
        elif kind == "H":
            trading[locate] = "Y" if chr(body[19]) == "T" else "N"
        elif kind in "AF":
            reference, side = number(body, 11, 8), chr(body[19])
            day.add(locate, reference, side, number(body, 20, 4), number(body, 32, 4))
        elif kind in "EC":
            before = day.reduce(number(body, 11, 8), number(body, 19, 4))
            if kind == "E":
                traded[locate].add(before[3], number(body, 19, 4))
            elif body[31] == ord("Y"):
                traded[locate].add(number(body, 32, 4), number(body, 19, 4))
        elif kind == "X":
            day.reduce(number(body, 11, 8), number(body, 19, 4))
        elif kind == "D":
            day.reduce(number(body, 11, 8), None)
        elif kind == "U":
            before = day.reduce(number(body, 11, 8), None)
            day.add(before[0], number(body, 19, 8), before[1], number(body, 27, 4), number(body, 31, 4))
        elif kind == "P":
            traded[locate].add(number(body, 32, 4), number(body, 20, 4))
        elif kind == "Q" and number(body, 11, 8) > 0:
            traded[locate].add(number(body, 27, 4), number(body, 11, 8))
    with open(dump) as file:
        rows = {row["symbol"]: row for row in csv.DictReader(line for line in file if not line.startswith("#"))}
    differences, compared = 0, 0
    sums = {"trades": 0, "volume": 0}
    for locate in sorted(numbers):
        symbol = day.symbols[locate]
        expected = {"is_trading": trading.get(locate, "~")}
        for side, name, best in (("B", "bid", max), ("S", "ask", min)):
            levels = day.levels[locate, side]
            price = best(levels) if levels else None
            expected[f"{name}_price"] = None if price is None else Decimal(price) / 10_000
            expected[f"{name}_size"] = levels[price] if levels else 0
        if what != "insides":
            of_stock = traded[locate].columns()
            sums = {name: sums[name] + of_stock[name] for name in sums}
            expected |= of_stock | {"doubts": ""}
        row = rows.get(symbol, {})
        if row:
            row["notional"] = (int(row["notional_high"]) << 64) + int(row["notional_low"])
        for column, value in expected.items():
            found = row.get(column)
            is_same = found == "" if value is None else found == value
            if value is not None and found and not isinstance(value, str):
                is_same = Decimal(found) == value
            compared += 1
            if not is_same:
                differences += 1
                if differences <= 10:
                    print(f"{symbol}: {column} is {found}, expected {value}")
    if what != "insides":
        compared += 2
        for name, value in sums.items():
            if int(rows["*"][name]) != value:
                differences += 1
                print(f"whole market: {name} is {rows['*'][name]}, expected {value}")
    print(f"{len(numbers)} stocks, {compared} figures compared, {differences} differ")
    sys.exit(1 if differences or compared < 100 else 0)


def main():
    command, path = sys.argv[1:3]
    if command == "trades":
        trades(path)
    elif command == "lobster":
        symbol, levels, begin, end, messages_path, orderbook_path = sys.argv[3:]
        lobster(path, symbol, int(levels), int(begin), int(end), messages_path, orderbook_path)
    elif command == "states":
        until, dump, *what = sys.argv[3:]
        states(path, int(until), dump, what[0] if what else "all")
    else:
        sys.exit(__doc__)


main()
