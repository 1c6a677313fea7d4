"""`run books` on a day of ten messages, whose answers are worked out by hand.

It builds what it runs, so the first time takes minutes. `python3 -B test_run.py` in this folder.
"""

import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def message(kind, locate, body):
    """A record: length, then type, locate, tracking number, a timestamp of zero, and the rest."""
    bytes_ = kind + struct.pack(">HH6x", locate, 0) + body
    return struct.pack(">H", len(bytes_)) + bytes_


def add(locate, reference, side, shares, price):
    return message(b"A", locate, struct.pack(">QcI8sI", reference, side, shares, b"TEST    ", price))


def execute(locate, reference, shares):
    return message(b"E", locate, struct.pack(">QIQ", reference, shares, 77))


def cancel(locate, reference, shares):
    return message(b"X", locate, struct.pack(">QI", reference, shares))


def delete(locate, reference):
    return message(b"D", locate, struct.pack(">Q", reference))


def replace(locate, original, replacement, shares, price):
    return message(b"U", locate, struct.pack(">QQII", original, replacement, shares, price))


# Stock 1 ends with two orders at one bid and one offer, stock 2 with one offer.
DAY = b"".join([
    add(1, 11, b"B", 100, 500_000),  # first bid: the inside changes (1)
    add(1, 12, b"B", 200, 499_900),  # below it
    add(1, 13, b"S", 300, 500_100),  # first offer (2)
    add(2, 21, b"S", 400, 10_100),  # first offer of another stock (3)
    execute(1, 11, 60),  # the best bid shrinks (4)
    cancel(1, 12, 50),  # not the best
    delete(1, 11),  # the best bid is now 150 at 49.99 (5)
    replace(2, 21, 22, 500, 10_000),  # another price and size (6)
    add(1, 14, b"B", 10, 499_900),  # joins the best bid (7)
    message(b"h", 1, b"TEST    QH"),  # an operational halt, which itchy does not know
])
ANSWERS = "messages=10,live_orders=4,levels=3,inside_changes=7"
PARSED = {
    "locates": 1 * 7 + 2 * 2,
    "references": 11 + 12 + 13 + 21 + 11 + 12 + 11 + 21 + 22 + 14,
    "shares": 100 + 200 + 300 + 400 + 60 + 50 + 500 + 10,
    "prices": 500_000 + 499_900 + 500_100 + 10_100 + 10_000 + 499_900,
}


def run(*words, day=DAY):
    """The exit status, and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.itch50"
        file.write_bytes(day)
        command = [sys.executable, str(HERE / "run"), str(file), "--rounds", "1", *words]
        done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Script(unittest.TestCase):
    def test_every_program_gives_the_answers_worked_out_by_hand(self):
        expected = f"{ANSWERS},field_sum={sum(PARSED.values())}"
        status, printed = run("--expect", expected)
        self.assertEqual(status, 0, printed)
        self.assertNotIn("left out", printed)
        self.assertIn("all answers agree", printed)

    def test_a_wrong_expectation_is_found(self):
        status, printed = run("--only", "nanotape-books", "--expect", "live_orders=5")
        self.assertEqual(status, 1, printed)
        self.assertIn("ANSWERS DISAGREE: live_orders: 5 (expected) but 4", printed)

    def test_a_difference_between_programs_is_found(self):
        # A length that does not fit its type: nanotape skips the message, the rival trusts the length.
        damaged = bytearray(DAY)
        damaged[1] += 1
        chosen = "nanotape-decode,itch-book-parse"
        status, printed = run("--only", chosen, day=bytes(damaged))
        self.assertEqual(status, 1, printed)
        self.assertIn("ANSWERS DISAGREE", printed)

    def test_a_program_that_fails_is_named_and_not_in_the_table(self):
        unknown = DAY + message(b"z", 1, b"")
        status, printed = run("--only", "nanotape-decode,itch5", day=unknown)
        self.assertEqual(status, 0, printed)
        self.assertIn("left out: itch5: after 10 messages", printed)

    def test_an_empty_record_may_end_the_session(self):
        status, printed = run("--only", "nanotape-decode,itch5,itchy", day=DAY + bytes(2))
        self.assertEqual(status, 0, printed)
        self.assertNotIn("left out", printed)

    def test_mistakes_of_usage_are_one_line(self):
        for words, what in [
            (["--only", "helix"], "no program is called helix"),
            (["--rounds", "0"], "at least 1"),
            (["--expect", "levels"], "needs a name, = and a number"),
        ]:
            status, printed = run(*words)
            self.assertEqual(status, 2, printed)
            self.assertIn(what, printed)
            self.assertEqual(len(printed.strip().splitlines()), 1, printed)


if __name__ == "__main__":
    unittest.main()
