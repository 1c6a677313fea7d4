//! Where each word of a map is: the head, a slot for each writer, and the groups of entries.
//!
//! Layout: `docs/formats/latest.md`. All of it follows from the four parameters in the header of
//! the region, so that a process which opens a map computes nothing from other words of it.

use nanotape_shm::RegionSpec;

use crate::{
    error::LatestError,
    spec::{KIND, LAYOUT, LatestSpec, MOST_WORDS, MOST_WRITERS, ValueLayout},
};

/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = 8;

/// Words of the unit that processors transfer between each other.
const PAIR_WORDS: usize = 16;

/// Words of a group before its entries: the lock, and how many keys passed it.
pub(crate) const GROUP_HEAD: usize = 2;

/// The most lines of a group with several entries.
const MOST_LINES: usize = 4;

/// The most entries of a group: its lock word has a bit for each.
const MOST_IN_GROUP: usize = 8;

/// Of four entries' room, three are used if the map is full: so few keys are in a group after the
/// one of their hash.
const ROOM: (u64, u64) = (4, 3);

/// The positions that follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) spec: LatestSpec,
    /// Words of an entry: its stamp, its key, its value.
    pub(crate) entry_words: usize,
    pub(crate) in_group: usize,
    pub(crate) group_words: usize,
    pub(crate) groups: usize,
    slot_words: usize,
    first_group: usize,
    /// All of them.
    pub(crate) words: usize,
}

impl LatestSpec {
    /// Bytes of the map in a file: a page, and 8 bytes for each of its words.
    pub fn bytes(&self) -> Result<u64, LatestError> {
        let words = Layout::new(*self)?.words as u64;
        Ok(words * 8 + nanotape_shm::HEADER_BYTES as u64)
    }

    /// The specification of the region of such a map.
    pub fn region(&self) -> Result<RegionSpec, LatestError> {
        let layout = Layout::new(*self)?;
        let lengths = self.key_words as u64 | (self.value_words as u64) << 32;
        let parameters = [self.entries, lengths, u64::from(self.writers), self.value_layout];
        Ok(RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: layout.words })
    }
}

impl Layout {
    pub(crate) fn new(spec: LatestSpec) -> Result<Self, LatestError> {
        let LatestSpec { entries, key_words, value_words, writers, value_layout } = spec;
        let is_good = (1..=1 << 40).contains(&entries)
            && (1..=MOST_WORDS).contains(&key_words)
            && value_words <= MOST_WORDS
            && (1..=MOST_WRITERS).contains(&writers)
            && ValueLayout(value_layout).is_valid();
        if !is_good {
            return Err(LatestError::Spec { spec });
        }
        let entry_words = 1 + key_words + value_words;
        let (in_group, group_words) = group(entry_words);
        let room = (u128::from(entries) * u128::from(ROOM.0)).div_ceil(u128::from(ROOM.1));
        let groups = room.div_ceil(in_group as u128);
        let slot_words = (slot::REDO + entry_words).next_multiple_of(PAIR_WORDS);
        let first_group = PAIR_WORDS + writers as usize * slot_words;
        let words = groups * group_words as u128 + first_group as u128;
        let words = usize::try_from(words).ok().filter(|words| *words < usize::MAX / 64);
        let words = words.ok_or(LatestError::Spec { spec })?;
        let groups = usize::try_from(groups).map_err(|_| LatestError::Spec { spec })?;
        Ok(Self {
            spec,
            entry_words,
            in_group,
            group_words,
            groups,
            slot_words,
            first_group,
            words,
        })
    }

    /// The layout of a region. Its header is not trusted: any process can have written it.
    pub(crate) fn of(region: &RegionSpec) -> Option<Self> {
        let [entries, lengths, writers, value_layout] = region.parameters;
        let spec = LatestSpec {
            entries,
            key_words: usize::try_from(lengths & 0xffff_ffff).ok()?,
            value_words: usize::try_from(lengths >> 32).ok()?,
            writers: u32::try_from(writers).ok()?,
            value_layout,
        };
        let layout = Self::new(spec).ok()?;
        (layout.words == region.words).then_some(layout)
    }

    /// The same layout, of a map whose lengths are these: what follows from them is constant.
    #[inline(always)]
    pub(crate) fn fixed<const KEY: usize, const VALUE: usize>(self) -> Self {
        let (in_group, group_words) = const { group(1 + KEY + VALUE) };
        let spec = LatestSpec { key_words: KEY, value_words: VALUE, ..self.spec };
        let slot_words = (slot::REDO + 1 + KEY + VALUE).next_multiple_of(PAIR_WORDS);
        Self { spec, entry_words: 1 + KEY + VALUE, in_group, group_words, slot_words, ..self }
    }

    /// The first word of a group.
    #[inline(always)]
    pub(crate) fn group(&self, number: usize) -> usize {
        self.first_group + number * self.group_words
    }

    /// The first word of an entry of a group that begins there.
    #[inline(always)]
    pub(crate) fn entry(&self, group_at: usize, entry: usize) -> usize {
        group_at + GROUP_HEAD + entry * self.entry_words
    }

    /// The first word of the slot of a writer, from 1 on.
    #[inline(always)]
    pub(crate) fn slot(&self, writer: u32) -> usize {
        PAIR_WORDS + (writer as usize - 1) * self.slot_words
    }

    /// The group after another one.
    #[inline(always)]
    pub(crate) fn after(&self, group: usize) -> usize {
        if group + 1 == self.groups { 0 } else { group + 1 }
    }
}

/// How many entries a group has, and its words: one line with at least two entries, or else the
/// fewest of up to four lines that have at most a quarter more words for each entry than the best.
const fn group(entry_words: usize) -> (usize, usize) {
    if entries_in(1, entry_words) >= 2 {
        return (entries_in(1, entry_words), LINE_WORDS);
    }
    let (mut best, mut lines) = (0, 1);
    while lines <= MOST_LINES {
        if entries_in(lines, entry_words) > 0
            && (best == 0 || is_at_most(4, lines, 4, best, entry_words))
        {
            best = lines;
        }
        lines += 1;
    }
    lines = 1;
    while lines < best && !is_at_most(4, lines, 5, best, entry_words) {
        lines += 1;
    }
    if best == 0 {
        lines = (GROUP_HEAD + entry_words).div_ceil(LINE_WORDS);
    }
    (entries_in(lines, entry_words), lines * LINE_WORDS)
}

/// Whether some lines times a factor have at most as many words for each entry as others times
/// another factor.
const fn is_at_most(
    factor: usize,
    lines: usize,
    other_factor: usize,
    other: usize,
    entry_words: usize,
) -> bool {
    let (entries, others) = (entries_in(lines, entry_words), entries_in(other, entry_words));
    entries > 0 && factor * lines * others <= other_factor * other * entries
}

/// Entries of a group with this number of lines.
const fn entries_in(lines: usize, entry_words: usize) -> usize {
    let fit = (lines * LINE_WORDS - GROUP_HEAD) / entry_words;
    if fit < MOST_IN_GROUP { fit } else { MOST_IN_GROUP }
}

/// Words of the head.
pub(crate) mod head {
    /// Unique to the map, so that its hashes cannot be foreseen.
    pub(crate) const SEED: usize = 0;
    /// The lock of the rooms: a lock word as that of a group, without entries.
    pub(crate) const ROOMS: usize = 1;
}

/// Words of a writer's slot: what the next one needs if this one dies.
pub(crate) mod slot {
    /// The groups that it locks, plus 1; 0: none.
    pub(crate) const LOCKS: [usize; 2] = [0, 1];
    /// The lock word under which the change below is complete; 0: it is not.
    pub(crate) const VALID: usize = 2;
    /// The first word of the change, and their number in the upper 16 bits.
    pub(crate) const CHANGE_AT: usize = 3;
    /// What `PASSED` is after the change.
    pub(crate) const THEN_PASSED: usize = 4;
    /// How many entries this slot's writers inserted and removed, and what is being done.
    pub(crate) const ACCOUNT: usize = 5;
    /// The group of the hash of the key that is inserted or removed.
    pub(crate) const HOME: usize = 6;
    /// How many groups from there on count this key as one that passed them.
    pub(crate) const PASSED: usize = 7;
    /// The entry that is inserted or removed: its group, and its number in the upper 16 bits; plus
    /// 1; 0: none yet.
    pub(crate) const TARGET: usize = 8;
    /// Locks of dead writers that this slot's writers have opened.
    pub(crate) const RECOVERED: usize = 9;
    /// The values of the change.
    pub(crate) const REDO: usize = 10;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_whole_lines_and_waste_little() {
        // Words of an entry, entries of a group, words of a group.
        for (entry_words, in_group, group_words) in [
            (2, 3, 8),
            (3, 2, 8),
            (4, 3, 16),
            (5, 4, 24),
            (7, 2, 16),
            (10, 2, 24),
            (30, 1, 32),
            (31, 1, 40),
        ] {
            assert_eq!(group(entry_words), (in_group, group_words), "{entry_words}");
        }
    }

    #[test]
    fn any_number_of_entries_has_room_and_a_region_states_its_own() {
        for entries in [1, 2, 3, 1_000, 1_000_001] {
            for (key_words, value_words) in [(1, 0), (1, 1), (2, 1), (1, 30), (8, 200)] {
                let value_layout = entries << 48;
                let spec = LatestSpec { entries, key_words, value_words, writers: 3, value_layout };
                let layout = Layout::new(spec).unwrap();
                assert!((layout.groups * layout.in_group) as u64 >= entries, "{layout:?}");
                assert_eq!(Layout::of(&spec.region().unwrap()), Some(layout));
                assert_eq!(layout.group(layout.groups), layout.words);
                let last = layout.entry(layout.group(0), layout.in_group);
                assert!(last <= layout.group(1), "{layout:?}");
            }
        }
    }

    #[test]
    fn parameters_that_are_none_are_refused() {
        let good =
            LatestSpec { entries: 10, key_words: 1, value_words: 1, writers: 4, value_layout: 0 };
        for spec in [
            LatestSpec { entries: 0, ..good },
            LatestSpec { entries: 1 << 41, ..good },
            LatestSpec { key_words: 0, ..good },
            LatestSpec { value_words: MOST_WORDS + 1, ..good },
            LatestSpec { writers: 0, ..good },
            LatestSpec { writers: MOST_WRITERS + 1, ..good },
            LatestSpec { value_layout: 7, ..good },
        ] {
            assert!(matches!(Layout::new(spec), Err(LatestError::Spec { .. })), "{spec:?}");
        }
        let region = good.region().unwrap();
        assert_eq!(Layout::of(&RegionSpec { words: region.words + 1, ..region }), None);
    }
}
