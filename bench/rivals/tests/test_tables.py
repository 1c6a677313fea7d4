"""The rivals of tables: ratios, goals and differences from runs and rows that are worked out by hand."""

import tempfile
import unittest
from unittest import mock

from harness import build
from tables import compare, judge, runs

try:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tables import answers, reads, records
except ImportError:
    np = None


def run(seconds, number=0, **more):
    return {"seconds": seconds, "cpu_seconds": 2 * seconds, "rows": 10, "bytes": 2_000_000, "round": number, **more}


def read(seconds, number=0):
    """A run that reads 4 GB of records."""
    return {**run(seconds, number), "bytes": 4 * 10**9, "gb_per_second": 4 / seconds}


FOUND = {
    ("nanotape", "mbo"): [run(2.0, peak_bytes=3 << 20), run(9.0, 1, peak_bytes=5 << 20), run(4.0, 2, peak_bytes=1)],
    ("itch-book", "mbo"): [run(6.0), run(9.0, 1), run(8.0, 2)],
    ("parquet", "mbo"): [run(2.0), run(4.5, 1), run(4.0, 2)],
    ("parquet", "bbo+trades"): [],
}
VERSIONS = {"nanotape": "1", "itch-book": "2", "parquet": "3", "databento": "4", "numpy": "5"}
READ = {
    ("nanotape", "dbn to numpy"): [read(2.0), read(4.0, 1), read(8.0, 2)],
    ("databento", "dbn to numpy"): [read(4.0), read(4.0, 1), read(2.0, 2)],
    ("nanotape", "journal to numpy"): [read(2.0), read(5.0, 1)],
    ("numpy", "journal to numpy"): [read(1.0), read(2.5, 1)],
}


class Summary(unittest.TestCase):
    def setUp(self):
        self.rows = judge.summary(FOUND, VERSIONS)

    def test_ratios_are_to_the_same_round(self):
        # 1/3, 1 and 1/2 of itch-book's time; 1, 2 and 1 times the limit.
        own, rival, limit = self.rows
        self.assertEqual((own["x_rival"], own["x_limit"]), (0.5, 1.0))
        self.assertEqual((rival["x_rival"], rival["x_limit"]), (1.0, None))
        self.assertEqual((limit["x_rival"], limit["x_limit"]), (None, None))

    def test_times_are_medians_and_memory_is_the_peak(self):
        own, _, limit = self.rows
        self.assertEqual(own["seconds"], {"median": 4.0, "min": 2.0, "max": 9.0})
        self.assertEqual((own["cpu_seconds"], own["peak_bytes"]), (8.0, 5 << 20))
        self.assertIsNone(limit["peak_bytes"])

    def test_a_row_has_a_cell_for_every_heading(self):
        for row in self.rows:
            self.assertEqual(len(compare.cells(row)), len(compare.HEADINGS))
        self.assertEqual(compare.cells(self.rows[0])[-4:], ["2.0", "-", "0.50", "1.00"])
        own, rival, journal, limit = judge.summary(READ, VERSIONS)
        expected = ["4.000", "2.000..8.000", "8.000", "-", "4000.0", "1.00", "1.00", "-"]
        self.assertEqual(compare.cells(own)[4:], expected)
        self.assertEqual(compare.cells(rival)[-2:], ["1.00", "-"])
        self.assertEqual(compare.cells(journal)[-3:], ["1.40", "-", "2.00"])
        self.assertEqual(compare.cells(limit)[-3:], ["2.80", "-", "-"])

    def test_goals_are_met_or_missed(self):
        (line,) = judge.goals(self.rows)
        self.assertIn("2.00 times as fast as itch-book (goal: at least 1.5, met)", line)
        self.assertIn("1.00 times the limit (goal: at most 1.2, met)", line)
        slow = {key: [run(7.0)] if key[0] == "nanotape" else runs for key, runs in FOUND.items()}
        (line,) = judge.goals(judge.summary(slow, VERSIONS))
        self.assertIn("0.86 times as fast as itch-book (goal: at least 1.5, missed)", line)
        self.assertIn("3.50 times the limit (goal: at most 1.2, missed)", line)

    def test_a_goal_of_a_job_is_gigabytes_per_second_and_databento_has_none(self):
        array, journal = judge.goals(judge.summary(READ, VERSIONS))
        self.assertEqual(array, "dbn to numpy: nanotape is 1.00 times as fast as databento")
        expected = "reads 1.40 GB/s (goal: at least 1.0, met), and takes 2.00 times the limit"
        self.assertEqual(journal, f"journal to numpy: nanotape {expected}")
        _, journal = judge.goals(judge.summary({**READ, ("nanotape", "journal to numpy"): [read(5.0)]}, VERSIONS))
        self.assertIn("reads 0.80 GB/s (goal: at least 1.0, missed)", journal)

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
            "table": "trades", "rival": "itch-book", "nanotape": 5, "itch-book": 1_205, "equal": 4,
            "differences": [explained, other],
        }
        lines = judge.differences([report])
        self.assertEqual(lines[1], "  1,200 explained (only itch-book): breaks")
        self.assertEqual(lines[2:], ["  1 NOT EXPLAINED (price): values, first", "    {'message': 7}"])
        self.assertEqual(judge.unexplained([report]), [other])


class Programs(unittest.TestCase):
    def test_what_cannot_be_built_is_left_out_with_its_reason(self):
        def unavailable():
            raise build.Unavailable("no pip")
        options = mock.Mock(programs="bin", wheel="a.whl")
        with mock.patch.object(compare, "nanotape", lambda programs: (f"{programs}/nanotape", "1")), \
                mock.patch.object(compare, "package", lambda wheel: (f"python with {wheel}", None)), \
                mock.patch.object(compare, "itch_book", unavailable), \
                mock.patch.object(compare, "databento", unavailable), \
                mock.patch.object(compare, "limit", lambda: ("rivals-tables", "3")):
            built, versions, left_out = compare.build_all(["nanotape", "itch-book", "parquet", "databento"], options)
        self.assertEqual(left_out, {"itch-book": "no pip", "databento": "no pip"})
        package = {compare.PACKAGE: "python with a.whl"}
        self.assertEqual(built, {"nanotape": "bin/nanotape", **package, "parquet": "rivals-tables"})
        self.assertEqual(versions, {"nanotape": "1", compare.PACKAGE: None, "parquet": "3"})

    def test_answers_are_compared_where_both_programs_are_there(self):
        def jobs(converted, readers):
            commands = compare.questions({"databento": "python"}, {}, converted, readers, "first", "records")
            return [command[4:] for command in commands]
        both = {"nanotape": "python", "databento": "python"}
        self.assertEqual(jobs(both, both), [[runs.PARQUET, *runs.ARRAYS]])
        self.assertEqual(jobs(both, {"databento": "python"}), [[runs.PARQUET]])
        self.assertEqual(jobs({}, {"nanotape": "python", "numpy": "python"}), [["journal to numpy"]])
        self.assertEqual(jobs({}, {}), [])

    def test_a_process_that_fails_gives_the_line_with_its_reason(self):
        for reason, expected in [(0, "first"), (-1, "last")]:
            with self.assertRaisesRegex(compare.Failed, expected):
                runs.measured(["sh", "-c", "echo first; echo last; exit 3"], reason)


@unittest.skipIf(np is None, "numpy and pyarrow are not installed; the environment of `run tables` has it")
class Records(unittest.TestCase):
    """Few records: what both libraries make of them."""

    def compare(self, ours, theirs, rule=None):
        """The report of columns, and the rows of each class of differences."""
        sides = []
        for columns in (ours, theirs):
            columns = {name: np.array(values) for name, values in columns.items()}
            (count,) = {len(values) for values in columns.values()}
            sides.append((count, {name: lambda values=values: values for name, values in columns.items()}))
        report = records.compare("a job", "databento", *sides, rule or records.no_rule)
        found = {(one["where"], one["what"]): one["rows"] for one in report["differences"]}
        return report, found

    def test_fields_that_both_have_are_compared(self):
        report, found = self.compare({"size": [1, 2], "own": [0, 0]}, {"size": [1, 2], "other": [5, 5]})
        self.assertEqual((report["nanotape"], report["databento"], report["equal"], found), (2, 2, 2, {}))

    def test_other_values_and_missing_rows_are_not_explained(self):
        ours, theirs = {"size": [1, 2, 3], "side": [b"A", b"B", b"N"]}, {"size": [1, 5], "side": [b"A", b"A"]}
        report, found = self.compare(ours, theirs)
        self.assertEqual(found, {("only nanotape", "rows"): 1, ("size", "values"): 1, ("side", "values"): 1})
        self.assertEqual((report["equal"], len(judge.unexplained([report]))), (1, 3))
        self.assertEqual(report["differences"][1]["examples"], [{"row": 1, "nanotape": "2", "databento": "5"}])

    def test_an_absent_value_is_explained_by_that_of_dbn(self):
        undefined = np.iinfo(np.int64).max
        _, found = self.compare(
            {"order_id": [7, -1, -1], "price": [-1, -1, 4], "size": [1, 1, -1]},
            {"order_id": [7, 0, 9], "price": [undefined, 3, 4], "size": [1, 1, 0]}, records.absent,
        )
        self.assertEqual(found, {
            ("order_id", records.ABSENT): 1, ("order_id", "values"): 1, ("price", records.ABSENT): 1,
            ("price", "values"): 1, ("size", "values"): 1,
        })

    def test_a_receive_time_is_explained_if_the_file_repeats_that_of_the_event(self):
        _, found = self.compare({"ts_recv": [90, 91]}, {"ts_recv": [10, 12]}, records.received(np.array([10, 11])))
        self.assertEqual(found, {("ts_recv", records.RECEIVED): 1, ("ts_recv", "values"): 1})

    def test_columns_of_a_parquet_file_become_fields(self):
        table = pa.table({
            "own": pa.array([5, None], pa.uint64()), "time": pa.array([3, 4], pa.timestamp("ns", "UTC")),
            "text": pa.array(["B", None]).dictionary_encode(), "long": pa.array(["BA", "B"], pa.large_string()),
        })
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            pq.write_table(table, file.name)
            names = {"own": "order_id", "time": "time", "text": "text", "long": "long"}
            count, fields = records.of_file(file.name, names)
            values = {name: read().tolist() for name, read in fields.items()}
        self.assertEqual(count, 2)
        self.assertEqual(values, {"order_id": [5, -1], "time": [3, 4], "text": [b"B", b""], "long": [b"BA", b"B"]})

    def test_the_first_call_does_not_count(self):
        array = np.zeros(10, [("size", "<u4"), ("flags", "u1")])
        clock = iter([0, 50, 100, 101, 200, 204, 300, 302])
        with mock.patch.object(reads.time, "perf_counter", lambda: next(clock)):
            found = reads.measure(lambda: array, True)
        self.assertEqual((found["seconds"], found["rows"], found["bytes"]), (2, 10, 50))
        self.assertEqual(found["gb_per_second"], 25e-9)

    def test_a_copy_has_the_bytes_of_the_records_behind_the_metadata(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"DBN\x03" + (5).to_bytes(4, "little") + b"names" + bytes(range(56)) * 2)
            file.flush()
            copy = reads.copies(file.name)()
        self.assertEqual((len(copy), copy.tobytes()), (2, bytes(range(56)) * 2))


DOLLAR = 1_000_000_000


@unittest.skipIf(np is None, "numpy and pyarrow are not installed; the environment of `run tables` has it")
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
