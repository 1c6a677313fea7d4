"""Which differences between answers are found, and how ratios and the verdict are computed."""

import unittest

from books import judge
from books.programs import Program


def run(messages=10, cpu=1e-6, **answer):
    return {"messages": messages, "cpu_seconds": cpu, "wall_seconds": cpu, "answer": answer}


class Answers(unittest.TestCase):
    def test_equal_answers_agree(self):
        results = {"a": [run(levels=3), run(levels=3)], "b": [run(levels=3, insides=2)]}
        self.assertEqual(judge.disagreements(results), [])

    def test_each_answer_is_listed_with_the_programs_that_give_it(self):
        results = {"a": [run(levels=3)], "b": [run(levels=4)], "c": [run(levels=3)]}
        self.assertEqual(judge.disagreements(results), ["levels: 3 (a, c) but 4 (b)"])

    def test_a_program_must_agree_with_itself(self):
        results = {"a": [run(levels=3), run(levels=4)]}
        self.assertEqual(judge.disagreements(results), ["levels: 3 (a) but 4 (a)"])

    def test_message_counts_are_answers(self):
        results = {"a": [run(messages=10)], "b": [run(messages=9)]}
        self.assertEqual(judge.disagreements(results), ["messages: 10 (a) but 9 (b)"])

    def test_a_wrong_expectation_is_a_disagreement(self):
        results = {"a": [run(levels=3)]}
        self.assertEqual(judge.disagreements(results, {"levels": 3}), [])
        wrong = judge.disagreements(results, {"levels": 4})
        self.assertEqual(wrong, ["levels: 4 (expected) but 3 (a)"])

    def test_an_expectation_of_an_answer_that_no_program_gives_is_listed(self):
        wrong = judge.disagreements({"a": [run()]}, {"levels": 4})
        self.assertEqual(wrong, ["levels: 4 expected, but no program gives this answer"])


class Times(unittest.TestCase):
    def test_ratios_are_taken_within_a_round(self):
        # In the second round the machine was ten times slower for both.
        ours = [run(cpu=1.0), run(cpu=10.0), run(cpu=1.0)]
        theirs = [run(cpu=3.0), run(cpu=30.0), run(cpu=3.0)]
        self.assertAlmostEqual(judge.ratio(theirs, ours), 3.0)

    def test_the_verdict_names_the_fastest_that_only_keeps_books(self):
        def books(name, library):
            return Program(name, "books", library, "")

        programs = [
            books("nanotape-books", "nanotape"), books("itch-book", "itch-book"),
            books("itch-book-insides", "itch-book"), books("itch-book-inline", "itch-book"),
        ]
        seconds = {
            "nanotape-books": 1.0, "itch-book": 4.0, "itch-book-insides": 2.0,
            "itch-book-inline": 2.5,
        }
        results = {name: [run(cpu=time)] for name, time in seconds.items()}
        verdict = judge.verdict(results, programs)
        self.assertIn("4.00 times as fast (reached) as itch-book's default", verdict)
        self.assertIn("2.50 times as fast (missed) as its fastest here (itch-book-inline)", verdict)

    def test_without_a_rival_there_is_no_verdict(self):
        self.assertIn("no verdict", judge.verdict({"nanotape-books": [run()]}, []))


if __name__ == "__main__":
    unittest.main()
