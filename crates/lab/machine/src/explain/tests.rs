//! Rows of threads whose truth is known, and of any spans.

use proptest::prelude::*;

use super::*;
use crate::{
    cause::Cause,
    kernel_trace::{Event, KernelEvents, What},
};

const SITES: [&str; 17] = [
    "plant.receive",
    "plant.arbitrate",
    "plant.queue",
    "plant.decode",
    "plant.wait",
    "plant.book",
    "plant.ring",
    "kernel.ask",
    "kernel.elapsed",
    "kernel.ran",
    "kernel.queued",
    "kernel.minor-faults",
    "kernel.major-faults",
    "kernel.slept",
    "kernel.preempted",
    "kernel.throttled",
    "kernel.moved",
];

/// A thread whose clock has a tick a nanosecond: its time now, and its spans.
struct Thread {
    now: u64,
    spans: Vec<Span>,
}

impl Thread {
    fn new() -> Self {
        Self { now: 1_000_000, spans: Vec::new() }
    }

    fn span(&mut self, site: &str, number: u64, value: u64, length: u64) {
        let at = SITES.iter().position(|&name| name == site).unwrap();
        let from = self.now;
        self.now += length;
        let [from, to] = [from, self.now].map(Stamp::from_ticks);
        let site = site_at(at);
        self.spans.push(Span { site, number, value, from, to });
    }

    /// A message that is due at a time, with usual stages of 20, 30 and 10 ns, whose book takes
    /// `more`.
    fn message(&mut self, number: u64, due: u64, more: u64) {
        self.span("plant.decode", number, 0, 20);
        let wait = due.saturating_sub(self.now);
        let late = (self.now + wait) - due;
        self.span("plant.wait", number, late, wait);
        self.span("plant.book", number, 0, 30 + more);
        self.span("plant.ring", number, 0, 10);
    }

    /// The answers of the kernel behind a message: elapsed, ran, queued, minor and major faults,
    /// slept, preempted.
    fn queried(&mut self, number: u64, values: [u64; 7]) {
        self.span("kernel.ask", number, 77 << 32 | 1, 1_000);
        for (site, value) in COUNTS.iter().zip(values) {
            self.span(site, number, value, 0);
        }
    }

    fn rows(&self, above_ns: u64) -> Vec<Row> {
        let sites = SITES.map(str::to_owned);
        let options = Options { above_ns, ..Options::default() };
        let mut explainer = Explainer::new(&sites, 1e9, options).unwrap();
        self.spans.iter().for_each(|span| explainer.learn(span));
        let mut rows: Vec<Row> = self.spans.iter().filter_map(|span| explainer.add(span)).collect();
        rows.extend(explainer.finish());
        rows
    }
}

/// The site at a place of [`SITES`].
fn site_at(at: usize) -> nanotape_trace::spans::Site {
    use nanotape_trace::spans::Sites;
    static NAMES: [&str; 17] = SITES;
    Sites::new(&NAMES).site(NAMES[at])
}

/// So many usual messages, each due long after the one before, from this number on.
fn usual(thread: &mut Thread, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let due = thread.now + 500;
        thread.message(number, due, 0);
    }
}

#[test]
fn a_stop_is_the_cause_of_its_message_and_of_those_behind_it() {
    let mut thread = Thread::new();
    usual(&mut thread, 1..100);
    let due = thread.now + 1_000;
    // Stopped for 5 ms in the book of 100; 101 and 102 are due meanwhile, 103 after it.
    thread.message(100, due, 5_000_000);
    thread.queried(100, [5_001_000, 1_000, 10, 0, 0, 1, 0]);
    thread.message(101, due + 1_000_000, 0);
    thread.message(102, due + 4_000_000, 0);
    let later = thread.now + 2_000;
    thread.message(103, later, 0);
    let rows = thread.rows(20_000);
    assert_eq!(rows.iter().map(|row| row.number).collect::<Vec<_>>(), [100, 101, 102]);
    let [stopped, first, second] = &rows[..] else { panic!() };
    assert_eq!((stopped.total_ns, stopped.usual_ns, stopped.waited_ns), (5_000_040, 40, 0));
    assert_eq!(stopped.interruptions[0].cause, Cause::Blocked);
    assert_eq!((stopped.interrupted_ns(), stopped.unexplained_ns), (5_000_000, 0));
    assert_eq!(stopped.main(), Main::Interrupted("blocked or stopped".to_owned()));
    assert_eq!(stopped.interruptions[0].place, Some((77, 1)));
    // The question is part of the wait of those behind.
    assert_eq!(first.total_ns, 5_000_040 - 1_000_000 + 1_000 + 20 + 40);
    assert_eq!(first.interruptions[0].number, 100);
    assert_eq!(first.main(), Main::WaitedForInterrupted("blocked or stopped".to_owned()));
    assert!(first.interrupted_ns() > 3_999_000 && first.waited_ns >= 1_000, "{first:?}");
    assert!(second.interrupted_ns() < 1_000_100 && second.waited_ns >= 1_060, "{second:?}");
    assert!(rows.iter().all(|row| row.residual_ns == 0 && row.not_traced_ns == 0), "{rows:?}");
}

#[test]
fn a_burst_waits_behind_usual_work() {
    let mut thread = Thread::new();
    usual(&mut thread, 1..1_000);
    let due = thread.now + 5_000;
    for number in 1_000..2_000 {
        thread.message(number, due, 0);
    }
    let rows = thread.rows(20_000);
    let last = rows.last().unwrap();
    // All but the first are decoded after they are due.
    assert_eq!((last.number, last.total_ns), (1_999, 40 + 999 * 60));
    assert_eq!((last.waited_ns, last.usual_ns), (40 + 998 * 60, 60));
    assert_eq!((last.main(), last.residual_ns), (Main::Waited, 0));
    assert!(rows.iter().all(|row| row.interruptions.is_empty() && row.unexplained_ns == 0));
}

#[test]
fn a_thread_that_was_stopped_while_it_waited_is_late() {
    let mut thread = Thread::new();
    usual(&mut thread, 1..100);
    // Stopped from 300 ns before the message is due until 50 us after it.
    let due = thread.now + 1_000;
    thread.span("plant.decode", 100, 0, 20);
    thread.span("plant.wait", 100, 50_000, 980 + 50_000);
    thread.span("plant.book", 100, 0, 30);
    thread.span("plant.ring", 100, 0, 10);
    thread.queried(100, [51_100, 800, 50_300, 0, 0, 0, 1]);
    let rows = thread.rows(20_000);
    let row = &rows[0];
    assert_eq!((row.gap.from.ticks(), row.total_ns), (due, 50_040));
    assert_eq!((row.interrupted_ns(), row.usual_ns), (50_000, 40));
    assert_eq!(row.main(), Main::Interrupted("preempted".to_owned()));
    assert_eq!(row.residual_ns, 0);
}

#[test]
fn what_no_account_has_is_unexplained_until_an_event_shows_it() {
    let mut thread = Thread::new();
    usual(&mut thread, 1..100);
    let due = thread.now + 500;
    thread.message(100, due, 30_000);
    thread.queried(100, [31_000, 31_000, 0, 0, 0, 0, 0]);
    let mut row = thread.rows(20_000).remove(0);
    assert_eq!((row.unexplained_ns, row.interrupted_ns()), (30_000, 0));
    assert_eq!(row.main(), Main::Unexplained);
    // A fault has the time beyond the usual one.
    let mut faulting = Thread::new();
    usual(&mut faulting, 1..100);
    let due = faulting.now + 500;
    faulting.message(100, due, 30_000);
    faulting.queried(100, [31_000, 31_000, 0, 3, 0, 0, 0]);
    let fault = faulting.rows(20_000).remove(0);
    assert_eq!((fault.unexplained_ns, fault.interrupted_ns()), (0, 30_000));
    assert_eq!(fault.main(), Main::Interrupted("page fault".to_owned()));

    let before = row.sum_ns();
    row.refine(&KernelEvents::default());
    assert_eq!((row.unexplained_ns, row.sum_ns()), (30_000, before), "no events: nothing changes");

    // Events have the time that they cover, and no more.
    let stage = row.interruptions[0].gap;
    let timer = |from: u64, to: u64| {
        let event = |at, what| Event { at: Stamp::from_ticks(at), thread: 77, what };
        let begins = stage.from.ticks();
        vec![event(begins + from, What::Timer), event(begins + to, What::End)]
    };
    let mut most = row.clone();
    most.refine(&KernelEvents::of_one(1, timer(2_000, 22_000)));
    assert_eq!(most.interruptions[0].cause, Cause::Timer);
    assert_eq!((most.interrupted_ns(), most.unexplained_ns), (20_000, 10_000));
    assert_eq!(most.sum_ns(), before);
    // A timer of 2 us does not explain 30.
    row.refine(&KernelEvents::of_one(1, timer(2_000, 4_000)));
    assert_eq!(row.interruptions[0].cause, Cause::Unexplained);
    assert_eq!((row.interrupted_ns(), row.unexplained_ns), (0, 30_000));
}

/// A span of a stage before the thread works on the message.
fn before(thread: &mut Thread, site: &str, number: u64, from: u64, to: u64) {
    let now = std::mem::replace(&mut thread.now, from);
    thread.span(site, number, 0, to - from);
    thread.now = now;
}

#[test]
fn the_messages_of_a_packet_wait_for_the_socket_and_for_each_other() {
    let mut thread = Thread::new();
    let mut packet = |number: u64, socket_ns: u64| {
        let received = thread.now + 1_000;
        let (had, handed_on) = (received + socket_ns, received + socket_ns + 50);
        for number in number..number + 2 {
            before(&mut thread, "plant.receive", number, received, had);
            before(&mut thread, "plant.arbitrate", number, had, handed_on);
            if thread.now > handed_on {
                let now = thread.now;
                before(&mut thread, "plant.queue", number, handed_on, now);
            }
            thread.now = thread.now.max(handed_on);
            thread.span("plant.decode", number, 0, 20);
            thread.span("plant.book", number, 0, 30);
            thread.span("plant.ring", number, 0, 10);
        }
    };
    (0..200).for_each(|at| packet(1 + 2 * at, 150));
    packet(1_001, 40_000);
    let rows = thread.rows(20_000);
    let [first, second] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((first.number, first.total_ns, first.waited_ns), (1_001, 40_050 + 60, 0));
    // 200 ns is usual for the first message of a packet, and for the second one.
    assert_eq!((first.usual_ns, first.unexplained_ns), (200 + 60, 39_850));
    assert_eq!((second.number, second.total_ns, second.waited_ns), (1_002, 40_050 + 120, 60));
    assert_eq!((second.usual_ns, second.unexplained_ns), (200 + 60, 39_850));
    assert_eq!(first.stages[0].site, "plant.receive");
    assert!(rows.iter().all(|row| (row.residual_ns, row.not_traced_ns) == (0, 0)));
}

#[test]
fn what_is_not_traced_is_reported() {
    let mut thread = Thread::new();
    usual(&mut thread, 1..100);
    let due = thread.now;
    // Three messages without spans.
    thread.now += 50_000;
    thread.message(104, due, 0);
    let row = thread.rows(20_000).remove(0);
    assert_eq!((row.not_traced_ns, row.waited_ns, row.residual_ns), (50_000, 0, 0));
    assert_eq!(row.main(), Main::NotTraced);
}

#[test]
fn a_thread_without_stages_or_clock_is_refused() {
    let sites = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let of = |names: &[&str], rate| Explainer::new(&sites(names), rate, Options::default());
    assert_eq!(of(&["kernel.ask", "a.wait"], 1e9).unwrap_err(), ExplainError::NoStages);
    for rate in [0.0, -1.0, f64::NAN] {
        assert_eq!(of(&["a.b"], rate).unwrap_err(), ExplainError::Clock);
    }
}

#[test]
fn the_slowest_rows_are_kept_with_the_spans_of_their_time() {
    let mut thread = Thread::new();
    usual(&mut thread, 1..100);
    for number in 100..130 {
        let due = thread.now + 500;
        thread.message(number, due, 30_000 + 100 * (number % 7));
    }
    let sites = SITES.map(str::to_owned);
    let mut explainer = Explainer::new(&sites, 1e9, Options::default()).unwrap();
    let mut found = Found::keeping(3);
    thread.spans.iter().for_each(|span| explainer.learn(span));
    for span in &thread.spans {
        if let Some(mut row) = explainer.add(span) {
            if found.is_among_worst(&row) {
                explainer.trace(&mut row);
            }
            found.add(row);
        }
    }
    found.add(explainer.finish().unwrap());
    assert_eq!((found.rows, explainer.seen().messages), (30, 129));
    let worst: Vec<u64> = found.worst().iter().map(|row| row.number).collect();
    assert_eq!(worst, [104, 111, 118], "the earliest of equal ones");
    let sites: Vec<&str> = found.worst()[0].spans.iter().map(|span| span.site.as_str()).collect();
    assert_eq!(sites, ["plant.book", "plant.ring"]);
    assert_eq!(found.by_main["unexplained"].rows, 30);
}

/// A message: time until it is due after the one before, extra time in the book, and whether the
/// kernel is queried.
fn messages() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    let more = prop_oneof![4 => 0..40_u64, 1 => 5_000..100_000_u64];
    proptest::collection::vec((0..400_u64, more, any::<bool>()), 1..300)
}

proptest! {
    #[test]
    fn the_parts_of_a_traced_thread_add_up(messages in messages()) {
        let mut thread = Thread::new();
        usual(&mut thread, 1..50);
        let mut due = thread.now;
        let mut ends = Vec::new();
        for (&(after, more, is_queried), number) in messages.iter().zip(50..) {
            due += after;
            thread.message(number, due, more);
            ends.push((number, due, thread.now));
            if is_queried && more > 5_000 {
                thread.queried(number, [more + 1_000, 900, more / 2, 0, 0, 1, 0]);
            }
        }
        let rows = thread.rows(0);
        // From the end of the thread alone.
        let expected: Vec<(u64, u64)> = ends.iter().map(|&(number, due, end)| (number, end - due)).collect();
        let found: Vec<(u64, u64)> = rows.iter().filter(|row| row.number >= 50)
            .map(|row| (row.number, row.total_ns)).collect();
        prop_assert_eq!(found, expected);
        for row in &rows {
            prop_assert_eq!((row.residual_ns, row.not_traced_ns), (0, 0), "{:?}", row);
            prop_assert_eq!(row.sum_ns(), row.total_ns as i64);
        }
    }

    #[test]
    fn any_spans_are_taken(spans in proptest::collection::vec(
        (0..15_usize, 0..20_u64, any::<u64>(), any::<u64>(), any::<u64>()), 0..200,
    )) {
        let mut thread = Thread::new();
        for (site, number, value, one, other) in spans {
            let [from, to] = [one.min(other), one.max(other)].map(Stamp::from_ticks);
            thread.spans.push(Span { site: site_at(site), number, value, from, to });
        }
        for row in thread.rows(0) {
            let _ = (row.sum_ns(), row.main());
        }
    }
}
