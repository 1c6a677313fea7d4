//! From the channels of a feed to one handler of events: numbers messages together, decodes them,
//! and reports what is missing.
//!
//! Suspicion: books are suspect while any channel lacks messages. It is reported for all stocks
//! when the first channel loses some, and ends when no channel lacks any.
//! Numbers: gaps are reported with those of their channel, which is what its exchange knows; what
//! is lost has its place among the messages of all channels.
//! Bounds: [`MOST_WISHES`] requests and fetches wait for their owner.

use core::{marker::PhantomData, ops::ControlFlow};

use nanotape_board::no_times;
use nanotape_feed::{
    Feed, FeedDecoder, SpinImage,
    capture::Carried,
    channels::ChannelFraming,
    session::{
        GapCounts, GapReport, Line, MAX_LINES, Messages, Numbers, SessionEvent, SessionHandler,
    },
};
use nanotape_market::{Damage, EventHandler, SessionChange, Suspect};
use nanotape_trace::Histogram;

use crate::source::{
    is_problem,
    news::{News, NewsLine},
};

/// Requests and fetches that wait, at most. One that finds no room is repeated after its timeout.
const MOST_WISHES: usize = 256;

/// What the channels have in common.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) decoder: FeedDecoder,
    /// The number of the next message among those of all channels; 0 before the first.
    pub(crate) next: u64,
    /// The number of the first message that was delivered; 0 before it.
    pub(crate) first: u64,
    /// Messages delivered, and messages that are lost or that an image replaced.
    pub(crate) messages: u64,
    pub(crate) missing: u64,
    /// Whether the handler ended the reading: nothing is delivered after it.
    pub(crate) flow: ControlFlow<()>,
    pub(crate) gaps: GapCounts,
    /// By how much each line was ahead of another, in ns.
    pub(crate) leads: [Histogram; MAX_LINES],
    pub(crate) news: News,
    /// What the owner is to send or fetch.
    pub(crate) wishes: Vec<Wish>,
    /// Channels that lack messages.
    doubtful: usize,
    /// Whether an image ended what one of them lacked.
    is_restored: bool,
    /// Images that were applied.
    pub(crate) images: u64,
}

/// What a channel needs of its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    /// Messages are to be sent again.
    Request { key: u8, first: u64, count: u16 },
    /// An image is to be fetched, which ends before this number or later.
    Image { key: u8, next: u64 },
}

/// The state of a channel besides the order of its messages.
#[derive(Debug)]
pub(crate) struct ChannelState {
    pub(crate) key: u8,
    /// How lines for an operator begin.
    pub(crate) label: String,
    /// What its messages belong to; `None` before its session is joined.
    pub(crate) carried: Option<Carried>,
    /// Whether it had begun before it was joined, and no image has what was before.
    pub(crate) is_late: bool,
    /// Whether messages are lost that no image has replaced.
    pub(crate) is_lossy: bool,
    open_gaps: u64,
    was_doubtful: bool,
    /// The image that its receiver was given the number of.
    pub(crate) image: Option<SpinImage>,
    /// Message 1, which shows whether a later message 1 begins another stream.
    pub(crate) first_message: Option<Box<[u8]>>,
    /// Whether its last message was delivered.
    pub(crate) has_ended: bool,
    /// When its last message was received, in ns.
    pub(crate) last_ns: u64,
    /// The lines that are silent, a bit for each.
    silent: u8,
}

/// Delivers what a channel has.
pub(crate) struct ChannelDelivery<'c, F, H> {
    pub(crate) common: &'c mut Common,
    pub(crate) state: &'c mut ChannelState,
    pub(crate) handler: &'c mut H,
    /// Lines of the feed.
    pub(crate) lines: usize,
    pub(crate) framing: PhantomData<F>,
}

impl Common {
    pub(crate) fn new(feed: Feed, day_begins_ns: u64) -> Self {
        Self {
            decoder: FeedDecoder::begin(feed, day_begins_ns),
            next: 0,
            first: 0,
            messages: 0,
            missing: 0,
            flow: ControlFlow::Continue(()),
            gaps: GapCounts::default(),
            leads: core::array::from_fn(|_| no_times()),
            news: News::default(),
            wishes: Vec::with_capacity(MOST_WISHES),
            doubtful: 0,
            is_restored: false,
            images: 0,
        }
    }

    /// The numbers among those of all channels of messages with these numbers of one.
    fn numbered(&mut self, numbers: &Numbers) -> Numbers {
        if self.next == 0 {
            self.next = numbers.start;
        }
        let first = self.next;
        self.next = self.next.saturating_add(numbers.end - numbers.start);
        first..self.next
    }

    /// Takes back the memory of the wishes that were taken.
    pub(crate) fn give_back(&mut self, mut wishes: Vec<Wish>) {
        wishes.clear();
        if self.wishes.is_empty() {
            self.wishes = wishes;
        }
    }

    fn wish(&mut self, wish: Wish) {
        if self.wishes.len() < MOST_WISHES {
            self.wishes.push(wish);
        }
    }
}

impl ChannelState {
    pub(crate) fn new<F: ChannelFraming>(key: u8) -> Self {
        Self {
            key,
            label: F::label(key),
            carried: None,
            is_late: false,
            is_lossy: false,
            open_gaps: 0,
            was_doubtful: false,
            image: None,
            first_message: None,
            has_ended: false,
            last_ns: 0,
            silent: 0,
        }
    }

    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_late || self.is_lossy || self.open_gaps > 0
    }
}

impl<F: ChannelFraming, H: EventHandler> ChannelDelivery<'_, F, H> {
    /// The channel lacks messages from now on.
    fn doubt(&mut self, suspect: Suspect) {
        let is_first = self.common.doubtful == 0;
        if !core::mem::replace(&mut self.state.was_doubtful, true) {
            self.common.doubtful += 1;
        }
        if is_first || suspect.is_late_join {
            self.handler.session(&SessionChange::Suspect(suspect));
        }
    }

    /// Reports that no book lacks messages, if the channel was the last that lacked some.
    pub(crate) fn settle(&mut self) {
        if self.state.is_doubtful() || !core::mem::take(&mut self.state.was_doubtful) {
            return;
        }
        self.common.doubtful -= 1;
        if self.common.doubtful > 0 {
            return;
        }
        let next = self.common.next.max(1);
        let is_restored = core::mem::take(&mut self.common.is_restored);
        self.handler.session(&match is_restored {
            true => SessionChange::Restored { next },
            false => SessionChange::Complete { next },
        });
    }

    /// The channel begins again: its books are empty, and lack nothing.
    pub(crate) fn restart(&mut self) {
        if let Some(carried) = self.state.carried.take() {
            self.common.decoder.restarted(carried);
        }
        let state = &mut *self.state;
        (state.is_late, state.is_lossy, state.open_gaps) = (false, false, 0);
        (state.first_message, state.has_ended, state.image) = (None, false, None);
        self.settle();
    }

    fn joined(&mut self, next: u64) {
        if next <= 1 {
            return;
        }
        if self.common.next == 0 {
            self.common.next = next;
        }
        self.state.is_late = true;
        // What is not among the messages of all channels was before the first of them.
        self.doubt(Suspect { first: 1, next: self.common.next, is_late_join: true });
    }

    fn gap_closed(&mut self, report: &GapReport) {
        let GapReport { gap, closed_ns, fills, .. } = report;
        let gaps = &mut self.common.gaps;
        gaps.closed += 1;
        gaps.fills.add(fills);
        gaps.longest_ns = gaps.longest_ns.max(closed_ns.saturating_sub(gap.seen_ns));
        self.handler.session(&SessionChange::GapClosed(report.market_gap()));
        self.state.open_gaps = self.state.open_gaps.saturating_sub(1);
        self.settle();
    }

    /// A line is silent, or has packets again.
    fn silence(&mut self, line: Line, is_silent: bool) {
        let bit = 1_u8 << line.index();
        let all = (1_u8 << self.lines.clamp(1, MAX_LINES)) - 1;
        let was_lost = self.state.silent & all == all;
        match is_silent {
            true => self.state.silent |= bit,
            false => self.state.silent &= !bit,
        }
        let is_lost = self.state.silent & all == all;
        if is_lost && !was_lost {
            let label = &self.state.label;
            self.common.news.push(&format_args!("{label}lost: silent on all lines"));
        } else if was_lost && !is_lost {
            let text = format!("{}has packets again", self.state.label);
            self.common.news.add(|| NewsLine::note(text));
        }
    }
}

impl<F: ChannelFraming, H: EventHandler> SessionHandler<F::Session> for ChannelDelivery<'_, F, H> {
    #[inline]
    fn messages<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        let Some(carried) = self.state.carried else { return };
        if self.common.flow.is_break() {
            return;
        }
        self.common.messages += numbers.end - numbers.start;
        let first = self.common.numbered(&numbers).start;
        if self.common.first == 0 {
            self.common.first = first;
        }
        if numbers.start == 1 {
            self.state.first_message = messages.clone().next().map(Box::from);
        }
        self.state.has_ended |= messages.clone().last().is_some_and(F::is_end);
        self.state.last_ns = self.state.last_ns.max(ts_recv_ns);
        self.handler.received(ts_recv_ns);
        let decoder = &mut self.common.decoder;
        self.common.flow = decoder.messages(carried, first, messages, self.handler);
    }

    fn skipped(&mut self, numbers: Numbers) {
        let count = numbers.end - numbers.start;
        self.common.missing = self.common.missing.saturating_add(count);
        self.state.is_lossy = true;
        let Numbers { start: first, end: next } = self.common.numbered(&numbers);
        self.handler.damage(Damage::Missing { first, next });
    }

    fn snapshot(&mut self, next: u64) {
        let (Some(image), Some(Carried::Pitch(unit))) =
            (self.state.image.take(), self.state.carried)
        else {
            return;
        };
        if self.common.next == 0 {
            self.common.next = next;
        }
        self.common.images += 1;
        let snapshot = self.common.decoder.restore(unit, &image, self.common.next);
        self.handler.restore(&snapshot);
        (self.state.is_lossy, self.state.is_late) = (false, false);
        self.common.is_restored = true;
        self.settle();
    }

    fn request(&mut self, _: F::Session, first: u64, count: u16) {
        self.common.wish(Wish::Request { key: self.state.key, first, count });
    }

    fn fetch_snapshot(&mut self, next: u64) {
        self.common.wish(Wish::Image { key: self.state.key, next });
    }

    #[inline(always)]
    fn raced(&mut self, winner: Line, lead_ns: u64) {
        self.common.leads[winner.index()].record(lead_ns);
    }

    fn event(&mut self, event: &SessionEvent<F::Session>) {
        match event {
            SessionEvent::Malformed { kind, origin } => {
                let label = &self.state.label;
                let what = format_args!("{label}{origin}: packet dropped: {}", kind.name());
                return self.common.news.push(&what);
            }
            SessionEvent::Joined { session, next } => {
                self.restart();
                self.state.carried = Some(F::carried(*session));
                self.joined(*next);
            }
            SessionEvent::GapDeclared(gap) => {
                self.common.gaps.declared += 1;
                self.state.open_gaps += 1;
                self.handler.session(&SessionChange::GapDeclared(gap.market_gap()));
                let Numbers { start: first, end: next } = gap.numbers;
                self.doubt(Suspect { first, next, is_late_join: false });
            }
            SessionEvent::GapClosed(report) => self.gap_closed(report),
            SessionEvent::Silent(line) => self.silence(*line, true),
            SessionEvent::Resumed { line, .. } => self.silence(*line, false),
            _ => {}
        }
        let is_problem = is_problem(event);
        let label = &self.state.label;
        self.common.news.add(|| NewsLine { text: format!("{label}{event}"), is_problem });
    }
}
