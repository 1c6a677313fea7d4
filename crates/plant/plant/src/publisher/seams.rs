//! The seams of a message: where one of its stages ends and the next one begins.
//!
//! Where: the [`Publisher`](super::Publisher) passes them for messages that it attends to.
//! A stamp at a seam serves two receivers: the times of the stages on the board, of about one
//! message in 255, and the [spans](nanotape_trace::spans) of the plant, of the messages that are
//! switched on. The board's times are defined by stamps with fences; spans take the cheapest ones.
//! The stages before the first seam are those of a [packet](packets), if the source has packets.
//! Cost: the publisher stops for a message just before it. Others are not checked.

mod packets;

use std::time::Duration;

use nanotape_board::{Board, Stage};
use nanotape_clock::{Clock, Stamp};
use nanotape_trace::{
    accounts::{COUNTS, QUERY},
    spans::{Site, Sites, Switches, Tracer},
};

use super::questions::{Questions, ticks};
use packets::Packets;

/// The sites of the thread of a plant, in the order in which a message passes them.
/// Those of the kernel's counts come last: they follow the stages of a slow message.
pub(crate) const SITES: Sites = Sites::new(&[
    "plant.receive",
    "plant.arbitrate",
    "plant.queue",
    "plant.decode",
    "plant.wait",
    "plant.book",
    "plant.records",
    "plant.ring",
    QUERY,
    COUNTS[0],
    COUNTS[1],
    COUNTS[2],
    COUNTS[3],
    COUNTS[4],
    COUNTS[5],
    COUNTS[6],
    COUNTS[7],
    COUNTS[8],
]);

/// Where a stage ends. The value of its span is in parentheses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seam {
    /// The message was read and decoded (its offset in the input).
    Decoded,
    /// A paced message is due (ns since it was due).
    Due,
    /// It was applied to its book (the stock locate).
    Applied,
    /// Its records are in the ring (the number of the next record).
    Recorded,
    /// Periodic work is done, such as to show records that were held back, and to wait for a
    /// recorder (the position of the ring, in bytes).
    Shown,
}

impl Seam {
    const fn site(self) -> Site {
        match self {
            Self::Decoded => const { SITES.site("plant.decode") },
            Self::Due => const { SITES.site("plant.wait") },
            Self::Applied => const { SITES.site("plant.book") },
            Self::Recorded => const { SITES.site("plant.records") },
            Self::Shown => const { SITES.site("plant.ring") },
        }
    }

    const fn stage(self) -> Option<Stage> {
        match self {
            Self::Decoded => Some(Stage::Read),
            Self::Applied => Some(Stage::Apply),
            Self::Recorded => Some(Stage::Publish),
            Self::Due | Self::Shown => None,
        }
    }
}

/// What receives the times of the stages of the current or next message.
#[derive(Debug)]
pub(super) struct Seams {
    tracer: Option<Tracer>,
    /// The tracer has one message in so many; `None` if all of its sites are off.
    rate: Option<u64>,
    /// The number of the message.
    number: u64,
    packets: Packets,
    is_sampled: bool,
    is_traced: bool,
    /// The seam that was passed last.
    last: Stamp,
    questions: Questions,
    /// When the plant began to work on the current message, or should have begun, in ticks.
    started: u64,
}

impl Seams {
    /// The kernel is queried about traced messages that take longer than `ask_above`.
    pub(super) fn new(clock: &Clock, tracer: Option<Tracer>, ask_above: Duration) -> Self {
        Self {
            tracer,
            rate: None,
            number: 0,
            packets: Packets::default(),
            is_sampled: false,
            is_traced: false,
            last: clock.stamp(),
            questions: Questions::new(ask_above, clock),
            started: 0,
        }
    }

    pub(super) fn switches(&self) -> Option<Switches> {
        self.tracer.as_ref().map(Tracer::switches)
    }

    /// Whether the message passes seams.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_sampled || self.is_traced
    }

    #[inline]
    pub(super) fn is_traced(&self) -> bool {
        self.is_traced
    }

    /// Whether [`next`](Self::next) has anything to do.
    #[inline]
    pub(super) fn is_needed(&self) -> bool {
        self.rate.is_some() || self.is_on()
    }

    /// The board receives the times of the next message.
    pub(super) fn sample(&mut self) {
        self.is_sampled = true;
    }

    /// The board has the times of the message; returns whether it received them.
    pub(super) fn end_sample(&mut self) -> bool {
        std::mem::replace(&mut self.is_sampled, false)
    }

    /// Loads the rate of the tracer.
    pub(super) fn load_switches(&mut self, clock: &Clock) {
        let rate = self.tracer.as_ref().and_then(Tracer::rate);
        if (rate.is_some() || self.rate.is_some())
            && let Some(tracer) = &self.tracer
        {
            self.questions.load_switches(tracer, clock);
        }
        self.rate = rate;
    }

    /// The kernel's counts leave out what happened so far: the plant has nothing to do.
    pub(super) fn mark(&mut self, clock: &Clock) {
        if self.rate.is_some() {
            self.questions.mark(clock);
        }
    }

    /// The plant has slept for so long since the mark because it had nothing to do.
    pub(super) fn slept(&mut self, planned: Duration) {
        self.questions.slept(planned);
    }

    /// The wait for a message has ended now. `late_ns`: it was late by so much although the plant
    /// was idle; `None` if the plant was not.
    pub(super) fn waited(&mut self, now: Stamp, late_ns: Option<u64>, clock: &Clock) {
        self.started = match late_ns {
            Some(late_ns) => now.ticks().saturating_sub(ticks(late_ns, clock)),
            None => self.started + now.ticks().saturating_sub(self.last.ticks()),
        };
    }

    /// Queries the kernel about the message that has passed its last seam, if it was slow.
    pub(super) fn query(&mut self, clock: &Clock) {
        let took_ticks = self.last.ticks().saturating_sub(self.started);
        if let Some(tracer) = &mut self.tracer
            && self.questions.are_worth(took_ticks)
        {
            self.last = self.questions.query(tracer, clock, self.number, self.last);
        }
    }

    /// The message with this number is the next one. Returns the number of messages before the next
    /// one that is traced, which is 0 if it is this one.
    pub(super) fn next(&mut self, clock: &Clock, number: u64) -> u32 {
        let was_traced = std::mem::replace(&mut self.is_traced, false);
        // A rate is a power of two.
        let until = self.rate.map_or(u64::MAX, |rate| number.wrapping_neg() & (rate - 1));
        self.is_traced = until == 0;
        // After a message that was traced, its last stamp is the beginning of this one.
        if self.is_sampled && !was_traced {
            self.last = clock.stamp();
        } else if self.is_traced && !was_traced {
            self.last = clock.stamp_unfenced();
        }
        self.started = self.last.ticks();
        u32::try_from(until).unwrap_or(u32::MAX)
    }

    /// Takes the stamp that ends a stage, and gives it to the board and the tracer.
    #[inline(always)]
    pub(super) fn pass(&mut self, seam: Seam, value: u64, clock: &Clock, board: &Board) {
        let now = if self.is_sampled { clock.stamp() } else { clock.stamp_unfenced() };
        self.pass_at(now, seam, value, clock, board);
    }

    /// The same with a stamp that was taken.
    #[inline(always)]
    pub(super) fn pass_at(
        &mut self,
        now: Stamp,
        seam: Seam,
        value: u64,
        clock: &Clock,
        board: &Board,
    ) {
        let from = std::mem::replace(&mut self.last, now);
        if self.is_sampled
            && let Some(stage) = seam.stage()
        {
            board.time(stage, clock.nanos_between(from, now));
        }
        if self.is_traced
            && let Some(tracer) = &mut self.tracer
        {
            tracer.span(seam.site(), self.number, value, from..now);
        }
    }
}
