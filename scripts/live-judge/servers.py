"""The exchange's servers beside the lines, good ones and bad ones: re-requests, SoupBinTCP, GLIMPSE.

A server has a behaviour, by name. The tables `REREQUEST`, `SOUPBINTCP` and `GLIMPSE` say what each one does and whether
everything that is asked of it comes in the end. All servers send what `OnAir` says has been sent on the lines.
"""
import random
import select
import socket
import threading
import time
from dataclasses import dataclass, field

import wire
from books import Books, end_of_snapshot

# What a server has in one datagram, below the usual limit of Ethernet.
MOST_BYTES_A_PACKET = 1_400
ANOTHER_SESSION = b"OTHER00001"

REREQUEST = {
    "good": "answers each request",
    "lossy": "leaves 4 of 10 requests without an answer",
    "late": "answers after up to 10 ms",
    "short": "answers with 1 to 3 messages",
    "silent": "does not answer",
    "closed": "its port is closed",
    "other address": "answers from another port",
    "other session": "answers with packets of another session",
    "other numbers": "answers with earlier messages than those that were requested",
}
SOUPBINTCP = {
    "good": "sends all messages from the requested one on",
    "slow": "sends 50 messages each 10 ms",
    "flaky": "closes at once, rejects the login, or closes after some messages",
    "stalled": "accepts the login, and sends nothing",
    "rejecting": "rejects each login",
    "closed": "its port is closed",
    "other session": "accepts the login with another session",
    "other number": "begins with a later message than the requested one",
}
GLIMPSE = {
    "good": "sends the books of this moment",
    "stale": "sends the books of up to 200 messages ago",
    "slow": "needs 150 ms for a snapshot",
    "cut": "closes in the middle of the snapshot",
    "closed": "its port is closed",
    "other session": "accepts the login with another session",
    "other number": "begins with message 5 of the snapshot",
    "far ahead": "sends a snapshot of a number that the lines are far from",
}

# Behaviours that bring everything that is asked of them, whatever else happens.
ALWAYS_BRING = {"rerequest": {"good", "late", "short"}, "soupbintcp": {"good", "slow"}, "glimpse": set()}
# Behaviours of which nothing must be used.
NEVER_BRING = {
    "rerequest": {"silent", "closed", "other address", "other session"},
    "soupbintcp": {"stalled", "rejecting", "closed", "other session", "other number"},
    "glimpse": {"cut", "closed", "other session", "other number", "far ahead"},
}


@dataclass
class OnAir:
    """The session that is sent on the lines now, and how far."""

    session: bytes = b""
    messages: list = field(default_factory=list)
    last_sent: int = 0

    def from_number(self, first, count):
        """The messages that exist yet of a range."""
        return self.messages[first - 1:max(first - 1, min(first - 1 + count, self.last_sent))]


def start(kind, behaviour, host, port, on_air, seed):
    """A server of this kind at this address."""
    if behaviour == "closed":
        return Closed()
    of = {"rerequest": RerequestServer, "soupbintcp": SoupBinTcpServer, "glimpse": GlimpseServer}[kind]
    server = of(behaviour, host, port, on_air, seed)
    threading.Thread(target=server.serve, daemon=True).start()
    return server


class Closed:
    """No server at all."""

    requests = 0
    messages_sent = 0
    problems = []

    def stop(self):
        pass


class Server:
    """What all servers have: a behaviour with its own chances, counts, and an end."""

    def __init__(self, behaviour, listener, address, on_air, seed):
        self.behaviour = behaviour
        self.on_air = on_air
        self.chance = random.Random(seed)
        self.requests = 0
        self.messages_sent = 0
        self.problems = []
        self.listener = listener
        self.listener.bind(address)
        self.listener.settimeout(0.2)
        self.is_stopped = False

    def stop(self):
        self.is_stopped = True
        self.listener.close()


class RerequestServer(Server):
    """Answers request packets of MoldUDP64 with the messages from a number on."""

    def __init__(self, behaviour, host, port, on_air, seed):
        super().__init__(behaviour, socket.socket(type=socket.SOCK_DGRAM), (host, port), on_air, seed)
        self.other = socket.socket(type=socket.SOCK_DGRAM)
        self.other.bind((host, 0))

    def serve(self):
        while not self.is_stopped:
            try:
                datagram, client = self.listener.recvfrom(2_000)
            except TimeoutError:
                continue
            except OSError:
                return
            self.requests += 1
            if len(datagram) != wire.REQUEST_LENGTH:
                self.problems.append(f"not a request of MoldUDP64: {datagram!r}")
                continue
            answer = self.answer(*wire.request(datagram))
            if answer and not self.is_stopped:
                (self.other if self.behaviour == "other address" else self.listener).sendto(answer, client)

    def answer(self, session, first, count):
        on_air = self.on_air
        if session != on_air.session or self.behaviour == "silent":
            return None
        if self.behaviour == "lossy" and self.chance.random() < 0.4:
            return None
        if self.behaviour == "late":
            time.sleep(self.chance.random() * 0.01)
        if self.behaviour == "short":
            count = min(count, self.chance.randrange(1, 4))
        if self.behaviour == "other numbers":
            first = max(1, first - count - self.chance.randrange(1, 50))
        if self.behaviour == "other session":
            session = ANOTHER_SESSION
        messages, length = [], wire.REQUEST_LENGTH
        for message in on_air.from_number(first, count):
            length += 2 + len(message)
            if length > MOST_BYTES_A_PACKET:
                break
            messages.append(message)
        self.messages_sent += len(messages)
        return wire.packet(session, first, messages) if messages else None

    def stop(self):
        super().stop()
        self.other.close()


class TcpServer(Server):
    """Accepts connections, and reads the login of each."""

    def __init__(self, behaviour, host, port, on_air, seed):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        super().__init__(behaviour, listener, (host, port), on_air, seed)
        listener.listen(50)

    def serve(self):
        while not self.is_stopped:
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            threading.Thread(target=self.converse, args=[connection], daemon=True).start()

    def converse(self, connection):
        try:
            with connection:
                connection.settimeout(20)
                login = b""
                while len(login) < wire.LOGIN_LENGTH:
                    part = connection.recv(wire.LOGIN_LENGTH - len(login))
                    if not part:
                        return
                    login += part
                self.requests += 1
                self.answer(connection, wire.requested_number(login))
        except OSError:
            pass  # The plant may close a connection at any time.
        except Exception as error:  # A mistake of the judge must fail the session.
            self.problems.append(f"server: {error!r}")

    def send(self, connection, messages):
        self.messages_sent += len(messages)
        connection.sendall(wire.sequenced(messages))

    def has_closed(self, connection):
        """Whether the client has; its heartbeats are read."""
        readable = select.select([connection], [], [], 0)[0]
        return self.is_stopped or (bool(readable) and not connection.recv(1_000))

    def wait_for_close(self, connection, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.has_closed(connection):
            time.sleep(0.01)


class SoupBinTcpServer(TcpServer):
    """Sends the messages of the session from the requested one on, for as long as the client stays."""

    def answer(self, connection, first):
        session, behaviour = self.on_air.session, self.behaviour
        if behaviour == "flaky":
            behaviour = self.chance.choice(["closing", "rejecting", "cut", "cut", "good"])
        if behaviour == "closing":
            return
        if behaviour == "rejecting":
            return connection.sendall(wire.login_rejected())
        if behaviour == "other session":
            session = ANOTHER_SESSION
        if behaviour == "other number":
            first += self.chance.randrange(1, 10)
        connection.sendall(wire.login_accepted(session, first))
        if behaviour == "stalled":
            self.wait_for_close(connection, 20)
        elif behaviour == "cut":
            self.send(connection, self.on_air.from_number(first, self.chance.randrange(300)))
        else:
            self.stream(connection, first, *((50, 0.01) if behaviour == "slow" else (200, 0)))

    def stream(self, connection, first, count, pause_s):
        heartbeat_at = time.monotonic() + 1
        while not self.has_closed(connection):
            messages = self.on_air.from_number(first, count)
            if messages:
                self.send(connection, messages)
                first += len(messages)
                time.sleep(pause_s)
            else:
                time.sleep(0.005)
            if time.monotonic() > heartbeat_at:
                connection.sendall(wire.soup(b"H"))
                heartbeat_at = time.monotonic() + 1


class GlimpseServer(TcpServer):
    """Sends a snapshot of the books, and closes when the client does."""

    def answer(self, connection, _first):
        on_air, behaviour = self.on_air, self.behaviour
        session = ANOTHER_SESSION if behaviour == "other session" else on_air.session
        connection.sendall(wire.login_accepted(session, 5 if behaviour == "other number" else 1))
        age = self.chance.randrange(200) if behaviour == "stale" else 0
        last = max(1, on_air.last_sent - age)
        snapshot = Books(on_air.messages[:last]).snapshot(last + 1)
        if behaviour == "slow":
            time.sleep(0.15)
        if behaviour == "far ahead":
            snapshot[-1] = end_of_snapshot(last + 2**21)
        if behaviour == "cut":
            snapshot = snapshot[:len(snapshot) // 2]
        self.send(connection, snapshot)
        if behaviour != "cut":
            self.wait_for_close(connection, 2)
