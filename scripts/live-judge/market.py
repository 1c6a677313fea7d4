"""Random sessions of one exchange: valid messages of Nasdaq TotalView-ITCH 5.0, from a seed.

A synthetic day of the plant's own program would share its idea of a message. These messages are laid out here, from the
specification "Nasdaq TotalView-ITCH 5.0", so that a wrong offset on either side shows.
"""
import random
import struct

NANOS_PER_S = 10**9
MARKET_OPEN_NANOS = (9 * 3600 + 30 * 60) * NANOS_PER_S
MOST_LIVE_ORDERS = 3_000

# Lengths of the messages that are made here (sections 1.1 to 1.7 of the specification).
LENGTHS = {"S": 12, "R": 39, "H": 25, "Y": 20, "A": 36, "F": 40, "E": 31, "C": 36, "X": 23, "D": 19, "U": 35, "P": 44}


def head(kind, stock_locate, nanos):
    """The 11 bytes that all messages begin with: type, stock locate, tracking number 0, time of day."""
    return kind.encode() + struct.pack(">HH", stock_locate, 0) + nanos.to_bytes(6, "big")


def symbol(stock_locate):
    return f"S{stock_locate:03}".ljust(8).encode()


def kind_of(message):
    return chr(message[0])


def stock_locate_of(message):
    return int.from_bytes(message[1:3], "big")


def nanos_of(message):
    return int.from_bytes(message[5:11], "big")


def add_order(stock_locate, nanos, reference, side, shares, price):
    """`A`; `side` is one byte, `price` has four implied decimals."""
    order = struct.pack(">QcI8sI", reference, side, shares, symbol(stock_locate), price)
    return head("A", stock_locate, nanos) + order


def session(seed, stocks, count):
    """The messages of a session of so many stocks."""
    return Market(seed, stocks).run(count)


def with_misfits(messages, chance, count):
    """Messages of which some do not fit the books: repeated references, unknown ones, too many shares."""
    messages = list(messages)
    for _ in range(count):
        index = chance.randrange(60, len(messages) - 5)
        message = messages[index]
        kind = kind_of(message)
        if kind in "AF" and chance.random() < 0.5:
            messages[index + chance.randrange(1, 5)] = message
        elif kind == "D":
            messages[index] = message[:11] + struct.pack(">Q", 10**9 + index)
        elif kind in "EX":
            messages[index] = message[:19] + struct.pack(">I", 10**6) + message[23:]
    return messages


class Market:
    """Draws one message after another, each of which fits the orders that are live."""

    def __init__(self, seed, stocks):
        self.chance = random.Random(seed)
        self.stocks = stocks
        self.nanos = MARKET_OPEN_NANOS
        self.next_reference = 1
        self.next_match = 1
        self.orders = {}  # reference -> [stock locate, side, shares, price]
        self.references = []  # those of `orders`, and some that have left
        self.messages = []

    def run(self, count):
        self.open()
        while len(self.messages) < count:
            self.step()
        return self.messages[:count]

    def open(self):
        self.emit("S", 0, b"O")
        for stock in range(1, self.stocks + 1):
            listing = b"QN" + struct.pack(">I", 100) + b"NCC PN 1N" + struct.pack(">I", 0) + b"N"
            self.emit("R", stock, symbol(stock) + listing)
            self.emit("H", stock, symbol(stock) + b"T " + b"    ")
        self.emit("S", 0, b"Q")

    def emit(self, kind, stock, body):
        message = head(kind, stock, self.nanos) + body
        assert len(message) == LENGTHS[kind], (kind, len(message))
        self.messages.append(message)

    def step(self):
        self.nanos += self.chance.randrange(1, 2_000)
        choice = self.chance.random()
        if len(self.orders) < 10 or (choice < 0.47 and len(self.orders) < MOST_LIVE_ORDERS):
            self.add()
        elif choice < 0.70:
            self.delete(self.any_order())
        elif choice < 0.80:
            self.replace(self.any_order())
        elif choice < 0.92:
            self.execute(self.any_order(), has_price=choice >= 0.88)
        elif choice < 0.96:
            self.cancel(self.any_order())
        elif choice < 0.985:
            self.trade_of_no_order()
        else:
            self.change_state(is_restriction=choice >= 0.993)

    def any_order(self):
        while True:
            index = self.chance.randrange(len(self.references))
            reference = self.references[index]
            if reference in self.orders:
                return reference
            self.references[index] = self.references[-1]
            self.references.pop()

    def any_stock(self):
        return self.chance.randrange(1, self.stocks + 1)

    def any_price(self, stock, side):
        """Up to 40 ticks away from the middle, so that books never cross."""
        away = self.chance.randrange(1, 40) * 100
        return middle(stock) + (-away if side == b"B" else away)

    def enter(self, step, stock, side, shares, price):
        reference = self.next_reference
        self.next_reference += step
        self.orders[reference] = [stock, side, shares, price]
        self.references.append(reference)
        return reference

    def add(self):
        stock, side, shares = self.any_stock(), self.chance.choice([b"B", b"S"]), self.chance.randrange(1, 20) * 100
        price = self.any_price(stock, side)
        reference = self.enter(self.chance.randrange(1, 3), stock, side, shares, price)
        order = struct.pack(">QcI8sI", reference, side, shares, symbol(stock), price)
        if self.chance.random() < 0.9:
            self.emit("A", stock, order)
        else:
            self.emit("F", stock, order + b"MPID")

    def delete(self, reference):
        self.emit("D", self.orders.pop(reference)[0], struct.pack(">Q", reference))

    def replace(self, reference):
        stock, side, _, _ = self.orders.pop(reference)
        shares, price = self.chance.randrange(1, 20) * 100, self.any_price(stock, side)
        new_reference = self.enter(1, stock, side, shares, price)
        self.emit("U", stock, struct.pack(">QQII", reference, new_reference, shares, price))

    def execute(self, reference, has_price):
        stock, _, shares, price = self.orders[reference]
        executed = self.chance.randrange(1, shares + 1)
        execution = struct.pack(">QIQ", reference, executed, self.next_match)
        self.next_match += 1
        if has_price:
            printable = self.chance.choice([b"Y", b"N"])
            self.emit("C", stock, execution + printable + struct.pack(">I", price + 100))
        else:
            self.emit("E", stock, execution)
        self.reduce(reference, executed)

    def cancel(self, reference):
        stock, _, shares, _ = self.orders[reference]
        if shares == 1:
            return self.delete(reference)
        canceled = self.chance.randrange(1, shares)
        self.emit("X", stock, struct.pack(">QI", reference, canceled))
        self.reduce(reference, canceled)

    def reduce(self, reference, shares):
        self.orders[reference][2] -= shares
        if self.orders[reference][2] == 0:
            del self.orders[reference]

    def trade_of_no_order(self):
        stock = self.any_stock()
        trade = struct.pack(">QcI8sIQ", 0, b"B", 100, symbol(stock), middle(stock), self.next_match)
        self.next_match += 1
        self.emit("P", stock, trade)

    def change_state(self, is_restriction):
        stock = self.any_stock()
        if is_restriction:
            self.emit("Y", stock, symbol(stock) + self.chance.choice([b"0", b"1"]))
        else:
            state, reason = self.chance.choice([b"H", b"T", b"Q"]), self.chance.choice([b"T1  ", b"    ", b"T3  "])
            self.emit("H", stock, symbol(stock) + state + b" " + reason)


def middle(stock):
    return 100_000 + stock * 10_000
