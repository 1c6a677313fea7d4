"""Runs the programs in turns on one processor, and reads the line that each of them prints."""

import json
import os
import subprocess


class Failed(Exception):
    """A run that ended badly, and its last words in one line."""


def run_once(program, executable, day, processor):
    """One process; the parsed line it printed."""

    def pin():
        if processor is not None:
            os.sched_setaffinity(0, {processor})

    environment = dict(os.environ, RUST_BACKTRACE="0", **program.environment)
    done = subprocess.run(
        [str(executable), program.word, str(day)],
        capture_output=True, text=True, env=environment, preexec_fn=pin,
    )
    if done.returncode != 0:
        words = [line for line in done.stderr.splitlines() if line.strip()]
        last = words[0] if words else f"status {done.returncode}"
        raise Failed(last.removeprefix(f"{program.word}: "))
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise Failed("printed no line of JSON") from None


def processor_to_use():
    """The last processor that this process may use, or None where that cannot be asked."""
    try:
        return max(os.sched_getaffinity(0))
    except AttributeError:
        return None


def warm(day):
    """Reads the file once so that it is in the page cache."""
    block = bytearray(1 << 20)
    with open(day, "rb", buffering=0) as file:
        while file.readinto(block):
            pass


def rounds(programs, executables, day, count, processor, progress):
    """The results of each program by name, and why those that failed are left out.

    Each round runs every program once, and begins with the one after the one before.
    """
    results = {program.name: [] for program in programs}
    failures = {}
    for number in range(count):
        first = number % len(programs) if programs else 0
        for program in programs[first:] + programs[:first]:
            if program.name in failures:
                continue
            progress(number, program)
            try:
                executable = executables[program.library]
                results[program.name].append(run_once(program, executable, day, processor))
            except Failed as failure:
                failures[program.name] = str(failure)
    return {name: runs for name, runs in results.items() if name not in failures}, failures
