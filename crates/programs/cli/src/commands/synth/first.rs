//! The first day: the market, or quotes about which something is known.

use std::str::FromStr;

use nanotape_synth::{
    LeadPair, LeadStream, Market, MarketConfig, QuoteDay, QuoteUpdate, WaveStream,
};
use nanotape_types::NanosSinceMidnight;

use super::{BYTES_PER_MESSAGE, KnownArguments};
use crate::progress::Progress;

/// Bytes that one call of [`First::fill`] appends, up to one update more or less.
const CHUNK: usize = 256 * 1024;

/// `--hours`: a part of the day, in ns since midnight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hours {
    from_ns: u64,
    until_ns: u64,
}

impl Hours {
    const fn new(from: (u32, u32), until: (u32, u32)) -> Self {
        Self {
            from_ns: NanosSinceMidnight::from_hms(from.0, from.1, 0).get(),
            until_ns: NanosSinceMidnight::from_hms(until.0, until.1, 0).get(),
        }
    }
}

impl FromStr for Hours {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let nanos = |text: &str| text.parse().ok().map(NanosSinceMidnight::get);
        let day = Self::new((4, 0), (20, 0));
        text.split_once('-')
            .and_then(|(from, until)| Some(Self { from_ns: nanos(from)?, until_ns: nanos(until)? }))
            .filter(|own| own.from_ns >= day.from_ns && own.until_ns <= day.until_ns)
            .filter(|own| own.from_ns < own.until_ns)
            .ok_or("expected two times of day from 04:00 to 20:00, such as 09:30-16:00")
    }
}

/// A first day in progress.
pub(super) struct First {
    source: Source,
    market: MarketConfig,
    hours: Hours,
    pairs: Vec<LeadPair>,
    /// Bytes so far.
    written: u64,
}

enum Source {
    Market(Box<Market>),
    Quotes {
        updates: Box<dyn Iterator<Item = QuoteUpdate>>,
        /// `None` after its end.
        day: Option<Box<QuoteDay>>,
        reached_ns: u64,
    },
}

impl First {
    /// The day that the arguments choose.
    pub(super) fn new(mut market: MarketConfig, known: &KnownArguments) -> anyhow::Result<Self> {
        let hours = |default| known.hours.unwrap_or(default);
        let (updates, hours, pairs): (Box<dyn Iterator<Item = QuoteUpdate>>, _, _) =
            if let Some(wave) = known.wave {
                market.symbols = wave.stocks;
                let hours = hours(Hours::new((9, 30), (9, 31)));
                (Box::new(WaveStream::new(wave, hours.from_ns)), hours, Vec::new())
            } else if let Some(leads) = &known.leads {
                market.symbols = leads.instruments();
                let hours = hours(Hours::new((9, 30), (16, 0)));
                let stream = LeadStream::new(leads, market.seed, hours.from_ns);
                let pairs = stream.pairs().to_vec();
                (Box::new(stream), hours, pairs)
            } else {
                let source = Source::Market(Box::new(Market::new(market)?));
                let hours = Hours::new((4, 0), (20, 5));
                return Ok(Self { source, market, hours, pairs: Vec::new(), written: 0 });
            };
        let updates = Box::new(updates.take_while(move |next| next.time_ns < hours.until_ns));
        let day = Some(Box::new(QuoteDay::new(&market, &[])?));
        let source = Source::Quotes { updates, day, reached_ns: hours.from_ns };
        Ok(Self { source, market, hours, pairs, written: 0 })
    }

    /// The market whose stocks the day has.
    pub(super) fn market(&self) -> &MarketConfig {
        &self.market
    }

    /// When its quotes begin, in ns since midnight.
    pub(super) fn starts_ns(&self) -> u64 {
        self.hours.from_ns
    }

    /// The pairs with leads, if it has those.
    pub(super) fn pairs(&self) -> &[LeadPair] {
        &self.pairs
    }

    /// Appends the next whole messages; returns false, without appending, once the day is over.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>) -> bool {
        let start = buffer.len();
        let more = match &mut self.source {
            Source::Market(market) => market.fill(buffer),
            Source::Quotes { updates, day, reached_ns } => match day.take() {
                None => false,
                Some(mut own) => {
                    let next = fill_from(updates, &mut own, buffer);
                    match next {
                        Some(time_ns) => (*reached_ns, *day) = (time_ns, Some(own)),
                        None => own.finish(buffer),
                    }
                    true
                }
            },
        };
        self.written += (buffer.len() - start) as u64;
        more
    }

    /// A bar for the work.
    pub(super) fn progress(&self) -> Progress {
        match &self.source {
            Source::Market(_) => {
                Progress::with_total(Some(self.market.messages * BYTES_PER_MESSAGE))
            }
            Source::Quotes { .. } => Progress::with_steps("seconds", self.seconds_at(u64::MAX)),
        }
    }

    /// How much of it is done.
    pub(super) fn done(&self) -> u64 {
        match &self.source {
            Source::Market(_) => self.written,
            Source::Quotes { reached_ns, .. } => self.seconds_at(*reached_ns),
        }
    }

    /// Seconds of the hours before a time.
    fn seconds_at(&self, time_ns: u64) -> u64 {
        (time_ns.min(self.hours.until_ns) - self.hours.from_ns).div_ceil(1_000_000_000)
    }
}

/// Writes updates until a chunk is full. Returns the time of the last one, or `None` at their end.
fn fill_from(
    updates: &mut dyn Iterator<Item = QuoteUpdate>,
    day: &mut QuoteDay,
    buffer: &mut Vec<u8>,
) -> Option<u64> {
    let start = buffer.len();
    loop {
        let update = updates.next()?;
        day.push(&update);
        day.drain(buffer);
        if buffer.len() >= start + CHUNK {
            return Some(update.time_ns);
        }
    }
}
