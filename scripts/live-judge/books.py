"""The naive books of the judge: what the plant's records are compared with, and what snapshots are made from.

`Books` follows the specification "Nasdaq TotalView-ITCH 5.0", one message at a time. A message that does not fit has no
effect, except that an execution or cancel of too many shares removes the order.
"""
import struct

from market import add_order, kind_of, nanos_of, stock_locate_of


class Books:
    """All live orders, in the order in which they entered, and the shares at each price."""

    def __init__(self, messages=()):
        self.orders = {}  # reference -> [stock locate, side, shares, price]
        self.levels = {}  # (stock locate, side) -> {price: shares}
        self.system_events = []
        self.definitions = {}  # stock locate -> message
        self.states = {}  # (type, stock locate) -> message
        self.nanos = 0
        for message in messages:
            self.apply(message)

    def apply(self, message):
        kind, stock = kind_of(message), stock_locate_of(message)
        self.nanos = nanos_of(message)
        if kind in "AF":
            reference, side, shares, _, price = struct.unpack(">QcI8sI", message[11:36])
            if reference not in self.orders:
                self.enter(reference, stock, side, shares, price)
        elif kind in "ECX":
            self.reduce(*struct.unpack(">QI", message[11:23]))
        elif kind == "D":
            self.leave(*struct.unpack(">Q", message[11:19]))
        elif kind == "U":
            reference, new_reference, shares, price = struct.unpack(">QQII", message[11:35])
            original = self.leave(reference)
            if original:
                self.enter(new_reference, original[0], original[1], shares, price)
        elif kind == "S":
            self.system_events.append(message)
        elif kind == "R":
            self.definitions[stock] = message
        elif kind in "HY":
            self.states[kind, stock] = message

    def enter(self, reference, stock, side, shares, price):
        self.orders[reference] = [stock, side, shares, price]
        self.change_level(stock, side, price, shares)

    def leave(self, reference):
        order = self.orders.pop(reference, None)
        if order:
            stock, side, shares, price = order
            self.change_level(stock, side, price, -shares)
        return order

    def reduce(self, reference, shares):
        order = self.orders.get(reference)
        if order is None:
            return
        shares = min(shares, order[2])
        order[2] -= shares
        self.change_level(order[0], order[1], order[3], -shares)
        if order[2] == 0:
            del self.orders[reference]

    def change_level(self, stock, side, price, shares):
        level = self.levels.setdefault((stock, side), {})
        level[price] = level.get(price, 0) + shares
        if level[price] == 0:
            del level[price]

    def inside(self, stock):
        """Best bid with its size and best offer with its size; no price and size 0 for an empty side."""
        bids, offers = self.levels.get((stock, b"B")), self.levels.get((stock, b"S"))
        bid, offer = max(bids, default=None) if bids else None, min(offers, default=None) if offers else None
        return bid, bids[bid] if bids else 0, offer, offers[offer] if offers else 0

    def by_symbol(self):
        """The orders of each stock as those of records: {symbol: {reference: (side, price, shares)}}."""
        stocks = {}
        for reference, (stock, side, shares, price) in self.orders.items():
            order = ("B" if side == b"B" else "A", price, shares)
            stocks.setdefault(f"S{stock:03}", {})[reference] = order
        return stocks

    def snapshot(self, next_number):
        """The messages of a GLIMPSE snapshot before the message of this number (specification "GLIMPSE 5.0").

        Orders at one price are in the order of their queue, which is that in which they entered.
        """
        messages = self.system_events + list(self.definitions.values()) + list(self.states.values())
        for reference, (stock, side, shares, price) in self.orders.items():
            messages.append(add_order(stock, self.nanos, reference, side, shares, price))
        return messages + [end_of_snapshot(next_number)]


def end_of_snapshot(next_number):
    """`G`: the number with which the lines go on, as text, padded on the left."""
    return b"G" + str(next_number).rjust(20).encode()
