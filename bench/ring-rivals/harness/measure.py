"""Runs the programs one after the other, in an order drawn by lot, and reads what they print."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .programs import MODES

# Far more than any run takes: a program that waits for a message that never comes.
LONGEST_SECONDS = 180


class Failed(Exception):
    """A run that ended badly, and its last words in one line."""

    def __init__(self, reason, wrong=False):
        super().__init__(reason)
        self.wrong = wrong


def jobs(programs, commands, cpus, scale):
    """A command for each program and mode; nanotape's own program is not started from here."""
    return [
        (program.name, mode, [
            *commands[program.name], mode, "--cpus", ",".join(map(str, cpus)),
            "--messages", str(program.messages(mode, scale)),
        ])
        for program in programs if program.name in commands for mode in MODES
    ]


def drawn(tasks, lots):
    """The tasks in an order that `lots`, a random.Random, decides."""
    order = list(tasks)
    lots.shuffle(order)
    return order


def enough(elapsed, longest_round, seconds):
    """Whether another round would end behind the budget."""
    return seconds is not None and elapsed + longest_round > seconds


def rounds(tasks, count, seconds, lots, progress):
    """Results and failures; every task is called once in a round, and no more after it failed.

    A task is (name, mode, call), where the call returns a list of runs or raises Failed.
    """
    results, failures, longest = [], {}, 0.0
    start = time.monotonic()
    done = 0
    while done < count and not (done and enough(time.monotonic() - start, longest, seconds)):
        began = time.monotonic()
        for name, mode, call in drawn(tasks, lots):
            if (name, mode) in failures:
                continue
            progress(done, name, mode)
            try:
                results += [dict(run, round=done) for run in call()]
            except Failed as failure:
                failures[name, mode] = failure
        longest = max(longest, time.monotonic() - began)
        done += 1
    return results, failures, done


def run_once(command, nice=0):
    """One run; the parsed line it printed."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, RUST_BACKTRACE="0"), start_new_session=True,
        preexec_fn=be_nice(nice),
    )
    try:
        out, errors = process.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {LONGEST_SECONDS} s") from None
    finally:
        stop(process)
        clean(process.pid)
    if process.returncode != 0:
        lines = [line for line in errors.splitlines() if line.strip()]
        last = lines[0] if lines else f"status {process.returncode}"
        raise Failed(last, wrong=process.returncode == 1)
    try:
        return json.loads(out)
    except ValueError:
        raise Failed("printed no line of JSON") from None


def be_nice(nice):
    """What a new process calls first, in a session of its own, to run at this niceness."""
    def call():
        if nice:
            os.nice(nice)
            try:
                # Where sessions share processors as groups, only the group's niceness counts.
                Path("/proc/self/autogroup").write_text(str(nice))
            except OSError:
                pass
    return call


def stop(process):
    """Ends it and what it started: all of them are in the session made for it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def clean(pid):
    """Removes what a run leaves in shared memory if it is stopped: all of it bears its number."""
    for folder in [Path("/dev/shm"), Path(tempfile.gettempdir())]:
        left = [
            *folder.glob(f"ring_rivals_{pid}_*"), *folder.glob(f"ring-rivals-aeron-{pid}"),
            *folder.glob(f"ring-rivals-agrona-{pid}-*"),
        ]
        for path in left:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def first_two():
    """The processors that are used if none are named."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[:2]
