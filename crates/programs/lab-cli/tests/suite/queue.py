"""The queue of a day file, computed the plain way: a list of the messages in the system.

Usage: queue.py DAY SERVICE_NS[,SERVICE_NS...] LIMIT_NS
       queue.py DAY receiver OPTIONS, a JSON object
       queue.py DAY capacity RING SERVICE_NS FASTER_NS[,FASTER_NS...]
Prints one JSON object. It shares no code with the program: it reads the file on its own, and has
whole numbers and fractions of them only.
"""

import json
import sys
from collections import deque
from fractions import Fraction


def arrivals(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at + 2 <= len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        if length == 0:
            return
        yield int.from_bytes(data[at + 2 + 5 : at + 2 + 11], "big")
        at += 2 + length


def simulate(times, service, limit):
    leaves = deque()
    delays = []
    largest_queue = catch_up = began = 0
    for now in times:
        while leaves and leaves[0] <= now:
            leaves.popleft()
        if not leaves:
            began = now
        leave = (leaves[-1] if leaves else now) + service
        leaves.append(leave)
        delays.append(leave - now)
        largest_queue = max(largest_queue, len(leaves))
        catch_up = max(catch_up, leave - began)
    delays.sort()
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999, "p99.999": 0.99999}
    ranks = {name: max(1, -int(-share * len(delays) // 1)) for name, share in shares.items()}
    return {
        "largest_delay_ns": delays[-1],
        "largest_queue": largest_queue,
        "catch_up_ns": catch_up,
        "quantiles": {name: delays[rank - 1] for name, rank in ranks.items()},
        "over": sum(delay > limit for delay in delays),
    }


def capacity(times, ring, service, faster):
    """Drops of a ring, if the times between arrivals are divided by faster / service."""
    leaves = deque()
    dropped = bursts = number = 0
    first, began, has_dropped = None, 0, False
    for now in times:
        at = now * Fraction(service, faster)
        while leaves and leaves[0] <= at:
            leaves.popleft()
        if not leaves:
            began, number, has_dropped = now, 0, False
        number += 1
        if len(leaves) == ring:
            dropped += 1
            bursts += not has_dropped
            has_dropped = True
            first = first or {"burst_ns": began, "dropped_ns": now, "message": number}
        else:
            leaves.append((leaves[-1] if leaves else at) + service)
    return {"service_ns": faster, "dropped": dropped, "bursts": bursts, "first": first}


def receiver(messages, cores, ring, most, fixed):
    """At each moment a batch ends, then messages arrive, then the next batch begins. A message is
    its arrival, the number of its stock, its service time and its bytes."""
    results, departures = [], []
    for core in range(cores):
        coming = deque(one for one in enumerate(messages) if one[1][1] % cores == core)
        waiting, serving, end = deque(), [], None
        found = {"messages": 0, "batches": 0, "dropped": 0, "busy_ns": 0, "largest_queue": 0}
        delays = []
        while coming or end is not None:
            arrival = coming[0][1][0] if coming else None
            now = min(moment for moment in (end, arrival) if moment is not None)
            if end == now:
                departures += [(end, number, message[3]) for number, message in serving]
                serving, end = [], None
            while coming and coming[0][1][0] == now:
                if len(waiting) + len(serving) < ring:
                    waiting.append(coming[0])
                    queue = len(waiting) + len(serving)
                    found["largest_queue"] = max(found["largest_queue"], queue)
                else:
                    found["dropped"] += 1
                coming.popleft()
            if end is None and waiting:
                serving = [waiting.popleft() for _ in range(min(most, len(waiting)))]
                needs = fixed + sum(message[2] for _, message in serving)
                end = now + needs
                delays += [end - message[0] for _, message in serving]
                found["batches"] += 1
                found["messages"] += len(serving)
                found["busy_ns"] += needs
        found["largest_delay_ns"] = max(delays, default=0)
        found["sum_ns"] = sum(delays)
        results.append(found)
    return results, sorted(departures)


def link(departures, bits_per_second, fixed_ns, ring):
    """A link that sends one message after another; times are whole picoseconds."""
    leaves, found = deque(), {"messages": 0, "dropped": 0, "bytes": 0}
    peaks = {"largest_delay_ns": [], "largest_bytes": [], "largest_messages": []}
    for now, _, size in departures:
        while leaves and leaves[0][0] <= now * 1000:
            leaves.popleft()
        if len(leaves) >= ring:
            found["dropped"] += 1
            continue
        needs = fixed_ns * 1000 - (-size * 8 * 10**12 // bits_per_second)
        leaves.append(((leaves[-1][0] if leaves else now * 1000) + needs, size))
        found["messages"] += 1
        found["bytes"] += size
        peaks["largest_delay_ns"].append((-(-(leaves[-1][0] - now * 1000) // 1000), -now))
        peaks["largest_bytes"].append((sum(one[1] for one in leaves), -now))
        peaks["largest_messages"].append((len(leaves), -now))
    for name, values in peaks.items():
        found[name] = {"value": max(values)[0], "at_ns": -max(values)[1]}
    return found


def mix(seed, number):
    """Number `number` of splitmix64."""
    mask = 2**64 - 1
    mixed = (seed + number * 0x9E3779B97F4A7C15) & mask
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & mask
    return mixed ^ mixed >> 31


def messages_of(path, costs):
    """The messages of a day with the service times of their types."""
    with open(path, "rb") as file:
        data = file.read()
    at, number = 0, 0
    while at + 2 <= len(data) and data[at : at + 2] != b"\0\0":
        length = int.from_bytes(data[at : at + 2], "big")
        message = data[at + 2 : at + 2 + length]
        number += 1
        steps = costs.get(chr(message[0]), costs["other"])
        steps = [[1, steps]] if isinstance(steps, int) else steps
        drawn = (mix(1, number) >> 11) / 2**53
        service = next(ns for share, ns in steps if share > drawn)
        stock = int.from_bytes(message[1:3], "big")
        yield int.from_bytes(message[5:11], "big"), stock, service, length
        at += 2 + length


def main():
    if sys.argv[2] == "receiver":
        wanted = json.loads(sys.argv[3])
        messages = list(messages_of(sys.argv[1], wanted["costs"]))
        numbers = [wanted[name] for name in ("cores", "ring", "batch", "batch_ns")]
        results, departures = receiver(messages, *numbers)
        links = [link(departures, *options) for options in wanted.get("links", [])]
        print(json.dumps({"cores": results, "links": links}))
        return
    if sys.argv[2] == "capacity":
        times = list(arrivals(sys.argv[1]))
        ring, service = int(sys.argv[3]), int(sys.argv[4])
        speeds = [capacity(times, ring, service, int(ns)) for ns in sys.argv[5].split(",")]
        print(json.dumps(speeds))
        return
    path, services, limit = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
    times = list(arrivals(path))
    results = {service: simulate(times, int(service), limit) for service in services}
    print(json.dumps({"messages": len(times), "services": results}))


main()
