//! A live session on any packets from any line, at any time: no panic, numbers in order, every gap
//! that is declared is closed at the end, and memory within its bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_feed::session::{
    Join, Line, Messages, Numbers, PacketOrigin, Receiver, RequestSettings, SessionEvent,
    SessionHandler, SessionSettings, SnapshotSettings,
};
use nanotape_wire::framing::{iextp::IexTp, moldudp64::MoldUdp64, numbered::PacketFraming};

const MS: u64 = 1_000_000;

#[derive(Default)]
struct Owner {
    next: Option<u64>,
    /// Gaps that are declared and not closed.
    open: i64,
    wants_snapshot: Option<u64>,
}

impl<S> SessionHandler<S> for Owner {
    fn messages<'a>(&mut self, numbers: Numbers, _: u64, messages: impl Messages<'a>) {
        assert!(self.next.is_none_or(|next| next == numbers.start));
        assert_eq!(messages.count() as u64, numbers.end - numbers.start);
        self.next = Some(numbers.end);
    }

    fn skipped(&mut self, numbers: Numbers) {
        assert!(!numbers.is_empty() && self.next.is_none_or(|next| next == numbers.start));
        self.next = Some(numbers.end);
    }

    fn snapshot(&mut self, next: u64) {
        self.next = Some(next);
    }

    fn request(&mut self, _: S, _: u64, count: u16) {
        assert!((1..=8).contains(&count));
    }

    fn fetch_snapshot(&mut self, next: u64) {
        self.wants_snapshot = Some(next);
    }

    fn event(&mut self, event: &SessionEvent<S>) {
        match event {
            SessionEvent::Joined { .. } => self.next = None,
            SessionEvent::GapDeclared(_) => self.open += 1,
            SessionEvent::GapClosed(report) => {
                let numbers = &report.gap.numbers;
                assert_eq!(report.fills.total(), numbers.end - numbers.start);
                self.open -= 1;
            }
            _ => {}
        }
        assert!(self.open >= 0);
    }
}

fuzz_target!(|bytes: &[u8]| {
    run::<MoldUdp64>(bytes);
    run::<IexTp>(bytes);
});

/// The packets of the input: each after its origin, the ms since the one before, and its length.
fn run<F: PacketFraming>(bytes: &[u8]) {
    let Some((&[choices], mut rest)) = bytes.split_first_chunk() else { return };
    let requests = RequestSettings {
        timeout_ns: MS,
        retries: 1,
        messages: 8,
        in_flight: 2,
        ..RequestSettings::default()
    };
    let snapshots = SnapshotSettings { timeout_ns: 50 * MS, attempts: 2, retry_after_ns: 9 * MS };
    let settings = SessionSettings {
        join: [Join::Here, Join::Start, Join::Snapshot][usize::from(choices % 3)],
        requests: (choices & 4 > 0).then_some(requests),
        snapshots: (choices & 8 > 0).then_some(snapshots),
        silence_ns: 20 * MS,
        ahead_messages: 64,
        ahead_bytes: 1 << 10,
        ..SessionSettings::default()
    };
    let mut receiver = Receiver::<F>::new(settings);
    let (mut owner, mut now_ns) = (Owner::default(), MS);
    while let Some((&[origin, after_ms, length], packets)) = rest.split_first_chunk() {
        let (packet, after) = packets.split_at(usize::from(length).min(packets.len()));
        rest = after;
        now_ns += u64::from(after_ms) * MS / 4;
        if receiver.deadline_ns() <= now_ns {
            receiver.tick(now_ns, &mut owner);
            assert!(receiver.deadline_ns() > now_ns);
        }
        let origin = match origin % 4 {
            0 => PacketOrigin::Line(Line::A),
            1 => PacketOrigin::Line(Line::B),
            2 => PacketOrigin::Retransmission,
            _ => {
                if let Some(next) = owner.wants_snapshot.take() {
                    let next = next.saturating_add(u64::from(after_ms)).saturating_sub(16);
                    receiver.snapshot(next, now_ns, &mut owner);
                }
                continue;
            }
        };
        receiver.packet(origin, (now_ns, now_ns), packet, &mut owner);
        let position = receiver.position();
        assert!(position.kept <= 64 && position.expected <= position.highest);
        assert_eq!(owner.open, receiver.open_gaps() as i64);
    }
}
