"""What is compared: a row of the table for each program, and how many messages it is sent."""

from dataclasses import dataclass

MODES = ["throughput", "latency", "ping-pong"]

# Enough for half a second and more of each mode, and few enough for three rounds in some minutes.
MESSAGES = {"throughput": 20_000_000, "latency": 2_000_000, "ping-pong": 1_000_000}


@dataclass(frozen=True)
class Program:
    """A row of the table."""

    name: str
    kind: str  # rust, java or nanotape: how it is built and started
    scope: str  # threads or processes
    delivery: str  # lossless, or lossy: a slow reader loses messages and the writer never waits
    note: str
    slower: int = 1  # is sent so many times fewer messages, flat out and in turns

    def messages(self, mode, scale=1.0):
        """How many it is sent; at a fixed rate all get the same."""
        count = MESSAGES[mode] * scale / (1 if mode == "latency" else self.slower)
        return max(int(count), 1_000)


PROGRAMS = [
    Program("nanotape", "nanotape", "", "", "this checkout: `nanotape lab bench ring`"),
    Program("disruptor", "rust", "threads", "lossless", "ring, event pollers"),
    Program("rtrb", "rust", "threads", "lossless", "queue of one writer and one reader, in chunks"),
    Program("crossbeam-channel", "rust", "threads", "lossless", "bounded channel", 2),
    Program("iceoryx2", "rust", "processes", "lossless", "loaned samples, retry until delivered", 20),
    Program("unix-socket", "rust", "processes", "lossless", "stream, the reader sleeps", 50),
    Program("aeron", "java", "threads", "lossless", "IPC in shared memory, driver in the process", 2),
    Program("agrona-broadcast", "java", "threads", "lossy", "broadcast buffer in shared memory", 2),
    Program("lmax-disruptor", "java", "threads", "lossless", "ring, event pollers", 2),
]


def choose(names):
    """The programs to run: those named, or all."""
    if names is None:
        return list(PROGRAMS)
    known = {program.name for program in PROGRAMS}
    unknown = [name for name in names if name not in known]
    if unknown:
        there = ", ".join(program.name for program in PROGRAMS)
        raise ValueError(f"no program is called {unknown[0]}; there are {there}")
    return [program for program in PROGRAMS if program.name in names]
