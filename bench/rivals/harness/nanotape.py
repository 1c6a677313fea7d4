"""nanotape's own figures: runs `nanotape lab bench ring` or `journal` and reads the rows of its list."""

import json
import subprocess
import tempfile
from pathlib import Path

from .build import HERE
from .rounds import Failed, first_line, prepared

CARGO = ["--release", "--locked", "--quiet", "-p", "nanotape-lab-cli"]
LONGEST_SECONDS = 900
QUANTILES = ["p50", "p90", "p99", "p99.9", "p99.99", "max"]


def prepare(name):
    """Builds nanotape. Raises Failed if that is not possible."""
    checked(["cargo", "build", *CARGO])
    checked(["cargo", "run", *CARGO, "--", "bench", name, "--help"])


def measure(name, only, words, nice):
    """The rows `only` of one round of `nanotape lab bench NAME`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "list.json"
        bench = ["bench", name, "--rounds", "1", "--only", ",".join(only), "-o", str(file)]
        checked(["cargo", "run", *CARGO, "--", *bench, *words], nice)
        try:
            return json.loads(file.read_text())
        except (OSError, ValueError) as problem:
            raise Failed(f"lab bench {name} wrote no list: {problem}") from None


def quantiles(latency):
    """Latencies of the list under the names that the rivals give them."""
    names = {name.replace(".", "_"): f"{name}_ns" for name in QUANTILES}
    return {ours: latency[theirs] for ours, theirs in names.items() if theirs in latency}


def checked(command, nice=0):
    try:
        done = subprocess.run(
            command, cwd=HERE.parent.parent, capture_output=True, text=True, timeout=LONGEST_SECONDS,
            start_new_session=True, preexec_fn=prepared(nice),
        )
    except FileNotFoundError:
        raise Failed("cargo is not installed") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {LONGEST_SECONDS} s") from None
    if done.returncode != 0:
        raise Failed(first_line(done.stderr, done.returncode))
