//! The lines that `read_traces.py` prints for a recording, made from the recording alone.

use std::collections::{BTreeMap, BTreeSet};

use nanotape_trace::export::{Recording, Thread};

/// All lines, sorted.
pub(crate) fn lines(recording: &Recording) -> Vec<String> {
    let mut lines = flow_lines(recording);
    for thread in &recording.threads {
        let of = thread_text(recording, thread);
        for span in &thread.spans {
            let name = hex(&site(thread, span.site));
            // Python has negative numbers.
            let end = match span.end_ns < span.begin_ns {
                true => i128::from(span.begin_ns) - i128::from(span.begin_ns - span.end_ns),
                false => span.end_ns.into(),
            };
            let (number, value, begin) = (span.number, span.value, span.begin_ns);
            lines.push(format!("span {of} {name} {number} {value} {begin} {end}"));
            if span.lost_before > 0 {
                lines.push(format!("lost {of} {begin} {}", span.lost_before));
            }
        }
        if thread.lost_after > 0 {
            let ends = thread.spans.iter().map(|span| span.end_ns.max(span.begin_ns));
            lines.push(format!("lost {of} {} {}", ends.max().unwrap_or(0), thread.lost_after));
        }
    }
    for instant in &recording.instants {
        let (name, text) = (hex(&instant.name), hex(&instant.text));
        let thread = instant.thread.and_then(|thread| recording.threads.get(thread));
        let of = thread.map_or_else(|| own_track(recording), |of| thread_text(recording, of));
        lines.push(format!("instant {of} {} {name} {text}", instant.at_ns));
    }
    lines.sort();
    lines
}

/// The numbers that occur in several threads.
pub(crate) fn flows(recording: &Recording) -> Vec<u64> {
    let mut threads: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    for (at, thread) in recording.threads.iter().enumerate() {
        for span in &thread.spans {
            threads.entry(span.number).or_default().insert(at);
        }
    }
    threads.into_iter().filter(|(_, of)| of.len() > 1).map(|(number, _)| number).collect()
}

fn flow_lines(recording: &Recording) -> Vec<String> {
    let line = |number: u64| {
        // Every span of the message: when, and in which thread.
        let mut all = Vec::new();
        for (thread, of) in recording.threads.iter().enumerate() {
            let mut spans: Vec<_> = of.spans.iter().filter(|span| span.number == number).collect();
            spans.sort_by_key(|span| (span.begin_ns, span.end_ns));
            for (at, span) in spans.iter().enumerate() {
                all.push((span.begin_ns, span.end_ns.max(span.begin_ns), thread, at));
            }
        }
        all.sort_unstable();
        let changes = |one: usize, other: usize| {
            all.get(one).zip(all.get(other)).is_some_and(|(one, other)| one.2 != other.2)
        };
        let is_point = |&at: &usize| changes(at, at + 1) || changes(at.wrapping_sub(1), at);
        let text = |at: usize| {
            let (begin, _, thread, _) = all[at];
            format!("{}:{begin}", thread_text(recording, &recording.threads[thread]))
        };
        let mut points: Vec<String> = (0..all.len()).filter(is_point).map(text).collect();
        points.sort();
        format!("flow {number} {}", points.join(" "))
    };
    flows(recording).into_iter().map(line).collect()
}

fn site(thread: &Thread, site: usize) -> String {
    thread.sites.get(site).cloned().unwrap_or_else(|| format!("site {site}"))
}

fn thread_text(recording: &Recording, thread: &Thread) -> String {
    let id = thread.process_id;
    let process = recording.threads.iter().find(|thread| thread.process_id == id);
    format!("{id}:{}:{}", hex(&process.unwrap().process), hex(&thread.name))
}

/// The track of instants that are of no thread.
fn own_track(recording: &Recording) -> String {
    let (id, process) = match recording.threads.first() {
        Some(thread) => (thread.process_id, thread.process.as_str()),
        None => (0, "recording"),
    };
    format!("{id}:{}:{}", hex(process), hex("triggers"))
}

fn hex(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
