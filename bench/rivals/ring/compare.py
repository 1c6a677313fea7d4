"""Compares nanotape's rings with other queues: how programs start, nanotape's rows, and the table."""

from harness import build, nanotape
from harness.by_lot import Comparison
from harness.table import NONE, duration, durations, medians, range_of, spread

from .programs import MESSAGES, MODES, PROGRAMS

EPILOG = """\
Messages of 73 bytes go from one writer to one reader, each pinned to a processor. Queues have 65,536
slots or 8 MiB. "M msg/s" is at full speed, from the reader's first message to its last. "1-way" is the
time in ns from right before the writer gives a message to the queue until the reader has copied it
out, at 1,000,000 messages a second. "RTT" is a round trip, one message at a time. The table has
medians over the rounds. "x limit" is the ratio to the time that a cache line takes between the two
processors, if nanotape's list has it. The first tenth of the times is warm-up and left out. Every
program checks the order of all messages and the bytes of every thousandth.

examples:
  run ring                                           everything, three rounds
  run ring --only rtrb,disruptor --rounds 9
  run ring --seconds 120 --format json > rivals.json
  run ring --list

exit status: 0 good, 1 a message arrived out of order or damaged, 2 usage or environment
"""

# Rows of the list, the row of the table that each belongs to, and its mode.
ROWS = {
    f"{design}/{row}": (f"nanotape {design}{suffix}", mode)
    for design in ("stream", "slots")
    for row, suffix, mode in (
        ("throughput/lossless-single", "", "throughput"),
        ("throughput/lossless-batch-read", ", read in batches", "throughput"),
        ("latency", "", "latency"),
        ("round-trip", "", "ping-pong"),
    )
}
LINE = "limit/line"


class Ring(Comparison):
    name = "ring"
    description = "Runs nanotape's rings and other queues, one at a time by lot, and prints one table."
    epilog = EPILOG
    programs = PROGRAMS
    messages = MESSAGES["throughput"]
    messages_help = "other modes and slow programs get fewer in proportion"
    nanotape_rows = [*ROWS, LINE]
    words = 4
    headings = [
        "program", "version", "scope", "delivery", "M msg/s", "min..max", "received",
        "1-way p50", "min..max", "p90", "p99", "x limit", "RTT p50", "min..max", "p99", "x limit",
    ]

    def build(self, chosen):
        left_out = {}
        rust = [program.name for program in chosen if program.kind == "rust"]
        commands = build.rust("rivals-ring", rust, left_out)
        commands = {name: [executable, name] for name, executable in commands.items()}
        java = [program.name for program in chosen if program.kind == "java"]
        if java:
            try:
                # Agrona reads internals of the JDK. Programs that need speed turn its checks off.
                flags = ["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"]
                start = build.java("ring", [*flags, "-Dagrona.disable.bounds.checks=true"])
                commands |= {name: [*start, name] for name in java}
            except build.Unavailable as reason:
                left_out |= dict.fromkeys(java, str(reason))
        return commands, left_out

    def jobs(self, chosen, commands, cpus, options):
        words = ["--cpus", ",".join(map(str, cpus)), "--messages"]
        scale = options.messages / MESSAGES["throughput"]
        return [
            (program.name, mode, [
                *commands[program.name], mode, *words, str(program.messages(mode, scale)),
            ], {})
            for program in chosen if program.name in commands for mode in MODES
        ]

    def as_run(self, row):
        name, mode = ROWS.get(row["name"], (row["name"], "limit"))
        run = {
            "name": name,
            "mode": mode,
            "version": "this checkout",
            "scope": "processes",
            # Its writer never waits. In rows of throughput the benchmark paces it.
            "delivery": "lossy, paced here",
        }
        if mode == "throughput":
            answer = row["answer"]
            run["messages_per_second"] = row["read_per_second"]
            run["readers"] = [{"received": answer["read"], "lost": answer["lost"]}]
        else:
            times = "from_send_ns" if mode == "latency" else "round_trip_ns"
            run[times] = nanotape.quantiles(row["latency"])
        return run

    def facts(self, runs):
        """The time that a cache line takes there and back, in ns: the median, or None."""
        times = sorted(run["round_trip_ns"]["p50"] for run in runs if run["name"] == LINE)
        return {"line_bounce_ns": times[len(times) // 2] if times else None}

    def summary(self, runs, line_bounce_ns=None):
        """The limit of a round trip is `line_bounce_ns`, and that of one way is half of it."""
        rows = {}
        for run in runs:
            if run["mode"] != "limit":
                rows.setdefault(run["name"], []).append(run)
        return [row(name, of_name, line_bounce_ns) for name, of_name in rows.items()]

    def cells(self, row):
        share = row["received_share"]
        return [
            row["name"], row["version"], row["scope"], row["delivery"],
            *range_of(row["throughput"], 1), NONE if share is None else f"{share:.0%}",
            *times(row["one_way_ns"], ["p50", "p90", "p99"]),
            *times(row["round_trip_ns"], ["p50", "p99"]),
        ]

    def footer(self, line_bounce_ns=None, **_):
        if not line_bounce_ns:
            return ""
        return f"\n\nlimit: a cache line takes {line_bounce_ns:.0f} ns there and back"


def row(name, runs, bounce):
    flat = [run for run in runs if run["mode"] == "throughput"]
    one_way = [run["from_send_ns"] for run in runs if run["mode"] == "latency"]
    round_trips = [run["round_trip_ns"] for run in runs if run["mode"] == "ping-pong"]
    return {
        "name": name,
        **{fact: runs[0].get(fact, "?") for fact in ["version", "scope", "delivery"]},
        "throughput": spread([run["messages_per_second"] / 1e6 for run in flat]),
        "received_share": received_share(flat),
        "one_way_ns": percentiles(one_way, bounce and bounce / 2),
        "round_trip_ns": percentiles(round_trips, bounce),
    }


def received_share(flat):
    """The smallest share of the messages that a reader received in any run; None if not reported."""
    shares = [
        reader["received"] / (reader["received"] + reader["lost"])
        for run in flat for reader in run.get("readers", [])
        if isinstance(reader, dict) and reader["received"] + reader["lost"]
    ]
    return min(shares, default=None)


def percentiles(found, limit):
    """The median of each percentile over the rounds, the range of p50, and its ratio to the limit."""
    if not found:
        return None
    middle = spread([one["p50"] for one in found])
    return {
        **medians(found, ["p50", "p90", "p99"]), "p50_min": middle["min"], "p50_max": middle["max"],
        "x_limit": middle["median"] / limit if limit else None,
    }


def times(found, names):
    """p50 with its range, the other percentiles, and the ratio to the limit."""
    if not found:
        return [NONE] * (len(names) + 2)
    middle, *others = durations(found, names)
    range_ = f"{duration(found['p50_min'])}..{duration(found['p50_max'])}"
    return [middle, range_, *others, f"{found['x_limit']:.1f}" if found["x_limit"] else NONE]
