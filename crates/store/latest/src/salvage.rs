//! Reads the entries of a map that can have any damage, as after a loss of power.
//!
//! Protocol: no process writes meanwhile. The words of a group are those of its line, or those of
//! a complete change in the slot of the writer that has locked it. After a loss of power, slot and
//! group can be of different moments, so both are read, and the sum decides.
//! Bounds: each group is read once, whatever its words are.

use nanotape_shm::ReadWord;

use crate::{
    group::{View, owner, taken},
    hand::stamp_of,
    layout::slot,
    reader::LatestReader,
};

/// An entry that is there.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Salvaged<'a> {
    /// The number of its first word, as errors name it.
    pub word: u64,
    /// How often its value was set.
    pub version: u32,
    /// The words of its key. Without the sum, they might be those of no key.
    pub key: &'a [u64],
    /// The words of its value.
    pub value: &'a [u64],
    /// Whether version, key and value have their sum.
    pub has_its_sum: bool,
}

impl LatestReader {
    /// Calls `each` with every entry that is there, also if it has no sum, if no search finds it,
    /// or if its key is there twice. For a map that no process writes: see
    /// [`LatestRepair`](crate::LatestRepair).
    pub fn salvage(&self, mut each: impl FnMut(Salvaged<'_>)) {
        let key_words = self.spec().key_words;
        scan(self.view(), |found| {
            let (key, value) = found.entry[1..].split_at(key_words);
            let Found { word, has_its_sum, .. } = found;
            each(Salvaged {
                word: word as u64,
                version: found.entry[0] as u32,
                key,
                value,
                has_its_sum,
            });
        });
    }
}

/// An entry, and where it is.
pub(crate) struct Found<'a> {
    pub(crate) group: usize,
    pub(crate) word: usize,
    /// The stamp, the key, the value.
    pub(crate) entry: &'a [u64],
    pub(crate) has_its_sum: bool,
}

/// Calls `each` with every entry that is there.
pub(crate) fn scan(view: View<'_>, mut each: impl FnMut(Found<'_>)) {
    let View { words, layout } = view;
    let mut copy = vec![0; layout.entry_words];
    for group in 0..layout.groups {
        let group_at = layout.group(group);
        let lock = words[group_at].load();
        let change = change(view, group_at, lock);
        for number in (0..layout.in_group).filter(|number| taken(lock) >> number & 1 == 1) {
            let word = layout.entry(group_at, number);
            let mut has_its_sum = false;
            if let Some((from, changed)) = change {
                load(words, word, &mut copy);
                for (value, at) in copy.iter_mut().zip(word..) {
                    if let Some(changed) = at.checked_sub(from).and_then(|at| changed.get(at)) {
                        *value = changed.load();
                    }
                }
                has_its_sum = is_whole(&copy);
            }
            if !has_its_sum {
                load(words, word, &mut copy);
                has_its_sum = is_whole(&copy);
            }
            each(Found { group, word, entry: &copy, has_its_sum });
        }
    }
}

fn load(words: &[ReadWord], from: usize, copy: &mut [u64]) {
    for (value, word) in copy.iter_mut().zip(&words[from..]) {
        *value = word.load();
    }
}

/// Whether the words of an entry have its sum.
pub(crate) fn is_whole(entry: &[u64]) -> bool {
    stamp_of(entry[0] as u32, &entry[1..]) == entry[0]
}

/// The first word of a complete change of a group, and the words that replace those from there on.
fn change<'a>(view: View<'a>, group_at: usize, lock: u64) -> Option<(usize, &'a [ReadWord])> {
    let writer = owner(lock);
    if writer == 0 || writer > view.layout.spec.writers {
        return None;
    }
    let slot_at = view.layout.slot(writer);
    let is_complete = view.words[slot_at + slot::VALID].load() == lock;
    let (from, changed) = view.change(slot_at, group_at).filter(|_| is_complete)?;
    Some((group_at + from, changed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        LatestSpec, LatestWriter,
        group::packed,
        layout::{GROUP_HEAD, Layout},
    };

    /// The version, the first word of the value, and whether the sum is right.
    fn only(writer: &LatestWriter) -> (u32, u64, bool) {
        let mut all = Vec::new();
        writer.reader().salvage(|it| all.push((it.version, it.value[0], it.has_its_sum)));
        assert_eq!(all.len(), 1);
        all[0]
    }

    #[test]
    fn a_change_that_a_dead_writer_completed_counts_if_it_has_its_sum() {
        let spec =
            LatestSpec { entries: 1, key_words: 1, value_words: 1, writers: 3, value_layout: 0 };
        let mut writer = LatestWriter::on_heap(spec, 1).unwrap();
        let _ = writer.insert(&[7], &[9]).unwrap();
        let (layout, words) = (Layout::new(spec).unwrap(), writer.words());
        let mut groups = (0..layout.groups).map(|group| layout.group(group));
        let at = groups.find(|at| taken(words[*at].load()) != 0).unwrap();
        // Writer 2 died after its change was complete in its slot.
        let lock = words[at].load() | 2;
        words[at].store(lock);
        let slot_at = layout.slot(2);
        words[slot_at + slot::VALID].store(lock);
        words[slot_at + slot::CHANGE_AT].store(packed(at + GROUP_HEAD, layout.entry_words));
        for (word, value) in [stamp_of(2, &[7, 10]), 7, 10].into_iter().enumerate() {
            words[slot_at + slot::REDO + word].store(value);
        }
        assert_eq!(only(&writer), (2, 10, true));
        // The group is there as before, and the slot is of another moment.
        words[slot_at + slot::REDO + 2].store(11);
        assert_eq!(only(&writer), (1, 9, true));
        words[slot_at + slot::REDO + 2].store(10);
        words[slot_at + slot::VALID].store(lock + (1 << 32));
        assert_eq!(only(&writer), (1, 9, true));
        words[at + GROUP_HEAD + 2].store(10);
        assert_eq!(only(&writer), (1, 10, false));
        // A lock of a writer that cannot be.
        words[at].store(lock | 0xffff);
        assert_eq!(only(&writer), (1, 10, false));
    }
}
