"""The bytes of packets, from the specifications "MoldUDP64 Protocol" 1.00 and "SoupBinTCP" 4.0 of Nasdaq."""
import struct

END_OF_SESSION = 0xFFFF
REQUEST_LENGTH = 20
LOGIN_LENGTH = 2 + 47


def packet(session, first, messages):
    """A downstream packet of MoldUDP64: session, number of the first message, count, message blocks."""
    blocks = b"".join(struct.pack(">H", len(message)) + message for message in messages)
    return session + struct.pack(">QH", first, len(messages)) + blocks


def heartbeat(session, next_number):
    return packet(session, next_number, [])


def end_of_session(session, next_number):
    return session + struct.pack(">QH", next_number, END_OF_SESSION)


def request(datagram):
    """Session, first number and count of a request packet of MoldUDP64."""
    return datagram[:10], *struct.unpack(">QH", datagram[10:REQUEST_LENGTH])


def soup(kind, payload=b""):
    """A logical packet of SoupBinTCP: length, type, payload."""
    return struct.pack(">H", 1 + len(payload)) + kind + payload


def login_accepted(session, first):
    """`A`: session and number of the next sequenced message, both padded on the left."""
    return soup(b"A", session.strip().rjust(10) + str(first).rjust(20).encode())


def login_rejected():
    """`J`: the session is not available."""
    return soup(b"J", b"S")


def sequenced(messages):
    return b"".join(soup(b"S", message) for message in messages)


def requested_number(login):
    """The number of the first message that a login request `L` wants."""
    assert len(login) == LOGIN_LENGTH and login[2:3] == b"L", login
    return int(login[29:49])
