"""The table of the rivals of spans: rows from runs that are worked out by hand."""

import types
import unittest
from unittest import mock

from harness import build
from harness.options import choose
from trace.compare import PROGRAMS, Trace

TRACE = Trace()


def run(name, adds):
    return {"name": name, "mode": "span", "version": "1", "adds_ns": adds, "ns": 20 + adds, "work_ns": 20}


class Summary(unittest.TestCase):
    def test_medians_over_rounds_and_ratios_to_nanotape(self):
        rows = TRACE.summary([
            *(run("nanotape", adds) for adds in [10, 9, 30]), run("nanotape-off", 1), run("tracing", 200),
        ])
        found = {row["name"]: row for row in rows}
        self.assertEqual(found["nanotape"]["adds_ns"], {"median": 10, "min": 9, "max": 30})
        self.assertEqual(found["tracing"]["x_nanotape"], 20)
        self.assertIsNone(found["nanotape"]["x_nanotape"])
        # A switch that is off is no span.
        self.assertIsNone(found["nanotape-off"]["x_nanotape"])

    def test_a_row_has_a_cell_for_every_heading(self):
        (row,) = TRACE.summary([run("tracing", 5)])
        self.assertEqual(len(TRACE.cells(row)), len(TRACE.headings))
        self.assertEqual(TRACE.cells(row)[4], "-")


class Programs(unittest.TestCase):
    def test_a_crate_that_cannot_be_built_leaves_out_its_programs_only(self):
        def cargo(_package, features, *_rest):
            if "fastrace" in features:
                raise build.Unavailable("no network")
            return "program"
        with mock.patch.object(build, "cargo", cargo):
            commands, missing = TRACE.build(PROGRAMS)
        self.assertEqual(missing, dict.fromkeys(["fastrace", "fastrace-name", "fastrace-off"], "no network"))
        self.assertEqual(commands["nanotape-off"], ["program", "nanotape-off"])
        self.assertEqual({*commands, *missing}, {program.name for program in PROGRAMS})

    def test_nanotape_alone_needs_no_crate_of_others(self):
        with mock.patch.object(build, "cargo", lambda _package, features, *_rest: features):
            commands, missing = TRACE.build(choose(PROGRAMS, ["nanotape", "stamp"]))
        self.assertEqual((commands["nanotape"], missing), ([[], "nanotape"], {}))

    def test_every_program_records_as_many_spans(self):
        options = types.SimpleNamespace(messages=100_000)
        jobs = TRACE.jobs(PROGRAMS, {"tracing": ["t", "tracing"]}, [0, 1], options)
        words = ["t", "tracing", "--cpus", "0,1", "--spans", "100000"]
        self.assertEqual(jobs, [("tracing", "span", words, {})])


if __name__ == "__main__":
    unittest.main()
