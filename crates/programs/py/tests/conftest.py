"""Inputs for all tests: a synthetic day, and captures, a journal and a DBN file of it."""

import os
import subprocess
from pathlib import Path

import pytest

import nanotape


def program(*words, status=0):
    """Runs the program of the wheel, and returns its standard output."""
    done = subprocess.run(["nanotape", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


class Inputs:
    """Paths of inputs, which are made once."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.day = folder / "12302019.NASDAQ_ITCH50"
        program("synth", "-o", self.day, "--messages", 60_000, "--symbols", 20)

    def capture(self, protocol):
        path = self.folder / f"{protocol}.pcap"
        if not path.exists():
            program("synth", "-o", path, "--protocol", protocol, "--messages", 60_000, "--symbols", 20)
        return path

    @property
    def journal(self):
        path = self.folder / "journal"
        if not path.exists():
            ring = Path("/dev/shm") / f"nanotape-py-{os.getpid()}-recorded"
            program("run", "--input", self.day, "--ring", ring, "--journal", path, "--records", "all")
            program("ring", "remove", ring)
        return path

    @property
    def dbn(self):
        path = self.folder / "day.dbn.zst"
        if not path.exists():
            program("convert", self.day, "-o", path)
        return path

    @property
    def damaged(self):
        path = self.folder / "damaged.itch50"
        if not path.exists():
            content = bytearray(self.day.read_bytes())
            middle = len(content) // 2
            content[middle:middle + 20_000] = b"Z" * 20_000
            path.write_bytes(content)
        return path

    def all(self):
        yield from [self.day, self.journal, self.dbn]
        for protocol in ["iex-deep", "iex-deep-plus", "iex-tops", "cboe-pitch"]:
            yield self.capture(protocol)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    return Inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="session")
def day(inputs):
    return nanotape.open(inputs.day)
