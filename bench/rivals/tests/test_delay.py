"""The table of the rivals of correlations: rows from runs that are worked out by hand."""

import types
import unittest
from unittest import mock

from delay import compare
from delay.compare import Delay
from harness import build

DELAY = Delay()


def run(name, mode, ns, number=0):
    return {"name": name, "mode": mode, "ns": ns, "version": "1", "round": number}


class Summary(unittest.TestCase):
    def test_ratios_are_to_the_transforms_of_fftw_in_the_same_round(self):
        rows = DELAY.summary([
            run("nanotape", "whole/2048", 300), run("nanotape", "whole/2048", 900, 1),
            run("nanotape", "whole/2048", 400, 2), run("fftw", "transforms/2048", 300),
            run("fftw", "transforms/2048", 600, 1), run("fftw", "transforms/2048", 500, 2),
            run("scipy", "whole/16384", 7),
        ])
        found = {(row["name"], row["points"], row["part"]): row for row in rows}
        own = found["nanotape", 2_048, "whole"]
        self.assertEqual(own["ns"], {"median": 400, "min": 300, "max": 900})
        self.assertEqual(own["x_fftw"], 1.0)
        self.assertIsNone(found["scipy", 16_384, "whole"]["x_fftw"])

    def test_a_row_has_a_cell_for_every_heading(self):
        (row,) = DELAY.summary([run("numpy", "whole/2048", 5)])
        self.assertEqual(len(DELAY.cells(row)), len(DELAY.headings))
        self.assertEqual(DELAY.cells(row)[-1], "-")

    def test_rows_of_nanotape_become_runs(self):
        row = {"name": "whole/2048", "latency": {"p50_ns": 5.0}, "environment": {"revision": "0123456789"}}
        expected = {"name": "nanotape", "mode": "whole/2048", "ns": 5.0, "version": "0123456"}
        self.assertEqual(DELAY.as_run(row), expected)


class Programs(unittest.TestCase):
    def test_what_is_not_installed_is_left_out_with_its_reason(self):
        def unavailable():
            raise build.Unavailable("no compiler")
        with mock.patch.object(compare, "compiled", unavailable), \
                mock.patch.object(compare, "python", lambda: lambda name: ["python", name]):
            commands, missing = DELAY.build(compare.PROGRAMS)
        self.assertEqual(missing, {"fftw": "no compiler"})
        self.assertEqual(commands, {"scipy": ["python", "scipy"], "numpy": ["python", "numpy"]})

    def test_every_program_correlates_as_many_points(self):
        options = types.SimpleNamespace(messages=1_000_000)
        jobs = DELAY.jobs(compare.PROGRAMS, {"fftw": ["correlate"]}, [1, 0], options)
        self.assertEqual(len(jobs), len(compare.POINTS) * len(compare.PARTS))
        words = ["taskset", "-c", "1", "correlate", "2048", "488", "transforms"]
        facts = {"name": "fftw", "mode": "transforms/2048"}
        self.assertEqual(jobs[0], ("fftw", "transforms/2048", words, facts))


if __name__ == "__main__":
    unittest.main()
