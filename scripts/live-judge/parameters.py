"""What a seed chooses: the market, the faults of the lines, the servers, and what is done to the plant."""
import random
from dataclasses import dataclass, field

import servers

PACKET_MESSAGES = 12
# Every line brings the first messages of a session in time, so that all sessions are joined where they should be.
SAFE_MESSAGES = 40


@dataclass
class Parameters:
    """One random session, or two that follow each other in one plant."""

    seed: int
    messages: int = 600
    stocks: int = 3
    misfits: int = 0  # messages that do not fit their books
    lines: int = 2
    line_loss: float = 0  # share of the packets of each line
    common_losses: int = 0  # runs of messages that no line brings
    common_length: int = 1  # most messages of such a run
    reordered: float = 0  # share of the packets
    reordered_ms: int = 1
    duplicated: float = 0  # share of the packets
    skew_ms: int = 0  # of each line behind the one before it
    strays: int = 0  # datagrams that are no packets of the session
    message_us: int = 60
    policy: str = "wait"
    join: str = "first"  # "first": the plant is there before message 1; others are those of --join
    rerequest: list = field(default_factory=list)
    soupbintcp: list = field(default_factory=list)
    soupbintcp_least: int = 0  # 0: the default
    glimpse: list = field(default_factory=list)
    sessions: int = 1
    kills: list = field(default_factory=list)  # moments, as shares of the time of the session
    down_ms: int = 0
    is_kept: bool = False

    def servers(self):
        """Pairs of kind and behaviour."""
        kinds = ("rerequest", "soupbintcp", "glimpse")
        return [(kind, behaviour) for kind in kinds for behaviour in getattr(self, kind)]

    def has_all_from_a_server(self):
        """Whether a server brings everything that is missing, so that nothing can be lost.

        A small gap does not come from SoupBinTCP while a re-request server answers, with whatever.
        """
        if set(self.rerequest) & servers.ALWAYS_BRING["rerequest"]:
            return True
        has_stream = bool(set(self.soupbintcp) & servers.ALWAYS_BRING["soupbintcp"])
        return has_stream and self.has_nothing_from("rerequest")

    def has_nothing_from(self, kind):
        return set(getattr(self, kind)) <= servers.NEVER_BRING[kind]

    def begins_late(self):
        return self.join != "first"


def draw(seed):
    chance = random.Random(seed)
    choose = chance.choice
    chosen = Parameters(
        seed,
        messages=choose([600, 2_000, 5_000]),
        stocks=choose([1, 3, 8]),
        misfits=choose([0, 0, 0, 5]),
        lines=choose([1, 2, 2, 2, 3, 4]),
        line_loss=choose([0, 0.02, 0.1, 0.3]),
        common_losses=choose([0, 1, 3, 10]),
        common_length=choose([1, 10, 200, 1_500]),
        reordered=choose([0, 0, 0.02, 0.2]),
        reordered_ms=choose([1, 5, 20]),
        duplicated=choose([0, 0, 0.1]),
        skew_ms=choose([0, 0, 3]),
        message_us=choose([20, 60, 200]),
        policy=choose(["flag", "wait"]),
        join=choose(["first", "first", "first", "first", "start", "snapshot", "here"]),
        rerequest=drawn_servers(chance, servers.REREQUEST, none=2),
        soupbintcp=drawn_servers(chance, servers.SOUPBINTCP, none=5),
        soupbintcp_least=choose([0, 1, 50]),
        glimpse=drawn_servers(chance, servers.GLIMPSE, none=6),
        is_kept=chance.random() < 0.2,
    )
    what = chance.random()
    if what < 0.12:
        chosen.sessions, chosen.join = 2, "first"
    elif what < 0.27:
        kill(chosen, chance)
    make_possible(chosen)
    chosen.strays = choose([0, 0, 0, 10])
    return chosen


def drawn_servers(chance, behaviours, none):
    """No server, one, or a stand-by too. The good behaviour is as likely as any three others."""
    names = list(behaviours)
    if chance.randrange(len(names) + 2 + none) < none:
        return []
    return chance.choices(names, [3] + [1] * (len(names) - 1), k=chance.choice([1, 1, 2]))


def kill(chosen, chance):
    """The plant is killed up to three times, in a session that is long enough to catch up."""
    chosen.join, chosen.is_kept = "first", True
    chosen.messages, chosen.message_us = chance.choice([5_000, 10_000]), 200
    chosen.common_length = min(chosen.common_length, 200)
    chosen.kills = sorted(round(chance.uniform(0.3, 0.95), 3) for _ in range(chance.choice([1, 1, 2, 3])))
    chosen.down_ms = chance.choice([0, 50, 300])


def make_possible(chosen):
    """A join needs its server."""
    if chosen.join == "start" and not chosen.has_all_from_a_server():
        chosen.rerequest = ["good"]
        chosen.glimpse = []
    if chosen.join == "snapshot" and not {"good", "slow", "stale"} & set(chosen.glimpse):
        chosen.glimpse = ["good"]
