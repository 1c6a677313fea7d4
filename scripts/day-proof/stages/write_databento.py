"""Writes a DBN file of a made-up day with Databento's own encoder, in the convention of its XNAS.ITCH data.

usage: write_databento.py FILE.dbn[.zst] VERSION MOMENTS > books.csv

The file has packets of several messages, of which only the last record of each instrument has F_LAST: adds,
cancels, replaces (cancel, add), executions (trade, fill, cancel), modifications, and once a clear with a snapshot.
The rows are the orders of AAPL at random moments, from plain lists in queue order: @ns,side,price,order_reference_number,
size,orders_ahead,shares_ahead.
"""

import datetime
import random
import sys
import warnings
from types import SimpleNamespace

import databento
import databento_dbn as dbn
import zstandard

MIDNIGHT = 1_577_682_000_000_000_000  # 2019-12-30 in New York.
OPEN = MIDNIGHT + 9 * 3600 * 10**9
STOCKS = {13: "AAPL", 4711: "MSFT"}
TICK = 10_000_000
PACKETS = 4000


class Book:
    """Levels of one stock, as lists of [order_id, size] in queue order."""

    def __init__(self):
        self.levels = {"B": {}, "A": {}}
        self.at = {}

    def add(self, order_id, side, price, size):
        self.levels[side].setdefault(price, []).append([order_id, size])
        self.at[order_id] = (side, price)

    def order(self, order_id):
        side, price = self.at[order_id]
        return next(order for order in self.levels[side][price] if order[0] == order_id)

    def remove(self, order_id, size):
        side, price = self.at[order_id]
        order = self.order(order_id)
        order[1] -= size
        if order[1] == 0:
            queue = self.levels[side][price]
            queue.remove(order)
            del self.at[order_id]
            if not queue:
                del self.levels[side][price]

    def modify(self, order_id, price, size):
        side, before = self.at[order_id]
        order = self.order(order_id)
        if price == before and size <= order[1]:
            order[1] = size
            return
        self.remove(order_id, order[1])
        self.add(order_id, side, price, size)

    def rows(self, moment):
        for side, name in (("B", "bid"), ("A", "ask")):
            for price in sorted(self.levels[side], reverse=side == "B"):
                shares = 0
                for ahead, (order_id, size) in enumerate(self.levels[side][price]):
                    whole, part = divmod(price // 100_000, 10_000)
                    print(f"@{moment},{name},{whole}.{part:04},{order_id},{size},{ahead},{shares}")
                    shares += size


class Writer:
    """The records of one file, and the books that they make."""

    def __init__(self):
        self.random = random.Random(7)
        self.books = {instrument: Book() for instrument in STOCKS}
        self.records = []
        self.packet = []
        self.time = OPEN
        self.sequence = 1
        self.next_order = 1

    def record(self, instrument, action, side="N", order_id=0, price=dbn.UNDEF_PRICE, size=0, flags=0):
        self.packet.append((self.sequence, instrument, action, side, order_id, price, size, flags))

    def message(self):
        """Ends the records of a message: they share a sequence number."""
        self.sequence += 1

    def end_packet(self):
        last = {record[1]: place for place, record in enumerate(self.packet)}
        for place, (sequence, instrument, action, side, order_id, price, size, flags) in enumerate(self.packet):
            self.records.append(
                dbn.MBOMsg(
                    publisher_id=2,
                    instrument_id=instrument,
                    ts_event=self.time,
                    order_id=order_id,
                    price=price,
                    size=size,
                    action=dbn.Action(action),
                    side=dbn.Side(side),
                    ts_recv=self.time + 165_000,
                    flags=flags | (dbn.F_LAST if last[instrument] == place else 0),
                    sequence=sequence,
                )
            )
        self.packet = []
        self.time += self.random.randrange(1, 5_000_000)

    def add(self, instrument):
        side = self.random.choice("BA")
        price = (10_000 + (-1 if side == "B" else 1) * self.random.randrange(1, 12)) * TICK
        size, order_id = self.random.randrange(1, 9) * 100, self.next_order
        self.next_order += 1
        self.books[instrument].add(order_id, side, price, size)
        self.record(instrument, "A", side, order_id, price, size)

    def event(self):
        instrument = self.random.choice(list(STOCKS))
        book, kind = self.books[instrument], self.random.randrange(10)
        if kind < 4 or not book.at:
            self.add(instrument)
            return
        order_id = self.random.choice(list(book.at))
        side, price = book.at[order_id]
        left = book.order(order_id)[1]
        if kind < 6:
            size = self.random.choice([left, max(1, left // 2)])
            book.remove(order_id, size)
            self.record(instrument, "C", side, order_id, price, size)
        elif kind == 6:
            book.remove(order_id, left)
            self.record(instrument, "C", side, order_id, price, left)
            size, better, replacement = 100, price + self.random.randrange(-2, 3) * TICK, self.next_order
            self.next_order += 1
            book.add(replacement, side, better, size)
            self.record(instrument, "A", side, replacement, better, size)
        elif kind == 7:
            size = self.random.choice([left, max(1, left // 3)])
            paid = price if self.random.random() < 0.8 else price + TICK
            if self.random.random() < 0.9:
                self.record(instrument, "T", "A" if side == "B" else "B", 0, paid, size)
            self.record(instrument, "F", side, order_id, paid, size)
            self.record(instrument, "C", side, order_id, price, size)
            book.remove(order_id, size)
        else:
            size = max(1, left + self.random.choice([-50, 0, 50]))
            moved = price + self.random.choice([0, 0, TICK])
            book.modify(order_id, moved, size)
            self.record(instrument, "M", side, order_id, moved, size)

    def snapshot(self, instrument):
        """A clear and all live orders again, in queue order."""
        self.record(instrument, "R", flags=dbn.F_SNAPSHOT)
        for side, levels in self.books[instrument].levels.items():
            for price, queue in levels.items():
                for order_id, size in queue:
                    self.record(instrument, "A", side, order_id, price, size, dbn.F_SNAPSHOT)


def main():
    path, version, moments = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    writer = Writer()
    for instrument in STOCKS:
        writer.record(instrument, "R")
        writer.message()
    writer.end_packet()
    shown = set(writer.random.sample(range(PACKETS), moments))
    for packet in range(PACKETS):
        if packet == PACKETS // 2:
            # Orders that the snapshot does not have must leave.
            for order_id in list(writer.books[13].at)[:5]:
                writer.books[13].remove(order_id, writer.books[13].order(order_id)[1])
            writer.snapshot(13)
        else:
            for _ in range(writer.random.randrange(1, 5)):
                writer.event()
                writer.message()
        writer.message()
        time = writer.time
        writer.end_packet()
        if packet in shown:
            writer.books[13].rows(time)
    date = datetime.date(2019, 12, 30)
    tomorrow = date + datetime.timedelta(1)
    # The package's own types for these are protocols: any object with the fields.
    mappings = [
        SimpleNamespace(
            raw_symbol=name,
            intervals=[SimpleNamespace(start_date=date, end_date=tomorrow, symbol=str(number))],
        )
        for number, name in STOCKS.items()
    ]
    metadata = dbn.Metadata(
        dataset="XNAS.ITCH",
        start=MIDNIGHT,
        stype_in=dbn.SType.RAW_SYMBOL,
        stype_out=dbn.SType.INSTRUMENT_ID,
        schema=dbn.Schema.MBO,
        symbols=list(STOCKS.values()),
        mappings=mappings,
        version=version,
    )
    content = metadata.encode() + b"".join(bytes(record) for record in writer.records)
    with open(path, "wb") as file:
        file.write(zstandard.compress(content) if path.endswith(".zst") else content)
    # Their package uses what pandas will remove.
    warnings.simplefilter("ignore")
    frame = databento.DBNStore.from_file(path).to_df()
    assert len(frame) == len(writer.records), "their own package does not read the file"
    actions = "".join(sorted(set(frame["action"])))
    print(f"version {version}: {len(frame)} records, actions {actions}", file=sys.stderr)


main()
