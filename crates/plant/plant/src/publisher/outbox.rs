//! Collects the records of one message into one batch.

use nanotape_board::Counts;
use nanotape_ring::{Batched, Publish, PublishError};

use crate::records::{Digests, RecordKind};

/// Records that readers see together or not at all.
pub(super) struct Outbox<'a, W: Publish + 'a> {
    batch: W::Batch<'a>,
    counts: &'a mut Counts,
    digests: &'a mut Digests,
    records: [u64; RecordKind::ALL.len()],
    refused: &'a mut Option<PublishError>,
}

impl<'a, W: Publish> Outbox<'a, W> {
    #[inline(always)]
    pub(super) fn new(
        writer: &'a mut W,
        (counts, digests): (&'a mut Counts, &'a mut Digests),
        refused: &'a mut Option<PublishError>,
    ) -> Self {
        let records = [0; RecordKind::ALL.len()];
        Self { batch: writer.batch(), counts, digests, records, refused }
    }

    #[inline(always)]
    pub(super) fn push<const N: usize>(&mut self, kind: RecordKind, words: [u64; N]) {
        self.digests.add_words(kind, &words);
        match self.batch.push_words(kind.type_id(), words) {
            Ok(()) => self.records[kind as usize] += 1,
            Err(error) => *self.refused = Some(error),
        }
    }

    /// Publishes all records; none if one was refused.
    #[inline(always)]
    pub(super) fn publish(self) {
        if self.refused.is_some() {
            return;
        }
        self.batch.publish();
        for (sum, more) in self.counts.records.iter_mut().zip(self.records) {
            *sum += more;
        }
    }
}
