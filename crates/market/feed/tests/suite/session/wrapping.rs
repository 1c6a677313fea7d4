//! A feed whose numbers have 32 bits, come again after the highest one, and are missing in some
//! packets.

use nanotape_feed::session::{
    Line, Messages, Numbers, PacketOrigin, Receiver, SessionEvent, SessionHandler, SessionSettings,
};
use nanotape_wire::framing::pitch::{LAST, Pitch, PitchUnit, UnitWriter};

const A: PacketOrigin = PacketOrigin::Line(Line::A);
const B: PacketOrigin = PacketOrigin::Line(Line::B);

/// Keeps the first byte after the length of each message, and checks that numbers follow.
#[derive(Debug, Default)]
struct Kept {
    next: Option<u64>,
    contents: Vec<u8>,
}

impl SessionHandler<PitchUnit> for Kept {
    fn messages<'a>(&mut self, numbers: Numbers, _: u64, messages: impl Messages<'a>) {
        assert_eq!(self.next.unwrap_or(numbers.start), numbers.start);
        self.contents.extend(messages.map(|message| message[1]));
        self.next = Some(numbers.end);
    }

    fn skipped(&mut self, numbers: Numbers) {
        panic!("{numbers:?} are not lost");
    }

    fn snapshot(&mut self, _: u64) {}

    fn request(&mut self, _: PitchUnit, _: u64, _: u16) {}

    fn fetch_snapshot(&mut self, _: u64) {}

    fn event(&mut self, event: &SessionEvent<PitchUnit>) {
        assert!(matches!(event, SessionEvent::Joined { .. }), "{event:?}");
    }
}

fn unit(first: u64, contents: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 100];
    let mut writer = UnitWriter::new(PitchUnit(1), first, &mut buffer).expect("room");
    assert!(contents.iter().all(|content| writer.push(&[2, *content])));
    writer.finish().to_vec()
}

#[test]
fn numbers_go_on_after_the_highest_and_images_are_not_of_the_sequence() {
    let last = u64::from(LAST);
    let settings = SessionSettings { join_ns: 0, ..SessionSettings::default() };
    let (mut receiver, mut kept) = (Receiver::<Pitch>::new(settings), Kept::default());
    let mut now_ns = 1_000_000_000;
    let packets = [
        (A, unit(last - 3, b"ab")),
        (B, unit(last - 3, b"ab")),
        // One packet has both ends of the numbers.
        (A, unit(last - 1, b"cdef")),
        (A, unit(0, b"image")),
        (B, unit(last - 1, b"cdef")),
        // Line B overtakes line A.
        (B, unit(last + 5, b"hi")),
        (A, unit(last + 3, b"xg")),
        (A, unit(last + 5, b"hi")),
        (A, unit(last + 7, b"")),
    ];
    for (origin, bytes) in packets {
        now_ns += 1_000;
        receiver.packet(origin, (now_ns, now_ns), &bytes, &mut kept);
        receiver.tick(now_ns, &mut kept);
    }
    assert_eq!(String::from_utf8_lossy(&kept.contents), "abcdefxghi");
    assert_eq!((kept.next, receiver.position().expected), (Some(last + 7), last + 7));
    assert_eq!(receiver.session(), Some(PitchUnit(1)));
}
