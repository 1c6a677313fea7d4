"""Reads traces with code of others, or from the published formats, and prints what is in them.

    read_traces.py FORMAT FILE...

FORMAT is perfetto (needs the packages perfetto and protobuf) or chrome. One line for each span, loss,
instant and flow, sorted; texts in hexadecimal. Fails if a file breaks its format, if the
spans of a track overlap, or if a flow does not begin, end, or stay with its message.
"""

import collections
import decimal
import json
import re
import sys

FIRST_OWN_ID = 1 << 23


class Trace:
    """What all formats have in common."""

    def __init__(self):
        self.processes = {}
        self.threads = {}
        self.spans = []  # (pid, tid, name, begin, end, arguments, flow)
        self.instants = []  # (pid, tid, at, name, arguments)

    def lines(self):
        self.check_tracks()
        lines = []
        flows = collections.defaultdict(list)
        for pid, tid, name, begin, end, arguments, flow in self.spans:
            known = {"number", "value", "ends_before_ns"}
            assert set(arguments) <= known, arguments
            number, value = arguments["number"], arguments["value"]
            shown_end = end
            if "ends_before_ns" in arguments:
                assert end == begin
                shown_end = begin - arguments["ends_before_ns"]
            thread = self.thread(pid, tid)
            lines.append(f"span {thread} {hexed(name)} {number} {value} {begin} {shown_end}")
            if flow:
                point, identity = flow
                flows[identity].append((point, number, f"{thread}:{begin}"))
        for pid, tid, at, name, arguments in self.instants:
            thread = self.thread(pid, tid)
            if name == "spans lost" and "spans" in arguments:
                lines.append(f"lost {thread} {at} {arguments['spans']}")
            else:
                lines.append(f"instant {thread} {at} {hexed(name)} {hexed(arguments['text'])}")
        for identity, points in flows.items():
            kinds = collections.Counter(point for point, _, _ in points)
            assert identity > 0 and kinds["end"] == 1, (identity, kinds)
            assert kinds["begin"] == 1 or kinds["any"] == len(points) - 1, kinds
            [number] = {number for _, number, _ in points}
            lines.append(f"flow {number} " + " ".join(sorted(point[2] for point in points)))
        return sorted(lines)

    def thread(self, pid, tid):
        name = self.threads[pid, tid]
        if tid >= FIRST_OWN_ID:
            name = re.sub(r" \(overlap [0-9]+\)\Z", "", name)
        return f"{pid}:{hexed(self.processes[pid])}:{hexed(name)}"

    def check_tracks(self):
        ends = {}
        for pid, tid, _, begin, end, _, _ in self.spans:
            assert ends.get((pid, tid), 0) <= begin <= end, "the spans of a track overlap"
            ends[pid, tid] = end


def hexed(text):
    return text.encode().hex() or "-"


def unsigned32(value):
    return value & 0xFFFFFFFF


def read_perfetto(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

    file, trace = protos.Trace(), Trace()
    with open(path, "rb") as source:
        file.ParseFromString(source.read())
    known = protos.Trace()
    known.CopyFrom(file)
    known.DiscardUnknownFields()
    assert known.ByteSize() == file.ByteSize(), "the file has fields that are not defined"
    names, arguments, categories, tracks, open_spans = {}, {}, {}, {}, {}
    clock = None
    for packet in file.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("clock_snapshot"):
            assert packet.clock_snapshot.primary_trace_clock == protos.BUILTIN_CLOCK_REALTIME
        if packet.sequence_flags & protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            clock = packet.trace_packet_defaults.timestamp_clock_id
            assert clock == protos.BUILTIN_CLOCK_REALTIME
        for interned in packet.interned_data.event_names:
            names[interned.iid] = interned.name
        for interned in packet.interned_data.debug_annotation_names:
            arguments[interned.iid] = interned.name
        for interned in packet.interned_data.event_categories:
            categories[interned.iid] = interned.name
        if packet.HasField("track_descriptor"):
            of = packet.track_descriptor
            if of.HasField("process"):
                pid = unsigned32(of.process.pid)
                trace.processes[pid] = of.process.process_name
                tracks[of.uuid] = (pid, None)
            else:
                pid, tid = unsigned32(of.thread.pid), of.thread.tid
                assert tracks[of.parent_uuid] == (pid, None) and (pid, tid) not in trace.threads
                trace.threads[pid, tid] = of.thread.thread_name
                tracks[of.uuid] = (pid, tid)
        if not packet.HasField("track_event"):
            continue
        event, at = packet.track_event, packet.timestamp
        assert clock and packet.sequence_flags & protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        track = tracks[event.track_uuid]
        if event.type == protos.TrackEvent.TYPE_SLICE_END:
            name, begin, own, flow = open_spans.pop(track)
            trace.spans.append((*track, name, begin, at, own, flow))
            continue
        assert [categories[iid] for iid in event.category_iids] == ["nanotape"]
        name = event.name if event.HasField("name") else names[event.name_iid]
        own = {}
        for annotation in event.debug_annotations:
            kind = annotation.WhichOneof("value")
            own[arguments[annotation.name_iid]] = getattr(annotation, kind)
        if event.type == protos.TrackEvent.TYPE_INSTANT:
            trace.instants.append((*track, at, name, own))
            continue
        assert event.type == protos.TrackEvent.TYPE_SLICE_BEGIN and track not in open_spans
        flows = [("any", id) for id in event.flow_ids]
        flows += [("end", id) for id in event.terminating_flow_ids]
        assert len(flows) <= 1
        open_spans[track] = (name, at, own, flows[0] if flows else None)
    assert not open_spans
    return trace


def read_chrome(path):
    with open(path, encoding="utf-8") as source:
        file = json.load(source, parse_float=decimal.Decimal)
    origin, trace = int(file["otherData"]["origin_ns"]), Trace()

    def nanos(micros):
        whole = micros * 1000
        assert whole == int(whole)
        return int(whole)

    for event in file["traceEvents"]:
        phase, pid, tid = event["ph"], event["pid"], event.get("tid")
        if phase == "M":
            of = event["args"]["name"]
            if event["name"] == "process_name":
                trace.processes[pid] = of
            else:
                assert event["name"] == "thread_name" and (pid, tid) not in trace.threads
                trace.threads[pid, tid] = of
            continue
        at = origin + nanos(event["ts"])
        if phase == "X":
            own = {name: int(value) for name, value in event["args"].items()}
            trace.spans.append((pid, tid, event["name"], at, at + nanos(event["dur"]), own, None))
        elif phase == "i":
            own = {n: int(v) if n == "spans" else v for n, v in event["args"].items()}
            trace.instants.append((pid, tid, at, event["name"], own))
        else:
            add_flow(trace, pid, tid, at, {"s": "begin", "t": "step", "f": "end"}[phase], event["id"])
            assert phase != "f" or event["bp"] == "e"
    return trace


def add_flow(trace, pid, tid, at, point, identity):
    """A flow event belongs to the span around it, which the files have just before it."""
    span = trace.spans[-1]
    assert span[:2] == (pid, tid) and span[3] <= at <= span[4] and span[6] is None
    trace.spans[-1] = (*span[:6], (point, identity))


READERS = {
    "perfetto": read_perfetto,
    "chrome": read_chrome,
}


def main():
    _, file_format, *paths = sys.argv
    for path in paths:
        print("file")
        for line in READERS[file_format](path).lines():
            print(line)


main()
