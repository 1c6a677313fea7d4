"""The table of the rivals of the ring: rows from runs that are worked out by hand."""

import re
import types
import unittest

from harness import table
from harness.build import HERE
from harness.options import choose
from ring.compare import Ring
from ring.programs import MODES, PROGRAMS

RING = Ring()


def times(p50):
    return {"p50": p50, "p90": p50 * 2, "p99": p50 * 10, "p99_9": p50 * 20, "max": p50 * 30}


def flat(name, rate, received=100, lost=0):
    readers = [{"received": received, "lost": lost, "laps": 0}]
    return {"name": name, "mode": "throughput", "messages_per_second": rate, "readers": readers}


def paced(name, p50):
    return {"name": name, "mode": "latency", "from_send_ns": times(p50)}


def there_and_back(name, p50):
    return {"name": name, "mode": "ping-pong", "round_trip_ns": times(p50)}


class Summary(unittest.TestCase):
    def test_medians_and_spreads_over_rounds(self):
        runs = [flat("a", 3e6), flat("a", 1e6), flat("a", 10e6), paced("a", 200), paced("a", 100)]
        (row,) = RING.summary(runs, None)
        self.assertEqual(row["throughput"], {"median": 3.0, "min": 1.0, "max": 10.0})
        way = row["one_way_ns"]
        self.assertEqual((way["p50"], way["p90"], way["p99"]), (150, 300, 1500))
        self.assertEqual((way["p50_min"], way["p50_max"]), (100, 200))
        self.assertIsNone(way["x_limit"])
        self.assertIsNone(row["round_trip_ns"])

    def test_the_limit_of_one_way_is_half_of_the_bounce(self):
        (row,) = RING.summary([paced("a", 300), there_and_back("a", 600)], 300)
        self.assertEqual(row["one_way_ns"]["x_limit"], 2.0)
        self.assertEqual(row["round_trip_ns"]["x_limit"], 2.0)

    def test_the_share_that_a_lossy_queue_delivers_is_that_of_its_worst_reader(self):
        runs = [flat("a", 1e6, received=100), flat("a", 1e6, received=30, lost=70)]
        self.assertEqual(RING.summary(runs, None)[0]["received_share"], 0.3)

    def test_readers_that_are_only_counted_give_no_share(self):
        run = dict(flat("a", 1e6), readers=[1])
        self.assertIsNone(RING.summary([run], None)[0]["received_share"])


class Text(unittest.TestCase):
    def test_a_row_has_a_cell_for_every_heading(self):
        for runs in [[flat("a", 1e6)], [paced("a", 5)], [there_and_back("a", 5)]]:
            (row,) = RING.summary(runs, None)
            self.assertEqual(len(RING.cells(row)), len(RING.headings))

    def test_durations_keep_their_unit(self):
        shown = [table.duration(n) for n in [145.4, 9_999, 12_340, 5_930_444, 2e9]]
        self.assertEqual(shown, ["145", "9999", "12.3us", "5.93ms", "2000ms"])

    def test_programs_that_are_left_out_are_named(self):
        printed = RING.text([], [("rtrb", "cargo is not there")])
        self.assertIn("left out: rtrb: cargo is not there", printed)


def row(name, **fields):
    """A row of the list: it has every field, and null where a field does not apply."""
    return {"name": name, "read_per_second": None, "latency": None} | fields


def latency(p50):
    names = ("p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns")
    return dict.fromkeys(names, p50)


class OwnRows(unittest.TestCase):
    def test_rows_of_the_list_become_runs(self):
        answer = {"read": 9, "lost": 0}
        rate = row("slots/throughput/lossless-batch-read", read_per_second=7e7, answer=answer)
        run = RING.as_run(rate)
        self.assertEqual(
            (run["name"], run["mode"], run["messages_per_second"]),
            ("nanotape slots, read in batches", "throughput", 7e7),
        )
        self.assertIn("nanotape slots, read in batches", RING.text(RING.summary([run], 300), []))
        run = RING.as_run(row("stream/latency", latency=latency(230)))
        self.assertEqual((run["name"], run["from_send_ns"]["p99_9"]), ("nanotape stream", 230))
        run = RING.as_run(row("stream/round-trip", latency=latency(430)))
        self.assertEqual((run["mode"], run["round_trip_ns"]["p50"]), ("ping-pong", 430))

    def test_the_limit_is_the_median_bounce_and_no_row_of_the_table(self):
        rows = [row("limit/line", latency=latency(p50)) for p50 in [310, 290, 300]]
        limits = [RING.as_run(limit) for limit in rows]
        self.assertEqual(RING.facts(limits), {"line_bounce_ns": 300})
        self.assertEqual(RING.summary(limits, 300), [])
        self.assertIsNone(RING.facts([flat("a", 1e6)])["line_bounce_ns"])


class Programs(unittest.TestCase):
    def test_every_program_in_rust_is_a_feature_of_its_crate(self):
        manifest = (HERE / "ring" / "Cargo.toml").read_text().partition("[features]")[2]
        features = set(re.findall(r"^([a-z0-9-]+) =", manifest, re.MULTILINE)) - {"default"}
        self.assertEqual({program.name for program in PROGRAMS if program.kind == "rust"}, features)


class Jobs(unittest.TestCase):
    def test_a_command_for_every_mode_of_what_was_built(self):
        options = types.SimpleNamespace(messages=2_000_000)
        found = RING.jobs(PROGRAMS, {"rtrb": ["rivals-ring", "rtrb"]}, [2, 5], options)
        self.assertEqual([job[:2] for job in found], [("rtrb", mode) for mode in MODES])
        self.assertEqual(
            found[0][2],
            ["rivals-ring", "rtrb", "throughput", "--cpus", "2,5", "--messages", "2000000"],
        )

    def test_slow_programs_get_fewer_but_not_at_a_fixed_rate(self):
        (slow,) = choose(PROGRAMS, ["iceoryx2"])
        counts = [slow.messages(mode) for mode in MODES]
        self.assertEqual(counts, [1_000_000, 2_000_000, 50_000])


if __name__ == "__main__":
    unittest.main()
