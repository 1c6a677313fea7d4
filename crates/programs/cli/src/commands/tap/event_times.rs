//! `--ts-recv event`: records with the exchange's time as their receive time.
//!
//! A replay stamps its own time as the receive time, and tools that index by it would put the
//! records of a day into the minutes of the replay. The notices of the plant get times of the day
//! too: the start the midnight, others that of the record before. So the output of a day does not
//! depend on when it is made.

use nanotape_plant::{
    dbn,
    records::{
        Gap, GapNotice, Header, Notice, PlantStart, PlantStop, Record, RecordBuffer, RecordKind,
        RestoredNotice, SuspectNotice, Taint,
    },
};
use nanotape_tap::{Delivery, Event};

#[derive(Default)]
pub(super) struct EventTimes {
    bytes: Vec<u8>,
    record: RecordBuffer,
    /// The latest time so far: of a record, or the midnight of the day.
    last_ns: u64,
}

impl EventTimes {
    /// The event with the other receive time; `None` if it has no receive time.
    #[inline]
    pub(super) fn of(&mut self, event: &Event<'_>) -> Option<Event<'_>> {
        let Event::Record(delivery) = event else { return None };
        self.bytes.clear();
        if let Record::Notice(notice) = &delivery.record {
            let mut buffer = Notice::buffer();
            let notice = self.notice(notice);
            let publisher_id = Header::of(delivery.bytes)?.publisher_id;
            self.bytes.extend_from_slice(notice.encode(publisher_id, &mut buffer));
        } else {
            let kind = RecordKind::of_type_id(delivery.type_id)?;
            let ts_event = Header::of(delivery.bytes)?.ts_event;
            if ts_event != dbn::UNDEF_TIMESTAMP {
                self.last_ns = ts_event;
            }
            self.bytes.extend_from_slice(delivery.bytes);
            let ts_recv = self.bytes.get_mut(kind.ts_recv_offset()..)?.first_chunk_mut()?;
            *ts_recv = self.last_ns.to_le_bytes();
        }
        let Delivery { sequence, type_id, symbol, midnight_ns, is_digest_same, .. } = *delivery;
        let record = self.record.decode(sequence, type_id, &self.bytes).ok()??;
        Some(Event::Record(Delivery {
            sequence,
            type_id,
            symbol,
            record,
            bytes: &self.bytes,
            midnight_ns,
            books: None,
            is_digest_same,
        }))
    }

    /// A notice with a time of the day.
    #[cold]
    fn notice(&mut self, notice: &Notice) -> Notice {
        if let Notice::Start(start) = notice {
            self.last_ns = start.midnight_ns;
        }
        let ts_recv = self.last_ns;
        match *notice {
            Notice::Start(start) => Notice::Start(PlantStart { started_ns: ts_recv, ..start }),
            Notice::Stop(stop) => Notice::Stop(PlantStop { stopped_ns: ts_recv, ..stop }),
            Notice::Gap(gap) => Notice::Gap(Gap { ts_recv, ..gap }),
            Notice::Taint(taint) => Notice::Taint(Taint { ts_recv, ..taint }),
            Notice::SessionGap(gap) => Notice::SessionGap(GapNotice { ts_recv, ..gap }),
            Notice::Suspect(suspect) => Notice::Suspect(SuspectNotice { ts_recv, ..suspect }),
            Notice::Restored(restored) => Notice::Restored(RestoredNotice { ts_recv, ..restored }),
        }
    }
}
