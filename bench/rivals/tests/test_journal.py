"""The table of the rivals of the journal: rows from runs that are worked out by hand."""

import types
import unittest

from journal.compare import PROGRAMS, Journal

JOURNAL = Journal()


def times(p50):
    return {"p50": p50, "p90": p50 * 2, "p99": p50 * 10, "p99_9": p50 * 20, "p99_99": p50 * 25, "max": p50 * 30}


def run(name, mode, **fields):
    return {"name": name, "mode": mode, "version": "1", "scope": "threads", "message_bytes": 73, **fields}


class Summary(unittest.TestCase):
    def test_medians_over_rounds_and_ratios_to_nanotape_of_the_same_length(self):
        rows = JOURNAL.summary([
            *(run("a", "throughput", messages_per_second=rate) for rate in [3e6, 1e6, 10e6]),
            run("a", "call", call_ns=times(400)),
            run("nanotape", "throughput", messages_per_second=30e6),
            run("nanotape", "call", call_ns=times(40)),
            run("nanotape", "call", call_ns=times(40), message_bytes=256),
        ])
        found = {(row["name"], row["bytes"]): row for row in rows}
        self.assertEqual(found["a", 73]["throughput"], {"median": 3.0, "min": 1.0, "max": 10.0})
        self.assertEqual((found["a", 73]["x_rate"], found["a", 73]["x_call"]), (10.0, 10.0))
        self.assertEqual((found["nanotape", 256]["x_rate"], found["nanotape", 256]["x_call"]), (None, 1.0))

    def test_a_row_has_a_cell_for_every_heading(self):
        for one in [
            run("a", "throughput", messages_per_second=1e6), run("a", "call", call_ns=times(5)),
            run("a", "tail", rate=100_000, from_send_ns=times(5)),
        ]:
            (row,) = JOURNAL.summary([one])
            self.assertEqual(len(JOURNAL.cells(row)), len(JOURNAL.headings))
        self.assertIn("left out: sqlite: no compiler", JOURNAL.text([], [("sqlite", "no compiler")]))


class OwnRows(unittest.TestCase):
    def test_rows_of_the_list_become_runs(self):
        latency = dict.fromkeys(["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns"], 7)
        row = {
            "name": "tail/73/100000", "message_bytes": 73, "rate_per_second": 100_000, "latency": latency,
            "written_per_second": None,
        }
        found = JOURNAL.as_run(row)
        self.assertEqual((found["mode"], found["rate"], found["from_send_ns"]["p99_99"]), ("tail", 100_000, 7))
        row |= {"name": "append/73/throughput", "written_per_second": 2e7}
        self.assertEqual(JOURNAL.as_run(row)["messages_per_second"], 2e7)


class Jobs(unittest.TestCase):
    def test_programs_that_wait_for_the_disk_use_it_and_get_fewer_messages(self):
        options = types.SimpleNamespace(folder="/memory", disk="/disk", messages=4_000_000)
        found = JOURNAL.jobs(PROGRAMS, {"sqlite": ["s"], "chronicle-queue": ["c"]}, [0, 1], options)
        by_name = {(name, mode): command for name, mode, command, _ in found}
        full = by_name["sqlite full, 1 a commit", "call"]
        self.assertIn("/disk", full)
        self.assertEqual(full[full.index("--messages") + 1], "2000")
        self.assertIn("/memory", by_name["chronicle-queue", "tail 256 100000"])


if __name__ == "__main__":
    unittest.main()
