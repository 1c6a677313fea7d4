//! Follows commit words from frame to frame without reading payloads.

use nanotape_shm::ReadWord;

use super::{
    frame::{Commit, HEADER_WORDS, frame_words},
    index::{Boundary, SEQUENCE_LIMIT},
    layout::Layout,
};
use crate::{Corruption, ReadError, edges::PUBLISH};

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A message, skipped.
    Message,
    /// Padding, skipped.
    Padding,
    /// Numbers that were never published, skipped.
    Skip,
    /// No frame yet: the end.
    End,
}

/// A position in the ring that advances frame by frame. Its results are valid only if the writer
/// has not overwritten the frames meanwhile: the caller then checks `reserved`.
#[derive(Debug)]
pub(super) struct Walk<'ring> {
    layout: Layout,
    words: &'ring [ReadWord],
    /// The next frame, and its message's number.
    pub(super) at: Boundary,
}

impl<'ring> Walk<'ring> {
    pub(super) fn new(layout: Layout, words: &'ring [ReadWord], at: Boundary) -> Self {
        Self { layout, words, at }
    }

    /// Advances by one frame.
    pub(super) fn step(&mut self) -> Result<Step, ReadError> {
        let Boundary { position, sequence } = self.at;
        let word = self.layout.word(position);
        let damaged = |what| ReadError::Damaged { word, sequence, what };
        // SYNC(ring.publish): pairs with the writer's store of the commit word.
        let commit = self.words[word].observe(PUBLISH);
        match Commit::decode(commit).map_err(damaged)? {
            Commit::Nothing => Ok(Step::End),
            Commit::Padding if self.layout.place(position) == 0 => {
                Err(damaged(Corruption::Header(commit)))
            }
            Commit::Padding => {
                self.at.position = self.layout.next_lap(position);
                Ok(Step::Padding)
            }
            Commit::Skip => {
                if !self.layout.holds(position, 0) {
                    return Err(damaged(Corruption::Header(commit)));
                }
                let next = self.words[word + 1].load();
                if next <= sequence || next > SEQUENCE_LIMIT {
                    return Err(damaged(Corruption::Sequence(next)));
                }
                self.at = Boundary { position: position + HEADER_WORDS, sequence: next };
                Ok(Step::Skip)
            }
            Commit::Message { length, .. } => {
                if !self.layout.holds(position, length) {
                    return Err(damaged(Corruption::Length(length)));
                }
                let found = self.words[word + 1].load();
                if found != sequence {
                    return Err(damaged(Corruption::Sequence(found)));
                }
                self.at = Boundary {
                    position: position + frame_words(length),
                    sequence: sequence.wrapping_add(1),
                };
                Ok(Step::Message)
            }
        }
    }
}
