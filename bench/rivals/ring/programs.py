"""The programs of the comparison: a row of the table for each, and how many messages it is sent."""

from dataclasses import dataclass

MODES = ["throughput", "latency", "ping-pong"]

# Half a second or more of each mode, and three rounds of everything in some minutes.
MESSAGES = {"throughput": 20_000_000, "latency": 2_000_000, "ping-pong": 1_000_000}


@dataclass(frozen=True)
class Program:
    """A row of the table."""

    name: str
    kind: str  # rust, java or nanotape: how it is built and started
    scope: str  # threads or processes
    delivery: str  # lossless, or lossy: the writer never waits, and a slow reader loses messages
    note: str
    slower: int = 1  # at full speed and with ping-pong it is sent so many times fewer messages

    @property
    def listed(self):
        return f"{self.name:18} {self.scope:10} {self.delivery:9} {self.note}"

    def messages(self, mode, scale=1.0):
        """The number of messages it is sent. With a fixed rate it is the same for all."""
        count = MESSAGES[mode] * scale / (1 if mode == "latency" else self.slower)
        return max(int(count), 1_000)


PROGRAMS = [
    Program("nanotape", "nanotape", "", "", "this checkout: `nanotape lab bench ring`"),
    Program("ringfire", "rust", "processes", "lossy", "ring of slots in shared memory, one by one"),
    Program("ringfire-batch", "rust", "processes", "lossy", "the same ring, read in batches of 64"),
    Program("bcast", "rust", "processes", "lossy", "ring of frames in shared memory, one by one"),
    Program("bcast-batch", "rust", "processes", "lossy", "the same ring, read_batch"),
    Program("bcast-bulk", "rust", "processes", "lossy", "the same ring, read_bulk"),
    Program("disruptor", "rust", "threads", "lossless", "ring, event pollers"),
    Program("rtrb", "rust", "threads", "lossless", "queue of one writer and one reader, in chunks"),
    Program("crossbeam-channel", "rust", "threads", "lossless", "bounded channel", 2),
    Program("iceoryx2", "rust", "processes", "lossless", "loaned samples, retry until delivered", 20),
    Program("unix-socket", "rust", "processes", "lossless", "stream, the reader sleeps", 50),
    Program("aeron", "java", "threads", "lossless", "IPC in shared memory, driver in the process", 2),
    Program("agrona-broadcast", "java", "threads", "lossy", "broadcast buffer in shared memory", 2),
    Program("lmax-disruptor", "java", "threads", "lossless", "ring, event pollers", 2),
]
