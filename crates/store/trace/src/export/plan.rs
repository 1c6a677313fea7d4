//! What all formats of a recording share: the tracks of its spans, and the flows between them.
//!
//! A track of a viewer needs spans that nest. The spans of a thread follow each other, so it has
//! one track. Should a span overlap an earlier one, it goes to the first further track of the
//! thread on which it does not; no time is changed for that.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet},
};

use super::{Instant, Recording, Slice, Thread, Written};

/// The first id of a track that is not a thread of the kernel: Linux gives out at most 2^22.
pub(super) const FIRST_ID: u32 = 1 << 23;

/// A recording in the order in which it is written.
pub(super) struct Plan<'a> {
    /// Processes with their names.
    pub(super) processes: Vec<(u32, &'a str)>,
    pub(super) tracks: Vec<Track<'a>>,
    pub(super) events: Vec<Event<'a>>,
    /// Instants with their tracks.
    pub(super) instants: Vec<(&'a Instant, usize)>,
    pub(super) written: Written,
}

/// A line of a viewer.
pub(super) struct Track<'a> {
    pub(super) process_id: u32,
    pub(super) thread_id: u32,
    pub(super) name: Cow<'a, str>,
    /// Spans that were lost at the end, and when that was.
    pub(super) lost_after: Option<(u64, u64)>,
}

/// A span on a track. The events of a track are in the order of their begin, and do not overlap.
pub(super) struct Event<'a> {
    pub(super) track: usize,
    pub(super) name: Cow<'a, str>,
    pub(super) slice: Slice,
    /// Its end, not before its begin.
    pub(super) end_ns: u64,
    pub(super) flow: Option<Flow>,
}

/// A point of the flow of a message from thread to thread.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    /// From 1 on.
    pub(super) id: u64,
    pub(super) point: Point,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    Begin,
    Step,
    End,
}

impl Event<'_> {
    /// The arguments that a viewer shows.
    pub(super) fn arguments(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let before = self.slice.begin_ns.saturating_sub(self.slice.end_ns);
        let before = (before > 0).then_some(("ends_before_ns", before));
        [("number", self.slice.number), ("value", self.slice.value)].into_iter().chain(before)
    }
}

impl<'a> Plan<'a> {
    pub(super) fn of(recording: &'a Recording) -> Self {
        let mut plan = Self {
            processes: processes(&recording.threads),
            tracks: Vec::new(),
            events: Vec::new(),
            instants: Vec::new(),
            written: Written::default(),
        };
        let mut ids = Ids::of(&recording.threads);
        // Where the events and the first track of each thread begin.
        let mut threads = Vec::new();
        for thread in &recording.threads {
            threads.push((plan.events.len(), plan.tracks.len()));
            plan.add_thread(thread, &mut ids);
        }
        plan.written.flows = join(&mut plan.events, &threads);
        plan.add_instants(recording, &threads, &mut ids);
        plan
    }

    fn add_thread(&mut self, thread: &'a Thread, ids: &mut Ids) {
        let first = self.tracks.len();
        let mut lanes = Lanes::default();
        let mut order: Vec<&Slice> = thread.spans.iter().collect();
        order.sort_by_key(|slice| (slice.begin_ns, slice.end_ns));
        let last = order.iter().map(|slice| slice.end_ns.max(slice.begin_ns)).max().unwrap_or(0);
        self.tracks.push(Track {
            process_id: thread.process_id,
            thread_id: ids.of_thread(thread),
            name: Cow::Borrowed(&thread.name),
            lost_after: (thread.lost_after > 0).then_some((thread.lost_after, last)),
        });
        for &slice in order {
            let end_ns = slice.end_ns.max(slice.begin_ns);
            let lane = lanes.place(slice.begin_ns, end_ns);
            if first + lane == self.tracks.len() {
                self.tracks.push(Track {
                    process_id: thread.process_id,
                    thread_id: ids.next(),
                    name: Cow::Owned(format!("{} (overlap {lane})", thread.name)),
                    lost_after: None,
                });
            }
            self.written.spans += 1;
            self.written.overlapping += u64::from(lane > 0);
            self.written.backwards += u64::from(slice.end_ns < slice.begin_ns);
            self.events.push(Event {
                track: first + lane,
                name: site_name(thread, slice.site),
                slice,
                end_ns,
                flow: None,
            });
        }
    }

    fn add_instants(
        &mut self,
        recording: &'a Recording,
        threads: &[(usize, usize)],
        ids: &mut Ids,
    ) {
        let mut own = None;
        for instant in &recording.instants {
            let thread = instant.thread.and_then(|thread| threads.get(thread));
            let track = thread.map(|&(_, track)| track).or(own).unwrap_or_else(|| {
                // Beside the first process: viewers show no track without one.
                let process_id = recording.threads.first().map_or(0, |thread| thread.process_id);
                self.tracks.push(Track {
                    process_id,
                    thread_id: ids.next(),
                    name: Cow::Borrowed("triggers"),
                    lost_after: None,
                });
                if self.processes.is_empty() {
                    self.processes.push((process_id, "recording"));
                }
                self.tracks.len() - 1
            });
            if thread.is_none() {
                own = Some(track);
            }
            self.instants.push((instant, track));
        }
        self.instants.sort_by_key(|(instant, _)| instant.at_ns);
    }

    /// The earliest time of the recording; 0 if it has none.
    pub(super) fn origin_ns(&self) -> u64 {
        let spans = self.events.iter().map(|event| event.slice.begin_ns);
        let instants = self.instants.iter().map(|(instant, _)| instant.at_ns);
        let lost = self.tracks.iter().filter_map(|track| track.lost_after.map(|(_, at)| at));
        spans.chain(instants).chain(lost).min().unwrap_or(0)
    }
}

fn processes(threads: &[Thread]) -> Vec<(u32, &str)> {
    let mut seen = HashSet::new();
    let first = threads.iter().filter(|thread| seen.insert(thread.process_id));
    first.map(|thread| (thread.process_id, thread.process.as_str())).collect()
}

fn site_name(thread: &Thread, site: usize) -> Cow<'_, str> {
    match thread.sites.get(site) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("site {site}")),
    }
}

/// The ids of tracks, which are unique.
struct Ids {
    used: HashSet<(u32, u32)>,
    next: u32,
}

impl Ids {
    /// Ids beside those that the threads bring.
    fn of(threads: &[Thread]) -> Self {
        let brought = threads.iter().filter_map(|thread| thread.thread_id);
        let highest = brought.filter(|&id| id < u32::MAX / 2).max().unwrap_or(0);
        Self { used: HashSet::new(), next: FIRST_ID.max(highest + 1) }
    }

    fn of_thread(&mut self, thread: &Thread) -> u32 {
        let is_free = |&id: &u32| id < u32::MAX / 2 && self.used.insert((thread.process_id, id));
        thread.thread_id.filter(is_free).unwrap_or_else(|| self.next())
    }

    fn next(&mut self) -> u32 {
        let id = self.next;
        self.next = id.wrapping_add(1);
        id
    }
}

/// Places spans on lanes, in the order of their begin.
#[derive(Default)]
struct Lanes {
    /// Lanes that are free at the begin of the span.
    free: BTreeSet<usize>,
    /// Ends of the last spans of the others.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Lanes {
    /// The first lane on which no span ends after `begin_ns`.
    fn place(&mut self, begin_ns: u64, end_ns: u64) -> usize {
        while let Some(&Reverse((end, lane))) = self.ends.peek()
            && end <= begin_ns
        {
            self.ends.pop();
            self.free.insert(lane);
        }
        // Lanes have the numbers from 0 on, so this one is new if none is free.
        let lane = self.free.pop_first().unwrap_or(self.ends.len());
        self.ends.push(Reverse((end_ns, lane)));
        lane
    }
}

/// Joins the spans of each message that has some in several threads: of spans that follow each
/// other in time but not in their thread, both are points of its flow. Returns the flows.
fn join(events: &mut [Event<'_>], threads: &[(usize, usize)]) -> u64 {
    let mut numbers: BTreeMap<u64, Vec<(u64, u64, usize, usize)>> = BTreeMap::new();
    let many = numbers_of_several(events, threads);
    for (thread, &(begin, _)) in threads.iter().enumerate() {
        let end = threads.get(thread + 1).map_or(events.len(), |next| next.0);
        for (at, event) in events[begin..end].iter().enumerate() {
            if many.contains(&event.slice.number) {
                let of = numbers.entry(event.slice.number).or_default();
                of.push((event.slice.begin_ns, event.end_ns, thread, begin + at));
            }
        }
    }
    for (id, mut of) in (1..).zip(numbers.into_values()) {
        of.sort_unstable();
        let hops = of.windows(2).filter(|pair| pair[0].2 != pair[1].2);
        let mut points: Vec<usize> = hops.flat_map(|pair| [pair[0].3, pair[1].3]).collect();
        points.dedup();
        for (place, &at) in points.iter().enumerate() {
            let point = match place {
                0 => Point::Begin,
                place if place + 1 == points.len() => Point::End,
                _ => Point::Step,
            };
            events[at].flow = Some(Flow { id, point });
        }
    }
    many.len() as u64
}

/// Numbers with spans in several threads.
fn numbers_of_several(events: &[Event<'_>], threads: &[(usize, usize)]) -> HashSet<u64> {
    let mut first_thread = std::collections::HashMap::new();
    let mut many = HashSet::new();
    for (thread, &(begin, _)) in threads.iter().enumerate() {
        let end = threads.get(thread + 1).map_or(events.len(), |next| next.0);
        for event in &events[begin..end] {
            let number = event.slice.number;
            if *first_thread.entry(number).or_insert(thread) != thread {
                many.insert(number);
            }
        }
    }
    many
}
