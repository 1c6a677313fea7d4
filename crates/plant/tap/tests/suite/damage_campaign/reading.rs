//! The messages that the feed delivers from a damaged file, and the records that a plant publishes.

use std::{
    collections::HashMap,
    ops::{ControlFlow, Range},
    path::Path,
};

use nanotape_feed::{Damage, DaySource, MessageHandler, Position, read_day};
use nanotape_plant::{
    PlantConfig, PlantRun, ShutdownFlag,
    records::{Gap, GapKind, Notice, RecordKinds},
};
use nanotape_ring::{Read, Start, Subscribe as _, stream};
use nanotape_wire::itch50::Message;

#[derive(Default)]
pub(crate) struct Delivered {
    /// Messages by offset.
    pub(crate) messages: HashMap<u64, Vec<u8>>,
    last: Option<u64>,
}

impl MessageHandler for Delivered {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        assert!(self.last < Some(position.offset), "in order, and once");
        self.last = Some(position.offset);
        self.messages.insert(position.offset, message.as_bytes().to_vec());
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {}
}

/// Everything that the feed delivers from a file.
pub(crate) fn deliver(file: &Path) -> Delivered {
    let mut delivered = Delivered::default();
    read_day(&mut DaySource::open(file).unwrap(), &mut delivered, |_| ()).unwrap();
    delivered
}

/// The result of a plant that reads a file.
pub(crate) struct Published {
    /// Whether the exit status would be 0.
    pub(crate) is_good: bool,
    pub(crate) gaps: Vec<Gap>,
}

pub(crate) fn publish(file: &Path, ring: &Path) -> Published {
    let mut config = PlantConfig::default();
    config.input.file = file.to_owned();
    config.input.date = Some("2019-12-30".parse().unwrap());
    config.ring.name = ring.into();
    config.ring.capacity_bytes = Some(1 << 20);
    config.ring.replace = true;
    config.publish.records = RecordKinds::NONE;
    config.machine.orders = Some(4_096);
    let mut run = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    let ended = run.run(|_| ()).unwrap();
    let mut reader = stream::Reader::open(ring, Start::Oldest).unwrap();
    let (mut gaps, mut buffer) = (Vec::new(), [0; 1024]);
    loop {
        match reader.try_read(&mut buffer).unwrap() {
            Read::Message(message) => {
                let bytes = &buffer[..message.length as usize];
                if let Some(Notice::Gap(gap)) = Notice::decode(message.type_id, bytes) {
                    gaps.push(gap);
                }
            }
            Read::Lapped { .. } => panic!("the ring holds all notices"),
            _ => break,
        }
    }
    assert_eq!(ended.stop.damaged, gaps.len() as u64);
    Published { is_good: ended.report.is_good(), gaps }
}

/// Whether a gap reports bytes of the record at `record` as lost.
pub(crate) fn covers(gap: &Gap, record: &Range<u64>) -> bool {
    match gap.kind {
        GapKind::Lost | GapKind::Type => {
            gap.offset < record.end && record.start < gap.offset + 2 + gap.lost_bytes
        }
        GapKind::Cut => gap.offset < record.end,
        _ => false,
    }
}
