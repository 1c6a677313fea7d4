//! One replay: a plant up to the excerpt, and then the excerpt message by message.

use core::ops::ControlFlow;
use std::thread;

use nanotape_clock::{Clock, Stamp};
use nanotape_feed::{DaySource, handle_message};
use nanotape_lab::{NoiseWatch, Pin, Placement, environment::Noise};
use nanotape_market::{EventHandler, EventSource, MarketEvent, Origin, Position};
use nanotape_plant::{PlantConfig, PlantRun, ShutdownFlag};
use nanotape_queue::Replay;
use nanotape_wire::itch50::Message;

use super::{
    Excerpt,
    interruptions::{Interruptions, QUESTION_NS},
};
use crate::{
    engine::Folder,
    error::{Error, failed},
};

/// From the first message of a consecutive part to the beginning of its wait.
const LEAD_NS: f64 = 1e6;

/// When the messages of an excerpt are due.
#[derive(Clone, PartialEq, Debug)]
pub enum Schedule {
    /// As they arrived, at so many times the speed.
    Recorded {
        /// The speed: all times between arrivals are divided by it.
        speed: f64,
    },
    /// Each at once after the one before it.
    BackToBack,
    /// Each so long after the end of the one before it.
    AfterIdle {
        /// The wait before each message, in nanoseconds.
        waits_ns: Vec<u64>,
    },
}

/// A plant that replays an excerpt.
#[derive(Debug)]
pub struct Paced<'a> {
    /// Its input; the ring is replaced by one that is removed at the end.
    pub config: &'a PlantConfig,
    /// The messages.
    pub excerpt: &'a Excerpt,
    /// The processor of its thread; `None`: the last allowed one.
    pub cpu: Option<u32>,
    /// The clock.
    pub clock: Clock,
}

impl Paced<'_> {
    /// Reads the day up to the end of the excerpt, whose messages are due by `schedule`, on a
    /// thread of its own. Times are in nanoseconds since the first message was due. The noise is
    /// that of the processor of that thread meanwhile.
    ///
    /// # Errors
    /// The plant cannot be opened, or did not get all messages of the excerpt.
    pub fn replay(
        &self,
        source: &mut DaySource,
        schedule: &Schedule,
    ) -> anyhow::Result<(Replay, Noise)> {
        let cannot = |what| move |error| failed(Error::system(what)(error));
        let folder = Folder::new("queue").map_err(cannot("make a folder for a ring"))?;
        let mut config = self.config.clone();
        config.ring.name = folder.path().join("ring");
        thread::scope(|scope| {
            let body = || {
                let pin = self.cpu.map_or(Pin::Last, Pin::To);
                let placement = Placement::on(pin, None);
                let watch = NoiseWatch::start(self.clock, placement.cpu());
                let replay = self.replay_here(&config, source, schedule)?;
                Ok((replay, watch.stop()))
            };
            let thread = thread::Builder::new().spawn_scoped(scope, body);
            let ended = thread.map_err(cannot("start a thread"))?.join();
            ended.map_err(|_| anyhow::anyhow!("the thread of the replay ended early"))?
        })
    }

    fn replay_here(
        &self,
        config: &PlantConfig,
        source: &mut DaySource,
        schedule: &Schedule,
    ) -> anyhow::Result<Replay> {
        let mut run = PlantRun::open(config, ShutdownFlag::new()).map_err(failed)?;
        let messages = self.excerpt.pieces().len();
        let timed = Timed {
            clock: self.clock,
            excerpt: self.excerpt,
            schedule,
            interruptions: Interruptions::open(&self.clock),
            due: touched(messages),
            ends: touched(messages),
        };
        let mut reader = Reader { source, timed, is_whole: true };
        let read = run.read(&mut reader).map_err(failed)?;
        run.end();
        let Reader { timed, is_whole, .. } = reader;
        if !is_whole || timed.ends.len() != messages {
            let found = format!(
                "{} of {messages} messages were replayed ({} damaged parts)",
                timed.ends.len(),
                read.damage.total()
            );
            return Err(failed(Error::found(self.config.input.file.display(), found)));
        }
        let base = timed.due.first().copied().unwrap_or(Stamp::from_ticks(0));
        let since = |stamp: &Stamp| self.clock.nanos_between(base, *stamp);
        let (interruptions, not_kept) = timed.interruptions.finish(base);
        Ok(Replay {
            due_ns: timed.due.iter().map(since).collect(),
            end_ns: timed.ends.iter().map(since).collect(),
            interruptions,
            not_kept,
        })
    }
}

/// Room for stamps, whose pages are there.
fn touched(count: usize) -> Vec<Stamp> {
    let mut stamps = vec![Stamp::from_ticks(1); count];
    stamps.clear();
    stamps
}

/// What is due when, and what was done when.
struct Timed<'a> {
    clock: Clock,
    excerpt: &'a Excerpt,
    schedule: &'a Schedule,
    interruptions: Interruptions,
    due: Vec<Stamp>,
    ends: Vec<Stamp>,
}

impl Timed<'_> {
    /// Whether everything was replayed.
    fn is_over(&self) -> bool {
        self.ends.len() == self.excerpt.pieces().len()
    }

    /// Whether the message with this number is the next one of the excerpt.
    #[inline(always)]
    fn begins_at(&self, number: u64) -> bool {
        self.excerpt.pieces().get(self.ends.len()).is_some_and(|piece| piece.at.number == number)
    }

    /// The number of the last message that was replayed, or 0.
    fn last_number(&self) -> u64 {
        let last = self.ends.len().checked_sub(1);
        last.and_then(|last| self.excerpt.pieces().get(last)).map_or(0, |piece| piece.at.number)
    }

    /// Replays messages up to the next one that does not follow the one before it in the day.
    #[inline(never)]
    fn replay(&mut self, handler: &mut impl EventHandler) -> ControlFlow<()> {
        let first = self.ends.len();
        let pieces = self.excerpt.pieces().get(first..).unwrap_or(&[]);
        let first_ns = pieces.first().map_or(0, |piece| piece.arrival_ns);
        let ticks_per_ns = self.clock.rate().ticks_per_second / 1e9;
        // The question comes first: one that is interrupted would make all messages late, which
        // nothing that is seen later explains.
        self.interruptions.settle(self.clock.stamp());
        let begin = self.clock.stamp();
        let base = begin.ticks() + (LEAD_NS * ticks_per_ns) as u64;
        let mut now = self.wait(begin, Stamp::from_ticks(base));
        for piece in pieces {
            let index = self.ends.len();
            if index > first && !piece.follows {
                break;
            }
            let due = match *self.schedule {
                Schedule::Recorded { speed } => {
                    let after_ns = (piece.arrival_ns - first_ns) as f64 / speed;
                    Stamp::from_ticks(base + (after_ns * ticks_per_ns) as u64)
                }
                Schedule::BackToBack => {
                    now = self.settled(now);
                    now
                }
                Schedule::AfterIdle { ref waits_ns } => {
                    let wait_ns = waits_ns.get(index).copied().unwrap_or(0);
                    let after_ticks = (wait_ns as f64 * ticks_per_ns) as u64;
                    now = self.settled(now);
                    Stamp::from_ticks(now.ticks() + after_ticks)
                }
            };
            self.due.push(due);
            let start = self.wait(now, due);
            if let Ok(message) = Message::decode(self.excerpt.bytes_of(piece)) {
                handle_message(piece.at, &message, &mut *handler)?;
            }
            now = self.clock.stamp();
            self.ends.push(now);
            self.interruptions.processed(index, start, now);
        }
        ControlFlow::Continue(())
    }

    /// The time after a question to the accounts, if one is needed.
    #[inline(always)]
    fn settled(&mut self, now: Stamp) -> Stamp {
        if self.interruptions.settle(now) { self.clock.stamp() } else { now }
    }

    /// Reads the clock until `due`, and returns the last reading.
    #[inline(always)]
    fn wait(&mut self, from: Stamp, due: Stamp) -> Stamp {
        let mut now = from;
        if now >= due {
            return now;
        }
        if self.clock.nanos_between(now, due) > QUESTION_NS {
            let began = now;
            now = self.settled(now);
            if now > due {
                // The question was interrupted, or took longer than usual.
                self.interruptions.waited(began, now);
            }
        }
        while now < due {
            let next = self.clock.stamp_unfenced();
            self.interruptions.waited(now, next);
            now = next;
        }
        now
    }
}

/// The day as a source that times the messages of the excerpt.
struct Reader<'a, 'b> {
    source: &'a mut DaySource,
    timed: Timed<'b>,
    is_whole: bool,
}

impl EventSource for Reader<'_, '_> {
    type Summary = ();
    type Error = nanotape_feed::SourceError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        _: impl FnMut(&Self),
    ) -> Result<(), Self::Error> {
        let mut timing = Timing { handler, timed: &mut self.timed, replayed: 0 };
        self.source.read(&mut timing, |_| ())?;
        self.is_whole = self.timed.is_over();
        Ok(())
    }
}

/// Hands on the events up to the excerpt, and those between its parts.
struct Timing<'a, 'b, H> {
    handler: &'a mut H,
    timed: &'a mut Timed<'b>,
    /// The number of the last message that was replayed: those up to it come again from the day.
    replayed: u64,
}

impl<H: EventHandler> EventHandler for Timing<'_, '_, H> {
    type Hint = H::Hint;

    #[inline(always)]
    fn event(&mut self, at: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()> {
        if at.number <= self.replayed {
            return ControlFlow::Continue(());
        }
        if self.timed.begins_at(at.number) {
            let flow = self.timed.replay(self.handler);
            self.replayed = self.timed.last_number();
            return if self.timed.is_over() { ControlFlow::Break(()) } else { flow };
        }
        self.handler.event(at, event, origin)
    }

    nanotape_market::forward_events!(|timing| timing.handler);
}
