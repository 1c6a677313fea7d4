"""How rounds go: by lot, within the budget, and past what fails."""

import random
import sys
import unittest

from . import measure
from .programs import MODES, PROGRAMS, choose


class Rounds(unittest.TestCase):
    def test_everything_runs_once_a_round_in_an_order_that_the_seed_decides(self):
        def order(seed):
            ran = []
            tasks = [(name, "latency", lambda name=name: ran.append(name) or []) for name in "abcdef"]
            measure.rounds(tasks, 2, None, random.Random(seed), lambda *_: None)
            return ran

        ran = order(1)
        self.assertEqual(sorted(ran[:6]), list("abcdef"))
        self.assertEqual(sorted(ran[6:]), list("abcdef"))
        self.assertEqual(ran, order(1))
        self.assertNotEqual(ran[:6], ran[6:])

    def test_what_failed_is_not_started_again_and_keeps_its_results(self):
        calls = []

        def fails_second():
            calls.append(1)
            if len(calls) == 2:
                raise measure.Failed("message 3 arrived behind 1", wrong=True)
            return [{"name": "a"}]

        tasks = [("a", "latency", fails_second)]
        results, failures, done = measure.rounds(
            tasks, 4, None, random.Random(0), lambda *_: None
        )
        self.assertEqual((results, len(calls), done), ([{"name": "a", "round": 0}], 2, 4))
        self.assertTrue(failures["a", "latency"].wrong)

    def test_the_budget_ends_rounds_but_not_the_first(self):
        self.assertTrue(measure.enough(50, 60, 100))
        self.assertFalse(measure.enough(30, 60, 100))
        self.assertFalse(measure.enough(1e9, 1e9, None))
        tasks = [("a", "latency", lambda: [{"name": "a"}])]
        _, _, done = measure.rounds(tasks, 5, -1.0, random.Random(0), lambda *_: None)
        self.assertEqual(done, 1)


class Runs(unittest.TestCase):
    def run_python(self, program):
        return measure.run_once([sys.executable, "-c", program])

    def test_the_line_is_parsed(self):
        self.assertEqual(self.run_python("print('{\"messages\": 3}')"), {"messages": 3})

    def test_a_failure_is_its_first_line(self):
        with self.assertRaisesRegex(measure.Failed, "^rtrb: lost$") as raised:
            self.run_python("import sys; sys.exit('rtrb: lost')")
        self.assertTrue(raised.exception.wrong)
        with self.assertRaises(measure.Failed) as raised:
            self.run_python("import sys; sys.exit(2)")
        self.assertFalse(raised.exception.wrong)

    def test_no_json_is_a_failure(self):
        with self.assertRaisesRegex(measure.Failed, "no line of JSON"):
            self.run_python("print('fast')")


class Jobs(unittest.TestCase):
    def test_a_command_for_every_mode_of_what_was_built(self):
        commands = {"rtrb": ["ring-rivals", "rtrb"]}
        found = measure.jobs(PROGRAMS, commands, [2, 5], 0.1)
        self.assertEqual([(name, mode) for name, mode, _ in found], [("rtrb", mode) for mode in MODES])
        self.assertEqual(
            found[0][2],
            ["ring-rivals", "rtrb", "throughput", "--cpus", "2,5", "--messages", "2000000"],
        )

    def test_names_are_checked(self):
        self.assertEqual([program.name for program in choose(["rtrb"])], ["rtrb"])
        with self.assertRaisesRegex(ValueError, "no program is called helix; there are"):
            choose(["helix"])

    def test_slow_programs_get_fewer_but_not_at_a_fixed_rate(self):
        (slow,) = choose(["iceoryx2"])
        counts = [slow.messages(mode) for mode in MODES]
        self.assertEqual(counts, [1_000_000, 2_000_000, 50_000])


if __name__ == "__main__":
    unittest.main()
