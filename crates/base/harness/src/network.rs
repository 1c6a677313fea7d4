//! A stream of bytes between two machines that do not exist: pieces come late, wrong, or not at
//! all, and a seed decides which.

use std::collections::VecDeque;

use crate::Random;

/// What happens to the bytes of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkFault {
    /// Nothing.
    None,
    /// From some time on, nothing arrives.
    Cut,
    /// A bit changes.
    Flip,
    /// A piece is left out.
    Drop,
    /// A piece comes twice.
    Repeat,
    /// Two pieces are exchanged.
    Exchange,
    /// One byte in each step.
    Slow,
}

impl NetworkFault {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Cut, Self::Flip, Self::Drop, Self::Repeat, Self::Exchange, Self::Slow];
}

/// Bytes on their way in one direction, each piece with the step at which it arrives.
#[derive(Debug)]
pub struct Way {
    pieces: VecDeque<(u64, Vec<u8>)>,
    fault: NetworkFault,
    /// The step from which on the fault happens.
    from: u64,
    is_broken: bool,
    delay: u64,
}

impl Way {
    /// A direction in which a fault happens from a step on. A piece takes less than `delay` steps,
    /// which is at least 1.
    pub fn new(fault: NetworkFault, from: u64, delay: u64) -> Self {
        Self { pieces: VecDeque::new(), fault, from, is_broken: false, delay }
    }

    /// Whether a fault has happened that the receiver can notice.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Bytes that are on their way.
    pub fn length(&self) -> usize {
        self.pieces.iter().map(|(_, piece)| piece.len()).sum()
    }

    /// Sends a piece.
    pub fn send(&mut self, bytes: &[u8], step: u64, random: &mut Random) {
        let last = self.pieces.back().map_or(0, |last| last.0);
        let arrives = last.max(step + random.below(self.delay));
        let mut piece = bytes.to_vec();
        let is_due = step >= self.from && !self.is_broken;
        match self.fault {
            NetworkFault::Flip if is_due => {
                let at = random.index(piece.len());
                piece[at] ^= 1 << random.below(8);
                self.is_broken = true;
            }
            NetworkFault::Drop if is_due => {
                self.is_broken = true;
                return;
            }
            NetworkFault::Repeat if is_due => {
                self.pieces.push_back((arrives, piece.clone()));
                self.is_broken = true;
            }
            NetworkFault::Exchange
                if is_due && self.pieces.back().is_some_and(|last| last.1 != piece) =>
            {
                let last = self.pieces.len() - 1;
                std::mem::swap(&mut self.pieces[last].1, &mut piece);
                self.is_broken = true;
            }
            NetworkFault::Cut if step >= self.from => {
                self.is_broken = true;
                return;
            }
            _ => {}
        }
        self.pieces.push_back((arrives, piece));
    }

    /// The bytes that have arrived, at most `most`.
    pub fn receive(&mut self, most: usize, step: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let most = if self.fault == NetworkFault::Slow { most.min(1) } else { most };
        while let Some((arrives, piece)) = self.pieces.front_mut()
            && *arrives <= step
            && bytes.len() < most
        {
            let count = piece.len().min(most - bytes.len());
            bytes.extend(piece.drain(..count));
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
        bytes
    }
}
