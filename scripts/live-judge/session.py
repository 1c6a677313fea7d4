"""Plays what a seed chose: sends the lines, runs the servers, kills and starts the plant, and collects what it did.

The lines of MoldUDP64 go to addresses of this machine. `Player.outcome` is what `verdict` judges.
"""
import os
import random
import shutil
import socket
import time
from collections import Counter
from dataclasses import dataclass, field

import market
import servers
import wire
from parameters import PACKET_MESSAGES, SAFE_MESSAGES
from plant import FileRun, Plant, free_ports, rows_of, runs_of

# One has spaces at its end; servers write them at the beginning.
SESSIONS = [b"JUDGE00001", b"TUESDAY   "]
# What a message may be late, after a later one, without a gap: `hold` of the plant is 2 ms, less one for this program.
IN_TIME_S = 0.001
# The same in numbers: with 256 of them on all lines the plant does not wait for `hold`.
IN_TIME_NUMBERS = 200
# What the longest sequence of attempts takes: 5 s without an answer, and timeouts of servers.
LONGEST_END_S = 60
# A session is joined 50 ms after its first packets.
JOINED_S = 0.3
TRADE_DATE = "2026-11-27"


@dataclass
class Day:
    """A session as it was sent."""

    session: bytes
    messages: list
    first: int  # the number with which the lines begin
    never: set  # numbers that no line brought
    strays: int = 0
    late: set = field(default_factory=set)  # numbers that came long after a later one
    rows: list = field(default_factory=list)
    stop: dict = field(default_factory=dict)
    kept: FileRun = None

    def count(self):
        return len(self.messages)


@dataclass
class Outcome:
    """What happened: by session, and of the plant as a whole."""

    parameters: object
    days: list = field(default_factory=list)
    killed_runs: list = field(default_factory=list)  # rows of the runs that were killed
    status: int = None
    command: list = field(default_factory=list)
    log: str = ""
    problems: list = field(default_factory=list)  # what went wrong before anything could be compared
    requests: Counter = field(default_factory=Counter)  # kind of server -> requests and logins that came
    sent_by: Counter = field(default_factory=Counter)  # kind of server -> messages that it sent
    seconds: float = 0


class Player:
    """One plant, its lines and its servers."""

    def __init__(self, parameters, binary, folder):
        self.parameters, self.binary, self.folder = parameters, binary, folder
        self.chance = random.Random(f"faults of {parameters.seed}")
        self.on_air = servers.OnAir()
        self.outcome = Outcome(parameters)
        self.servers = []
        # An address of this process alone, on which no other test has a port.
        self.host = f"127.{1 + (os.getpid() >> 16) % 250}.{os.getpid() >> 8 & 255}.{1 + (os.getpid() & 255) % 254}"
        self.socket = socket.socket(type=socket.SOCK_DGRAM)
        self.plant = None

    def play(self):
        began = time.monotonic()
        ports = free_ports(self.host)
        options = self.start_servers(ports) + self.options()
        line_ports = [next(ports) for _ in range(self.parameters.lines)]
        self.plant = Plant(self.binary, self.folder, self.host, line_ports, options)
        self.outcome.command = self.plant.command
        try:
            self.run_plant()
            self.collect()
        finally:
            self.plant.kill()
            for _, server in self.servers:
                server.stop()
            self.socket.close()
            self.outcome.log = self.plant.log()
        self.outcome.seconds = time.monotonic() - began

    def start_servers(self, ports):
        options = []
        for index, (kind, behaviour) in enumerate(self.parameters.servers()):
            port = next(ports)
            seed = f"server {index} of {self.parameters.seed}"
            self.servers.append((kind, servers.start(kind, behaviour, self.host, port, self.on_air, seed)))
            options += [f"--{kind}", f"{self.host}:{port}"]
        return options

    def options(self):
        options = ["--gap-policy", self.parameters.policy]
        if self.parameters.begins_late():
            options += ["--join", self.parameters.join]
        options += ["--follow"] if self.parameters.sessions > 1 else ["--date", TRADE_DATE]
        if self.parameters.is_kept:
            options += ["--keep", self.kept_folder()]
        if self.parameters.soupbintcp and self.parameters.soupbintcp_least:
            path = os.path.join(self.folder, "plant.toml")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"[input.live]\nsoupbintcp_least = {self.parameters.soupbintcp_least}\n")
            options += ["--config", path]
        return options

    def kept_folder(self):
        return os.path.join(self.folder, "kept")

    def run_plant(self):
        self.plant.start()
        if not self.plant.wait_until_listening():
            return self.fail("the plant did not open its lines")
        for number in range(self.parameters.sessions):
            day, packets = self.prepare(number)
            self.outcome.days.append(day)
            self.on_air.session, self.on_air.messages = day.session, day.messages
            self.on_air.last_sent = day.first - 1
            self.send(day, packets)
            if not self.end_session(day, number + 1):
                return
        if self.parameters.sessions > 1:
            self.plant.interrupt()
        self.outcome.status = self.plant.wait(20)
        if self.outcome.status is None:
            self.fail("the plant did not end after SIGINT")

    def fail(self, what):
        self.outcome.problems.append(f"{what}; stat: {self.plant.state()}")

    def prepare(self, number):
        """A session, and its packets: moment in seconds, line, bytes, first and last number."""
        parameters = self.parameters
        seed = parameters.seed * 10 + number
        messages = market.session(seed, parameters.stocks, parameters.messages)
        if parameters.misfits:
            messages = market.with_misfits(messages, self.chance, parameters.misfits)
        first = self.chance.randrange(50, len(messages) // 2) if parameters.begins_late() else 1
        day = Day(SESSIONS[number], messages, first, set(range(first, len(messages) + 1)))
        absent = self.absent(day)
        packets = []
        for line in range(parameters.lines):
            for start, last in self.pieces(day, absent):
                packets += self.copies(day, line, start, last)
        packets += self.strays(day, max(packet[0] for packet in packets))
        packets.sort(key=lambda packet: packet[0])
        for _, _, _, start, last in packets:
            day.never.difference_update(range(start, last + 1))
        return day, packets

    def absent(self, day):
        """Numbers that no line brings."""
        absent = set()
        for _ in range(self.parameters.common_losses):
            start = self.chance.randrange(day.first + 1, day.count())
            absent.update(range(start, start + self.chance.randrange(1, self.parameters.common_length + 1)))
        return absent - set(range(day.first, day.first + SAFE_MESSAGES))

    def pieces(self, day, absent):
        """First and last numbers of packets of random lengths, around the absent messages."""
        start = day.first
        while start <= day.count():
            if start in absent:
                start += 1
                continue
            last = start
            most = min(day.count(), start + self.chance.randrange(PACKET_MESSAGES))
            while last < most and last + 1 not in absent:
                last += 1
            yield start, last
            start = last + 1

    def copies(self, day, line, start, last):
        """The packet on this line: none, one, or two."""
        parameters, chance = self.parameters, self.chance
        is_safe = start < day.first + SAFE_MESSAGES
        if not is_safe and chance.random() < parameters.line_loss:
            return []
        moment = ((last - day.first) * parameters.message_us * 1e-6) + line * parameters.skew_ms * 1e-3
        if not is_safe and chance.random() < parameters.reordered:
            moment += chance.random() * parameters.reordered_ms * 1e-3
        copy = (wire.packet(day.session, start, day.messages[start - 1:last]), start, last)
        copies = [(moment, line, *copy)]
        if chance.random() < parameters.duplicated:
            copies.append((moment + chance.random() * 0.01, line, *copy))
        return copies

    def strays(self, day, duration):
        """Datagrams that are no packets of the session, when the session is joined."""
        strays = []
        for index in range(self.parameters.strays):
            moment, line = JOINED_S + self.chance.random() * duration, self.chance.randrange(self.parameters.lines)
            start = self.chance.randrange(1, day.count() - PACKET_MESSAGES)
            messages = day.messages[start - 1:start + 4]
            if index % 2 == 0:
                datagram = wire.packet(b"STRAY%05d" % self.chance.randrange(10**5), start, messages)
            else:
                cut = wire.packet(day.session, start, messages)[:self.chance.randrange(1, 60)]
                datagram = self.chance.choice([cut, self.chance.randbytes(30)])
            strays.append((moment, line, datagram, 0, -1))
        day.strays = len(strays)
        return strays

    def send(self, day, packets):
        """Sends the packets at their moments, and kills the plant at its own."""
        duration = packets[-1][0]
        kills = [max(JOINED_S, share * duration) for share in self.parameters.kills]
        start_again_at, sent, began = None, [], time.monotonic()
        for moment, line, datagram, first, last in packets:
            while True:
                now = time.monotonic() - began
                if start_again_at is not None and now >= start_again_at:
                    self.plant.start()
                    start_again_at = None
                elif start_again_at is None and kills and now >= kills[0]:
                    kills.pop(0)
                    self.kill_plant()
                    start_again_at = time.monotonic() - began + self.parameters.down_ms * 1e-3
                elif moment - now > 0.0005:
                    time.sleep(min(moment - now, 0.01))
                else:
                    break
            self.on_air.last_sent = max(self.on_air.last_sent, last)
            before = time.monotonic()
            self.socket.sendto(datagram, (self.host, self.plant.line_ports[line]))
            sent.append((before, time.monotonic(), first, last))
        self.on_air.last_sent = day.count()
        day.late = late(sent, day)
        if start_again_at is not None:
            self.plant.start()
        for moment in kills:
            time.sleep(max(0, moment - (time.monotonic() - began)))
            self.kill_plant()
            self.plant.start()

    def kill_plant(self):
        """Not before the session is joined: the next plant would join it as late as it begins."""
        end = time.monotonic() + 20
        while time.monotonic() < end and "joined at message" not in self.plant.log():
            time.sleep(0.005)
        if self.plant.process.poll() is not None:
            self.fail(f"the plant ended by itself with status {self.plant.process.returncode}")
        self.plant.kill()

    def end_session(self, day, stops):
        """Heartbeats, then ends of the session until the plant reports its end."""
        began = time.monotonic()
        while time.monotonic() - began < LONGEST_END_S:
            ends = time.monotonic() - began > 0.4
            datagram = (wire.end_of_session if ends else wire.heartbeat)(day.session, day.count() + 1)
            for port in self.plant.line_ports:
                self.socket.sendto(datagram, (self.host, port))
            if self.plant.wait(0.1) is not None:
                return True
            if self.parameters.sessions > 1 and len(self.plant.stops()) >= stops:
                return True
        self.fail("the plant did not end the session")
        return False

    def collect(self):
        """Records, reports, and the runs of kept sessions."""
        for kind, server in self.servers:
            self.outcome.requests[kind] += server.requests
            self.outcome.sent_by[kind] += server.messages_sent
            self.outcome.problems += server.problems
        if self.outcome.problems:
            return
        runs = runs_of(rows_of(self.binary, self.plant.journal))
        stops = self.plant.stops()
        days = self.outcome.days
        if len(runs) < len(days) or len(stops) != len(days):
            self.outcome.problems.append(f"{len(runs)} runs and {len(stops)} reports of {len(days)} sessions")
            return
        self.outcome.killed_runs = runs[:-len(days)]
        for day, rows, stop in zip(days, runs[-len(days):], stops):
            day.rows, day.stop = rows, stop
        if self.parameters.is_kept:
            self.run_kept()

    def run_kept(self):
        kept = self.kept_folder()
        if self.parameters.sessions == 1:
            folders = [kept]
        else:
            folders = sorted(os.path.join(kept, name) for name in os.listdir(kept))
        if len(folders) != len(self.outcome.days):
            self.outcome.problems.append(f"kept sessions: {folders}")
            return
        by_session = {os.path.basename(folder)[11:].encode().strip(b"-_ "): folder for folder in folders}
        for number, day in enumerate(self.outcome.days):
            folder = folders[0] if len(folders) == 1 else by_session.get(day.session.strip())
            if folder is None:
                self.outcome.problems.append(f"no kept session {day.session}: {sorted(by_session)}")
                continue
            day.kept = FileRun(self.binary, self.folder, f"kept{number}", folder)


def late(sent, day):
    """Numbers that came so long after a later number that a plant may have given them up."""
    found, seen, highest = set(), set(), 0
    first_above = {}  # number -> when the first number above it was sent
    for before, after, first, last in sent:
        for number in range(highest + 1, last + 1):
            first_above[number - 1] = before
        for number in range(first, last + 1):
            if number not in seen and number in first_above:
                is_late = after - first_above[number] > IN_TIME_S or highest - number > IN_TIME_NUMBERS
                found.update([number] if is_late else [])
            seen.add(number)
        highest = max(highest, last)
    return found


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
