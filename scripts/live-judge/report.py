"""What is printed: a seed that failed, and at the end how often each thing was tried and what came of it."""
import json
from collections import Counter

LAST_LINES = 20
FAULTS = {
    "misfits": "messages that do not fit their books",
    "line_loss": "packets that one line lacks",
    "common_losses": "messages that all lines lack",
    "reordered": "packets out of order",
    "duplicated": "packets twice",
    "skew_ms": "lines behind others",
    "strays": "packets of no or another session",
}
# The groups of counts, by the beginning of their names.
GROUPS = {
    "fault ": "sessions with faults of the lines",
    "lines ": "plants by lines",
    "policy ": "plants by gap policy",
    "join ": "plants by join",
    "plant ": "plants with more",
    "rerequest ": "re-request servers",
    "soupbintcp ": "SoupBinTCP servers",
    "glimpse ": "GLIMPSE servers",
    "all ": "in all sessions",
}


def of(outcome, wrong, folder):
    """A seed in words and numbers, as `--format json` prints it."""
    return {
        "seed": outcome.parameters.seed,
        "wrong": wrong,
        "parameters": vars(outcome.parameters),
        "counts": counts(outcome),
        "command": " ".join(outcome.command),
        "log": outcome.log.splitlines()[-LAST_LINES:],
        "folder": folder,
        "seconds": round(outcome.seconds, 1),
    }


def counts(outcome):
    """What was tried in a session, and what came of it."""
    chosen, counted = outcome.parameters, Counter()
    counted["all sessions"] = chosen.sessions
    for name, title in FAULTS.items():
        counted[f"fault {title}"] = chosen.sessions if getattr(chosen, name) else 0
    for kind, behaviour in chosen.servers():
        counted[f"{kind} {behaviour}"] += 1
    for name in ("lines", "policy", "join"):
        counted[f"{name} {getattr(chosen, name)}"] = 1
    counted["plant keeps its packets"] = int(chosen.is_kept)
    counted["plant follows two sessions"] = int(chosen.sessions > 1)
    counted["plant killed and started again"] = len(chosen.kills)
    for kind, requests in outcome.requests.items():
        counted[f"all requests to {kind}"] = requests
    # The plant counts what both kinds bring as one number.
    senders = " or ".join(kind for kind in ("rerequest", "soupbintcp") if outcome.sent_by[kind]) or "no server"
    for day in outcome.days:
        counted["all messages"] += day.count() - day.first + 1
        counted["all messages on no line"] += len(day.never)
        if not day.stop:
            continue
        for title, name in (
            ("gaps", "gaps"), ("messages from another line in time", "messages_in_time_from_other_line"),
            ("messages from a line after a gap", "gap_messages_from_lines"),
            (f"messages from {senders}", "gap_messages_retransmitted"),
            ("messages in a snapshot", "gap_messages_in_snapshot"), ("messages lost and reported", "gap_messages_lost"),
            ("records", "records"),
        ):
            counted[f"all {title}"] += day.stop[name]
        for title, name in (("far ahead", "far_ahead"), ("by the kernel", "kernel_drops")):
            counted[f"all packets dropped {title}"] += sum(line[name] for line in day.stop["lines"])
    return counted


def show(found, options):
    if options.format == "json":
        print(json.dumps(found))
    elif found["wrong"]:
        print(f"BAD seed {found['seed']}")
        for what in found["wrong"]:
            print(f"  wrong: {what}")
        print(f"  parameters: {', '.join(f'{name} {value}' for name, value in found['parameters'].items())}")
        print(f"  command: {found['command']}")
        print("\n".join(f"  log: {line}" for line in found["log"]))
        print(f"  kept: {found['folder']}")
    elif options.verbose:
        chosen = found["parameters"]
        servers = f"{chosen['rerequest']} {chosen['soupbintcp']} {chosen['glimpse']}"
        print(f"good seed {found['seed']} in {found['seconds']} s: "
              f"{chosen['sessions']} of {chosen['messages']} messages, policy {chosen['policy']}, "
              f"join {chosen['join']}, servers {servers}, {len(chosen['kills'])} kills, "
              f"{found['counts']['all messages lost and reported']} lost")


def summarise(reports, failed, folder, options):
    total = sum((Counter(found["counts"]) for found in reports), Counter())
    if options.format == "json":
        print(json.dumps({"seeds": len(reports), "failed": failed, "counts": total}))
        return
    for beginning, title in GROUPS.items():
        print(f"{title}:")
        for name, count in sorted(total.items()):
            if name.startswith(beginning):
                print(f"  {name.removeprefix(beginning):40} {count:10}")
    which = f": {failed}; their folders are in {folder}" if failed else ""
    print(f"{len(reports)} seeds, {len(failed)} failed{which}")
