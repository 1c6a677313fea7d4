//! Following commit words from frame to frame without reading what is in between.

use nanotape_shm::ReadWord;

use super::{
    frame::{Commit, frame_words},
    index::Boundary,
    layout::Layout,
};
use crate::{Damage, ReadError, edges::PUBLISH};

/// What a step found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A message, now behind.
    Message,
    /// Padding, now behind.
    Padding,
    /// No frame yet: the end.
    End,
}

/// A place in the ring that moves on frame by frame. What it finds is only true if the writer has
/// not overwritten the place since: the caller looks at `reserved` afterwards.
#[derive(Debug)]
pub(super) struct Walk<'ring> {
    layout: Layout,
    words: &'ring [ReadWord],
    /// Where it is: the next frame, and its message's number.
    pub(super) at: Boundary,
}

impl<'ring> Walk<'ring> {
    pub(super) fn new(layout: Layout, words: &'ring [ReadWord], at: Boundary) -> Self {
        Self { layout, words, at }
    }

    /// Goes over one frame.
    pub(super) fn step(&mut self) -> Result<Step, ReadError> {
        let Boundary { position, sequence } = self.at;
        let word = self.layout.word(position);
        let damaged = |what| ReadError::Damaged { word, sequence, what };
        // SYNC(ring.publish): pairs with the writer's store of the commit word.
        let commit = self.words[word].observe(PUBLISH);
        match Commit::decode(commit).map_err(damaged)? {
            Commit::Nothing => Ok(Step::End),
            Commit::Padding if self.layout.place(position) == 0 => {
                Err(damaged(Damage::Header(commit)))
            }
            Commit::Padding => {
                self.at.position = self.layout.next_lap(position);
                Ok(Step::Padding)
            }
            Commit::Message { length, .. } => {
                if !self.layout.holds(position, length) {
                    return Err(damaged(Damage::Length(length)));
                }
                let found = self.words[word + 1].load();
                if found != sequence {
                    return Err(damaged(Damage::Sequence(found)));
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
