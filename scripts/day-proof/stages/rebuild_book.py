"""Rebuilds one stock's book from a DBN file with Databento's package, at moments, as CSV.

usage: rebuild_book.py DAY.dbn SYMBOL MIDNIGHT_NS < moments > books.csv

A moment is a line of nanoseconds since midnight. For each, the levels after all messages with a time not
later than it are written as rows of moment,side,price,size,orders: bids first, best first, then asks.
"""

import sys
from collections import defaultdict

import databento


def main():
    path, symbol, midnight_ns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    moments = sorted(int(line) for line in sys.stdin)
    store = databento.DBNStore.from_file(path)
    wanted = {
        int(interval["symbol"])
        for interval in store.metadata.mappings.get(symbol, [])
    }
    if len(wanted) != 1:
        sys.exit(f"{path}: {symbol} is not mapped to one instrument but to {sorted(wanted)}")
    (instrument,) = wanted

    orders = {}
    levels = {"B": defaultdict(lambda: [0, 0]), "A": defaultdict(lambda: [0, 0])}

    def remove(order_id, size):
        side, price, left = orders[order_id]
        level = levels[side][price]
        level[0] -= size
        if size >= left:
            del orders[order_id]
            level[1] -= 1
            if level[1] == 0:
                del levels[side][price]
        else:
            orders[order_id] = (side, price, left - size)

    def write(moment):
        for side, name in (("B", "bid"), ("A", "ask")):
            for price in sorted(levels[side], reverse=side == "B"):
                size, count = levels[side][price]
                whole, part = divmod(price // 100_000, 10_000)
                print(f"{moment},{name},{whole}.{part:04},{size},{count}")

    next_moment = 0
    for record in store:
        if not isinstance(record, databento.MBOMsg) or record.instrument_id != instrument:
            continue
        time = record.ts_event - midnight_ns
        while next_moment < len(moments) and moments[next_moment] < time:
            write(moments[next_moment])
            next_moment += 1
        action, side = str(record.action), str(record.side)
        if action == "A":
            if record.order_id in orders:
                sys.exit(f"order {record.order_id} was entered twice")
            orders[record.order_id] = (side, record.price, record.size)
            level = levels[side][record.price]
            level[0] += record.size
            level[1] += 1
        elif action == "C":
            remove(record.order_id, record.size)
        elif action not in ("T", "F"):
            sys.exit(f"an action that no plant publishes: {action}")
    for moment in moments[next_moment:]:
        write(moment)


main()
