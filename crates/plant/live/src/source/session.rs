//! A session and its journal: every input of the receiver passes here, and is kept on request.
//!
//! Protocol: the receiver has no clock and no socket, so the same inputs with the same times give
//! the same messages, gaps and snapshots. A kept session that is [run again](super::KeptSource)
//! passes them through the same functions.

use nanotape_board::LiveStat;
use nanotape_feed::{
    SessionSummary,
    session::{Line, NasdaqReceiver, PacketOrigin, SessionSettings},
};
use nanotape_market::{EventHandler, MarketSnapshot};

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
}

impl LiveSession {
    pub(super) fn new(settings: SessionSettings, keeper: Option<Keeper>) -> Self {
        Self { receiver: NasdaqReceiver::new(settings), keeper, snapshot_failures: 0 }
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

    /// A snapshot came, or could not be had. Its messages were kept before.
    #[cold]
    pub(super) fn snapshot<H: EventHandler>(
        &mut self,
        fetched: Option<Box<MarketSnapshot>>,
        now_ns: u64,
        delivery: &mut Delivery<'_, H>,
    ) {
        if let Some(keeper) = &mut self.keeper {
            let is_there = fetched.is_some();
            keeper.keep(now_ns, if is_there { Input::Snapshot } else { Input::SnapshotFailed });
        }
        let Some(snapshot) = fetched else {
            self.snapshot_failures += 1;
            return self.receiver.snapshot_failed(now_ns, delivery);
        };
        let next = snapshot.next;
        delivery.snapshot = Some(snapshot);
        if !self.receiver.snapshot(next, now_ns, delivery) {
            delivery.snapshot = None;
        }
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
            session: self.receiver.session(),
            lines: stat.lines.iter().map(|line| (line.address, line.counts)).collect(),
            first_message: delivery.first,
            messages: delivery.messages,
            missing: delivery.missing,
            is_late: delivery.is_late,
            ..SessionSummary::default()
        }
    }
}
