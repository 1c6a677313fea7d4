//! A session and its journal: every input of the receiver passes here, and is kept on request.
//!
//! Protocol: the receiver has no clock and no socket, so the same inputs with the same times give
//! the same messages, gaps and snapshots. A kept session that is [run again](super::KeptSource)
//! passes them through the same functions.

use nanotape_board::{LiveStat, no_times};
use nanotape_feed::{
    SessionSummary,
    capture::Carried,
    session::{Line, MAX_LINES, NasdaqReceiver, PacketOrigin, SessionSettings},
    time_of_packet,
};
use nanotape_market::{EventHandler, MarketSnapshot};
use nanotape_trace::Histogram;

use super::{
    delivery::Delivery,
    keep::{Input, Keeper},
};

/// A session.
#[derive(Debug)]
pub(super) struct LiveSession {
    pub(super) receiver: NasdaqReceiver,
    /// `None` if the packets are not kept.
    pub(super) keeper: Option<Keeper>,
    /// Attempts to get a snapshot that failed.
    snapshot_failures: u64,
    /// The exchange's midnight, ns since the UNIX epoch; `None` before the session has a date.
    pub(super) midnight_ns: Option<u64>,
    delays: [Delays; MAX_LINES],
}

/// The times from the exchange to a line, in ns, and the packets that have none.
#[derive(Debug)]
struct Delays {
    times: Histogram,
    unknown: u64,
}

/// Longer delays are not those of a network.
const MOST_DELAY_NS: u64 = 4_000_000_000;

impl LiveSession {
    /// A session without a journal. Its date may be known later.
    pub(super) fn new(settings: SessionSettings, midnight_ns: Option<u64>) -> Self {
        Self {
            receiver: NasdaqReceiver::new(settings),
            keeper: None,
            snapshot_failures: 0,
            midnight_ns,
            delays: core::array::from_fn(|_| Delays { times: no_times(), unknown: 0 }),
        }
    }

    /// A packet that was received at `ts_recv_ns`, of a clock that also has `now_ns`.
    #[inline]
    pub(super) fn packet<H: EventHandler>(
        &mut self,
        origin: PacketOrigin,
        (ts_recv_ns, now_ns): (u64, u64),
        bytes: &[u8],
        delivery: &mut Delivery<'_, H>,
    ) {
        if let Some(keeper) = &mut self.keeper {
            keeper.keep(now_ns, Input::Packet { origin, ts_recv_ns, bytes });
        }
        if let PacketOrigin::Line(line) = origin
            && let Some(midnight_ns) = self.midnight_ns
            && let Some(time) = time_of_packet(bytes)
        {
            let Delays { times, unknown } = &mut self.delays[line.index()];
            match ts_recv_ns.checked_sub(midnight_ns.saturating_add(time.get())) {
                Some(delay_ns) if delay_ns < MOST_DELAY_NS => times.record(delay_ns),
                _ => *unknown += 1,
            }
        }
        self.receiver.packet(origin, (ts_recv_ns, now_ns), bytes, delivery);
    }

    /// Does what is due.
    #[inline]
    pub(super) fn tick<H: EventHandler>(&mut self, now_ns: u64, delivery: &mut Delivery<'_, H>) {
        if self.receiver.deadline_ns() <= now_ns {
            if let Some(keeper) = &mut self.keeper {
                keeper.keep(now_ns, Input::Tick);
            }
            self.receiver.tick(now_ns, delivery);
        }
    }

    /// A snapshot came, or could not be had. Its messages were kept before. Returns whether it is
    /// used.
    #[cold]
    pub(super) fn snapshot<H: EventHandler>(
        &mut self,
        fetched: Option<Box<MarketSnapshot>>,
        now_ns: u64,
        delivery: &mut Delivery<'_, H>,
    ) -> bool {
        if let Some(keeper) = &mut self.keeper {
            let is_there = fetched.is_some();
            keeper.keep(now_ns, if is_there { Input::Snapshot } else { Input::SnapshotFailed });
        }
        let Some(mut snapshot) = fetched else {
            self.snapshot_failures += 1;
            self.receiver.snapshot_failed(now_ns, delivery);
            return false;
        };
        snapshot.set_day_begins(self.midnight_ns.unwrap_or_default());
        let next = snapshot.next;
        delivery.snapshot = Some(snapshot);
        let is_used = self.receiver.snapshot(next, now_ns, delivery);
        if !is_used {
            delivery.snapshot = None;
            self.snapshot_failures += 1;
        }
        is_used
    }

    /// The time until now counts neither as a silence of a line nor as a missing answer.
    #[cold]
    pub(super) fn restart<H: EventHandler>(&mut self, now_ns: u64, delivery: &mut Delivery<'_, H>) {
        if let Some(keeper) = &mut self.keeper {
            keeper.keep(now_ns, Input::Restart);
        }
        self.receiver.restarted(now_ns, delivery);
    }

    /// No packet will come any more.
    pub(super) fn close<H: EventHandler>(&mut self, now_ns: u64, delivery: &mut Delivery<'_, H>) {
        if let Some(keeper) = &mut self.keeper {
            keeper.keep(now_ns, Input::Close { is_over: delivery.has_ended });
        }
        self.receiver.close(now_ns, delivery);
    }

    /// Brings the statistics up to date.
    pub(super) fn show<H>(&self, delivery: &Delivery<'_, H>, stat: &mut LiveStat) {
        for (index, line) in stat.lines.iter_mut().enumerate() {
            if let Some(of) = Line::new(index) {
                line.counts = *self.receiver.line(of);
                line.leads.clone_from(&delivery.leads[index]);
                line.delays.clone_from(&self.delays[index].times);
                line.unknown_delays = self.delays[index].unknown;
            }
        }
        stat.answers = *self.receiver.answers();
        stat.overtaken = self.receiver.overtaken();
        stat.snapshot_failures = self.snapshot_failures;
        stat.position = self.receiver.position();
        stat.gaps = delivery.gaps;
    }

    pub(super) fn summary<H>(&self, delivery: &Delivery<'_, H>, stat: &LiveStat) -> SessionSummary {
        SessionSummary {
            session: self.receiver.session().map(Carried::MoldUdp64),
            channels: 1,
            lines: stat.lines.iter().map(|line| (line.address, line.counts)).collect(),
            first_message: delivery.first,
            messages: delivery.messages,
            missing: delivery.missing,
            is_late: delivery.is_late,
            ..SessionSummary::default()
        }
    }
}
