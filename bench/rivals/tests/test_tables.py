"""The rivals of tables: ratios, goals and differences from runs and rows that are worked out by hand."""

import unittest
from unittest import mock

from harness import build
from tables import compare, judge

try:
    import numpy as np

    from tables import answers
except ImportError:
    np = None


def run(seconds, number=0, **more):
    return {"seconds": seconds, "cpu_seconds": 2 * seconds, "rows": 10, "bytes": 2_000_000, "round": number, **more}


FOUND = {
    ("nanotape", "mbo"): [run(2.0, peak_bytes=3 << 20), run(9.0, 1, peak_bytes=5 << 20), run(4.0, 2, peak_bytes=1)],
    ("itch-book", "mbo"): [run(6.0), run(9.0, 1), run(8.0, 2)],
    ("parquet", "mbo"): [run(2.0), run(4.5, 1), run(4.0, 2)],
    ("parquet", "bbo+trades"): [],
}
VERSIONS = {"nanotape": "1", "itch-book": "2", "parquet": "3"}


class Summary(unittest.TestCase):
    def setUp(self):
        self.rows = judge.summary(FOUND, VERSIONS)

    def test_ratios_are_to_the_same_round(self):
        # 1/3, 1 and 1/2 of itch-book's time; 1, 2 and 1 times the limit.
        own, rival, limit = self.rows
        self.assertEqual((own["x_itch_book"], own["x_limit"]), (0.5, 1.0))
        self.assertEqual((rival["x_itch_book"], rival["x_limit"]), (1.0, None))
        self.assertEqual((limit["x_itch_book"], limit["x_limit"]), (None, None))

    def test_times_are_medians_and_memory_is_the_peak(self):
        own, _, limit = self.rows
        self.assertEqual(own["seconds"], {"median": 4.0, "min": 2.0, "max": 9.0})
        self.assertEqual((own["cpu_seconds"], own["peak_bytes"]), (8.0, 5 << 20))
        self.assertIsNone(limit["peak_bytes"])

    def test_a_row_has_a_cell_for_every_heading(self):
        for row in self.rows:
            self.assertEqual(len(compare.cells(row)), len(compare.HEADINGS))
        self.assertEqual(compare.cells(self.rows[0])[-3:], ["2.0", "0.50", "1.00"])

    def test_goals_are_met_or_missed(self):
        (line,) = judge.goals(self.rows)
        self.assertIn("2.00 times as fast as itch-book (goal: at least 1.5, met)", line)
        self.assertIn("1.00 times the limit (goal: at most 1.2, met)", line)
        slow = {key: [run(7.0)] if key[0] == "nanotape" else runs for key, runs in FOUND.items()}
        (line,) = judge.goals(judge.summary(slow, VERSIONS))
        self.assertIn("0.86 times as fast as itch-book (goal: at least 1.5, missed)", line)
        self.assertIn("3.50 times the limit (goal: at most 1.2, missed)", line)

    def test_without_nanotape_there_is_no_verdict(self):
        found = {key: runs for key, runs in FOUND.items() if key[0] != "nanotape"}
        self.assertIn("no verdict", judge.goals(judge.summary(found, VERSIONS))[0])


class Printed(unittest.TestCase):
    def test_rows_of_both_programs_are_read(self):
        own = "nanotape: bbo: 1,234 rows, 2.9 MB in a/bbo.parquet\nnanotape: trades: 1 row, 0.2 MB in trades.parquet\n"
        rival = "bbo     1,234 rows     4.1 MB  a/bbo.parquet\ntrades    2 rows\nsymbols   8,500 rows\n"
        self.assertEqual(judge.printed_rows(own, ["bbo", "trades"]), 1_235)
        self.assertEqual(judge.printed_rows(rival, ["bbo", "trades"]), 1_236)

    def test_classes_of_differences_are_printed_with_rule_or_rows(self):
        explained = {"where": "only itch-book", "what": "breaks", "rows": 1_200, "explained": True, "examples": [1]}
        other = {"where": "price", "what": "values", "rows": 1, "explained": False, "examples": [{"message": 7}]}
        report = {
            "table": "trades", "nanotape": 5, "itch-book": 1_205, "equal": 4, "differences": [explained, other],
        }
        lines = judge.differences([report])
        self.assertEqual(lines[1], "  1,200 explained (only itch-book): breaks")
        self.assertEqual(lines[2:], ["  1 NOT EXPLAINED (price): values, first", "    {'message': 7}"])
        self.assertEqual(judge.unexplained([report]), [other])


class Programs(unittest.TestCase):
    def test_what_cannot_be_built_is_left_out_with_its_reason(self):
        def unavailable():
            raise build.Unavailable("no pip")
        with mock.patch.object(compare, "nanotape", lambda programs: (f"{programs}/nanotape", "1")), \
                mock.patch.object(compare, "itch_book", unavailable), \
                mock.patch.object(compare, "limit", lambda: ("rivals-tables", "3")):
            built, versions, left_out = compare.build_all(["nanotape", "itch-book", "parquet"], "bin")
        self.assertEqual(left_out, {"itch-book": "no pip"})
        self.assertEqual(built, {"nanotape": "bin/nanotape", "parquet": "rivals-tables"})
        self.assertEqual(versions, {"nanotape": "1", "parquet": "3"})

    def test_a_process_that_fails_gives_the_line_with_its_reason(self):
        for reason, expected in [(0, "first"), (-1, "last")]:
            with self.assertRaisesRegex(compare.Failed, expected):
                compare.measured(["sh", "-c", "echo first; echo last; exit 3"], reason)


DOLLAR = 1_000_000_000


@unittest.skipIf(np is None, "numpy is not installed; the environment of `run tables` has it")
class Answers(unittest.TestCase):
    """Few messages: what both programs write of them."""

    def setUp(self):
        self.names = answers.Names()
        self.tables = {table.name: table for table in answers.TABLES}

    def block(self, rows, columns):
        """Rows of tuples as a block. Words are numbers, letters their codes."""
        letters = ("action", "side", "type")
        values = {name: [] for name in columns}
        for row in rows:
            for name, cell in zip(columns, row, strict=True):
                if cell is None:
                    cell = answers.ABSENT
                elif isinstance(cell, str):
                    is_letter = name in letters or name == "kind" and len(cell) == 1
                    cell = ord(cell) if is_letter else self.names.code(cell)
                values[name].append(cell)
        return {
            name: np.array(cells, np.float64 if any(isinstance(cell, float) for cell in cells) else np.int64)
            for name, cells in values.items()
        }

    def compare(self, table, ours, theirs):
        """The report, and the rows of each class of differences by its rule."""
        sides = [[self.block([], columns)] + [self.block([row], columns) for row in rows]
                 for columns, rows in (ours, theirs)]
        report = answers.compare(self.tables[table], iter(sides[0]), iter(sides[1]), self.names)
        return report, {(one["where"], one["what"]): one for one in report["differences"]}

    BBO = "message ts_event symbol bid_price bid_size bid_orders ask_price ask_size ask_orders reason".split()
    THEIR_BBO = "message ts_event symbol locate bid_px bid_sz bid_ct ask_px ask_sz ask_ct".split()

    def test_equal_insides_agree_and_absent_sides_too(self):
        nan = float("nan")
        ours = [(5, 9, "A", DOLLAR // 10, 100, 1, None, None, None, None)]
        theirs = [(5, 9, "A", 1, 0.1, 100, 1, nan, 0, 0)]
        report, differences = self.compare("bbo", (self.BBO, ours), (self.THEIR_BBO, theirs))
        self.assertEqual((report["nanotape"], report["itch-book"], report["equal"]), (1, 1, 1))
        self.assertEqual(differences, {})

    def test_other_values_and_missing_rows_are_not_explained(self):
        row = (5, 9, "A", DOLLAR, 100, 1, 2 * DOLLAR, 50, 1, None)
        ours = [row, (6, *row[1:]), (8, *row[1:])]
        theirs = [
            (5, 9, "A", 1, 1.0, 90, 1, 2.0, 50, 1), (7, 9, "A", 1, 1.0, 100, 1, 2.0, 50, 1),
            (8, 9, "A", 1, 1.00001, 100, 1, 2.0, 50, 1),
        ]
        report, found = self.compare("bbo", (self.BBO, ours), (self.THEIR_BBO, theirs))
        expected = {
            ("bid_size", "values"): 1, ("bid_price", "values"): 1, ("only nanotape", "rows"): 1,
            ("only itch-book", "rows"): 1,
        }
        self.assertEqual({key: one["rows"] for key, one in found.items()}, expected)
        self.assertFalse(any(one["explained"] for one in found.values()))
        self.assertEqual(report["equal"], 0)
        (example,) = found["only nanotape", "rows"]["examples"]
        self.assertEqual((example["message"], example["symbol"]), (6, "A"))

    def test_names_that_no_directory_message_gives_are_explained(self):
        cells = (DOLLAR, 100, 1, 2 * DOLLAR, 50, 1, None)
        theirs = (1.0, 100, 1, 2.0, 50, 1)
        ours = [(5, 9, "A", *cells), (6, 9, "#7", *cells), (7, 9, "#7", *cells)]
        report, found = self.compare(
            "bbo", (self.BBO, ours),
            (self.THEIR_BBO, [(5, 9, "", 1, *theirs), (6, 9, "", 7, *theirs), (7, 9, "", 8, *theirs)]),
        )
        self.assertEqual(found["symbol", answers.UNNAMED.text]["rows"], 2)
        # The locate of another stock.
        self.assertEqual(found["symbol", "values"]["rows"], 1)
        self.assertEqual(report["equal"], 0)

    TRADES = (
        "message ts_event symbol kind price size aggressor order_reference_number match_number broken reason".split()
    )
    THEIR_TRADES = "message ts_event symbol locate kind price size side order_id match_number broken".split()

    def test_trades_differ_by_breaks_empty_crosses_and_unknown_orders(self):
        nan = float("nan")
        ours = [
            (1, 9, "A", "execution", DOLLAR, 10, "buy", 11, 101, True, None),
            (2, 9, "A", "hidden", DOLLAR, 10, None, None, 102, False, None),
            (3, 9, "A", "cross", DOLLAR, 10, None, None, 103, False, None),
            (6, 9, "A", "execution", None, 10, None, 12, 104, False, "taint"),
            (7, 9, "A", "execution", None, 10, None, 13, 105, False, None),
        ]
        theirs = [
            (1, 9, "A", 1, "E", 1.0, 10, "S", 11, 101, 1), (2, 9, "A", 1, "P", 1.0, 10, "N", 0, 102, 0),
            (3, 9, "A", 1, "Q", 1.0, 10, "N", 0, 103, 0), (4, 9, "A", 1, "Q", nan, 0, "N", 0, 106, 0),
            (5, 9, "A", 1, "B", nan, 0, "N", 0, 101, 0),
        ]
        report, found = self.compare("trades", (self.TRADES, ours), (self.THEIR_TRADES, theirs))
        self.assertEqual(report["equal"], 3)
        expected = {
            ("only nanotape", answers.EXECUTED_UNKNOWN.text): 1, ("only nanotape", "rows"): 1,
            ("only itch-book", answers.BREAKS.text): 1, ("only itch-book", answers.NO_SHARES.text): 1,
        }
        self.assertEqual({key: one["rows"] for key, one in found.items()}, expected)

    def test_a_trade_that_only_one_program_marks_as_broken_differs(self):
        ours = [(1, 9, "A", "hidden", DOLLAR, 10, None, None, 102, False, None)]
        theirs = [(1, 9, "A", 1, "P", 1.0, 10, "N", 0, 102, 1)]
        _, found = self.compare("trades", (self.TRADES, ours), (self.THEIR_TRADES, theirs))
        self.assertEqual(list(found), [("broken", "values")])

    MBO = "message ts_event symbol action side price size order_reference_number reason".split()
    THEIR_MBO = (
        "message ts_event symbol locate type side price size remaining printable order_id old_order_id".split()
    )

    def test_a_message_becomes_the_rows_of_nanotape(self):
        ours = [
            (1, 9, "A", "A", "B", DOLLAR, 100, 11, None),
            # Printed at the price of the order.
            (2, 9, "A", "T", "A", DOLLAR, 30, None, None),
            (2, 9, "A", "F", "B", DOLLAR, 30, 11, None), (2, 9, "A", "C", "B", DOLLAR, 30, 11, None),
            # Not printed, at another price.
            (3, 9, "A", "F", "B", 2 * DOLLAR, 20, 11, None), (3, 9, "A", "C", "B", DOLLAR, 20, 11, None),
            (4, 9, "A", "C", "B", DOLLAR, 50, 11, None), (4, 9, "A", "A", "B", 3 * DOLLAR, 60, 12, None),
            (5, 9, "A", "C", "B", 3 * DOLLAR, 60, 12, None),
        ]
        theirs = [
            (1, 9, "A", 1, "A", "B", 1.0, 100, 100, 1, 11, 0), (2, 9, "A", 1, "E", "B", 1.0, 30, 70, 1, 11, 0),
            (3, 9, "A", 1, "C", "B", 2.0, 20, 50, 0, 11, 0), (4, 9, "A", 1, "U", "B", 3.0, 60, 60, 1, 12, 11),
            (5, 9, "A", 1, "D", "B", 3.0, 60, 0, 1, 12, 0),
        ]
        report, found = self.compare("mbo", (self.MBO, ours), (self.THEIR_MBO, theirs))
        self.assertEqual((report["equal"], found), (9, {}))
        report, found = self.compare("mbo", (self.MBO, ours[:-1]), (self.THEIR_MBO, theirs))
        self.assertEqual(list(found), [("only itch-book", "rows")])

    def test_mbo_differs_by_prints_without_orders_and_what_does_not_fit_a_book(self):
        nan = float("nan")
        ours = [
            (1, 9, "A", "T", "N", DOLLAR, 10, None, None),
            (3, 9, "A", "A", "B", 0, 10, 11, None),
            (5, 9, "B", "A", "B", DOLLAR, 10, 12, None), (6, 9, "B", "C", "B", DOLLAR, 10, 12, "taint"),
        ]
        theirs = [
            (2, 9, "A", 1, "D", "N", nan, 0, 0, 1, 99, 0), (3, 9, "A", 1, "A", "B", nan, 10, 0, 1, 11, 0),
            (4, 9, "A", 1, "X", "B", 1.0, 0, 10, 1, 12, 0), (5, 9, "B", 2, "A", "B", 1.0, 10, 10, 1, 12, 0),
            (6, 9, "B", 2, "X", "B", 1.0, 15, 0, 1, 12, 0),
        ]
        report, found = self.compare("mbo", (self.MBO, ours), (self.THEIR_MBO, theirs))
        expected = [
            ("only itch-book", answers.UNKNOWN_ORDER.text), ("only itch-book", answers.NOT_ENTERED.text),
            ("only itch-book", answers.NO_EFFECT.text), ("only nanotape", answers.NOT_OF_ORDERS.text),
            ("only nanotape", answers.ENTERED.text), ("size", answers.TOO_MANY.text),
        ]
        self.assertEqual(sorted(found), sorted(expected))
        self.assertEqual(report["equal"], 1)
        # The books of stock A differ from then on, and those of stock B do not.
        bbo = (DOLLAR, 100, 1, 2 * DOLLAR, 50, 1, None)
        _, found = self.compare(
            "bbo", (self.BBO, [(7, 9, "A", *bbo), (8, 9, "B", *bbo)]), (self.THEIR_BBO, []),
        )
        self.assertEqual(
            {key: one["rows"] for key, one in found.items()},
            {("only nanotape", answers.OTHER_BOOK.text): 1, ("only nanotape", "rows"): 1},
        )

    def test_rows_of_several_blocks_are_joined(self):
        columns = ["message", "value"]
        ours = [self.block([], columns), self.block([(1, 0), (2, 1)], columns), self.block([(2, 2), (9, 3)], columns)]
        theirs = [self.block([], columns), self.block([(2, 0)], columns), self.block([(4, 1)], columns)]
        blocks = [tuple(side["message"].tolist() for side in pair) for pair in answers.paired(iter(ours), iter(theirs))]
        self.assertEqual([sum((pair[side] for pair in blocks), []) for side in (0, 1)], [[1, 2, 2, 9], [2, 4]])
        # Rows of one message are never in two pairs.
        self.assertEqual(sum(2 in own or 2 in rival for own, rival in blocks), 1)
        with self.assertRaises(ValueError):
            list(answers.paired(iter(ours[::-1]), iter(theirs)))


if __name__ == "__main__":
    unittest.main()
