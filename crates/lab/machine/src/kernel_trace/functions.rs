//! Names of functions of the kernel that work for its own threads, by address.
//!
//! Cost: the kernel's list has some hundred thousand lines. It is read when there is an address
//! that was not there before, at most [`MOST_READS`] times.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufRead, BufReader},
    sync::Arc,
};

use super::event::{Processor, What};

const LIST: &str = "/proc/kallsyms";

const MOST_READS: u32 = 32;

/// The names that are known.
#[derive(Debug, Default)]
pub(super) struct Functions {
    known: Arc<BTreeMap<u64, String>>,
    unknown: BTreeSet<u64>,
    reads: u32,
}

impl Functions {
    /// The names of all functions in these events.
    pub(super) fn of(&mut self, processors: &[Processor]) -> Arc<BTreeMap<u64, String>> {
        let events = processors.iter().flat_map(|processor| &processor.events);
        let new: BTreeSet<u64> = events
            .filter_map(|event| match event.what {
                What::Work(address) => Some(address),
                _ => None,
            })
            .filter(|address| !self.known.contains_key(address) && !self.unknown.contains(address))
            .collect();
        if !new.is_empty() && self.reads < MOST_READS {
            self.reads += 1;
            let found = File::open(LIST).map(|file| names_in(BufReader::new(file), &new));
            Arc::make_mut(&mut self.known).extend(found.unwrap_or_default());
            self.unknown.extend(new.iter().filter(|address| !self.known.contains_key(address)));
        }
        Arc::clone(&self.known)
    }
}

/// The names of these addresses in the kernel's list: `ffffffff81000000 t vmstat_update`.
fn names_in(list: impl BufRead, wanted: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let lines = list.lines().map_while(Result::ok);
    let named = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        let name = words.nth(1)?;
        wanted.contains(&address).then(|| (address, name.to_owned()))
    });
    named.take(wanted.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_addresses_have_names() {
        let list = "ffffffff81000000 T _text\nrubbish\nffffffff81000010 t vmstat_update\n\
            ffffffffc0000000 t late\t[module]\n";
        let wanted = BTreeSet::from([0xffff_ffff_8100_0010, 0xffff_ffff_c000_0000, 5]);
        let found = names_in(list.as_bytes(), &wanted);
        let expected = [(0xffff_ffff_8100_0010, "vmstat_update"), (0xffff_ffff_c000_0000, "late")];
        assert_eq!(found, expected.map(|(at, name)| (at, name.to_owned())).into());
    }
}
