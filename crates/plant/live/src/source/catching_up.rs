//! A plant that was started again: it delivers what an earlier one has kept of the session, then
//! what arrived meanwhile, and then goes on with the sockets.
//!
//! Protocol: a thread [receives](super::arriving) from the moment at which the folder is opened. So
//! only what was sent between the end of the earlier plant and that moment is missing, and is
//! requested as any other gap. What arrived is kept in the journal of the session when it is
//! delivered, as what comes from the sockets.

use nanotape_market::{EventHandler, SessionChange};

use super::{
    Delivery, LiveError, LiveSource, NewsLine, arriving::Arrived, keep::Input, kept::REPORT_BYTES,
    replay::Replayed,
};

/// Packets that are delivered before timers are checked.
const BATCH: usize = 64;

impl LiveSource {
    /// Whether the source begins with what an earlier plant has kept: until
    /// [`SessionChange::CaughtUp`] it waits for its handler.
    pub fn is_behind(&self) -> bool {
        self.replay.is_some()
    }

    /// Delivers what an earlier plant has kept, at full speed. `flow` is a break if the handler
    /// ended that.
    #[cold]
    pub(super) fn deliver_kept<H: EventHandler>(
        &mut self,
        delivery: &mut Delivery<'_, H>,
        progress: &mut impl FnMut(&Self),
    ) -> Result<(), LiveError> {
        let Some(mut replay) = self.replay.take() else { return Ok(()) };
        let keeper = self.session.keeper.take();
        let mut shown = None;
        // A close is that of an earlier plant, after which another one went on.
        while delivery.flow.is_continue()
            && replay.step(&mut self.session, delivery)? != Replayed::Nothing
        {
            if shown.is_none_or(|shown| replay.bytes - shown >= REPORT_BYTES) {
                shown = Some(replay.bytes);
                // The earlier plant has reported it.
                delivery.news.clear();
                self.show(0, delivery);
                progress(self);
                delivery.flow = delivery.handler.idle();
            }
        }
        delivery.news.clear();
        self.session.keeper = keeper;
        self.read_to_ns = replay.now_ns.max(self.read_to_ns);
        self.bytes += replay.bytes;
        let (messages, next) = (delivery.messages, self.session.receiver.position().expected);
        let text = format!("{messages} messages of a plant before; next message {next}");
        self.notes.push(NewsLine::note(text));
        if self.arriving.is_none() && delivery.flow.is_continue() {
            self.go_on_without_arriving(delivery);
        }
        Ok(())
    }

    /// Goes on with the sockets, because packets could not be kept meanwhile.
    #[cold]
    fn go_on_without_arriving<H: EventHandler>(&mut self, delivery: &mut Delivery<'_, H>) {
        self.session.restart(self.read_to_ns, delivery);
        let waiting = core::mem::take(&mut self.waiting);
        self.pass(waiting, delivery);
        delivery.handler.session(&SessionChange::CaughtUp);
    }

    /// Delivers some of the packets that arrived since, or waits for messages that are missing
    /// between them. Returns the number of packets.
    #[cold]
    pub(super) fn deliver_arrived<H: EventHandler>(
        &mut self,
        now_ns: u64,
        delivery: &mut Delivery<'_, H>,
    ) -> Result<usize, LiveError> {
        let Some(mut arriving) = self.arriving.take() else { return Ok(0) };
        let mut count = 0;
        while count < BATCH {
            let position = self.session.receiver.position();
            let lacks = position.missing > 0 || position.is_holding;
            match arriving.next(now_ns, &mut self.read_to_ns, lacks)? {
                Arrived::Packet => {}
                Arrived::Wait => break,
                Arrived::Done => {
                    self.notes.append(&mut arriving.news);
                    self.notes.extend(arriving.remove());
                    let next = self.session.receiver.position().expected;
                    let text = format!("caught up at message {next}");
                    self.notes.push(NewsLine::note(text));
                    delivery.handler.session(&SessionChange::CaughtUp);
                    return Ok(count);
                }
            }
            if let Input::Packet { origin, ts_recv_ns, bytes } = arriving.take()? {
                self.bytes += bytes.len() as u64;
                let times = (ts_recv_ns, self.read_to_ns);
                self.session.packet(origin, times, bytes, delivery);
                count += 1;
            }
        }
        self.arriving = Some(arriving);
        count += self.receive_answers((now_ns, self.read_to_ns), delivery);
        Ok(count)
    }
}
