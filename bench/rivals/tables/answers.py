"""Compares the tables of nanotape with those of itch-book, message by message, and prints one line of JSON.

Usage: answers.py FOLDER FOLDER, with bbo, trades and mbo of nanotape, and bbo, trades and messages of
itch-book. What a row of itch-book says is expressed in nanotape's words first. Then rows are joined by
message number and action, and every difference needs a rule that explains it. Both files are read in
blocks of the same messages, so a day of any size fits in memory.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# An absent value. No price, size, time or number of a day is as small.
ABSENT = np.iinfo(np.int64).min
# A value that itch-book does not state: it is not compared.
UNSTATED = ABSENT + 1
# A price that is no multiple of 0.0001: it differs from every price.
INEXACT = ABSENT + 2
# Units of nanotape's prices in one of the exchange's, which are 0.0001 USD.
UNITS = 100_000
EXAMPLES = 5
BLOCK_ROWS = 1 << 20
# itch-book's limit of order reference numbers, `kMaxRef`.
REFERENCES = 1 << 36
# What a message can do to the orders of a book, in nanotape's words.
ACTIONS = b"ACFTMR"
# The kind of a trade by its message.
KINDS = {"E": "execution", "C": "execution", "P": "hidden", "Q": "cross"}
SEVERAL = "several rows of one message and action"


class Names:
    """Texts as numbers, the same ones for both programs, and the stocks whose books differ."""

    def __init__(self):
        self.codes, self.texts = {"": 0}, [""]
        # Stocks of which itch-book's book rejected an order that nanotape's book has.
        self.rejected = set()

    def code(self, text):
        code = self.codes.setdefault(text, len(self.codes))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def is_rejected(self, rows):
        return np.isin(rows["symbol"], list(self.rejected))

    def locates(self):
        """For each number of a text `#N` the stock locate N, and -1 for other texts."""
        digits = (text[1:] if text.startswith("#") else "" for text in self.texts)
        return np.array([int(one) if one.isdigit() else -1 for one in digits])


@dataclass
class Rule:
    """Explains rows that only one program has, or values that differ."""

    text: str
    applies: object


def mapped(values, pairs, other=ABSENT):
    """The values with each of these replaced, and `other` for all that have no replacement."""
    out = np.full(len(values), other, np.int64)
    for value, replacement in pairs.items():
        out[values == value] = replacement
    return out


def fixed(dollars):
    """Prices in units of 1e-9 from floating point."""
    dollars = np.asarray(dollars, np.float64)
    known = ~np.isnan(dollars)
    whole = np.rint(np.where(known, dollars, 0) * 10_000)
    out = np.where(whole / 10_000 == dollars, whole.astype(np.int64) * UNITS, INEXACT)
    return np.where(known, out, ABSENT)


def absent_zeros(values):
    return np.where(values == 0, ABSENT, values)


def expected_bbo(theirs, names):
    """Rows of itch-book's bbo as nanotape would write them."""
    rows = {name: theirs[name] for name in ("message", "ts_event", "symbol", "locate")}
    for side in ("bid", "ask"):
        rows[f"{side}_price"] = fixed(theirs[f"{side}_px"])
        rows[f"{side}_size"] = absent_zeros(theirs[f"{side}_sz"])
        rows[f"{side}_orders"] = absent_zeros(theirs[f"{side}_ct"])
    return rows


def expected_trades(theirs, names):
    """The same for trades, with the letter of the message as `type`."""
    kinds = {ord(kind): names.code(word) for kind, word in KINDS.items()}
    aggressors = {ord("S"): names.code("buy"), ord("B"): names.code("sell")}
    return {
        **{name: theirs[name] for name in ("message", "ts_event", "symbol", "locate", "size")},
        "type": theirs["kind"],
        "kind": mapped(theirs["kind"], kinds),
        "price": fixed(theirs["price"]),
        "aggressor": mapped(theirs["side"], aggressors),
        "order_reference_number": absent_zeros(theirs["order_id"]),
        "match_number": theirs["match_number"],
        "broken": theirs["broken"],
    }


def expected_mbo(theirs, names):
    """Rows of itch-book's messages as nanotape would write them: up to three for a message.

    A fill is the print, if it is printed, the fill, and what leaves the order. A replacement is what
    leaves and what enters. itch-book does not state the price of an order that is executed at another
    one, and neither price nor size of an order that is replaced.
    """
    kind, price = theirs["type"], fixed(theirs["price"])
    side = mapped(theirs["side"], {ord("B"): ord("B"), ord("S"): ord("A")}, ord("N"))
    opposite = mapped(side, {ord("B"): ord("A"), ord("A"): ord("B")}, ord("N"))
    applied = side != ord("N")
    entered = is_any(kind, "AFU") & applied & (theirs["remaining"] > 0)
    filled = is_any(kind, "EC") & applied
    parts = []

    def part(rows, action, **changed):
        own = {
            **{name: theirs[name] for name in ("message", "ts_event", "symbol", "locate", "remaining")},
            "type": kind, "side": side, "price": price, "size": theirs["size"],
            "order_reference_number": theirs["order_id"], **changed,
        }
        own["action"] = np.full(len(kind), ord(action), np.int64)
        parts.append({name: values[rows] for name, values in own.items()})

    unstated = np.full(len(kind), UNSTATED, np.int64)
    none = np.full(len(kind), ABSENT, np.int64)
    part(entered, "A")
    part(filled & (theirs["printable"] == 1), "T", side=opposite, order_reference_number=none)
    part(filled, "F")
    part(filled & (kind == ord("E")), "C")
    part(filled & (kind == ord("C")), "C", price=unstated)
    part(is_any(kind, "XD") & applied, "C")
    part(
        (kind == ord("U")) & applied, "C", price=unstated, size=unstated,
        order_reference_number=theirs["old_order_id"],
    )
    # What the book did not apply has no row, so it is kept as one that has no action.
    unapplied = ~applied | is_any(kind, "AFU") & (theirs["remaining"] == 0)
    part(unapplied, "-")
    return joined(parts)


def is_any(values, letters):
    return np.isin(values, [ord(one) for one in letters])


def joined(blocks):
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def rows_of(block, chosen):
    return {name: values[chosen] for name, values in block.items()}


def count_of(block):
    return len(block["message"])


def key_of(block):
    """The message number and the action: a row of both programs has the same ones."""
    if "action" not in block:
        return block["message"]
    place = mapped(block["action"], {action: place for place, action in enumerate(ACTIONS)}, len(ACTIONS))
    return block["message"] * (len(ACTIONS) + 1) + place


class Comparison:
    """Counts rows and differences of a table, block by block."""

    def __init__(self, table, names):
        self.table, self.names = table, names
        self.counts = {"nanotape": 0, "itch-book": 0, "equal": 0}
        self.found = {}

    def block(self, ours, theirs):
        """Compares rows of the same messages."""
        self.counts["nanotape"] += count_of(ours)
        self.counts["itch-book"] += count_of(theirs)
        theirs = self.table.expected(theirs, self.names)
        (left, ours), (right, theirs) = first_of_each(ours), first_of_each(theirs)
        self.add("only nanotape", SEVERAL, False, left, np.ones(count_of(left), bool))
        self.add("only itch-book", SEVERAL, False, right, np.ones(count_of(right), bool))
        _, at, at_theirs = np.intersect1d(
            key_of(ours), key_of(theirs), assume_unique=True, return_indices=True
        )
        self.one_sided("only nanotape", self.table.only_ours, rows_of(ours, others(ours, at)))
        self.one_sided("only itch-book", self.table.only_theirs, rows_of(theirs, others(theirs, at_theirs)))
        self.common(rows_of(ours, at), rows_of(theirs, at_theirs))

    def one_sided(self, where, rules, rows):
        left = np.ones(count_of(rows), bool)
        for rule in [*rules, OTHER_BOOK] if left.any() else ():
            applies = left & rule.applies(rows, self.names)
            if rule is ENTERED:
                self.names.rejected.update(rows["symbol"][applies].tolist())
            self.add(where, rule.text, True, rows, applies)
            left &= ~applies
        self.add(where, "rows", False, rows, left)

    def common(self, ours, theirs):
        equal = np.ones(count_of(ours), bool)
        for name in self.table.compared:
            differs = (ours[name] != theirs[name]) & (theirs[name] != UNSTATED)
            for rule in [*self.table.unequal.get(name, ()), OTHER_BOOK] if differs.any() else ():
                applies = differs & rule.applies(ours, theirs, self.names)
                self.add(name, rule.text, True, ours, applies, theirs)
                equal &= ~applies
                differs &= ~applies
            self.add(name, "values", False, ours, differs, theirs)
            equal &= ~differs
        self.counts["equal"] += int(equal.sum())

    def add(self, where, text, is_explained, rows, chosen, theirs=None):
        count = int(chosen.sum())
        if not count:
            return
        one = self.found.setdefault((where, text), {
            "table": self.table.name, "where": where, "what": text, "explained": is_explained,
            "rows": 0, "examples": [],
        })
        one["rows"] += count
        for place in np.flatnonzero(chosen)[:EXAMPLES - len(one["examples"])]:
            example = self.shown(rows, place)
            if theirs is not None:
                example = {"nanotape": example, "itch-book": self.shown(theirs, place)}
            one["examples"].append(example)

    def shown(self, rows, place):
        """A row as a person reads it."""
        return {name: self.value(name, values[place].item()) for name, values in rows.items()}

    def value(self, name, value):
        if value == UNSTATED:
            return "not stated"
        if value == INEXACT:
            return "not exact"
        if value == ABSENT:
            return None
        if name in ("symbol", "kind", "aggressor", "reason"):
            return self.names.texts[value]
        return chr(value) if name in ("type", "action", "side") else value

    def report(self):
        facts = {"table": self.table.name, "rival": "itch-book", **self.counts}
        return {**facts, "differences": list(self.found.values())}


def first_of_each(block):
    """The rows after the first one of each key, and these first ones."""
    _, first = np.unique(key_of(block), return_index=True)
    return rows_of(block, others(block, first)), rows_of(block, first)


def others(block, chosen):
    left = np.ones(count_of(block), bool)
    left[chosen] = False
    return left


def is_reason(rows, names, reason):
    return rows["reason"] == names.code(reason)


def unnamed(ours, theirs, names):
    """itch-book knows names from the directory only, and nanotape's name is not a locate of another stock."""
    locates = names.locates()[ours["symbol"]]
    return (theirs["symbol"] == 0) & ((locates < 0) | (locates == theirs["locate"]))


UNNAMED = Rule(
    "the file has no directory message of the stock: itch-book has no name, nanotape one of another message",
    unnamed,
)
EXECUTED_UNKNOWN = Rule(
    "executions of an order that is not in the book: itch-book has no row",
    lambda rows, names: (rows["kind"] == names.code("execution")) & (rows["aggressor"] == ABSENT)
    & is_reason(rows, names, "taint"),
)
BREAKS = Rule(
    "breaks (B): nanotape marks the trade in the column broken",
    lambda rows, names: rows["type"] == ord("B"),
)
NO_SHARES = Rule(
    "crosses without shares (Q): nanotape has no row",
    lambda rows, names: (rows["type"] == ord("Q")) & (rows["size"] == 0),
)
NOT_OF_ORDERS = Rule(
    "prints (T) of hidden trades and crosses: itch-book has them in trades only",
    lambda rows, names: (rows["action"] == ord("T")) & (rows["side"] == ord("N"))
    & (rows["order_reference_number"] == ABSENT),
)
UNKNOWN_ORDER = Rule(
    "messages about an order that is not in the book: nanotape has no row",
    lambda rows, names: (rows["action"] == ord("-")) & (rows["side"] == ord("N")),
)
NOT_ENTERED = Rule(
    "orders that itch-book's book rejects: no shares, a price of 0, or a reference number from 2^36",
    lambda rows, names: (rows["action"] == ord("-")) & is_any(rows["type"], "AFU")
    & (rows["remaining"] == 0),
)
ENTERED = Rule(
    "orders that itch-book's book rejects: a price of 0, or a reference number from 2^36",
    lambda rows, names: (rows["action"] == ord("A"))
    & ((rows["price"] == 0) | (rows["order_reference_number"] >= REFERENCES)),
)
OTHER_BOOK = Rule(
    "stocks of which itch-book's book rejected such an order, so it lacks the order from then on",
    lambda *rows_and_names: rows_and_names[-1].is_rejected(rows_and_names[0]),
)
NO_EFFECT = Rule(
    "messages that take no shares from an order: nanotape has no row",
    lambda rows, names: is_any(rows["action"], "TFC") & (rows["size"] == 0),
)
TOO_MANY = Rule(
    "more shares than the order had: nanotape has those that it had",
    lambda ours, theirs, names: (theirs["remaining"] == 0) & (theirs["size"] > ours["size"])
    & is_reason(ours, names, "taint"),
)


@dataclass
class Table:
    """A table of nanotape, the one of itch-book, and the rules for their differences."""

    name: str
    theirs: str
    expected: object
    # What is compared, in nanotape's names.
    compared: list
    their_columns: list
    only_ours: list
    only_theirs: list
    unequal: dict
    # Columns that have single letters.
    own_letters: tuple = ()
    their_letters: tuple = ()

    @property
    def own_columns(self):
        return [*self.compared, "reason", *(["action"] if "action" in self.own_letters else [])]


SIDES = ("bid", "ask")
# mbo first: it finds the stocks whose books differ.
TABLES = [
    Table(
        "mbo", "messages", expected_mbo,
        ["ts_event", "symbol", "side", "price", "size", "order_reference_number"],
        [
            "ts_event", "symbol", "locate", "type", "side", "price", "size", "remaining", "printable", "order_id",
            "old_order_id",
        ],
        only_ours=[NOT_OF_ORDERS, ENTERED], only_theirs=[UNKNOWN_ORDER, NOT_ENTERED, NO_EFFECT],
        unequal={"symbol": [UNNAMED], "size": [TOO_MANY]},
        own_letters=("action", "side"), their_letters=("type", "side"),
    ),
    Table(
        "bbo", "bbo", expected_bbo,
        ["ts_event", "symbol", *(f"{side}_{what}" for side in SIDES for what in ("price", "size", "orders"))],
        ["ts_event", "symbol", "locate", *(f"{side}_{what}" for side in SIDES for what in ("px", "sz", "ct"))],
        only_ours=[], only_theirs=[], unequal={"symbol": [UNNAMED]},
    ),
    Table(
        "trades", "trades", expected_trades,
        [
            "ts_event", "symbol", "kind", "price", "size", "aggressor", "order_reference_number", "match_number",
            "broken",
        ],
        ["ts_event", "symbol", "locate", "kind", "price", "size", "side", "order_id", "match_number", "broken"],
        only_ours=[EXECUTED_UNKNOWN], only_theirs=[BREAKS, NO_SHARES], unequal={"symbol": [UNNAMED]},
        their_letters=("kind", "side"),
    ),
]


class Blocks:
    """Rows of a file in the order of their messages, which are taken up to a message."""

    def __init__(self, blocks):
        self.blocks, self.waiting, self.is_over = blocks, next(blocks), False

    def fill(self):
        """Reads on until rows of two messages wait, or the file is over."""
        while not self.is_over and (not count_of(self.waiting) or self.first == self.last):
            block = next(self.blocks, None)
            if block is None:
                self.is_over = True
            else:
                self.waiting = joined([self.waiting, block])
        if (np.diff(self.waiting["message"]) < 0).any():
            raise ValueError("messages are not in order")

    @property
    def first(self):
        return self.waiting["message"][0]

    @property
    def last(self):
        return self.waiting["message"][-1]

    def before(self, message):
        """The rows before this message; all of them if it is None."""
        numbers = self.waiting["message"]
        cut = len(numbers) if message is None else np.searchsorted(numbers, message)
        taken, self.waiting = rows_of(self.waiting, slice(cut)), rows_of(self.waiting, slice(cut, None))
        return taken


def paired(ours, theirs):
    """Pairs of blocks of the same messages."""
    sides = [Blocks(ours), Blocks(theirs)]
    while True:
        for side in sides:
            side.fill()
        limits = [side.last for side in sides if not side.is_over]
        yield tuple(side.before(min(limits) if limits else None) for side in sides)
        if not limits:
            return


def compare(table, ours, theirs, names):
    """The report of a table. `ours` and `theirs` are iterators of blocks, and each has at least one."""
    comparison = Comparison(table, names)
    for block in paired(ours, theirs):
        comparison.block(*block)
    return comparison.report()


def read(file, columns, letters, names):
    """The columns of a file in blocks, first an empty one. `columns` has the names that rows get, and
    `letters` those of columns that have single letters."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    def numbers(name, column):
        if pa.types.is_floating(column.type):
            return column.to_numpy(zero_copy_only=False)
        if pa.types.is_string(column.type):
            column = column.dictionary_encode()
        if not pa.types.is_dictionary(column.type):
            return column.cast(pa.int64()).fill_null(ABSENT).to_numpy(zero_copy_only=False)
        number = ord if name in letters else names.code
        known = [number(word) for word in column.dictionary.to_pylist()]
        keys = column.indices.cast(pa.int64()).fill_null(len(known)).to_numpy(zero_copy_only=False)
        return np.array([*known, ABSENT])[keys]

    yield {to: np.zeros(0, np.int64) for to in columns.values()}
    with parquet.ParquetFile(file) as source:
        for batch in source.iter_batches(BLOCK_ROWS, columns=list(columns)):
            yield {to: numbers(name, batch.column(name)) for name, to in columns.items()}


def unknown_messages(file):
    """How many messages itch-book does not know. They have no number there."""
    import pyarrow.parquet as parquet

    stats = json.loads(parquet.read_metadata(file).metadata[b"itch_book.stats"])
    return stats["unknown"] + stats["malformed"]


def main(words):
    ours, theirs = map(Path, words)
    unknown = unknown_messages(theirs / "bbo.parquet")
    if unknown:
        print(
            f"itch-book does not know {unknown} messages of the file and does not count them: rows of the "
            "two programs cannot be joined",
            file=sys.stderr,
        )
        return 2
    reports, names = [], Names()
    for table in TABLES:
        our_columns = {name: name for name in ["message", *table.own_columns]}
        their_columns = {"seq": "message", **{name: name for name in table.their_columns}}
        reports.append(compare(
            table,
            read(ours / f"{table.name}.parquet", our_columns, table.own_letters, names),
            read(theirs / f"{table.theirs}.parquet", their_columns, table.their_letters, names),
            names,
        ))
    print(json.dumps(reports))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
