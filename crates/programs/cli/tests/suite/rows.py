"""The rows of `nanotape inside`, `depth`, `trades` and `book` of a day, computed from the specification alone.

Written without the program's source, and as simply as possible: books are dictionaries, and every row is made from
them. Usage: rows.py DAY inside|depth|trades|book
"""

import struct
import sys

# Bytes of each message type, and the offset of the stock in those that name one.
LENGTHS = dict(S=12, R=39, H=25, Y=20, L=26, V=35, W=12, K=28, J=35, h=21, A=36, F=40, E=31, C=36, X=23, D=19, U=35,
               P=44, Q=40, B=19, I=50, N=20, O=48)
STOCKS = dict(R=11, H=11, Y=11, L=15, K=11, J=11, h=11, A=24, F=24, P=24, Q=19, I=28, N=11, O=11)
LEVELS = 3


def messages(content):
    at = number = 0
    while at + 2 <= len(content):
        length, = struct.unpack_from(">H", content, at)
        if length == 0 or at + 2 + length > len(content):
            return
        number += 1
        message = content[at + 2:at + 2 + length]
        if LENGTHS.get(chr(message[0])) == length:
            yield number, chr(message[0]), message
        at += 2 + length


class Books:
    def __init__(self):
        self.names = {}
        self.orders = {}  # reference: [locate, side, price, shares]
        self.sides = {}  # (locate, side): {price: {reference: shares}}

    def enter(self, reference, locate, side, price, shares):
        if reference not in self.orders and shares > 0:
            self.orders[reference] = [locate, side, price, shares]
            self.sides.setdefault((locate, side), {}).setdefault(price, {})[reference] = shares

    def reduce(self, reference, shares):
        locate, side, price, left = order = self.orders[reference]
        order[3] = left - min(shares, left)
        level = self.sides[locate, side][price]
        if order[3] > 0:
            level[reference] = order[3]
            return
        del level[reference], self.orders[reference]
        if not level:
            del self.sides[locate, side][price]

    def levels(self, locate, side):
        """Price, shares and number of orders of each level, from the best price."""
        found = self.sides.get((locate, side), {})
        prices = sorted(found, reverse=side == "B")
        return [(price, sum(found[price].values()), len(found[price])) for price in prices]

    def apply(self, kind, message):
        """The stock whose book the message is about, and the trade that it prints, if it does."""
        locate, = struct.unpack_from(">H", message, 1)
        if kind in STOCKS and (kind == "R" or locate not in self.names):
            self.names[locate] = message[STOCKS[kind]:][:8].decode("ascii").rstrip()
        if kind in "AF":
            reference, side, shares, _, price = struct.unpack_from(">QcI8sI", message, 11)
            self.enter(reference, locate, side.decode(), price, shares)
        elif kind in "EC":
            reference, shares, match = struct.unpack_from(">QIQ", message, 11)
            is_printed, own = True, None
            if kind == "C":
                is_printed, own = message[31:32] == b"Y", struct.unpack_from(">I", message, 32)[0]
            aggressor = None
            if reference in self.orders:
                locate, side, price, _ = self.orders[reference]
                own, aggressor = price if own is None else own, "sell" if side == "B" else "buy"
                self.reduce(reference, shares)
            if is_printed:
                return locate, ("execution", own, shares, aggressor, reference, match)
        elif kind in "XD":
            reference, = struct.unpack_from(">Q", message, 11)
            if reference in self.orders:
                locate = self.orders[reference][0]
                self.reduce(reference, struct.unpack_from(">I", message, 19)[0] if kind == "X" else 1 << 32)
        elif kind == "U":
            original, new, shares, price = struct.unpack_from(">QQII", message, 11)
            if original in self.orders:
                locate, side = self.orders[original][:2]
                self.reduce(original, 1 << 32)
                self.enter(new, locate, side, price, shares)
        elif kind == "P":
            shares, _, price, match = struct.unpack_from(">I8sIQ", message, 20)
            if shares:
                return locate, ("hidden", price, shares, None, None, match)
        elif kind == "Q":
            shares, _, price, match = struct.unpack_from(">Q8sIQ", message, 11)
            if shares:
                return locate, ("cross", price, shares, None, None, match)
        return locate, None


def price_text(price):
    return "" if price is None else f"{price // 10_000}.{price % 10_000:04}"


def rows(content, table):
    books, last = Books(), {}
    broken = {struct.unpack_from(">Q", message, 11)[0] for _, kind, message in messages(content) if kind == "B"}
    for number, kind, message in messages(content):
        locate, trade = books.apply(kind, message)
        time = int.from_bytes(message[5:11], "big")
        name = books.names.get(locate) or f"#{locate}"
        bids, asks = books.levels(locate, "B"), books.levels(locate, "S")
        if table == "trades" and trade:
            what, price, shares, aggressor, reference, match = trade
            is_broken = "true" if match in broken else "false"
            yield number, time, name, what, price_text(price), shares, aggressor, reference, match, is_broken
        if kind not in "AFECXDU":
            continue
        if table == "inside":
            inside = [side[0][:2] if side else (None, None) for side in (bids, asks)]
            if inside != last.get(locate, [(None, None)] * 2):
                yield time, name, *(cell for price, shares in inside for cell in (price_text(price), shares))
            last[locate] = inside
        if table == "depth":
            cells = []
            for level in range(LEVELS):
                for side in (asks, bids):
                    price, shares, _ = side[level] if level < len(side) else (None, None, None)
                    cells += [price_text(price), shares]
            yield number, time, name, *cells
    if table == "book":
        for locate, name in sorted(books.names.items(), key=lambda item: item[1]):
            for side, quote in (("B", "bid"), ("S", "ask")):
                for price, shares, orders in books.levels(locate, side):
                    yield name, quote, price_text(price), shares, orders


with open(sys.argv[1], "rb") as day:
    for row in rows(day.read(), sys.argv[2]):
        print(",".join("" if cell is None else str(cell) for cell in row))
