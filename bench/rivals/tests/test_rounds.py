"""Rounds: their order, their time limit, and what happens to a program that fails."""

import random
import sys
import unittest

from books.programs import PROGRAMS as BUILDERS
from harness import rounds
from harness.options import choose
from journal.compare import PROGRAMS as KEEPERS
from ring.programs import PROGRAMS as QUEUES


def quiet(*_):
    pass


class Rounds(unittest.TestCase):
    def test_everything_runs_once_a_round_in_an_order_that_the_seed_decides(self):
        def order(seed):
            ran = []
            tasks = [(name, "latency", lambda name=name: ran.append(name) or []) for name in "abcdef"]
            rounds.rounds(tasks, 2, rounds.by_lot(random.Random(seed)), quiet)
            return ran

        ran = order(1)
        self.assertEqual(sorted(ran[:6]), list("abcdef"))
        self.assertEqual(sorted(ran[6:]), list("abcdef"))
        self.assertEqual(ran, order(1))
        self.assertNotEqual(ran[:6], ran[6:])

    def test_in_turns_each_round_begins_with_the_next_program(self):
        orders = ["".join(rounds.turns(number, list("abc"))) for number in range(4)]
        self.assertEqual(orders, ["abc", "bca", "cab", "abc"])
        self.assertEqual(rounds.turns(3, []), [])

    def test_a_program_that_failed_is_not_started_again_and_keeps_its_results(self):
        calls = []

        def fails_second():
            calls.append(1)
            if len(calls) == 2:
                raise rounds.Failed("message 3 arrived after 1", wrong=True)
            return [{"name": "a"}]

        runs, failures, done = rounds.rounds([("a", "latency", fails_second)], 4, rounds.turns, quiet)
        self.assertEqual(runs, {("a", "latency"): [{"name": "a", "round": 0}]})
        self.assertEqual((len(calls), done), (2, 4))
        self.assertTrue(failures["a", "latency"].wrong)

    def test_the_time_limit_ends_rounds_but_not_the_first(self):
        self.assertTrue(rounds.enough(50, 60, 100))
        self.assertFalse(rounds.enough(30, 60, 100))
        self.assertFalse(rounds.enough(1e9, 1e9, None))
        tasks = [("a", "latency", lambda: [{"name": "a"}])]
        _, _, done = rounds.rounds(tasks, 5, rounds.turns, quiet, seconds=-1.0)
        self.assertEqual(done, 1)


class Runs(unittest.TestCase):
    def run_python(self, program):
        return rounds.run_once([sys.executable, "-c", program])

    def test_the_line_is_parsed(self):
        self.assertEqual(self.run_python("print('{\"messages\": 3}')"), {"messages": 3})

    def test_a_failure_is_its_first_line(self):
        with self.assertRaisesRegex(rounds.Failed, "^rtrb: lost$") as raised:
            self.run_python("import sys; sys.exit('rtrb: lost')")
        self.assertTrue(raised.exception.wrong)
        with self.assertRaises(rounds.Failed) as raised:
            self.run_python("import sys; sys.exit(2)")
        self.assertFalse(raised.exception.wrong)

    def test_no_json_is_a_failure(self):
        with self.assertRaisesRegex(rounds.Failed, "no line of JSON"):
            self.run_python("print('fast')")


class Choice(unittest.TestCase):
    def test_names_are_checked(self):
        self.assertEqual([program.name for program in choose(QUEUES, ["rtrb"])], ["rtrb"])
        for programs in [BUILDERS, QUEUES, KEEPERS]:
            with self.assertRaisesRegex(ValueError, "no program is called helix; there are nanotape"):
                choose(programs, ["helix"])

    def test_slow_programs_run_only_if_they_are_named(self):
        self.assertNotIn("hftbacktest-hash", [program.name for program in choose(BUILDERS, None)])
        (slow,) = choose(BUILDERS, ["hftbacktest-hash"])
        self.assertEqual(slow.name, "hftbacktest-hash")


if __name__ == "__main__":
    unittest.main()
