//! Between a session and the events of a plant: passes messages, counts and reports the rest.
//!
//! Bounds: [`MOST_NEWS`] lines of news in a second; the others are counted.

use core::{fmt, ops::ControlFlow};

use nanotape_board::no_leads;
use nanotape_feed::{
    EventSink, MessageSink,
    session::{Line, MAX_LINES, MalformedKind, Messages, Numbers, PacketOrigin},
};
use nanotape_market::{Damage, EventHandler, MarketSnapshot, SessionChange};
use nanotape_trace::Histogram;

/// Lines of news in a second, at most.
const MOST_NEWS: usize = 20;

const SECOND_NS: u64 = 1_000_000_000;

/// Passes messages to a handler of events.
#[derive(Debug)]
pub(super) struct LiveSink<'h, H> {
    pub(super) handler: &'h mut H,
    /// By how much each line was ahead of another, in ns.
    pub(super) leads: [Histogram; MAX_LINES],
    pub(super) news: News,
}

/// A line for an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewsLine {
    /// The line.
    pub text: String,
    /// Whether something is wrong.
    pub is_problem: bool,
}

/// Lines for an operator, not too many.
#[derive(Debug, Default)]
pub(super) struct News {
    lines: Vec<NewsLine>,
    /// Lines that were left out since the last one that was taken.
    left_out: u64,
    /// Lines since the second began.
    in_second: usize,
    second_ns: u64,
}

impl<'h, H> LiveSink<'h, H> {
    pub(super) fn new(handler: &'h mut H) -> Self {
        let leads = core::array::from_fn(|_| no_leads());
        Self { handler, leads, news: News::default() }
    }
}

impl NewsLine {
    /// Something is wrong.
    pub(super) fn problem(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_problem: true }
    }

    /// Something happened.
    pub(super) fn note(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_problem: false }
    }
}

impl News {
    /// Adds a line about something that is wrong, if there were few.
    pub(super) fn push(&mut self, line: &dyn fmt::Display) {
        self.add(|| NewsLine::problem(line.to_string()));
    }

    /// Adds a line, if there were few.
    pub(super) fn add(&mut self, line: impl FnOnce() -> NewsLine) {
        if self.in_second < MOST_NEWS {
            self.in_second += 1;
            self.lines.push(line());
        } else {
            self.left_out += 1;
        }
    }

    /// Moves the lines to `lines`, and begins the next second if it is time.
    pub(super) fn take(&mut self, now_ns: u64, lines: &mut Vec<NewsLine>) {
        lines.append(&mut self.lines);
        if now_ns.saturating_sub(self.second_ns) < SECOND_NS {
            return;
        }
        (self.second_ns, self.in_second) = (now_ns, 0);
        let left_out = core::mem::take(&mut self.left_out);
        if left_out > 0 {
            lines.push(NewsLine::problem(format!("{left_out} more lines like these")));
        }
    }
}

impl<H: EventHandler> MessageSink for LiveSink<'_, H> {
    #[inline]
    fn messages<'a>(
        &mut self,
        first: u64,
        ts_recv_ns: u64,
        messages: impl Messages<'a>,
    ) -> ControlFlow<()> {
        EventSink(&mut *self.handler).messages(first, ts_recv_ns, messages)
    }

    fn damage(&mut self, damage: Damage) {
        self.handler.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.handler.idle()
    }

    /// Counted for its line. Whether messages are missing is another question.
    #[cold]
    fn malformed(&mut self, origin: PacketOrigin, kind: MalformedKind) {
        self.news.push(&format_args!("{origin}: packet dropped: {}", kind.name()));
    }

    fn session(&mut self, change: &SessionChange) {
        self.handler.session(change);
    }

    fn restore(&mut self, snapshot: &MarketSnapshot) {
        self.handler.restore(snapshot);
    }

    #[inline(always)]
    fn brought(&mut self, line: Line, numbers: Numbers, ts_recv_ns: u64) {
        self.handler.brought(line.index(), numbers, ts_recv_ns);
    }

    #[inline]
    fn raced(&mut self, winner: Line, lead_ns: u64) {
        self.leads[winner.index()].record(lead_ns);
    }

    #[cold]
    fn news(&mut self, news: &dyn fmt::Display, is_problem: bool) {
        self.news.add(|| NewsLine { text: news.to_string(), is_problem });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_news_is_counted() {
        let (mut news, mut lines) = (News::default(), Vec::new());
        (0..100).for_each(|number| news.push(&number));
        news.take(1, &mut lines);
        assert_eq!(lines.len(), MOST_NEWS);
        news.push(&100);
        lines.clear();
        news.take(SECOND_NS + 1, &mut lines);
        assert_eq!(lines, [NewsLine::problem("81 more lines like these")]);
        news.push(&101);
        news.take(SECOND_NS + 2, &mut lines);
        assert_eq!(lines[1..], [NewsLine::problem("101")]);
    }
}
