//! The board beside a mirror of a plant's ring: a copy of the plant's own board.
//!
//! Protocol: the copy has the parameters of the original, so it describes the same run. The number
//! of the writer is that of the mirror's ring. A mirror that continues after the death of another
//! one takes its board over, so readers that have it mapped see the words of the next mirror.
//! Failure: the original is untrusted, and so is the copy.

use std::path::Path;

use nanotape_shm::{OwnedRegion, ReadWord, RegionError, RegionOptions, Word};

use super::{Board, BoardReader, BoardSpec, board_path, layout};
use crate::beside::is_to_replace;

impl Board {
    /// The board of a run beside a mirror, of which `writer_epoch` is the writer. Continues with
    /// the board of that run if there is one, and replaces that of another run.
    pub fn mirror(
        ring: &Path,
        spec: &BoardSpec,
        writer_epoch: u64,
        options: &RegionOptions,
    ) -> Result<Self, RegionError> {
        let publisher_id = spec.publisher_id;
        let (path, spec) = (board_path(ring), Self::region_spec(spec));
        let begin = |words: &[Word]| words[layout::STATE].store(layout::RUNNING);
        let region = match OwnedRegion::create(&path, spec, options, begin) {
            Err(error) if is_to_replace(error.refusal()) => {
                OwnedRegion::replace(&path, spec, options, begin)?.0
            }
            created => created?.0,
        };
        region.words()[layout::WRITER_EPOCH].store(writer_epoch);
        region.words()[layout::PUBLISHER].store(publisher_id.into());
        Ok(Self { region })
    }

    /// Copies what has changed on the original, except for the number of the writer.
    pub fn copy_from(&self, original: &BoardReader) {
        let (to, from) = (self.region.words(), original.region().words());
        let after = layout::WRITER_EPOCH + 1;
        copy(&to[..layout::WRITER_EPOCH], &from[..layout::WRITER_EPOCH]);
        copy(&to[after..], &from[after..]);
    }

    /// Ends as if this process were killed: the plant of the original was.
    pub fn abandon(self) {
        self.region.abandon();
    }
}

/// Stores only words that differ, so that the lines of the others stay with their readers.
fn copy(to: &[Word], from: &[ReadWord]) {
    for (to, from) in to.iter().zip(from) {
        let value = from.load();
        if to.load() != value {
            to.store(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;
    use nanotape_shm::OwnerState;
    use nanotape_types::StockLocate;

    use super::*;

    #[test]
    fn a_mirrored_board_is_that_of_the_plant_and_outlives_its_mirror() {
        let folder = Scratch::folder("mirrored-board");
        let (ring, mirror) = (folder.join("ring"), folder.join("mirror"));
        // A board belongs to a ring.
        [&ring, &mirror].into_iter().for_each(|path| std::fs::write(path, "").unwrap());
        let spec = BoardSpec {
            first_sequence: 5,
            started_ns: 9,
            publisher_id: 38,
            ..BoardSpec::default()
        };
        let options = RegionOptions::default();
        let plant = Board::create(&ring, &spec, 3, 1, &options).unwrap();
        let (locate, symbol) = (StockLocate::new(7), "AAPL".parse().unwrap());
        plant.name(locate, symbol);
        plant.show_orders(11);

        let original = BoardReader::open(&ring).unwrap();
        let copy = Board::mirror(&mirror, &spec, 8, &options).unwrap();
        copy.copy_from(&original);
        let reader = BoardReader::open(&mirror).unwrap();
        let of = |reader: &BoardReader| {
            let stat = reader.sample();
            (stat.run, stat.state, stat.live_orders, stat.wait_for, reader.symbol(locate))
        };
        assert_eq!(of(&reader), (spec, original.sample().state, 11, 1, Some(symbol)));
        assert_eq!((original.writer_epoch(), reader.writer_epoch()), (3, 8));

        copy.abandon();
        assert_eq!(reader.region().owner().state, OwnerState::Dead);
        plant.show_orders(12);
        let copy = Board::mirror(&mirror, &spec, 9, &options).unwrap();
        copy.copy_from(&original);
        reader.region().check().unwrap();
        assert_eq!((of(&reader).2, reader.writer_epoch()), (12, 9), "the same file continues");

        drop(copy);
        let next = BoardSpec { first_sequence: 50, ..spec };
        let _next = Board::mirror(&mirror, &next, 9, &options).unwrap();
        assert!(reader.region().check().is_err(), "each run has a file of its own");
        assert_eq!(BoardReader::open(&mirror).unwrap().first_sequence(), 50);
    }
}
