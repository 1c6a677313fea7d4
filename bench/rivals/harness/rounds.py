"""Runs programs one after the other in rounds, and reads the line that each of them prints."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


class Failed(Exception):
    """Why a run failed, in one line. It is `wrong` if messages arrived out of order or damaged."""

    def __init__(self, reason, wrong=False):
        super().__init__(reason)
        self.wrong = wrong


def turns(number, tasks):
    """The order of a round in which another task is first each time."""
    first = number % len(tasks) if tasks else 0
    return tasks[first:] + tasks[:first]


def by_lot(lots):
    """An order that `lots`, a random.Random, draws for each round."""
    return lambda _number, tasks: lots.sample(tasks, len(tasks))


def enough(elapsed, longest_round, seconds):
    """Whether another round would end after the time limit."""
    return seconds is not None and elapsed + longest_round > seconds


def rounds(tasks, count, order, progress, seconds=None):
    """Runs and failures by task, and the number of rounds. A task that failed is not started again.

    A task is (name, mode, call): the call returns a list of runs or raises Failed. Each run gets the
    number of its round.
    """
    runs, failures, longest = {(name, mode): [] for name, mode, _ in tasks}, {}, 0.0
    start = time.monotonic()
    done = 0
    while done < count and not (done and enough(time.monotonic() - start, longest, seconds)):
        began = time.monotonic()
        for name, mode, call in order(done, tasks):
            if (name, mode) in failures:
                continue
            progress(done, name, mode)
            try:
                runs[name, mode] += [{**run, "round": done} for run in call()]
            except Failed as failure:
                failures[name, mode] = failure
        longest = max(longest, time.monotonic() - began)
        done += 1
    return runs, failures, done


def run_once(command, nice=0, cpu=None, environment=None, longest_seconds=None, scratch=()):
    """Runs a command and returns the parsed line that it prints. Removes its files in `scratch`."""
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, RUST_BACKTRACE="0", **(environment or {})), start_new_session=True,
        preexec_fn=prepared(nice, cpu),
    )
    try:
        out, errors = process.communicate(timeout=longest_seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {longest_seconds} s") from None
    finally:
        stop(process)
        clean(process.pid, scratch)
    if process.returncode != 0:
        raise Failed(first_line(errors, process.returncode), wrong=process.returncode == 1)
    try:
        return json.loads(out)
    except ValueError:
        raise Failed("printed no line of JSON") from None


def first_line(errors, status):
    return next((line for line in errors.splitlines() if line.strip()), f"status {status}")


def prepared(nice, cpu=None):
    """What a new process calls first, in a session of its own: sets its niceness and processor."""
    def call():
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        if nice:
            os.nice(nice)
            try:
                # If the kernel groups processes by session, only the group's niceness counts.
                Path("/proc/self/autogroup").write_text(str(nice))
            except OSError:
                pass
    return call


def stop(process):
    """Ends a process and those that it started: they are all in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def clean(pid, folders):
    """Removes the files that a process leaves if it is stopped. Their names begin with its number."""
    for folder in {Path("/dev/shm"), Path(tempfile.gettempdir()), *map(Path, folders)}:
        for path in folder.glob(f"rivals-{pid}-*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
