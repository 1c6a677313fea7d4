//! The state at the moment of a crash, and the disk that the machine finds afterwards.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Progress, SimulatedDisk,
    file::{File, PAGE_WORDS, UNIT_WORDS, words_of},
};
use crate::simulated::dice::Dice;

/// How a loss of power tears data that was not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tear {
    /// Words that are kept or lost together.
    pub(crate) unit_words: usize,
    /// How many of sixteen units are kept.
    pub(crate) kept: u64,
}

impl Tear {
    /// Half of the pages are kept, which is how most disks lose them.
    pub(crate) const HALF_OF_THE_PAGES: Self = Self { unit_words: PAGE_WORDS, kept: 8 };
}

/// The state after a crash. Later actions of the crashed machine do not change it.
#[derive(Debug)]
pub(crate) struct Image {
    pub(super) files: Vec<File>,
    pub(super) names: BTreeMap<String, usize>,
    pub(super) durable_names: BTreeMap<String, usize>,
    pub(super) pending: Vec<Renaming>,
    pub(super) is_folder_durable: bool,
    pub(crate) progress: Progress,
    /// The name of the thread whose next step was stopped.
    pub(crate) thread: String,
}

#[derive(Clone, Debug)]
pub(super) struct Renaming {
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) file: usize,
}

impl Renaming {
    /// Applies it to names of which any other change might have been lost.
    pub(super) fn apply(&self, names: &mut BTreeMap<String, usize>) {
        if let Some(from) = &self.from
            && names.get(from) == Some(&self.file)
        {
            names.remove(from);
        }
        if let Some(to) = &self.to {
            names.insert(to.clone(), self.file);
        }
    }
}

impl Image {
    /// The disk when the machine has power again, in another boot.
    pub(crate) fn after_power_loss(self, dice: &mut Dice, boot: u64) -> SimulatedDisk {
        let tear =
            Tear { unit_words: UNIT_WORDS[dice.index(3)], kept: [0, 1, 8, 15, 16][dice.index(5)] };
        self.torn(tear, dice, boot)
    }

    /// The same, with a given tear.
    pub(crate) fn torn(self, tear: Tear, dice: &mut Dice, boot: u64) -> SimulatedDisk {
        let mut names = self.durable_names;
        let (is_prefix, end) = (dice.one_in(2), dice.index(self.pending.len() + 1));
        for (index, renaming) in self.pending.iter().enumerate() {
            if if is_prefix { index < end } else { dice.one_in(2) } {
                renaming.apply(&mut names);
            }
        }
        if !self.is_folder_durable && dice.one_in(2) {
            names.clear();
        }
        let Tear { unit_words: unit, kept } = tear;
        let mut files = Vec::new();
        for file in self.files {
            let (mut durable, bytes, durable_bytes) =
                (file.durable.clone(), file.bytes, file.durable_bytes);
            for (index, old) in durable.chunks_mut(unit).enumerate() {
                let begin = index * unit;
                let is_clean = file.taken_clean.contains(&(begin / PAGE_WORDS));
                if !is_clean && dice.below(16) < kept {
                    for (at, old) in (begin..).zip(old) {
                        *old = file.live(at);
                    }
                }
            }
            // The length is the old or the new one. If the file was never synced, it is any length
            // between.
            let bytes = match dice.below(3) {
                0 => bytes,
                1 if durable_bytes == 0 => dice.below(bytes / 8 + 1) * 8,
                _ => durable_bytes,
            };
            durable[usize::try_from(bytes.div_ceil(8)).unwrap()..].fill(0);
            let words = words_of(&durable);
            let taken_clean = BTreeSet::new();
            files.push(File { words, bytes, durable, durable_bytes: bytes, taken_clean });
        }
        let durable_names = names.clone();
        // If the name exists, it is on disk; otherwise the folder is created again.
        let is_folder_durable = !names.is_empty();
        let disk = SimulatedDisk::of(dice.number(), boot, files, names, durable_names, Vec::new());
        disk.machine().is_folder_durable = is_folder_durable;
        disk
    }

    /// The same machine after its processes were killed, without their mappings.
    pub(crate) fn after_death(self, dice: &mut Dice, boot: u64) -> SimulatedDisk {
        let Self { files, names, durable_names, pending, is_folder_durable, .. } = self;
        let disk = SimulatedDisk::of(dice.number(), boot, files, names, durable_names, pending);
        disk.machine().is_folder_durable = is_folder_durable;
        disk
    }
}
