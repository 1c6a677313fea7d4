"""The table of the rivals of the map: rows from runs that are worked out by hand."""

import types
import unittest
from unittest import mock

from harness import build
from map.compare import PROGRAMS, Map

MAP = Map()
TIMES = dict.fromkeys(["p50", "p90", "p99", "p99_9", "p99_99", "max"], 7)


def run(name, mode, entries=1_000_000, **more):
    return {"name": name, "mode": mode, "version": "1", "scope": "threads", "entries": entries, "sides": 1, **more}


def rate(name, millions, sides=1, entries=1_000_000):
    return run(name, "throughput", entries, updates_per_second=millions * 1e6) | {"sides": sides}


def kill(name, survived, reason=None):
    more = {"kills": 20, "survived": survived, "slowest_seconds": 0.5, "reason": reason}
    return run(name, "kill", 100_000, **more)


class Summary(unittest.TestCase):
    def test_sides_and_numbers_of_keys_are_apart(self):
        rows = MAP.summary([
            *(rate("nanotape", millions) for millions in [4, 9, 5]), rate("nanotape", 8, sides=2),
            rate("nanotape", 2, entries=10_000_000), rate("scc", 10), rate("scc", 16, sides=2),
            run("scc", "latency", call_ns=TIMES, from_due_ns=TIMES),
        ])
        self.assertEqual([row["entries"] for row in rows], [1_000_000, 1_000_000, 10_000_000])
        scc = next(row for row in rows if row["name"] == "scc")
        self.assertEqual((scc["x_by_one"], scc["x_by_two"], scc["call_ns"]["p99"]), (0.5, 0.5, 7))
        self.assertEqual(rows[0]["by_one"], {"median": 5, "min": 4, "max": 9})
        for row in rows:
            self.assertEqual(len(MAP.cells(row)), len(MAP.headings))

    def test_a_map_that_did_not_survive_is_named_with_the_number_of_kills(self):
        rows = MAP.summary([kill("lmdb", 20), kill("lmdb", 20), rate("scc", 1), kill("chronicle-map", 2, "stuck")])
        cells = {row["name"]: MAP.cells(row)[-1] for row in rows}
        self.assertEqual(cells, {"lmdb": "40 of 40, 0.50 s", "chronicle-map": "no: 2 of 3", "scc": "-"})


class Jobs(unittest.TestCase):
    def options(self, kill):
        return types.SimpleNamespace(folder="/memory", messages=10_000_000, entries="1000,2000", kill=kill)

    def test_slow_maps_get_fewer_updates_and_every_number_of_keys(self):
        found = MAP.jobs(PROGRAMS, {"lmdb": ["m", "lmdb"]}, [0, 1], self.options(False))
        self.assertEqual(len(found), 6)
        command = found[0][2]
        self.assertEqual(command[command.index("--updates") + 1], "1000000")
        self.assertIn("2000", found[-1][2])

    def test_only_shared_maps_are_killed(self):
        commands = {program.name: ["m"] for program in PROGRAMS}
        found = MAP.jobs(PROGRAMS, commands, [0, 1], self.options(True))
        killed = [name for name, mode, *_ in found if mode == "kill"]
        self.assertEqual(killed, ["nanotape", "lmdb", "subetha-cxc", "chronicle-map"])

    def test_numbers_of_keys_are_checked(self):
        for entries in ["", "1000,", "99", "many"]:
            options = types.SimpleNamespace(folder="/", entries=entries)
            self.assertRaisesRegex(ValueError, "--entries", MAP.check, options)


class Programs(unittest.TestCase):
    def test_what_cannot_be_built_leaves_out_the_others_only(self):
        def cargo(_package, features, *_rest):
            if "lmdb" in features:
                raise build.Unavailable("no C compiler")
            if "subetha-cxc" in features:
                raise build.Unavailable("too old")
            return "program"
        with mock.patch.object(build, "cargo", cargo), mock.patch.object(build, "java", lambda *_: ["java"]):
            commands, missing = MAP.build(PROGRAMS)
        self.assertEqual(missing, {"lmdb": "no C compiler", "subetha-cxc": "too old"})
        self.assertEqual((commands["scc"], commands["chronicle-map"]), (["program", "scc"], ["java"]))


if __name__ == "__main__":
    unittest.main()
