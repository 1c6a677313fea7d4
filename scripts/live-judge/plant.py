"""The program under judgement, as processes: a live plant, its records, and runs of files."""
import json
import os
import signal
import socket
import struct
import subprocess
import time

# Tables and files of a small market. Some journals need more than one segment.
SIZES = ["--live-orders", "65536", "--journal-segment", "4MiB"]
BOUND_S = 120


def rows_of(binary, journal):
    """All records of a journal, with those of earlier runs, as the objects that `tap` prints."""
    rows, begin = [], "oldest"
    while True:
        tapped = subprocess.run([binary, "tap", journal, "--from", str(begin), "--format", "json"],
                                capture_output=True, timeout=BOUND_S, text=True)
        if tapped.returncode != 0:
            raise RuntimeError(f"{' '.join(tapped.args)}: status {tapped.returncode}: {tapped.stderr}")
        # It ends with the first stop.
        more = [json.loads(line) for line in tapped.stdout.splitlines()]
        if not more:
            return rows
        rows += more
        begin = rows[-1]["sequence"] + 1


def runs_of(rows):
    """Rows by run: each run begins with its start."""
    runs = []
    for row in rows:
        if row["record"] == "start":
            runs.append([])
        if runs:
            runs[-1].append(row)
    return runs


def events_of(text):
    """The objects of standard output with `--format json`; a killed plant may leave half a line."""
    events = []
    for line in text.splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    return events


class FileRun:
    """A plant that reads a file or a kept session: exit status, last event, and rows."""

    def __init__(self, binary, folder, name, source, options=()):
        journal = os.path.join(folder, f"{name}.journal")
        ring = os.path.join(folder, f"{name}.ring")
        command = [binary, "run", "--input", source, "--ring", ring, "--journal", journal, *SIZES,
                   "--format", "json", "--quiet", *options]
        ran = subprocess.run(command, capture_output=True, timeout=BOUND_S, text=True)
        self.command, self.status, self.stderr = command, ran.returncode, ran.stderr
        events = [event for event in events_of(ran.stdout) if event["event"] == "stop"]
        self.stop = events[-1] if events else {}
        self.rows = runs_of(rows_of(binary, journal))[-1] if events else []


def run_of_messages(binary, folder, name, messages, date):
    """A plant of a day file of these messages: each has its length before it."""
    path = os.path.join(folder, f"{name}.itch50")
    with open(path, "wb") as file:
        for message in messages:
            file.write(struct.pack(">H", len(message)) + message)
    return FileRun(binary, folder, name, path, ["--date", date])


def free_ports(host):
    """Ports of `host` below those that the kernel gives to other sockets, so that nothing takes them meanwhile."""
    for port in range(20_001, 30_000):
        sockets = [socket.socket(type=kind) for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)]
        try:
            for each in sockets:
                each.bind((host, port))
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
        yield port


class Plant:
    """A live plant, which can be killed and started again with the same command."""

    def __init__(self, binary, folder, host, line_ports, options):
        self.binary, self.host, self.line_ports = binary, host, line_ports
        self.ring, self.journal = os.path.join(folder, "ring"), os.path.join(folder, "journal")
        self.stdout_path, self.stderr_path = os.path.join(folder, "stdout"), os.path.join(folder, "stderr")
        self.command = [binary, "run", "--live", "--ring", self.ring, "--journal", self.journal, *SIZES,
                        "--format", "json", "--log-format", "text"]
        for letter, port in zip("abcd", line_ports):
            self.command += [f"--line-{letter}", f"{host}:{port}"]
        self.command += options
        self.process = None

    def start(self):
        with open(self.stdout_path, "ab") as stdout, open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(self.command, stdout=stdout, stderr=stderr)

    def is_listening(self):
        """Whether the sockets of all lines are bound, from the kernel's list."""
        host = socket.inet_aton(self.host)[::-1].hex().upper()
        with open("/proc/net/udp", encoding="ascii") as file:
            bound = {line.split()[1] for line in file.readlines()[1:]}
        return all(f"{host}:{port:04X}" in bound for port in self.line_ports)

    def wait_until_listening(self, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if self.is_listening():
                return True
            time.sleep(0.005)
        return False

    def wait(self, seconds):
        """The exit status, or None after the time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stops(self):
        """What the plant reports at the end of each session."""
        return [event for event in events_of(read(self.stdout_path)) if event["event"] == "stop"]

    def log(self):
        return read(self.stderr_path)

    def state(self):
        """What `stat` says of a plant that does not end."""
        seen = subprocess.run([self.binary, "stat", self.ring], capture_output=True, timeout=BOUND_S, text=True)
        return seen.stdout + seen.stderr


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""
