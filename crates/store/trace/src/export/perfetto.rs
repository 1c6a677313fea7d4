//! Perfetto's protobuf: a sequence of `TracePacket`s.
//!
//! Source: the definitions `trace_packet.proto`, `track_event.proto`, `track_descriptor.proto`,
//! `interned_data.proto`, `debug_annotation.proto` and `clock_snapshot.proto` in
//! `protos/perfetto/trace` of <https://github.com/google/perfetto>, and the encoding in
//! <https://protobuf.dev/programming-guides/encoding/>. The numbers of fields are theirs.
//!
//! Layout: a snapshot that makes UTC the clock of the trace, the names (interned, so a span has a
//! number for each), a descriptor for each process and track, then a begin and an end for each
//! span. All packets are one sequence.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use super::plan::{Event, Plan, Point, Track};

/// `BUILTIN_CLOCK_REALTIME`.
const REALTIME: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE`.
const CLEARED: u64 = 1;
const NEEDS_NAMES: u64 = 2;
const SEQUENCE: u64 = 1;

/// `TrackEvent.Type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

/// The number of the category of everything.
const CATEGORY: u64 = 1;
const CATEGORY_NAME: &str = "nanotape";

/// The names of arguments, numbered from 1 on.
const ARGUMENTS: [&str; 5] = ["number", "value", "ends_before_ns", "spans", "text"];

/// An encoded message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn uint(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// An `int32`: a negative one takes ten bytes.
    fn int32(self, field: u64, value: u32) -> Self {
        self.uint(field, i64::from(value.cast_signed()).cast_unsigned())
    }

    fn fixed64(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: Self) -> Self {
        self.bytes(field, &message.0)
    }
}

fn new() -> Message {
    Message::default()
}

pub(super) fn write(plan: &Plan<'_>, out: &mut dyn Write) -> io::Result<()> {
    let names = Names::of(plan);
    packet(out, clock(plan.origin_ns()))?;
    packet(out, names.packet())?;
    for (process, &(id, name)) in plan.processes.iter().enumerate() {
        let of = new().int32(1, id).text(6, name);
        descriptor(out, new().uint(1, process_uuid(process)).message(3, of))?;
    }
    for (at, track) in plan.tracks.iter().enumerate() {
        descriptor(out, new_track(plan, at, track))?;
    }
    for event in &plan.events {
        span(out, event, &names)?;
    }
    for (at, track) in plan.tracks.iter().enumerate() {
        if let Some((count, at_ns)) = track.lost_after {
            lost(out, at, at_ns, count)?;
        }
    }
    for &(instant, track) in &plan.instants {
        let text = new().uint(1, argument("text")).text(6, &instant.text);
        let event = event_of(INSTANT, track).text(23, &instant.name).message(4, text);
        track_event(out, instant.at_ns, event)?;
    }
    Ok(())
}

/// Numbers of names of spans, from 1 on.
struct Names<'a>(HashMap<&'a str, u64>, Vec<&'a str>);

impl<'a> Names<'a> {
    fn of(plan: &'a Plan<'_>) -> Self {
        let mut names = Self(HashMap::new(), vec![LOST]);
        names.0.insert(LOST, 1);
        for event in &plan.events {
            let next = names.1.len() as u64 + 1;
            if *names.0.entry(&event.name).or_insert(next) == next {
                names.1.push(&event.name);
            }
        }
        names
    }

    /// The packet that the others need: the names, and the clock of all times.
    fn packet(&self) -> Message {
        let name = |iid, name: &str| new().uint(1, iid).text(2, name);
        let mut data = new().message(1, name(CATEGORY, CATEGORY_NAME));
        for (iid, text) in (1..).zip(&self.1) {
            data = data.message(2, name(iid, text));
        }
        for (iid, text) in (1..).zip(ARGUMENTS) {
            data = data.message(3, name(iid, text));
        }
        let defaults = new().uint(58, REALTIME);
        new().message(12, data).message(59, defaults).uint(10, SEQUENCE).uint(13, CLEARED)
    }
}

/// The name of the instant at which spans were lost, interned as number 1.
const LOST: &str = "spans lost";

fn argument(name: &str) -> u64 {
    let at = ARGUMENTS.iter().position(|&argument| argument == name);
    at.map_or(0, |at| at as u64 + 1)
}

fn clock(now_ns: u64) -> Message {
    let clock = new().uint(1, REALTIME).uint(2, now_ns);
    new().message(6, new().message(1, clock).uint(2, REALTIME)).uint(10, SEQUENCE)
}

/// Numbers of tracks: processes have odd ones, others even ones. 0 is the track of the whole trace.
fn process_uuid(process: usize) -> u64 {
    process as u64 * 2 + 1
}

fn track_uuid(track: usize) -> u64 {
    track as u64 * 2 + 2
}

fn new_track(plan: &Plan<'_>, at: usize, track: &Track<'_>) -> Message {
    let process = plan.processes.iter().position(|&(id, _)| id == track.process_id);
    let thread =
        new().int32(1, track.process_id).uint(2, track.thread_id.into()).text(5, &track.name);
    new().uint(1, track_uuid(at)).uint(5, process_uuid(process.unwrap_or(0))).message(4, thread)
}

fn descriptor(out: &mut dyn Write, descriptor: Message) -> io::Result<()> {
    packet(out, new().message(60, descriptor).uint(10, SEQUENCE))
}

fn event_of(kind: u64, track: usize) -> Message {
    let event = new().uint(9, kind).uint(11, track_uuid(track));
    if kind == END { event } else { event.uint(3, CATEGORY) }
}

fn span(out: &mut dyn Write, event: &Event<'_>, names: &Names<'_>) -> io::Result<()> {
    if event.slice.lost_before > 0 {
        lost(out, event.track, event.slice.begin_ns, event.slice.lost_before)?;
    }
    let name = names.0.get(&*event.name).copied().unwrap_or(0);
    let mut begin = event_of(BEGIN, event.track).uint(10, name);
    for (name, value) in event.arguments() {
        begin = begin.message(4, new().uint(1, argument(name)).uint(3, value));
    }
    if let Some(flow) = event.flow {
        begin = begin.fixed64(if flow.point == Point::End { 48 } else { 47 }, flow.id);
    }
    track_event(out, event.slice.begin_ns, begin)?;
    track_event(out, event.end_ns, event_of(END, event.track))
}

fn lost(out: &mut dyn Write, track: usize, at_ns: u64, count: u64) -> io::Result<()> {
    let spans = new().uint(1, argument("spans")).uint(3, count);
    track_event(out, at_ns, event_of(INSTANT, track).uint(10, 1).message(4, spans))
}

fn track_event(out: &mut dyn Write, at_ns: u64, event: Message) -> io::Result<()> {
    let packet_of = new().uint(8, at_ns).message(11, event);
    packet(out, packet_of.uint(10, SEQUENCE).uint(13, NEEDS_NAMES))
}

fn packet(out: &mut dyn Write, packet: Message) -> io::Result<()> {
    out.write_all(&new().message(1, packet).0)
}
