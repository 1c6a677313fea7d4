#!/usr/bin/env python3
"""A node of a shared map that knows only docs/formats/link.md and docs/formats/peers.md.

    foreign_node.py ROUNDS MAP=PORT MAP=PORT

It is node 3 of the cluster `proof`; `nanotape latest share` runs nodes 1 and 2, with these maps. It changes random keys
on random nodes, breaks its connections now and then, and at the end all nodes must have the last change of each key and
no removed one. Exit status: 0 they have, 1 not.
"""

import csv
import io
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

CLUSTER, NODE, NODES, NAME = b"proof", 3, (1, 2, 3), b"three"
VALUE_WORDS, KEYS, BOUND_NS = 2, 60, 2 * 10**9
HELLO, HEARTBEAT, BYE = 0xFF00, 0xFF01, 0xFF02
STATE, MEMBERS, CURSOR, ENTRIES, ROUND, PROGRESS, REFUSAL = range(1, 8)
PENDING, JOINED, LEFT = 0, 1, 2
HEARTBEAT_NS, MOST_PAYLOAD, WINDOW = 100_000_000, 1 << 16, 1 << 18

TABLE = []
for index in range(256):
    for _ in range(8):
        index = index >> 1 ^ (0x82F63B78 if index & 1 else 0)
    TABLE.append(index)


def crc32c(data, seed=0):
    check = seed ^ 0xFFFFFFFF
    for byte in data:
        check = TABLE[(check ^ byte) & 255] ^ check >> 8
    return check ^ 0xFFFFFFFF


def fnv1a(data):
    number = 0xCBF29CE484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return number


def words(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def numbers(payload):
    return struct.unpack_from(f"<{len(payload) // 8}Q", payload)


class Node:
    """The map, the numbers of its changes, and the members."""

    def __init__(self):
        self.life, self.incarnation = random.getrandbits(64) | 1, random.getrandbits(64)
        self.entries, self.changed, self.last = {}, {}, 0
        # Node: generation, founding, state, life.
        self.members = {node: (0, 1, PENDING, 0) for node in NODES}
        self.members[NODE] = (0, 1, JOINED, self.life)
        self.version = 1
        self.cursors, self.acknowledged = {}, {}

    def store(self, key, entry):
        self.last += 1
        self.entries[key], self.changed[key] = entry, self.last

    def write(self, key, value):
        """Changes a key, or removes it without a value. Returns whether there was something to do."""
        there = self.entries.get(key)
        if value is None and (there is None or there[2] & 2):
            return False
        at = max(time.time_ns(), there[1] + 1 if there else 0)
        origin = NODE << 48 | (2 if value is None else 0)
        self.store(key, (value or (0,) * VALUE_WORDS, at, origin))
        return True

    def merge(self, key, entry):
        there = self.entries.get(key)
        if there is None:
            is_forgotten = entry[2] & 1 and entry[1] < time.time_ns()
            wins = not is_forgotten
        else:
            wins = (entry[1], entry[2], entry[0]) > (there[1], there[2], there[0])
        if wins:
            self.store(key, entry)

    def merge_members(self, payload):
        found = numbers(payload)
        assert found[1] == 0, "no node is dropped here"
        for word, life in zip(found[2::2], found[3::2]):
            node, theirs = word & 0xFFFF, (word >> 16 & 0xFFFFFFFF, word >> 48 & 1, word >> 56, life)
            ours = self.members.get(node, theirs)
            if (theirs[0], theirs[2]) > (ours[0], ours[2]):
                ours = theirs
            if ours != self.members.get(node):
                self.members[node] = ours
                self.version += 1

    def members_payload(self):
        members = sorted(self.members.items())
        each = [word for node, (generation, founding, state, life) in members
                for word in (node | generation << 16 | founding << 48 | state << 56, life)]
        return words(len(members), 0, *each)

    def forget(self):
        others = [node for node in self.members if node != NODE]
        everywhere = min(self.acknowledged.get(node, 0) for node in others)
        for key, (value, at, origin) in list(self.entries.items()):
            if not origin & 2 or at > time.time_ns() - BOUND_NS or self.changed[key] > everywhere:
                continue
            if origin & 1:
                del self.entries[key], self.changed[key]
            else:
                self.store(key, (value, at, origin | 1))

    def live(self):
        return {key: value for key, (value, _, origin) in self.entries.items() if not origin & 2}


class Connection:
    """One side of a link, which has connected."""

    def __init__(self, node, port):
        self.node, self.socket = node, socket.create_connection(("127.0.0.1", port), 5)
        self.received, self.sent_frames, self.received_frames, self.seed = b"", 0, 0, 0
        self.nonce, self.beaten = random.getrandbits(64), 0
        self.other, self.has_members, self.members_sent = None, False, 0
        self.has_sent_cursor, self.sent, self.entry_bytes = False, None, 0
        name = struct.pack("<I", len(NAME)) + NAME
        self.send(HELLO, b"nanolink" + b"PEERMAP1" + words(random.getrandbits(64), 0, self.nonce, HEARTBEAT_NS)
                  + struct.pack("<IIQ", 1, MOST_PAYLOAD, 0) + name)

    def send(self, kind, payload):
        head = struct.pack("<IHHQ", len(payload), kind, 0, self.sent_frames)
        seed = 0 if kind in (HELLO, BYE) else self.seed
        self.socket.sendall(head + struct.pack("<II", crc32c(head + payload, seed), 0) + payload)
        self.sent_frames += 1

    def frames(self):
        if select.select([self.socket], [], [], 0)[0]:
            came = self.socket.recv(1 << 16)
            if not came:
                raise ConnectionError("closed")
            self.received += came
        while len(self.received) >= 24:
            length, kind, _, number, check, _ = struct.unpack("<IHHQII", self.received[:24])
            if len(self.received) < 24 + length:
                return
            head, payload = self.received[:16], self.received[24:24 + length]
            self.received = self.received[24 + length:]
            seed = 0 if kind in (HELLO, BYE) else self.seed
            assert (number, check) == (self.received_frames, crc32c(head + payload, seed)), f"frame {number}"
            self.received_frames += 1
            yield kind, payload

    def turn(self):
        for kind, payload in self.frames():
            self.take(kind, payload)
        if self.seed and time.monotonic_ns() - self.beaten >= HEARTBEAT_NS:
            self.beaten = time.monotonic_ns()
            self.send(HEARTBEAT, words(time.time_ns(), 0, 0))
        if self.other is None:
            return
        if self.members_sent != self.node.version:
            self.send(MEMBERS, self.node.members_payload())
            self.members_sent = self.node.version
        if self.has_members and not self.has_sent_cursor:
            self.send(CURSOR, words(self.other[2], self.node.cursors.get(self.other[1:3], 0)))
            self.has_sent_cursor = True
        if self.sent is not None and self.node.last > self.sent:
            self.send_round()

    def send_round(self):
        node, bound = self.node, self.node.last
        for key, number in node.changed.items():
            if self.sent < number <= bound:
                value, at, origin = node.entries[key]
                self.send(ENTRIES, words(key, *value, at, origin))
        self.send(ROUND, words(self.sent, bound))
        self.sent = bound

    def take(self, kind, payload):
        node, found = self.node, numbers(payload)
        if kind == HELLO:
            assert payload[:16] == b"nanolinkPEERMAP1"
            self.seed = crc32c(words(self.nonce, found[4]))
            self.send(STATE, words(fnv1a(CLUSTER), NODE, node.life, node.incarnation, 1 | VALUE_WORDS << 32, 0,
                                   len(node.entries), 1, WINDOW))
        elif kind == STATE:
            cluster, number, life, incarnation, sizes = found[:5]
            assert (cluster, sizes) == (fnv1a(CLUSTER), 1 | VALUE_WORDS << 32), found
            self.other = (number, life, incarnation)
            generation, founding, state, _ = node.members[number]
            if state == PENDING:
                node.members[number] = (generation, founding, JOINED, life)
                node.version += 1
            assert node.members[number][3] == life, "another life has joined"
        elif kind == MEMBERS:
            node.merge_members(payload)
            self.has_members = True
        elif kind in (CURSOR, PROGRESS):
            number = found[1] if found[0] == node.incarnation else 0
            node.acknowledged[self.other[0]] = number
            is_refused = kind == PROGRESS and found[3]
            if kind == CURSOR or is_refused:
                self.sent = number
        elif kind == ENTRIES:
            self.entry_bytes += len(payload)
            size = 1 + VALUE_WORDS + 2
            for at in range(0, len(found), size):
                key, *value, written, origin = found[at:at + size]
                node.merge(key, (tuple(value), written, origin))
        elif kind == ROUND:
            of_other, (begin, bound) = self.other[1:3], found
            known = node.cursors.get(of_other, 0)
            if begin <= known:
                known = node.cursors[of_other] = max(known, bound)
            self.send(PROGRESS, words(self.other[2], known, self.entry_bytes, int(begin > known)))
        elif kind in (REFUSAL, BYE):
            raise ConnectionError(f"{found or payload}")


class Real:
    """A node that `nanotape latest share` runs."""

    def __init__(self, argument):
        self.map, port = argument.split("=")
        self.port, self.connection = int(port), None

    def run(self, command, *arguments):
        program = [os.environ["NANOTAPE"], "latest", command, self.map, *arguments]
        ran = subprocess.run(program, capture_output=True, text=True)
        # A key that is not there is status 1.
        assert ran.returncode == 0 or (command, ran.returncode) == ("remove", 1), ran.stderr
        return ran

    def write(self, key, value):
        if value is None:
            return self.run("remove", str(key)).returncode == 0
        self.run("set", str(key), *map(str, value))
        return True

    def live(self):
        rows = csv.reader(io.StringIO(self.run("dump", "--format", "csv").stdout))
        next(rows)
        return {int(row[0]): tuple(map(int, row[2:])) for row in rows}

    def entries(self):
        return json.loads(self.run("stat", "--format", "json").stdout)["entries"]


def work(node, reals, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for real in reals:
            try:
                real.connection = real.connection or Connection(node, real.port)
                real.connection.turn()
            except OSError as error:
                print(f"the connection to port {real.port} ended: {error}")
                real.connection = None
        node.forget()
        time.sleep(0.002)


def main(rounds, reals):
    node, truth = Node(), {}
    nodes = [node, *reals]
    for number in range(1, rounds + 1):
        key, where = random.randrange(KEYS), random.choice(nodes)
        value = None if random.random() < 0.3 else (number, random.getrandbits(64))
        # A removal wins over all earlier changes, if its node has any of them.
        if where.write(key, value):
            truth[key] = value
        work(node, reals, 0.002)
        if random.random() < 0.02:
            cut = random.choice(reals)
            if cut.connection:
                cut.connection.socket.close()
                cut.connection = None
    for _ in range(300):
        work(node, reals, 0.2)
        lives = [each.live() for each in nodes]
        sizes = [len(node.entries), *(real.entries() for real in reals)]
        if all(live == lives[0] for live in lives) and set(sizes) == {len(lives[0])}:
            break
    truth = {key: value for key, value in truth.items() if value is not None}
    print(f"{rounds} changes, {len(lives[0])} keys; entries of the nodes: {sizes}")
    return lives, sizes, truth


if __name__ == "__main__":
    lives, sizes, truth = main(int(sys.argv[1]), [Real(argument) for argument in sys.argv[2:]])
    is_good = all(live == truth for live in lives) and set(sizes) == {len(truth)}
    if not is_good:
        print(f"expected {truth}, found {lives}")
    sys.exit(0 if is_good else 1)
