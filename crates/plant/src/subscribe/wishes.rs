//! What a subscriber wants, and what it has to read for that: one message of the ring at a time.

use nanotape_ring::{Gap, Received};
use nanotape_types::StockLocate;

use super::{Delivery, Event, LocalBooks, names::Names};
use crate::records::{
    BadRecord, FIRST_TYPE_ID, Header, Notice, Record, RecordBuffer, RecordKind, RecordKinds,
};

/// What is wanted, and what is known because of it.
#[derive(Debug)]
pub(super) struct Wishes {
    pub(super) kinds: RecordKinds,
    pub(super) names: Names,
    pub(super) books: Option<LocalBooks>,
    pub(super) room: RecordBuffer,
}

impl Wishes {
    /// Tells `visit` of a message if it is wanted; before that, keeps names and books up to date.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        received: Received,
        bytes: &[u8],
        visit: &mut impl FnMut(Event<'_>),
    ) -> Result<(), BadRecord> {
        let Received { sequence, type_id, .. } = received;
        let kind = RecordKind::of_type_id(type_id);
        if !self.is_read(kind, type_id) {
            return Ok(());
        }
        let instrument = Header::of(bytes).map_or(0, |header| header.instrument_id);
        // 0 is no stock: records about the whole market are for everybody.
        let locate = u16::try_from(instrument).ok().map(StockLocate::new);
        let locate = locate.filter(|locate| locate.get() != 0);
        let is_definition = kind == Some(RecordKind::Definitions);
        if !is_definition && !self.names.is_wanted(locate, sequence) {
            return Ok(());
        }
        let Some(record) = self.room.decode(sequence, type_id, bytes)? else { return Ok(()) };
        match record {
            Record::Notice(Notice::Start(start)) => {
                self.names.begin(sequence, &start);
                if let Some(books) = &mut self.books {
                    books.begin(start.kinds.has(RecordKind::Mbo));
                }
            }
            Record::Mbo(mbo) => {
                if let Some(books) = &mut self.books {
                    books.apply(mbo);
                }
            }
            Record::Definition(definition) => {
                if let Some(locate) = locate {
                    self.names.learn(locate, definition);
                }
                if !self.names.is_wanted(locate, sequence) {
                    return Ok(());
                }
            }
            _ => {}
        }
        if kind.is_none_or(|kind| self.kinds.has(kind)) {
            let symbol = locate.and_then(|locate| self.names.symbol(locate, sequence));
            let books = self.books.as_ref();
            visit(Event::Record(Delivery { sequence, symbol, record, bytes, books }));
        }
        Ok(())
    }

    /// Messages were lost: perhaps orders among them, perhaps the start of a plant.
    #[cold]
    pub(super) fn lose(&mut self, lost: &Gap) {
        let is_same_run = self.names.lose(lost);
        if let Some(books) = &mut self.books {
            if !is_same_run {
                books.begin(true);
            }
            books.lose();
        }
    }

    /// A message could not be read: perhaps an order.
    #[cold]
    pub(super) fn lose_one(&mut self) {
        if let Some(books) = &mut self.books {
            books.lose();
        }
    }

    /// Whether such messages have to be looked at: because they are wanted, for the names that they
    /// tell, or for books.
    #[inline]
    fn is_read(&self, kind: Option<RecordKind>, type_id: u16) -> bool {
        match kind {
            Some(RecordKind::Definitions) => true,
            Some(RecordKind::Mbo) => self.kinds.has(RecordKind::Mbo) || self.books.is_some(),
            Some(kind) => self.kinds.has(kind),
            None => type_id >= FIRST_TYPE_ID,
        }
    }
}
