"""What must hold of a session: each check returns what is wrong, in words.

The books are those of `Books`, from the messages that were sent. What a plant publishes of whole sessions is compared
with a run of a day file with the same messages, because the program's path from a file has its own tests.
"""
import json
import re
from collections import Counter
from itertools import takewhile

from books import Books
from plant import run_of_messages

MAYBE_BAD_BOOK, SNAPSHOT = 4, 32
# Notices of missing messages, with the number of the last of them.
OPENED = r"(?:any book may lack orders: )?messages? (?:\d+ to )?(\d+) (missing(,|$)|before)"
FLAGGED = {"mbo", "bbo", "trade"}
NOTICES = {"start", "stop", "gap", "taint", "session_gap", "suspect", "restored"}
# Of two runs with the same messages these columns differ.
OF_THE_RUN = {"sequence", "ts_recv"}


def judge(outcome, binary, folder):
    """All that is wrong with a session."""
    wrong = list(outcome.problems)
    if "panicked" in outcome.log:
        wrong.append("the plant panicked")
    if wrong:
        return wrong
    for number, day in enumerate(outcome.days):
        of_day = DayVerdict(outcome, day, binary, folder, number).all()
        wrong += of_day if len(outcome.days) == 1 else [f"session {number + 1}: {what}" for what in of_day]
    return wrong + exit_status(outcome) + killed_runs(outcome)


def exit_status(outcome):
    """Status 1 if the records lack something, otherwise 0."""
    parameters = outcome.parameters
    if parameters.join == "here" or any(given_up(day) for day in outcome.days):
        expected = 1
    elif parameters.misfits:
        return []
    else:
        expected = 0
    return [] if outcome.status == expected else [f"exit status {outcome.status}, expected {expected}"]


def killed_runs(outcome):
    """A plant that goes on publishes again what the killed one published."""
    wrong = []
    for index, rows in enumerate(outcome.killed_runs):
        before = [comparable(row) for row in market(rows)]
        after = [comparable(row) for row in market(outcome.days[0].rows)][:len(before)]
        if before != after:
            wrong.append(f"run {index + 1} was killed, and its records are not the first of the last run: "
                         f"{difference(before, after)}")
    return wrong


class DayVerdict:
    """The checks of one session."""

    def __init__(self, outcome, day, binary, folder, number):
        self.outcome, self.parameters, self.day = outcome, outcome.parameters, day
        self.rows, self.stop = day.rows, day.stop
        self.binary, self.folder, self.number = binary, folder, number
        self.rebuilt, self.wrong_records = rebuild(self.rows)
        self.suspect, self.tainted = False, set()  # at the end

    def all(self):
        wrong = self.wrong_records + self.counts() + self.flags() + self.servers() + self.kept()
        if not self.parameters.misfits:
            wrong += self.insides() + self.restored()
        if missing(self.day) == 0 and self.parameters.join in ("first", "start"):
            return wrong + self.whole_session()
        if not self.parameters.misfits:
            wrong += self.final_books()
        if self.stop["gap_messages_in_snapshot"] == 0 and self.parameters.join == "first":
            wrong += self.lossy_session()
        return wrong

    def insides(self):
        """No inside without a flag differs from the books after its message."""
        by_message = {}
        for row in self.rows:
            if row["record"] == "bbo" and not row["flags"] & MAYBE_BAD_BOOK:
                by_message.setdefault(row["message"], []).append(row)
        books, wrong = Books(), []
        for number, message in enumerate(self.day.messages, 1):
            books.apply(message)
            for row in by_message.get(number, []):
                expected = books.inside(int(row["symbol"][1:]))
                if inside_of_row(row) != expected:
                    wrong.append(f"wrong inside without a flag: {row}, expected {expected}")
        return first_of(wrong)

    def restored(self):
        """After a snapshot all books are those of the messages before the number of its notice.

        Notices that follow at once name the stocks that stay tainted, or that messages are missing again.
        """
        rebuilt, books, applied, wrong = {}, Books(), 0, []
        for index, row in enumerate(self.rows):
            if row["record"] == "mbo":
                change(rebuilt.setdefault(row["symbol"], {}), row)
            elif row["record"] == "restored" and "those of the snapshot" in row["detail"]:
                last = int(re.search(r"before message (\d+)", row["detail"])[1]) - 1
                for message in self.day.messages[applied:last]:
                    books.apply(message)
                applied = max(applied, last)
                following = list(takewhile(lambda row: row["record"] in NOTICES, self.rows[index + 1:]))
                if any(row["record"] == "suspect" for row in following):
                    continue
                found, expected = {symbol: book for symbol, book in rebuilt.items() if book}, books.by_symbol()
                for symbol in {row["symbol"] for row in following if row["record"] == "taint"}:
                    found.pop(symbol, None)
                    expected.pop(symbol, None)
                if found != expected:
                    wrong.append(f"the books are not those of all messages: {row}")
        return first_of(wrong)

    def counts(self):
        """The numbers of lost messages are the same everywhere, and only what no line brought in time is lost."""
        stop, day, wrong = self.stop, self.day, []
        numbers, lost = given_up(day), 0
        for row in self.rows:
            if row["record"] == "session_gap":
                lost += sum(map(int, re.findall(r"(\d+) lost", row["detail"])))
        if lost != stop["gap_messages_lost"]:
            wrong.append(f"session gaps have {lost} lost messages, the end of the run {stop['gap_messages_lost']}")
        # What is missing before the snapshot of a join is no gap.
        if len(numbers) > missing(day) or (len(numbers) < missing(day) and self.parameters.join != "snapshot"):
            wrong.append(f"gaps have {len(numbers)} messages, the end of the run {missing(day)}")
        if self.parameters.join in ("first", "start") and stop["messages"] != day.count() - missing(day):
            wrong.append(f"{stop['messages']} of {day.count()} messages, with {missing(day)} missing")
        # Packets that the kernel or the plant drops are as if they were not sent.
        drops = sum(line["kernel_drops"] + line["far_ahead"] for line in stop["lines"])
        early = numbers - day.never - day.late
        if early and not self.parameters.kills and not drops:
            wrong.append(f"given up, although a line brought them: {sorted(early)[:20]}")
        dropped = sum(line["malformed"] + line["other_session"] for line in stop["lines"])
        # Those that come before the session is joined are not counted.
        if dropped > day.strays:
            wrong.append(f"{dropped} packets of no or another session, {day.strays} were sent")
        if stop["gap_messages_lost"] and self.parameters.has_all_from_a_server():
            wrong.append(f"{stop['gap_messages_lost']} messages are lost, although a server has them")
        return wrong

    def flags(self):
        """Records of doubtful books have a flag, and no others have: doubts begin and end with notices."""
        suspect, doubtful_from, tainted, wrong = False, None, set(), []
        for row in self.rows:
            kind, detail = row["record"], row.get("detail") or ""
            opened = re.match(OPENED, detail)
            if kind == "suspect":
                suspect = True
            if opened and (self.parameters.policy == "flag" or "before the session" in detail):
                # The missing messages themselves may come in order.
                doubtful_from = max(int(opened[1]) + 1, doubtful_from or 1)
            elif kind == "gap" and detail.startswith("missing:"):
                doubtful_from = doubtful_from or 1
            elif kind == "taint":
                tainted.add(row["symbol"])
            elif kind == "restored" and row["symbol"] is None:
                suspect, doubtful_from = False, None
            elif kind == "restored":
                tainted.discard(row["symbol"])
            elif kind in FLAGGED and not row["flags"] & SNAPSHOT:
                is_flagged = bool(row["flags"] & MAYBE_BAD_BOOK)
                if is_flagged and not suspect and row["symbol"] not in tainted:
                    wrong.append(f"a flag without a notice: {row}")
                elif not is_flagged and (row["symbol"] in tainted or row["message"] >= (doubtful_from or 2**64)):
                    wrong.append(f"no flag after a notice: {row}")
        self.suspect, self.tainted = suspect, tainted
        return first_of(wrong)

    def servers(self):
        """Nothing is taken from a server that answers for another session, number or address."""
        wrong, stop, has_nothing_from = [], self.stop, self.parameters.has_nothing_from
        if has_nothing_from("glimpse") and stop["gap_messages_in_snapshot"]:
            wrong.append(f"{stop['gap_messages_in_snapshot']} messages in a snapshot that must be refused")
        details = [row.get("detail") or "" for row in self.rows]
        if has_nothing_from("glimpse") and any("those of the snapshot" in detail for detail in details):
            wrong.append("books from a snapshot that must be refused")
        sent_again = stop["gap_messages_retransmitted"]
        if has_nothing_from("rerequest") and has_nothing_from("soupbintcp") and sent_again:
            wrong.append(f"{sent_again} messages from servers that must be refused")
        return wrong

    def whole_session(self):
        """Nothing is missing: the records are those of the day file."""
        file_run = self.run_of_file(self.day.messages)
        wrong = []
        for kind in ("trade", "status", "definition"):
            found, expected = (Counter(comparable(row, with_flag=False) for row in rows if row["record"] == kind)
                               for rows in (self.rows, file_run.rows))
            if found != expected:
                more, fewer = first_of(found - expected), first_of(expected - found)
                wrong.append(f"{kind} records: {more} too many, {fewer} missing")
        if self.rebuilt != rebuild(file_run.rows)[0]:
            wrong.append("the last books are not those of the day file")
        if self.parameters.policy == "wait":
            found, expected = ([comparable(row) for row in market(rows)] for rows in (self.rows, file_run.rows))
            if found != expected:
                wrong.append(f"records differ from those of the day file: {difference(found, expected)}")
            if digest(self.rows) != digest(file_run.rows):
                wrong.append(f"digest {digest(self.rows)}, of the day file {digest(file_run.rows)}")
        if not self.parameters.misfits and (self.suspect or self.tainted):
            flagged = "all" if self.suspect else sorted(self.tainted)
            wrong.append(f"nothing is missing, but at the end these books are flagged: {flagged}")
        return wrong

    def lossy_session(self):
        """Messages are lost: with `wait` the records are those of a day file without them."""
        if self.parameters.policy != "wait" or self.parameters.misfits:
            return []
        lost = given_up(self.day)
        kept = [number for number in range(1, self.day.count() + 1) if number not in lost]
        file_run = self.run_of_file([self.day.messages[number - 1] for number in kept])
        expected = []
        for row in market(file_run.rows):
            number = {"message": kept[row["message"] - 1]} if "message" in row else {}
            expected.append(comparable({**row, **number}, with_flag=False))
        found = [comparable(row, with_flag=False) for row in market(self.rows)]
        if found != expected:
            where = difference(found, expected)
            return [f"records differ from those of a day file without the lost messages: {where}"]
        return []

    def final_books(self):
        """Books without a flag at the end are those of all messages."""
        if self.suspect:
            return []
        expected = Books(self.day.messages).by_symbol()
        return first_of([
            f"the last book of {symbol} differs from that of all messages, without a flag"
            for symbol in sorted(set(expected) | set(self.rebuilt))
            if symbol not in self.tainted and self.rebuilt.get(symbol, {}) != expected.get(symbol, {})
        ])

    def kept(self):
        """The kept session gives the same records again."""
        kept, wrong = self.day.kept, []
        if kept is None:
            return []
        found, expected = ([comparable(row) for row in market(rows)] for rows in (kept.rows, self.rows))
        if found != expected:
            wrong.append(f"the kept session has other records: {difference(found, expected)}")
        elif digest(kept.rows) != digest(self.rows):
            wrong.append(f"the kept session has digest {digest(kept.rows)}, the live one {digest(self.rows)}")
        if len(self.outcome.days) == 1 and kept.status != self.outcome.status:
            wrong.append(f"the kept session ends with status {kept.status}, the live one with {self.outcome.status}")
        return [f"{what}; {' '.join(kept.command)}" for what in wrong]

    def run_of_file(self, messages):
        date = re.search(r"trade date (\d{4}-\d\d-\d\d)", self.rows[0]["detail"])[1]
        return run_of_messages(self.binary, self.folder, f"file{self.number}", messages, date)


def missing(day):
    """How many messages the plant counts as lost, or as contained in a snapshot only."""
    return day.stop["gap_messages_lost"] + day.stop["gap_messages_in_snapshot"]


def given_up(day):
    """The numbers of the gaps in the records: messages that no line and no server brought."""
    numbers = set()
    for row in day.rows:
        found = re.match(r"missing: (\d+) messages? from number (\d+)", row.get("detail") or "")
        if row["record"] == "gap" and found:
            numbers.update(range(int(found[2]), int(found[2]) + int(found[1])))
    return numbers


def market(rows):
    return [row for row in rows if row["record"] not in NOTICES]


def comparable(row, with_flag=True):
    columns = {name: value for name, value in row.items() if name not in OF_THE_RUN}
    if not with_flag and "flags" in columns:
        columns["flags"] &= ~MAYBE_BAD_BOOK
    return json.dumps(columns, sort_keys=True)


def digest(rows):
    return re.search(r"digest ([0-9a-f]{16})", rows[-1]["detail"] or "")[1] if rows[-1]["record"] == "stop" else None


def price4(price):
    return None if price is None else round(price * 10_000)


def first_of(found):
    """The first of many, and how many there are."""
    found = list(found)
    return found if len(found) < 2 else [f"{found[0]} (and {len(found) - 1} more)"]


def difference(found, expected):
    """Where two lists part."""
    index = next((index for index, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]),
                 min(len(found), len(expected)))
    at = [rows[index] if index < len(rows) else "the end" for rows in (found, expected)]
    return f"{len(found)} and {len(expected)} records; number {index} is {at[0]}, expected {at[1]}"


def rebuild(rows):
    """Books from order records alone, by stock, and what is wrong with them or with the insides after them."""
    books, wrong = {}, []
    for row in rows:
        if row["record"] == "mbo":
            wrong += change(books.setdefault(row["symbol"], {}), row)
        elif row["record"] == "bbo":
            inside = inside_of_book(books.get(row["symbol"], {}))
            if inside_of_row(row) != inside:
                wrong.append(f"an inside is not that of the order records before it: {row}, expected {inside}")
    return {symbol: book for symbol, book in books.items() if book}, first_of(wrong)


def change(book, row):
    """Applies an order record: adds, cancels and clears change a book."""
    reference, action = row["order_reference_number"], row["action"]
    if action == "R":
        book.clear()
    elif action == "A" and reference in book:
        return [f"an add of a live order: {row}"]
    elif action == "A":
        book[reference] = (row["side"], price4(row["price"]), row["size"])
    elif action == "C":
        side, price, shares = book.pop(reference, (None, None, 0))
        if shares < row["size"]:
            return [f"a cancel of {shares} live shares: {row}"]
        if shares > row["size"]:
            book[reference] = (side, price, shares - row["size"])
    return []


def inside_of_book(book):
    """As `Books.inside`."""
    best = []
    for side, choose in (("B", max), ("A", min)):
        price = choose((order[1] for order in book.values() if order[0] == side), default=None)
        best += [price, sum(order[2] for order in book.values() if order[:2] == (side, price))]
    return tuple(best)


def inside_of_row(row):
    return price4(row["bid_price"]), row["bid_size"] or 0, price4(row["ask_price"]), row["ask_size"] or 0
